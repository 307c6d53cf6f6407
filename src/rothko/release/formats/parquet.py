"""Parquet, which has its own types, and neither durations nor intervals among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rothko.errors import VerificationError
from rothko.release.formats.format import Labels
from rothko.release.rebuilt import rebuilt
from rothko.release.rows import ROW_GROUP, Rows
from rothko.release.sql import files_in, parquet_rows

SMALL_GROUP = 1 << 16
"""The fewest rows of a row group that is not the last."""


class Parquet:
    """Statistics and the Arrow schema are left out: neither is needed, and both say more than the rows."""

    def writer(self, path: Path, *, threads: int, escape: bool, labels: Labels) -> _Writer:
        """A new file."""
        return _Writer(path, threads)

    def lacks(self, kind: pa.DataType, *, private: bool) -> bool:
        """Whether it has no type for some values; a duration is restored from its number."""
        types = pa.types
        odd = isinstance(kind, pa.BaseExtensionType) or types.is_interval(kind)
        return bool(odd or (types.is_duration(kind) and not private))

    def stored(self, schema: pa.Schema) -> pa.Schema:
        """What a file without rows says of the types."""
        empty = pa.BufferOutputStream()
        pq.write_table(schema.empty_table(), empty, store_schema=False)
        return pq.read_schema(pa.BufferReader(empty.getvalue()))

    def schema(self, path: Path) -> pa.Schema:
        """The columns of a file, as its bytes name them; of several, which must be the same."""
        first, *others = map(pq.read_schema, files_in(path))
        if not all(other.equals(first, check_metadata=True) for other in others):
            raise VerificationError(f"Verification failed: the files of {path.name} have different columns.")
        return first

    def tables(self, path: Path) -> Iterator[pa.Table]:
        """The rows of a file, some at a time; first none of them."""
        for one in files_in(path):
            with pq.ParquetFile(one, buffer_size=1 << 20, pre_buffer=False) as file:
                yield file.schema_arrow.empty_table()
                yield from (pa.Table.from_batches([batch]) for batch in file.iter_batches())

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """Its dictionaries tell values apart already."""
        return False

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a file be a table of all its columns."""
        names = self.schema(path).names
        columns = ", ".join(f"c{i}" for i in range(len(names)))
        rows = parquet_rows(path)
        if not same_names(connection.sql(f"SELECT * FROM {rows} LIMIT 0").columns, names):
            raise VerificationError(f"Verification failed: {path.name} is read with other columns than it has.")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {table}({columns}) AS SELECT * FROM {rows}")
        return tuple(names)


class _Writer:
    """Published columns are dictionaries already: they are stored as they are, so they are cheap."""

    def __init__(self, path: Path, threads: int) -> None:
        self.escaped: set[str] = set()
        self._path, self._threads = path, threads
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []

    def write(self, rows: Rows) -> None:
        for some in rows.slices():
            table = some.to_arrow(threads=self._threads)
            # A dictionary that is too large for a page would be written as plain text, value by value.
            self._writer = self._writer or pq.ParquetWriter(
                self._path,
                table.schema,
                compression="snappy",
                write_statistics=False,
                store_schema=False,
                dictionary_pagesize_limit=1 << 30,
            )
            self._waiting.append(table.cast(self._writer.schema))
            if sum(table.num_rows for table in self._waiting) >= SMALL_GROUP:
                self._flush()

    def _flush(self) -> None:
        """Write a row group: what is repeated in many small ones would outweigh the rows."""
        assert self._writer is not None
        table = self._waiting[0]
        if len(self._waiting) > 1:
            # Rebuilt: joined, dictionaries would tell in which part a value came first.
            table = pa.concat_tables(self._waiting)
            table = pa.table({name: rebuilt(table[name]) for name in table.column_names})
        self._waiting.clear()
        self._writer.write_table(table, row_group_size=ROW_GROUP)

    def close(self) -> None:
        if self._waiting:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def same_names(read: Sequence[str], names: Sequence[str]) -> bool:
    """Whether columns are read as the bytes name them; those that differ only in case SQL calls otherwise.

    >>> same_names(["a", "A_1", "b"], ["a", "A", "b"]), same_names(["a", "age"], ["a"])
    (True, False)
    """
    times = Counter(name.lower() for name in names)
    alike = (one == name or times[name.lower()] > 1 for one, name in zip(read, names, strict=False))
    return len(read) == len(names) and all(alike)
