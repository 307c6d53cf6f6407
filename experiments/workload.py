"""Workload-aware anonymization: the experiments of LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 4.

Figs. 6 to 13. The same experiments are in their KDD 2006 paper. What they compare with, Top-Down Specialization, has
its column from :mod:`experiments.refine`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments import real, synthetic
from experiments.protocol import Settings, Spread, spread_over


def _figure_9(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Regression on synthetic people, and on real ones where there are any."""
    found = synthetic.regression(settings, spread)
    return found if settings.data is None else real.figure_9(settings, spread) | found


FIGURES: dict[str, tuple[str, Callable[[Settings, Spread], dict[str, Any]]]] = {
    "6": ("classification, synthetic", synthetic.figure_6),
    "7": ("classification, real", real.figure_7),
    "8": ("measures without a model", real.figure_8),
    "9": ("regression", _figure_9),
    "10": ("several targets", synthetic.figure_10),
    "11": ("diversity of the label", real.figure_11),
    "12": ("selection, imprecision", synthetic.figure_12),
    "13": ("selection and projection", real.figure_13),
}
"""Number in the paper → what it shows, and what runs it."""
NEED_DATA = {"7", "8", "11", "13"}


def run(
    settings: Settings,
    figures: Iterable[str] = FIGURES,
    *,
    workers: int = 0,
    keep: Callable[[dict[str, Any]], object] = lambda results: None,
) -> dict[str, Any]:
    """Run figures; the results are plain data. Those that need real data are left out where there is none.

    ``keep`` is called with what there is after each figure.
    """
    results: dict[str, Any] = {"settings": _described(settings), "figures": {}, "seconds": {}}
    with processes(workers) as pool:
        for number in figures:
            title, figure = FIGURES[number]
            name = f"Fig. {number:<3} {title}"
            if number in NEED_DATA and settings.data is None:
                print(f"{name:<34} left out: it needs --data", flush=True)
                continue
            begun = time.perf_counter()
            results["figures"][number] = figure(settings, spread_over(pool, progress_of(name)))
            results["seconds"][number] = round(time.perf_counter() - begun, 1)
            keep(results)
            back = "\r" if sys.stdout.isatty() else ""
            print(f"{back}{name:<34} {results['seconds'][number]:8.1f} s", flush=True)
    return results


def _described(settings: Settings) -> dict[str, Any]:
    """The settings without the path, which is of this machine only."""
    return asdict(settings) | {"data": settings.data is not None}


def progress_of(name: str) -> Callable[[int, int], None]:
    """Shows how far a figure has come, to a person who looks on."""

    def show(done: int, total: int) -> None:
        if sys.stdout.isatty():
            print(f"\r{name:<34} {done:>5} of {total}", end="", flush=True)

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


def save(results: dict[str, Any], path: Path) -> dict[str, Any]:
    """Write results as JSON; figures that were not run this time keep what an earlier run with these settings found."""
    if path.exists():
        earlier = json.loads(path.read_text("utf-8"))
        if earlier["settings"] == results["settings"]:
            results = results | {part: earlier[part] | results[part] for part in ("figures", "seconds")}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, separators=(",", ":")), "utf-8")
    return results
