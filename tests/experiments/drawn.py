"""Figures of results: all are made, and one is rendered, which takes longest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from experiments import figures


def draw(
    results: Mapping[str, Any], folder: Path, drawn_by: Mapping[str, Callable[[Any], Figure]], *, prefix: str = "figure"
) -> list[str]:
    """Make every figure that there are results for, and render the first; the names of its files."""
    numbers = [number for number in drawn_by if number in results["figures"]]
    with plt.rc_context(figures.STYLE):
        for number in numbers:
            made = drawn_by[number](results["figures"][number])
            assert made.axes
            plt.close(made)
    first = {"figures": {numbers[0]: results["figures"][numbers[0]]}}
    return [path.name for path in figures.draw(first, folder, drawn_by, prefix=prefix)]
