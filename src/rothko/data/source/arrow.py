"""Arrow and Feather files: mapped to memory, since one batch of a file may hold all its records."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from rothko.data.address import is_store
from rothko.data.source.csv import CsvOptions
from rothko.data.source.file_bytes import by_range, size_of, unread
from rothko.data.source.source import DAMAGED, Source, sound


def open_arrow(path: Path, _: CsvOptions) -> Source:
    """Open an Arrow or Feather file."""
    damaged = f"{path.name} is not an Arrow or Feather file, or it is damaged or cut short."

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        try:
            with _opened(path) as file, pa.ipc.open_file(file, options=_only(columns, names)) as reader:
                return sound(reader.read_all()).select(list(columns))
        except DAMAGED:
            raise unread(path, damaged) from None

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        try:
            batches = _read_batches if is_store(path) else _mapped_batches
            yield from batches(path, columns, rows, threads)
        except DAMAGED:
            raise unread(path, damaged) from None

    try:
        with _opened(path) as file, pa.ipc.open_file(file) as reader:
            names, schema, rows = tuple(reader.schema.names), reader.schema, reader.count_rows()
    except DAMAGED:
        raise unread(path, damaged) from None
    return Source(path.name, names, path, read, _pieces=pieces, rows=rows, bytes=size_of(path), schema=schema)


def _opened(path: Path) -> pa.NativeFile:
    found = by_range(path)
    return pa.OSFile(found) if isinstance(found, str) else found


def _only(columns: Sequence[str], names: Sequence[str], *, threads: int = 0) -> pa.ipc.IpcReadOptions:
    """How to read some columns of an Arrow file, and nothing of the others."""
    return pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in columns], use_threads=threads != 1)


def _read_batches(path: Path, columns: Sequence[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow file in a store, each read as a whole: nothing there can be mapped to memory."""
    with _opened(path) as file, pa.ipc.open_file(file) as whole:
        names = whole.schema.names
        with pa.ipc.open_file(file, options=_only(columns, names, threads=threads)) as reader:
            for i in range(reader.num_record_batches):
                batch = sound(reader.get_batch(i)).select(list(columns))
                yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


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
            sound(batch.select(nested))
            flat = [one.name for one in batch.schema if not one.type.num_fields]
            for start in range(0, batch.num_rows, rows):
                sound(batch.select(flat).slice(start, rows))
                yield batch.slice(start, rows)
                if hasattr(mapped, "madvise"):  # pages that were read would count as memory of this process
                    mapped.madvise(mmap.MADV_DONTNEED)


def _lies_in(memory: pa.Buffer, batch: pa.RecordBatch) -> bool:
    """Whether a batch is part of a file that is mapped to memory, and not a copy of it."""
    parts = [part for column in batch.columns for part in column.buffers() if part is not None and part.size]
    return all(memory.address <= part.address < memory.address + memory.size for part in parts)
