"""The house: imports go down the list of rooms, never up, and no two modules need each other.

Lazy imports and those for type checkers count as any other: whoever reads a module must know what it knows.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
ROOMS = (
    ("errors",),
    ("environment",),
    ("json_text", "mistakes", "private", "progress", "secret", "trim"),
    ("bar", "notebook", "plots"),
    ("kernels",),
    ("data",),
    ("privacy",),
    ("workload",),
    ("methods",),
    ("engines",),
    ("policy",),
    ("release",),
    ("metrics",),
    ("report",),
    ("in_memory",),
    ("flow",),
    ("comparison",),
    ("sets",),
    ("generate",),
    ("calibrate", "learn", "warm"),
    ("studio",),
    ("cli",),
    ("__main__",),
)
"""From the ground up; those side by side do not know each other. ``rothko`` itself knows all."""
LEVELS = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: say the whole name of what is imported"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else str(node.module) for name in inner]
        else:
            continue
        yield from (name for name in names if name in MODULES and name != module)


IMPORTS = {module: set(imported(module)) for module in MODULES}


def room(module: str) -> str:
    """The folder or file directly below the package; nothing for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def test_every_room_has_its_level() -> None:
    assert {room(module) for module in MODULES} - {""} == set(LEVELS)


def goes_up(module: str, name: str) -> bool:
    if room(module) in ("", room(name)) or room(name) == "":
        return False
    return LEVELS[room(name)] >= LEVELS[room(module)]


def test_imports_go_down() -> None:
    assert [(module, name) for module in MODULES for name in IMPORTS[module] if goes_up(module, name)] == []


def test_nothing_but_the_command_line_imports_the_package_itself() -> None:
    assert {room(module) for module in MODULES if "rothko" in IMPORTS[module]} <= {"cli"}


def test_modules_do_not_need_each_other() -> None:
    assert circles(IMPORTS) == []


def test_a_circle_is_found() -> None:
    around = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"d2"}, "d2": set(), "e": {"a"}}
    assert circles(around) == [frozenset("abc")]


def circles(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """The largest sets of modules of which each needs all others (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for name in sorted(graph[module]):
            if name not in number:
                visit(name)
                lowest[module] = min(lowest[module], lowest[name])
            elif name in stack:
                lowest[module] = min(lowest[module], number[name])
        if lowest[module] == number[module]:
            at = stack.index(module)
            together = stack[at:]
            del stack[at:]
            if len(together) > 1:
                found.append(frozenset(together))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return found


def test_every_package_of_an_extra_is_used() -> None:
    """What a person installs by ``pip install "rothko[learn]"`` is imported somewhere, and what nothing uses is not."""
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
    modules = {"scikit-learn": "sklearn", "griffelib": "griffe"}
    pages = (SOURCE.parent / "pages").glob("*.py")
    sources = "\n".join(path.read_text() for path in (*MODULES.values(), *pages))
    for extra, packages in project["optional-dependencies"].items():
        names = [re.split(r"[<>=\[]", package)[0] for package in packages] if extra != "dev" else []
        for name in names:
            module = modules.get(name, name.replace("-", "_"))
            used = rf"^\s*(import|from) {module}\b|\"-m\", \"{module}\""
            assert re.search(used, sources, re.MULTILINE), f"{name} of the extra {extra}"


SHARED = {
    "a command, and what it runs": [
        "apply",
        "check",
        "compare",
        "draft",
        "evaluate",
        "measure",
        "plan",
        "report",
        "warm",
    ],
    "a format, read and written": ["arrow", "csv", "parquet"],
    "of tables, and of sets": ["certificate", "finish", "method", "publish", "records", "release", "verify", "write"],
    "a method, and its kernel": ["anatomy", "cluster", "hilbert", "idistance", "k1", "mondrian", "refine"],
    "a step, and its kernel": [
        "cube",
        "frequency",
        "grow",
        "lookup",
        "lsh",
        "onedim",
        "peel",
        "price",
        "repair",
        "two_phase",
    ],
    "intervals of codes: around records, and of a predicate": ["boxes"],
    "what is lost: computed, and told": ["loss"],
    "what may be asked for: of an engine, and on the command line": ["options"],
    "the command has the name that a person types": ["hierarchy", "schema"],
    "the verbs of an engine, and what each engine makes of them": ["run", "store"],
    "records along a curve: on disk, on a cluster, and what both share": ["along"],
    "a view of the studio, and what it shows": ["hierarchies", "requirements"],
    "the values of a table learned: in batches, and on a cluster": ["survey"],
}
"""Names of files that stand more than once, by the one idea that they stand for."""


def test_no_name_of_a_file_stands_for_two_ideas() -> None:
    names = [path.stem for path in MODULES.values() if path.stem != "__init__"]
    assert {name for name in names if names.count(name) > 1} == {name for shared in SHARED.values() for name in shared}
