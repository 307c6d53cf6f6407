"""Top-Down Refinement under a memory limit: columns and sets of them are counted in passes, and refined in memory.

One pass over the source writes the records as codes and counts every column by itself; those that follow read what was
written. Refinements are those of the memory engine (:mod:`rothko.engines.refine`), and so is what comes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline, Records
from rothko.engines.disk.spill import Spill, Spilled
from rothko.engines.disk.store import passing
from rothko.engines.engine import Request
from rothko.engines.part import RecodedTable
from rothko.engines.plan import Budget
from rothko.engines.refine import refine_by_counts
from rothko.methods.curve.sample import summed
from rothko.methods.refine.counts import Pairs, Tally
from rothko.methods.refine.foresight import Asked, Counted
from rothko.progress import Progress, ahead, silent
from rothko.trim import give_back
from rothko.workload.tasks import Classify

AT_ONCE = 1 << 23
"""Bytes of what was written that are counted at a time."""
HELD = 1 << 23
"""Bytes of records that are held until they are written: more would not be written faster, for they go to one file."""


@dataclass(frozen=True, slots=True)
class Refining:
    """A table that is refined by counts."""

    records: list[Records]
    """The source, until it is read: what gives its values their codes is not needed any more, then."""
    outline: Outline
    policy: Request
    sample: list[Coded]
    """One, until it is used."""
    shares: Budget
    most: int
    """Different records that are told apart at a time."""
    spill: Spill
    threads: int = 1
    notes: list[str] = field(default_factory=list)
    progress: Progress = silent

    def parts(self) -> Iterator[RecodedTable]:
        """The table, and how its columns are recoded."""
        counter = DiskCounter(self.records, self.outline, self.shares, self.spill, self.threads, self.progress)
        policy, outline = self.policy, self.outline
        found = refine_by_counts(
            outline, counter, policy.method, tuple(policy.privacy), tuple(policy.workload), sample=self.sample.pop(),
            most=self.most, progress=self.progress,
        )  # fmt: skip
        self.notes.extend(found.refined.notes)
        parts, counts = found.refined.columns(outline.lines), [found.counts]
        del found
        give_back()
        yield RecodedTable(outline, outline.rows, counter.batches, self.shares.tuples, parts, counts)
        for file in counter.files:
            file.remove()


@dataclass(frozen=True, slots=True)
class DiskCounter:
    """Counts records in passes (:class:`rothko.engines.refine.Counter`)."""

    records: list[Records]
    """The source, until it is read."""
    outline: Outline
    shares: Budget
    spill: Spill
    threads: int = 1
    progress: Progress = silent
    files: list[Spilled] = field(default_factory=list)
    """One, when the records were written."""

    def tally(self, tasks: Sequence[Classify]) -> Tally:
        """All records by the codes of each line, in the pass that writes them."""
        give_back()
        writer = self.spill.writer(self.outline, parts=1, memory=min(self.shares.buffers, HELD))
        found = _Tallies.of(self.outline, tasks, self.shares.frequency)
        for coded in passing(self.records.pop(), "repartition", self.progress):
            writer.write(np.zeros(coded.rows, dtype=np.int32), coded)
            found.add(coded)
        self.files.extend(writer.close())
        del writer
        give_back()
        return found.tally()

    def tuples(self, asked: Sequence[Asked], most: int) -> list[Counted] | None:
        """The different records of every set, in one pass over what was written."""
        give_back()  # what it took to look ahead
        different = [_Different() for _ in asked]
        [file] = self.files

        def count(coded: Coded) -> list[Counted]:
            encoded = self.outline.encoded(coded)
            return [one.count(encoded) for one in asked]

        # One thread reads, and brings together what others count.
        for some in ahead(count, file.codes(AT_ONCE // self.threads), self.threads):
            for one, found in zip(some, different, strict=True):
                found.add(one)
            if sum(found.rows for found in different) > most:
                for found in different:
                    found.settle()
                if sum(found.rows for found in different) > most:
                    return None
        counted = [found.counted(one.words) for one, found in zip(asked, different, strict=True)]
        give_back()  # what it took to count
        return counted

    def batches(self) -> Iterator[Coded]:
        """The records, as they were written."""
        [file] = self.files
        return file.batches(AT_ONCE)


@dataclass(slots=True)
class _Different:
    """Different records that were found so far, and how often."""

    rows: int = 0
    """How many there are at most: some may have been found twice."""
    _held: list[Counted] = field(default_factory=list)
    _settled: int = 0

    def add(self, counted: Counted) -> None:
        """Take in what was found in some records; equal ones are brought together when there are twice as many."""
        if len(counted.times):
            self._held.append(counted)
            self.rows += len(counted.times)
        if self.rows > 2 * max(self._settled, 1 << 16):
            self.settle()

    def settle(self) -> None:
        """Bring equal ones together."""
        if len(self._held) > 1:
            words = np.concatenate([one.words for one in self._held], axis=1)
            times = np.concatenate([one.times for one in self._held])
            self._held = [Counted(*summed(words, times))]
        self.rows = self._settled = sum(len(one.times) for one in self._held)

    def counted(self, words: int) -> Counted:
        """All of them, in their order."""
        if not self._held:
            return Counted(np.empty((words, 0), dtype=np.uint64), np.empty(0, dtype=np.int64))
        [one] = [reduce(_joined, self._held)]
        return Counted(*summed(one.words, one.times))


def _joined(one: Counted, other: Counted) -> Counted:
    return Counted(np.concatenate([one.words, other.words], axis=1), np.concatenate([one.times, other.times]))


@dataclass(frozen=True, slots=True)
class _Tallies:
    """A tally that grows: in tables of all codes and labels, where these fit, else by what there is of them."""

    outline: Outline
    tasks: Sequence[Classify]
    counts: list[NDArray[Any]]
    """Of each line: by code, and by label of each task where these fit."""
    others: list[Tally]
    """What was found so far of labels that do not."""

    @classmethod
    def of(cls, outline: Outline, tasks: Sequence[Classify], room: int) -> _Tallies:
        codes = sum(line.size for line in outline.lines)
        labels = sum(outline.domains[task.target].size for task in tasks)
        kind = np.int32 if outline.rows <= np.iinfo(np.int32).max else np.int64
        fits = codes * (8 + np.dtype(kind).itemsize * labels) <= room
        counts = [np.zeros(line.size, dtype=np.int64) for line in outline.lines]
        if fits:
            sizes = [outline.domains[task.target].size for task in tasks]
            counts += [np.zeros(line.size * size, dtype=kind) for line in outline.lines for size in sizes]
        return cls(outline, tasks, counts, [])

    @property
    def _fits(self) -> bool:
        return len(self.counts) == len(self.outline.lines) * (1 + len(self.tasks))

    def add(self, coded: Coded) -> None:
        """Count some records."""
        if not self._fits:
            found = Tally.of(self.outline.encoded(coded), self.tasks)
            self.others[:] = [reduce(Tally.__add__, [*self.others, found])]
            return
        _add(self.counts, coded, [(coded.values[t.target], self.outline.domains[t.target].size) for t in self.tasks])

    def tally(self) -> Tally:
        """What was counted."""
        if self.others:
            return self.others[0]
        lines, tasks = len(self.outline.lines), len(self.tasks)
        records, self.counts[:lines] = tuple(self.counts[:lines]), []
        pairs = [_pairs(self.counts.pop(0)) for _ in range(lines * tasks)]
        return Tally(records, tuple(tuple(pairs[i * tasks : (i + 1) * tasks]) for i in range(lines)))


def _add(counts: Sequence[NDArray[Any]], coded: Coded, labels: Sequence[tuple[NDArray[np.int32], int]]) -> None:
    lines = len(coded.codes)
    for i, codes in enumerate(coded.codes):
        np.add.at(counts[i], codes, 1)
        for t, (label, size) in enumerate(labels):
            np.add.at(counts[lines + i * len(labels) + t], codes.astype(np.int64) * size + label, 1)


def _pairs(counts: NDArray[Any]) -> Pairs:
    there = np.flatnonzero(counts)
    return Pairs(there, counts[there].astype(np.int64))
