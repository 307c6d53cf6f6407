"""Draw the figures of Top-Down Refinement."""

from __future__ import annotations

from collections.abc import Callable

from experiments.figures import MODELS, Ink, Panel, Results, mean, sharing, spelled, together
from experiments.protocol import ORIGINAL, TDS
from experiments.refine import BY_GAIN, MASKED
from experiments.refine_baselines import GENETIC, METHODS
from rothko.plots.model import Panels

INK = {
    TDS: (Ink(1, 0), "refined, by Score"),
    BY_GAIN: (Ink(5, 3, dashed=True), "refined, by InfoGain"),
    "refine": (Ink(1, 0), "refine, class label"),
    "refine, no label": (Ink(5, 3, dashed=True), "refine, no label"),
    "mondrian": (Ink(4, 1), "Median Mondrian"),
    GENETIC: (Ink(4, 1), "genetic algorithm"),
    "classification metric": (Ink(5, 3, dashed=True), "optimal by classification metric"),
    "discernibility": (Ink(6, 5, dashed=True), "optimal by discernibility"),
}


def _line(panel: Panel, series: Results, method: str) -> None:
    ink, name = INK[method]
    panel.names = spelled(series)
    panel.line(name, range(len(series)), [mean(one) for one in series.values()], ink)


def _accuracy(found: Results) -> Panels:
    panels = []
    for model in ("tree", "bayes"):
        if model not in found:
            continue
        panel = Panel(MODELS[model], "k", "accuracy")
        for method in (TDS, BY_GAIN):
            if method in found[model]:
                _line(panel, found[model][method], method)
        panel.level("original records", mean(found[model][ORIGINAL]["1"]))
        masked = mean(found[model][MASKED]["1"])
        panel.line("most masked", range(len(panel.names)), [masked] * len(panel.names), Ink(6, 5, dashed=True))
        panels.append(panel)
    sharing(panels)
    return together(panels, 2)


def _seconds(label: str) -> Callable[[Results], Panels]:
    def draw(found: Results) -> Panels:
        panel = Panel("", label, "seconds of the processor", zero=True, width=460, height=300)
        for method, series in found.items():
            _line(panel, series, method)
        return together([panel], 1)

    return draw


def _compared(found: Results) -> Panels:
    panels = []
    for model, by_method in found["accuracy"].items():
        panel = Panel(MODELS[model], "k", "accuracy")
        for method in METHODS:
            _line(panel, by_method[method], method)
        panels.append(panel)
    sharing(panels)
    return together(panels, 2)


DRAWN: dict[str, Callable[[Results], Panels]] = {
    "1": _accuracy,
    "2": _seconds("records"),
    "3": _seconds("sets of quasi-identifiers"),
    "4": _compared,
}
