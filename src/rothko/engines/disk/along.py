"""Records on disk, divided by the segments of a curve.

One pass over the source writes every record to one of many files by its key, and counts how many there are in the cells
of a sample: from these follow the segments, which are those of whoever else counts the records
(:mod:`rothko.methods.curve.segments`). Where a cell has far more records than its sample told, its file is counted
again. Then the files are loaded in the order of the curve, and the segments that they hold are grouped. What decides
between equal records is drawn by their number in the source, as in memory, and goes with them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline, Records
from rothko.engines.along import Bins, check_room, check_sizes, finely, longest, sums_of, told
from rothko.engines.disk.curve_sample import drawn_from
from rothko.engines.disk.spill import Spill, Spilled
from rothko.engines.disk.store import gathered, passing
from rothko.engines.disk.trim import give_back
from rothko.engines.divided import Along, BySegment
from rothko.engines.engine import Request
from rothko.engines.part import LargeClass, Part
from rothko.engines.plan import Budget
from rothko.methods.curve.curve import sort_records
from rothko.methods.curve.segments import Cell, Segment, cut, held
from rothko.methods.ties import ties_of
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent
from rothko.secret import Secret

FILES = 4
"""How many files hold what fits in memory: a segment may end within one, and the rest of it waits for the next."""
SLICE = 1 << 15
"""Records that are sent to files at a time."""
FINER = 8
"""How many cells, by the sample, have as many records as a segment."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """A table that is divided by the segments of the curve of its method."""

    records: Records
    whole: BySegment
    """All of it, without segments."""
    most: int | None
    """Records of a segment."""
    sample: list[Coded]
    """One, until it is used: by it files are laid out."""
    shares: Budget
    spill: Spill
    notes: list[str]
    """What a person should know; more is added as segments are finished."""
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
        if most is None or records.rows <= most:
            check_sizes(method, [Segment(0, records.rows)], shares.tuples, "memory holds")
        size = method.sampled(records.rows)
        drawn: Encoded = nobody
        if size:
            drawn = drawn_from(passing(records, "sample", progress), outline, size, seed, spill, shares.buffers)
        mapping = method.mapping(drawn, seed=seed, threads=threads)
        bits = mapping.keys(nobody, threads=1).bits
        whole = BySegment(outline, method, requirements, mapping, bits, (), secret, seed, threads)
        return cls(records, whole, most, [sample], shares, spill, [], progress)

    def parts(self) -> Iterator[Part | LargeClass]:
        """The classes of some segments after the others."""
        laid = _Laid.of(self)
        method, tuples = self.whole.method, self.shares.tuples
        segments = self._segments(laid)
        check_sizes(method, segments, tuples, "memory holds")
        self.notes.extend(told(method, segments, "memory holds"))
        divided = replace(self.whole, segments=tuple(segments))
        spans = _together(segments, tuples if method.in_segments == "exactly" else 0)
        done, rows = 0, self.records.rows
        for span, files in laid.by_span(divided, spans, self.shares, self.spill):
            give_back()
            self.progress("partition", done, rows)
            part = self._part(divided, span, files)
            del files  # it must not be in memory beside what is published
            done += part.rows
            if isinstance(part, Part):
                self.notes.extend(note for note in part.partition.notes if note not in self.notes)
                self.progress("partition", done, rows)
            yield part
            del part

    def _part(self, divided: BySegment, span: slice, files: list[Coded] | list[Spilled]) -> Part | LargeClass:
        """What the records of some segments became, loaded or where they lie."""
        coded = [one for one in files if isinstance(one, Coded)]
        if coded:
            files.clear()
            some, ties = _parted(gathered(coded) if len(coded) > 1 else coded[0])
            coded.clear()
            return divided.finish_some(some, ties, span)
        lying = [one for one in files if isinstance(one, Spilled)]
        low, high = divided.region(span.start)
        rows, at_once = divided.segments[span.start].rows, self.shares.tuples
        return LargeClass(divided.outline, rows, lambda: _without_ties(lying), at_once, span.start, low, high)

    def _segments(self, laid: _Laid) -> list[Segment]:
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


# ── files along the curve


@dataclass(frozen=True, slots=True)
class _Laid:
    """All records in files along the curve, and how many of them are in each of some cells that cover it."""

    whole: BySegment
    firsts: list[int]
    """The first key of each cell."""
    ends: NDArray[np.int64]
    """How many records lie before each cell, and in all."""
    file_of: NDArray[np.int32]
    """Of each cell."""
    files: list[Spilled]

    @classmethod
    def of(cls, ranges: Ranges) -> _Laid:
        """Write every record to its file, in one pass over the source."""
        whole, rows, shares = ranges.whole, ranges.records.rows, ranges.shares
        give_back()
        cells = cls._cells(whole, ranges.sample, rows, min(ranges.most or rows, shares.tuples, rows))
        sampled = max(sum(cell.rows for cell in cells), 1)
        number = _runs(cells, max(sampled * shares.tuples // (FILES * rows), 1))
        count = int(number[-1]) + 1
        firsts = [cell.first(whole.bits) for cell in cells]
        route = _along(whole, firsts)
        # Half of what is for buffers: keys, and what they are looked up in, take the rest.
        writer = ranges.spill.writer(whole.outline, parts=count, memory=shares.buffers // 2)
        found, done = np.zeros(len(cells), dtype=np.int64), 0
        for coded in _slices(passing(ranges.records, "repartition", ranges.progress)):
            place = route(coded)
            found += np.bincount(place, minlength=len(cells))
            writer.write(number[place], _with_ties(coded, ties_of(whole.secret, coded.rows, done)))
            done += coded.rows
        files = writer.close()
        return cls(whole, firsts, np.append(0, np.cumsum(found)), number, files)

    @staticmethod
    def _cells(whole: BySegment, sample: list[Coded], rows: int, most: int) -> list[Cell]:
        if most >= rows:
            sample.clear()
            return [Cell(0, 0, rows)]
        words = whole.mapping.keys(whole.outline.encoded(sample.pop()), threads=whole.threads).words
        words = words[:, sort_records(words, whole.threads)]
        return finely(words, whole.bits, max(words.shape[1] * most // (FINER * rows), 1))

    def batches(self) -> Iterator[Coded]:
        """All records, some at a time."""
        return _without_ties(self.files)

    def counts(self, cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        """How many records lie in the parts of each of some cells; cells that were not counted before are read."""
        found = [self._halves(cell) for cell in cells]
        unknown = [cell for cell, halves in zip(cells, found, strict=True) if halves is None]
        if not unknown:
            return [halves for halves in found if halves is not None]
        bins = Bins.of(unknown, self.whole.bits, self.whole.outline.lines, self.whole.mapping)
        total = np.zeros(int(bins.starts[-1]), dtype=np.int64)
        places = [bisect_right(self.firsts, one.first(self.whole.bits)) - 1 for one in unknown]
        for coded in _without_ties([self.files[i] for i in np.unique(self.file_of[places]).tolist()]):
            total += np.bincount(bins.places(bins.route.words(coded)), minlength=len(total))
        counted = iter(np.split(total, bins.starts[1:-1]))
        return [next(counted) if halves is None else halves for halves in found]

    def _halves(self, cell: Cell) -> NDArray[np.int64] | None:
        """How many records lie in the halves of a cell; None for one that was counted as a whole, or within such."""
        bits = self.whole.bits
        halves = ((2 * cell.prefix + i) << (bits - cell.depth - 1) for i in range(3))
        first, middle, behind = (bisect_left(self.firsts, key) for key in halves)
        if not first < middle < behind:
            return None
        return np.diff(self.ends[[first, middle, behind]])

    def by_span(
        self, divided: BySegment, spans: Sequence[slice], shares: Budget, spill: Spill
    ) -> Iterator[tuple[slice, list[Coded] | list[Spilled]]]:
        """The records of some segments after the others: loaded, or where they lie if they are too many."""
        segments = divided.segments
        large = [segments[span][0].rows > shares.tuples for span in spans]
        route = _along(divided, [segments[span.start].first for span in spans])
        coming = _Coming(self._ready(spans, divided, large, route, shares, spill), route)
        for number, span in enumerate(spans):
            if large[number]:
                files = coming.files(number)
                yield span, files
                for file in files:
                    file.remove()
            else:
                yield span, coming.records(number)

    def _ready(
        self, spans: Sequence[slice], divided: BySegment, large: Sequence[bool], route: Along, shares: Budget,
        spill: Spill,
    ) -> Iterator[tuple[Spilled, int, int]]:  # fmt: skip
        """The files in their order, and the first and the last span that they have records of.

        One that is too large to be loaded beside what waits, or has records of a span that is too large, is divided.
        """
        keys = [divided.segments[span.start].first for span in spans]
        begins = [self.firsts[i] for i in np.flatnonzero(np.diff(self.file_of, prepend=-1)).tolist()]
        for file, (begin, behind) in zip(self.files, pairwise([*begins, 1 << divided.bits]), strict=True):
            first, last = bisect_right(keys, begin) - 1, bisect_left(keys, behind) - 1
            if first == last or (file.rows <= 2 * shares.tuples // FILES and not any(large[first : last + 1])):
                yield file, first, last
                continue
            writer = spill.writer(divided.outline, parts=last - first + 1, memory=shares.buffers)
            for coded in file.batches():
                writer.write(route(coded) - np.int32(first), coded)
            file.remove()
            for i, one in enumerate(writer.close()):
                yield one, first + i, first + i


def _along(whole: BySegment, firsts: Sequence[int]) -> Along:
    """Sends records to cells, or to spans, by their first keys."""
    numbers = {i: i for i in range(len(firsts))}
    return Along(whole.outline.lines, whole.mapping, firsts, whole.bits, numbers, whole.threads)


def _runs(cells: Sequence[Cell], rows: int) -> NDArray[np.int32]:
    """Cells that go to the same file: those that follow each other and have so many records together, or one."""
    number, held = [], 0
    file = 0
    for cell in cells:
        if held and held + cell.rows > rows:
            file, held = file + 1, 0
        held += cell.rows
        number.append(file)
    return np.array(number, dtype=np.int32)


class _Coming:
    """Files in the order of the curve, whose records are handed out span by span."""

    def __init__(self, files: Iterator[tuple[Spilled, int, int]], route: Along) -> None:
        self._files = files
        self._route = route
        self._next = next(files, None)
        self._waiting: dict[int, list[Coded]] = {}

    def records(self, span: int) -> list[Coded]:
        """All records of a span."""
        for file, first, last in self._reaching(span):
            coded = file.load()
            file.remove()
            if first == last:
                self._waiting.setdefault(first, []).append(coded)
                continue
            number = self._route(coded)
            for i in range(first, last + 1):
                some = np.flatnonzero(number == i)
                if len(some):
                    self._waiting.setdefault(i, []).append(coded.take(some))
        return self._waiting.pop(span)

    def files(self, span: int) -> list[Spilled]:
        """The files of a span, which have no records of another."""
        return [file for file, _, _ in self._reaching(span)]

    def _reaching(self, span: int) -> Iterator[tuple[Spilled, int, int]]:
        while self._next is not None and self._next[1] <= span:
            yield self._next
            self._next = next(self._files, None)


def _slices(records: Iterator[Coded]) -> Iterator[Coded]:
    """The same records, so few at a time that their keys stay in the cache, and take no memory to speak of."""
    for coded in records:
        yield from (coded.slice(begin, SLICE) for begin in range(0, coded.rows, SLICE))


def _with_ties(coded: Coded, ties: NDArray[np.uint64]) -> Coded:
    """Records with what they have drawn, behind the columns that are kept."""
    columns = [*coded.kept.columns, pa.chunked_array([ties])]
    return replace(coded, kept=pa.table(columns, names=[*coded.kept.column_names, ""]))


def _parted(coded: Coded) -> tuple[Coded, NDArray[np.uint64]]:
    """Records, and what they have drawn."""
    last = coded.kept.num_columns - 1
    kept = coded.kept.remove_column(last) if last else pa.table({})
    return replace(coded, kept=kept), coded.kept.column(last).to_numpy()


def _without_ties(files: Sequence[Spilled]) -> Iterator[Coded]:
    return (_parted(coded)[0] for coded in chain.from_iterable(file.batches() for file in files))
