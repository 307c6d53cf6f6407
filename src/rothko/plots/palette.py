"""Colours: of pages and plots by day and by night, and those of a painting.

Tones are apart for those who do not see all colours (after Okabe and Ito), and have a contrast of at least 3 to 1 on
their ground; texts have 4.5 to 1 (WCAG 2.2). A test computes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LIGHT = {
    "ground": "#fbf8f3",
    "panel": "#ffffff",
    "ink": "#221a17",
    "faint": "#6b5f58",
    "rule": "#e2d9cf",
    "accent": "#8f1d1a",
    "good": "#1f6b46",
    "bad": "#a3221c",
    "tone-0": "#b3431a",
    "tone-1": "#2f5d8a",
    "tone-2": "#1b7a5a",
    "tone-3": "#8a4f86",
    "tone-4": "#9a6b00",
    "tone-5": "#2a7f9e",
    "tone-6": "#4d4541",
    "tone-7": "#7a5c2e",
}
DARK = {
    "ground": "#171110",
    "panel": "#211a18",
    "ink": "#f1e8df",
    "faint": "#b5a79c",
    "rule": "#43362f",
    "accent": "#f0906a",
    "good": "#7fcfa4",
    "bad": "#ff9a8a",
    "tone-0": "#f0885a",
    "tone-1": "#86b4e4",
    "tone-2": "#6ec9a4",
    "tone-3": "#d59bd0",
    "tone-4": "#e6b84a",
    "tone-5": "#7cc8e6",
    "tone-6": "#cbbfb6",
    "tone-7": "#d3b07a",
}
TONES = 8

CANVAS = "#1c0b0d"
"""The ground of a painting, by day and by night."""
FIELDS = ("#3b0f1c", "#641423", "#8e1c1d", "#b62f1d", "#d4531f", "#e67f2c", "#f0ad49", "#f6d98d")
"""From the quietest field to the brightest: each is lighter than the one before, so that grey tells the same."""


def style(names: dict[str, str]) -> str:
    """Colours as properties of CSS."""
    return "".join(f"--{name}:{colour};" for name, colour in names.items())


def by_day(svg: str) -> str:
    """A drawing with the colours themselves, for what knows no properties of CSS.

    >>> by_day('<path stroke="var(--ink)"/>')
    '<path stroke="#221a17"/>'
    """
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: LIGHT[found[1]], svg)


def field(value: float, fields: Sequence[str] = FIELDS) -> str:
    """The colour of a rectangle, from 0 to 1.

    >>> field(0) == FIELDS[0], field(1) == FIELDS[-1], field(0.5)
    (True, True, '#c5411e')
    """
    place = min(max(value, 0.0), 1.0) * (len(fields) - 1)
    first = min(int(place), len(fields) - 2)
    share = place - first
    ends = [[int(fields[i][at : at + 2], 16) for at in (1, 3, 5)] for i in (first, first + 1)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))
