"""Parquet files: as a whole, or a few records at a time, however large a group of rows is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rothko.data.source.csv import CsvOptions
from rothko.data.source.file_bytes import SMALL, by_range, size_of, unread
from rothko.data.source.source import DAMAGED, PIECE_BYTES, Source, sound


def open_parquet(path: Path, _: CsvOptions, *, groups: Iterable[int] | None = None) -> Source:
    """Open a Parquet file, or some groups of its rows."""
    damaged = f"{path.name} is damaged or cut short: its columns cannot be read."
    try:
        with pq.ParquetFile(by_range(path)) as file:
            schema, about = file.schema_arrow, file.metadata
            chosen = list(range(about.num_row_groups) if groups is None else groups)
            stored = [(about.row_group(i).num_rows, about.row_group(i).total_byte_size) for i in chosen]
    except DAMAGED:
        raise unread(path, f"{path.name} is not a Parquet file, or it is damaged or cut short.") from None
    names = tuple(schema.names)
    there, held = sum(count for count, _ in stored), sum(size for _, size in stored)
    spread = held > SMALL  # below, threads cost more than they spare

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        try:
            with pq.ParquetFile(by_range(path), metadata=about) as file:
                table = file.read_row_groups(chosen, columns=list(columns), use_threads=spread)
                # One chunk per column, as a whole: the ranks are taken over all values anyway.
                return sound(table.select(list(columns))).combine_chunks()
        except DAMAGED:
            raise unread(path, damaged) from None

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        rows = max(min(rows, PIECE_BYTES * there // max(held, 1)), 1)
        try:
            # Through a buffer: a group of rows is not read at once, and may be larger than memory.
            with pq.ParquetFile(by_range(path), metadata=about, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, chosen, list(columns), use_threads=threads > 1 and spread):
                    yield sound(batch.select(list(columns)))  # asked for "a", the reader brings "a.b", too
        except DAMAGED:
            raise unread(path, damaged) from None

    return Source(path.name, names, path, read, _pieces=pieces, rows=there, bytes=size_of(path), schema=schema)
