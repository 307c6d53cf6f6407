"""Additive statistics: everything that decides on a class adds up over its records.

The vector of a group of records holds its size and, for each sensitive column that a requirement
is about, the histogram of its values or its moments. Vectors of disjoint groups add up to the vector
of their union, so it does not matter where and in how many pieces the records are counted.

Moments are (n, Σx, Σx²) of the numbers that are there, with x shifted by the mean of the whole table:
salaries around a thousand million that differ by one keep their variance. Whole numbers are shifted by
a whole number, so that their sums are exact while they stay below 2^53.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import as_text
from rothko.errors import PolicyError

if TYPE_CHECKING:
    from rothko.privacy.requirement import Requirement

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of a sensitive column. A code is the place of a value here; missing comes after all of them."""

    column: str
    values: pa.Array
    """The distinct values that occur, without the missing one."""
    counts: NDArray[np.int64]
    """How many records of the whole table have each code; missing last."""

    @property
    def size(self) -> int:
        """How many codes there are, with that of missing."""
        return len(self.values) + 1

    @cached_property
    def texts(self) -> pa.Array:
        """The values as text."""
        return as_text(self.values)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number of each code, NaN for missing; text counts as a number where all of it is."""
        kind = self.values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            numbers = self.values.cast(pa.float64(), safe=False)
        elif pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            raise self._not_numeric(f"it holds {kind}")
        else:
            words = pc.utf8_trim_whitespace(self.texts)
            good = pc.match_substring_regex(words, NUMBER)
            if not pc.all(good, min_count=0).as_py():
                bad = len(words) - good.true_count
                raise self._not_numeric(f"{bad} of its {len(words)} distinct values are no numbers", words, good)
            numbers = pc.utf8_ltrim(words, "+").cast(pa.float64())
        found = np.append(numbers.to_numpy(zero_copy_only=False), np.nan)
        if np.isinf(found).any():
            raise PolicyError(
                f"Column {self.column!r} has infinite numbers, which have no variance; list them under 'missing'."
            )
        return found

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The number of each code minus the mean of the table (rounded where all are whole); NaN for missing."""
        numbers, counts = self.numbers[:-1], self.counts[:-1]
        if len(numbers) == 0:
            return self.numbers
        first = numbers[0]
        with np.errstate(over="ignore", invalid="ignore"):
            # From the first value on, so that the mean of equal values is that very value.
            centre = first + float(np.dot(numbers - first, counts)) / max(int(counts.sum()), 1)
        if not np.isfinite(centre):
            centre = 0.0
        if np.all(numbers == np.rint(numbers)):
            centre = np.rint(centre)
        return np.asarray(self.numbers - centre)

    @cached_property
    def whole(self) -> bool:
        """Whether all deviations are whole numbers."""
        present = self.deviations[:-1]
        return bool(np.all(present == np.rint(present)))

    def _not_numeric(self, why: str, words: pa.Array | None = None, good: pa.Array | None = None) -> PolicyError:
        shown = words.filter(pc.invert(good)).to_pylist() if words is not None else ()
        return PolicyError(
            f"Column {self.column!r} must hold numbers for what is asked of it, and {why}; ask for something "
            f"else of it, or list what stands for no number under 'missing'.",
            values=shown,
        )


class Sensitive(NamedTuple):
    """A sensitive column as codes."""

    codes: NDArray[np.int32]
    """The code of each record."""
    domain: Domain


@dataclass(frozen=True, slots=True)
class Statistics:
    """The sums of m groups of records, one row each."""

    size: NDArray[np.int64]
    """Number of records."""
    domains: Mapping[str, Domain]
    """The sensitive columns."""
    histograms: Mapping[str, NDArray[np.int64]]
    """Sensitive column → (m, values): how often each value occurs. Missing is a value of its own."""
    moments: Mapping[str, NDArray[np.float64]]
    """Sensitive column → (m, 3): n, Σx and Σx² of the deviations that are not missing."""

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.size + other.size,
            self.domains,
            {name: h + other.histograms[name] for name, h in self.histograms.items()},
            {name: m + other.moments[name] for name, m in self.moments.items()},
        )

    @classmethod
    def count(
        cls,
        group: NDArray[np.integer],
        groups: int,
        columns: Mapping[str, Sensitive],
        requirements: Iterable[Requirement],
    ) -> Statistics:
        """Count records into their groups.

        Parameters
        ----------
        group
            The group of each record.
        groups
            How many groups there are.
        columns
            The sensitive columns.
        requirements
            What the sums are for: only what these need is counted.
        """
        histograms: dict[str, NDArray[np.int64]] = {}
        moments: dict[str, NDArray[np.float64]] = {}
        for name in _wanted(requirements, "histogram"):
            codes, domain = columns[name]
            flat = np.bincount(group.astype(np.int64) * domain.size + codes, minlength=groups * domain.size)
            histograms[name] = flat.reshape(groups, domain.size)
        for name in _wanted(requirements, "moments"):
            codes, domain = columns[name]
            x = domain.deviations[codes]
            there = ~np.isnan(x)
            where, x = group[there], x[there]
            sums = [np.bincount(where, weights=w, minlength=groups) for w in (np.ones_like(x), x, x * x)]
            moments[name] = np.column_stack(sums)
        domains = {name: column.domain for name, column in columns.items()}
        return cls(np.bincount(group, minlength=groups), domains, histograms, moments)

    @classmethod
    def whole(cls, rows: int, columns: Mapping[str, Sensitive], requirements: Iterable[Requirement]) -> Statistics:
        """The sums of the whole table as one group."""
        requirements = tuple(requirements)
        moments = {}
        for name in _wanted(requirements, "moments"):
            domain = columns[name].domain
            x, n = domain.deviations[:-1], domain.counts[:-1]
            with np.errstate(over="ignore"):
                moments[name] = np.array([[n.sum(), np.dot(n, x), np.dot(n, x * x)]], dtype=np.float64)
        return cls(
            np.array([rows]),
            {name: column.domain for name, column in columns.items()},
            {name: columns[name].domain.counts[None, :] for name in _wanted(requirements, "histogram")},
            moments,
        )


def _wanted(requirements: Iterable[Requirement], what: str) -> set[str]:
    return {r.column for r in requirements if r.column is not None and r.needs == what}
