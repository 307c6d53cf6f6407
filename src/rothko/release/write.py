"""Writing: to a private folder beside the target, moved into place only when the caller says so.

What the file says beyond its rows is nothing: no schema of the input, no metadata, no statistics. The
format follows from the ending of the name.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from rothko import private
from rothko.errors import OutputError
from rothko.release.csv_writer import write_csv
from rothko.release.kinds import refuse_kinds
from rothko.release.rows import Rows

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


def as_rows(table: pa.Table) -> Rows:
    """A table as rows that show what they hold."""
    return Rows(tuple(table.column_names), {}, np.zeros(table.num_rows, dtype=np.int32), table)


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
            table = pa.concat_tables(self._waiting).unify_dictionaries().combine_chunks()
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
        pq.write_table(content, path, store_schema=False, write_statistics=False)
    else:
        with pq.ParquetWriter(path, content.schema, store_schema=False, write_statistics=False) as writer:
            for batch in content:
                writer.write_batch(batch)


@dataclass(slots=True)
class Staging:
    """Files on their way out: written to a private folder, then moved into place together or removed."""

    moves: list[tuple[Path, Path]] = field(default_factory=list)
    """From where to where, the data first."""
    made: Path | None = None
    """The folder that was made for the release."""
    _private: dict[Path, tuple[Path, FileIO]] = field(default_factory=dict)
    """Folder of some targets → the private one in it, and its lock."""

    def place_for(self, target: Path) -> Path:
        """Where to write what goes to the target: in a private folder beside it, under its name."""
        if target.parent not in self._private:
            with explained(target):
                self._private[target.parent] = private.make(target.parent, private.PARTIAL)
        temporary = self._private[target.parent][0] / target.name
        self.moves.append((temporary, target))
        return temporary

    def write(self, target: Path, content: Content) -> None:
        """Write what goes with the data."""
        temporary = self.place_for(target)
        with explained(target):
            write_content(content, temporary)

    def commit(self, *, stale: Iterable[Path] = ()) -> None:
        """Move everything into place, and remove what an older release left there that this one does not replace.

        Several files cannot be moved at once, and a process may be killed between two moves. So the data, which is
        what was placed first, goes last, and data that it replaces goes before anything else: wherever data is in
        place, all that vouches for it is there too, and is its own. What a kill may leave is a certificate or a
        recoding without data; of an older release, which is overwritten, the data is gone then. Keeping it until the
        end was turned down: for a moment, or for good, it would lie beside the certificate of other bytes. A file that
        goes by itself replaces the older one in a single step.
        """
        if len(self.moves) > 1:
            with explained(self.moves[0][1]):
                self.moves[0][1].unlink(missing_ok=True)
        for path in set(stale) - {target for _, target in self.moves}:
            with explained(path):
                path.unlink(missing_ok=True)
        for temporary, target in (*self.moves[1:], *self.moves[:1]):
            with explained(target):
                os.replace(temporary, target)
        self.moves.clear()
        self.made = None

    def clear(self) -> None:
        """Remove what was not committed."""
        for folder, lock in self._private.values():
            private.remove(folder, lock, os.getpid())
        if self.made is not None:
            with contextlib.suppress(OSError):
                self.made.rmdir()


@contextlib.contextmanager
def staging(folder: Path | None = None) -> Iterator[Staging]:
    """Make the folder if need be; remove what was not committed, whatever happens."""
    stage = Staging()
    if folder is not None and not folder.exists():
        with explained(folder):
            folder.mkdir(parents=True)
        stage.made = folder
    try:
        yield stage
    finally:
        stage.clear()


def output_place(out: Path, *, source: Path | None, overwrite: bool, suffix: str) -> tuple[Path, Path | None]:
    """Where the data goes, and the folder for what goes with it (None where a file was asked for).

    Parameters
    ----------
    out
        A file with an ending that can be written, or a folder (made if need be).
    source
        The input file, which is never overwritten.
    suffix
        The ending of the data file in a folder.
    """
    if out.name.lower().endswith(ENDINGS):
        data, folder = out, None
    elif out.suffix and not out.is_dir():
        raise OutputError(
            f"{out.name} has an ending that rothko does not write; it writes {', '.join(ENDINGS)}, or a folder."
        )
    else:
        data, folder = out / f"release{suffix}", out
        with explained(out):
            if out.exists() and not out.is_dir():
                raise OutputError(f"{str(out)!r} is a file; name a folder, or a file with one of {', '.join(ENDINGS)}.")
    for path in (data, *companions(data, folder)):
        _free(path, source, overwrite)
    _writable(
        data if folder is None or folder.is_dir() else next(p for p in folder.absolute().parents if p.is_dir()) / "x"
    )
    return data, folder


def output_file(out: Path, *, source: Path | None, overwrite: bool) -> Path:
    """The one file that is asked for, checked before any work is done."""
    if not out.name.lower().endswith(ENDINGS):
        raise OutputError(f"{out.name} has an ending that rothko does not write; it writes {', '.join(ENDINGS)}.")
    _free(out, source, overwrite)
    _writable(out)
    return out


def free_file(path: Path, *, overwrite: bool, source: Path | None = None) -> None:
    """Refuse a file of any ending that exists or cannot be written, before any work is done."""
    _free(path, source, overwrite)
    _writable(path)


def free_folder(folder: Path, names: Iterable[str], *, overwrite: bool) -> list[Path]:
    """Where files of these names go in a folder that is there or can be made, before any work is done."""
    with explained(folder):
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{str(folder)!r} is a file; name a folder.")
    paths = [folder / name for name in names]
    for path in paths:
        _free(path, None, overwrite)
    _writable(next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.is_dir()) / "x")
    return paths


def _free(path: Path, source: Path | None, overwrite: bool) -> None:
    with explained(path):
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder.")
        if source is not None and path.exists() and path.resolve() == source.resolve():
            raise OutputError("The output is the input; choose another name.")
        if path.exists() and not overwrite:
            raise OutputError(f"{str(path)!r} exists; use --overwrite to replace it.")


def _writable(path: Path) -> None:
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {str(path.parent)!r}.")
    with explained(path):
        private.remove(*private.make(path.parent, private.PARTIAL), os.getpid())


def companions(data: Path, folder: Path | None) -> tuple[Path, Path]:
    """Certificate and recoding: in the folder, or beside the file under its name."""
    if folder is not None:
        return folder / "certificate.json", folder / "recoding.json"
    return data.with_name(f"{data.stem}.certificate.json"), data.with_name(f"{data.stem}.recoding.json")


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
