"""Draw Figs. 12 to 20 of Ghinita et al., VLDB 2007."""

from __future__ import annotations

from collections.abc import Callable

from experiments.figures import Ink, Panel, Results, together
from experiments.widest import WIDEST
from rothko.plots.model import Panels

INK = {
    "mondrian": Ink(4, 1),
    WIDEST: Ink(4, 4, dashed=True),
    "topdown": Ink(6, 5, dashed=True),
    "hilbert": Ink(1, 0),
    "hilbert-paper": Ink(1, 4, dashed=True),
    "hilbert-fast": Ink(5, 0, dashed=True),
    "idistance": Ink(3, 3),
    "idistance-paper": Ink(3, 4, dashed=True),
    "idistance-fast": Ink(7, 3, dashed=True),
    "cluster": Ink(2, 2),
    "anatomy": Ink(0, 4),
}


def lines(panel: Panel, series: Results, ink: dict[str, Ink]) -> None:
    """Numbers against a parameter, evenly spaced whatever its values are."""
    xs = sorted({int(x) for some in series.values() for x in some})
    panel.names = [f"{x // 1000}k" if x >= 1000 else str(x) for x in xs]
    nothing: dict[str, list[str]] = {}
    for method, some in series.items():
        shown = {x: number for x, number in some.items() if number > 0 or not panel.log}
        for x in some.keys() - shown.keys():  # which has no place on such an axis
            nothing.setdefault(x, []).append(method)
        panel.line(method, [xs.index(int(x)) for x in shown], shown.values(), ink[method])
    told = "; ".join(f"0 at {x}: {', '.join(nothing[x])}" for x in sorted(nothing, key=int))
    panel.x += f" ({told})" if told else ""


def _loss_and(part: str, title: str, label: str) -> Callable[[Results], Panels]:
    """Loss beside another measure."""

    def draw(found: Results) -> Panels:
        loss = Panel("information loss", label, "GCP", zero=True)
        other = Panel(title, label, "seconds of the processor" if part == "seconds" else "", log=True)
        lines(loss, found["gcp"], INK)
        lines(other, found[part], INK)
        return together([loss, other], 2)

    return draw


def _figure_20(found: Results) -> Panels:
    shown = {
        "l": ("by l, level 2", "l"),
        "level": ("by level of the lattice", "level"),
        "d": ("by dimensions, level 2", "quasi-identifiers"),
        "rows": ("by records, level 2", "records"),
    }
    panels = []
    for part, (title, label) in shown.items():
        panel = Panel(title, label, "KL divergence, nats", log=True)
        lines(panel, found[part], INK)
        panels.append(panel)
    return together(panels, 2)


DRAWN: dict[str, Callable[[Results], Panels]] = {
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
