"""Compiled loops: arrays in, arrays out. Nothing here knows of columns, policies or files.

Every kernel has a NumPy or plain-Python twin in ``tests/kernels`` that it must equal. Kernels
release the interpreter lock and hold no threads of their own: an engine runs them side by side
(Numba's own thread pools are not safe to enter from several Python threads at once).
"""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from typing import Any

from numba import config, njit

from rothko.kernels import compiling  # noqa: F401 - begins to listen
from rothko.kernels.cache import folder
from rothko.kernels.linking import linked as _linked
from rothko.kernels.loading import Kept

KEPT_IN = folder()
"""Where compiled kernels are kept."""
_OURS = secrets.token_hex(4)
"""In the names of the files that this process writes."""
_SETTING = threading.Lock()
"""Kernels are imported by several threads; without a folder that is set Numba writes where a program happens to run."""
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(function: Any) -> Any:
    """Compile a kernel that Python calls: without the interpreter lock, and kept on disk between runs.

    Numba numbers the files with what it compiled of a function, one for each types of arguments. Two processes that
    compile at the same time would take the same number, and one of them later finds the other's code under its types.
    So the files of a process have names of their own, and the index is held while one is added to it.
    """
    kernel = njit(no_cfunc_wrapper=True, **_OPTIONS)(function)
    with _SETTING:
        before, config.CACHE_DIR = config.CACHE_DIR, str(KEPT_IN)
        try:
            kernel._cache = Kept(function)
        finally:
            config.CACHE_DIR = before  # what else a program compiles is kept where it says
    with suppress(AttributeError):  # the names are Numba's own affair, and may change
        files = kernel._cache._cache_file
        files._data_name_pattern = files._data_name_pattern.replace(".{", f".{_OURS}.{{")
    return kernel


def linked(function: Any) -> Any:
    """Compile a kernel that only kernels call, as a part of them; see :mod:`rothko.kernels.linking`."""
    return _linked(function, **_OPTIONS)


def is_linked(kernel: Any) -> bool:
    """Whether a kernel is called by kernels only."""
    return bool(getattr(kernel, "targetoptions", {}).get("no_cpython_wrapper"))


inlined: Any = njit(inline="always", **_OPTIONS)
"""For what is called in the innermost loops: a call counts a reference on every array that it is given, over which
threads contend; what is written out in its caller counts none."""
