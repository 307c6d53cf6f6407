"""What was compiled of a kernel, taken from disk without getting ready for compiling.

Numba gets ready first, and then looks whether there is anything to compile: some eighty modules, which took a tenth of
the time of a small run. Compiled code needs nothing of them but the counting of references. A kernel that is not there
yet is compiled, and Numba gets ready for that by itself.

Like ``linking.py`` this knows of Numba's inside, and is tried with a new version of it before that is allowed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys


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
            super().save_overload(sig, data)
