"""Kernels in tests: the inner ones called from Python, and all of them compiled before the tests begin.

They are compiled by their first call, minutes of it in all. Where nothing is compiled yet, the workers that share the
tests begin with it, each with another method; else all would compile the same ones at the same time.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from rothko import warm

LONGEST = ("cluster", "refine", "mondrian")
"""Methods to begin with: cluster takes a third of all. Claimed late, the other workers waited half a minute for it."""


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


def share(claims: Path) -> None:
    """Compile for one method after the other that no other worker has claimed, in a folder that all of them know.

    By method, for all that is asked of one has kernels in common; by claims, for methods take from one second to sixty.
    """
    recipes = warm.recipes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in dict.fromkeys((*LONGEST, *(recipe.split(" ")[0] for recipe in recipes))):
            try:
                (claims / method).mkdir()
            except FileExistsError:
                continue
            for recipe in recipes:
                if recipe.split(" ")[0] == method:
                    warm.run(recipe)
