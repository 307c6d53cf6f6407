"""Compiled loops: arrays in, arrays out. Nothing here knows of columns, policies or files.

Every kernel has a NumPy or plain-Python twin in ``tests/kernels`` that it must equal. Kernels
release the interpreter lock and hold no threads of their own: an engine runs them side by side
(Numba's own thread pools are not safe to enter from several Python threads at once).
"""

from __future__ import annotations

from typing import Any

from numba import njit

compiled: Any = njit(nogil=True, cache=True, error_model="numpy")
"""The one way in which kernels are compiled: without the interpreter lock, kept on disk between runs."""
