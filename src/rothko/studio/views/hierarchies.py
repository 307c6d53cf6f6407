"""Hierarchies: how the values of a quasi-identifier are generalised, as a tree to look at and to edit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.spec import WORDS
from rothko.data.schema import Role
from rothko.errors import InputError
from rothko.policy.column import Column
from rothko.policy.hierarchy_file import read_hierarchy, written_hierarchy
from rothko.policy.yaml import value as read_value
from rothko.report.page import Html
from rothko.studio import pruning
from rothko.studio.desk import Desk, Fact
from rothko.studio.edits import said_of
from rothko.studio.jobs.trees import Seen
from rothko.studio.markup import act, button, chosen, element, field, form, hidden, joined, part, problem, waiting
from rothko.studio.views import tree_drawn
from rothko.studio.views.view import File, Fragments, Given, View

KINDS = {
    "line": "none: values lie on a line",
    "order": "none: labels in an order",
    "auto": "auto: made from the values",
    "flat": "flat: a value, or nothing",
    "mask": "mask: fewer characters",
    "prefix": "prefix: first characters",
    "icd-10": "icd-10: categories and chapters",
    "intervals": "intervals: widths",
    "breaks": "intervals: breaks",
    "dates": "dates: units",
    "tree": "tree: edited by hand",
}
"""Kind → what it is."""
HELP = {
    "mask": "right or left",
    "prefix": "characters kept, falling: 3, 1",
    "intervals": "widths, rising: 5, 10, 20",
    "breaks": "where it is cut, rising: 18, 40, 65",
    "dates": "units, rising: month, year, decade",
    "order": "every label, the first one first: none, primary, secondary",
}
"""Kind → what is to be written."""


def body(desk: Desk) -> Html:
    """The view."""
    names = desk.policy.quasi_identifiers
    column = _column(desk)
    links = [
        element(
            "li",
            act(
                "hierarchies/look",
                element("span", name),
                kind="tab",
                values={"column": name},
                aria_current="true" if name == column else None,
            ),
            element("span", kind_of(desk, name), class_="faint"),
        )
        for name in names
    ]
    return joined(
        [
            element("h1", "Hierarchies"),
            element(
                "p",
                "A value that cannot stay as it is becomes the next label above it. The better the labels, the "
                "more a release says.",
                class_="lead",
            ),
            element(
                "div",
                element("nav", element("ul", *links, class_="plain tabs"), aria_label="Quasi-identifiers"),
                element("div", _how(desk, column), tree(desk)),
                class_="tree-of",
            ),
            element("p", element("a", "Next: requirements", href="/requirements", class_="go")),
        ]
    )


def _column(desk: Desk) -> str:
    names = desk.policy.quasi_identifiers
    found = desk.notes.get("column")
    return (
        found if found in names else next((n for n in names if desk.policy.columns[n].hierarchy is not None), names[0])
    )


def kind_of(desk: Desk, name: str) -> str:
    """How a column is generalised."""
    column = desk.policy.columns[name]
    if column.order is not None:
        return "order"
    return "line" if column.hierarchy is None else str(column.hierarchy.kind)


def _how(desk: Desk, name: str) -> Html:
    column = desk.policy.columns[name]
    kind = kind_of(desk, name)
    written = _written(column, kind)
    looked_at, other = desk.notes.get("kind", ("", ""))
    if looked_at == name and other in HELP and other != kind:
        kind, written = other, ""
    options = [(one, words) for one, words in KINDS.items() if one != "tree" or kind == "tree"]
    if kind == "csv":
        options.append(("csv", "csv: a file"))
    ways = element(
        "div",
        form(
            "hierarchies/kind",
            hidden(column=name),
            chosen("kind", options, kind, label="Hierarchy", shown=True, id_="kind"),
            live=True,
        ),
        form(
            "hierarchies/set",
            hidden(column=name, kind=kind),
            field("value", written, label=HELP[kind].capitalize(), size=26, id="value") if kind in HELP else None,
            field("weight", f"{column.weight:g}", label="Weight of its loss", kind="number", min=0.01, step="any"),
            button("Set"),
            class_="row",
        ),
        class_="row kinds",
    )
    files = element(
        "div",
        element("a", "Export as CSV", href=f"/file/hierarchies/csv?at={_at(desk, name)}", download=True),
        " ",
        element("a", "as YAML", href=f"/file/hierarchies/yaml?at={_at(desk, name)}", download=True),
        element(
            "label",
            element("input", type="file", data_drop=f"hierarchy:{name}", accept=".csv,.yaml,.yml", class_="file"),
            element("b", "Import"),
            element("span", " a file: leaf;level 1;…;* or a tree in YAML", class_="faint"),
            class_="drop small",
            data_drop=f"hierarchy:{name}",
        ),
        class_="files-of",
    )
    return element("section", element("h2", name), ways, files, id="how")


def _written(column: Column, kind: str) -> str:
    """What is written beside the kind of a hierarchy."""
    if column.order is not None:
        return ", ".join(column.order)
    if column.hierarchy is None or kind not in HELP:
        return ""
    short = column.hierarchy.short()[kind]
    return short if isinstance(short, str) else ", ".join(map(str, short))


def _at(desk: Desk, name: str) -> int:
    return list(desk.policy.columns).index(name)


def _fact(desk: Desk, name: str) -> Fact:
    assert desk.table is not None
    key = (
        desk.table,
        name,
        desk.policy.columns[name],
        desk.policy.quasi_identifiers,
        desk.policy.missing,
        repr(desk.policy.input),
    )
    return desk.fact(
        "tree", "hierarchy", key, lane="slow", data=desk.table.data, policy=desk.policy, column=name, csv=desk.table.csv
    )


def tree(desk: Desk) -> Html:
    """The tree, with what it lacks and what its levels cost."""
    name = _column(desk)
    if not desk.seen.exact:
        return part("tree", waiting("All records are being read."))
    fact = _fact(desk, name)
    if fact.error:
        return part("tree", problem(fact.error))
    if not fact.fresh:
        return part("tree", waiting("Growing the tree."))
    seen: Seen = fact.value
    kind = kind_of(desk, name)
    return part(
        "tree",
        tree_drawn.holes(name, seen),
        tree_drawn.levels(seen),
        tree_drawn.line(name, seen) if kind in ("line", "order") else None,
        tree_drawn.nodes(name, seen, desk.notes.get("into", "*"), desk.policy.columns[name].order or ()),
    )


# ── what is done ─────────────────────────────────────────────────────────────────────────────────


def look(desk: Desk, given: Given) -> Fragments:
    """Look at another column."""
    desk.notes["column"], desk.notes["into"] = given.one("column"), "*"
    return None


def up(desk: Desk, given: Given) -> Fragments:
    """Look at the whole tree again."""
    desk.notes["into"] = "*"
    return [tree(desk)]


def _given_column(desk: Desk, given: Given) -> str:
    name = given.one("column")
    if name not in desk.policy.columns or desk.policy.columns[name].role is not Role.QUASI_IDENTIFIER:
        raise InputError(f"{name!r} is no quasi-identifier; only these are generalised.")
    return name


def choose(desk: Desk, given: Given) -> Fragments:
    """Another kind of hierarchy: at once where it needs nothing more, else when that is written."""
    name, kind = _given_column(desk, given), given.one("kind")
    if kind in HELP and kind not in (kind_of(desk, name), "mask"):
        desk.notes["kind"] = (name, kind)
        return None
    desk.notes.pop("kind", None)
    column = desk.policy.columns[name]
    if kind == kind_of(desk, name):
        return None
    return change(desk, Given(column=[name], kind=[kind], value=[""], weight=[f"{column.weight:g}"]))


def change(desk: Desk, given: Given) -> Fragments:
    """Another kind of hierarchy."""
    name, kind, written = _given_column(desk, given), given.one("kind", "line"), given.one("value")
    if kind not in KINDS:
        raise InputError(f"{kind!r} is no kind of hierarchy; there are {', '.join(KINDS)}.")
    before = desk.policy.columns[name]
    told: dict[str, Any] = said_of(before) | {"hierarchy": None, "order": None}
    told["weight"] = given.number("weight") if given.one("weight") else 1
    if kind == "order":
        told["order"] = tuple(part.strip() for part in written.split(",") if part.strip())
    elif kind == "tree":
        told["hierarchy"] = before.hierarchy
    elif kind in WORDS:
        told["hierarchy"] = kind
    elif kind != "line":
        inner: Any = written or "right" if kind == "mask" else read_value(f"[{written}]", where=f"the {kind} of {name}")
        told["hierarchy"] = {kind: inner}
    _put(desk, name, told, f"{name}: {kind}")
    desk.notes.pop("kind", None)
    return None


def _put(desk: Desk, name: str, told: dict[str, Any], done: str) -> None:
    spec = {key: value for key, value in told.items() if value is not None}
    if spec.get("hierarchy") is not None and not isinstance(spec["hierarchy"], str | dict):
        spec["hierarchy"] = spec["hierarchy"].short()
    if spec.get("type") == "auto":
        del spec["type"]
    columns: dict[str, Any] = {**desk.policy.columns, name: spec}
    desk.edit(desk.policy.but(columns=columns), done)


def _tree_of(desk: Desk, name: str) -> Seen:
    fact = _fact(desk, name)
    if not fact.fresh:
        raise InputError("The tree is still growing; try again in a moment.")
    seen: Seen = fact.value
    return seen


def take(desk: Desk, name: str, tree_of: Hierarchy, done: str) -> None:
    """Let a column have a tree, as a part of the policy."""
    name = _given_column(desk, Given(column=[name]))
    told = said_of(desk.policy.columns[name]) | {"order": None, "hierarchy": {"tree": tree_of.to_nested()}}
    _put(desk, name, told, f"{name}: {done}")


async def take_file(desk: Desk, column: str, path: Path) -> None:
    """A hierarchy that was dropped on the page, for a column."""
    try:
        take(desk, column, await asyncio.to_thread(read_hierarchy, path), path.name)
    finally:
        path.unlink(missing_ok=True)


async def _pruned(desk: Desk, name: str, how: Callable[[Hierarchy], Hierarchy], done: str) -> None:
    """Change the tree of a column; beside the page, for one of very many labels takes a while."""
    seen, before = _tree_of(desk, name), desk.policy.columns[name]
    changed = await asyncio.to_thread(lambda: how(seen.hierarchy))
    if desk.policy.columns.get(name) is not before:
        raise InputError("The tree has changed since this page was made; look at it again.")
    take(desk, name, changed, done)


async def edit(desk: Desk, given: Given) -> Fragments:
    """Group, rename, move or take apart what is chosen."""
    name, do, nodes = _given_column(desk, given), given.one("do"), given.many("node")
    if not nodes:
        raise InputError("Choose a node of the tree first.")
    if do == "into":
        desk.notes["into"] = nodes[0]
        return [tree(desk)]
    if do == "rename" and len(nodes) > 1:
        raise InputError("Choose one group to rename.")
    changed = {
        "group": lambda tree: pruning.grouped(tree, nodes, given.one("name")),
        "rename": lambda tree: pruning.renamed(tree, nodes[0], given.one("name")),
        "move": lambda tree: pruning.moved(tree, nodes, given.one("under", "*")),
        "ungroup": lambda tree: pruning.ungrouped(tree, nodes),
    }
    if do not in changed:
        raise InputError(f"{do!r} is nothing that can be done to a tree.")
    await _pruned(desk, name, changed[do], do)
    return None


async def move(desk: Desk, given: Given) -> Fragments:
    """A node that was dragged onto a group."""
    name, node, under = _given_column(desk, given), given.one("node"), given.one("under", "*")
    await _pruned(desk, name, lambda tree: pruning.moved(tree, [node], under), "move")
    return None


async def fill(desk: Desk, given: Given) -> Fragments:
    """Leaves for values that have none."""
    name = _given_column(desk, given)
    seen = _tree_of(desk, name)
    if seen.lacking > len(seen.holes):
        known = set(seen.hierarchy.labels)
        values = [value for value in seen.values if value not in known]
        if len(values) < seen.lacking:
            raise InputError(
                f"{seen.lacking:,} values lack a leaf, too many to put in one by one; export the tree, complete "
                f"it, and import it."
            )
    else:
        values = [value for value, _ in seen.holes]
    under = given.one("under", "*")
    await _pruned(desk, name, lambda tree: pruning.filled(tree, values, under), "leaves for all values")
    return None


def _export(ending: str) -> Any:
    async def export(desk: Desk, given: Given) -> File:
        at = given.whole("at", least=0)
        if at >= len(desk.policy.columns):
            raise InputError("There is no such column.")
        name = _given_column(desk, Given(column=[list(desk.policy.columns)[at]]))
        desk.notes["column"] = name
        seen = _tree_of(desk, name)
        found = await asyncio.to_thread(lambda: written_hierarchy(seen.hierarchy, Path(f"h{ending}")))
        plain = "".join(sign if sign.isalnum() else "_" for sign in name) or "hierarchy"
        return File(f"{plain}{ending}", found.encode(), "text/plain; charset=utf-8")

    return export


VIEW = View(
    "hierarchies",
    "Hierarchies",
    body,
    actions={"look": look, "up": up, "kind": choose, "set": change, "edit": edit, "move": move, "fill": fill},
    takes={"hierarchy": ((".csv", ".yaml", ".yml"), take_file)},
    parts={"tree": tree},
    files={"csv": _export(".csv"), "yaml": _export(".yaml")},
    about="Here you see and change what a value becomes where it cannot stay as it is.",
)
