"""The rows of a table on a cluster: handed to tasks by Spark, or read by them from Parquet files.

Spark hands rows to Python field by field, which takes longer than all that is done with them. Parquet files that lie
under one path for everybody are opened where they are needed instead: Spark then tells a task which groups of rows are
its own. What was selected, filtered or joined by Spark, and what lies elsewhere, Spark hands over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from rothko.data.plain import as_plain, plain_type
from rothko.data.source.csv import CsvOptions
from rothko.data.source.file_bytes import stamp
from rothko.data.source.parquet import open_parquet
from rothko.data.source.source import Source
from rothko.data.source.spark import selected
from rothko.data.source.spark_errors import understood
from rothko.data.source.written import Written
from rothko.engines.spark.cluster import Batches, Cluster, Opened, pieces
from rothko.errors import InputError

TASK_ROWS = 1 << 21
"""Records that a task reads, about: it hangs on the table alone, and so does which records are drawn for a sample."""


class Rows(Protocol):
    """Rows of which tasks make tables of Arrow."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Their columns."""
        ...

    @property
    def frame(self) -> Any:
        """What Spark divides among tasks."""
        ...

    @property
    def opened(self) -> Opened:
        """What makes tables of what a task is given; it is sent to where that lies."""
        ...

    def schema(self) -> pa.Schema:
        """The columns with their types."""
        ...

    def count(self) -> int:
        """How many there are."""
        ...

    def only(self, columns: Sequence[str]) -> Rows:
        """The same with some of the columns."""
        ...


def rows_of(cluster: Cluster, source: Source, columns: Sequence[str], written: Written) -> Rows:
    """The rows of a table that was opened by Spark."""
    if source.parts:
        return FileRows.of(cluster, source.parts, columns, written)
    return FrameRows(cluster, source.frame, written).only(columns)


@dataclass(frozen=True, slots=True)
class FrameRows:
    """Rows that Spark hands over."""

    cluster: Cluster
    frame: Any
    written: Written

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the frame."""
        return tuple(self.frame.columns)

    @property
    def opened(self) -> Opened:
        """Batches put together."""
        return partial(_handed, self.written)

    def schema(self) -> pa.Schema:
        """As Spark gives it to Arrow."""
        return self.written.table(self.cluster.collect(self.frame.limit(0))).schema

    def count(self) -> int:
        """A job of its own."""
        return self.cluster.count(self.frame)

    def only(self, columns: Sequence[str]) -> FrameRows:
        """Selected by Spark."""
        return FrameRows(self.cluster, selected(self.frame, columns), self.written)


@dataclass(frozen=True, slots=True)
class PartFile:
    """A Parquet file of a table."""

    path: str
    rows: int
    groups: int
    """Groups of rows in it."""
    stamp: tuple[str | int, ...]
    """Its size, and when it was written: the same for everybody who sees it."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows that tasks read themselves."""

    cluster: Cluster
    files: tuple[PartFile, ...]
    columns: tuple[str, ...]
    written: Written
    frame: Any
    """A number for each task."""
    tasks: int

    @classmethod
    def of(cls, cluster: Cluster, paths: Sequence[Path], columns: Sequence[str], written: Written) -> FileRows:
        """Those of some files of one schema."""
        files = tuple(map(_looked_at, paths))
        rows, groups = sum(file.rows for file in files), sum(file.groups for file in files)
        tasks = max(min(groups, -(-rows // TASK_ROWS)), 1)
        with understood():
            frame = cluster.session.range(0, tasks, 1, tasks)
        return cls(cluster, files, tuple(columns), written, frame, tasks)

    @property
    def opened(self) -> Opened:
        """What reads the groups of rows that a task has."""
        return partial(_read, self.files, self.tasks, self.columns, self.written)

    def schema(self) -> pa.Schema:
        """As the files have it, in plain types."""
        stored = pq.read_schema(self.files[0].path)
        fields = [pa.field(name, plain_type(stored.field(name).type)) for name in self.columns]
        return self.written.table(pa.schema(fields).empty_table()).schema

    def count(self) -> int:
        """What the files say."""
        return sum(file.rows for file in self.files)

    def only(self, columns: Sequence[str]) -> FileRows:
        """The same files, read less of."""
        return FileRows(self.cluster, self.files, tuple(columns), self.written, self.frame, self.tasks)


def _handed(written: Written, batches: Batches) -> Iterator[pa.Table]:
    """Batches of a frame, put together to what is worth a call."""
    return map(written.table, pieces(batches)) if written.changes else pieces(batches)


def _looked_at(path: Path) -> PartFile:
    with pq.ParquetFile(path) as file:
        about = file.metadata
        return PartFile(str(path.absolute()), about.num_rows, about.num_row_groups, stamp(path)[1:])


def _read(
    files: Sequence[PartFile], tasks: int, columns: Sequence[str], written: Written, batches: Batches
) -> Iterator[pa.Table]:
    """The rows that are those of the tasks whose numbers are given."""
    for batch in batches:
        for task in batch.column(0).to_pylist():
            for file, groups in groups_of(files, task, tasks):
                tables = _opened(file, groups).batches(columns)
                yield from map(written.table, map(_plain, tables))


def groups_of(files: Sequence[PartFile], task: int, tasks: int) -> Iterator[tuple[PartFile, range]]:
    """Which groups of rows of which files are those of a task: every task has about as many, all in their order.

    >>> files = [PartFile("a", 10, 2, ()), PartFile("b", 15, 3, ())]
    >>> [[(file.path, list(groups)) for file, groups in groups_of(files, task, 2)] for task in range(2)]
    [[('a', [0, 1])], [('b', [0, 1, 2])]]
    """
    ends = list(accumulate(file.groups for file in files))
    begin, end = task * ends[-1] // tasks, (task + 1) * ends[-1] // tasks
    while begin < end:
        at = bisect_right(ends, begin)
        first = ends[at] - files[at].groups
        until = min(end, ends[at])
        yield files[at], range(begin - first, until - first)
        begin = until


def _opened(file: PartFile, groups: Iterable[int]) -> Source:
    path = Path(file.path)
    if not path.is_file():
        raise InputError(
            f"An executor does not find {path.name} where the driver does: put the table where all see it under "
            "one path, or give a DataFrame."
        )
    before = stamp(path)
    if before[1:] != file.stamp:
        raise InputError(f"{path.name} has changed while it was read; start again.")
    return replace(open_parquet(path, CsvOptions(), groups=groups), _stamps={path: before})


def _plain(table: pa.Table) -> pa.Table:
    """The same in types that travel by themselves: a dictionary does not."""
    return pa.table([as_plain(column) for column in table.columns], names=table.column_names)
