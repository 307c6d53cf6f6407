"""Compiled loops: arrays in, arrays out. Nothing here knows of columns, policies or files.

Every kernel has a NumPy or plain-Python twin in ``tests/kernels`` that it must equal. Kernels
release the interpreter lock and hold no threads of their own: an engine runs them side by side
(Numba's own thread pools are not safe to enter from several Python threads at once).
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit


def _drop_stale() -> None:
    """Remove what was compiled before any kernel last changed.

    Numba looks at the file of a function alone: a kernel would be taken from its cache with the old code of those
    that it calls.
    """
    folder = Path(__file__).parent
    changed = max(source.stat().st_mtime_ns for source in folder.rglob("*.py"))
    for kept in folder.rglob("__pycache__/*.nb[ci]"):
        with suppress(FileNotFoundError):  # another process was faster
            if kept.stat().st_mtime_ns < changed:
                kept.unlink()


def _can_be_kept() -> bool:
    """Whether there is a place for what is compiled: beside the kernels, NUMBA_CACHE_DIR, or the user's own."""
    try:
        _drop_stale()
    except OSError:
        # Numba takes nothing from a folder in which it cannot write; from another the old code must not be taken.
        if os.access(Path(__file__).parent / "__pycache__", os.W_OK):
            return False
    try:
        njit(cache=True)(_drop_stale)
    except RuntimeError:
        return False
    return True


_KEPT = _can_be_kept()
_OURS = secrets.token_hex(4)
"""In the names of the files that this process writes."""


def compiled(function: Any) -> Any:
    """The one way in which kernels are compiled: without the interpreter lock, kept on disk between runs if possible.

    Numba numbers the files with what it compiled of a function, one for each types of arguments. Two processes that
    compile at the same time would take the same number, and one of them later finds the other's code under its types.
    So the files of a process have names of their own; all that can be lost is an entry of the index, to be made again.
    """
    kernel = njit(nogil=True, cache=_KEPT, error_model="numpy")(function)
    if _KEPT:
        with suppress(AttributeError):  # the names are Numba's own affair, and may change
            files = kernel._cache._cache_file
            files._data_name_pattern = files._data_name_pattern.replace(".{", f".{_OURS}.{{")
    return kernel


inlined: Any = njit(nogil=True, error_model="numpy", inline="always")
"""For what is called in the innermost loops: a call counts a reference on every array that it is given, over which
threads contend; what is written out in its caller counts none."""
