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

SELDOM = (250_000, 50, 100)
"""Objects after which garbage is collected: imports make 135,000 that stay, and looking through these takes
as long as partitioning a small table."""


class Without(importlib.abc.MetaPathFinder):
    """Modules that are not there: pandas, which Arrow looks for at its first array, and SciPy, which Numba looks for at
    its start. A command has no data frames, and multiplies matrices with scikit-learn alone; PySpark wants both.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Say that a module is not there, or nothing."""
        if fullname in ("pandas", "scipy") and not {"sklearn", "pyspark"} & sys.modules.keys():
            raise ModuleNotFoundError(f"{fullname} is not needed here.", name=fullname)


def run() -> NoReturn:
    """Run a command, and end the process."""
    gc.set_threshold(*SELDOM)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them takes longer than reading a policy
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
