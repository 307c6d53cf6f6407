"""Draw Figs. 12 to 20 of Ghinita et al., VLDB 2007."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import Results, legend, row_of

INK = {
    "mondrian": ("#E69F00", "s", "-"),
    "topdown": ("#000000", "x", ":"),
    "hilbert": ("#0072B2", "o", "-"),
    "hilbert-fast": ("#56B4E9", "o", "--"),
    "idistance": ("#CC79A7", "^", "-"),
    "idistance-fast": ("#CC79A7", "^", "--"),
    "cluster": ("#009E73", "D", "-"),
    "anatomy": ("#999999", "v", "-"),
}


def _lines(axes: Axes, series: Results, label: str) -> None:
    """Numbers against a parameter, evenly spaced whatever its values are."""
    xs = sorted({int(x) for some in series.values() for x in some})
    for method, some in series.items():
        colour, marker, style = INK[method]
        drawn: Any = {"color": colour, "marker": marker, "linestyle": style, "label": method}
        axes.plot([xs.index(int(x)) for x in some], list(some.values()), **drawn)
    axes.set_xticks(range(len(xs)), [f"{x // 1000}k" if x >= 1000 else str(x) for x in xs])
    axes.set(xlabel=label)


def _loss_and(part: str, title: str, label: str) -> Callable[[Results], Figure]:
    """Loss beside another measure."""

    def draw(found: Results) -> Figure:
        figure, row = row_of(2, width=4.1, height=3.1)
        _lines(row[0], found["gcp"], label)
        _lines(row[1], found[part], label)
        row[0].set(title="information loss", ylabel="GCP", ylim=(0, None))
        row[1].set(title=title, ylabel="seconds" if part == "seconds" else "", yscale="log")
        legend(figure, row[0])
        return figure

    return draw


def _figure_20(found: Results) -> Figure:
    figure, grid = plt.subplots(2, 2, figsize=(8.2, 5.6))
    panels = {
        "l": ("by l, level 2", "l"),
        "level": ("by level of the lattice", "level"),
        "d": ("by dimensions, level 2", "quasi-identifiers"),
        "rows": ("by records, level 2", "records"),
    }
    for axes, (part, (title, label)) in zip(grid.flat, panels.items(), strict=True):
        _lines(axes, found[part], label)
        axes.set(title=title, yscale="log")
    for axes in grid[:, 0]:
        axes.set_ylabel("KL divergence, nats")
    legend(figure, grid[0, 0], columns=5)
    return figure


DRAWN: dict[str, Callable[[Results], Figure]] = {
    "12": _loss_and("dm", "discernibility", "k"),
    "13": _loss_and("seconds", "time", "k"),
    "14": _loss_and("seconds", "time", "records"),
    "15": _loss_and("seconds", "time", "quasi-identifiers"),
    "16": _loss_and("seconds", "time", "l"),
    "17": _loss_and("seconds", "time", "records"),
    "18": _loss_and("seconds", "time", "quasi-identifiers"),
    "19": _loss_and("seconds", "time", "sensitive values"),
    "20": _figure_20,
}
