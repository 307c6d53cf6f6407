"""``rothko schema``: the JSON Schema of a policy file, for editors."""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema() -> None:
    """Print the JSON Schema of a policy file, for editors."""
    from rothko.policy import Policy

    typer.echo(json.dumps(Policy.json_schema(), indent=1))
