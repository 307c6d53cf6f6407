"""Compiled loops: arrays in, arrays out. Nothing here knows of columns, policies or files.

Every kernel has a NumPy or plain-Python twin in ``tests/kernels`` that it must equal. Kernels
release the interpreter lock and hold no threads of their own: an engine runs them side by side
(Numba's own thread pools are not safe to enter from several Python threads at once).
"""

from __future__ import annotations

import os
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
    for index in folder.rglob("__pycache__/*.nbi"):
        with suppress(FileNotFoundError):  # another process was faster
            if index.stat().st_mtime_ns < changed:
                index.unlink()


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


compiled: Any = njit(nogil=True, cache=_can_be_kept(), error_model="numpy")
"""The one way in which kernels are compiled: without the interpreter lock, kept on disk between runs if they can be."""

inlined: Any = njit(nogil=True, error_model="numpy", inline="always")
"""For what is called in the innermost loops: a call counts a reference on every array that it is given, over which
threads contend; what is written out in its caller counts none."""
