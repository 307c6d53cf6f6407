"""What results were made by: a hash of the code that they hang on.

The code of a part of the experiments is its module and all that this imports, and so on, lazily or not, from
``experiments`` and ``rothko``; neither comments nor docstrings count, nor what only shows results (:data:`ASIDE`), nor
methods that are imported with all the others and not run by the part.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import rothko

PACKAGES = {"experiments": Path(__file__).parent, "rothko": Path(rothko.__file__).parent}
ASIDE = (
    "experiments.runs", "experiments.provenance", "rothko.cli", "rothko.report", "rothko.plots", "rothko.notebook",
    "rothko.bar", "rothko.progress", "rothko.engines.spark", "rothko.release.spark", "rothko.sets.spark",
    "rothko.data.source.spark", "rothko.warm",
    # doors that no experiment opens
    "rothko.data.source.database", "rothko.data.source.delta", "rothko.data.source.spreadsheet",
    "rothko.data.source.statistics_file", "rothko.data.source.workbook", "rothko.release.targets",
    "rothko.release.formats.by_database", "rothko.release.formats.dta", "rothko.release.formats.sav",
    "rothko.release.formats.xlsx", "rothko.policy.draft",
)  # fmt: skip
"""Modules, with all below them, that change no result."""


def code_of(module: str, unused: Collection[str] = ()) -> str:
    """A hash of what a module says and of all that it imports, without modules that it does not use."""
    return _hashed("\n".join(f"{one}\n{_said(one)}" for one in sorted(reached(module, unused))))


def modules_of(module: str, unused: Collection[str] = ()) -> dict[str, str]:
    """The same by module: a hash of what each of them says."""
    return {one: _hashed(_said(one)) for one in sorted(reached(module, unused))}


def differing(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """The modules that are not what they were, with those that came or went."""
    return sorted(one for one in now.keys() | then.keys() if now.get(one) != then.get(one))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def reached(module: str, unused: Collection[str] = ()) -> set[str]:
    """A module, what it imports, what these import, and so on, short of modules that it does not use."""
    known: set[str] = set()
    left = [module]
    while left:
        one = left.pop()
        if one not in known and not _below(one, unused):
            known.add(one)
            left += imports(one)
    return known


@cache
def imports(module: str) -> tuple[str, ...]:
    """What a module of ours imports of ours, anywhere in it."""
    return tuple(dict.fromkeys(one for one in _imports(module) if one != module and not _below(one, ASIDE)))


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _path(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _path(node.module):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _path(inner) else node.module


def _below(module: str, some: Collection[str]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in some)


@cache
def _path(module: str) -> Path | None:
    """The file of a module of ours."""
    package, *inner = module.split(".")
    if package not in PACKAGES:
        return None
    at = PACKAGES[package].joinpath(*inner)
    places = (at.with_suffix(".py"), at / "__init__.py") if inner else (at / "__init__.py",)
    return next((place for place in places if place.is_file()), None)


@cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    assert path is not None, module
    return ast.parse(path.read_text("utf-8"))


@cache
def _said(module: str) -> str:
    """The code of a module without comments and docstrings, which :func:`imports` does not need either."""
    tree = _tree(module)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not _is_text(one)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
