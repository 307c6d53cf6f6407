"""Draw the figures from the results: SVG and PNG by the project's model of plots, saved as JSON beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from experiments.protocol import GUIDED, MEDIAN, ORIGINAL, TDS
from experiments.synthetic import RESTRICTED, SELECTION
from rothko.plots.model import Axis, Band, Bars, Boxes, Entries, Mark, Panels, Plot, Points, Rule, dump
from rothko.plots.panels import arranged
from rothko.plots.png import png
from rothko.plots.ticks import number

Results = Mapping[str, Any]


class Ink(NamedTuple):
    """How a line is told from others: by its colour, its signs and its dashes."""

    tone: int
    shape: int
    dashed: bool = False


INK = {
    ORIGINAL: Ink(6, 0, dashed=True),
    GUIDED: Ink(1, 0),
    MEDIAN: Ink(4, 1),
    TDS: Ink(0, 4),
    RESTRICTED: Ink(3, 3),
    SELECTION: Ink(2, 2),
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


@dataclass(slots=True)
class Panel:
    """A plot on its way: marks over names or numbers, and what its y axis shows."""

    title: str = ""
    x: str = ""
    y: str = ""
    names: Sequence[str] = ()
    """Of the places along the x axis, evenly spaced; numbers lie there where there are none."""
    log: bool = False
    zero: bool = False
    """Whether the y axis begins at 0."""
    low: float | None = None
    high: float | None = None
    width: int = 380
    height: int = 260
    marks: list[Mark] = field(default_factory=list)

    def line(
        self, label: str, x: Iterable[float], y: Iterable[float], ink: Ink,
        reach: Iterable[tuple[float, float]] = (), *, joined: bool = True,
    ) -> None:  # fmt: skip
        """Points and a line through them, on names at the middle of their places."""
        xs = tuple(at + 0.5 if self.names else float(at) for at in x)
        ys = tuple(map(float, y))
        where = [self.names[int(at)] if self.names else number(at) for at in xs]
        tips = tuple(f"{label}, {self.x} {at}: {number(float(f'{v:.4g}'))}" for at, v in zip(where, ys, strict=True))
        self.marks.append(
            Points(label, xs, ys, tips, ink.tone, ink.shape, joined=joined, reach=tuple(reach), dashed=ink.dashed)
        )

    def level(self, label: str, at: float) -> None:
        """A line from one side to the other."""
        self.marks.append(Rule(label, at, across=True))

    def bars(self, label: str, heights: Sequence[float], tone: int, *, first: float, last: float) -> None:
        """A bar in each place, from one share of it to another."""
        spans = tuple((i + first, i + last) for i in range(len(heights)))
        tips = tuple(f"{label}, {name}: {h:.4g}" for name, h in zip(self.names, heights, strict=True))
        self.marks.append(Bars(label, spans, tuple(map(float, heights)), tips, tone))

    def pile(
        self, parts: Mapping[str, Sequence[float]], tones: Sequence[int], *, first: float = 0.2, last: float = 0.8
    ) -> None:
        """Parts on top of each other, in each place."""
        below = np.zeros(len(self.names))
        for (label, heights), tone in zip(parts.items(), tones, strict=True):
            top = below + np.asarray(heights, dtype=np.float64)
            boxes = tuple(
                (i + first, i + last, float(a), float(b)) for i, (a, b) in enumerate(zip(below, top, strict=True))
            )
            tips = tuple(f"{label}, {name}: {h:.4g}" for name, h in zip(self.names, heights, strict=True))
            self.marks.append(Boxes(label, boxes, tips, tone, filled=True))
            below = top

    def heights(self) -> list[float]:
        """All that lies on the y axis."""
        found: list[float] = []
        for mark in self.marks:
            if isinstance(mark, Points):
                found += [*mark.y, *(end for ends in mark.reach for end in ends)]
            elif isinstance(mark, Bars):
                found += mark.lengths
            elif isinstance(mark, Boxes):
                found += [end for *_, bottom, top in mark.boxes for end in (bottom, top)]
            elif isinstance(mark, Rule) and mark.across:
                found.append(mark.at)
        return [one for one in found if math.isfinite(one)]

    def plot(self) -> Plot:
        """The plot, with axes around all that lies on it."""
        across = Axis(self.x, 0, max(len(self.names), 1), "names", tuple(self.names))
        if not self.names:
            ends = [at for mark in self.marks if isinstance(mark, Points) for at in mark.x]
            across = Axis(self.x, 0, max(ends, default=1.0) * 1.05)
        return Plot(
            "panel", self.title, "", across, self._up(), tuple(self.marks), width=self.width, height=self.height
        )

    def _up(self) -> Axis:
        found = self.heights()
        if self.log:
            positive = [one for one in found if one > 0]
            return Axis(self.y, min(positive, default=1.0) / 1.3, max(positive, default=10.0) * 1.3, "log")
        low, high = min(found, default=0.0), max(found, default=1.0)
        room = (high - low) * 0.08 or abs(high) * 0.08 or 1.0
        first = 0.0 if self.zero else low - room
        return Axis(self.y, first if self.low is None else self.low, high + room if self.high is None else self.high)


def sharing(panels: Sequence[Panel]) -> None:
    """Give panels one scale of y."""
    axes = [panel._up() for panel in panels]
    for panel in panels:
        panel.low, panel.high = min(axis.low for axis in axes), max(axis.high for axis in axes)


def together(panels: Sequence[Panel], columns: int) -> Panels:
    """Panels as one figure."""
    return Panels("figure", "", "", tuple(panel.plot() for panel in panels), columns)


def draw(
    results: Results,
    folder: Path,
    drawn_by: Mapping[str, Callable[[Results], Panels]] | None = None,
    *,
    prefix: str = "figure",
) -> list[Path]:
    """Draw every figure that there are results for; of section 4, where it is not said what draws others.

    Beside SVG and PNG there is the JSON that both are drawn from, and can be drawn from again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for place, figure in (drawn_by or DRAWN).items():
        if place not in results["figures"]:
            continue
        path = folder / f"{prefix}-{place:>02}"
        made = figure(results["figures"][place])
        titles = ", ".join(dict.fromkeys(plot.title or plot.y.title for plot in made.plots))
        made = replace(made, name=path.name, title=f"{path.name}: {titles}", about=_about(made))
        svg = arranged(made, alone=True)
        path.with_suffix(".svg").write_text(f"{svg}\n", "utf-8")
        _save_small(svg, path.with_suffix(".png"))
        path.with_suffix(".json").write_text(dump([made]), "utf-8")
        written += [path.with_suffix(ending) for ending in (".svg", ".png", ".json")]
    return written


def _about(made: Panels) -> str:
    """What is drawn, for whoever does not see it."""
    labels = dict.fromkeys(mark.label for plot in made.plots for mark in plot.marks if mark.label)
    axes = dict.fromkeys(f"{plot.y.title or plot.title} against {plot.x.title}" for plot in made.plots if plot.x.title)
    return f"{'; '.join(axes)}. {', '.join(labels)}."


def _save_small(svg: str, path: Path) -> None:
    """A PNG of few colours: a third of the size, and nothing to be seen of it."""
    image = Image.open(BytesIO(png(svg, zoom=1.25)))
    image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def mean(scores: Any) -> float:
    """Of several runs, or the number itself."""
    return float(np.mean(scores))


def spelled(names: Iterable[str]) -> tuple[str, ...]:
    """Numbers with their thousands apart, and other names as they are."""
    return tuple(f"{int(name):,}" if name.isdigit() else name for name in names)


def _line(panel: Panel, scores: Mapping[str, Sequence[float]], method: str, name: str | None = None) -> None:
    """A method's mean against a parameter, evenly spaced whatever the values are."""
    panel.names = spelled(scores)
    panel.line(name or NAMES[method], range(len(scores)), [mean(one) for one in scores.values()], INK[method])


def _figure_6(found: Results) -> Panels:
    panels = []
    tones = {ORIGINAL: 6, GUIDED: 1, TDS: 0, MEDIAN: 4}
    for model, by_method in found["accuracy"].items():
        panel = Panel(MODELS[model], "", "accuracy", low=0.5, high=1)
        methods = [method for method in tones if method in by_method]
        for i, method in enumerate(methods):
            scores = by_method[method]
            panel.names = [f"C{function}" for function in scores]
            wide = 0.84 / len(methods)
            panel.bars(
                NAMES[method], [mean(one) for one in scores.values()], tones[method],
                first=0.08 + i * wide, last=0.08 + (i + 1) * wide,
            )  # fmt: skip
        panels.append(panel)
    return together(panels, 2)


def _figure_7(found: Results) -> Panels:
    shown = [("income", model) for model in found["income"]["accuracy"]] + [("contraceptives", "tree")]
    titles = {"income": "Adult", "contraceptives": "Contraceptives"}
    panels = []
    for table, model in shown:
        by_method = found[table]["accuracy"][model]
        panel = Panel(f"{titles[table]}: {MODELS[model]}", "k", "accuracy")
        panel.level(NAMES[ORIGINAL], mean(by_method[ORIGINAL]["1"]))
        for method in (GUIDED, MEDIAN, TDS):
            if len(by_method.get(method, ())) == len(by_method[GUIDED]):
                _line(panel, by_method[method], method)
        panels.append(panel)
    return together(panels, 2)


def _figure_8(found: Results) -> Panels:
    panels = [
        Panel("conditional entropy of the class", "k", "bits", zero=True),
        Panel("mean size of the equivalence classes", "k", "records", log=True),
    ]
    for method in (GUIDED, MEDIAN):
        _line(panels[0], found["entropy"][method], method)
        _line(panels[1], found["class size"][method], method)
    return together(panels, 2)


def _figure_9(found: Results) -> Panels:
    titles = {
        "hours": "Adult: hours a week",
        "survey": "survey: income, $1,000",
        "R7": "synthetic R7, $1,000",
        "R10": "synthetic R10, $1,000",
    }
    tables = [name for name in titles if name in found]
    rows: list[list[Panel]] = [[], []]
    for table in tables:
        unit = 1 if table == "hours" else 1_000
        both = []
        for row, (model, by_method) in zip(rows, found[table].items(), strict=True):
            scaled = {
                method: {k: [one / unit for one in scores] for k, scores in by_k.items()}
                for method, by_k in by_method.items()
            }
            about = "regression tree" if model == "tree" else MODELS[model]
            panel = Panel(f"{titles[table]}, {about}", "k", "mean absolute error", width=330)
            panel.level(NAMES[ORIGINAL], mean(scaled[ORIGINAL]["1"]))
            _line(panel, scaled[GUIDED], GUIDED, "Regression Mondrian")
            _line(panel, scaled[MEDIAN], MEDIAN)
            row.append(panel)
            both.append(panel)
        sharing(both)  # both models of a table on one scale
    return together([panel for row in rows for panel in row], len(tables))


def _figure_10(found: Results) -> Panels:
    tables = {
        model: np.array([[mean(scores) for scores in columns.values()] for columns in rows.values()])
        for model, rows in found["accuracy"].items()
    }
    least, most = min(t.min() for t in tables.values()), max(t.max() for t in tables.values())
    plots = []
    for model, table in tables.items():
        size = len(table)
        shades = tuple(tuple(float(v) for v in row) for row in (table - least) / (most - least or 1))
        texts = tuple(tuple(f"{100 * v:.1f}" for v in row) for row in table)
        # Above the line a release is made for the model, too.
        edge = [(float(x), float(i)) for i in range(size) for x in (i, i + 1)]
        across = Axis("model", 0, size, "names", tuple("ABCDEFG"[:size]))
        up = Axis("release made for", 0, size, "names", ("A", *(f"A–{last}" for last in "BCDEFG"[: size - 1])))
        marks = (Entries("", texts, shades), Band("", tuple(x for x, _ in edge), tuple(y for _, y in edge), 1))
        plots.append(Plot("panel", f"{MODELS[model]}, accuracy in %", "", across, up, marks, width=420, height=380))
    return Panels("figure", "", "", tuple(plots), len(plots))


def _figure_11(found: Results) -> Panels:
    panels = [
        Panel("conditional entropy of the class", "l", "bits", zero=True),
        Panel("accuracy of the decision tree", "l", "accuracy"),
    ]
    _line(panels[0], found["entropy"], GUIDED)
    _line(panels[1], found["accuracy"]["tree"], GUIDED)
    return together(panels, 2)


def _figure_12(found: Results) -> Panels:
    panels = []
    for shown, title in (("regions", "by the regions of φ, as in the paper"), ("boxes", "by the ranges of a release")):
        panel = Panel(title, "k", "imprecision (records)", zero=True)
        for method in (MEDIAN, RESTRICTED, SELECTION):
            _line(panel, found[shown][method], method)
        panels.append(panel)
    sharing(panels)
    return together(panels, 2)


def _figure_13(found: Results) -> Panels:
    panels = [
        Panel("selection, k = 50", "groups that are anonymised apart", "accuracy"),
        Panel("projection, k = 100", "attributes that are left out", "accuracy"),
    ]
    for panel, part in zip(panels, ("selection", "projection"), strict=True):
        for method in (ORIGINAL, GUIDED, MEDIAN, TDS):
            if method in found[part]["tree"]:
                _line(panel, found[part]["tree"][method], method)
    sharing(panels)
    return together(panels, 2)


DRAWN: dict[str, Callable[[Results], Panels]] = {
    "6": _figure_6,
    "7": _figure_7,
    "8": _figure_8,
    "9": _figure_9,
    "10": _figure_10,
    "11": _figure_11,
    "12": _figure_12,
    "13": _figure_13,
}
