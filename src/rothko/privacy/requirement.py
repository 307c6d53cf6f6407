"""What a requirement is: a predicate over additive statistics.

A requirement says which statistics of a class it needs (:attr:`Requirement.needs` of
:attr:`Requirement.column`; the number of records is always there) and decides on many classes at once.
It does not know where they were counted: in memory, from disk, by SQL or by Spark.

It is told in three languages that must agree: NumPy (:meth:`~Requirement.satisfied`), the kernels
(:meth:`~Requirement.rule`) and SQL (:meth:`~Requirement.sql`), in which the verifier asks it of the
written file. NumPy and the kernels decide alike. Where rounding is in play, SQL accepts whatever they
accept; what they refuse within a margin of 1e-9 it may accept, but never a class that violates.

Shares and factors are fractions as they are written: alpha: 0.3 is 3/10, so 3 of 10 records pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.errors import PolicyError
from rothko.privacy.confidence import Sampling, Test
from rothko.privacy.statistics import Statistics

MOST = 10**9
"""Numerators and denominators in the kernels: times a number of records they fit in 64 bits."""


class Rule(NamedTuple):
    """A requirement as the kernels take it; see :mod:`rothko.kernels.rules`."""

    kind: int
    size: int
    """How many bins the histogram has."""
    bins: NDArray[np.int32] | None = None
    """The bin of each code; None where they are the same."""
    ratio: tuple[int, int] = (0, 1)
    """Numerator and denominator of what is asked for."""
    depth: int = 0
    """The l of recursive (c, l)-diversity, the height of a hierarchy, or 1 for sums that are exact."""
    total: int = 0
    """How many records the table has."""
    facts: NDArray[np.float64] = np.empty(0)
    """Numbers that the kind needs: a bound, deviations, the histogram of the table, a tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Base of all requirements; a subclass adds its parameters and validates them on construction."""

    name: ClassVar[str]
    """The name in a policy."""
    needs: ClassVar[Literal["size", "histogram", "moments"]] = "histogram"
    """What it needs of the sensitive column."""
    monotone: ClassVar[bool] = True
    """Whether the union of two classes that satisfy it satisfies it: what greedy cutting and merging rest on."""
    falling: ClassVar[bool] = False
    """Whether a smaller score is the better one, as with a distance."""
    by_presence: ClassVar[bool] = False
    """Whether it asks which values occur, not how often: then it does not matter whether records or people count."""

    over: tuple[str, ...] | None = None
    """The quasi-identifiers it is about; all of them where it is None."""

    def __post_init__(self) -> None:
        if self.over is not None:
            if isinstance(self.over, str) or not isinstance(self.over, (list, tuple)) or not self.over:
                raise PolicyError(f"{self.name}: over must be a list of quasi-identifiers.")
            object.__setattr__(self, "over", tuple(str(name) for name in self.over))
        self._validate()

    def _validate(self) -> None:
        """Refuse parameters out of range."""

    @property
    def column(self) -> str | None:
        """The sensitive column that it is about, if any."""
        return getattr(self, "of", None)

    @property
    def counts_alike(self) -> bool:
        """Whether it asks nothing about shares or sums, so that whoever counts people need count no value of theirs."""
        return self.by_presence or self.needs == "size"

    @property
    def owner(self) -> str | None:
        """The column that says whose a record is, where it counts people and not records."""
        return None

    def parts(self, owner: str | None = None) -> tuple[Requirement, ...]:
        """What is verified and reported by itself, where records have an owner of people: itself first."""
        return (self,)

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

    def confident(
        self, stats: Statistics, *, sample: int, population: int, parts: int, alpha: float, test: Test = "exact"
    ) -> NDArray[np.bool_]:
        """Whether each group can be taken to satisfy it in the population that a simple random sample came from.

        Parameters
        ----------
        stats
            Sums over the records of the sample, a row for each group.
        sample, population
            How many records these have; where they are as many, this is :meth:`satisfied`.
        parts
            Into how many groups one cut divides the population: all of them must hold.
        alpha
            How often a cut may be accepted that is not allowed.
        test
            See :mod:`rothko.privacy.confidence`.
        """
        sampling = Sampling(sample, population, parts, alpha, test)
        if sampling.complete:
            return self.satisfied(stats)
        return self._naive(stats, sampling) if test == "naive" else self._confident(stats, sampling)

    def _naive(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The requirement asked of the sample; one that is about sizes scales them."""
        return self.satisfied(stats)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The hypothesis test of a sample that is not the population."""
        raise NotImplementedError

    def achieved(self, stats: Statistics) -> float:
        """What the weakest class reaches."""
        return float(np.max(self.scores(stats)) if self.falling else np.min(self.scores(stats)))

    def infeasible(self, whole: Statistics) -> str:
        """Why the whole table, as one class, does not satisfy it, and the best that can be asked of it."""
        best = self.achieved(whole)
        if self.falling:
            return (
                f"all its {whole.size[0]} records together reach {rounded(best, up=True)}; "
                "ask for no less than that, or for more data"
            )
        return (
            f"all its {whole.size[0]} records together reach {rounded(best)}{self._few(whole)}; "
            "ask for no more than that, or for more data"
        )

    def _few(self, whole: Statistics) -> str:
        """A remark on a column that has fewer values than are asked for."""
        if self.needs != "histogram" or self.column is None:
            return ""
        values = int(np.count_nonzero(whole.histograms[self.column]))
        return (
            f", and {self.column} has {values} distinct values" if self.asked > values != self.achieved(whole) else ""
        )

    def rule(self, domain: Domain) -> Rule | None:
        """How the kernels check it beyond :attr:`least`; None where the size is all."""
        return None

    def lookup(self, domain: Domain) -> dict[str, pa.Table]:
        """Tables for :meth:`sql` about the values of the column, by name; ``value`` is the value as text."""
        return {}

    def sql(self) -> str:
        """A query for ``size``, ``score`` and ``holds`` of every class.

        There is ``class(class, size, heads)``: records, and people where these have an owner. For the histogram of a
        column there is ``counted(class, value, c, size, heads)``: how many records or people of a class have a value,
        as text; missing is the empty text; and ``everyone(value, c)`` for the whole table. For moments ``class`` also
        has ``present`` and ``squares``: how many numbers there are, and the sum of their squares around their mean.
        """
        raise NotImplementedError

    def describe(self) -> str:
        """The requirement in a few words, as a person would write it."""
        raise NotImplementedError


def whole_number(requirement: str, parameter: str, value: object, *, least: int) -> None:
    """Refuse a parameter that is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(f"{requirement}: {parameter} must be a whole number of at least {least}, not {value!r}.")


def number(
    requirement: str,
    parameter: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> None:
    """Refuse a parameter that is not a number of the given range."""
    low = f" above {above:g}" if above is not None else f" of at least {least:g}" if least is not None else ""
    high = f" and at most {most:g}" if most is not None else ""
    good = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    if (
        not good
        or (above is not None and value <= above)
        or (least is not None and value < least)
        or (most is not None and value > most)
    ):
        raise PolicyError(f"{requirement}: {parameter} must be a number{low}{high}, not {value!r}.")


def as_written(value: float) -> Fraction:
    """A number as the fraction that its digits say: 0.3 is 3/10.

    >>> as_written(0.3)
    Fraction(3, 10)
    """
    return Fraction(repr(value))


def kernel_ratio(value: Fraction, *, up: bool = False) -> tuple[int, int]:
    """Numerator and denominator for the kernels: exact where both are small, else rounded to the given side.

    >>> kernel_ratio(Fraction(3, 10)), kernel_ratio(Fraction(1, 10**18), up=True)
    ((3, 10), (1, 1000000000))
    """
    if value.numerator <= MOST and value.denominator <= MOST:
        return value.numerator, value.denominator
    below = max(1, MOST if value <= 1 else int(MOST / value))
    scaled = math.ceil(value * below) if up else math.floor(value * below)
    return min(scaled, MOST), below


def rounded(value: float, *, up: bool = False) -> str:
    """Four digits of a number, rounded so that what is told can be asked for.

    >>> rounded(3.27499), rounded(0.123456, up=True), rounded(12345.0)
    ('3.274', '0.1235', '12345')
    """
    if not math.isfinite(value) or value == round(value):
        return f"{value:.17g}"
    digits = 10.0 ** (3 - math.floor(math.log10(abs(value))))
    return f"{(math.ceil if up else math.floor)(value * digits * (1 - 1e-12 if up else 1 + 1e-12)) / digits:.15g}"
