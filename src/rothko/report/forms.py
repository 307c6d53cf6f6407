"""A picture by itself, in the forms that are asked for: SVG, PNG, a page, and the plain data that it is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rothko.plots.canvas import painted
from rothko.plots.model import Painting, Panels, Picture, dump
from rothko.plots.palette import DARK, LIGHT, style
from rothko.plots.panels import arranged
from rothko.plots.png import png
from rothko.plots.svg import drawn
from rothko.release.claims import claim_files
from rothko.release.names import named_file
from rothko.release.staging import Claim, staging
from rothko.release.write import explained
from rothko.report import page

FORMS = (".svg", ".png", ".html", ".json")
"""Endings of the files that a picture is written to."""
SCOPE = "rothko-drawing"
"""What a drawing in a notebook is called there: its colours are for nothing else."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that shows itself in a notebook, and saves itself."""

    picture: Picture
    """What is drawn, as plain data."""

    @property
    def svg(self) -> str:
        """The drawing as a file of its own."""
        one = self.picture
        if isinstance(one, Panels):
            return arranged(one, alone=True)
        return painted(one, alone=True) if isinstance(one, Painting) else drawn(one, alone=True)

    @property
    def json(self) -> str:
        """What is drawn, as plain data."""
        return dump([self.picture])

    def __repr__(self) -> str:
        return f"Drawing({self.picture.name}: {self.picture.title})"

    def _repr_html_(self) -> str:
        one = self.picture
        inner = painted(one, sides=True) if isinstance(one, Painting) else page.plotted(one)
        ground = "background:var(--panel);color:var(--ink);padding:.6em;border-radius:.4em"
        return (
            f"<style>.{SCOPE}{{{style(LIGHT)}}}@media (prefers-color-scheme:dark){{.{SCOPE}{{{style(DARK)}}}}}</style>"
            f'<div class="{SCOPE}" style="max-width:{page.width_of(one)}px;{ground}">{inner}</div>'
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write it as SVG, PNG (needs the extra ``report``), a page or JSON, by the ending of the file."""
        return self.write(claim_files([named_file(path)], overwrite=overwrite, endings=FORMS))

    def write(self, claim: Claim) -> Path:
        """Write it under a name that was looked at."""
        [target] = claim.before
        content = formed(self.picture, target.suffix.lower())
        with staging(claim) as stage:
            place = stage.place_for(target)
            with explained(target):
                place.write_bytes(content)
            stage.commit()
        return target


def formed(picture: Picture, ending: str) -> bytes:
    """A picture in the form that the ending of a file asks for."""
    if ending == ".json":
        return dump([picture]).encode()
    if ending == ".html":
        return page.page(picture.title, picture.about, page.shown(picture), [], [], mark="").encode()
    svg = Drawing(picture).svg
    return png(svg) if ending == ".png" else f"{svg}\n".encode()
