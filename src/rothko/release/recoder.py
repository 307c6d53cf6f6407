"""The rows of a table whose columns are recoded by themselves, and which is never whole in memory; what they lose.

A record shows the same wherever it lies, so its row can leave by itself. Rows are brought into an order of what they
show by :class:`rothko.release.large_class.Shuffle`. A class may have records anywhere: how many show it, by label, is
written down, brought together in bins, and from that follows what was lost and which combinations the recoding shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Sensitive
from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.growing import SHARED, TableFile, Tables
from rothko.engines.part import RecodedTable
from rothko.methods.classes import ColumnClasses, Parts
from rothko.methods.refine.keys import codes_of, distinct, in_order, keys_of
from rothko.policy.policy import Policy
from rothko.release.by_column import ByPart
from rothko.release.large_class import Shuffle
from rothko.release.measured import Meter
from rothko.release.publish import Published
from rothko.release.recoding.combinations import Combinations
from rothko.release.write import Content
from rothko.trim import give_back

MOST_BINS = 32
PORTION = 4
"""A bin of more combinations than this part of the records that fit in memory is divided again: what they lose takes as
many numbers for each as a record has, and several times."""
FEW = 1 << 12
"""Combinations that are never divided again."""
MOST_DIVIDED = 1 << 24
"""Bins that a hash tells apart at most."""
SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Counts(NamedTuple):
    """How many records show some combinations of parts, and have some labels."""

    shows: NDArray[np.int32]
    """(lines, combinations)."""
    labels: NDArray[np.int32]
    """(targets, combinations)."""
    times: NDArray[np.int64]

    @classmethod
    def of(cls, encoded: Encoded, partition: ColumnClasses, classes: NDArray[np.int32]) -> Counts:
        """Of some records, given the class of each."""
        targets = list(encoded.targets.values())
        columns = [classes, *(target.codes for target in targets)]
        different, times = distinct(keys_of(columns, [partition.classes, *(target.domain.size for target in targets)]))
        codes = codes_of(different)
        return cls(np.stack([parts.of_class[codes[0]] for parts in partition.parts]), codes[1:], times)

    def take(self, some: NDArray[np.integer]) -> Counts:
        """Some of the combinations."""
        return Counts(self.shows[:, some], self.labels[:, some], self.times[some])

    def bins(self, count: int, among: int = 1) -> NDArray[np.int64]:
        """The bin of each, in one of so many bins: the same for all labels of what is shown."""
        keys = np.zeros(len(self.times), dtype=np.uint64)
        for parts in self.shows:
            keys = (keys + parts.astype(np.uint64) + np.uint64(1)) * SPREAD
        return ((keys >> np.uint64(33)) // np.uint64(among) % np.uint64(count)).astype(np.int64)

    def measure(self, outline: Outline, by_part: ByPart, meter: Meter) -> NDArray[np.int32]:
        """Have measured what these classes lose, all of whose records are counted; what each shows."""
        recoded = by_part.parts
        sizes = [len(one.low) for one in recoded] + [outline.domains[name].size for name in outline.targets]
        order, starts, different = in_order(keys_of([*self.shows, *self.labels], sizes))
        times = np.add.reduceat(self.times[order], starts[:-1])
        codes = codes_of(different)
        shows, labels = codes[: len(recoded)], codes[len(recoded) :]
        begins = np.flatnonzero(np.append(True, (shows[:, 1:] != shows[:, :-1]).any(axis=0)))
        ends = np.append(begins, len(times))
        partition = ColumnClasses.showing(np.arange(len(times), dtype=np.int32), ends, recoded, shows[:, begins])
        low = np.stack([one.low[row] for one, row in zip(recoded, shows, strict=True)])
        targets = {n: Sensitive(row, outline.domains[n]) for n, row in zip(outline.targets, labels, strict=True)}
        meter.add_counted(Encoded(outline.lines, low, {}, targets), partition, times, by_part.shown(partition))
        return shows[:, begins]


class Recoder:
    """Recodes the records of a table some at a time; their rows, and what they lose, are there when all are taken."""

    def __init__(self, part: RecodedTable, policy: Policy, tables: Tables, *, seed: int, threads: int = 1) -> None:
        self._part = part
        self._by_part = ByPart.of(part.outline.lines, part.parts, part.counts.pop(), policy)
        give_back()  # what it took to see that parts cover their values
        self._alike = [_alike(self._by_part.published[line.name]) for line in part.outline.lines]
        self._combinations = Combinations(self._by_part, policy, tables)
        self._shuffle = Shuffle(tables, part.rows, part.at_once, seed=seed, threads=threads)
        names = [f"{i}" for i in range(len(part.parts) + len(part.outline.targets))]
        schema = pa.schema([*((name, pa.int32()) for name in names), ("times", pa.int64())])
        count = min(MOST_BINS, math.ceil(part.rows / part.at_once))
        self._tables, self._schema = tables, schema
        self._bins = self._new_bins(count)
        self._kept: pa.Schema = pa.schema([])

    def take(self, coded: Coded) -> tuple[Encoded, dict[str, tuple[Published, ...]], NDArray[np.int32]]:
        """Take in some records: themselves, what their classes publish, and the class of each."""
        encoded = self._part.outline.encoded(coded)
        partition = self._by_part.classes(encoded)
        classes = partition.class_of()
        counts = Counts.of(encoded, partition, classes)
        self._divide(counts, self._bins)
        shown = [alike[parts.of_code[codes]] for alike, parts, codes in self._shown(coded)]
        names = [f"\0{i}" for i in range(len(shown))]
        self._kept = coded.kept.schema
        self._shuffle.add(pa.table([*coded.kept.columns, *map(pa.array, shown)], [*coded.kept.column_names, *names]))
        return encoded, self._by_part.shown(partition), classes

    def _shown(self, coded: Coded) -> Iterator[tuple[NDArray[np.int32], Parts, NDArray[np.int32]]]:
        return zip(self._alike, self._part.parts, coded.codes, strict=True)

    def pieces(
        self,
    ) -> Iterator[tuple[dict[str, tuple[Published, ...]], pa.Table, NDArray[np.int32], NDArray[np.int32] | None]]:
        """The rows, some at a time: what classes publish, what is kept, the class of each, the order to leave in."""
        give_back()  # what it took to take them
        lines, kept = len(self._part.parts), len(self._kept.names)
        sizes = [len(one.low) for one in self._part.parts]
        for table, leave, rows in self._shuffle.pieces():
            shown = [table.column(kept + i).to_numpy() for i in range(lines)]
            order, starts, different = in_order(keys_of(shown, sizes))
            partition = ColumnClasses.showing(order, starts, self._part.parts, codes_of(different))
            assert len(order) == rows
            rest = table.select(range(kept)) if kept else pa.table({})
            yield self._by_part.shown(partition), rest, partition.class_of(), leave

    def measure(self, meter: Meter) -> None:
        """Measure what all records lost, once they are taken."""
        for table in self._bins:
            self._measure(table, meter, among=len(self._bins))

    def _measure(self, table: TableFile, meter: Meter, *, among: int) -> None:
        """Measure the combinations of one of so many bins."""
        if table.rows > max(self._part.at_once // PORTION, FEW) and among <= MOST_DIVIDED:
            below = self._new_bins(MOST_BINS)
            for some in table.batches():
                self._divide(self._counts(some), below, among)
            table.remove()
            for one in below:
                self._measure(one, meter, among=MOST_BINS * among)
            return
        if table.rows:
            counts = self._counts(pa.concat_tables(table.batches()))
            self._combinations.add(counts.measure(self._part.outline, self._by_part, meter))
        table.remove()

    def _new_bins(self, count: int) -> list[TableFile]:
        return [self._tables.table(self._schema, held=SHARED) for _ in range(count)]

    def _divide(self, counts: Counts, bins: Sequence[TableFile], among: int = 1) -> None:
        """Write down how many records show some combinations."""
        of = counts.bins(len(bins), among)
        for i, table in enumerate(bins):
            some = counts.take(np.flatnonzero(of == i))
            table.write(pa.table([*map(pa.array, (*some.shows, *some.labels, some.times))], schema=self._schema))

    def _counts(self, table: pa.Table) -> Counts:
        """What was written down."""
        columns, lines = [column.to_numpy() for column in table.columns], len(self._part.parts)
        empty = np.empty((0, table.num_rows), dtype=np.int32)
        labels = np.stack(columns[lines:-1]) if len(columns) > lines + 1 else empty
        return Counts(np.stack(columns[:lines]), labels, columns[-1])

    def files(self, path: Path) -> dict[Path, Content]:
        """What the recoding consists of: path → JSON text or table."""
        return self._combinations.files(path)


def _alike(published: tuple[Published, ...]) -> NDArray[np.int32]:
    """Of each part the first one that shows the same: a row must not tell by its place which of them it is."""
    shown = np.stack([column.of_class for column in published], axis=1)
    _, first, number = np.unique(shown, axis=0, return_index=True, return_inverse=True)
    return first[number.reshape(-1)].astype(np.int32)
