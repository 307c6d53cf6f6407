"""``rothko warm``: compile ahead."""

from __future__ import annotations

from typing import Annotated

import typer

from rothko.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("warm")(warm)


def warm(
    method: Annotated[
        list[str] | None,
        typer.Option("--method", help="A method, of tables or of sets; may be repeated.", show_default="all"),
    ] = None,
    threads: options.Threads = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compile what methods need ahead of their first run on this machine.

    For images of containers, executors and the impatient: otherwise each method compiles by its first run, once.
    """
    from rothko.cli import console
    from rothko.warm import warm as compile_ahead

    with console.progress(quiet=as_json) as report:
        where = compile_ahead(method, threads=threads, progress=report)
    if as_json:
        console.json({"methods": method, "kept_in": str(where)}, "warm")
        return
    console.out.print(
        f"Compiled for this machine: {', '.join(method) if method else 'all methods'}. Kept in {where}.", soft_wrap=True
    )
