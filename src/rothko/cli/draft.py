"""``rothko draft``: look at the data, propose a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("draft")(draft)


def draft(
    data: options.Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write the policy; printed by default.", show_default=False),
    ] = None,
    k: options.K = None,
    missing: options.Missing = "",
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Look at the data and propose roles, types, hierarchies and requirements, with the reason for each.

    A draft is a start: read it, correct it, then anonymize.
    """
    import json

    from rothko.cli import console
    from rothko.data.draft import draft as propose
    from rothko.errors import OutputError

    csv = options.csv_options(delimiter, quote, encoding, header)
    if out is not None and out.exists() and not overwrite:
        raise OutputError(f"{str(out)!r} exists; use --overwrite to replace it.")
    found = propose(data, csv=csv, missing=options.names(missing) or None, k=options.whole("--k", k, 2))
    if out is not None:
        try:
            out.write_text(found.to_yaml(), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{str(out)!r} cannot be written: {error.strerror}.") from None
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
    elif out is None:
        typer.echo(found.to_yaml(), nl=False)
    if not as_json:
        # The reasons go to standard error where the policy itself is on standard output.
        to = console.out if out is not None else console.err
        to.print(console.proposals(found))
        to.print(f"\n{found.unique:.1%} of {found.rows:,} records are unique on the proposed quasi-identifiers.")
        for note in found.notes:
            to.print(note, markup=False)
        if out is not None:
            to.print(f"\nNext: rothko anonymize {data} --policy {out} --out release/", markup=False)
