"""Several plots as one drawing: beside and below each other, each with its title, and one key for all."""

from __future__ import annotations

from rothko.plots.model import Mark, Panels
from rothko.plots.svg import LETTER, Frame, sign, text_at, wrapped

TITLE = 24.0
"""What the title of a panel takes."""
ROW = 18.0
"""What a line of the key takes."""


def arranged(panels: Panels, *, alone: bool = False) -> str:
    """Panels as SVG.

    Parameters
    ----------
    alone
        As a file of its own, which brings its colours; otherwise those of the page around it count.
    """
    across = min(panels.columns, len(panels.plots))
    rows = [panels.plots[at : at + across] for at in range(0, len(panels.plots), across)]
    wide = float(max(sum(plot.width for plot in row) for row in rows))
    parts, down = [], 0.0
    for row in rows:
        left = 0.0
        for plot in row:
            frame = Frame(plot, keyed=False)
            inner = [*frame.axes(), *(part for mark in plot.marks for part in frame.mark(mark))]
            title = text_at((frame.left + frame.right) / 2, -8, plot.title, "middle", strong=True)
            moved = f'<g transform="translate({left:g} {down + TITLE:g})">'
            parts.append(f"{moved}{title}{''.join(inner)}</g>")
            left += plot.width
        down += TITLE + max(plot.height for plot in row)
    lines = _key(panels, wide)
    for line in lines:
        x, down = max((wide - sum(_wide(mark) for mark in line)) / 2, 8.0), down + ROW
        for mark in line:
            parts += [sign(mark, x, down - 8), text_at(x + 22, down - 4, mark.label)]
            x += _wide(mark)
    return wrapped(panels.name, panels.title, panels.about, wide, down + 6, parts, alone=alone)


def _wide(mark: Mark) -> float:
    return 40 + LETTER * len(mark.label)


def _key(panels: Panels, wide: float) -> list[list[Mark]]:
    """One mark for each name, by the line that it stands in; nothing where there is one name, or none."""
    named: dict[str, Mark] = {}
    for plot in panels.plots:
        for mark in plot.marks:
            named.setdefault(mark.label, mark)
    named.pop("", None)
    lines: list[list[Mark]] = [[]] if len(named) > 1 else []
    for mark in named.values() if lines else ():
        if lines[-1] and sum(map(_wide, lines[-1])) + _wide(mark) > wide - 16:
            lines.append([])
        lines[-1].append(mark)
    return lines
