"""Paintings as SVG: soft fields of colour on a dark ground, with a glow under them and the grain of a canvas."""

from __future__ import annotations

from html import escape

from rothko.plots.model import Cell, Painting
from rothko.plots.palette import CANVAS, FIELDS, field
from rothko.plots.svg import wrapped

RIM = 16.0
"""The ground around the fields."""
GAP = 2.2
"""The ground between two fields, at most."""
SIDE, FOOT = 46.0, 62.0
"""What axes and colours take, where a painting stands alone."""


def painted(painting: Painting, *, alone: bool = False, sides: bool = False) -> str:
    """A painting as SVG.

    Parameters
    ----------
    alone
        As a file of its own, which brings its colours.
    sides
        With its axes and the key of its colours, as a file has them; otherwise the page around it has these.
    """
    name = escape(painting.name)
    wide, high = float(painting.width), float(painting.height)
    fields = "".join(_field(cell, wide, high) for cell in painting.cells)
    parts = [
        _filters(name),
        f'<rect width="{wide:g}" height="{high:g}" fill="{CANVAS}"/>',
        f'<g filter="url(#{name}-edge)"><g id="{name}-fields">{fields}</g></g>',
        f'<use href="#{name}-fields" filter="url(#{name}-glow)" opacity=".5" style="mix-blend-mode:screen" '
        'pointer-events="none"/>',
        f'<rect width="{wide:g}" height="{high:g}" filter="url(#{name}-grain)" opacity=".16" pointer-events="none"/>',
    ]
    if not alone and not sides:
        return wrapped(name, painting.title, painting.about, wide, high, parts, alone=False)
    parts = [f'<g transform="translate({SIDE:g} 0)">{"".join(parts)}</g>', *_around(painting, wide, high)]
    return wrapped(name, painting.title, painting.about, wide + SIDE, high + FOOT, parts, alone=alone)


def _field(cell: Cell, wide: float, high: float) -> str:
    """A rectangle, in from its edges by no more than a fifth."""
    inner_wide, inner_high = wide - 2 * RIM, high - 2 * RIM
    x, y = RIM + cell.left * inner_wide, RIM + (1 - cell.top) * inner_high
    w, h = (cell.right - cell.left) * inner_wide, (cell.top - cell.bottom) * inner_high
    across, down = min(GAP, w / 5) / 2, min(GAP, h / 5) / 2
    about = f"<title>{escape(cell.tip)}</title>" if cell.tip else ""
    return (
        f'<rect x="{x + across:.1f}" y="{y + down:.1f}" width="{max(w - 2 * across, 0.6):.1f}" '
        f'height="{max(h - 2 * down, 0.6):.1f}" fill="{field(cell.value)}">{about}</rect>'
    )


def _filters(name: str) -> str:
    """Edges as a brush leaves them, a glow, and the weave of a canvas."""
    whole = 'x="0" y="0" width="100%" height="100%"'
    plain = 'color-interpolation-filters="sRGB"'
    return (
        f'<filter id="{name}-edge" x="-1%" y="-1%" width="102%" height="102%" {plain}>'
        '<feTurbulence type="fractalNoise" baseFrequency=".03 .05" numOctaves="2" seed="4"/>'
        # Opaque: where noise is thin, programs differ in what they make of it.
        '<feColorMatrix values="1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 0 1" result="hand"/>'
        '<feDisplacementMap in="SourceGraphic" in2="hand" scale="6" xChannelSelector="R" yChannelSelector="G"/>'
        '<feGaussianBlur stdDeviation=".55"/></filter>'
        f'<filter id="{name}-glow" x="-2%" y="-4%" width="104%" height="108%" {plain}>'
        '<feGaussianBlur stdDeviation="11"/></filter>'
        f'<filter id="{name}-grain" {whole} {plain}>'
        '<feTurbulence type="fractalNoise" baseFrequency=".9 .7" numOctaves="1" seed="9"/>'
        '<feColorMatrix type="saturate" values="0"/></filter>'
    )


def _around(painting: Painting, wide: float, high: float) -> list[str]:
    """Axes and colours of a painting that stands alone."""
    parts = []
    title, low, top = painting.x
    if title:
        middle, row = SIDE + wide / 2, high + 19
        parts += [
            _text(SIDE + RIM, row, low),
            _text(middle, row, title, "middle"),
            _text(SIDE + wide - RIM, row, top, "end"),
        ]
    title, low, top = painting.y
    for at, text, anchor in ((high - RIM, low, "start"), (high / 2, title, "middle"), (RIM, top, "end")):
        parts.append(_text(SIDE - 14, at, text, anchor, f' transform="rotate(-90 {SIDE - 14:g} {at:g})"'))
    title, low, top = painting.legend
    if title and not top:  # one colour has no two ends
        parts.append(_text(SIDE + RIM, high + 47, f"{title}: {low}"))
    elif title:
        row, last = high + 47, SIDE + wide - RIM - 7.6 * len(top) - 10
        first = last - 200
        stops = "".join(
            f'<stop offset="{i / (len(FIELDS) - 1):.3f}" stop-color="{colour}"/>' for i, colour in enumerate(FIELDS)
        )
        parts += [
            f'<linearGradient id="{escape(painting.name)}-key">{stops}</linearGradient>',
            f'<rect x="{first:g}" y="{row - 11:g}" width="200" height="12" fill="url(#{escape(painting.name)}-key)"/>',
            _text(first - 10, row, low, "end"),
            _text(SIDE + RIM, row, title),
            _text(last + 10, row, top),
        ]
    return parts


def _text(x: float, y: float, text: str, anchor: str = "start", extra: str = "") -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="var(--faint)" font-size="14"{extra}'
    return f"<text {place}>{escape(text)}</text>"
