"""What a requirement is: a predicate over additive statistics.

A requirement says which statistics of a class it needs (:attr:`of`: the histogram of a sensitive
column; the number of records is always there) and decides on many classes at once. It does not
know where they were counted: in memory, from disk, by SQL or by Spark.

The verifier asks the same question in another language: :meth:`Requirement.sql` is an aggregate
over the records of a published class, computed by DuckDB from the written file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.errors import PolicyError
from rothko.privacy.statistics import Statistics


class Rule(NamedTuple):
    """A requirement as the kernels take it."""

    kind: int
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Base of all requirements; a subclass adds its parameters and validates them on construction."""

    name: ClassVar[str]
    """The name in a policy."""
    monotone: ClassVar[bool] = True
    """Whether the union of two classes that satisfy it satisfies it: what greedy cutting and merging rest on."""

    over: tuple[str, ...] | None = None
    """The quasi-identifiers it is about; all of them where it is None."""

    @property
    def column(self) -> str | None:
        """The sensitive column whose histogram it needs, if any."""
        return None

    @property
    def least(self) -> int:
        """The fewest records that a class can have and still satisfy it."""
        return 1

    @property
    def asked(self) -> float:
        """The number that a person asked for."""
        raise NotImplementedError

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """What each class reaches, on the scale of :attr:`asked`."""
        raise NotImplementedError

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """Whether each class satisfies it."""
        return np.asarray(self.scores(stats) >= self.asked)

    def achieved(self, stats: Statistics) -> float:
        """What the weakest class reaches."""
        return float(np.min(self.scores(stats)))

    def rule(self) -> Rule | None:
        """How the kernels check it beyond :attr:`least`; None where the size is all."""
        raise NotImplementedError

    def sql(self, column: str | None) -> str:
        """An SQL aggregate for what a class reaches; ``column`` is an SQL expression, missing values as ''."""
        raise NotImplementedError

    def describe(self) -> str:
        """The requirement in a few words, as a person would write it."""
        raise NotImplementedError


def whole_number(requirement: str, parameter: str, value: object, *, least: int) -> None:
    """Refuse a parameter that is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(f"{requirement}: {parameter} must be a whole number of at least {least}, not {value!r}.")


def column_names(requirement: str, over: object) -> tuple[str, ...] | None:
    """The columns of ``over`` as a tuple; refuses anything but a list of names."""
    if over is None:
        return None
    if isinstance(over, str) or not isinstance(over, (list, tuple)) or not over:
        raise PolicyError(f"{requirement}: over must be a list of quasi-identifiers.")
    return tuple(str(name) for name in over)
