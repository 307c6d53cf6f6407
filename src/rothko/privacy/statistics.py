"""Additive statistics: everything that decides on a class adds up over its records.

The vector of a group of records holds its size and, for each sensitive column that a requirement
is about, the histogram of its values or its moments. Vectors of disjoint groups add up to the vector
of their union, so it does not matter where and in how many pieces the records are counted.

Moments are (n, Σx, Σx²) of the numbers that are there, with x shifted by the mean of the whole table:
salaries around a thousand million that differ by one keep their variance. Whole numbers are shifted by
a whole number, so that their sums are exact while they stay below 2^53.

Where records have an owner, people are counted: a histogram says how many different people have each value, and
moments add up each number once for each person that has it. Those do not add up over groups that share people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain, Sensitive


class Counted(Protocol):
    """What a requirement must say for its sums to be counted."""

    @property
    def column(self) -> str | None:
        """The sensitive column that it is about."""
        ...

    @property
    def needs(self) -> str:
        """What of it is counted: ``histogram``, ``moments``, or neither."""
        ...


@dataclass(frozen=True, slots=True)
class Owners:
    """The people of m groups by their codes: all of them, or so many that there are enough."""

    lists: tuple[NDArray[np.int32], ...]
    enough: int

    def __add__(self, other: Owners) -> Owners:
        both = zip(self.lists, other.lists, strict=True)
        return Owners(tuple(np.union1d(one, two)[: self.enough] for one, two in both), self.enough)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many each group has, or enough."""
        return np.array([len(one) for one in self.lists], dtype=np.int64)

    @classmethod
    def of(cls, group: NDArray[np.integer], groups: int, codes: NDArray[np.int32], enough: int) -> Owners:
        """From the group and the owner of each record."""
        pairs = np.unique(group.astype(np.int64) << 32 | codes)
        ends = np.searchsorted(pairs, np.arange(groups + 1) << 32)
        held = (pairs & 0xFFFFFFFF).astype(np.int32)
        return cls(tuple(held[a : min(b, a + enough)] for a, b in pairwise(ends.tolist())), enough)


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
    people: NDArray[np.int64] | None = None
    """Number of different people, or fewer for certain; None where records have no owner."""
    owners: Owners | None = None
    """Who they are, where groups are to be joined."""

    @property
    def heads(self) -> NDArray[np.int64]:
        """How many a share is of: people, or records where these have no owner."""
        return self.size if self.people is None else self.people

    def counted(self, name: str) -> NDArray[np.int64]:
        """What the histogram of a column adds up to: records, or how many values people have together."""
        return self.size if self.people is None else np.asarray(self.histograms[name].sum(axis=1))

    def __add__(self, other: Statistics) -> Statistics:
        owners = None
        if self.people is not None:
            assert self.owners is not None, "people of two groups may be the same"
            assert other.owners is not None
            owners = self.owners + other.owners
        return Statistics(
            self.size + other.size,
            self.domains,
            {name: h + other.histograms[name] for name, h in self.histograms.items()},
            {name: m + other.moments[name] for name, m in self.moments.items()},
            None if owners is None else owners.counts,
            owners,
        )

    def row(self, i: int) -> Statistics:
        """The sums of one group."""
        one = slice(i, i + 1)
        return Statistics(
            self.size[one],
            self.domains,
            {name: h[one] for name, h in self.histograms.items()},
            {name: m[one] for name, m in self.moments.items()},
            None if self.people is None else self.people[one],
            None if self.owners is None else Owners(self.owners.lists[one], self.owners.enough),
        )

    @classmethod
    def count(
        cls,
        group: NDArray[np.integer],
        groups: int,
        columns: Mapping[str, Sensitive],
        requirements: Iterable[Counted],
        owner: Sensitive | None = None,
    ) -> Statistics:
        """Count records into their groups, or people where records have an owner.

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
        owner
            Whose each record is.
        """
        requirements = tuple(requirements)
        histograms: dict[str, NDArray[np.int64]] = {}
        moments: dict[str, NDArray[np.float64]] = {}
        for name in _wanted(requirements, "histogram"):
            codes, domain = columns[name]
            of, codes = (group, codes) if owner is None else once(group, owner, codes)
            flat = np.bincount(of.astype(np.int64) * domain.size + codes, minlength=groups * domain.size)
            histograms[name] = flat.reshape(groups, domain.size)
        for name in _wanted(requirements, "moments"):
            codes, domain = columns[name]
            of, codes = (group, codes) if owner is None else once(group, owner, codes)
            x = domain.deviations[codes]
            there = ~np.isnan(x)
            where, x = of[there], x[there]
            sums = [np.bincount(where, weights=w, minlength=groups) for w in (np.ones_like(x), x, x * x)]
            moments[name] = np.column_stack(sums)
        domains = {name: column.domain for name, column in columns.items()}
        people = None
        if owner is not None:
            people = np.bincount(once(group, owner, np.zeros_like(owner.codes))[0], minlength=groups)
        return cls(np.bincount(group, minlength=groups), domains, histograms, moments, people)

    @classmethod
    def whole(
        cls,
        rows: int,
        columns: Mapping[str, Sensitive],
        requirements: Iterable[Counted],
        owner: Sensitive | None = None,
    ) -> Statistics:
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
            None if owner is None else np.array([len(owner.domain.values)]),
        )


def once(
    group: NDArray[np.integer], owner: Sensitive, codes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Group and code of what people have in their groups: as often as anybody has it, each once."""
    order = np.lexsort((codes, owner.codes, group))
    held = np.stack([group[order], owner.codes[order], codes[order]])
    new = np.append(True, (held[:, 1:] != held[:, :-1]).any(axis=0))[: len(order)]
    return held[0, new].astype(np.int64), held[2, new].astype(np.int32)


def _wanted(requirements: Iterable[Counted], what: str) -> set[str]:
    return {r.column for r in requirements if r.column is not None and r.needs == what}
