"""Arrow (Feather), which has every type."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc as ipc

from rothko.release.formats.format import Labels
from rothko.release.rows import Rows, decoded
from rothko.release.sql import Batches

OPTIONS = ipc.IpcWriteOptions(compression="zstd")
"""How files are written."""


class Arrow:
    """Plain values: dictionaries would have to be the same in every batch."""

    def writer(self, path: Path, *, threads: int, escape: bool, labels: Labels) -> _Writer:
        """A new file."""
        return _Writer(path, threads)

    def lacks(self, kind: pa.DataType, *, private: bool) -> bool:
        """It has a type for everything."""
        return False

    def stored(self, schema: pa.Schema) -> pa.Schema:
        """The same."""
        return schema

    def schema(self, path: Path) -> pa.Schema:
        """The columns of a file, as its bytes name them."""
        with pa.OSFile(str(path)) as file:
            return ipc.open_file(file).schema

    def tables(self, path: Path) -> Iterator[pa.Table]:
        """The rows of a file, some at a time; first none of them."""
        yield self.schema(path).empty_table()
        yield from (pa.Table.from_batches([batch]) for batch in _batches(path))

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """Its dictionaries tell values apart already."""
        return False

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a file be a table of the columns that are used, of which one batch at a time is in memory."""
        schema = self.schema(path)
        places = [i for i, name in enumerate(schema.names) if name in used]
        names = [f"c{i}" for i in places]

        def read() -> Iterator[pa.RecordBatch]:
            yield from (pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in _batches(path, places))

        connection.register(table, Batches(pa.schema([(f"c{i}", schema.types[i]) for i in places]), read))
        return tuple(schema.names)


def _batches(path: Path, used: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
    options = ipc.IpcReadOptions(included_fields=used)
    with pa.OSFile(str(path)) as opened:
        file = ipc.open_file(opened, options=options)
        for i in range(file.num_record_batches):
            yield file.get_batch(i)


class _Writer:
    def __init__(self, path: Path, threads: int) -> None:
        self.escaped: set[str] = set()
        self._path, self._threads = path, threads
        self._writer: ipc.RecordBatchFileWriter | None = None

    def write(self, rows: Rows) -> None:
        for some in rows.slices():
            table = decoded(some.to_arrow(threads=self._threads))
            if self._writer is None:
                self._schema = table.schema
                self._writer = ipc.new_file(str(self._path), self._schema, options=OPTIONS)
            self._writer.write_table(table.cast(self._schema), max_chunksize=1 << 16)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
