"""The rows of a release: published values for every record, in an order that tells nothing.

The order is drawn by hashing what each row *shows* together with the seed, and sorting by the hash. It
depends on which rows there are, not on how the input had them: whoever knows the seed (the certificate
names it) and the release can draw the same order again and learn nothing. Were the order a permutation
drawn from the seed, they could undo it and see the rows as they stood in the input. Nothing internal goes
into the hash: by the number of a class, rows of classes that show the same could be told apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.progress import each
from rothko.release.publish import Published
from rothko.release.rebuilt import rebuilt

NULL = np.uint64(0x6E756C6C)
BLOCK = 1 << 18
"""Rows that are hashed at a time: what is kept of them meanwhile lies in memory that is used again."""
ROW_GROUP = 1 << 20
"""The most rows of a row group of a Parquet file, and of what is put together at a time."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a release: what each class publishes, the class of each row, and the columns that are kept."""

    names: tuple[str, ...]
    """The columns in the order of the input; a quasi-identifier stands for its published columns."""
    published: Mapping[str, Sequence[Published]]
    """Quasi-identifier → its published columns."""
    classes: NDArray[np.int32]
    """The class of each row."""
    kept: pa.Table
    """The columns that are released as they are, row by row."""

    @property
    def columns(self) -> list[str]:
        """The names of the released columns."""
        return [n for name in self.names for n in ([c.name for c in self.published.get(name, ())] or [name])]

    @property
    def published_names(self) -> dict[str, tuple[str, ...]]:
        """Quasi-identifier → the names of its published columns."""
        return {name: tuple(column.name for column in shown) for name, shown in self.published.items()}

    @property
    def schema(self) -> pa.Schema:
        """The types of the released columns."""
        kinds = {field.name: field.type for field in self.kept.schema}
        kinds |= {column.name: column.values.type for columns in self.published.values() for column in columns}
        plain = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
        return pa.schema([(name, plain[name]) for name in self.columns])

    def of_nobody(self) -> Rows:
        """The same columns, without rows."""
        published = {name: tuple(column.of_nobody() for column in shown) for name, shown in self.published.items()}
        return Rows(self.names, published, np.empty(0, dtype=np.int32), self.kept.schema.empty_table())

    def slices(self, rows: int = ROW_GROUP) -> Iterator[Rows]:
        """The rows, as many at a time as a row group has; no rows are one slice, which tells the columns."""
        for begin in range(0, max(len(self.classes), 1), rows):
            some = self.classes[begin : begin + rows]
            whole = len(some) == len(self.classes)
            yield self if whole else replace(self, classes=some, kept=self.kept.slice(begin, rows))

    def to_arrow(self, *, threads: int = 1) -> pa.Table:
        """The rows as an Arrow table; published texts are dictionaries of what is shown."""
        shown = [column for columns in self.published.values() for column in columns]
        rows = each(lambda column: column.by(self.classes), shown, threads)
        arrays: dict[str, Any] = dict(zip([column.name for column in shown], rows, strict=True))
        arrays |= dict(zip(self.kept.column_names, self.kept.columns, strict=True))
        return pa.table({name: arrays[name] for name in self.columns})


def decoded(table: pa.Table) -> pa.Table:
    """The table with plain values in place of dictionaries."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def columns_of(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    """Names and columns of a table."""
    return list(zip(table.column_names, table.columns, strict=True))


def assemble(
    names: Sequence[str],
    published: Mapping[str, Sequence[Published]],
    kept: pa.Table,
    classes: NDArray[np.int32],
    order: NDArray[np.integer] | None,
    *,
    threads: int,
) -> Rows:
    """The released rows.

    Parameters
    ----------
    kept
        The columns that are released as they are, record by record.
    classes
        The class of each record.
    order
        The records in the order in which they leave; None for that of the input.
    """
    columns = dict(
        zip(kept.column_names, each(lambda name: rebuilt(kept[name], order), kept.column_names, threads), strict=True)
    )
    leaving = tuple(name for name in names if name in published or name in columns)
    return Rows(leaving, published, classes if order is None else classes[order], pa.table(columns))


def random_order(
    kept: pa.Table,
    seed: int,
    *,
    shown: Iterable[Published] = (),
    classes: NDArray[np.integer] | None = None,
    threads: int = 1,
) -> NDArray[np.int32]:
    """The records in an order that depends on the seed and on what the rows show, not on the order of the input.

    Parameters
    ----------
    kept
        The columns that are released as they are, record by record.
    shown
        What classes publish, where the rows are of more than one.
    classes
        The class of each record.

    Examples
    --------
    >>> order = random_order(pa.table({"sex": ["f", "m", "f"]}), seed=0)
    >>> sorted(order.tolist())
    [0, 1, 2]
    """
    from rothko.kernels.order import order_by_key

    keys = row_keys(kept, seed, rows=kept.num_rows if classes is None else len(classes))
    if classes is not None:
        fold_shown(keys, shown, classes)
    order = np.empty(len(keys), dtype=np.int32)
    bits = max(1, int(len(keys) // 4).bit_length())
    edges = np.linspace(0, 1 << bits, threads + 1).astype(np.int64)
    each(lambda t: order_by_key(keys, bits, edges[t], edges[t + 1], order), range(threads), threads)
    return order


def row_keys(
    kept: pa.Table, seed: int, *, rows: int | None = None, some: bool = False
) -> NDArray[np.uint64]:  # fmt: skip
    """A hash of what each row keeps, and of the seed; of so many rows, where they keep nothing.

    Parameters
    ----------
    some
        These are some of the rows, and a hash must not hang on which others are with them.
    """
    keys = np.full(kept.num_rows if rows is None else rows, np.uint64(seed & (2**64 - 1)))
    for name in kept.column_names:
        column = kept[name]
        # Dictionaries are hashed once, and not for every block.
        step = max(len(keys), 1) if pa.types.is_dictionary(column.type) else BLOCK
        for begin in range(0, len(keys), step):
            _fold(column.slice(begin, step), keys[begin : begin + step], nulls=some or column.null_count > 0)
    return keys


def fold_shown(keys: NDArray[np.uint64], shown: Iterable[Published], classes: NDArray[np.integer]) -> None:
    """Take into the hash of every row what it shows, given the class of each."""
    from rothko.kernels.numbers import fold_numbers

    by_class = _class_keys(shown)
    for begin in range(0, len(keys), BLOCK):
        fold_numbers(by_class[classes[begin : begin + BLOCK]], keys[begin : begin + BLOCK])


def _class_keys(shown: Iterable[Published]) -> NDArray[np.uint64]:
    """A hash of what each class publishes: the same for classes that publish the same."""
    from rothko.kernels.numbers import fold_numbers

    keys = np.empty(0, dtype=np.uint64)
    for column in shown:
        distinct = np.zeros(len(column.values), dtype=np.uint64)
        _fold(pa.chunked_array([column.values]), distinct, nulls=column.values.null_count > 0)
        keys = keys if len(keys) else np.zeros(len(column.of_class), dtype=np.uint64)
        fold_numbers(distinct[column.of_class], keys)
    return keys


def _fold(column: pa.ChunkedArray, keys: NDArray[np.uint64], *, nulls: bool) -> None:
    """Take a column into the hash of every row: by value, whatever its type and encoding.

    Parameters
    ----------
    nulls
        Whether the column has nulls, in these rows or in others.
    """
    from rothko.kernels.numbers import fold_bytes, fold_numbers

    array = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_dictionary(array.type):
        distinct = np.zeros(len(array.dictionary) + 1, dtype=np.uint64)
        _fold(pa.chunked_array([array.dictionary]), distinct[:-1], nulls=array.dictionary.null_count > 0)
        distinct[-1] = NULL
        indices = pc.fill_null(array.indices, len(array.dictionary)).to_numpy(zero_copy_only=False)
        fold_numbers(distinct[indices], keys)
        return
    if _is_narrow(array.type):
        numbers = _bits(array)
        if array.null_count:
            numbers = np.where(array.is_null().to_numpy(zero_copy_only=False), NULL, numbers)
        fold_numbers(numbers, keys)
        return
    texts = _texts(array)
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"\\0", dtype=np.uint8)
    fold_bytes(offsets, data, keys)
    if nulls:
        fold_numbers(array.is_null().to_numpy(zero_copy_only=False).astype(np.uint64), keys)


def _is_narrow(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    )


def _bits(array: pa.Array) -> NDArray[np.uint64]:
    numbers = pc.fill_null(array, False if pa.types.is_boolean(array.type) else 0).to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        return np.asarray(numbers.astype(np.float64).view(np.uint64))
    return np.asarray(numbers).astype(np.int64).view(np.uint64) if numbers.dtype != np.uint64 else numbers


def _texts(array: pa.Array) -> pa.Array:
    """Anything as text; nested values as JSON."""
    try:
        return array.cast(pa.large_string()) if not pa.types.is_binary(array.type) else array.cast(pa.large_binary())
    except pa.ArrowException:
        return pa.array([json.dumps(value, default=str) for value in array.to_pylist()], pa.large_string())
