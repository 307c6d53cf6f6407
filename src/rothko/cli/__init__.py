"""The command line: thin, one file per command. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, Any

import typer

from rothko import __version__
from rothko.cli import anonymize, apply, check, compare, demo, draft, evaluate, generate, measure, plan, schema, sets
from rothko.cli.limits import keep_address_space
from rothko.errors import PrivacyWarning, RothkoError, lacks_memory

app = typer.Typer(
    name="rothko",
    help="Turn tables about people into releases that are provably k-anonymous and still useful.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (draft, anonymize, check, measure, compare, evaluate, apply, sets, plan, generate, demo, schema):
    command.register(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rothko {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; every error is one sentence on standard error and an exit code."""
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _terminate)
    try:
        keep_address_space()
        app()
    except RothkoError as error:
        typer.echo(f"Error: {error}", err=True)
        if error.values and "--show-values" in sys.argv:
            typer.echo("\n".join(f"  {value}" for value in sorted(error.values)), err=True)
        sys.exit(error.exit_code)
    except SystemExit as stop:  # Ctrl-C too: Typer turns it into exit code 130
        if stop.code in (130, 143):
            typer.echo("Stopped; nothing was released.", err=True)
        raise
    except Exception as error:
        if lacks_memory(error):
            typer.echo("Error: the table does not fit in memory; nothing was released.", err=True)
            sys.exit(2)
        # A bug. Messages of other libraries quote cell values, so only the kind of error is told.
        if "--debug" in sys.argv:
            raise
        typer.echo(
            f"Internal error ({type(error).__name__}); nothing was released. This is a bug in rothko: --debug shows "
            "where it happened, but may show cell values too.",
            err=True,
        )
        sys.exit(1)


def _terminate(*_: Any) -> None:
    """Unwind as for Ctrl-C, so that what is private or half written is removed."""
    raise SystemExit(143)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, PrivacyWarning):
        typer.echo(f"Warning: {message}", err=True)
