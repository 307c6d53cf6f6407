"""Figures of results: all are made and drawn, and one is written, with its picture, which takes longest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from experiments import figures
from rothko.plots.model import Panels, parse
from rothko.plots.panels import arranged


def draw(
    results: Mapping[str, Any], folder: Path, drawn_by: Mapping[str, Callable[[Any], Panels]], *, prefix: str = "figure"
) -> str:
    """Make every figure that there are results for, and write the first; the name of its files."""
    numbers = [number for number in drawn_by if number in results["figures"]]
    for number in numbers:
        made = drawn_by[number](results["figures"][number])
        assert all(plot.marks for plot in made.plots)
        drawn = arranged(made, alone=True)
        ElementTree.fromstring(drawn)
        assert "nan" not in drawn
    first = {"figures": {numbers[0]: results["figures"][numbers[0]]}}
    written = figures.draw(first, folder, drawn_by, prefix=prefix)
    [again] = parse(written[2].read_text("utf-8"))
    assert isinstance(again, Panels)
    assert f"{arranged(again, alone=True)}\n" == written[0].read_text("utf-8")
    assert [path.suffix for path in written] == [".svg", ".png", ".json"]
    return written[0].stem
