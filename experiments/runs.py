"""Running figures one after the other: how far they are, how long they took, and what they found."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

Results = dict[str, Any]
Keep = Callable[[Results], object]
Show = Callable[[int, int], None]
"""Called with what is done and what there is to do."""


def keep_nothing(results: Results) -> None:
    """What to do with results after each figure where nothing is asked for."""


class Running:
    """Figures that are run, and their results as plain data."""

    def __init__(self, settings: Any, keep: Keep = keep_nothing) -> None:
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}
        if "data" in plain:  # the path is of this machine only
            plain["data"] = settings.data is not None
        self.results: Results = {"settings": plain, "figures": {}, "seconds": {}}
        self._keep = keep

    def figure(self, number: str, name: str, run: Callable[[Show], Results], *, needs_data: bool = False) -> None:
        """Run a figure, say how long it took, and keep what there is by then."""
        if needs_data and not self.results["settings"]["data"]:
            print(f"{name:<40} left out: it needs --data", flush=True)
            return
        begun = time.perf_counter()
        self.results["figures"][number] = run(_progress_of(name))
        self.results["seconds"][number] = round(time.perf_counter() - begun, 1)
        self._keep(self.results)
        back = "\r" if sys.stdout.isatty() else ""
        print(f"{back}{name:<40} {self.results['seconds'][number]:8.1f} s", flush=True)


def with_load(run: Callable[[Show], Results]) -> Callable[[Show], Results]:
    """The same figure with the load of the machine before and after it: what others did at the time, 1 being itself."""

    def loaded(show: Show) -> Results:
        before = os.getloadavg()[0]
        found = run(show)
        return {**found, "load": [round(before, 1), round(os.getloadavg()[0], 1)]}

    return loaded


def _progress_of(name: str) -> Show:
    """Shows how far a figure has come, to a person who looks on."""

    def show(done: int, total: int) -> None:
        if sys.stdout.isatty():
            print(f"\r{name:<40} {done:>5} of {total}", end="", flush=True)

    return show


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """As many processes, of one thread each; none for 0."""
    if workers < 1:
        yield None
        return
    # Read by the processes as they start: one thread each, in the libraries too.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def save(results: Results, path: Path) -> Results:
    """Write results as JSON; figures that were not run this time keep what an earlier run with these settings found."""
    if path.exists():
        earlier = json.loads(path.read_text("utf-8"))
        if earlier["settings"] == results["settings"]:
            results = results | {part: earlier[part] | results[part] for part in ("figures", "seconds")}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, separators=(",", ":")), "utf-8")
    return results
