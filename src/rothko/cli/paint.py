"""``rothko paint``: the classes of a release as rectangles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rothko.cli import options
from rothko.cli.groups import grouped
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.plots.model import Painting

MEANINGS = ("density", "size", "loss")
"""What colours stand for, beside the columns of a release."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("paint")(grouped(paint))


def paint(
    release: Annotated[
        Path, typer.Argument(help="The folder, data file or certificate of a release.", show_default=False)
    ],
    x: options.PaintX = None,
    y: options.PaintY = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="<what>",
            help="What colours stand for: density, size, loss, or a column that is released as it is.",
            autocompletion=lambda: list(MEANINGS),
        ),
    ] = "density",
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="<path>", help="An .svg, .png, .html or .json file."),
    ] = "painting.svg",
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", help="Of sets in lines: what separates items, if no blank.", show_default=False),
    ] = None,
    overwrite: options.Overwrite = False,
    threads: options.Threads = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Paint a release: its classes as rectangles over two quasi-identifiers, from its public files alone.

    Where quasi-identifiers have labels without an order, the painting is a tree of rectangles. Classes that look alike
    at this size are one rectangle, which says how many they are. Whoever points at a rectangle sees what it stands for.
    Of records that are sets every rectangle is a published set, as large as the number of records that publish it.
    """
    from rothko.cli import console
    from rothko.plots import png
    from rothko.release.certificate import SET_FORMAT
    from rothko.release.claims import claim_files
    from rothko.report.forms import FORMS, Drawing
    from rothko.report.released import find_release

    data, about = find_release(release)
    claim = claim_files([out], overwrite=overwrite, inputs=[data], endings=FORMS)
    [target] = claim.before
    if target.suffix.lower() == ".png":
        png.need()
    if about["format"] == SET_FORMAT:
        if x is not None or y is not None or by != "density":
            raise InputError("Records that are sets have no columns; leave out --x, --y and --by.")
        painting = _of_sets(release, delimiter, threads)
    else:
        painting = _of_table(release, x, y, by, threads)
    Drawing(painting).write(claim)
    if as_json:
        console.json({"path": str(target)}, "paint")
    else:
        console.out.print(str(target), markup=False)


def _of_table(release: Path, x: str | None, y: str | None, by: str, threads: int | None) -> Painting:
    from rothko.report.painting import paint as make
    from rothko.report.released import read_release

    named = None if by in MEANINGS else by
    return make(read_release(release, target=named, threads=threads), x=x, y=y, by="target" if named else by)


def _of_sets(release: Path, delimiter: str | None, threads: int | None) -> Painting:
    from rothko.sets.readable import read_sets
    from rothko.sets.set_pictures import painted

    return painted(read_sets(release, delimiter=delimiter, threads=threads))
