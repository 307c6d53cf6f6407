"""``rothko apply``: send new records to the regions of a recoding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import log, options, pipes
from rothko.cli.groups import grouped
from rothko.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply")(grouped(apply))


def apply(
    recoding: Annotated[
        Path, typer.Argument(help="The recoding of a release: its folder, or its .json file.", show_default=False)
    ],
    data: options.Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="A file, or a new table of a database; - is standard output.",
            show_default=False,
        ),
    ],
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Leave the rows in their order.")] = False,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="What the process may take, such as 2GB; larger files are recoded in pieces."),
    ] = None,
    *,
    text: options.TextFile,
    form: options.Form = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Recode unseen records with the recoding of a release.

    Each joins the class of its region. A record whose values neither the data nor the hierarchy knew is
    suppressed: it shows * in every quasi-identifier.
    """
    from rothko.cli import console
    from rothko.data.address import address
    from rothko.release.recoding.apply import apply_file

    csv, piped = text.options(), out == "-"
    if form is not None and not piped:
        raise InputError("--format goes with --out -, standard output.")
    if piped and as_json:
        raise InputError("--json does not go with --out -: standard output has the records, and nothing else.")
    if piped:
        out = str(pipes.standard_output(form or "csv"))
    table = pipes.table_of(data)
    done = apply_file(recoding, table, out, keep_order=keep_order, overwrite=overwrite, csv=csv, memory=memory)
    log.counted(done.rows)
    if as_json:
        console.json(done._asdict() | {"path": address(done.path)}, "apply")
        return
    to = console.err if piped else console.out
    to.print(f"{done.rows:,} records in {done.classes:,} of {done.regions:,} regions.")
    if done.suppressed:
        few = " They are fewer than k: leave them out if that matters." if done.suppressed < done.k else ""
        to.print(f"{done.suppressed:,} records have values that the recoding does not know and show * throughout.{few}")
    if done.smallest is not None and done.smallest < done.k:
        to.print(
            f"By itself this file is not {done.k}-anonymous (its smallest class has {done.smallest}): it is meant to "
            "be added to the release whose classes it joins."
        )
    for note in done.notes:
        to.print(note, markup=False)
    if piped:
        pipes.send(done.path)
    else:
        to.print(address(done.path), markup=False)
