"""Running figures one after the other: how far they are, how long they took, and what they found."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Results = dict[str, Any]
Keep = Callable[[Results], object]
Show = Callable[[int, int], None]
"""Called with what is done and what there is to do."""
KEPT = ("figures", "seconds", "ran", "code")
"""What results have of each figure: what it found, how long it took, and what code found it; and the modules of
each code."""
OFTEN = 60.0
"""Seconds between two lines about a figure where nobody looks on."""


def keep_nothing(results: Results) -> None:
    """What to do with results after each figure where nothing is asked for."""


class Running:
    """Figures that are run, and their results as plain data."""

    def __init__(self, settings: Any, keep: Keep = keep_nothing) -> None:
        self.results: Results = {"settings": as_plain(settings), "figures": {}, "seconds": {}}
        self._keep = keep

    def figure(self, number: str, name: str, run: Callable[[Show], Results], *, needs_data: bool = False) -> None:
        """Run a figure, say how long it took, and keep what there is by then."""
        if needs_data and not self.results["settings"]["data"]:
            print(f"{name:<40} left out: it needs --data", flush=True)
            return
        begun = time.perf_counter()
        self.results["figures"][number] = run(_progress_of(name))
        self.results["seconds"][number] = round(time.perf_counter() - begun, 1)
        back = "\r" if sys.stdout.isatty() else ""
        print(f"{back}{name:<40} {self.results['seconds'][number]:8.1f} s", flush=True)
        self._keep(self.results)


def as_plain(settings: Any) -> Results:
    """Settings as they are kept with results."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}
    if "data" in plain:  # the path is of this machine only
        plain["data"] = settings.data is not None
    return plain


def with_load(run: Callable[[Show], Results]) -> Callable[[Show], Results]:
    """The same figure with the load of the machine before and after it: what others did at the time, 1 being itself."""

    def loaded(show: Show) -> Results:
        before = os.getloadavg()[0]
        found = run(show)
        return {**found, "load": [round(before, 1), round(os.getloadavg()[0], 1)]}

    return loaded


def _progress_of(name: str) -> Show:
    """Shows how far a figure has come: at once to a person who looks on, now and then in a file."""
    begun = last = time.perf_counter()

    def show(done: int, total: int) -> None:
        nonlocal last
        looks_on, now = sys.stdout.isatty(), time.perf_counter()
        if not looks_on and (now - last < OFTEN or done == total):
            return
        last = now
        left = spelled((now - begun) / max(done, 1) * (total - done))
        line = f"{name:<40} {done:>5} of {total}, {left} left"
        print(f"\r{line}  " if looks_on else line, end="" if looks_on else "\n", flush=True)

    return show


def spelled(seconds: float) -> str:
    """A time as a person says it.

    >>> spelled(40), spelled(250), spelled(9000)
    ('40 s', '4 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@dataclass(slots=True)
class Forecast:
    """How long figures will take, from how long they took before, on this machine or another."""

    before: Mapping[str, float]
    """Seconds of each figure in an earlier run."""
    unknown: float = 60.0
    """What a figure takes for which none is known."""
    begun: float = field(default_factory=time.perf_counter)
    done: int = 0
    _expected: float = 0.0

    def left(self, figures: Iterable[str]) -> float:
        """Seconds for so many figures; slower or faster than before as those were that are done."""
        seconds = sum(self.before.get(figure, self.unknown) for figure in figures)
        return seconds * ((time.perf_counter() - self.begun) / self._expected if self._expected else 1)

    def finish(self, figure: str) -> None:
        """One of them is done."""
        self.done += 1
        self._expected += self.before.get(figure, self.unknown)


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


def read(path: Path) -> Results:
    """Results as they were saved; nothing where there are none."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}  # type: ignore[no-any-return]


def known(results: Results, settings: Any, code: str) -> set[str]:
    """The figures that this very code has run with these settings."""
    if results.get("settings") != as_plain(settings):
        return set()
    return {figure for figure, by in results.get("ran", {}).items() if by["code"] == code}


def save(results: Results, path: Path) -> Results:
    """Write results as JSON; figures that were not run this time keep what an earlier run with these settings found.

    Results with other settings are not lost: they are moved aside.
    """
    earlier = read(path)
    if earlier:
        if earlier["settings"] == results["settings"]:
            results = results | {part: earlier.get(part, {}) | results.get(part, {}) for part in KEPT}
        else:
            path.replace(path.with_stem(f"{path.stem}-before"))
    path.parent.mkdir(parents=True, exist_ok=True)
    partly = path.with_suffix(".part")
    partly.write_text(json.dumps(results, separators=(",", ":")), "utf-8")
    partly.replace(path)
    return results
