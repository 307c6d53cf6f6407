"""What comparisons of tables and of sets have in common: trials, of which each lost something or could not be run."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

from rothko.errors import RothkoError, lacks_memory
from rothko.policy.entries import write

By = Literal["k", "l"]
"""What varies: k of k-anonymity, or l of l-diversity."""


class Tried(Protocol):
    """A method at one k or l."""

    @property
    def lost(self) -> float | None:
        """What is lost, from 0 to 1; None where it could not be run."""

    def at(self, by: By) -> float:
        """Its k, or its l."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""


Some = TypeVar("Some", bound=Tried)


def unbeaten(trials: Sequence[Some], by: By) -> tuple[Some, ...]:
    """The trials that no other one beats: none has as much privacy and loses less, or more and loses no more."""
    held = [(trial.at(by), trial.lost, trial) for trial in trials if trial.lost is not None]
    return tuple(
        trial
        for value, lost, trial in held
        if not any(other >= value and beaten <= lost and (other > value or beaten < lost) for other, beaten, _ in held)
    )


def as_csv(trials: Sequence[Tried]) -> str:
    """The trials as CSV, a row each."""
    file = io.StringIO()
    rows = [
        {name: " ".join(value) if isinstance(value, list) else value for name, value in trial.to_dict().items()}
        for trial in trials
    ]
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def label(method: Any) -> str:
    """What a method is called in the results: its name, with the options that are not its default.

    >>> from rothko.sets.methods.mondrian import SetMondrian
    >>> label(SetMondrian(criterion="even"))
    'set-mondrian criterion=even'
    """
    [(name, options)] = write(method).items()
    return " ".join([name, *(f"{option}={value}" for option, value in options.items())])


def why(error: Exception) -> tuple[str, int]:
    """The reason why a trial has no numbers, and the exit code that goes with it; 1 for a bug."""
    if isinstance(error, RothkoError):
        return str(error), error.exit_code
    if lacks_memory(error):
        return "It does not fit in memory.", 2
    # Messages of other libraries quote cell values, so only the kind of error is told.
    return f"Internal error ({type(error).__name__}): a bug in rothko.", 1
