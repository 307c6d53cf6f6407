"""A source: a table that can be read as a whole, or again and again in pieces of which only a few are in memory.

Arrow and Parquet trust what a file says of itself: an offset beyond its buffer, a code beyond its dictionary or
broken UTF-8 is found by whoever touches it, at worst by a segmentation fault. Everything that comes out of a reader is
therefore checked in full (:func:`sound`) before anything else looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.plain import as_plain
from rothko.data.source.csv import CsvOptions
from rothko.data.source.file_bytes import stamps
from rothko.data.source.years import refuse_other_years
from rothko.errors import InputError

PEEK = 10_000
"""Records that are looked at to tell how many bytes a table takes."""
PIECE_ROWS = 1 << 18
PIECE_BYTES = 1 << 25
"""How much of a source is read at a time: the fewer of so many records and so many bytes."""

DAMAGED = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError, SystemError)
"""What the readers of Arrow and Parquet raise over a damaged file: names that are no UTF-8, types that do not exist."""

Pieces = Callable[[Sequence[str], Collection[str], int, int], Iterator[pa.Table | pa.RecordBatch]]
"""The columns, which of them are text, how many records at a time, how many threads → the records."""


def as_arrow(table: pa.Table) -> pa.Table:
    """A table as it is: the way back to a table of Arrow, and for a file."""
    return table


@dataclass(slots=True)
class Taken:
    """What was read of a source so far, but for reading it as a whole."""

    passes: int = 0
    """Times that it was gone through from beginning to end."""
    bytes: int = 0

    def add(self, size: int, *, passes: int = 0) -> None:
        """Add passes, and the bytes that they and others have read."""
        self.passes += passes
        self.bytes += size


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read, known by its columns."""

    label: str
    """What messages call it: the file's name or the kind of dataframe."""
    names: tuple[str, ...]
    """Its columns."""
    path: Path | tuple[Path, ...] | None
    """The file it is in, if any; the folder, the pattern or the list, where these are several."""
    _read: Callable[[Sequence[str], Collection[str]], pa.Table]
    restore: Callable[[pa.Table], Any] = as_arrow
    """Turn an Arrow table into the kind of table that came in."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading it, for a person to see."""
    _pieces: Pieces | None = None
    rows: int | None = None
    """How many records it has, where that is known before they are read."""
    bytes: int = 0
    """How much a pass over the source reads, at most: the size of the file."""
    named: bool = True
    """Whether the names are surely names; of a text file, what is taken for the header may be a record."""
    _text_bytes: Callable[[Sequence[str]], int] | None = None
    _stamps: Mapping[Path, tuple[str | int, ...]] = field(default_factory=dict)
    """Of files that are gone through more than once: what tells each from what it is after a change."""
    _listed: Callable[[], Collection[Path]] | None = None
    """Of a folder: which files are there now."""
    _others: Collection[Path] = ()
    """Of a folder: files that are not read."""
    _first: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    """Of a text file: its first records as text, before any type is settled."""
    written_by: str = ""
    """Of a query: its method that writes the result to a Parquet file."""
    frame: Any = field(default=None, compare=False, repr=False)
    """Of a table on a cluster: what stands for it there."""
    parts: tuple[Path, ...] = ()
    """Of such a table: its Parquet files, where it is all that they hold."""
    text: bool = False
    """Whether its columns have no types."""
    schema: pa.Schema | None = field(default=None, compare=False, repr=False)
    """Of a file whose columns have types: these."""
    held: Any = field(default=None, compare=False, repr=False)
    """What must stay as long as this does: the private folder of the result of a query, the snapshot of a database."""
    form: CsvOptions | None = None
    """Of a text file: how it is written, where that is not as most are."""
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Columns whose values are labels with an order, as the file says → the labels in it."""
    labels: Mapping[str, Mapping[float, str]] = field(default_factory=dict, compare=False, repr=False)
    """Columns with labels of values, as the file has them → its numbers, and what each is called."""
    titles: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """What a file calls its columns beside their names."""
    unread: tuple[str, ...] = ()
    """Columns of types that are not read, which can only be dropped."""
    taken: Taken = field(default_factory=Taken, compare=False, repr=False)

    @property
    def in_memory(self) -> bool:
        """Whether all of it is in memory already."""
        return self.path is None and self.held is None

    def let_go(self) -> Source:
        """The same table after its last pass: known by what was told of it, while nothing is kept open for it."""
        if self.held is None:
            return self
        return replace(self, _read=_let_go, _pieces=None, _first=None, _text_bytes=None, held=None)

    def read(self, columns: Sequence[str] | None = None, *, as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, plain, without the source's metadata.

        Parameters
        ----------
        as_text
            Columns of a text file to leave as they are written, with no guess at their type.
        """
        with self._unchanged():
            table = self._read(self.names if columns is None else columns, as_text)
        if table.num_rows == 0:
            raise InputError(f"{self.label} has columns but no records.")
        return self._plain(table)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        as_text: Collection[str] = (),
        rows: int = PIECE_ROWS,
        threads: int = 1,
    ) -> Iterator[pa.Table]:
        """Go through the records in their order, some at a time; put together they are what :meth:`read` gives.

        A text file is gone through once more, before the first pass, to find the types of its columns.

        Parameters
        ----------
        as_text
            Columns of a text file to leave as they are written, with no guess at their type.
        rows
            How many records come at a time, about; fewer where they are long.
        """
        assert self._pieces is not None
        columns = self.names if columns is None else columns
        seen = 0
        with self._unchanged():
            for piece in of_size(self._pieces(columns, as_text, rows, threads), rows):
                seen += piece.num_rows
                yield self._plain(piece)
        self.taken.add(self.bytes, passes=1)
        if seen == 0:
            raise InputError(f"{self.label} has columns but no records.")
        if self.rows is not None and seen != self.rows:
            raise InputError(f"{self.label} is damaged: it should have {self.rows:,} records and has {seen:,}.")

    def peek(self, columns: Sequence[str], *, rows: int = PEEK) -> pa.Table | None:
        """Some of the first records; a text file is read no further than that takes, and its columns are left text.

        None where a text file has none, or its first lines cannot be read: a pass over it then says why.
        """
        if self._first is None:
            first = next(iter(self.batches(columns, rows=rows)))
        else:
            first = next(of_size(self._first(columns), rows), None)
        if first is not None:
            self.taken.add(min(first.nbytes, self.bytes))
        return first

    def size(self, columns: Sequence[str]) -> int:
        """About how many bytes the columns take as an Arrow table."""
        if self._text_bytes is not None:
            return self._text_bytes(columns)
        if self.rows is None:
            return self.bytes
        first = self.peek(columns)
        assert first is not None
        return int(-(-first.nbytes * self.rows // first.num_rows))

    def _plain(self, table: pa.Table) -> pa.Table:
        """Records in types that all that follows takes, with nothing beside them."""
        refuse_other_years(table, self.label)
        return _without_views(table.replace_schema_metadata(None))

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Read files that are those that were opened, before and after, whatever a reader says of others."""
        self._check()
        try:
            yield
        except Exception:  # whatever a reader stumbles over: it goes on, unless files have changed under it
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        """Refuse files that are not those that were opened: what was learned in one pass must hold in the next."""
        for path, now in zip(self._stamps, stamps(self._stamps), strict=True):
            if self._stamps[path] != now:
                what = "is gone" if not now else "has changed"
                of = "" if len(self._stamps) == 1 else f" of {self.label}"
                raise InputError(f"{path.name}{of} {what} while it was read; start again.")
        if self._listed is not None and {*self._listed()} != {*self._stamps, *self._others}:
            raise InputError(f"{self.label} has other files than when it was opened; start again.")


def _let_go(columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
    raise AssertionError("a table is read after its last pass")


def sound(read: pa.Table | pa.RecordBatch) -> Any:
    """What was read, checked to the last value; an error of Arrow where it is not what it says it is."""
    read.validate(full=True)
    return read


def of_size(pieces: Iterable[pa.Table | pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Small pieces put together and large ones cut, to so many records or so many bytes."""
    held: list[pa.Table] = []
    count, size = 0, 0
    for piece in pieces:
        table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
        if table.num_rows == 0:
            continue
        whole = table.nbytes  # takes a while of many small pieces, so it is asked for once
        step = max(min(rows, PIECE_BYTES * table.num_rows // max(whole, 1)), 1)
        for start in range(0, table.num_rows, step):
            part = table if step >= table.num_rows else table.slice(start, step)
            taken = whole if part is table else part.nbytes
            if held and (count + part.num_rows > rows or size + taken > PIECE_BYTES):
                yield pa.concat_tables(held)
                held, count, size = [], 0, 0
            held.append(part)
            count, size = count + part.num_rows, size + taken
    if held:
        yield pa.concat_tables(held)


def _without_views(table: pa.Table) -> pa.Table:
    """Columns that Arrow can put in another order: views and runs it cannot."""
    types = pa.types
    for i, one in enumerate(table.schema):
        column = table.column(i)
        if types.is_list_view(one.type) or types.is_large_list_view(one.type):
            lists = [_listed(chunk) for chunk in column.chunks]
            table = table.set_column(i, one.name, pa.chunked_array(lists, pa.large_list(one.type.value_field)))
        elif types.is_string_view(one.type) or types.is_binary_view(one.type) or types.is_run_end_encoded(one.type):
            table = table.set_column(i, one.name, as_plain(column))
    return table


def _listed(views: pa.Array) -> pa.LargeListArray:
    """A list for each view of one; PyArrow's own cast makes arrays that are too short."""
    starts = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(views), 0).to_numpy())])
    return pa.LargeListArray.from_arrays(
        pa.array(starts, pa.int64()), views.flatten(), type=pa.large_list(views.type.value_field), mask=views.is_null()
    )
