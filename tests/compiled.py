"""Kernels in tests: the inner ones called from Python, and all of them compiled before the tests begin.

They are compiled by their first call, minutes of it in all. Where nothing is compiled yet, each of the workers that
share the tests begins with other methods; else all would compile the same ones at the same time.
"""

from __future__ import annotations

import warnings
from typing import Any

from rothko import warm


class Called:
    """A module of kernels whose inner ones, which only kernels call, can be called from Python too."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        from rothko.kernels import compiled, is_linked

        found = getattr(self._module, name)
        kernel = compiled(found.py_func) if is_linked(found) else found
        setattr(self, name, kernel)
        return kernel


def nothing_is() -> bool:
    """Whether no kernel was compiled since one of them last changed."""
    from rothko.kernels import KEPT_IN

    return not any(KEPT_IN.rglob("*.nbi"))


def share(worker: int, workers: int) -> None:
    """Compile what falls to one of so many workers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for recipe in warm.recipes()[worker::workers]:
            warm.run(recipe)
