"""What a docstring refers to exists: every ``:mod:``, ``:func:``, ``:class:``, ``:data:``, ``:meth:`` and ``:attr:``.

Names are looked up in the sources, without importing them: ``rothko.x.y.name`` from the top, any other name in its own
module or, for members, in a class of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
ROLE = re.compile(r":(mod|func|class|data|meth|attr|exc):`[~!]?([^`]+)`")


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {name_of(path): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements bind."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            yield from bound([*node.body, *node.orelse])


NAMES = {module: set(bound(tree.body)) for module, tree in TREES.items()}
CLASSES = {
    (module, node.name): node for module, tree in TREES.items() for node in tree.body if isinstance(node, ast.ClassDef)
}


def members(cls: ast.ClassDef) -> set[str]:
    """What a class defines, what it sets on itself, and what it has from those that it is made of."""
    found = set(bound(cls.body))
    for node in ast.walk(cls):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            found.add(node.attr)
    for base in cls.bases:
        word = base.value if isinstance(base, ast.Subscript) else base
        for (_, name), node in CLASSES.items():
            if isinstance(word, ast.Name) and name == word.id:
                found |= members(node)
    return found


def exists(reference: str, module: str) -> bool:
    if reference.partition(".")[0] == "rothko":
        words = reference.split(".")
        homes = [".".join(words[:n]) for n in range(len(words), 0, -1)]
        home = next(home for home in homes if home in TREES)
        return home == reference or defined_in(reference.removeprefix(f"{home}."), home)
    of_classes = (members(node) for (home, _), node in CLASSES.items() if home == module)
    return defined_in(reference, module) or any(reference in found for found in of_classes)


def defined_in(reference: str, module: str) -> bool:
    """Whether a module has a name, or a class in it a member."""
    name, _, member = reference.partition(".")
    if member == "":
        return name in NAMES[module]
    homes = [(home, word) for home, word in CLASSES if word == name and (home == module or name in NAMES[module])]
    return any(member in members(CLASSES[one]) for one in homes)


REFERENCES = [
    (name_of(path), line, reference)
    for path in sorted(SOURCE.rglob("*.py"))
    for line, text in enumerate(path.read_text().splitlines(), 1)
    for _, reference in ROLE.findall(text)
]


@pytest.mark.parametrize("module", sorted({module for module, _, _ in REFERENCES}))
def test_what_is_referred_to_exists(module: str) -> None:
    wrong = [
        (line, reference) for home, line, reference in REFERENCES if home == module and not exists(reference, home)
    ]
    assert wrong == []


def test_a_wrong_reference_is_found() -> None:
    assert exists("rothko.data.line.Line.size", "rothko.errors")
    assert not exists("rothko.data.line.Line.sise", "rothko.errors")
    assert not exists("rothko.data.lines", "rothko.errors")
    assert not exists("nearby", "rothko.errors")
