"""The command line: thin, one file per command. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from rothko import __version__
from rothko.cli import log, options, pipes
from rothko.cli.limits import keep_address_space
from rothko.cli.streams import PrintError, printed
from rothko.errors import PrivacyWarning, RothkoError, lacks_memory
from rothko.mistakes import speaking_of_options
from rothko.release.commit import IN_PLACE

COMMANDS = (
    "draft", "anonymize", "check", "measure", "report", "paint", "compare", "evaluate", "apply", "sets", "plan",
    "hierarchy", "studio", "generate", "demo", "schema", "warm",
)  # fmt: skip
"""The commands, as help lists them: each is a module here, with ``register``."""
STOPPED = (130, 143)
"""Exit codes of a run that was interrupted, or told to end."""
SHOWN, LONGEST = 50, 200
"""How many values --show-values lists, and how many characters of each."""


@cache
def application(*commands: str) -> typer.Typer:
    """The program with some of its commands, or with all; building the others would take longer than some of them."""
    app = typer.Typer(
        name="rothko",
        help="Turn tables about people into releases that are provably k-anonymous and still useful.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["--help", "-h"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_common)
    for command in commands or COMMANDS:
        importlib.import_module(f"rothko.cli.{command}").register(app)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"rothko {__version__}")
        raise typer.Exit


def _common(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")] = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    log: options.Log = None,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    pass


def main() -> None:
    """Run a command; every error is one sentence on standard error, or JSON on standard output, and an exit code.

    What is said and the exit code follow the state of the files: from the moment at which what was asked for is in
    place, the run has done it, whatever comes afterwards.
    """
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _terminate)
    before, others = IN_PLACE.set([]), options.ASKED.set(set())
    run = log.RUN.set(log.Run(next((word for word in sys.argv[1:] if word in COMMANDS), "")))
    try:
        with printed(), pipes.forgotten(), speaking_of_options():
            code = _run()
            if log.wanted():
                log.ended(code)
    finally:
        log.RUN.reset(run)
        IN_PLACE.reset(before)
        options.ASKED.reset(others)
    sys.exit(code)


def _run() -> int:
    """Run a command, and say what became of it; its exit code."""
    try:
        log.listen()
        keep_address_space()
        code = _command()
    except RothkoError as error:
        if isinstance(error, PrintError) and _told_in_place("its report could not be printed"):
            return 0
        shown = error.values if options.asked("show_values") else ()
        return _failed(type(error).__name__, f"Error: {error}", error.exit_code, shown)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except Exception as error:  # the last stop: a traceback would show cell values
        if hasattr(error, "format_message"):  # Typer's, of words that are no options
            return _misused(error)
        if lacks_memory(error):
            if _told_in_place("memory did not suffice for its report"):
                return 0
            return _failed("MemoryError", "Error: the table does not fit in memory; nothing was released.", 2)
        # A bug. Messages of other libraries quote cell values, so only the kind of error is told.
        if options.asked("debug"):
            raise
        kind = type(error).__name__
        hint = "This is a bug in rothko: --debug shows where it happened, but may show cell values too."
        if _told_in_place(f"its report could not be made ({kind}). {hint.rstrip('.')}"):
            return 0
        return _failed("InternalError", f"Internal error ({kind}); nothing was released. {hint}", 1)
    if code in STOPPED:
        if _told_in_place("the run was stopped after that"):
            return 0
        return _failed("Stopped", "Stopped; nothing was released.", code)
    return code


def _command() -> int:
    """Run a command; its exit code. What is printed has been printed when this ends."""
    app = application(*(word for word in sys.argv[1:2] if word in COMMANDS))
    try:
        code = app(prog_name="rothko", standalone_mode=False)  # Ctrl-C too: Typer turns it into 130
    finally:
        sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _failed(kind: str, sentence: str, code: int, values: Sequence[str] = ()) -> int:
    """Say what went wrong, to a person or to a machine; the exit code."""
    if log.wanted():
        log.event("error", "error", kind=kind, message=sentence.removeprefix("Error: "), exit_code=code)
    if not options.asked("as_json"):
        if log.wanted():
            return code
        _say(sentence)
        if values:
            _say(_listed(values))
        return code
    from rothko import json_text

    message = sentence.removeprefix("Error: ")
    told: dict[str, Any] = {"kind": kind, "message": message, "exit_code": code}
    if values:
        told |= {"values": _some(values), "values_in_all": len(values)}
    with contextlib.suppress(PrintError):
        print(json_text.dump({"format": "rothko error 1", "error": told}, ascii_only=True), flush=True)
    return code


def _misused(error: Any) -> int:
    """Say which words are no options; those that are may not have been looked at."""
    words = sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
    if "unexpected extra argument" in error.message and sum(os.path.exists(word) for word in words) > 1:
        error.message = f"{error.message.split('(')[0].strip()}: to read several files, quote a pattern, 'data/*.csv'."
    if any(word == "--log" or word.startswith("--log=") for word in words):
        options.ASKED.get().add("log")
    if "--json" in words:
        options.ASKED.get().add("as_json")
    if options.asked("as_json") or log.wanted():
        return _failed("UsageError", error.format_message(), error.exit_code)
    error.show()
    return int(error.exit_code)


def _listed(values: Sequence[str]) -> str:
    """The values behind an error, each on a line, as many and as much of each as a person reads; and how many more."""
    lines = _some(values)
    if len(values) > SHOWN:
        lines.append(f"… and {len(values) - SHOWN:,} more, {len(values):,} in all")
    return "\n".join(f"  {line}" for line in lines)


def _some(values: Sequence[str]) -> list[str]:
    return [value if len(value) <= LONGEST else f"{value[:LONGEST]}…" for value in sorted(values)[:SHOWN]]


def _told_in_place(what: str) -> bool:
    """Say that what was asked for is in place, if it is, and what else happened."""
    there = [path for path in IN_PLACE.get() or () if path.exists()]
    if there:
        told = f"{', '.join(repr(str(path)) for path in there)}: complete and in place; {what}."
        if log.wanted():
            log.event("warning", "in place", message=told)
        else:
            _say(told)
    return bool(there)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _terminate(*_: Any) -> None:
    """Unwind as for Ctrl-C, so that what is private or half written is removed."""
    raise SystemExit(143)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, PrivacyWarning):
        if log.wanted():
            log.warned(str(message))
        else:
            _say(f"Warning: {message}")
