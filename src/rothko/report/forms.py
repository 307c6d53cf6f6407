"""A picture by itself, in the forms that are asked for: SVG, PNG, a page, and the plain data that it is drawn from."""

from __future__ import annotations

from rothko.plots.canvas import painted
from rothko.plots.model import Painting, Picture, dump
from rothko.plots.png import png
from rothko.plots.svg import drawn
from rothko.report import page

FORMS = (".svg", ".png", ".html", ".json")
"""Endings of the files that a picture is written to."""


def formed(picture: Picture, ending: str) -> bytes:
    """A picture in the form that the ending of a file asks for."""
    if ending == ".json":
        return dump([picture]).encode()
    if ending == ".html":
        return page.page(picture.title, picture.about, page.shown(picture), [], [], mark="").encode()
    svg = painted(picture, alone=True) if isinstance(picture, Painting) else drawn(picture, alone=True)
    return png(svg) if ending == ".png" else f"{svg}\n".encode()
