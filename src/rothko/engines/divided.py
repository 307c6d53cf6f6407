"""How records are divided into leaves, each of which is finished by itself where its records are brought together.

By the leaves of a tree of cuts, which the driver has grown, or by the segments of a curve
(:mod:`rothko.methods.curve.segments`). Plain data: it is sent to where the records lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.part import Part
from rothko.engines.store import Job
from rothko.engines.tree import Tree
from rothko.methods.classes import Classes, Cuts, Ends
from rothko.methods.curve.curve import Between, Keyed, Mapping, OnLines
from rothko.methods.curve.segments import Segment, as_words, place
from rothko.methods.method import Method
from rothko.methods.ties import ties_of, with_ties
from rothko.privacy.requirement import Requirement
from rothko.secret import Secret

Route = Callable[[Coded], NDArray[np.int32]]
"""Where records go."""


class Divided(Protocol):
    """How records are divided; leaves have numbers."""

    @property
    def top(self) -> Cuts | None:
        """The top of the tree that the classes of each leaf are a branch of; None where there is none.

        Where there is none, equal records may be in different classes, and leaves are finished in an order of their
        records that hangs on nothing but what they hold.
        """
        ...

    def route(self, numbers: dict[int, int]) -> Route:
        """Where records go: the number that their leaf has in ``numbers``, −1 for those that it does not name."""
        ...

    def region(self, leaf: int) -> Ends:
        """The first and the last code of a leaf on every line."""
        ...

    def finish(self, coded: Coded, leaf: int) -> Part:
        """The classes of the records of a leaf."""
        ...


@dataclass(frozen=True, slots=True)
class ByTree:
    """By a tree of cuts."""

    job: Job
    tree: Tree

    @property
    def top(self) -> Cuts | None:
        """The tree."""
        return self.tree.cuts(self.job.outline.lines)

    def route(self, numbers: dict[int, int]) -> Route:
        """Down the tree."""
        return self.tree.route(numbers)

    def region(self, leaf: int) -> Ends:
        """That of the node."""
        return self.tree.low[leaf], self.tree.high[leaf]

    def finish(self, coded: Coded, leaf: int) -> Part:
        """Cut to the end."""
        return self.job.finish(coded, self.tree, leaf)


@dataclass(frozen=True, slots=True)
class BySegment:
    """By the segments of a curve, the records of each of which are grouped by a local method."""

    outline: Outline
    method: Method
    requirements: tuple[Requirement, ...]
    mapping: Mapping
    bits: int
    """Of a key."""
    segments: tuple[Segment, ...]
    secret: Secret
    """What decides which of several equal records goes where."""
    seed: int = 0
    threads: int = 1
    weighed: tuple[Line, ...] | None = None
    """The lines as the method weighs them for a workload; as they are where it is None."""
    room: int | None = None
    """How many bytes the method may keep while it makes classes of some records; see :meth:`Method.partition`."""

    @property
    def top(self) -> Cuts | None:
        """There is none."""
        return None

    def route(self, numbers: dict[int, int]) -> Along:
        """Along the curve."""
        firsts = [one.first for one in self.segments]
        return Along(self.outline.lines, self.mapping, firsts, self.bits, numbers, self.threads)

    def between(self, first: int, last: int) -> Between:
        """The keys that the records of some segments lie between."""
        behind = self.segments[last + 1].first if last + 1 < len(self.segments) else 1 << self.bits
        return self.segments[first].first, behind - 1

    def region(self, leaf: int) -> Ends:
        """All codes: records of a segment may lie anywhere."""
        sizes = np.array([line.size for line in self.outline.lines], dtype=np.int32)
        return np.zeros_like(sizes), sizes - 1

    def finish(self, coded: Coded, leaf: int) -> Part:
        """Group the records of a segment; which of equal ones goes where, a secret of the segment decides."""
        own = Secret(self.secret.words(f"segment {leaf}", 4).tobytes())
        return self.finish_some(coded, ties_of(own, coded.rows), slice(leaf, leaf + 1))

    def finish_some(self, coded: Coded, ties: NDArray[np.uint64], leaves: slice) -> Part:
        """Group the records of some segments that follow each other, given what decides between equal ones."""
        encoded = self.outline.encoded(coded)
        mapping = OnLines.of(self.mapping, encoded.lines, self.between(leaves.start, leaves.stop - 1))

        def group(records: Encoded) -> Classes:
            if self.weighed is not None:
                records = replace(records, lines=self.weighed)
            return self.method.within(
                records, mapping, self.requirements, segments=self.segments[leaves], seed=self.seed,
                threads=self.threads, room=self.room,
            )  # fmt: skip

        return Part(encoded, with_ties(encoded, ties, group, threads=self.threads), coded.kept, leaves.start)


class Along:
    """Sends records to segments by their keys: of some first keys the last that is not larger, by its number."""

    def __init__(
        self,
        lines: Sequence[Line],
        mapping: Mapping,
        firsts: Sequence[int],
        bits: int,
        numbers: dict[int, int],
        threads: int = 1,
    ) -> None:
        self._threads = threads
        self._keyed: Keyed | None = None
        self._lines, self._mapping = tuple(lines), mapping
        words = mapping.keys(Encoded(self._lines, np.empty((len(self._lines), 0), dtype=np.int32), {}), threads=1).words
        self._firsts = np.stack([as_words(first, bits, len(words)) for first in firsts], axis=1)
        # The last one is for keys before all.
        self._numbers = np.full(len(firsts) + 1, -1, dtype=np.int32)
        for i, number in numbers.items():
            self._numbers[i] = number

    def words(self, coded: Coded, between: Between | None = None) -> NDArray[np.uint64]:
        """The keys of some records."""
        if self._keyed is None:  # where it is used: a mapping is small, what it looks up is not
            self._keyed = self._mapping.on(self._lines)
        return self._keyed(Encoded(self._lines, coded.codes, {}), self._threads, between).words

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_keyed": None}

    def __call__(self, coded: Coded, between: Between | None = None) -> NDArray[np.int32]:
        """The number of each record."""
        return self.of(self.words(coded, between))

    def of(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The number of each key."""
        return np.asarray(self._numbers[place(words, self._firsts)])
