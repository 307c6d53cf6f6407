"""SVG as PNG, by resvg, which the extra ``report`` brings: no browser, no network."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rothko.errors import MissingExtraError
from rothko.plots.palette import by_day


def need() -> None:
    """Say at once where what draws PNG is not installed."""
    _renderer()


def png(svg: str, *, zoom: float = 1.5) -> bytes:
    """A drawing by day as PNG, with so many pixels for each of its own."""
    # resvg moves pixels six times as far as browsers do.
    calmer = re.sub(
        r'(<feDisplacementMap[^>]* scale=)"([\d.]+)"', lambda found: f'{found[1]}"{float(found[2]) / 6:g}"', svg
    )
    return bytes(_renderer()(svg_string=by_day(calmer), zoom=zoom, background="#ffffff"))


def _renderer() -> Callable[..., Any]:
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError:
        raise MissingExtraError(
            'PNG needs resvg: pip install "rothko[report]", or ask for SVG or HTML, which need nothing'
        ) from None
    return svg_to_bytes
