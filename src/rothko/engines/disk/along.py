"""Records on disk, divided by the segments of a curve, with the classes of the memory engine.

The records are written to files along the curve in one pass over the source (:mod:`rothko.engines.disk.laid`). From
what was counted there follow the segments, which are those of whoever else counts the records
(:mod:`rothko.methods.curve.segments`). Then the files are loaded one after the other, and the segments that they hold
are grouped. What decides between equal records is drawn by their number in the source, as in memory. Where classes are
not those of memory anyway, the dearest ones of a segment go on to the next (:mod:`rothko.engines.disk.carried`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline, Records
from rothko.engines.along import (
    FILLED,
    check_room,
    check_sample,
    check_sizes,
    longest,
    room_for,
    sums_of,
    told,
    weighed_by,
)
from rothko.engines.disk.carried import rooms, without_dearest
from rothko.engines.disk.curve_sample import brought_together, drawn_from
from rothko.engines.disk.laid import Laid, parted, with_ties, without_ties
from rothko.engines.disk.spill import Spill, Spilled
from rothko.engines.disk.store import gathered, passing
from rothko.engines.disk.windows import in_windows
from rothko.engines.divided import BySegment
from rothko.engines.engine import Request
from rothko.engines.part import LargeClass, Part
from rothko.engines.plan import Budget, budget
from rothko.methods.curve.curve import OnLines
from rothko.methods.curve.segments import Segment, cut, held
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent
from rothko.secret import Secret
from rothko.trim import give_back

SEAMS = "records of the dearest classes of each went on to the next"
"""What became of classes between ranges, in words."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """A table that is divided by the segments of the curve of its method."""

    records: Records
    whole: BySegment
    """All of it, without segments."""
    most: int | None
    """Records of a segment."""
    codes: int
    """Records that fit in memory while classes are made of them, without the columns that are kept."""
    sample: list[Coded]
    """One, until it is used: by it files are laid out."""
    shares: Budget
    spill: Spill
    notes: list[str]
    """What a person should know; more is added as segments are finished."""
    files: list[Spilled]
    """All records with what they have drawn, where the curve had to be laid by some of them; else the source has."""
    carried: list[Coded]
    """Those of the dearest classes so far, which go on to the next segment."""
    progress: Progress = silent

    @classmethod
    def of(
        cls, records: Records, outline: Outline, policy: Request, sample: Coded, shares: Budget, spill: Spill, *,
        secret: Secret, seed: int, threads: int, progress: Progress = silent,
    ) -> Ranges:  # fmt: skip
        """Get ready to divide a table; what can be told beforehand not to fit is refused."""
        method, requirements = policy.method, tuple(policy.privacy)
        nobody = outline.encoded(outline.nobody())
        most = longest(method, nobody, requirements, shares.tuples)
        bare = 4 * (len(outline.lines) + len(outline.domains)) + 8
        codes = max(budget(shares.memory, row_bytes=bare).beside(method.keeps).tuples, shares.tuples)
        if most is None or records.rows <= most:
            check_sizes(method, [Segment(0, records.rows)], codes, "memory holds")
        size = method.sampled(records.rows)
        check_sample(method, size, codes, "memory holds")
        drawn: Encoded = nobody
        files: list[Spilled] = []
        if size:
            passed = with_ties(passing(records, "sample", progress), secret)
            files = brought_together(passed, outline, spill, shares.buffers)
            drawn = drawn_from(files, outline, size, seed, threads=threads)
            give_back()
        mapping = OnLines.of(method.mapping(drawn, seed=seed, threads=threads), outline.lines)
        bits = mapping.keys(nobody, threads=1).bits
        weighed = method.weighed(outline.encoded(sample), policy.workload)
        notes = [] if weighed is outline.lines else [weighed_by(method, sample.rows, records.rows, policy.workload)]
        room = room_for(method, outline, shares)
        whole = BySegment(outline, method, requirements, mapping, bits, (), secret, seed, threads, weighed, room)
        return cls(records, whole, most, codes, [sample], shares, spill, notes, files, [], progress)

    @property
    def outline(self) -> Outline:
        """What is known of the table."""
        return self.whole.outline

    def parts(self) -> Iterator[Part | LargeClass]:
        """The classes of some segments after the others."""
        rows, tuples = self.records.rows, self.shares.tuples
        laid = Laid.of(self.whole, self._all(), self.sample, self.most or rows, self.shares, self.spill)
        method = self.whole.method
        segments = self._segments(laid)
        check_sizes(method, segments, self.codes, "memory holds")
        onward = rooms(segments, tuples) if method.in_segments == "nearly" else {}
        self.notes.extend(told(method, segments, "memory holds", *([SEAMS] if len(onward) > 1 else [])))
        divided = replace(self.whole, segments=tuple(segments))
        # Not all that fits: keys and what decides between equal records lie beside what the model of memory knows.
        spans = _together(segments, int(FILLED * tuples) if method.in_segments == "exactly" else 0)
        done = 0
        for span, files in laid.by_span(divided, spans, self.shares, self.spill):
            self.progress("partition", done, rows)
            for part in self._made(divided, span, files, onward.get(span.start)):
                done += part.rows
                if isinstance(part, Part):
                    self.notes.extend(note for note in part.partition.notes if note not in self.notes)
                    self.progress("partition", done, rows)
                yield part
                del part

    def _all(self) -> Iterator[Coded]:
        """All records with what they have drawn; the files that they lay in are gone afterwards."""
        if not self.files:
            yield from with_ties(passing(self.records, "repartition", self.progress), self.whole.secret)
        done, rows = 0, self.records.rows
        while self.files:
            file = self.files.pop(0)
            for coded in file.batches():
                yield coded
                done += coded.rows
                self.progress("repartition", done, rows)
            file.remove()

    def _made(
        self, divided: BySegment, span: slice, files: list[Coded] | list[Spilled], room: int | None
    ) -> Iterator[Part | LargeClass]:
        """What the records of some segments became, loaded or where they lie; see :meth:`_grouped`."""
        coded = [one for one in files if isinstance(one, Coded)]
        lying = [one for one in files if isinstance(one, Spilled)]
        if coded:
            files.clear()  # they must not be in memory beside what is published
            yield self._grouped(divided, span, coded, room)
        elif divided.segments[span.start].alike:
            low, high = divided.region(span.start)
            rows, at_once = divided.segments[span.start].rows, self.shares.tuples
            yield LargeClass(divided.outline, rows, lambda: without_ties(lying), at_once, span.start, low, high)
        else:
            yield from in_windows(divided, span.start, lying, self.shares, self.spill)

    def _grouped(self, divided: BySegment, span: slice, coded: list[Coded], room: int | None) -> Part:
        """The classes of some segments, of records that are taken out of their list.

        Parameters
        ----------
        room
            How many records the next one takes of the dearest classes; None for segments that are given none either.
        """
        if room is not None:
            coded += self.carried
            self.carried.clear()
        given = gathered(coded) if len(coded) > 1 else coded[0]
        coded.clear()
        part = divided.finish_some(*parted(given), span)
        if room:
            lines = divided.outline.lines if divided.weighed is None else divided.weighed
            part, dear = without_dearest(part, given, lines, room)
            self.carried.append(dear)
        return part

    def _segments(self, laid: Laid) -> list[Segment]:
        """The segments, none larger than asked unless its records are alike, or it would not hold."""
        rows, requirements = self.records.rows, self.whole.requirements
        if self.most is None or rows <= self.most:
            return [Segment(0, rows)]
        segments = cut(rows, self.most, self.whole.bits, laid.counts)
        if not any(requirement.column is not None for requirement in requirements):
            return held(segments, Statistics(np.array([one.rows for one in segments]), {}, {}, {}), requirements)
        outline = self.whole.outline
        check_room(outline, len(segments), requirements, self.shares.frequency)
        route = replace(self.whole, segments=tuple(segments)).route({i: i for i in range(len(segments))})
        found = sums_of(laid.batches(), outline, route, len(segments), requirements)
        assert found is not None
        return held(segments, replace(found, domains=outline.domains), requirements)


def _together(segments: Sequence[Segment], tuples: int) -> list[slice]:
    """Segments that follow each other and fit in memory together; those that do not are by themselves."""
    found: list[slice] = []
    rows = 0
    for i, segment in enumerate(segments):
        if found and rows + segment.rows <= tuples:
            found[-1] = slice(found[-1].start, i + 1)
            rows += segment.rows
        else:
            found.append(slice(i, i + 1))
            rows = segment.rows
    return found
