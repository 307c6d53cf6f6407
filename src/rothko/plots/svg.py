"""Plots as SVG, from the model alone: small, with no script, and with the colours of the page that they stand on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise

from rothko.plots.model import Axis, Band, Bars, Boxes, Entries, Mark, Plot, Points, Rule
from rothko.plots.palette import DARK, LIGHT, TONES, field, style
from rothko.plots.ticks import shortened, ticks

FONT = "system-ui,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif"
LETTER = 6.6
"""About how wide a letter of twelve pixels is."""
REACH = 11
"""How far around a point that leads somewhere a pointer finds it."""
LIGHT_FROM = 0.62
"""Colours of a painting from here on are light, and have dark texts on them."""
LONGEST = 22
"""Letters of a name beside an axis."""

Place = Callable[[float], float]


def drawn(plot: Plot, *, alone: bool = False) -> str:
    """A plot as SVG.

    Parameters
    ----------
    alone
        As a file of its own, which brings its colours; otherwise those of the page around it count.
    """
    frame = Frame(plot)
    parts = [*frame.axes(), *(part for mark in plot.marks for part in frame.mark(mark)), *frame.key()]
    leads = any(isinstance(mark, Points) and mark.links for mark in plot.marks)
    return wrapped(plot.name, plot.title, plot.about, plot.width, frame.height, parts, alone=alone, leads=leads)


def wrapped(
    name: str,
    title: str,
    about: str,
    width: float,
    height: float,
    parts: Sequence[str],
    *,
    alone: bool,
    leads: bool = False,
) -> str:
    """Parts of a drawing with what says to everybody, seeing or not, what they are.

    Parameters
    ----------
    leads
        Whether there are links in it: what is one picture to a screen reader hides what is in it.
    """
    word = escape(name)
    names = f' role="{"group" if leads else "img"}" aria-labelledby="{word}-title {word}-about"'
    if alone:
        night = f"@media (prefers-color-scheme:dark){{:root{{{style(DARK)}}}}}"
        names += ' xmlns="http://www.w3.org/2000/svg"'
        # Programs that show a file by itself put it on white, by night too.
        ground = f'<rect width="{width:g}" height="{height:g}" fill="var(--panel)"/>'
        parts = [f"<style>:root{{{style(LIGHT)}}}{night}</style>", ground, *parts]
    return (
        f'<svg{names} viewBox="0 0 {width:g} {height:g}" font-family="{FONT}" font-size="12">'
        f'<title id="{word}-title">{escape(title)}</title><desc id="{word}-about">{escape(about)}</desc>'
        + "".join(parts)
        + "</svg>"
    )


class Frame:
    """The room between the axes of a plot."""

    def __init__(self, plot: Plot, *, keyed: bool = True) -> None:
        self.plot = plot
        self._keyed = keyed
        self._labels = [mark.label for mark in plot.marks if mark.label]
        texts = shortened([text for _, text in ticks(plot.y)], LONGEST)
        self.left = 14 + LETTER * max(map(len, texts), default=1) + (16 if plot.y.title else 0)
        self.right = plot.width - 22.0
        self.top = 8.0
        self._rows = self._key_rows()
        self.height = plot.height + 18 * max(len(self._rows) - 1, 0)
        self.bottom = plot.height - (46.0 if plot.x.title else 28.0) - (18 if self._rows else 0)
        self.x = _scaled(plot.x, self.left, self.right)
        self.y = _scaled(plot.y, self.bottom, self.top)

    def axes(self) -> list[str]:
        """Marks along both sides, with lines behind what is drawn where they are numbers."""
        x, y, parts = self.plot.x, self.plot.y, []
        up = ticks(y, 5)
        for (at, _), text in zip(up, shortened([text for _, text in up], LONGEST), strict=True):
            place = self.y(at)
            if y.scale != "names":
                parts.append(_line(self.left, place, self.right, place))
            parts.append(text_at(self.left - 6, place + 4, text, "end"))
        room = max(2, int((self.right - self.left) / 70))
        places = ticks(x, room)
        # Panels are small: there a name takes the room of its letters.
        wide = 70.0 if self._keyed else min(70.0, 14 + LETTER * max((len(text) for _, text in places), default=1))
        several = math.ceil(len(places) * wide / (self.right - self.left)) if x.scale == "names" else 1
        longest = max(6, int((self.right - self.left) / max(len(places), 1) * several / LETTER) - 1)
        texts = shortened([text for _, text in places], longest)
        for number, ((at, _), text) in enumerate(zip(places, texts, strict=True)):
            place = self.x(at)
            if x.scale != "names" and y.scale == "names":
                parts.append(_line(place, self.top, place, self.bottom))
            after = len(places) - 1 - number
            if after == 0 or (number % several == 0 and after >= several):  # the last may stand for all others
                parts.append(text_at(place, self.bottom + 16, text, "middle"))
        if x.title:
            parts.append(text_at((self.left + self.right) / 2, self.bottom + 34, x.title, "middle", strong=True))
        if y.title:
            middle = (self.top + self.bottom) / 2
            turned = f' transform="rotate(-90 12 {middle:.1f})"'
            parts.append(text_at(12, middle, y.title, "middle", turned, strong=True))
        return parts

    def mark(self, mark: Mark) -> list[str]:
        """What is drawn for a mark."""
        if isinstance(mark, Bars):
            return self._bars(mark)
        if isinstance(mark, Points):
            return self._points(mark)
        if isinstance(mark, Band):
            return [f'<path d="{self._path(mark.x, mark.y)}" {_pen(mark.tone, 7)} opacity=".28"/>']
        if isinstance(mark, Boxes):
            return self._boxes(mark)
        if isinstance(mark, Entries):
            return self._entries(mark)
        return [self._rule(mark)]

    def _entries(self, mark: Entries) -> list[str]:
        """Texts in the middle of their cells, dark on light ones and light on dark ones."""
        parts = []
        for row, texts in enumerate(mark.texts):
            for column, text in enumerate(texts):
                left, right, top, bottom = self.x(column), self.x(column + 1), self.y(row + 1), self.y(row)
                ink = "var(--ink)"
                if mark.shades:
                    shade = mark.shades[row][column]
                    ink = "#ffffff" if shade < LIGHT_FROM else "#221a17"
                    box = (left + 0.5, top + 0.5, right - left - 1, bottom - top - 1)
                    parts.append(_rectangle(box, f'fill="{field(shade)}"', ""))
                lines = text.split("\n")
                middle, first = (left + right) / 2, (top + bottom) / 2 + 4 - 7 * (len(lines) - 1)
                parts += [
                    f'<text x="{middle:.1f}" y="{first + 14 * at:.1f}" text-anchor="middle" font-size="11" '
                    f'fill="{ink}">{escape(line)}</text>'
                    for at, line in enumerate(lines)
                ]
        return parts

    def _boxes(self, mark: Boxes) -> list[str]:
        """Rectangles, in from their edges by half of their line, so that neighbours can be told apart."""
        parts = []
        for (left, right, bottom, top), tip in zip(mark.boxes, mark.tips, strict=True):
            x, y = self.x(left) + 0.8, self.y(top) + 0.8
            box = (x, y, self.x(right) - 0.8 - x, self.y(bottom) - 0.8 - y)
            parts.append(_rectangle(box, _brush(mark), tip))
        return parts

    def _bars(self, mark: Bars) -> list[str]:
        base = self.x(max(self.plot.x.low, 0)) if mark.across else self.y(max(self.plot.y.low, 0))
        along, up = (self.y, self.x) if mark.across else (self.x, self.y)
        if mark.outline:
            return [self._outline(mark, along, up, base)]
        parts = []
        for (low, high), length, tip in zip(mark.spans, mark.lengths, mark.tips, strict=True):
            first, last = sorted((along(low), along(high)))
            gap = min(1.0, (last - first) / 8)
            near, far = sorted((base, up(length)))
            box = (near, first + gap, far - near, last - first - 2 * gap)
            if not mark.across:
                box = (first + gap, near, last - first - 2 * gap, far - near)
            parts.append(_rectangle(box, f'fill="var(--tone-{mark.tone % TONES})"', tip))
        return parts

    def _outline(self, mark: Bars, along: Place, up: Place, base: float) -> str:
        """Steps over all bars, from the base and back to it; a broad one that nobody sees takes the pointer."""
        steps: list[tuple[float, float]] = []
        for (low, high), length in zip(mark.spans, mark.lengths, strict=True):
            steps += [(along(low), up(length)), (along(high), up(length))]
        if steps:
            steps = [(steps[0][0], base), *steps, (steps[-1][0], base)]
        points = [(b, a) if mark.across else (a, b) for a, b in steps]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polyline points="{path}" {_pen(mark.tone, 2)}/>'

    def _points(self, mark: Points) -> list[str]:
        broken = ' stroke-dasharray="6 4"' if mark.dashed else ""
        parts = [f'<path d="{self._path(mark.x, mark.y)}" {_pen(mark.tone, 1.8)}{broken}/>'] if mark.joined else []
        for x, (low, high) in zip(mark.x, mark.reach, strict=bool(mark.reach)):
            at, ends = self.x(x), (self.y(low), self.y(high))
            caps = "".join(f"M{at - 4:.1f},{end:.1f} {at + 4:.1f},{end:.1f}" for end in ends)
            parts.append(f'<path d="M{at:.1f},{ends[0]:.1f} {at:.1f},{ends[1]:.1f}{caps}" {_pen(mark.tone, 1.4)}/>')
        places = [(self.x(x), self.y(y)) for x, y in zip(mark.x, mark.y, strict=True)]
        if not mark.links:
            return parts + [_shape(mark.shape, *at, mark.tone, tip) for at, tip in zip(places, mark.tips, strict=True)]
        for (x, y), tip, link in zip(places, mark.tips, mark.links, strict=True):
            # What is seen is small; what can be hit with a finger is not.
            reach = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{REACH}" fill="#0000">{_tip(tip)}</circle>'
            sign = _shape(mark.shape, x, y, mark.tone, "")
            parts.append(f'<a href="#{escape(link)}" aria-label="{escape(tip)}">{sign}{reach}</a>')
        return parts

    def _rule(self, mark: Rule) -> str:
        place = (self.y if mark.across else self.x)(mark.at)
        ends = (self.left, place, self.right, place) if mark.across else (place, self.top, place, self.bottom)
        return _line(*ends, stroke="ink", extra=' stroke-dasharray="5 4"')

    def _path(self, x: Sequence[float], y: Sequence[float]) -> str:
        return "M" + " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y, strict=True)) if x else ""

    def _key_rows(self) -> list[list[Mark]]:
        """Marks by the line of the key that they stand in; nothing where there is one mark, or none with a name."""
        named = [mark for mark in self.plot.marks if mark.label]
        if len(named) < 2 or not self._keyed:
            return []
        rows: list[list[Mark]] = [[]]
        used = self.left
        for mark in named:
            wide = 34 + LETTER * len(mark.label)
            if rows[-1] and used + wide > self.right:
                rows, used = [*rows, []], self.left
            rows[-1].append(mark)
            used += wide
        return rows

    def key(self) -> list[str]:
        """Which mark is which, under the plot."""
        parts = []
        for row, marks in enumerate(self._rows):
            x, y = self.left, self.height - 6 - 18 * (len(self._rows) - 1 - row)
            for mark in marks:
                parts += [sign(mark, x, y - 4), text_at(x + 22, y, mark.label)]
                x += 34 + LETTER * len(mark.label)
        return parts


def _scaled(axis: Axis, first: float, last: float) -> Place:
    """Values of an axis → pixels."""
    low, high = axis.low, axis.high
    if axis.scale == "log":
        low, high = math.log10(low), math.log10(high)
    span = high - low or 1.0

    def place(value: float) -> float:
        at = math.log10(max(value, 1e-300)) if axis.scale == "log" else value
        return first + (min(max(at, low), high) - low) / span * (last - first)

    return place


def sign(mark: Mark, x: float, y: float) -> str:
    """A mark as the key shows it."""
    if isinstance(mark, Entries):
        return ""
    if isinstance(mark, Rule):
        return _line(x, y, x + 16, y, stroke="ink", extra=' stroke-dasharray="5 4"')
    if isinstance(mark, Bars) and not mark.outline:
        return _rectangle((x, y - 5, 16, 10), f'fill="var(--tone-{mark.tone % TONES})"', "")
    if isinstance(mark, Boxes):
        return _rectangle((x, y - 5, 16, 10), _brush(mark), "")
    wide = 7.0 if isinstance(mark, Band) else 2.0
    faint = ' opacity=".28"' if isinstance(mark, Band) else ""
    faint += ' stroke-dasharray="5 3"' if isinstance(mark, Points) and mark.dashed else ""
    line = f'<path d="M{x:.1f},{y:.1f} {x + 16:.1f},{y:.1f}" {_pen(mark.tone, wide)}{faint}/>'
    if isinstance(mark, Points):
        return (line if mark.joined else "") + _shape(mark.shape, x + 8, y, mark.tone, "")
    return line


def _shape(shape: int, x: float, y: float, tone: int, tip: str) -> str:
    """A sign of one of six shapes around a point: colours are not all that tells lines apart."""
    r, corners = 4.2, SHAPES[shape % len(SHAPES)]
    fill = f'fill="var(--tone-{tone % TONES})" stroke="var(--panel)" stroke-width="1"'
    if not corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" {fill}>{_tip(tip)}</circle>'
    path = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
    return f'<polygon points="{path}" {fill}>{_tip(tip)}</polygon>'


SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    ((-0.5, -1.2), (0.5, -1.2), (1.2, -0.5), (1.2, 0.5), (0.5, 1.2), (-0.5, 1.2), (-1.2, 0.5), (-1.2, -0.5)),
)


def _rectangle(box: tuple[float, float, float, float], ink: str, tip: str) -> str:
    x, y, wide, high = box
    about = _tip(tip)
    ends = f">{about}</rect>" if about else "/>"
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0):.1f}" height="{max(high, 0):.1f}" {ink}{ends}'


def _line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = "rule", extra: str = "") -> str:
    return f'<path d="M{x1:.1f},{y1:.1f} {x2:.1f},{y2:.1f}" stroke="var(--{stroke})"{extra}/>'


def _pen(tone: int, width: float) -> str:
    return f'fill="none" stroke="var(--tone-{tone % TONES})" stroke-width="{width:g}" stroke-linejoin="round"'


def _brush(mark: Boxes) -> str:
    tone = f"var(--tone-{mark.tone % TONES})"
    return f'fill="{tone}"' if mark.filled else f'fill="{tone}" fill-opacity=".14" stroke="{tone}" stroke-width="1.5"'


def text_at(x: float, y: float, text: str, anchor: str = "start", extra: str = "", *, strong: bool = False) -> str:
    """A text that begins, ends or has its middle at a place."""
    ink = "ink" if strong else "faint"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="var(--{ink})"{extra}>{escape(text)}</text>'


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def stretches(edges: Iterable[float]) -> tuple[tuple[float, float], ...]:
    """The stretches between edges.

    >>> stretches([0, 1, 3])
    ((0, 1), (1, 3))
    """
    return tuple(pairwise(edges))
