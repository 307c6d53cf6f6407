"""``rothko studio``: the same in a browser, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import options
from rothko.cli.groups import grouped


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("studio")(grouped(studio))


def studio(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="The table to begin with: a file, or the address of a table in a database.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where to listen on loopback.", show_default="any free one")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    write: Annotated[
        bool, typer.Option("--write/--no-write", help="Let releases and policies be saved to this folder.")
    ] = True,
    debug: options.Debug = False,
) -> None:
    """Open a page in the browser, on this machine alone, in which a table is released step by step.

    Files are offered from the folder where it is started. The address has a token, without which nobody gets in. Ctrl-C
    ends it.
    """
    from rothko.cli import console
    from rothko.studio.server import need, run

    need()

    def say(address: str) -> None:
        console.out.print(f"The studio is open at {address}", markup=False, soft_wrap=True)
        console.out.print("Ctrl-C ends it.")

    run(data, Path.cwd(), port=port, writes=write, browser=browser, say=say)
