"""Work shared among threads: how many there are, the same work on each, how far it has come, and when it is to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from rothko import environment
from rothko.errors import InputError

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""
Thing = TypeVar("Thing")
Result = TypeVar("Result")


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody wants to hear of."""


def counted(progress: Progress, stage: str, total: int) -> Callable[[int], None]:
    """Tells a stage from its beginning on, by how much more of it is done; never more than there is."""
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done = min(done + more, total)
        progress(stage, done, total)

    report(0)
    return report


def count_threads(asked: int | None) -> int:
    """As many threads as asked for, here or in the environment, or as there are cores for this process."""
    if asked is not None and asked < 1:
        raise InputError(f"threads must be at least 1, not {asked}.")
    asked = asked or environment.threads()
    return asked or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def each(work: Callable[[Thing], Result], things: Iterable[Thing], threads: int) -> list[Result]:
    """What the work makes of each thing, in their order.

    One thread is this one, and one thing is done in it: handing work to another takes longer than the work itself on a
    small table.

    >>> each(lambda x: x * x, [1, 2, 3], threads=2)
    [1, 4, 9]
    """
    if threads > 1:
        things = list(things)
        threads = min(threads, len(things))
    if threads <= 1:
        return [work(thing) for thing in things]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, things))


def ahead(work: Callable[[Thing], Result], things: Iterable[Thing], threads: int) -> Iterator[Result]:
    """The same as it is asked for: while one result is looked at, the next few are made.

    >>> list(ahead(lambda x: x * x, [1, 2, 3], threads=2))
    [1, 4, 9]
    """
    if threads <= 1:
        yield from map(work, things)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for thing in things:
                waiting.append(pool.submit(work, thing))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


_listeners: list[Callable[[str], None]] = []


def remark(words: str) -> None:
    """Say how the work that is going on stands, to whoever draws its progress; nobody need listen."""
    for listener in tuple(_listeners):
        listener(words)


@contextmanager
def remarks(listener: Callable[[str], None]) -> Iterator[None]:
    """Listen to remarks.

    >>> heard = []
    >>> with remarks(heard.append):
    ...     remark("loss 0.25")
    >>> remark("loss 0.24")
    >>> heard
    ['loss 0.25']
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Ending:
    """Asked by work that may end at any time with what it has: whether it is to end now."""

    def __init__(self, seconds: float | None = None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self.asked = False
        """Whether a person asked for it."""

    def __call__(self) -> bool:
        """Whether time is up, or somebody asked."""
        return self.asked or (self._until is not None and time.monotonic() >= self._until)


@contextmanager
def ending(seconds: float | None = None) -> Iterator[Ending]:
    """Work that ends after some seconds, or when a person presses Ctrl-C; pressed again, it is an interruption as ever.

    Only in the main thread, which alone is told of Ctrl-C, and where nobody else listens for it.
    """
    found = Ending(seconds)

    def pressed(number: int, frame: FrameType | None) -> None:
        if found.asked:
            signal.default_int_handler(number, frame)
        found.asked = True
        remark("ending with the best so far, Ctrl-C again to stop")

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield found
        return
    signal.signal(signal.SIGINT, pressed)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def watched(done: Callable[[], int], progress: Callable[[int], None], *, every: float = 0.25) -> Iterator[None]:
    """Tell every quarter of a second how much more has been done of work that cannot tell it by itself.

    A compiled loop calls nothing back, but what it changes can be looked at from another thread meanwhile.
    """
    told = 0
    over = threading.Event()

    def look() -> None:
        nonlocal told
        while not over.wait(every):
            now = done()
            progress(now - told)
            told = now

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    progress(done() - told)
