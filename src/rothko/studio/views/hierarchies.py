"""Hierarchies: how the values of a quasi-identifier are generalised, as a tree to look at and to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.schema import Role
from rothko.errors import InputError
from rothko.policy.hierarchy_file import read_hierarchy, written_hierarchy
from rothko.policy.yaml import value as read_value
from rothko.report.page import Html, text
from rothko.studio import pruning
from rothko.studio.desk import Desk, Fact
from rothko.studio.edits import said_of
from rothko.studio.jobs.trees import Seen
from rothko.studio.markup import act, button, chosen, element, field, form, hidden, joined, part, problem, waiting
from rothko.studio.sparks import share
from rothko.studio.views.view import File, Fragments, Given, View

KINDS = {
    "line": "none: values lie on a line",
    "order": "none: labels in an order",
    "auto": "auto: made from the values",
    "flat": "flat: a value, or nothing",
    "mask": "mask: fewer characters",
    "prefix": "prefix: first characters",
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
CHILDREN, NODES = 60, 900
"""Nodes that are shown below one, and in all."""


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
    written = ""
    if column.order is not None:
        written = ", ".join(column.order)
    elif column.hierarchy is not None and kind not in ("tree", "auto", "flat", "csv"):
        short = column.hierarchy.short()[kind]
        written = short if isinstance(short, str) else ", ".join(map(str, short))
    options = [(one, words) for one, words in KINDS.items() if one != "tree" or kind == "tree"]
    if kind == "csv":
        options.append(("csv", "csv: a file"))
    ways = form(
        "hierarchies/set",
        hidden(column=name),
        chosen("kind", options, kind, label="Hierarchy", shown=True, id_="kind"),
        field("value", written, label=HELP.get(kind, "needs nothing more"), size=26, id="value"),
        field("weight", f"{column.weight:g}", label="Weight of its loss", kind="number", min=0.01, step="any"),
        button("Set"),
        class_="row",
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


def _at(desk: Desk, name: str) -> int:
    return list(desk.policy.columns).index(name)


def _fact(desk: Desk, name: str) -> Fact:
    assert desk.table is not None
    key = (
        desk.table,
        name,
        repr(desk.policy.columns[name]),
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
        _holes(name, seen),
        _levels(seen),
        _line(name, seen) if kind in ("line", "order") else None,
        _nodes(desk, name, seen, kind),
    )


def _holes(name: str, seen: Seen) -> Html | None:
    if not seen.lacking:
        return None
    some = [element("li", f"{value} ({count:,} records)") for value, count in seen.holes[:8]]
    more = element("li", f"and {seen.lacking - len(some):,} more") if seen.lacking > len(some) else None
    groups = [(label, "directly under *" if label == "*" else f"under {label}") for label in _groups(seen)[:200]]
    return element(
        "section",
        element(
            "p",
            element("b", f"{seen.lacking:,} of {seen.distinct:,} values have no leaf. ", class_="no"),
            "Nothing can be released until they do:",
        ),
        element("ul", *some, more),
        form(
            "hierarchies/fill",
            hidden(column=name),
            chosen("under", groups, "*", label="Put all of them", shown=True),
            button("Put them there"),
            class_="row",
        ),
        class_="note",
    )


def _groups(seen: Seen) -> list[str]:
    parents = set(seen.hierarchy.parents.tolist())
    return [label for at, label in enumerate(seen.hierarchy.labels) if at in parents or at == 0]


def _levels(seen: Seen) -> Html | None:
    if not seen.levels:
        return None
    rows = []
    for at, level in enumerate(seen.levels):
        words = (
            "the values themselves" if at == 0 else "everything is *" if at == len(seen.levels) - 1 else f"level {at}"
        )
        unique = "–" if level.unique is None else f"{level.unique:.1%}"
        rows.append(
            element(
                "tr",
                element("th", words, scope="row"),
                element("td", f"{level.labels:,}", class_="n"),
                element("td", share(level.lost, f"{level.lost:.2f}", tone="warm")),
                element("td", unique, class_="n"),
            )
        )
    head = element(
        "tr",
        *(
            element("th", one, scope="col", class_="n" if one in ("labels", "unique then") else None)
            for one in ("all at", "labels", "information lost", "unique then")
        ),
    )
    return element(
        "section",
        element("h3", "What a level costs"),
        element(
            "table", element("thead", head), element("tbody", *rows), class_="levels", aria_label="What a level costs"
        ),
        text(
            "Unique then: the share of records that are unique by all quasi-identifiers, if this column were at "
            "that level.",
            faint=True,
        ),
    )


def _line(name: str, seen: Seen) -> Html:
    return text(
        f"{seen.distinct:,} values lie on a line, which may be cut anywhere; a class publishes a range, or the "
        f"set of its values. "
        "Group some below, and it becomes a tree.",
        faint=True,
    )


def _nodes(desk: Desk, name: str, seen: Seen, kind: str) -> Html:
    labels = seen.hierarchy.labels
    children: dict[int, list[int]] = {}
    for at, parent in enumerate(seen.hierarchy.parents.tolist()):
        children.setdefault(parent, []).append(at)
    into = desk.notes.get("into", "*")
    start = labels.index(into) if into in labels else 0
    room = [NODES]

    def node(at: int, depth: int) -> Html:
        below = children.get(at, [])
        room[0] -= 1
        mark = (
            element("input", type="checkbox", name="node", value=labels[at], aria_label=f"choose {labels[at]}")
            if at
            else None
        )
        words = element("span", labels[at], class_="label")
        count = element("span", f"{seen.records[at]:,}", class_="faint n", title="records")
        where = {"data_under": labels[at], "data_column": name} if below or not at else {}
        line = element(
            "span",
            mark,
            words,
            count,
            element("span", f"{len(below):,} below", class_="faint") if below else None,
            class_="node",
            draggable="true" if at else None,
            data_node=labels[at] if at else None,
            **where,
        )
        if not below:
            return element("li", line)
        shown = below[:CHILDREN] if room[0] > 0 else []
        inner = [node(child, depth + 1) for child in shown if room[0] > 0]
        if len(inner) < len(below):
            inner.append(element("li", f"and {len(below) - len(inner):,} more ", class_="faint"))
        opened = depth == 0 or (depth == 1 and len(children.get(start, [])) <= 12)
        return element(
            "li",
            element("details", element("summary", line), element("ul", *inner), open=opened or None, id=f"node-{at}"),
        )

    groups = [(label, label) for label in _groups(seen)[:300]]
    tools = element(
        "div",
        element(
            "div",
            field("name", label="Group what is chosen as", size=16, id="group-name"),
            button("Group", name="do", value="group"),
            button("Rename", name="do", value="rename"),
            class_="row",
        ),
        element(
            "div",
            chosen("under", groups, "*", label="Move what is chosen below", shown=True),
            button("Move", name="do", value="move"),
            button("Ungroup", name="do", value="ungroup"),
            button("Look into", name="do", value="into"),
            class_="row",
        ),
        class_="tools",
    )
    up = act("hierarchies/up", "Show the whole tree", kind="small") if start else None
    unused = (
        text(f"{seen.unused:,} leaves do not occur in the table, which does no harm.", faint=True)
        if seen.unused
        else None
    )
    return element(
        "section",
        element("h3", "The tree"),
        up,
        form(
            "hierarchies/edit",
            hidden(column=name),
            tools,
            element("ul", node(start, 0), class_="tree"),
            class_="editor",
            id="editor",
        ),
        unused,
        text("Choose nodes and use the buttons, or drag a node onto a group.", faint=True),
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
    elif kind in ("auto", "flat"):
        told["hierarchy"] = kind
    elif kind != "line":
        inner: Any = written or "right" if kind == "mask" else read_value(f"[{written}]", where=f"the {kind} of {name}")
        told["hierarchy"] = {kind: inner}
    _put(desk, name, told, f"{name}: {kind}")
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


def take_file(desk: Desk, column: str, path: Path) -> None:
    """A hierarchy that was dropped on the page, for a column."""
    try:
        take(desk, column, read_hierarchy(path), path.name)
    finally:
        path.unlink(missing_ok=True)


def edit(desk: Desk, given: Given) -> Fragments:
    """Group, rename, move or take apart what is chosen."""
    name, do, nodes = _given_column(desk, given), given.one("do"), given.many("node")
    if not nodes:
        raise InputError("Choose a node of the tree first.")
    seen = _tree_of(desk, name)
    if do == "into":
        desk.notes["into"] = nodes[0]
        return [tree(desk)]
    if do == "rename" and len(nodes) > 1:
        raise InputError("Choose one group to rename.")
    changed = {
        "group": lambda: pruning.grouped(seen.hierarchy, nodes, given.one("name")),
        "rename": lambda: pruning.renamed(seen.hierarchy, nodes[0], given.one("name")),
        "move": lambda: pruning.moved(seen.hierarchy, nodes, given.one("under", "*")),
        "ungroup": lambda: pruning.ungrouped(seen.hierarchy, nodes),
    }
    if do not in changed:
        raise InputError(f"{do!r} is nothing that can be done to a tree.")
    take(desk, name, changed[do](), do)
    return None


def move(desk: Desk, given: Given) -> Fragments:
    """A node that was dragged onto a group."""
    name = _given_column(desk, given)
    take(
        desk, name, pruning.moved(_tree_of(desk, name).hierarchy, [given.one("node")], given.one("under", "*")), "move"
    )
    return None


def fill(desk: Desk, given: Given) -> Fragments:
    """Leaves for values that have none."""
    name = _given_column(desk, given)
    seen = _tree_of(desk, name)
    if seen.lacking > len(seen.holes):
        values = [value for value in seen.values if value not in set(seen.hierarchy.labels)]
        if len(values) < seen.lacking:
            raise InputError(
                f"{seen.lacking:,} values lack a leaf, too many to put in one by one; export the tree, complete "
                f"it, and import it."
            )
    else:
        values = [value for value, _ in seen.holes]
    take(desk, name, pruning.filled(seen.hierarchy, values, given.one("under", "*")), "leaves for all values")
    return None


def _export(ending: str) -> Any:
    def export(desk: Desk, given: Given) -> File:
        at = given.whole("at", least=0)
        if at >= len(desk.policy.columns):
            raise InputError("There is no such column.")
        name = _given_column(desk, Given(column=[list(desk.policy.columns)[at]]))
        desk.notes["column"] = name
        found = written_hierarchy(_tree_of(desk, name).hierarchy, Path(f"h{ending}"))
        plain = "".join(sign if sign.isalnum() else "_" for sign in name) or "hierarchy"
        return File(f"{plain}{ending}", found.encode(), "text/plain; charset=utf-8")

    return export


VIEW = View(
    "hierarchies",
    "Hierarchies",
    body,
    actions={"look": look, "up": up, "set": change, "edit": edit, "move": move, "fill": fill},
    takes={"hierarchy": ((".csv", ".yaml", ".yml"), take_file)},
    parts={"tree": tree},
    files={"csv": _export(".csv"), "yaml": _export(".yaml")},
)
