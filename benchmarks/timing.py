"""Timing side by side."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]


def best(work: Callable[[], object], *, runs: int = 5) -> float:
    """Seconds of the fastest of several runs, after one to warm up."""
    work()
    return min(_once(work) for _ in range(runs))


def side_by_side(*works: Callable[[], object], runs: int = 5) -> list[float]:
    """The fastest run of each, taken in turns so that a slow spell of the machine hits all of them."""
    for work in works:
        work()
    times = [[_once(work) for work in works] for _ in range(runs)]
    return [min(column) for column in zip(*times, strict=True)]


def _once(work: Callable[[], object]) -> float:
    gc.collect()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def report(title: str, ratio: float, bound: float, detail: str, unit: str = "×", *, least: bool = False) -> Case:
    """Print a case as a ratio with its bound, and return it as data; ``least`` says that the bound is to be reached."""
    within = ratio >= bound if least else ratio <= bound
    side, verdict = "at least" if least else "at most", "ok" if within else "UNDER" if least else "OVER"
    print(f"{title:<58} {ratio:7.2f}{unit} ({side} {bound:g}{unit}) {verdict:<5}  {detail}", flush=True)
    return {"case": title, "ratio": ratio, "bound": bound, "within": within, "detail": detail}
