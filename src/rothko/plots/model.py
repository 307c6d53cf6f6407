"""The one model of everything that is drawn: plain data, saved as JSON beside what shows it.

A :class:`Plot` has two axes and marks, :class:`Panels` are several of them; a :class:`Painting` has rectangles on a
ground. None knows how it is drawn: :mod:`rothko.plots.svg`, :mod:`rothko.plots.panels` and :mod:`rothko.plots.canvas`
do that, from here alone, so that what was saved draws the same picture again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from rothko import json_text
from rothko.errors import InputError

FORMAT = "rothko plots 1"
Scale = Literal["linear", "log", "date", "names"]


@dataclass(frozen=True, slots=True)
class Axis:
    """A side of a plot."""

    title: str
    low: float
    high: float
    scale: Scale = "linear"
    """``date`` counts days from 1970 on; on ``names`` the i-th name has the stretch from i to i + 1."""
    names: tuple[str, ...] = ()
    ticks: tuple[float, ...] = ()
    """Where its marks stand; chosen by whoever draws it where there are none."""
    percent: bool = False
    digits: int = 0
    """Of codes such as zips: how many digits a number is written with."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars over stretches of one axis."""

    label: str
    spans: tuple[tuple[float, float], ...]
    lengths: tuple[float, ...]
    tips: tuple[str, ...]
    """What each tells whoever points at it."""
    tone: int = 0
    """Which colour."""
    across: bool = False
    """Whether they lie: stretches of the y axis, and lengths along the x axis."""
    outline: bool = False
    """Drawn as a line around them, so that others are seen through it."""
    mark: Literal["bars"] = "bars"


@dataclass(frozen=True, slots=True)
class Points:
    """Points, and a line through them."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    tips: tuple[str, ...]
    tone: int = 0
    shape: int = 0
    joined: bool = True
    links: tuple[str, ...] = ()
    """Where each leads, in the page that they stand on; nowhere where there are none."""
    reach: tuple[tuple[float, float], ...] = ()
    """From where to where on the y axis each may lie; nothing is drawn where there is none."""
    dashed: bool = False
    mark: Literal["points"] = "points"


@dataclass(frozen=True, slots=True)
class Band:
    """A broad line behind the others."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    tone: int = 0
    mark: Literal["band"] = "band"


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rectangles between both axes, through which others are seen."""

    label: str
    boxes: tuple[tuple[float, float, float, float], ...]
    """Left, right, bottom and top."""
    tips: tuple[str, ...]
    tone: int = 0
    filled: bool = False
    """Whether nothing is seen through them."""
    mark: Literal["boxes"] = "boxes"


@dataclass(frozen=True, slots=True)
class Rule:
    """A dashed line from one side to the other."""

    label: str
    at: float
    across: bool = False
    """Whether it lies, at a place of the y axis."""
    mark: Literal["rule"] = "rule"


@dataclass(frozen=True, slots=True)
class Entries:
    """A table of texts between two axes of names, each on a colour of its own where there are shades."""

    label: str
    texts: tuple[tuple[str, ...], ...]
    """Row by row, from the bottom; a text may have several lines."""
    shades: tuple[tuple[float, ...], ...] = ()
    """0 … 1: how far along the colours of a painting each lies."""
    mark: Literal["entries"] = "entries"


Mark: TypeAlias = Bars | Points | Band | Boxes | Rule | Entries


@dataclass(frozen=True, slots=True)
class Plot:
    """Marks between two axes."""

    name: str
    title: str
    about: str
    """What it shows, for whoever does not see it."""
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    width: int = 440
    height: int = 240
    kind: Literal["plot"] = "plot"


@dataclass(frozen=True, slots=True)
class Panels:
    """Plots beside and below each other, with one key."""

    name: str
    title: str
    about: str
    plots: tuple[Plot, ...]
    columns: int = 2
    kind: Literal["panels"] = "panels"


@dataclass(frozen=True, slots=True)
class Cell:
    """A rectangle of a painting, in the unit square; the origin is the corner at the bottom left."""

    left: float
    right: float
    bottom: float
    top: float
    value: float
    """0 … 1: how far along the colours it lies."""
    tip: str


@dataclass(frozen=True, slots=True)
class Painting:
    """Classes as rectangles on a ground."""

    name: str
    title: str
    about: str
    cells: tuple[Cell, ...]
    """In the order in which they are painted: what comes later lies on what came before."""
    x: tuple[str, str, str] = ("", "", "")
    """What the side stands for, and what is written at both of its ends; nothing of a tree of rectangles."""
    y: tuple[str, str, str] = ("", "", "")
    legend: tuple[str, str, str] = ("", "", "")
    """What the colours stand for, and what the first and the last of them do."""
    width: int = 1000
    height: int = 500
    kind: Literal["painting"] = "painting"


Picture: TypeAlias = Plot | Panels | Painting


def dump(pictures: Sequence[Picture], *, release: str | None = None) -> str:
    """Pictures as JSON, as they are saved.

    Parameters
    ----------
    release
        The hash of the released file that they are of.
    """
    about = {"format": FORMAT} | ({} if release is None else {"release": release})
    return json_text.dump({**about, "pictures": [asdict(one) for one in pictures]}, indent=None) + "\n"


def parse(text: str) -> tuple[Picture, ...]:
    """The reverse of :func:`dump`.

    >>> painting = Painting("p", "A square", "One class", (Cell(0, 1, 0, 1, 0.5, "10 records"),))
    >>> parse(dump([painting])) == (painting,)
    True
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        found: Any = json_text.parse(text)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"This is no file of plots that rothko reads: its format must be {FORMAT!r}.")
        return TypeAdapter(tuple[Picture, ...]).validate_python(found.get("pictures"))
    except (ValueError, ValidationError):
        raise InputError("This file of plots is damaged.") from None
