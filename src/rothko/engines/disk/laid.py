"""Records in files along a curve, and how many of them are in each of some cells that cover it.

One pass over the source writes every record to one of many files by its key, and counts the cells of a sample. Cells
that have far more records than the sample told are counted again, in their files. The files are then loaded in the
order of the curve. What decides between equal records goes with them, behind the columns that are kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded
from rothko.engines.along import Bins, finely
from rothko.engines.disk.spill import Spill, Spilled
from rothko.engines.divided import Along, BySegment
from rothko.engines.plan import Budget
from rothko.methods.curve.curve import sort_records
from rothko.methods.curve.segments import Cell
from rothko.methods.ties import ties_of
from rothko.progress import ahead
from rothko.secret import Secret
from rothko.trim import give_back

FILES = 1
"""How many files hold what fits in memory: a segment may end within one, and the rest of it waits for the next. With
more of them less waits, but they are written in smaller pieces: with four, 50 million records took 14 % more.
"""
SLICE = 1 << 15
"""Records whose keys are found at a time."""
SIDE_BY_SIDE = 4
"""Threads that look at records on their way, at most: what each of them holds is not in the plan of memory."""
FINER = 8
"""How many cells, by the sample, have as many records as a segment."""


@dataclass(frozen=True, slots=True)
class Laid:
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
    def of(
        cls, whole: BySegment, records: Iterable[Coded], sample: list[Coded], most: int, shares: Budget, spill: Spill
    ) -> Laid:
        """Write every record to its file, as they pass by.

        Parameters
        ----------
        records
            All of them, with what they have drawn (:func:`with_ties`).
        sample
            Some of them, by which files are laid out; it is taken out of its list.
        most
            Records of a segment.
        """
        rows = whole.outline.rows
        give_back()
        cells = cls._cells(whole, sample, rows, min(most, shares.tuples, rows))
        sampled = max(sum(cell.rows for cell in cells), 1)
        number = _runs(cells, max(sampled * shares.tuples // (FILES * rows), 1))
        firsts = [cell.first(whole.bits) for cell in cells]
        route = _along(whole, firsts, threads=1)
        # Half of what is for buffers: keys, and what they are looked up in, take the rest.
        writer = spill.writer(whole.outline, parts=int(number[-1]) + 1, memory=shares.buffers // 2)
        found = np.zeros(len(cells), dtype=np.int64)
        # One thread writes what others find the keys of.
        placed = ahead(lambda coded: (coded, route(coded)), _slices(records), min(whole.threads, SIDE_BY_SIDE))
        for i, (coded, place) in enumerate(placed):
            found += np.bincount(place, minlength=len(cells))
            writer.write(number[place], coded)
            if i == 0:
                give_back()  # all that is compiled is loaded now
        return cls(whole, firsts, np.append(0, np.cumsum(found)), number, writer.close())

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
        return without_ties(self.files)

    def counts(self, cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        """How many records lie in the parts of each of some cells; cells that were not counted before are read."""
        found = [self._halves(cell) for cell in cells]
        unknown = [cell for cell, halves in zip(cells, found, strict=True) if halves is None]
        if not unknown:
            return [halves for halves in found if halves is not None]
        bins = Bins.of(unknown, self.whole.bits, self.whole.outline.lines, self.whole.mapping)
        total = np.zeros(int(bins.starts[-1]), dtype=np.int64)
        places = [bisect_right(self.firsts, one.first(self.whole.bits)) - 1 for one in unknown]
        for coded in without_ties([self.files[i] for i in np.unique(self.file_of[places]).tolist()]):
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
        route = _along(divided, [segments[span.start].first for span in spans], divided.threads)
        coming = _Coming(self._ready(spans, divided, large, route, shares, spill), route, spans, divided)
        for number, span in enumerate(spans):
            give_back()  # what became of the one before is written, and gone
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
            between = divided.between(spans[first].start, spans[last].stop - 1)
            for coded in file.batches():
                writer.write(route(coded, between) - np.int32(first), coded)
            file.remove()
            for i, one in enumerate(writer.close()):
                yield one, first + i, first + i


def _along(whole: BySegment, firsts: Sequence[int], threads: int) -> Along:
    """Sends records to cells, or to spans, by their first keys."""
    numbers = {i: i for i in range(len(firsts))}
    return Along(whole.outline.lines, whole.mapping, firsts, whole.bits, numbers, threads)


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

    def __init__(
        self, files: Iterator[tuple[Spilled, int, int]], route: Along, spans: Sequence[slice], divided: BySegment
    ) -> None:
        self._files = files
        self._route = route
        self._spans = spans
        self._divided = divided
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
            between = self._divided.between(self._spans[first].start, self._spans[last].stop - 1)
            number = self._route(coded, between)
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


def _slices(records: Iterable[Coded]) -> Iterator[Coded]:
    """The same records, so few at a time that their keys stay in the cache, and take no memory to speak of."""
    for coded in records:
        yield from (coded.slice(begin, SLICE) for begin in range(0, coded.rows, SLICE))


def with_ties(records: Iterable[Coded], secret: Secret) -> Iterator[Coded]:
    """All records of a source, in its order, with what they have drawn behind the columns that are kept."""
    done = 0
    for coded in records:
        columns = [*coded.kept.columns, pa.chunked_array([ties_of(secret, coded.rows, done)])]
        yield replace(coded, kept=pa.table(columns, names=[*coded.kept.column_names, ""]))
        done += coded.rows


def parted(coded: Coded) -> tuple[Coded, NDArray[np.uint64]]:
    """Records, and what they have drawn."""
    last = coded.kept.num_columns - 1
    kept = coded.kept.remove_column(last) if last else pa.table({})
    return replace(coded, kept=kept), coded.kept.column(last).to_numpy()


def without_ties(files: Sequence[Spilled]) -> Iterator[Coded]:
    """The records of some files, some at a time, without what they have drawn."""
    return (parted(coded)[0] for coded in chain.from_iterable(file.batches() for file in files))
