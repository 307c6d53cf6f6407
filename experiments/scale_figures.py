"""Draw Figs. 17 to 24."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import Results, legend, row_of
from experiments.scale_claims import PAPER, cells

INK = {
    "memory": ("#000000", "x", "-"),
    "rothko-t": ("#0072B2", "o", "-"),
    "T, F_CACHE = 1": ("#0072B2", "o", "-"),
    "T, F_CACHE = 4": ("#CC79A7", "^", "-"),
    "T, F_CACHE = 8": ("#CC79A7", "^", "-"),
    "rothko-s": ("#E69F00", "s", "-"),
    "S": ("#E69F00", "s", "-"),
}
SHADES = {"user": "#0072B2", "system": "#56B4E9", "wait": "#E69F00"}
TIMES = {"user": "CPU, user", "system": "CPU, system", "wait": "waiting"}
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
MARKERS = "os^D"


def _millions(numbers: Any) -> list[float]:
    return [int(number) / 1e6 for number in numbers]


def _figure_17(found: Results) -> Figure:
    figure, row = row_of(2, width=4.1)
    for engine, runs in found["runs"].items():
        colour, marker, style = INK[engine]
        drawn: Any = {"color": colour, "marker": marker, "linestyle": style, "label": engine}
        row[0].plot(_millions(runs), [run["seconds"] for run in runs.values()], **drawn)
        row[1].plot(_millions(runs), [run["peak"] / 1e6 for run in runs.values()], **drawn)
    row[1].axhline(found["limit"] / 1e6, color="#D55E00", linestyle="--", linewidth=1, label="limit of engines on disk")
    row[0].set(title="time, file to verified release", xlabel="records, millions", ylabel="seconds", ylim=(0, None))
    row[1].set(title="peak of memory", xlabel="records, millions", ylabel="MB", ylim=(0, None))
    legend(figure, row[1])
    return figure


def _io(axes: Axes, names: list[str], runs: list[Mapping[str, Any]]) -> None:
    """Bytes read and written, beside those of the model."""
    at = np.arange(len(runs))
    for side, prefix, colours in ((-0.2, "", ("#0072B2", "#E69F00")), (0.2, "predicted_", ("#a6cee3", "#f6dca4"))):
        below = np.zeros(len(runs))
        for kind, colour in zip(("reads", "writes"), colours, strict=True):
            height = np.array([run["io"][prefix + kind] / 1e6 for run in runs])
            label = f"{kind}, {'model' if prefix else 'measured'}"
            axes.bar(at + side, height, width=0.36, bottom=below, color=colour, label=label)
            below += height
    axes.set_xticks(at, names)


def _figure_18(found: Results) -> Figure:
    figure, grid = plt.subplots(2, 3, figsize=(9.3, 5.4))
    _io(grid[0, 0], list(found["cache"]), list(found["cache"].values()))
    grid[0, 0].set(title="Rothko-T by F_CACHE", xlabel="F_CACHE")
    _io(grid[0, 1], [f"{int(n):,}" for n in found["sample"]], list(found["sample"].values()))
    grid[0, 1].set(title="Rothko-S by sample size", xlabel="records in the sample")
    top = max(axes.get_ylim()[1] for axes in grid[0, :2])
    for axes in grid[0, :2]:
        axes.set_ylim(0, top)
    grid[0, 2].axis("off")
    most = 0.0
    for axes, (name, runs) in zip(grid[1], found["rows"].items(), strict=True):
        _io(axes, [f"{one:g}" for one in _millions(runs)], list(runs.values()))
        axes.set(title=f"Rothko-{name}", xlabel="records, millions")
        most = max(most, axes.get_ylim()[1])
    for axes in grid[1]:
        axes.set_ylim(0, most)
    for axes in grid[:, 0]:
        axes.set_ylabel("MB")
    grid[0, 2].legend(*grid[0, 0].get_legend_handles_labels(), loc="center")
    return figure


def _times(found: Results, names: Callable[[str], str], label: str) -> Figure:
    """Time in its components, a panel for each engine."""
    figure, row = row_of(len(found), share=True)
    for axes, (engine, runs) in zip(row, found.items(), strict=True):
        below = np.zeros(len(runs))
        for kind, colour in SHADES.items():
            height = np.array([run[kind] for run in runs.values()])
            axes.bar(range(len(runs)), height, width=0.6, bottom=below, color=colour, label=TIMES[kind])
            below += height
        axes.set_xticks(range(len(runs)), [names(one) for one in runs])
        axes.set(title=f"Rothko-{engine}", xlabel=label)
    row[0].set_ylabel("seconds")
    legend(figure, row[0])
    return figure


def _by_rows(found: Results) -> Figure:
    return _times(found, lambda rows: f"{int(rows) / 1e6:g}", "records, millions")


def _figure_20(found: Results) -> Figure:
    return _times(found, lambda k: f"{int(k):,}", "k")


def _quality(label: str, unit: float) -> Callable[[Results], Figure]:
    def draw(found: Results) -> Figure:
        figure, (axes,) = row_of(1, width=5.6, height=3.2)
        [(target, by_k)] = found["score"].items()
        for (k, by_n), colour, marker in zip(by_k.items(), COLOURS, MARKERS, strict=False):
            means = [float(np.mean(some)) / unit for some in by_n.values()]
            axes.plot(range(len(means)), means, color=colour, marker=marker, label=f"k = {int(k):,}")
            unsure = [i for i, n in enumerate(by_n) if max(found["nonminimal"][target][k][n])]
            axes.plot(unsure, [means[i] for i in unsure], "o", markersize=12, markerfacecolor="none", color=colour)
        axes.set_xticks(range(len(by_n)), [f"{int(n):,}" for n in by_n])
        axes.set(xlabel="records in the sample", ylabel=label, ylim=(0, None))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=4)
        return figure

    return draw  # fmt: skip


TITLES = {
    "k": "k-anonymity: k",
    "l": "recursive (1, l)-diversity of zipcode: l",
    "uniform": "variance diversity, uniform salary: v",
    "normal": "variance diversity, normal salary: v",
}


def _figure_24(found: Results) -> Figure:
    """The table of the paper: nodes undone with the tests, and without in brackets; x where possibly not minimal."""
    figure, grid = plt.subplots(
        2, 2, figsize=(9.6, 6.2), gridspec_kw={"height_ratios": [max(2, len(_samples(found, "k"))), 3.5]}
    )  # fmt: skip
    held = {(part, bound, sample): by_test for part, bound, sample, by_test in cells(found)}
    for axes, part in zip(grid.flat, TITLES, strict=True):
        bounds, samples = list(found["pruned"][part]), _samples(found, part)
        axes.set_axis_off()
        rows = []
        for sample in samples:
            printed = PAPER[part].get(int(sample), "").split(", ")
            row = []
            for place, bound in enumerate(bounds):
                of = {t: f"{n:,}" if sure else "x" for t, (n, sure) in held[part, bound, sample].items()}
                ours = " | ".join(of[test] for test in ("exact", "normal") if test in of)
                paper = printed[place] if len(printed) > place else "–"
                row.append(f"{ours} ({of['naive']})\n{paper}")
            rows.append(row)
        table = axes.table(
            rows, rowLabels=[f"n = {int(n):,}" for n in samples], colLabels=[f"{float(b):g}" for b in bounds],
            cellLoc="center", bbox=(0.12, 0, 0.88, 1),
        )  # fmt: skip
        table.auto_set_font_size(False)
        table.set_fontsize(8)
        for cell in table.get_celld().values():
            cell.set_edgecolor("#cccccc")
        axes.set_title(TITLES[part])
    figure.supxlabel(
        "above: measured, exact | normal test (naive); one number: normal test (naive).  below: the paper's, "
        "test (naive).  x: possibly not minimal.",
        fontsize=8,
    )
    return figure


def _samples(found: Results, part: str) -> list[str]:
    return list(next(iter(found["pruned"][part].values())))


DRAWN: dict[str, Callable[[Results], Figure]] = {
    "17": _figure_17,
    "18": _figure_18,
    "19": _by_rows,
    "20": _figure_20,
    "21": _by_rows,
    "22": _quality("conditional entropy, bits", 1),
    "23": _quality("weighted squared error, millions", 1e6),
    "24": _figure_24,
}
