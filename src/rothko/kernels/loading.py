"""What was compiled of a kernel, taken from disk without getting ready for compiling.

Numba gets ready first, and then looks whether there is anything to compile: some eighty modules, which took a tenth of
the time of a small run. Compiled code needs nothing of them but the counting of references. A kernel that is not there
yet is compiled, and Numba gets ready for that by itself.

Like ``linking.py`` this knows of Numba's inside, and is tried with a new version of it before that is allowed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys

PATIENCE = 5.0
"""Seconds after which whoever holds an index is taken for dead: it is held for a fraction of one."""


class _Written(CompileResultCacheImpl):  # type: ignore[misc]
    def reduce(self, cres: Any) -> Any:
        """What is written of a compiled kernel.

        Numba adds what every function that was linked into it may look up while it runs. Those of Numba itself that
        look up nothing are left out: their modules would be imported for it.
        """
        *rest, environments = super().reduce(cres)
        needed = [one for one in environments if one.consts or not one.globals["__name__"].startswith("numba.")]
        return (*rest, tuple(needed))


class Kept(FunctionCache):  # type: ignore[misc]
    """The files of one kernel."""

    _impl_class = _Written

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types of arguments; None where nothing was."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled. Where the disk is full this process goes on with it, and the next compiles anew."""
        with suppress(OSError):
            self._impl.locator.ensure_cache_path()
            with alone(Path(self._cache_file._index_path)):
                super().save_overload(sig, data)


@contextmanager
def alone(index: Path) -> Iterator[None]:
    """Hold an index, which is read, added to and written anew: of two processes at once one would lose its entry."""
    held, begun = index.with_suffix(".held"), time.monotonic()
    while True:
        try:
            os.close(os.open(held, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            if time.monotonic() - begun > PATIENCE:
                break
            time.sleep(0.005)
    try:
        yield
    finally:
        held.unlink(missing_ok=True)
