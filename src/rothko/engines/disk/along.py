"""Records on disk, divided by the segments of a curve: passes over the source count keys until every segment is small
enough, one more writes each to a file of its own, and one after the other is loaded and grouped.

The segments are those of a cluster that holds as many records at once (:mod:`rothko.engines.along`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Outline, Records
from rothko.engines.along import Bins, check_room, check_sizes, longest, sums_of, told
from rothko.engines.disk.spill import Spill
from rothko.engines.disk.store import passing
from rothko.engines.disk.trim import give_back
from rothko.engines.divided import BySegment
from rothko.engines.engine import Request
from rothko.engines.part import LargeClass, Part
from rothko.engines.plan import Budget
from rothko.methods.curve.segments import Cell, Segment, cut, held
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent
from rothko.secret import Secret


@dataclass(frozen=True, slots=True)
class Ranges:
    """A table that is divided by the segments of the curve of its method."""

    records: Records
    divided: BySegment
    shares: Budget
    spill: Spill
    notes: list[str]
    """What a person should know; more is added as segments are finished."""
    progress: Progress = silent

    @classmethod
    def of(
        cls, records: Records, outline: Outline, policy: Request, shares: Budget, spill: Spill, *, secret: Secret,
        seed: int, threads: int, progress: Progress = silent,
    ) -> Ranges:  # fmt: skip
        """Count keys, and cut the row of records."""
        method, requirements = policy.method, tuple(policy.privacy)
        nobody = outline.encoded(outline.nobody())
        mapping = method.mapping(nobody, seed=seed, threads=threads)
        bits = mapping.keys(nobody, threads=1).bits
        whole = BySegment(outline, method, requirements, mapping, bits, (), secret, seed, threads)
        row = _Row(records, whole, shares.frequency, progress)
        segments = row.segments(longest(method, nobody, requirements, shares.tuples))
        check_sizes(method, segments, shares.tuples, "memory holds")
        notes = told(method, segments, "memory holds")
        return cls(records, replace(whole, segments=tuple(segments)), shares, spill, list(notes), progress)

    def parts(self) -> Iterator[Part | LargeClass]:
        """The classes of one segment after the other."""
        outline, segments = self.divided.outline, self.divided.segments
        give_back()
        writer = self.spill.writer(outline, parts=len(segments), memory=self.shares.buffers)
        route = self.divided.route({i: i for i in range(len(segments))})
        for coded in passing(self.records, "repartition", self.progress):
            writer.write(route(coded), coded)
        files = writer.close()
        del writer
        done = 0
        for i, file in enumerate(files):
            give_back()
            self.progress("partition", done, outline.rows)
            if file.rows > self.shares.tuples:
                low, high = self.divided.region(i)
                yield LargeClass(outline, file.rows, file.batches, self.shares.tuples, i, low, high)
            else:
                part = self.divided.finish(file.load(), i)
                self.notes.extend(note for note in part.partition.notes if note not in self.notes)
                done += part.rows
                self.progress("partition", done, outline.rows)
                yield part
                del part
            file.remove()


@dataclass(frozen=True, slots=True)
class _Row:
    """The records of a source as they lie along a curve."""

    records: Records
    whole: BySegment
    room: int
    """Bytes for what is counted of each segment."""
    progress: Progress

    def segments(self, most: int | None) -> list[Segment]:
        """The segments, none larger than asked unless its records are alike, or it would not hold."""
        rows, requirements = self.records.rows, self.whole.requirements
        if most is None or rows <= most:
            return [Segment(0, rows)]
        segments = cut(rows, most, self.whole.bits, self._counts)
        if any(requirement.column is not None for requirement in requirements):
            stats = self._statistics(segments, requirements)
        else:
            stats = Statistics(np.array([segment.rows for segment in segments]), {}, {}, {})
        return held(segments, stats, requirements)

    def _counts(self, cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        """How many records lie in the parts of each of some cells, in one pass."""
        bins = Bins.of(cells, self.whole.bits, self.whole.outline.lines, self.whole.mapping)
        found = np.zeros(int(bins.starts[-1]), dtype=np.int64)
        for coded in passing(self.records, "count", self.progress):
            found += np.bincount(bins.places(bins.route.words(coded)), minlength=len(found))
        return np.split(found, bins.starts[1:-1])

    def _statistics(self, segments: Sequence[Segment], requirements: Sequence[Requirement]) -> Statistics:
        """What each of some segments holds, in one pass."""
        outline = self.whole.outline
        check_room(outline, len(segments), requirements, self.room)
        route = replace(self.whole, segments=tuple(segments)).route({i: i for i in range(len(segments))})
        found = sums_of(passing(self.records, "count", self.progress), outline, route, len(segments), requirements)
        assert found is not None
        return replace(found, domains=outline.domains)
