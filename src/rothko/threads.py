"""Work shared among threads: how many there are, and the same work on each of some things."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rothko.errors import InputError

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def count_threads(asked: int | None) -> int:
    """As many threads as asked for, or as there are cores for this process."""
    if asked is not None and asked < 1:
        raise InputError(f"threads must be at least 1, not {asked}.")
    return asked or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def each(work: Callable[[Thing], Result], things: Iterable[Thing], threads: int) -> list[Result]:
    """What the work makes of each thing, in their order.

    One thread is this one: handing work to another takes longer than the work itself on a small table.

    >>> each(lambda x: x * x, [1, 2, 3], threads=2)
    [1, 4, 9]
    """
    if threads == 1:
        return [work(thing) for thing in things]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, things))
