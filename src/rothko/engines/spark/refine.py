"""Top-Down Refinement over Spark: columns and sets of them are counted by jobs, and refined on the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.data.survey.coder import Coder
from rothko.engines.engine import Io, Request
from rothko.engines.options import Spark
from rothko.engines.plan import budget
from rothko.engines.refine import refine_by_counts
from rothko.engines.spark.records import Records
from rothko.engines.spark.run import Table
from rothko.methods.classes import Parts
from rothko.methods.refine.counts import Tally
from rothko.methods.refine.foresight import Asked, Counted
from rothko.progress import Progress, silent
from rothko.workload.tasks import Classify


@dataclass(frozen=True, slots=True)
class RefinedTable:
    """A table on a cluster that is refined: what executors need to know to recode it."""

    records: Records
    coder: Coder
    outline: Outline
    parts: tuple[Parts, ...]
    """Of each line."""
    counts: tuple[NDArray[np.int64], ...]
    """Of each line: how many records have each code."""
    tuples: int
    """Records that an executor can hold while they are published."""
    seed: int
    io: Callable[[], Io]
    notes: tuple[str, ...]


def refine_on(
    engine: Spark, table: Table, policy: Request, *, seed: int = 0, progress: Progress = silent
) -> RefinedTable:
    """Refine a table by counts."""
    outline, coder, notes = table.found.settled
    assert table.found.sample is not None
    # A record that is counted has neither the columns that are kept nor those of other sets.
    codes = 4 * (len(outline.lines) + len(outline.domains) + 1)
    most = budget(table.shares.memory, row_bytes=codes).within(engine.records_at_once).tuples
    found = refine_by_counts(
        outline, SparkCounter(table.records, outline), policy.method, tuple(policy.privacy), tuple(policy.workload),
        sample=table.found.sample, most=most, progress=progress,
    )  # fmt: skip

    def io() -> Io:
        return Io(passes=table.records.cluster.collected.jobs, repartitions=1, reads=None, writes=None)

    parts, refined = found.refined.columns(outline.lines), found.refined
    return RefinedTable(
        table.records, coder, outline, parts, found.counts, table.shares.tuples, seed, io, (*notes, *refined.notes)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkCounter:
    """Counts records on a cluster (:class:`rothko.engines.refine.Counter`)."""

    records: Records
    outline: Outline

    def tally(self, tasks: Sequence[Classify]) -> Tally:
        """All records by the codes of each line, in one job."""
        found: Tally = self.records.gather(partial(_tally, self.outline, tasks), _added)[0]
        return found

    def tuples(self, asked: Sequence[Asked], most: int) -> list[Counted] | None:
        """The different records of every set, in one job."""
        words = max((one.words for one in asked), default=1)
        table = self.records.count_keys(partial(_keys, self.outline, asked), words, most)
        return None if table is None else [_counted(table, slot, one.words) for slot, one in enumerate(asked)]


def _tally(outline: Outline, tasks: Sequence[Classify], records: Iterator[Coded]) -> Iterable[tuple[int, Tally]]:
    found: Tally | None = None
    for coded in records:
        more = Tally.of(outline.encoded(coded), tasks)
        found = more if found is None else found + more
    return [] if found is None else [(0, found)]


def _added(_: int, found: list[Tally]) -> Tally:
    return reduce(Tally.__add__, found)


def _keys(
    outline: Outline, asked: Sequence[Asked], records: Iterator[Coded]
) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.int64]]]:
    for coded in records:
        encoded = outline.encoded(coded)
        for slot, one in enumerate(asked):
            found = one.count(encoded)
            if len(found.times):
                yield slot, found.words, found.times


def _counted(table: pa.Table, slot: int, words: int) -> Counted:
    """What was counted of a set, in an order of its own: that in which it came depends on which task was done first."""
    places = np.flatnonzero(table["slot"].to_numpy() == slot)
    columns = [table[f"w{i}"].to_numpy()[places].astype(np.uint64) for i in range(words)]
    order = np.lexsort(columns[::-1])
    return Counted(np.stack(columns)[:, order], table["times"].to_numpy()[places][order])
