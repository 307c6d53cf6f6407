"""Draw Figs. 7 to 18, 20 and 21 and Tables 13 to 15 of Podgursky, Vanderbilt 2011: what is kept beside time."""

from __future__ import annotations

from collections.abc import Callable

from experiments.curve_figures import lines
from experiments.figures import Ink, Panel, Results, together
from rothko.plots.model import Panels

INK = {
    "cluster-all": Ink(1, 0),
    "cluster-random": Ink(5, 1, dashed=True),
    "cluster-lsh": Ink(5, 0, dashed=True),
    "cluster-lsh-shared": Ink(7, 0, dashed=True),
    "cluster-lsh-thesis": Ink(5, 3, dashed=True),
    "iterative-all": Ink(3, 3),
    "iterative-lsh": Ink(3, 4, dashed=True),
    "iterative-all-thesis": Ink(0, 3),
    "iterative-lsh-thesis": Ink(0, 4, dashed=True),
    "mondrian-even": Ink(4, 1),
    "mondrian-entropy": Ink(4, 5, dashed=True),
    "mondrian-utility": Ink(0, 1),
    "two-phase": Ink(6, 5),
    "two-phase-closed": Ink(6, 4, dashed=True),
    "k1-all": Ink(2, 2),
    "k1-lsh": Ink(2, 3, dashed=True),
    "k1-lsh-thesis": Ink(1, 3, dashed=True),
    "k1-topdown": Ink(7, 4, dashed=True),
}


def _draw(found: Results, *parts: str, width: int = 380) -> Panels:
    panels = []
    for part in parts:
        panel = Panel(f"{part} kept", "k", "share", zero=True, width=width)
        lines(panel, found[part], INK)
        panels.append(panel)
    time = Panel("time", "k", "seconds of the processor", log=True, width=width)
    lines(time, found["seconds"], INK)
    return together([*panels, time], 1 + len(parts))


def _figure(found: Results) -> Panels:
    return _draw(found, "utility")


def _tables(found: Results) -> Panels:
    return _draw(found, "utility", "instances", width=300)


DRAWN: dict[str, Callable[[Results], Panels]] = dict.fromkeys(("7", "9", "11", "13", "15", "17", "20"), _figure)
DRAWN["tables"] = _tables
