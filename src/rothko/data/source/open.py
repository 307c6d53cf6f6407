"""Sources: files and dataframes of any kind, as one Arrow table, and back to the kind that came in.

CSV is read by DuckDB with a dialect that is settled first (:mod:`rothko.data.source.csv`), so that a
ragged line is an error and not a table with one column. Columns that a policy drops are never read.
A source is read as a whole, or again and again in pieces of which only a few are ever in memory.
Messages of the readers quote the lines they stumble over; none of that reaches the caller.

Arrow and Parquet trust what a file says of itself: an offset beyond its buffer, a code beyond its dictionary or
broken UTF-8 is found by whoever touches it, at worst by a segmentation fault. Everything that comes out of a reader is
therefore checked in full before anything else looks at it.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rothko.data.plain import as_plain
from rothko.data.source.csv import CsvDialect, CsvOptions, CsvTypes
from rothko.errors import InputError

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
PEEK = 10_000
"""Records that are looked at to tell how many bytes a table takes."""
PIECE_ROWS = 1 << 18
PIECE_BYTES = 1 << 25
"""How much of a source is read at a time: the fewer of so many records and so many bytes."""

DAMAGED = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError, SystemError)
"""What the readers of Arrow and Parquet raise over a damaged file: names that are no UTF-8, types that do not exist."""

Pieces = Callable[[Sequence[str], Collection[str], int, int], Iterator[pa.Table | pa.RecordBatch]]
"""The columns, which of them are text, how many records at a time, how many threads → the records."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read, known by its columns."""

    label: str
    """What messages call it: the file's name or the kind of dataframe."""
    names: tuple[str, ...]
    """Its columns."""
    path: Path | None
    """The file it is in, if any."""
    _read: Callable[[Sequence[str], Collection[str]], pa.Table]
    restore: Callable[[pa.Table], Any]
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
    _stamp: tuple[int, ...] = ()
    """Of a file that is gone through more than once: what tells it from what it is after a change."""

    def read(self, columns: Sequence[str] | None = None, *, as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, plain, without the source's metadata.

        Parameters
        ----------
        as_text
            Columns of a text file to leave as they are written, with no guess at their type.
        """
        table = self._read(self.names if columns is None else columns, as_text)
        if table.num_rows == 0:
            raise InputError(f"{self.label} has columns but no records.")
        return _without_views(table.replace_schema_metadata(None))

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
        self._check()
        for piece in _of_size(self._pieces(columns, as_text, rows, threads), rows):
            seen += piece.num_rows
            yield _without_views(piece.replace_schema_metadata(None))
        self._check()
        if seen == 0:
            raise InputError(f"{self.label} has columns but no records.")
        if self.rows is not None and seen != self.rows:
            raise InputError(f"{self.label} is damaged: it should have {self.rows:,} records and has {seen:,}.")

    def size(self, columns: Sequence[str]) -> int:
        """About how many bytes the columns take as an Arrow table."""
        if self._text_bytes is not None:
            return self._text_bytes(columns)
        if self.rows is None:
            return self.bytes
        first = next(iter(self.batches(columns, rows=PEEK)))
        return int(-(-first.nbytes * self.rows // first.num_rows))

    def _check(self) -> None:
        """Refuse a file that is not the one that was opened: what was learned in one pass must hold in the next."""
        if self.path is not None and self._stamp != _stamp(self.path):
            raise InputError(f"{self.label} has changed while it was read; start again.")


def open_source(data: Any, *, csv: CsvOptions | None = None, asked: Iterable[str] = ()) -> Source:
    """Open a path, a dataframe or a mapping of arrays.

    Parameters
    ----------
    asked
        Columns that will be looked for. Where a text file has none of them, what is taken for its header may be a
        record, and the names that other messages show would be cells: it is refused here, in one that shows none.

    >>> open_source({"age": [30, 40]}).names
    ('age',)
    """
    if isinstance(data, str | Path):
        stamp = _stamp(Path(data))
        source = replace(_open_file(Path(data), csv), _stamp=stamp)
    else:
        source = _open_frame(data)
    twice = [name for name, times in Counter(source.names).items() if times > 1]
    if twice and source.named:
        raise InputError(f"{source.label} has the column {twice[0]!r} {Counter(source.names)[twice[0]]} times.")
    if twice:
        places = [f"{i}" for i, name in enumerate(source.names, 1) if name == twice[0]]
        raise InputError(
            f"{source.label} has the same name for its columns {', '.join(places)}; if its first line is a record, use "
            "--no-header."
        )
    _refuse_unnamed(source, list(asked))
    return source


def _refuse_unnamed(source: Source, asked: Sequence[str]) -> None:
    if source.named or not asked or not set(asked).isdisjoint(source.names):
        return
    raise InputError(
        f"{source.label} has no such columns: none of the {len(asked)} that are asked for is among the "
        f"{len(source.names)} names in its first line; correct them or --delimiter, or use --no-header if that line is "
        "a record (--show-values lists what it holds).",
        values=source.names,
    )


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _open_file(path: Path, csv: CsvOptions | None) -> Source:
    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file in it.")
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty.")
    name = path.name.lower()
    if name.endswith(CSV_ENDINGS):
        return _open_csv(path, csv or CsvOptions())
    if name.endswith(PARQUET_ENDINGS):
        return _open_parquet(path)
    if name.endswith(ARROW_ENDINGS):
        return _open_arrow(path)
    known = ", ".join((*CSV_ENDINGS, *PARQUET_ENDINGS, *ARROW_ENDINGS))
    raise InputError(f"{path.name} has an ending that rothko does not know; it reads {known}.")


def _open_csv(path: Path, options: CsvOptions) -> Source:
    dialect = CsvDialect.sniff(path, options)

    def read(columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        return dialect.read(path, columns, as_text)

    settled: dict[tuple[str, bool], CsvTypes] = {}

    def pieces(columns: Sequence[str], as_text: Collection[str], _: int, __: int) -> Iterator[pa.RecordBatch]:
        # Settled once: a later pass may read fewer of the columns and must find the same types.
        keys = [(name, name in as_text) for name in columns]
        types = settled.get(keys[0])
        if types is None or any(settled.get(key) is not types for key in keys):
            types = dialect.settle(path, columns, as_text)
            settled.update(dict.fromkeys(keys, types))
        return dialect.stream(path, columns, types)

    return Source(
        path.name,
        dialect.names,
        path,
        read,
        _as_arrow,
        dialect.notes,
        _pieces=pieces,
        bytes=path.stat().st_size,
        named=dialect.named,
        _text_bytes=lambda columns: dialect.table_bytes(path, columns),
    )


def _open_parquet(path: Path) -> Source:
    damaged = f"{path.name} is damaged or cut short: its columns cannot be read."
    try:
        with pq.ParquetFile(path) as file:
            names, about = tuple(file.schema_arrow.names), file.metadata
    except DAMAGED:
        raise InputError(f"{path.name} is not a Parquet file, or it is damaged or cut short.") from None

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        try:
            with pq.ParquetFile(path) as file:
                # One chunk per column, as a whole: the ranks are taken over all values anyway.
                return _sound(file.read(columns=list(columns)).select(list(columns))).combine_chunks()
        except DAMAGED:
            raise InputError(damaged) from None

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        stored = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        rows = max(min(rows, PIECE_BYTES * about.num_rows // max(stored, 1)), 1)
        try:
            # Through a buffer: a group of rows is not read at once, and may be larger than memory.
            with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, columns=list(columns), use_threads=threads > 1):
                    yield _sound(batch.select(list(columns)))  # asked for "a", the reader brings "a.b", too
        except DAMAGED:
            raise InputError(damaged) from None

    size = path.stat().st_size
    return Source(path.name, names, path, read, _as_arrow, _pieces=pieces, rows=about.num_rows, bytes=size)


def _open_arrow(path: Path) -> Source:
    unread = f"{path.name} is not an Arrow or Feather file, or it is damaged or cut short."

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        try:
            with pa.OSFile(str(path)) as file, pa.ipc.open_file(file, options=_only(columns, names)) as reader:
                return _sound(reader.read_all()).select(list(columns))
        except DAMAGED:
            raise InputError(unread) from None

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        try:
            yield from _mapped_batches(path, columns, rows, threads)
        except DAMAGED:
            raise InputError(unread) from None

    try:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            names, rows = tuple(reader.schema.names), reader.count_rows()
    except DAMAGED:
        raise InputError(unread) from None
    return Source(path.name, names, path, read, _as_arrow, _pieces=pieces, rows=rows, bytes=path.stat().st_size)


def _only(columns: Sequence[str], names: Sequence[str], *, threads: int = 0) -> pa.ipc.IpcReadOptions:
    """How to read some columns of an Arrow file, and nothing of the others."""
    return pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in columns], use_threads=threads != 1)


def _mapped_batches(path: Path, columns: Sequence[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow file, in slices: one of them may hold all records."""
    with path.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    memory = pa.py_buffer(mapped)
    file = pa.BufferReader(memory)
    with pa.ipc.open_file(file) as whole:
        some = _only(columns, whole.schema.names, threads=threads)
        compressed = whole.num_record_batches > 0 and not _lies_in(memory, whole.get_batch(0))
    # Asked for some columns, the reader copies them; it must be asked where it would unpack all others, too.
    options = some if compressed else pa.ipc.IpcReadOptions(use_threads=threads > 1)
    with pa.ipc.open_file(file, options=options) as reader:
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i).select(list(columns))
            # A slice of a nested column has all that lies below the column, which is checked once and not in each.
            nested = [one.name for one in batch.schema if one.type.num_fields]
            _sound(batch.select(nested))
            flat = [one.name for one in batch.schema if not one.type.num_fields]
            for start in range(0, batch.num_rows, rows):
                _sound(batch.select(flat).slice(start, rows))
                yield batch.slice(start, rows)
                if hasattr(mapped, "madvise"):  # pages that were read would count as memory of this process
                    mapped.madvise(mmap.MADV_DONTNEED)


def _sound(read: pa.Table | pa.RecordBatch) -> Any:
    """What was read, checked to the last value; an error of Arrow where it is not what it says it is."""
    read.validate(full=True)
    return read


def _lies_in(memory: pa.Buffer, batch: pa.RecordBatch) -> bool:
    """Whether a batch is part of a file that is mapped to memory, and not a copy of it."""
    parts = [part for column in batch.columns for part in column.buffers() if part is not None and part.size]
    return all(memory.address <= part.address < memory.address + memory.size for part in parts)


def _open_frame(data: Any) -> Source:
    label = f"the {type(data).__module__.split('.')[0]} {type(data).__name__}"
    if nw.dependencies.is_pandas_dataframe(data):
        names = tuple(str(name) for name in data.columns)
        if len(set(names)) < len(names):  # Arrow refuses them with a message of its own
            return Source(label, names, None, lambda columns, _: pa.table({}), _as_arrow)
    try:
        table, restore = _to_arrow(data)
    except (pa.ArrowException, ValueError, TypeError):
        # The readers' messages quote the value that does not fit.
        raise InputError(f"{label} cannot be turned into an Arrow table: a column mixes types or has none.") from None
    try:
        _sound(table)
    except pa.ArrowException:
        raise InputError(f"{label} is damaged: a column points beyond its values, or its text is not UTF-8.") from None
    return Source(
        label,
        tuple(table.column_names),
        None,
        lambda columns, _: table.select(list(columns)),
        restore,
        _pieces=lambda columns, _, __, ___: iter([table.select(list(columns))]),
        rows=table.num_rows,
        bytes=table.nbytes,
    )


def _to_arrow(data: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """An Arrow table from a dataframe, and the way back."""
    if isinstance(data, pa.Table):
        return data, _as_arrow
    if isinstance(data, dict):
        return pa.table(data), lambda table: {
            n: c.to_numpy() for n, c in zip(table.column_names, table.columns, strict=True)
        }
    if isinstance(data, duckdb.DuckDBPyRelation):
        return data.to_arrow_table(), lambda table: duckdb.from_arrow(table)
    if nw.dependencies.is_pandas_dataframe(data):
        # Without the index: original row numbers would tell records apart.
        return pa.Table.from_pandas(data, preserve_index=False), lambda table: table.to_pandas()
    try:
        frame = nw.from_native(data)
    except TypeError:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data), _as_arrow
        raise InputError(
            f"Data of type {type(data).__name__} is not a table; give a path, a pandas, Polars or Arrow table, "
            "a DuckDB relation or a dict of arrays."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        eager = frame.collect()
        backend = eager.implementation
        return eager.to_arrow(), lambda table: nw.from_arrow(table, backend=backend).lazy().to_native()
    return frame.to_arrow(), lambda table: nw.from_arrow(table, backend=frame.implementation).to_native()


def _of_size(pieces: Iterable[pa.Table | pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Small pieces put together and large ones cut, to so many records or so many bytes."""
    held: list[pa.Table] = []
    count, size = 0, 0
    for piece in pieces:
        table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
        if table.num_rows == 0:
            continue
        step = max(min(rows, PIECE_BYTES * table.num_rows // max(table.nbytes, 1)), 1)
        for start in range(0, table.num_rows, step):
            part = table.slice(start, step)
            if held and (count + part.num_rows > rows or size + part.nbytes > PIECE_BYTES):
                yield pa.concat_tables(held)
                held, count, size = [], 0, 0
            held.append(part)
            count, size = count + part.num_rows, size + part.nbytes
    if held:
        yield pa.concat_tables(held)


def _without_views(table: pa.Table) -> pa.Table:
    """Columns that Arrow can put in another order: views and runs it cannot."""
    types = pa.types
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if types.is_list_view(field.type) or types.is_large_list_view(field.type):
            lists = [_listed(chunk) for chunk in column.chunks]
            table = table.set_column(i, field.name, pa.chunked_array(lists, pa.large_list(field.type.value_field)))
        elif (
            types.is_string_view(field.type) or types.is_binary_view(field.type) or types.is_run_end_encoded(field.type)
        ):
            table = table.set_column(i, field.name, as_plain(column))
    return table


def _listed(views: pa.Array) -> pa.LargeListArray:
    """A list for each view of one; PyArrow's own cast makes arrays that are too short."""
    starts = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(views), 0).to_numpy())])
    return pa.LargeListArray.from_arrays(
        pa.array(starts, pa.int64()), views.flatten(), type=pa.large_list(views.type.value_field), mask=views.is_null()
    )


def _as_arrow(table: pa.Table) -> pa.Table:
    return table
