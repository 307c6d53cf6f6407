"""Draw the figures from the results: SVG and PNG, the same bytes for the same results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from experiments.protocol import GUIDED, MEDIAN, ORIGINAL, TDS
from experiments.synthetic import RESTRICTED, SELECTION

Results = Mapping[str, Any]

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.ymargin": 0.1,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "savefig.dpi": 100,
    "svg.hashsalt": "rothko",
}

# Okabe and Ito's colours, which remain apart for those who do not see all colours; markers say the same again.
INK = {
    ORIGINAL: ("#000000", "none", "--"),
    GUIDED: ("#0072B2", "o", "-"),
    MEDIAN: ("#E69F00", "s", "-"),
    TDS: ("#D55E00", "v", "-"),
    RESTRICTED: ("#CC79A7", "^", "-"),
    SELECTION: ("#009E73", "D", "-"),
}
NAMES = {
    ORIGINAL: "original records",
    GUIDED: "InfoGain Mondrian",
    MEDIAN: "Median Mondrian",
    TDS: "TDS",
    RESTRICTED: "Median Mondrian, age and salary only",
    SELECTION: "Selection Mondrian",
}
MODELS = {
    "tree": "decision tree",
    "bayes": "naive Bayes",
    "forest": "random forest",
    "svm": "linear SVM",
    "linear": "linear regression",
}


def draw(
    results: Results,
    folder: Path,
    drawn_by: Mapping[str, Callable[[Results], Figure]] | None = None,
    *,
    prefix: str = "figure",
) -> list[Path]:
    """Draw every figure that there are results for; of section 4, where it is not said what draws others."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with plt.rc_context(STYLE):
        for number, figure in (drawn_by or DRAWN).items():
            if number not in results["figures"]:
                continue
            drawn = figure(results["figures"][number])
            path = folder / f"{prefix}-{number:>02}"
            drawn.savefig(path.with_suffix(".svg"), metadata={"Date": None})
            _save_small(drawn, path.with_suffix(".png"))
            written += [path.with_suffix(".svg"), path.with_suffix(".png")]
            plt.close(drawn)
    return written


def _save_small(figure: Figure, path: Path) -> None:
    """A PNG of few colours: a third of the size, and nothing to be seen of it."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def _mean(scores: Sequence[float]) -> float:
    return float(np.mean(scores))


def _line(axes: Axes, scores: Mapping[str, Sequence[float]], method: str, name: str | None = None) -> None:
    """A method's mean against a parameter, evenly spaced whatever the values are."""
    colour, marker, style = INK[method]
    # Where two methods agree, the one below must still be seen.
    over: Any = {"markersize": 6.5, "zorder": 2} if method == MEDIAN else {"zorder": 2.5}
    axes.plot(
        range(len(scores)), [_mean(one) for one in scores.values()],
        color=colour, marker=marker, linestyle=style, label=name or NAMES[method], **over,
    )  # fmt: skip
    axes.set_xticks(range(len(scores)), [f"{int(x):,}" if x.isdigit() else x for x in scores])


def _level(axes: Axes, scores: Sequence[float]) -> None:
    """The original as a level across."""
    colour, _, style = INK[ORIGINAL]
    axes.axhline(_mean(scores), color=colour, linestyle=style, linewidth=1, label=NAMES[ORIGINAL])


def row_of(count: int, *, width: float = 3.1, height: float = 2.7, share: bool = False) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(1, count, figsize=(width * count, height), sharey=share, squeeze=False)
    return figure, list(axes[0])


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def _figure_6(found: Results) -> Figure:
    figure, grid = plt.subplots(2, 2, figsize=(8.2, 5), sharey=True)
    for axes, (model, by_method) in zip(grid.flat, found["accuracy"].items(), strict=True):
        methods = [method for method in (ORIGINAL, GUIDED, MEDIAN) if method in by_method]
        for i, method in enumerate(methods):
            scores = by_method[method]
            at = np.arange(len(scores)) + 0.27 * (i - 1)
            colour = "#999999" if method == ORIGINAL else INK[method][0]
            axes.bar(at, [_mean(one) for one in scores.values()], width=0.25, color=colour, label=NAMES[method])
        axes.set_xticks(range(len(scores)), [f"C{function}" for function in scores])
        axes.set(title=MODELS[model], ylim=(0.5, 1))
    for axes in grid[:, 0]:
        axes.set_ylabel("accuracy")
    legend(figure, grid[0, 0])
    return figure


def _figure_7(found: Results) -> Figure:
    panels = [("income", model) for model in found["income"]["accuracy"]] + [("contraceptives", "tree")]
    figure, row = plt.subplots(2, 2, figsize=(8.2, 5.2))
    titles = {"income": "Adult", "contraceptives": "Contraceptives"}
    for axes, (table, model) in zip(row.flat, panels, strict=True):
        by_method = found[table]["accuracy"][model]
        _level(axes, by_method[ORIGINAL]["1"])
        for method in (GUIDED, MEDIAN, TDS):
            if len(by_method.get(method, ())) == len(by_method[GUIDED]):
                _line(axes, by_method[method], method)
        axes.set(title=f"{titles[table]}: {MODELS[model]}", xlabel="k")
    for axes in row[:, 0]:
        axes.set_ylabel("accuracy")
    legend(figure, row[0, 0])
    return figure


def _figure_8(found: Results) -> Figure:
    figure, row = row_of(2, width=4.1)
    for method in (GUIDED, MEDIAN):
        _line(row[0], found["entropy"][method], method)
        _line(row[1], found["class size"][method], method)
    row[0].set(title="conditional entropy of the class", xlabel="k", ylabel="bits", ylim=(0, None))
    row[1].set(title="mean size of the equivalence classes", xlabel="k", ylabel="records", yscale="log")
    legend(figure, row[0])
    return figure


def _figure_9(found: Results) -> Figure:
    titles = {
        "hours": "Adult: hours a week",
        "survey": "survey: income, $1,000",
        "R7": "synthetic R7, $1,000",
        "R10": "synthetic R10, $1,000",
    }
    tables = [name for name in titles if name in found]
    # Both models of a table on one scale.
    figure, grid = plt.subplots(2, len(tables), figsize=(2.75 * len(tables), 5), sharey="col", squeeze=False)
    for column, table in enumerate(tables):
        thousands = table != "hours"
        for axes, (model, by_method) in zip(grid[:, column], found[table].items(), strict=True):
            scaled = {
                method: {k: [one / (1_000 if thousands else 1) for one in scores] for k, scores in by_k.items()}
                for method, by_k in by_method.items()
            }
            _level(axes, scaled[ORIGINAL]["1"])
            _line(axes, scaled[GUIDED], GUIDED, "Regression Mondrian")
            _line(axes, scaled[MEDIAN], MEDIAN)
            axes.tick_params(axis="x", rotation=90)
            axes.set_title(f"{titles[table]}\n{'regression tree' if model == 'tree' else MODELS[model]}")
        grid[1, column].set_xlabel("k")
    for axes in grid[:, 0]:
        axes.set_ylabel("mean absolute error")
    legend(figure, grid[0, 0])
    return figure


def _figure_10(found: Results) -> Figure:
    figure, row = row_of(len(found["accuracy"]), width=4.1, height=4.1)
    tables = {
        model: np.array([[_mean(scores) for scores in columns.values()] for columns in rows.values()])
        for model, rows in found["accuracy"].items()
    }
    least, most = min(t.min() for t in tables.values()), max(t.max() for t in tables.values())
    for axes, (model, table) in zip(row, tables.items(), strict=True):
        axes.grid(visible=False)
        axes.imshow(table, cmap="cividis", vmin=least, vmax=most, origin="lower")
        size = len(table)
        for n in range(size):
            for place in range(size):
                shade = "white" if table[n, place] < (least + most) / 2 else "black"
                axes.text(place, n, f"{100 * table[n, place]:.1f}", ha="center", va="center", color=shade, fontsize=8)
        # Above the line a release is made for the model, too.
        edge = [(x, y) for i in range(size) for x, y in ((i - 0.5, i - 0.5), (i + 0.5, i - 0.5))]
        axes.plot(*zip(*edge, strict=True), color="#D55E00", linewidth=2.5, clip_on=False)
        axes.set_xticks(range(size), list("ABCDEFG"[:size]))
        axes.set_yticks(range(size), ["A", *(f"A–{last}" for last in "BCDEFG"[: size - 1])])
        axes.set(title=f"{MODELS[model]}, accuracy in %", xlabel="model")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    row[0].set_ylabel("release made for")
    return figure


def _figure_11(found: Results) -> Figure:
    figure, row = row_of(2, width=4.1)
    _line(row[0], found["entropy"], GUIDED)
    _line(row[1], found["accuracy"]["tree"], GUIDED)
    row[0].set(title="conditional entropy of the class", xlabel="l", ylabel="bits", ylim=(0, None))
    row[1].set(title="accuracy of the decision tree", xlabel="l", ylabel="accuracy")
    return figure


def _figure_12(found: Results) -> Figure:
    figure, (axes,) = row_of(1, width=5.6, height=3.2)
    for method in (MEDIAN, RESTRICTED, SELECTION):
        _line(axes, found["boxes"][method], method)
    axes.set(xlabel="k", ylabel="imprecision (records)", ylim=(0, None))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=1)
    return figure


def _figure_13(found: Results) -> Figure:
    figure, row = row_of(2, width=4.1, share=True)
    for method in (ORIGINAL, GUIDED, MEDIAN, TDS):
        if method in found["projection"]["tree"]:
            _line(row[1], found["projection"]["tree"][method], method)
        if method in found["selection"]["tree"]:
            _line(row[0], found["selection"]["tree"][method], method)
    row[0].set(title="selection, k = 50", xlabel="groups that are anonymised apart", ylabel="accuracy")
    row[1].set(title="projection, k = 100", xlabel="attributes that are left out")
    legend(figure, row[1])
    return figure


DRAWN: dict[str, Callable[[Results], Figure]] = {
    "6": _figure_6,
    "7": _figure_7,
    "8": _figure_8,
    "9": _figure_9,
    "10": _figure_10,
    "11": _figure_11,
    "12": _figure_12,
    "13": _figure_13,
}
