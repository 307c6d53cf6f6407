"""Draw Figs. 7 to 18, 20 and 21 and Tables 13 to 15 of Podgursky, Vanderbilt 2011: what is kept beside time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import Results, legend, row_of

INK = {
    "cluster-all": ("#0072B2", "o", "-"),
    "cluster-random": ("#56B4E9", "o", ":"),
    "cluster-lsh": ("#56B4E9", "o", "--"),
    "iterative-all": ("#CC79A7", "^", "-"),
    "iterative-lsh": ("#CC79A7", "^", "--"),
    "mondrian-even": ("#E69F00", "s", "-"),
    "mondrian-entropy": ("#E69F00", "s", ":"),
    "mondrian-utility": ("#D55E00", "s", "--"),
    "two-phase": ("#000000", "x", "-"),
    "k1-all": ("#009E73", "D", "-"),
    "k1-lsh": ("#009E73", "D", "--"),
    "k1-topdown": ("#009E73", "v", ":"),
}


def _lines(axes: Axes, series: Results) -> None:
    xs = sorted({int(x) for some in series.values() for x in some})
    for method, some in series.items():
        colour, marker, style = INK[method]
        drawn: Any = {"color": colour, "marker": marker, "linestyle": style, "label": method}
        axes.plot([xs.index(int(x)) for x in some], list(some.values()), **drawn)
    axes.set_xticks(range(len(xs)), [str(x) for x in xs])
    axes.set(xlabel="k")


def _draw(found: Results, *parts: str, width: float = 4.1) -> Figure:
    figure, row = row_of(1 + len(parts), width=width, height=3.1)
    for axes, part in zip(row, parts, strict=False):
        _lines(axes, found[part])
        axes.set(title=f"{part} kept", ylabel="share", ylim=(0, None))
    _lines(row[-1], found["seconds"])
    row[-1].set(title="time", ylabel="seconds", yscale="log")
    legend(figure, row[0], columns=4)
    return figure


def _figure(found: Results) -> Figure:
    return _draw(found, "utility")


def _tables(found: Results) -> Figure:
    return _draw(found, "utility", "instances", width=2.9)


DRAWN: dict[str, Callable[[Results], Figure]] = dict.fromkeys(("7", "9", "11", "13", "15", "17", "20"), _figure)
DRAWN["tables"] = _tables
