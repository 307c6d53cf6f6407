"""CSV, written from dictionaries.

A release shows few distinct values many times. Each is quoted and encoded once, and lines are joined from
these bytes; general writers format every cell anew, and PyArrow's quotes every text there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import as_text

BLOCK = 1 << 16
"""Lines that are joined at a time."""


def write_csv(table: pa.Table, path: Path, *, delimiter: str = ",", threads: int = 1) -> None:
    """Write a table as CSV (RFC 4180, UTF-8, LF): quotes only where a field needs them, nothing for null."""
    from rothko.kernels.text import join_fields

    columns = [_indexed(column) for column in table.columns]
    # A lone empty field would be an empty line, which readers skip.
    empty = '""' if table.num_columns == 1 else ""
    fields = [
        _terminated(values, delimiter if c + 1 < table.num_columns else "\n", delimiter, empty)
        for c, (values, _) in enumerate(columns)
    ]
    bases = np.cumsum([0, *(len(f) for f in fields[:-1])]).astype(np.int64)
    every = pa.concat_arrays(fields) if fields else pa.array([], pa.large_string())
    offsets = np.frombuffer(every.buffers()[1], dtype=np.int64)[: len(every) + 1]
    data = np.frombuffer(every.buffers()[2], dtype=np.uint8)

    def block(begin: int) -> NDArray[np.uint8]:
        end = min(begin + BLOCK, table.num_rows)
        indices = np.stack([index[begin:end] for _, index in columns])
        lines: NDArray[np.uint8] = join_fields(indices, bases, offsets, data, 0, end - begin)
        return lines

    header = "".join(_terminated(pa.array(table.column_names), delimiter, delimiter, empty).to_pylist())
    with path.open("wb") as file, ThreadPoolExecutor(threads) as pool:
        file.write((header.removesuffix(delimiter) + "\n").encode())
        for lines in _in_turn(pool, block, range(0, table.num_rows, BLOCK), threads):
            file.write(lines.data)


def _in_turn(
    pool: ThreadPoolExecutor, block: Callable[[int], NDArray[np.uint8]], begins: range, threads: int
) -> Iterator[NDArray[np.uint8]]:
    """The blocks in order, a few ahead of the one that is written: all of them at once would not fit."""
    waiting = []
    for begin in begins:
        waiting.append(pool.submit(block, begin))
        if len(waiting) > 2 * threads:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _indexed(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Texts and, for each row, which of them it shows; the last text is null."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(as_text(array))
    values = pa.concat_arrays([as_text(array.dictionary), pa.nulls(1, pa.string())])
    indices = pc.fill_null(array.indices, len(array.dictionary)) if array.indices.null_count else array.indices
    return values, np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int32)


def _terminated(values: pa.Array, end: str, delimiter: str, empty: str) -> pa.Array:
    """Fields as they are written, each with what follows it."""
    large = pa.large_string()  # all fields together may pass two gigabytes
    quote, nothing = pa.scalar('"', large), pa.scalar("", large)
    values = pc.fill_null(values.cast(large), nothing)
    special = pc.match_substring_regex(values, '["\r\n' + delimiter + "]")
    quoted = pc.binary_join_element_wise(quote, pc.replace_substring(values, '"', '""'), quote, nothing)
    fields = pc.if_else(special, quoted, values)
    if empty:
        fields = pc.if_else(pc.equal(fields, nothing), pa.scalar(empty, large), fields)
    return pc.binary_join_element_wise(fields, pa.scalar(end, large), nothing)
