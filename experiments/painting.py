"""The picture of the README: made-up patients by birth and cost, and the classes that Mondrian makes of them.

``python -m experiments.painting`` writes ``docs/figures/painting.svg`` anew, always the same bytes.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

import rothko as rk
from rothko.generate.patients import patients

PLACE = Path(__file__).parent.parent / "docs/figures/painting.svg"
WIDTH, HEIGHT, EDGE = 860.0, 430.0, 5.0
COLOURS = ("#f4f1e8", "#f4f1e8", "#e8e2d0", "#f2c230", "#1f4e9c", "#f4f1e8", "#d4312a", "#8f1d1a")
"""From the emptiest classes to the densest."""
POLICY = """
columns: {birth: {role: quasi-identifier}, cost: {role: quasi-identifier}}
privacy: [{k-anonymity: {k: 180}}]
publish: region
"""
Box = tuple[float, float, float, float]


def boxes() -> list[Box]:
    """The regions of the classes in the unit square."""
    people = patients(10_000)
    birth = people["birth_date"].cast("int32").to_numpy().astype(float)
    # The young and the old come more often, and cost more.
    cost = np.log10(people["cost"].to_numpy()) + 0.45 * ((birth - birth.mean()) / np.ptp(birth)) ** 2 * 4
    table = {"birth": birth.round(), "cost": (1000 * cost).round()}
    classes = rk.anonymize(table, rk.Policy.parse(POLICY)).classes.to_pylist()
    spans = {name: (float(values.min()), float(np.quantile(values, 0.9995))) for name, values in table.items()}
    spans["cost"] = (float(np.quantile(table["cost"], 0.0005)), spans["cost"][1])

    def placed(name: str, number: float) -> float:
        low, high = spans[name]
        return min(max((number - low) / (high - low), 0.0), 1.0)

    found = []
    for one in classes:
        (left, right), (bottom, top) = (_ends(str(one[name])) for name in ("birth", "cost"))
        found.append((placed("birth", left), placed("birth", right), placed("cost", bottom), placed("cost", top)))
    return found


def _ends(region: str) -> tuple[float, float]:
    if region == "*":
        return -math.inf, math.inf
    first, last = re.fullmatch(r"[\[(](.*), (.*)[\])]", region).groups()  # type: ignore[union-attr]
    return float(first), float(last)


def paint() -> str:
    """The picture, as SVG."""
    found = boxes()
    areas = [(right - left) * (top - bottom) for left, right, bottom, top in found]
    rank = np.argsort(np.argsort(-np.array(areas)))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}">',
        "<title>Made-up patients by date of birth and cost: every rectangle holds at least 180 of them</title>",
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="#15120f"/>',
    ]
    for (left, right, bottom, top), place in zip(found, rank.tolist(), strict=True):
        colour = COLOURS[place * len(COLOURS) // len(found)]
        x, y = EDGE / 2 + left * (WIDTH - EDGE), EDGE / 2 + (1 - top) * (HEIGHT - EDGE)
        wide, high = (right - left) * (WIDTH - EDGE), (top - bottom) * (HEIGHT - EDGE)
        lines.append(
            f'<rect x="{x + EDGE / 2:.1f}" y="{y + EDGE / 2:.1f}" width="{max(wide - EDGE, 1):.1f}" '
            f'height="{max(high - EDGE, 1):.1f}" fill="{colour}"/>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PLACE.write_text(paint(), "utf-8")
