"""Telling that kernels are compiled: the first run on a machine takes seconds for it, and must not seem to hang."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from numba.core import event
from numba.core.dispatcher import Dispatcher

from rothko.bar import drawn
from rothko.progress import Progress, silent

STAGE = "compile"


def reached(kernel: Any, found: set[Any] | None = None) -> set[Any]:
    """A kernel and those that it calls, and so on."""
    found = set() if found is None else found
    if kernel not in found:
        found.add(kernel)
        function = kernel.py_func
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, Dispatcher) and called.py_func.__module__.startswith(__package__):
                reached(called, found)
    return found


class _Listener(event.Listener):  # type: ignore[misc]
    """Counts kernels as they are compiled: each of those that a call from Python reaches is one."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self._known: set[Any] = set()
        self._done: set[Any] = set()
        self._depth = 0
        self._said = False

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._known |= {kernel for kernel in reached(event.data["dispatcher"]) if kernel not in self._done}
            self._tell()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        kernel = event.data["dispatcher"]
        if self._depth == 0:
            self._done |= reached(kernel)
        elif kernel in self._known:
            self._done.add(kernel)
        else:
            return  # one of Numba's own
        self._tell()

    def _tell(self) -> None:
        if self.told:
            self.told[-1](STAGE, len(self._done & self._known), len(self._known))
        elif not self._said and ((sys.stderr is not None and sys.stderr.isatty()) or "IPython" in sys.modules):
            self._said = True
            print("rothko: compiling for this machine, once (`rothko warm` does it ahead)", file=sys.stderr)


_listener = _Listener()
event.register("numba:compile", _listener)


@contextmanager
def told(progress: Progress | bool) -> Iterator[Progress]:
    """Tell what is compiled to a run's progress meanwhile, as a stage of its own; True is a bar."""
    with ExitStack() as ending:
        if isinstance(progress, bool):
            progress = ending.enter_context(drawn()) if progress else silent
        if progress is not silent:
            _listener.told.append(progress)
            ending.callback(_listener.told.remove, progress)
        yield progress
