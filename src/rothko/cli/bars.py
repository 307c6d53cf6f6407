"""Small bars and lines beside numbers, where somebody sees them: on a terminal that has room, and nowhere else.

What is piped has the same numbers, and no signs that a program would have to pass over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

WIDTH = 10
"""Letters of a full bar."""
EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS = "▁▂▃▄▅▆▇█"
PLAIN = ".:-=+*#@"
"""Heights on a terminal whose letters have no blocks."""
TONE = "rgb(214,90,49)"
BOUNDLESS = 10_000
"""Letters of a line that has room for everything."""


def bar(share: float | None, *, plain: bool) -> Text:
    """A share of a full bar; nothing where it is not known.

    >>> bar(0.5, plain=True).plain, bar(0.26, plain=False).plain, bar(None, plain=True).plain
    ('#####     ', '██▋       ', '          ')
    """
    known = 0.0 if share is None or math.isnan(share) else min(max(share, 0.0), 1.0)
    if plain:
        text = "#" * (round(known * WIDTH) or (known > 0))
    else:
        eighths = round(known * WIDTH * 8) or (known > 0)
        text = "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
    return Text(text.ljust(WIDTH), TONE)


def line(values: Sequence[float | None], *, plain: bool, most: float | None = None) -> Text:
    """Values from 0 to the most as a line of bars, with a gap where one is not known.

    Parameters
    ----------
    most
        What is as high as can be; the largest of the values by default.

    Examples
    --------
    >>> line([0.1, None, 0.4], plain=False).plain, line([0, 0], plain=True).plain
    ('▃ █', '..')
    """
    heights = PLAIN if plain else HEIGHTS
    most = most or max((value for value in values if value is not None), default=0) or 1
    steps = [None if value is None else min(int(value / most * len(heights)), len(heights) - 1) for value in values]
    return Text("".join(" " if step is None else heights[step] for step in steps), TONE)


def beside(shares: Sequence[float], *, plain: bool) -> Text:
    """What stands beside a number: a share as a bar, several as a line, nothing for none."""
    return bar(shares[0], plain=plain) if len(shares) == 1 else line(shares, plain=plain)


def plainly(console: Console) -> bool:
    """Whether the letters of a terminal have no blocks."""
    return console.options.ascii_only or console.legacy_windows


def drawn(console: Console, table: Callable[[bool], Table]) -> Table:
    """A table with its bars on a terminal that has room for them, and without them elsewhere.

    Parameters
    ----------
    table
        Makes it, with bars or without.
    """
    if console.is_terminal:
        barred = table(True)
        if Measurement.get(console, console.options.update(max_width=BOUNDLESS), barred).maximum <= console.width:
            return barred
    return table(False)
