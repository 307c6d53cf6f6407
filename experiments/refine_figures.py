"""Draw the figures of Top-Down Refinement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import MODELS, Results, legend, row_of
from experiments.protocol import ORIGINAL, TDS
from experiments.refine import BY_GAIN, MASKED

INK = {
    TDS: ("#0072B2", "o", "-", "refined, by Score"),
    BY_GAIN: ("#56B4E9", "^", "--", "refined, by InfoGain"),
    "refine": ("#0072B2", "o", "-", "refine, class label"),
    "refine, no label": ("#56B4E9", "^", "--", "refine, no label"),
    "mondrian": ("#E69F00", "s", "-", "Median Mondrian"),
}


def _mean(scores: Any) -> float:
    return sum(scores) / len(scores) if isinstance(scores, list) else float(scores)


def _line(axes: Axes, series: Results, method: str) -> None:
    colour, marker, style, name = INK[method]
    drawn: Any = {"color": colour, "marker": marker, "linestyle": style, "label": name}
    axes.plot(range(len(series)), [_mean(one) for one in series.values()], **drawn)
    axes.set_xticks(range(len(series)), [f"{int(x):,}" for x in series])


def _accuracy(found: Results) -> Figure:
    models = [model for model in ("tree", "bayes") if model in found]
    figure, row = row_of(len(models), width=4.1, height=3.1, share=True)
    for axes, model in zip(row, models, strict=True):
        for method in (TDS, BY_GAIN):
            if method in found[model]:
                _line(axes, found[model][method], method)
        for method, style, name in ((ORIGINAL, "--", "original records"), (MASKED, ":", "most masked")):
            axes.axhline(_mean(found[model][method]["1"]), color="#000000", linestyle=style, linewidth=1, label=name)
        axes.set(title=MODELS[model], xlabel="k")
    row[0].set(ylabel="accuracy")
    legend(figure, row[0])
    return figure


def _seconds(label: str) -> Callable[[Results], Figure]:
    def draw(found: Results) -> Figure:
        figure, [axes] = row_of(1, width=4.6, height=3.1)
        for method, series in found.items():
            _line(axes, series, method)
        axes.set(xlabel=label, ylabel="seconds", ylim=(0, None))
        legend(figure, axes, columns=2)
        return figure

    return draw


DRAWN = {"1": _accuracy, "2": _seconds("records"), "3": _seconds("sets of quasi-identifiers")}
