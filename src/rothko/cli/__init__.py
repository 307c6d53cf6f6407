"""The command line: thin, one file per command. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from rothko import __version__
from rothko.cli import (
    anonymize,
    apply,
    check,
    compare,
    demo,
    draft,
    evaluate,
    generate,
    measure,
    options,
    pipes,
    plan,
    schema,
    sets,
)
from rothko.cli.limits import keep_address_space
from rothko.cli.streams import PrintError, printed
from rothko.errors import PrivacyWarning, RothkoError, lacks_memory
from rothko.release.commit import IN_PLACE

STOPPED = (130, 143)
"""Exit codes of a run that was interrupted, or told to end."""
SHOWN, LONGEST = 50, 200
"""How many values --show-values lists, and how many characters of each."""

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
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    pass


def main() -> None:
    """Run a command; every error is one sentence on standard error and an exit code.

    What is said and the exit code follow the state of the files: from the moment at which what was asked for is in
    place, the run has done it, whatever comes afterwards.
    """
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _terminate)
    before = IN_PLACE.set([])
    try:
        with printed(), pipes.forgotten():
            code = _run()
    finally:
        IN_PLACE.reset(before)
    sys.exit(code)


def _run() -> int:
    """Run a command, and say what became of it; its exit code."""
    asked: set[str] = set()
    try:
        keep_address_space()
        _command(asked)
    except RothkoError as error:
        if isinstance(error, PrintError) and _told_in_place("its report could not be printed"):
            return 0
        _say(f"Error: {error}")
        if error.values and "show_values" in asked:
            _say(_listed(error.values))
        return error.exit_code
    except SystemExit as stop:  # Ctrl-C too: Typer turns it into exit code 130
        code = stop.code if isinstance(stop.code, int) else 0
        if code in STOPPED:
            if _told_in_place("the run was stopped after that"):
                return 0
            _say("Stopped; nothing was released.")
        return code
    except Exception as error:  # the last stop: a traceback would show cell values
        if lacks_memory(error):
            if _told_in_place("memory did not suffice for its report"):
                return 0
            _say("Error: the table does not fit in memory; nothing was released.")
            return 2
        # A bug. Messages of other libraries quote cell values, so only the kind of error is told.
        if "debug" in asked:
            raise
        hint = "This is a bug in rothko: --debug shows where it happened, but may show cell values too."
        if _told_in_place(f"its report could not be made ({type(error).__name__}). {hint.rstrip('.')}"):
            return 0
        _say(f"Internal error ({type(error).__name__}); nothing was released. {hint}")
        return 1
    return 0


def _command(asked: set[str]) -> None:
    """Run a command, and note what it is asked to tell of errors; what is printed has been printed when this ends."""
    try:
        app(obj=asked)
    finally:
        sys.stdout.flush()


def _listed(values: Sequence[str]) -> str:
    """The values behind an error, each on a line, as many and as much of each as a person reads; and how many more."""
    lines = [value if len(value) <= LONGEST else f"{value[:LONGEST]}…" for value in sorted(values)[:SHOWN]]
    if len(values) > SHOWN:
        lines.append(f"… and {len(values) - SHOWN:,} more, {len(values):,} in all")
    return "\n".join(f"  {line}" for line in lines)


def _told_in_place(what: str) -> bool:
    """Say that what was asked for is in place, if it is, and what else happened."""
    there = [path for path in IN_PLACE.get() or () if path.exists()]
    if there:
        _say(f"{', '.join(repr(str(path)) for path in there)}: complete and in place; {what}.")
    return bool(there)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _terminate(*_: Any) -> None:
    """Unwind as for Ctrl-C, so that what is private or half written is removed."""
    raise SystemExit(143)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, PrivacyWarning):
        _say(f"Warning: {message}")
