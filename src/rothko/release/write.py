"""Writing rows, and what goes with them, to a file.

What the file says beyond its rows is nothing: no schema of the input, no metadata, no statistics. The
format follows from the ending of the name.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko.errors import OutputError
from rothko.release.formats.format import Labels, Writer
from rothko.release.formats.table import file_format, refuse_kinds
from rothko.release.parts import PartsWriter
from rothko.release.rows import Rows, assemble

Content: TypeAlias = str | pa.Table | pa.RecordBatchReader
"""What goes with the data: text, or a table."""


def write_rows(
    rows: Rows,
    path: Path,
    *,
    escape: bool = True,
    threads: int = 1,
    parts: int | None = None,
    labels: Labels | None = None,
) -> set[str]:
    """Write rows in the format of the path's ending; returns the columns with cells that were escaped."""
    with RowsFile(path, escape=escape, threads=threads, parts=parts, labels=labels) as file:
        file.write(rows)
    return file.escaped


def write_table(table: pa.Table, path: Path, *, escape: bool = True, labels: Labels | None = None) -> set[str]:
    """Write a table in the format of the path's ending; returns the columns with cells that were escaped."""
    return write_rows(as_rows(table), path, escape=escape, labels=labels)


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
        The file does not leave; see :func:`rothko.release.formats.table.refuse_kinds`.
    parts
        Make it a folder of files of about so many bytes; see :mod:`rothko.release.parts`.
    labels
        Of columns that leave as they were read, from files that have labels of values.
    """

    def __init__(
        self,
        path: Path,
        *,
        escape: bool = True,
        private: bool = False,
        threads: int = 1,
        parts: int | None = None,
        labels: Labels | None = None,
    ) -> None:
        self.path = path
        self._private, self._checked = private, False
        form = file_format(path)
        self._writer: Writer
        if parts is None:
            self._writer = form.writer(path, threads=threads, escape=escape, labels=labels or {})
        else:
            with explained(path):
                self._writer = PartsWriter(path, form, parts, threads=threads, escape=escape)

    @property
    def escaped(self) -> set[str]:
        """The columns with cells that were escaped."""
        return self._writer.escaped

    def write(self, rows: Rows) -> None:
        """Append rows: a few hundred thousand at a time are put together, however many there are."""
        if not self._checked:
            refuse_kinds(rows.kept.schema, self.path, private=self._private)
            self._checked = True
        with explained(self.path):
            self._writer.write(rows)

    def close(self) -> None:
        """Write what is left to write."""
        with explained(self.path):
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_batches(batches: Iterable[pa.RecordBatch], path: Path) -> None:
    """Write batches one after the other, never all at once, in the format of the path's ending."""
    with RowsFile(path, escape=False) as file:
        for batch in batches:
            file.write(as_rows(pa.Table.from_batches([batch])))


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
