"""``rothko schema``: the JSON Schema of a policy file, for editors."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema() -> None:
    """Print the JSON Schema of a policy file, for editors."""
    from rothko.cli import console
    from rothko.policy.policy import Policy

    console.json(Policy.json_schema())
