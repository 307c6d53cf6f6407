"""Writing rows, and what goes with them, to a file.

What the file says beyond its rows is nothing: no schema of the input, no metadata, no statistics. The
format follows from the ending of the name.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko.errors import OutputError
from rothko.release.csv_writer import write_csv
from rothko.release.kinds import refuse_kinds
from rothko.release.rebuilt import rebuilt
from rothko.release.rows import Rows, assemble

ENDINGS = (".parquet", ".csv", ".tsv", ".arrow", ".feather")
ROW_GROUP = 1 << 20
"""The most rows of a row group of a Parquet file, and of what is put together at a time."""
SMALL_GROUP = 1 << 16
"""The fewest rows of one that is not the last."""
ARROW = ipc.IpcWriteOptions(compression="zstd")
"""How Arrow files are written."""
Content: TypeAlias = str | pa.Table | pa.RecordBatchReader
"""What goes with the data: text, or a table."""


def write_rows(rows: Rows, path: Path, *, escape: bool = True, threads: int = 1) -> set[str]:
    """Write rows in the format of the path's ending; returns the columns with cells that were escaped."""
    with RowsFile(path, escape=escape, threads=threads) as file:
        file.write(rows)
    return file.escaped


def write_table(table: pa.Table, path: Path, *, escape: bool = True) -> set[str]:
    """Write a table in the format of the path's ending; returns the columns with cells that were escaped."""
    return write_rows(as_rows(table), path, escape=escape)


def said_of(escaped: Iterable[str]) -> tuple[str, ...]:
    """What a person should know of cells that were escaped."""
    names = ", ".join(repr(name) for name in sorted(escaped))
    return (
        (
            f"Cells that a spreadsheet takes for formulas have an apostrophe before them, in {names}; "
            "csv: {escape-formulas: false} leaves them as they are.",
        )
        if names
        else ()
    )


def as_rows(table: pa.Table, order: NDArray[np.integer] | None = None) -> Rows:
    """A table as rows that show what they hold, in the order in which they leave (None: as they are)."""
    return assemble(table.column_names, {}, table, np.zeros(table.num_rows, dtype=np.int32), order, threads=1)


class RowsFile:
    """A file that rows are appended to, in the format of its ending; the first ones settle the types of its columns.

    Parameters
    ----------
    escape
        In text files, put an apostrophe before cells that spreadsheets take for formulas.
    private
        The file does not leave; see :func:`rothko.release.kinds.refuse_kinds`.
    """

    def __init__(self, path: Path, *, escape: bool = True, private: bool = False, threads: int = 1) -> None:
        self.path = path
        self.escaped: set[str] = set()
        """The columns with cells that were escaped."""
        self._private = private
        self._checked = False
        name = path.name.lower()
        self._format: _Csv | _Parquet | _Arrow
        if name.endswith((".csv", ".tsv")):
            self._format = _Csv(path, threads, "\t" if name.endswith(".tsv") else ",", escape, self.escaped)
        else:
            self._format = (_Parquet if name.endswith(".parquet") else _Arrow)(path, threads)

    def write(self, rows: Rows) -> None:
        """Append rows: a few hundred thousand at a time are put together, however many there are."""
        if not self._checked:
            refuse_kinds(rows.kept.schema, self.path, private=self._private)
            self._checked = True
        with explained(self.path):
            self._format.write(rows)

    def close(self) -> None:
        """Write what is left to write."""
        with explained(self.path):
            self._format.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Csv:
    def __init__(self, path: Path, threads: int, delimiter: str, escape: bool, escaped: set[str]) -> None:
        self._path, self._threads, self._delimiter = path, threads, delimiter
        self._escape, self._escaped = escape, escaped
        self._file: BinaryIO | None = None

    def write(self, rows: Rows) -> None:
        header = self._file is None
        self._file = self._file or self._path.open("wb")
        self._escaped |= write_csv(
            rows, self._file, delimiter=self._delimiter, header=header, escape=self._escape, threads=self._threads
        )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Parquet:
    """Published columns are dictionaries already: the writer stores them as they are, so they are cheap."""

    def __init__(self, path: Path, threads: int) -> None:
        self._path, self._threads = path, threads
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []

    def write(self, rows: Rows) -> None:
        for some in _slices(rows):
            table = some.to_arrow(threads=self._threads)
            # Statistics and the Arrow schema are left out: neither is needed, and both say more than the rows.
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


class _Arrow:
    def __init__(self, path: Path, threads: int) -> None:
        self._path, self._threads = path, threads
        self._writer: ipc.RecordBatchFileWriter | None = None

    def write(self, rows: Rows) -> None:
        for some in _slices(rows):
            table = decoded(some.to_arrow(threads=self._threads))
            if self._writer is None:
                self._schema = table.schema
                self._writer = ipc.new_file(str(self._path), self._schema, options=ARROW)
            self._writer.write_table(table.cast(self._schema), max_chunksize=1 << 16)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _slices(rows: Rows) -> Iterator[Rows]:
    """The rows, as many at a time as a row group has; no rows are one slice, which tells the columns."""
    for begin in range(0, max(len(rows.classes), 1), ROW_GROUP):
        some = rows.classes[begin : begin + ROW_GROUP]
        yield (
            rows
            if len(some) == len(rows.classes)
            else replace(rows, classes=some, kept=rows.kept.slice(begin, ROW_GROUP))
        )


def write_batches(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Write batches one after the other to a Parquet or CSV file, never all at once."""
    first = next(batches)
    csv = path.name.lower().endswith(".csv")
    with explained(path):
        writer = pcsv.CSVWriter(path, first.schema) if csv else pq.ParquetWriter(path, first.schema)
        with writer:
            for batch in itertools.chain([first], batches):
                writer.write(batch) if csv else writer.write_batch(batch)


def decoded(table: pa.Table) -> pa.Table:
    """The table with plain values in place of dictionaries."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def write_content(content: Content, path: Path) -> None:
    """Write what goes with the data: text, or a table as Parquet, batch by batch where it is a stream of them."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, pa.Table):
        pq.write_table(content, path, store_schema=False, write_statistics=False, write_page_checksum=True)
    else:
        with pq.ParquetWriter(
            path, content.schema, store_schema=False, write_statistics=False, write_page_checksum=True
        ) as writer:
            for batch in content:
                writer.write_batch(batch)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the file system says about writing a file into an error with the reason."""
    try:
        yield
    except OSError as error:
        reason = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the quota is used up",
            errno.EACCES: "permission is denied",
            errno.EPERM: "permission is denied",
            errno.EROFS: "the file system is read-only",
            errno.EFBIG: "the file would be too large",
            errno.ENAMETOOLONG: "its name is too long",
            errno.ENOTDIR: "a part of its path is a file",
        }.get(error.errno or 0, "the file system refuses it")
        raise OutputError(f"{str(path)!r} cannot be written: {reason}; nothing was released.") from None
