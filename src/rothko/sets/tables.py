"""Records from tables: long form (record, item), a column for each item, or cells that become items ``column=value``.

Numbers of a table become items by bins (Podgursky, "Practical k-Anonymity on Large Datasets", chapter III and the
Adults dataset of chapter V).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.plain import is_text_type
from rothko.errors import InputError
from rothko.sets.records import Records, from_arrays, joined, numbered, one_array, renumbered


def from_long(pieces: Iterable[pa.Table], *, record: str, item: str, worth: str | None = None) -> Records:
    """Records from rows of one item each, some rows at a time.

    Records come in the order of their first row. A row without an item stands for a record that may have no other.

    Parameters
    ----------
    record, item, worth
        The columns: to which record a row belongs, the item, and its utility, which must be the same in all rows of an
        item.

    Examples
    --------
    >>> rows = pa.table({"who": ["a", "b", "a"], "what": ["tea", None, "gin"]})
    >>> from_long([rows], record="who", item="what").to_lists()
    [['gin', 'tea'], []]
    """
    from rothko.kernels.sets.records import count_items

    owners: dict[str, int] = {}
    numbers: dict[str, int] = {}
    of_parts: list[NDArray[np.int32]] = []
    parts: list[NDArray[np.int32]] = []
    told: list[NDArray[np.float64]] = []
    missing = 0
    for piece in pieces:
        keys, texts = cells(piece.column(record), record), cells(piece.column(item), item)
        missing += keys.null_count
        if missing:
            continue
        present = pc.is_valid(texts)
        of_parts.append(renumbered(*numbered(keys), owners)[present.to_numpy(zero_copy_only=False)])
        parts.append(renumbered(*numbered(texts.drop_null()), numbers))
        if worth is not None:
            told.append(numbers_of(piece.column(worth).filter(present), worth))
    if missing:
        raise InputError(f"{missing:,} rows have no {record!r}.")
    of, items, names = joined(of_parts), joined(parts), list(numbers)
    starts = np.zeros(len(owners) + 1, dtype=np.int64)
    np.cumsum(count_items(of, len(owners)), out=starts[1:])
    utility = None if worth is None else _agreed(items, names, np.concatenate(told), worth)
    if (of[1:] < of[:-1]).any():
        items = items[np.argsort(of, kind="stable")]
    return from_arrays(starts, items, names, utility=utility)


def _agreed(items: NDArray[np.int32], names: list[str], values: NDArray[np.float64], column: str) -> dict[str, float]:
    """The utility of each item, which all its rows tell alike."""
    least = np.full(len(names), np.inf)
    most = np.full(len(names), -np.inf)
    np.minimum.at(least, items, values)
    np.maximum.at(most, items, values)
    differing = int((least != most).sum())
    if differing:
        raise InputError(f"{column!r} tells more than one utility for {differing:,} of {len(names):,} items.")
    return dict(zip(names, least.tolist(), strict=True))


def from_booleans(table: pa.Table) -> Records:
    """Records from a table with one column for each item: true or 1, as words or values, where a record has it.

    >>> from_booleans(pa.table({"tea": [True, False], "milk": [1, 1], "sugar": ["TRUE", "false"]})).to_lists()
    [['milk', 'sugar', 'tea'], ['milk']]
    """
    rows = [
        np.flatnonzero(pc.fill_null(_truth(table.column(name), name), False).to_numpy()) for name in table.column_names
    ]
    counts = np.zeros(table.num_rows + 1, dtype=np.int64)
    for having in rows:
        counts[having + 1] += 1
    starts = np.cumsum(counts)
    items = np.empty(starts[-1], dtype=np.int32)
    filled = starts[:-1].copy()
    for number, having in enumerate(rows):
        items[filled[having]] = number
        filled[having] += 1
    return from_arrays(starts, items, table.column_names)


def _truth(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column as truth values: such values, 0 and 1, or the words true and false in any case; null where none is."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if not pc.all(pc.is_in(column.drop_null(), pa.array([0, 1]).cast(kind))).as_py():
            raise InputError(f"The column {name!r} has numbers other than 0 and 1.")
    elif is_text_type(kind):
        words = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
        known = pc.is_in(words, pa.array(["true", "1", "false", "0", ""]))
        if not pc.all(pc.or_(known, pc.is_null(words))).as_py():
            raise InputError(f"The column {name!r} has texts other than true and false, or 1 and 0.")
        return pc.is_in(words, pa.array(["true", "1"]))
    elif not pa.types.is_boolean(kind) and not pa.types.is_null(kind):
        raise InputError(f"The column {name!r} is of type {kind}, not true or false.")
    return column.cast(pa.bool_())


def from_table(table: pa.Table, *, bins: Mapping[str, float]) -> Records:
    """Records from a table: each cell becomes an item ``column=value``; a missing cell none.

    Parameters
    ----------
    bins
        Column of numbers → width of its bins: with ``{"age": 5}`` the age 37 becomes ``age=[35, 40)``.

    Examples
    --------
    >>> people = pa.table({"age": [37, 41], "sex": ["F", None]})
    >>> from_table(people, bins={"age": 5}).to_lists()
    [['age=[35, 40)', 'sex=F'], ['age=[40, 45)']]
    """
    coded: list[NDArray[np.int64]] = []
    labels: list[pa.Array] = []
    before = 0
    for name in table.column_names:
        column = table.column(name)
        texts = binned(column, bins[name], name) if name in bins else cells(column, name)
        encoded = pc.dictionary_encode(texts)
        codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy()
        coded.append(np.where(codes >= 0, codes + before, -1))
        start, none = pa.scalar(f"{name}=", pa.large_string()), pa.scalar("", pa.large_string())
        labels.append(pc.binary_join_element_wise(start, encoded.dictionary, none))
        before += len(encoded.dictionary)
    matrix = np.stack(coded, axis=1) if coded else np.empty((table.num_rows, 0), dtype=np.int64)
    starts = np.zeros(table.num_rows + 1, dtype=np.int64)
    np.cumsum((matrix >= 0).sum(axis=1), out=starts[1:])
    texts = pa.concat_arrays([*labels, pa.array([], pa.large_string())])
    return from_arrays(starts, matrix[matrix >= 0].astype(np.int32), texts)


def cells(column: pa.ChunkedArray, name: str) -> pa.Array:
    """The cells as text, blank ones as missing."""
    try:
        texts = column.cast(pa.large_string())
    except pa.ArrowException:
        raise InputError(f"The column {name!r} is of type {column.type}, which cannot be told as text.") from None
    texts = pc.utf8_trim_whitespace(texts)
    return one_array(pc.if_else(pc.equal(texts, ""), None, texts))


def binned(column: pa.ChunkedArray, width: float, name: str) -> pa.Array:
    """Numbers as the bins ``[low, high)`` in which they lie."""
    if not 0 < width < math.inf:
        raise InputError(f"The bins of {name!r} must be wider than 0, not {width!r}.")
    values = one_array(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(f"The column {name!r} is of type {values.type}; only numbers can be binned.")
    numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if np.isinf(numbers).any():
        raise InputError(f"The column {name!r} has infinite numbers, which lie in no bin.")
    missing = np.isnan(numbers)
    places, inverse = np.unique(np.floor(numbers[~missing] / width), return_inverse=True)
    labels = pa.array([f"[{place * width:.12g}, {(place + 1) * width:.12g})" for place in places], pa.large_string())
    codes = np.zeros(len(numbers), dtype=np.int64)
    codes[~missing] = inverse
    return labels.take(pa.array(codes, mask=missing))


def numbers_of(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    """Utilities, NaN where one is missing."""
    try:
        return cast("NDArray[np.float64]", column.cast(pa.float64()).to_numpy())
    except pa.ArrowException:
        raise InputError(f"The column {name!r} has cells that are no numbers; a utility is a number.") from None
