"""How the tree of a column is shown: its nodes with their tools, what its levels cost, and what it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from rothko.report.page import Html, text
from rothko.studio.jobs.trees import Seen
from rothko.studio.markup import act, button, chosen, element, field, form, hidden
from rothko.studio.sparks import share

CHILDREN, NODES = 60, 900
"""Nodes that are shown below one, and in all."""


def holes(name: str, seen: Seen) -> Html | None:
    """Values that have no leaf, and where to put them."""
    if not seen.lacking:
        return None
    some = [element("li", f"{value} ({count:,} records)") for value, count in seen.holes[:8]]
    more = element("li", f"and {seen.lacking - len(some):,} more") if seen.lacking > len(some) else None
    groups = [(label, "directly under *" if label == "*" else f"under {label}") for label in seen.groups(200)]
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


def levels(seen: Seen) -> Html | None:
    """What each level costs."""
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


def line(name: str, seen: Seen) -> Html:
    """What a column without a tree is."""
    return text(
        f"{seen.distinct:,} values lie on a line, which may be cut anywhere; a class publishes a range, or the "
        f"set of its values. "
        "Group some below, and it becomes a tree.",
        faint=True,
    )


def nodes(name: str, seen: Seen, into: str, order: Sequence[str] = ()) -> Html:
    """The tree itself, from one of its labels on, with what can be done to it.

    Parameters
    ----------
    order
        The labels of a line that have one.
    """
    start = max(seen.place(into), 0)
    place = {label: at for at, label in enumerate(order)}
    room = [NODES]

    def node(at: int, depth: int) -> Html:
        label, below = seen.label(at), seen.below(at)
        room[0] -= 1
        mark = element("input", type="checkbox", name="node", value=label, aria_label=f"choose {label}") if at else None
        words = element("span", label, class_="label")
        records = seen.records[at]
        told = f"{records:,} record{'' if records == 1 else 's'} · {len(below):,} below" if below else f"{records:,}"
        count = element("span", told, class_="faint n", title=None if below else "records")
        where = {"data_under": label, "data_column": name} if below or not at else {}
        line = element(
            "span",
            words,
            count,
            class_="node",
            draggable="true" if at else None,
            data_node=label if at else None,
            **where,
        )
        if not below:
            return element("li", element("label", mark, line))
        shown: Sequence[int] = below[:CHILDREN] if room[0] > 0 else ()
        if place and not at:
            shown = sorted(below, key=lambda child: place.get(seen.label(child), len(place)))[:CHILDREN]
        inner = [node(child, depth + 1) for child in shown if room[0] > 0]
        if len(inner) < len(below):
            inner.append(element("li", f"and {len(below) - len(inner):,} more ", class_="faint"))
        opened = depth == 0 or (depth == 1 and len(seen.below(start)) <= 12)
        return element(
            "li",
            mark,
            element("details", element("summary", line), element("ul", *inner), open=opened or None, id=f"node-{at}"),
        )

    groups = [(label, label) for label in seen.groups(300)]
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
