"""Which counts of predicates may be told beside a release: those that nobody can subtract down to a few records.

A reader knows how many records each class has, and what it shows. With the number of records that satisfy a predicate
he also knows how many do not, and, taking away the classes that lie in it for certain, how many do in those that it
cuts; with two numbers, what lies between; and so on. Let *cells* be the parts into which the told predicates divide the
table, and take together the classes that they divide into the same cells. Then whatever set of records has a size that
is a sum of known numbers is, in each such group, a union of its cells: the sums are linear, and within a group they can
take two values only. So it is enough that

1. in every group of classes that is divided at all, each cell has at least as many records as the smallest class, and
2. no cell is empty but those that are by definition (:mod:`rothko.workload.relations`): that nobody is 41 is told by
   two equal numbers as well; and
3. of the classes that a predicate may cut by what they show, neither none nor all records satisfy it.

Predicates are taken in the order of the policy, each if the rules hold with those before it. One that every class
shows to lie inside or outside is always told: it says nothing that the release does not.

The rule is sufficient, not necessary: the cell of two overlapping predicates must be large even where it could not be
computed. Counts add up over parts of a table, as a class lies in one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

MOST = 6
"""Predicates whose cells are looked at: the cells of a class are the bits of one number."""


@dataclass(frozen=True, slots=True, eq=False)
class Venn:
    """How many records satisfy which of some predicates, by classes that are divided alike.

    A cell is a bit for each predicate, set where its records satisfy it.
    """

    implied: frozenset[tuple[int, int]]
    """Pairs of predicates: who satisfies the first satisfies the second, by definition."""
    apart: frozenset[tuple[int, int]]
    """Pairs that nobody satisfies both of, by definition."""
    groups: NDArray[np.int64]
    """(groups of classes, cells): how many records the classes have that are divided into these cells."""
    open: NDArray[np.int64]
    """(predicates, 2): records of the classes that a predicate may cut, by what they show, which satisfy it and which
    do not."""

    @classmethod
    def of(
        cls,
        records: Sequence[NDArray[np.bool_]],
        classes: NDArray[np.integer],
        may_cut: Sequence[NDArray[np.bool_]],
        implied: frozenset[tuple[int, int]] = frozenset(),
        apart: frozenset[tuple[int, int]] = frozenset(),
    ) -> Venn:
        """Count some records.

        Parameters
        ----------
        records
            For each predicate, which records satisfy it.
        classes
            The class of each record.
        may_cut
            For each predicate, the classes that it may cut by what they show.
        """
        cell = np.zeros(len(classes), dtype=np.int64)
        sides = np.zeros((len(records), 2), dtype=np.int64)
        for i, (satisfied, cut) in enumerate(zip(records, may_cut, strict=True)):
            there = cut[classes]
            sides[i] = np.count_nonzero(satisfied & there), np.count_nonzero(~satisfied & there)
            if i < MOST:
                cell |= satisfied.astype(np.int64) << i
        cells = 1 << min(len(records), MOST)
        size = int(classes.max(initial=0)) + 1
        counts = np.bincount(classes.astype(np.int64) * cells + cell, minlength=size * cells).reshape(-1, cells)
        return cls(implied, apart, _alike(counts), sides)

    def __add__(self, other: Venn) -> Venn:
        """Of two parts of a table, which have no class in common."""
        groups = _alike(np.concatenate([self.groups, other.groups]))
        return Venn(self.implied, self.apart, groups, self.open + other.open)

    def as_one_class(self) -> Venn:
        """The same records, all of one class."""
        return Venn(self.implied, self.apart, self.groups.sum(axis=0, keepdims=True), self.open)

    def tellable(self, least: int) -> list[bool]:
        """Whether the count of each predicate may be told where the smallest class has so many records."""
        told: list[int] = []
        answers = []
        for i, sides in enumerate(self.open):
            known = not sides.any()
            good = known or (i < MOST and bool(sides.min() >= 1) and self._holds([*told, i], least))
            if good and not known:
                told.append(i)
            answers.append(good)
        return answers

    def _holds(self, told: Sequence[int], least: int) -> bool:
        """Whether cells of predicates are large in every group that these divide, and empty only by definition."""
        cells = np.arange(self.groups.shape[1])
        coarse = sum((cells >> i & 1) << place for place, i in enumerate(told))
        counts = np.zeros((len(self.groups), 1 << len(told)), dtype=np.int64)
        np.add.at(counts.T, coarse, self.groups.T)
        groups = _alike(counts)
        there = groups > 0
        divided = there.sum(axis=1, keepdims=True) > 1
        if bool((there & divided & (groups < least)).any()):
            return False
        empty = np.flatnonzero(~there.any(axis=0)).tolist()
        return all(self._impossible(cell, told) for cell in empty)

    def _impossible(self, cell: int, told: Sequence[int]) -> bool:
        """Whether no record can lie in a cell, by definition."""
        inside = [i for place, i in enumerate(told) if cell >> place & 1]
        outside = [i for i in told if i not in inside]
        return any((i, j) in self.implied for i in inside for j in outside) or any(
            (i, j) in self.apart for i in inside for j in inside
        )


def _alike(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that are above zero in the same places, added up."""
    bits = np.uint64(1) << np.arange(counts.shape[1], dtype=np.uint64)
    places = np.where(counts > 0, bits, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    found, group = np.unique(places, return_inverse=True)
    added = np.zeros((len(found), counts.shape[1]), dtype=np.int64)
    np.add.at(added, group, counts)
    return added


def total(parts: Iterable[Venn | None]) -> Venn | None:
    """What parts of a table have together; None where there are no predicates."""
    found = [part for part in parts if part is not None]
    return reduce(add, found) if found else None
