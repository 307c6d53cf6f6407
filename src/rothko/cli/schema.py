"""``rothko schema``: the JSON Schema of a policy file, for editors, or of what ``--json`` prints, for machines."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    of: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="<what>",
            help="policy, a command (what it prints with --json), log or error.",
        ),
    ] = "policy",
) -> None:
    """Print the JSON Schema of a policy file, or of what a command prints with --json."""
    from rothko.cli import console
    from rothko.cli.json_schemas import json_schema_of

    console.json(json_schema_of(of))
