"""Compiled loops: arrays in, arrays out. Nothing here knows of columns, policies or files.

Every kernel has a NumPy or plain-Python twin in ``tests/kernels`` that it must equal. Kernels
release the interpreter lock and hold no threads of their own: an engine runs them side by side
(Numba's own thread pools are not safe to enter from several Python threads at once).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba import njit


def _drop_stale() -> None:
    """Remove what was compiled before any kernel last changed.

    Numba looks at the file of a function alone: a kernel would be taken from its cache with the old code of those
    that it calls.
    """
    folder = Path(__file__).parent
    changed = max(source.stat().st_mtime_ns for source in folder.glob("*.py"))
    for index in folder.glob("__pycache__/*.nbi"):
        if index.stat().st_mtime_ns < changed:
            index.unlink(missing_ok=True)


_drop_stale()

compiled: Any = njit(nogil=True, cache=True, error_model="numpy")
"""The one way in which kernels are compiled: without the interpreter lock, kept on disk between runs."""

inlined: Any = njit(nogil=True, error_model="numpy", inline="always")
"""For what is called in the innermost loops: a call counts a reference on every array that it is given, over which
threads contend; what is written out in its caller counts none."""
