"""The command line as a process of its own.

What a library must not do to the program that it is part of, a command may, and a small table is released a third
sooner for it: it collects garbage seldom, does without modules that others import in case they are needed, and ends
without taking everything apart.
"""

from __future__ import annotations

import atexit
import gc
import importlib.abc
import os
import sys
from typing import Any, NoReturn

from rothko.cli import main

SELDOM = (100_000, 50, 100)


class Without(importlib.abc.MetaPathFinder):
    """Modules that are not there: pandas, which Arrow looks for at its first array, and SciPy's linear algebra, which
    Numba looks for at its first kernel. A command has no data frames, and multiplies matrices with scikit-learn alone.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Say that a module is not there, or nothing."""
        if fullname in ("pandas", "scipy.linalg") and "sklearn" not in sys.modules:
            raise ModuleNotFoundError(f"{fullname} is not needed here.", name=fullname)


def run() -> NoReturn:
    """Run a command, and end the process."""
    gc.set_threshold(*SELDOM)
    sys.meta_path.insert(0, Without())
    code: Any = 1
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    # What was registered for the end is done; then libraries' threads and compiled code are left to the system.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 1
    os._exit(code if isinstance(code, int) else 0)
