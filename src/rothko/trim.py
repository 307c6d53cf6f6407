"""Giving memory that was freed back to the system.

Allocators keep what was freed, for they expect that it is asked for again. Here the phases of a run need different
things, and what one has left would count beside what the next one takes: on ten million Agrawal records under a limit
of 512 MB, the peak of resident memory was 70 MB higher without this.

So do the pages of a library's code: LLVM, with which Numba loads what is compiled, has 50 MB of them in memory after
its start, most of which are never looked at again.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow as pa

ARENA_MAX = -8
"""What ``mallopt`` calls the most arenas."""
DONTNEED = 4
"""What ``madvise`` calls pages that are not needed for now."""
COMPILER = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-xp \S+ \S+ \S+ +\S*libllvmlite\.so$", re.MULTILINE)
"""A line of the map of a process: code of LLVM."""


def keep_together() -> None:
    """Have all threads take memory from one place, from now on.

    Otherwise each has its own, in which what others still use keeps pages of what was freed: 50 million records along
    a curve, under a limit of 512 MB, took 2 MB more with every segment, 917 MB in the end.
    """
    with suppress(AttributeError, OSError, TypeError):  # where the system's library cannot
        ctypes.CDLL(None).mallopt(ARENA_MAX, 1)


def give_back() -> None:
    """Give back what is free, at the end of a phase."""
    pa.default_memory_pool().release_unused()
    _trim()(0)
    for begin, length in _code() if "llvmlite.binding" in sys.modules else ():
        _advise()(begin, length, DONTNEED)  # what is needed after all is read again


@cache
def _trim() -> Callable[[int], object]:
    """What gives back the memory of NumPy; nothing where the system's library cannot."""
    try:
        found: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda _: None
    return found


@cache
def _advise() -> Callable[[ctypes.c_void_p, ctypes.c_size_t, int], object]:
    """What tells the system of pages that are not needed."""
    found: Callable[[ctypes.c_void_p, ctypes.c_size_t, int], object] = ctypes.CDLL(None).madvise
    return found


@cache
def _code() -> list[tuple[ctypes.c_void_p, ctypes.c_size_t]]:
    """Where the code of the compiler lies, once it is loaded; nowhere where the system does not tell.

    Code alone: nobody has written to it, so the file has all of it. What a library writes to when it is loaded would be
    lost.
    """
    try:
        lines = Path("/proc/self/maps").read_text("utf-8", "replace")
    except OSError:
        return []
    spans = [(int(begin, 16), int(end, 16)) for begin, end in COMPILER.findall(lines)]
    return [(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin)) for begin, end in spans]
