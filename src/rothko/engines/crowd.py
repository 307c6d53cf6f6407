"""People where records do not fit in memory: how many are in a group, whose records are elsewhere.

Frequency groups add up over records, and people do not: one may be on both sides of a cut. But n records are of at
least so many people as the most frequent ones have n of; for nearly all cuts at the top of a tree that is enough to
know that k are on either side. Where it is not, the smaller side has few records, and their owners are collected: in
one more pass for all nodes of a level, and only if such a cut would be chosen. So the cuts are those of the memory
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded
from rothko.privacy.requirement import Requirement

Route = Callable[[Coded], NDArray[np.int32]]
"""The node of each record, -1 for one that is not counted."""
Spans = Sequence[tuple[int, int]]
"""Codes of a line: from the first up to, and without, the second."""
Ask = Callable[[Sequence[Sequence[Spans]]], list[list["Zone"]]]
"""Node by node and line by line, the codes whose people are asked for → who they are."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The people of a table, by how many records they have."""

    column: str
    """Whose a record is."""
    most: NDArray[np.int64]
    """The records of the one with the most, of the two with the most, and so on."""
    k: int
    """How many people a class must have."""

    @classmethod
    def of(cls, column: str, counts: NDArray[np.int64], k: int) -> Crowd:
        """From the records that each person has."""
        return cls(column, np.cumsum(-np.sort(-counts[counts > 0])), k)

    def fewest(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """The fewest people that so many records can be of.

        >>> Crowd.of("patient", np.array([2, 5, 1]), 2).fewest(np.array([0, 1, 5, 6, 8])).tolist()
        [0, 1, 1, 2, 3]
        """
        return np.asarray(np.searchsorted(self.most, records) + (records > 0))

    @property
    def sure(self) -> int:
        """As many records are of k people, whoever they are of."""
        return int(self.most[min(self.k - 1, len(self.most)) - 1]) + 1


@dataclass(frozen=True, slots=True)
class Zone:
    """Who has records with some codes of a line in a node."""

    codes: NDArray[np.int64]
    owners: NDArray[np.int64]
    """Different pairs."""

    def people(self, first: int, after: int) -> int:
        """How many have a code from the first up to, and without, the second."""
        return len(np.unique(self.owners[(self.codes >= first) & (self.codes < after)]))

    def __or__(self, other: Zone) -> Zone:
        return _zone(np.union1d(_pairs(self), _pairs(other)))


def people_asked(requirements: Sequence[Requirement], owner: str) -> int:
    """The most people that any requirement asks of a class."""
    parts = [part for requirement in requirements for part in requirement.parts(owner)]
    return max(part.least for part in parts if part.owner is not None)


class Level:
    """The nodes of a level of a tree, and who is in them where that must be known: found out when it is first asked."""

    def __init__(self, ask: Ask, wanted: Sequence[Sequence[Spans]]) -> None:
        self._ask, self._wanted = ask, wanted
        self._found: list[list[Zone]] | None = None

    def zone(self, node: int, line: int) -> Zone:
        """Who has the codes that were wanted."""
        if self._found is None:
            self._found = self._ask(self._wanted)
        return self._found[node][line]


def collect(batches: Iterable[Coded], route: Route, owner: str, wanted: Sequence[Sequence[Spans]]) -> list[list[Zone]]:
    """Go through records once and note the owners of those that have some codes."""
    found = [[np.empty(0, dtype=np.int64) for _ in lines] for lines in wanted]
    for coded in batches:
        place, owners = route(coded), coded.values[owner].astype(np.int64)
        for i, lines in enumerate(wanted):
            members = np.flatnonzero(place == i)
            for a, spans in enumerate(lines):
                codes = coded.codes[a][members].astype(np.int64)
                inside = np.zeros(len(codes), dtype=np.bool_)
                for first, after in spans:
                    inside |= (codes >= first) & (codes < after)
                pairs = codes[inside] << 32 | owners[members[inside]]
                found[i][a] = np.union1d(found[i][a], pairs)
    return [[_zone(pairs) for pairs in lines] for lines in found]


def _zone(pairs: NDArray[np.int64]) -> Zone:
    return Zone(pairs >> 32, pairs & 0xFFFFFFFF)


def _pairs(zone: Zone) -> NDArray[np.int64]:
    """A code and an owner in one number."""
    return zone.codes << 32 | zone.owners
