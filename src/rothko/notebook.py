"""What objects look like in a notebook: a line of words, small tables, bars. Colours are those of the notebook.

Everything that comes from data or a policy is escaped here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

CELL = "padding:.15em .8em;text-align:{side};vertical-align:top;border:0;white-space:{space}"
BAR = (
    "display:inline-block;height:.7em;width:{width:.2f}em;background:#b5451b;border-radius:.1em;margin-left:.5em;"
    "vertical-align:baseline"
)
LONGEST = 7.0
"""The width of a full bar, in ems."""
SHOWN = 50
"""Nodes of a tree side by side."""
OPEN = 30
"""Nodes of a tree that is open all the way."""


def shown(title: str, *parts: str) -> str:
    """An object: what it is in one line, and its tables."""
    return f'<div class="rothko"><p style="margin:.3em 0"><b>{escape(title)}</b></p>{"".join(parts)}</div>'


def words(text: str) -> str:
    """A line of words."""
    return f'<p style="margin:.3em 0">{escape(text)}</p>'


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Collection[int] = (0,),
    bars: Sequence[float] | None = None,
) -> str:
    """A table; cells are text.

    Parameters
    ----------
    left
        The places of columns that are text; the others are numbers, and stand on the right.
    bars
        For each row the share of a full bar that is drawn behind its last cell.

    Examples
    --------
    >>> "&lt;b&gt;" in table(["a"], [["<b>"]])
    True
    """

    def style(at: int) -> str:
        space = "normal" if at in left and at == len(titles) - 1 else "nowrap"
        return CELL.format(side="left" if at in left else "right", space=space)

    head = "".join(f'<th scope="col" style="{style(at)}">{escape(title)}</th>' for at, title in enumerate(titles))
    body = []
    for number, row in enumerate(rows):
        cells = [f'<td style="{style(at)}">{escape(cell)}</td>' for at, cell in enumerate(row)]
        if bars is not None:
            width = LONGEST * min(max(bars[number], 0.0), 1.0)
            bar = f'<span style="{BAR.format(width=width)}"></span>'
            cells.append(f'<td style="{CELL.format(side="left", space="nowrap")}">{bar}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    extra = "<td></td>" if bars is not None else ""
    return (
        f'<table style="border-collapse:collapse;margin:.4em 0"><thead><tr>{head}{extra}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def folded(title: str, text: str) -> str:
    """Text that is shown when somebody asks for it."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def tree(labels: Sequence[str], parents: Sequence[int]) -> str:
    """A tree that opens node by node; parents come before their children, the root first."""
    children: list[list[int]] = [[] for _ in labels]
    for node, parent in enumerate(parents[1:], 1):
        children[parent].append(node)

    def leaf(label: str) -> str:
        return f'<div style="margin-left:2em">{escape(label)}</div>'

    def drawn(node: int) -> str:
        if not children[node]:
            return leaf(labels[node])
        more = len(children[node]) - SHOWN
        below = "".join(map(drawn, children[node][:SHOWN])) + (leaf(f"and {more:,} more") if more > 0 else "")
        state = " open" if node == 0 or len(labels) <= OPEN else ""
        return f'<details style="margin-left:1em"{state}><summary>{escape(labels[node])}</summary>{below}</details>'

    return drawn(0)
