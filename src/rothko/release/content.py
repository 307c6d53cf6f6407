r"""The hash of what a table holds, whatever the order of its rows and whichever database has it.

It is that of the text which PostgreSQL's ``COPY`` writes of the different rows: a line for each, with how often it is
there, tabs between, ``\N`` for a missing value, a backslash for what would end a value or a line, in the order of the
texts, the first column first, missing ones last. So nobody needs rothko to compute it, ``psql`` and ``sha256sum`` do.

A table is sorted by codes: values are ranked once each, a row is one number or a few, and texts are put together only
when the order is known. To sort the texts, or hash each row by itself, takes twice as long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko.progress import ahead, count_threads
from rothko.release.formats.by_database import TIMES
from rothko.release.sql import connect

AT_ONCE = 1 << 17
"""Rows whose texts are put together at a time."""
ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
BITS = 63
"""Of a number that rows are sorted as."""
MISSING, TAB, END, NOTHING = (pa.scalar(sign, pa.large_string()) for sign in ("\\N", "\t", "\n", ""))


def content_hash(counted: Path) -> str:
    """The hash of the content of a table, from its rows, or its different rows and how often each is there."""
    schema = pq.read_schema(counted)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    table = pq.read_table(counted, read_dictionary=texts)
    times = table[TIMES].to_numpy() if TIMES in table.column_names else None
    with connect(1) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        columns = [_ranked(connection, table[name]) for name in table.column_names if name != TIMES]
    codes, counts = _different(columns, times)
    number = pa.array(counts).dictionary_encode()  # most rows are there as often as others
    ends = pc.binary_join_element_wise(number.dictionary.cast(pa.large_string()), NOTHING, END)

    def lines(begin: int) -> pa.Buffer:
        some = slice(begin, begin + AT_ONCE)
        values = [words.take(pa.array(own[some])) for own, (_, words) in zip(codes, columns, strict=True)]
        return pc.binary_join_element_wise(*values, ends.take(number.indices[some]), TAB).buffers()[2]

    found = hashlib.sha256()
    for some in ahead(lines, range(0, len(counts), AT_ONCE), count_threads(None)):
        found.update(some)
    return found.hexdigest()


def _ranked(connection: duckdb.DuckDBPyConnection, column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """The rank of each value among the texts of a column, which are in the order of their bytes, missing ones last."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    # A column of no chunks has none when they are combined.
    coded = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    words = coded.dictionary if pa.types.is_string(coded.dictionary.type) else _texts(connection, coded.dictionary)
    different = words.dictionary_encode()  # two numbers that are none are written alike
    order = pc.array_sort_indices(different.dictionary)
    ranks = np.empty(len(order) + 1, dtype=np.int32)
    ranks[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    ranks[-1] = len(order)
    of_word = ranks[different.indices.to_numpy()]
    codes = np.append(of_word, ranks[-1])[pc.fill_null(coded.indices, len(words)).to_numpy()]
    shown = _escaped(different.dictionary.take(order).cast(pa.large_string()))
    return codes, pa.concat_arrays([shown, pa.array([MISSING])])


def _texts(connection: duckdb.DuckDBPyConnection, values: pa.Array) -> pa.Array:
    """Values as DuckDB writes them."""
    rows = pa.table({"place": np.arange(len(values)), "value": values})
    found = connection.from_arrow(rows).project("place, CAST(value AS VARCHAR) AS value").to_arrow_table()
    return found.sort_by("place")["value"].combine_chunks()  # rows come in any order


def _escaped(words: pa.Array) -> pa.Array:
    for sign, written in ESCAPES.items():
        if pc.any(pc.match_substring(words, sign), min_count=0).as_py():
            words = pc.replace_substring(words, sign, written)
    return words


def _different(
    columns: Sequence[tuple[NDArray[np.int32], pa.Array]], times: NDArray[np.int64] | None
) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
    """The different rows in their order, the first column first: the codes of each column, and how often each is there.

    As many columns as fit make one number. Rows that are one number each are sorted as such, which takes half of
    finding out in which order they are.
    """
    keys: list[NDArray[np.int64]] = []
    room: list[list[int]] = []
    for codes, words in columns:
        width = max(len(words) - 1, 1).bit_length()
        if not room or sum(room[-1]) + width > BITS:
            keys.append(codes.astype(np.int64))
            room.append([width])
        else:
            keys[-1] = keys[-1] << width | codes
            room[-1].append(width)
    if len(keys) == 1 and times is None:
        keys[0].sort()
    else:
        order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
        times = None if times is None else times[order]
    begins = _begins(keys)
    counts = np.diff(begins, append=len(keys[0]))
    if times is not None and len(begins):
        counts = np.add.reduceat(times, begins)
    found: list[NDArray[np.int32]] = []
    for key, widths in zip(reversed(keys), reversed(room), strict=True):
        rest = key[begins]
        for width in reversed(widths):
            found.insert(0, (rest & ((1 << width) - 1)).astype(np.int32))
            rest = rest >> width
    return found, counts


def _begins(by: Sequence[NDArray[np.integer]]) -> NDArray[np.intp]:
    """Where rows begin that differ from the one before, in an order in which equal ones stand together."""
    new = np.zeros(len(by[0]), dtype=np.bool_)
    new[:1] = True
    for codes in by:
        new[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(new)
