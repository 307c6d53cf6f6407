"""Records on a cluster, divided by the segments of a curve: jobs count keys until every segment is small enough.

What the segments are follows from keys and counts (:mod:`rothko.methods.curve.segments`), so they are those of the
memory engine. The records stay where they lie until all segments are finished at once, after one shuffle
(:mod:`rothko.release.spark`). What comes to the driver is how many records lie in parts of the curve, what each segment
holds of sensitive values, and, for a method that asks for one, a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.along import Bins, check_room, check_sample, check_sizes, longest, room_for, sums_of, told
from rothko.engines.divided import Along, BySegment
from rothko.engines.engine import Io, Request
from rothko.engines.spark.records import Records
from rothko.engines.spark.run import Grown, Table
from rothko.engines.spark.store import Leaf
from rothko.methods.curve.curve import Mapping
from rothko.methods.curve.sample import Different, Words, bar_for, chances_of, code_words, drawn, in_codes, summed
from rothko.methods.curve.segments import Cell, Segment, cut, held
from rothko.methods.method import Method
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent
from rothko.secret import Secret

CHUNK = 1 << 16
"""Parts that are added up together; others are, elsewhere, at the same time."""
TOGETHER = 1 << 18
"""About how many records draw in one place."""


def divide(table: Table, policy: Request, *, secret: Secret, seed: int = 0, progress: Progress = silent) -> Grown:
    """Divide a table by the segments of the curve of its method."""
    method, requirements, tuples = policy.method, tuple(policy.privacy), table.shares.tuples
    row = Row.of(table, method, seed=seed)
    segments = row.segments(longest(method, row.nobody, requirements, tuples), requirements, progress)
    check_sizes(method, segments, tuples, "a task holds")
    divided = BySegment(
        table.outline, method, requirements, row.mapping, row.bits, tuple(segments), secret, seed,
        room=room_for(method, table.outline, table.shares),
    )  # fmt: skip
    leaves = tuple(Leaf(i, one.rows, one.alike and one.rows > tuples) for i, one in enumerate(segments))
    notes = told(method, segments, "a task holds")

    def io() -> Io:
        return Io(passes=table.records.cluster.collected.jobs, repartitions=1, reads=None, writes=None)

    return table.divided(divided, leaves, io, notes, seed)


@dataclass(frozen=True, slots=True)
class Row:
    """The records of a table on a cluster, as they lie along a curve."""

    records: Records
    outline: Outline
    nobody: Encoded
    mapping: Mapping
    bits: int
    """Of a key."""
    room: int
    """Bytes for what is counted of each segment."""

    @classmethod
    def of(cls, table: Table, method: Method, *, seed: int) -> Row:
        """Along the curve of a method."""
        outline = table.outline
        nobody = outline.encoded(outline.nobody())
        size = method.sampled(outline.rows)
        check_sample(method, size, table.shares.tuples, "a task holds")
        sample = sampled(table.records, outline, size, seed) if size else nobody
        mapping = method.mapping(sample, seed=seed, threads=1)
        bits = mapping.keys(nobody, threads=1).bits
        return cls(table.records, outline, nobody, mapping, bits, table.shares.frequency)

    def segments(
        self, most: int | None, requirements: Sequence[Requirement], progress: Progress = silent
    ) -> list[Segment]:
        """The segments, none larger than asked unless its records are alike, or it would not hold."""
        rows = self.outline.rows
        if most is None or rows <= most:
            return [Segment(0, rows)]
        progress("count", 0, 1)
        segments = cut(rows, most, self.bits, self._counts)
        if any(requirement.column is not None for requirement in requirements):
            stats = self._statistics(segments, requirements)
        else:
            stats = Statistics(np.array([segment.rows for segment in segments]), {}, {}, {})
        progress("count", 1, 1)
        return held(segments, stats, requirements)

    def _counts(self, cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        """How many records lie in the parts of each of some cells, in one job."""
        bins = Bins.of(cells, self.bits, self.nobody.lines, self.mapping)
        sums = self.records.gather(partial(_counted, bins), _added)
        found = np.zeros(int(bins.starts[-1]), dtype=np.int64)
        for slot, (places, counts) in sums.items():
            found[slot * CHUNK + places] = counts
        return np.split(found, bins.starts[1:-1])

    def _statistics(self, segments: Sequence[Segment], requirements: Sequence[Requirement]) -> Statistics:
        """What each of some segments holds, in one job."""
        check_room(self.outline, len(segments), requirements, self.room)
        firsts = [one.first for one in segments]
        route = Along(self.outline.lines, self.mapping, firsts, self.bits, {i: i for i in range(len(firsts))})
        found = self.records.gather(
            partial(_held_by, self.outline, route, len(segments), tuple(requirements)),
            lambda _, some: reduce(lambda a, b: a + b, some),
        )
        stats: Statistics = found[0]
        return replace(stats, domains=self.outline.domains)


Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Parts that have records, and how many these are."""


def _counted(bins: Bins, records: Iterator[Coded]) -> Iterator[tuple[int, Counted]]:
    total = np.zeros(int(bins.starts[-1]), dtype=np.int64)
    for coded in records:
        total += np.bincount(bins.places(bins.route.words(coded)), minlength=len(total))
    for slot, begin in enumerate(range(0, len(total), CHUNK)):
        some = total[begin : begin + CHUNK]
        places = np.flatnonzero(some)
        if len(places):
            yield slot, (places, some[places])


def _added(_: int, found: list[Counted]) -> Counted:
    total = np.zeros(CHUNK, dtype=np.int64)
    for places, counts in found:
        total[places] += counts
    places = np.flatnonzero(total)
    return places, total[places]


def _held_by(
    outline: Outline, route: Along, segments: int, requirements: Sequence[Requirement], records: Iterator[Coded]
) -> Iterator[tuple[int, Statistics]]:
    total = sums_of(records, outline, route, segments, requirements)
    if total is not None:
        yield 0, total


# ── a sample


def sampled(records: Records, outline: Outline, size: int, seed: int) -> Encoded:
    """The sample that the memory engine draws (:mod:`rothko.methods.curve.sample`), in one job."""
    slots, more = 1 + outline.rows // TOGETHER, 1
    nobody = outline.encoded(outline.nobody())
    while True:
        bar = bar_for(size, outline.rows, more)
        found = records.gather(partial(_different, nobody.lines, slots), partial(_drawn, bar, seed))
        words = np.concatenate([some for some, _ in found.values()], axis=1)
        chances = np.concatenate([some for _, some in found.values()])
        if len(chances) >= size or more >= outline.rows:
            break
        more *= 2
    return in_codes(words, chances, size, nobody)


def _different(lines: tuple[Line, ...], slots: int, records: Iterator[Coded]) -> Iterator[tuple[int, Different]]:
    """The different records of a partition, some at a time, each in a slot that hangs on its codes."""
    for coded in records:
        words = code_words(Encoded(lines, coded.codes, {}))
        words, times = summed(words)
        slot = chances_of(words, np.zeros(len(times), dtype=np.int64), 0) % np.uint64(slots)
        for one in np.unique(slot).tolist():
            some = np.flatnonzero(slot == one)
            yield one, (words[:, some], times[some])


def _drawn(bar: np.uint64, seed: int, _: int, found: list[Different]) -> tuple[Words, Words]:
    together = summed(np.concatenate([one for one, _ in found], axis=1), np.concatenate([one for _, one in found]))
    return drawn(*together, bar, seed)
