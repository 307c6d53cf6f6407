"""CSV, written from what classes publish.

All records of a class show the same. Each run of published columns is therefore put together, quoted and
encoded once per class, and a line is joined from a few such pieces; general writers format every cell of
every row anew (PyArrow's takes 1.7 times as long on a million records), and PyArrow's quotes every text there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.release.formulas import escaped
from rothko.release.kinds import cell_texts
from rothko.release.rows import Rows

BLOCK = 1 << 16
"""Lines that are joined at a time."""
LARGE = pa.large_string()
"""All pieces together may pass two gigabytes."""
Piece = tuple[pa.Array, NDArray[np.int32]]
"""Texts, and which of them each row shows."""


def write_csv(
    rows: Rows, file: BinaryIO, *, delimiter: str = ",", header: bool = True, escape: bool = True, threads: int = 1
) -> set[str]:
    """Write rows as CSV (RFC 4180, UTF-8, LF): quotes only where a field needs them, nothing for null.

    Parameters
    ----------
    header
        Without one they go on from rows that were written before.
    escape
        Put an apostrophe before cells that spreadsheets take for formulas.

    Returns
    -------
    The columns in which there were such cells.
    """
    count = len(rows.classes)
    cells = _Cells(escape)
    pieces = _pieces(rows, delimiter, cells)

    def block(begin: int) -> memoryview:
        """The bytes of some lines: joined, their texts lie one after the other."""
        shown = [index[begin : begin + BLOCK] for _, index in pieces]
        first = np.flatnonzero(_changes(shown))
        parts = [texts.take(pa.array(index[first])) for (texts, _), index in zip(pieces, shown, strict=True)]
        lines = _joined(parts, "")
        if len(first) < len(shown[0]):
            times = np.diff(first, append=len(shown[0]))
            lines = lines.take(pa.array(np.repeat(np.arange(len(first)), times)))
        ends = np.frombuffer(lines.buffers()[1], dtype=np.int64)
        return memoryview(lines.buffers()[2])[ends[0] : ends[len(lines)]]

    if header:
        file.write((delimiter.join(_fields(pa.array(rows.columns), delimiter).to_pylist()) + "\n").encode())
    with ThreadPoolExecutor(threads) as pool:
        for lines in _in_turn(pool, block, range(0, count, BLOCK), threads):
            file.write(lines)
    return cells.escaped


def _changes(shown: list[NDArray[np.int32]]) -> NDArray[np.bool_]:
    """Which rows show something else than the row before: rows that are alike stand together, and are joined once."""
    changes = np.zeros(len(shown[0]), dtype=np.bool_)
    changes[:1] = True
    for index in shown:
        changes[1:] |= index[1:] != index[:-1]
    return changes


class _Cells:
    """Values as the texts of cells, and the columns that had some to escape."""

    def __init__(self, escape: bool) -> None:
        self._escape = escape
        self.escaped: set[str] = set()

    def __call__(self, name: str, values: pa.Array) -> pa.Array:
        texts = cell_texts(values)
        safe = escaped(texts) if self._escape else texts
        if safe is not texts:
            self.escaped.add(name)
        return safe


def _pieces(rows: Rows, delimiter: str, cells: _Cells) -> list[Piece]:
    """Lines in pieces: neighbouring published columns together, by class; kept columns by their values."""
    # A lone empty field would be an empty line, which readers skip.
    empty = '""' if len(rows.columns) == 1 else ""
    pieces: list[Piece] = []
    for published, names in groupby(rows.names, key=lambda name: name in rows.published):
        if published:
            shown = [column for name in names for column in rows.published[name]]
            fields = [_fields(cells(c.name, c.values), delimiter, empty).take(pa.array(c.of_class)) for c in shown]
            pieces.append((_joined(fields, delimiter), rows.classes))
        else:
            pieces += [_kept(name, rows.kept[name], delimiter, empty, cells) for name in names]
    ends = [delimiter] * (len(pieces) - 1) + ["\n"]
    return [
        (_joined([texts, pa.scalar(end, LARGE)], ""), index) for (texts, index), end in zip(pieces, ends, strict=True)
    ]


def _kept(name: str, column: pa.ChunkedArray, delimiter: str, empty: str, cells: _Cells) -> Piece:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(cell_texts(array))
    texts = cells(name, array.dictionary)
    values = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
    indices = pc.fill_null(array.indices, len(array.dictionary)) if array.indices.null_count else array.indices
    return _fields(values, delimiter, empty), np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int32)


def _in_turn(
    pool: ThreadPoolExecutor, block: Callable[[int], memoryview], begins: range, threads: int
) -> Iterator[memoryview]:
    """The blocks in order, a few ahead of the one that is written: all of them at once would not fit."""
    waiting = []
    for begin in begins:
        waiting.append(pool.submit(block, begin))
        if len(waiting) > 2 * threads:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _fields(values: pa.Array, delimiter: str, empty: str = "") -> pa.Array:
    """Texts as fields: quoted where they need it."""
    quote, nothing = pa.scalar('"', LARGE), pa.scalar("", LARGE)
    values = pc.fill_null(values.cast(LARGE), nothing)
    special = pc.match_substring_regex(values, '["\r\n' + delimiter + "]")
    quoted = pc.binary_join_element_wise(quote, pc.replace_substring(values, '"', '""'), quote, nothing)
    fields = pc.if_else(special, quoted, values)
    return pc.if_else(pc.equal(fields, nothing), pa.scalar(empty, LARGE), fields) if empty else fields


def _joined(parts: list[pa.Array | pa.Scalar], separator: str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, pa.scalar(separator, LARGE))
