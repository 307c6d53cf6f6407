"""``--log json``: a line for each event on standard error, for machines; nothing else is said there then.

Lines have column names and counts, as all messages; ``rothko schema --of log`` describes them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rothko import environment, json_text
from rothko.cli import options
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.progress import Progress


@dataclass(slots=True)
class Run:
    """What is known of a run as a whole."""

    command: str
    began: float = field(default_factory=time.monotonic)
    warnings: int = 0
    records: int | None = None


RUN: ContextVar[Run | None] = ContextVar("run", default=None)


def wanted() -> bool:
    """Whether events are asked for."""
    return options.asked("log")


def listen() -> None:
    """Take what the environment asks for."""
    form = environment.said(environment.LOG)
    if form is None:
        return
    if form not in options.EVENTS:
        raise InputError(f"{environment.LOG} must be {' or '.join(options.EVENTS)}, not {form!r}.")
    options.ASKED.get().add("log")


def event(level: str, what: str, **facts: Any) -> None:
    """Write one line; what is None is left out."""
    time_now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told = {"time": time_now, "level": level, "event": what}
    told |= {name: fact for name, fact in facts.items() if fact is not None}
    print(json_text.dump(told, indent=None, ascii_only=True), file=sys.stderr, flush=True)


def warned(message: str) -> None:
    """A choice that weakens what the release protects."""
    if run := RUN.get():
        run.warnings += 1
    event("warning", "warning", message=message)


def counted(records: int) -> None:
    """How many records the command was about."""
    if run := RUN.get():
        run.records = records


def ended(exit_code: int) -> None:
    """The last line of a run."""
    if run := RUN.get():
        event(
            "info" if exit_code == 0 else "error", "end", command=run.command, records=run.records,
            seconds=round(time.monotonic() - run.began, 3), warnings=run.warnings, exit_code=exit_code,
        )  # fmt: skip


@contextmanager
def stages() -> Iterator[Progress]:
    """Progress as events: a line for each stage when it is over."""
    lock = threading.Lock()
    stage, since = "", time.monotonic()

    def over(following: str) -> None:
        nonlocal stage, since
        now = time.monotonic()
        if stage:
            event("info", "stage", stage=stage, seconds=round(now - since, 3))
        stage, since = following, now

    def report(name: str, done: int, total: int) -> None:
        if name != stage:
            with lock:
                if name != stage:
                    over(name)

    try:
        yield report
    finally:
        over("")
