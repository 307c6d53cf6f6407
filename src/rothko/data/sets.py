"""Set-valued records: each is a set of items, each item has a utility.

In memory a matrix in CSR form: int32 items, sorted and without repetition within a record; 20 million records of
40 items take 3.5 GB. Items are numbered in the order of their texts, so that the numbers do not depend on the order of
the records.

They come from text with a record a line (:mod:`rothko.data.sets_files`), a list column, long form (record, item),
boolean columns, a SciPy CSR matrix, lists, or a table whose cells become items ``column=value``, numbers by bins
(Podgursky, "Practical k-Anonymity on Large Datasets", chapter III and the Adults dataset of chapter V). Of a hierarchy
all ancestors become items, too (Table 10 there). A record without items is kept, an item that stands twice in a record
counts once. Messages say where and how many, never which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.hierarchy import Hierarchy
from rothko.data.source import open_source
from rothko.errors import InputError, nearest

STEP = 1 << 24
"""Items that are given other numbers at a time."""

Utility = Mapping[str, float] | str | Path | None
"""Item → utility, a CSV file of both, or None for 1 each."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records that are sets of items.

    >>> records = from_lists([["tea", "milk"], [], ["tea", "tea"]])
    >>> records.count, records.size, records.starts.tolist(), records.items.tolist()
    (3, 2, [0, 2, 2, 3], [0, 1, 1])
    """

    starts: NDArray[np.int64]
    """Record i owns ``items[starts[i] : starts[i + 1]]``."""
    items: NDArray[np.int32]
    """Item numbers, rising within a record."""
    names: pa.Array
    """The text of each item."""
    utility: NDArray[np.float64]
    """What publishing an item once is worth."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading them, for a person to see."""

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self.names)

    def frequencies(self) -> NDArray[np.int64]:
        """In how many records each item is."""
        from rothko.kernels.sets_records import count_items

        return cast("NDArray[np.int64]", count_items(self.items, self.size))

    def total_utility(self) -> float:
        """Σ over records of the utilities of their items."""
        return float(self.frequencies() @ self.utility)

    def to_lists(self) -> list[list[str]]:
        """The texts of the items of each record."""
        return cast("list[list[str]]", self.to_arrow().to_pylist())

    def to_arrow(self) -> pa.LargeListArray:
        """A list column."""
        texts = self.names.cast(pa.large_string()).take(pa.array(self.items))
        return pa.LargeListArray.from_arrays(pa.array(self.starts), texts)


# ── From what is in memory


def from_arrays(
    starts: NDArray[Any], items: NDArray[Any], names: pa.Array | Sequence[str], *, utility: Utility = None
) -> Records:
    """Records from a matrix in CSR form, whose items may be in any order and repeated.

    Its arrays are copied where their types do not fit, and put in order in place where they do.
    """
    from rothko.kernels.sets_records import tidy

    starts = np.ascontiguousarray(starts, dtype=np.int64)
    items = np.ascontiguousarray(items, dtype=np.int32)
    texts = _texts(names)
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(items) or (np.diff(starts) < 0).any():
        raise InputError("The records are not in CSR form: starts must rise from 0 to the number of items.")
    if len(items) and not (items.min() >= 0 and items.max() < len(texts)):
        raise InputError(f"Item numbers must lie between 0 and {len(texts) - 1}, one below the number of names.")
    if len(pc.unique(texts)) < len(texts):
        raise InputError("Two items have the same name.")
    rank = np.empty(len(texts), dtype=np.int32)
    order = pc.array_sort_indices(texts).to_numpy()
    rank[order] = np.arange(len(texts), dtype=np.int32)
    if not (starts.flags.writeable and items.flags.writeable):
        starts, items = starts.copy(), items.copy()
    if not np.array_equal(order, np.arange(len(texts))):
        for begin in range(0, len(items), STEP):  # never a second copy of all items
            items[begin : begin + STEP] = rank[items[begin : begin + STEP]]
    kept = tidy(starts, items)
    records = Records(starts, items[:kept] if kept < len(items) else items, texts.take(pa.array(order)), np.ones(0))
    return with_utility(records, utility)


def joined(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Parts put together; each is given up as it is copied, so that there are never two of all."""
    whole = np.empty(sum(map(len, parts)), dtype=np.int32)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def from_lists(lists: Iterable[Iterable[object]], *, utility: Utility = None) -> Records:
    """Records from lists of items.

    >>> from_lists([["tea", "milk"], ["tea"]], utility={"tea": 2}).total_utility()
    5.0
    """
    numbers: dict[str, int] = {}
    items: list[int] = []
    starts = [0]
    for record in lists:
        if isinstance(record, str | bytes):
            raise InputError(f"Record {len(starts)} is a text; give a list of items for each record.")
        items.extend(numbers.setdefault(_item_text(item, len(starts)), len(numbers)) for item in record)
        starts.append(len(items))
    return from_arrays(np.array(starts), np.array(items, dtype=np.int32), list(numbers), utility=utility)


def _item_text(item: object, record: int) -> str:
    if item is None or (isinstance(item, float) and math.isnan(item)):
        raise InputError(f"Record {record} has a missing item.")
    text = str(item)
    if not text.strip():
        raise InputError(f"Record {record} has an item without a name.")
    return text


def from_list_column(column: pa.Array | pa.ChunkedArray, *, utility: Utility = None) -> Records:
    """Records from an Arrow list column; a missing list is a record without items.

    >>> from_list_column(pa.array([["a", "b"], None])).starts.tolist()
    [0, 2, 2]
    """
    if not is_list(column.type):
        raise InputError(f"The column is of type {column.type}, not a list of items.")
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(lists, pa.ChunkedArray):
        lists = pa.concat_arrays(lists.chunks)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    items, names = _numbered(lists.flatten())
    return from_arrays(starts, items, names, utility=utility)


def is_list(kind: pa.DataType) -> bool:
    """Whether a column has lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _numbered(texts: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Items as numbers, and their texts."""
    if texts.null_count:
        raise InputError(f"{texts.null_count:,} items are missing.")
    encoded = texts if pa.types.is_dictionary(texts.type) else pc.dictionary_encode(texts)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks() if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    # A dictionary may say things that no record has, and the same twice.
    used, codes = np.unique(encoded.indices.to_numpy(zero_copy_only=False), return_inverse=True)
    names = _texts(encoded.dictionary.take(pa.array(used)))
    again = names.dictionary_encode()
    if len(again.dictionary) < len(names):
        return again.indices.to_numpy()[codes].astype(np.int32), again.dictionary
    return codes.astype(np.int32), names


def _texts(names: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    texts = names if isinstance(names, pa.Array | pa.ChunkedArray) else pa.array(names, pa.large_string())
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], pa.large_string())
    try:
        texts = texts.cast(pa.large_string())
    except pa.ArrowException:
        raise InputError(f"Items of type {texts.type} cannot be told as text.") from None
    empty = int(pc.sum(pc.equal(pc.utf8_trim_whitespace(texts), "")).as_py() or 0)
    if empty or texts.null_count:
        raise InputError(f"{empty + texts.null_count} items have no name.")
    return texts


def from_long(table: pa.Table, *, record: str, item: str, worth: str | None = None, utility: Utility = None) -> Records:
    """Records from rows of one item each.

    Records come in the order of their first row. A row without an item stands for a record that may have no other.

    Parameters
    ----------
    record, item, worth
        The columns: to which record a row belongs, the item, and its utility, which must be the same in all rows of an
        item.
    """
    for name in (record, item, *([worth] if worth else [])):
        _known(name, table.column_names)
    if table.column(record).null_count:
        raise InputError(f"{table.column(record).null_count:,} rows have no {record!r}.")
    keys = table.column(record).combine_chunks()
    encoded = pc.dictionary_encode(keys.chunk(0) if isinstance(keys, pa.ChunkedArray) else keys)
    of = encoded.indices.to_numpy(zero_copy_only=False)
    texts = _cells(table.column(item), item)
    present = pc.is_valid(texts).to_numpy(zero_copy_only=False)
    items, names = _numbered(texts.drop_null())
    of = of[present]
    order = np.argsort(of, kind="stable")
    starts = np.zeros(len(encoded.dictionary) + 1, dtype=np.int64)
    np.cumsum(np.bincount(of, minlength=len(encoded.dictionary)), out=starts[1:])
    if worth is not None:
        utility = _agreed(items, names, table.column(worth).filter(pa.array(present)), worth)
    return from_arrays(starts, items[order], names, utility=utility)


def _agreed(items: NDArray[np.int32], names: pa.Array, worth: pa.ChunkedArray, column: str) -> dict[str, float]:
    """The utility of each item, which all its rows tell alike."""
    values = _numbers(worth, column)
    least = np.full(len(names), np.inf)
    most = np.full(len(names), -np.inf)
    np.minimum.at(least, items, values)
    np.maximum.at(most, items, values)
    differing = int((least != most).sum())
    if differing:
        raise InputError(f"{column!r} tells more than one utility for {differing:,} of {len(names):,} items.")
    return dict(zip(names.to_pylist(), least.tolist(), strict=True))


def from_booleans(table: pa.Table, *, columns: Sequence[str] | None = None, utility: Utility = None) -> Records:
    """Records from a table with one column for each item: true, or a number other than 0, where a record has it.

    >>> from_booleans(pa.table({"tea": [True, False], "milk": [1, 1]})).to_lists()
    [['milk', 'tea'], ['milk']]
    """
    names = list(table.column_names if columns is None else columns)
    rows: list[NDArray[np.int64]] = []
    for name in names:
        _known(name, table.column_names)
        column = table.column(name)
        if not (pa.types.is_boolean(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
            raise InputError(f"The column {name!r} is of type {column.type}, not true or false.")
        if pa.types.is_integer(column.type):
            if not pc.all(pc.is_in(column.drop_null(), pa.array([0, 1], column.type))).as_py():
                raise InputError(f"The column {name!r} has numbers other than 0 and 1.")
            column = column.cast(pa.bool_())
        rows.append(np.flatnonzero(pc.fill_null(column.cast(pa.bool_()), False).to_numpy()))
    counts = np.zeros(table.num_rows + 1, dtype=np.int64)
    for having in rows:
        counts[having + 1] += 1
    starts = np.cumsum(counts)
    items = np.empty(starts[-1], dtype=np.int32)
    filled = starts[:-1].copy()
    for number, having in enumerate(rows):
        items[filled[having]] = number
        filled[having] += 1
    return from_arrays(starts, items, names, utility=utility)


def from_csr(matrix: Any, *, names: Sequence[str] | None = None, utility: Utility = None) -> Records:
    """Records from a SciPy sparse matrix: a row each, with the items whose entries are not 0."""
    sparse = matrix.tocsr(copy=True)
    sparse.eliminate_zeros()
    width = sparse.shape[1]
    texts = [str(j) for j in range(width)] if names is None else list(names)
    if len(texts) != width:
        raise InputError(f"There are {len(texts):,} names for the {width:,} columns of the matrix.")
    return from_arrays(sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32), texts, utility=utility)


def from_table(
    table: pa.Table,
    *,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, float] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    utility: Utility = None,
) -> Records:
    """Records from a table: each cell becomes an item ``column=value``; a missing cell none.

    Parameters
    ----------
    columns
        The columns to take; all by default.
    bins
        Column of numbers → width of its bins: with ``{"age": 5}`` the age 37 becomes ``age=[35, 40)``.
    hierarchies
        Column → hierarchy, of which all ancestors of a value become items, too.

    Examples
    --------
    >>> people = pa.table({"age": [37, 41], "sex": ["F", None]})
    >>> from_table(people, bins={"age": 5}).to_lists()
    [['age=[35, 40)', 'sex=F'], ['age=[40, 45)']]
    """
    names = list(table.column_names if columns is None else columns)
    bins, hierarchies = bins or {}, hierarchies or {}
    for name in names:
        _known(name, table.column_names)
    for name in (*bins, *hierarchies):
        _known(name, names)
    cells: list[NDArray[np.int64]] = []
    labels: list[pa.Array] = []
    before = 0
    for name in names:
        column = table.column(name)
        texts = _binned(column, bins[name], name) if name in bins else _cells(column, name)
        encoded = pc.dictionary_encode(texts)
        codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy()
        cells.append(np.where(codes >= 0, codes + before, -1))
        start, none = pa.scalar(f"{name}=", pa.large_string()), pa.scalar("", pa.large_string())
        labels.append(pc.binary_join_element_wise(start, encoded.dictionary, none))
        before += len(encoded.dictionary)
    matrix = np.stack(cells, axis=1) if cells else np.empty((table.num_rows, 0), dtype=np.int64)
    starts = np.zeros(table.num_rows + 1, dtype=np.int64)
    np.cumsum((matrix >= 0).sum(axis=1), out=starts[1:])
    texts = pa.concat_arrays([*labels, pa.array([], pa.large_string())])
    records = from_arrays(starts, matrix[matrix >= 0].astype(np.int32), texts)
    for name, hierarchy in hierarchies.items():
        records = with_ancestors(records, hierarchy, prefix=f"{name}=")
    return with_utility(records, utility)


def _cells(column: pa.ChunkedArray, name: str) -> pa.Array:
    """The cells as text, blank ones as missing."""
    try:
        texts = column.cast(pa.large_string())
    except pa.ArrowException:
        raise InputError(f"The column {name!r} is of type {column.type}, which cannot be told as text.") from None
    texts = pc.utf8_trim_whitespace(texts)
    return _one(pc.if_else(pc.equal(texts, ""), None, texts))


def _binned(column: pa.ChunkedArray, width: float, name: str) -> pa.Array:
    """Numbers as the bins ``[low, high)`` in which they lie."""
    if not 0 < width < math.inf:
        raise InputError(f"The bins of {name!r} must be wider than 0, not {width!r}.")
    values = _one(column)
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


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _known(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise InputError(f"There is no column {name!r}; {nearest(name, names)}.")


# ── What records are made of


def with_ancestors(records: Records, hierarchy: Hierarchy, *, prefix: str = "") -> Records:
    """The records with all ancestors of their items as items, but for the root; new items have utility 1.

    Parameters
    ----------
    prefix
        What items of the hierarchy begin with before the label; the others are left as they are. Items that begin
        with it must be in the hierarchy.

    Examples
    --------
    >>> jobs = Hierarchy.from_nested({"Employed": [{"Doctor": ["Surgeon"]}, {"Engineer": ["Civil"]}]})
    >>> with_ancestors(from_lists([["Surgeon"], ["Engineer"], ["tea"]]), jobs).to_lists()
    [['Doctor', 'Employed', 'Surgeon'], ['Employed', 'Engineer'], ['tea']]
    """
    place = {prefix + label: node for node, label in enumerate(hierarchy.labels)}
    names: list[str] = records.names.to_pylist()
    if prefix:
        unknown = [name for name in names if name.startswith(prefix) and name not in place]
        if unknown:
            raise InputError(
                f"{len(unknown):,} values of the column {prefix[:-1]!r} are not in its hierarchy (--show-values lists "
                "them).",
                values=unknown,
            )
    number = {name: i for i, name in enumerate(names)}
    added: list[list[int]] = []
    for name in names:
        above: list[int] = []
        node = int(hierarchy.parents[place[name]]) if place.get(name) else 0
        while node > 0:
            above.append(number.setdefault(prefix + hierarchy.labels[node], len(number)))
            node = int(hierarchy.parents[node])
        added.append(above)
    depth = np.array([1 + len(above) for above in added], dtype=np.int64)
    if not len(depth) or depth.max() == 1:
        return records
    block_starts = np.concatenate(([0], np.cumsum(depth)))
    blocks = np.array([j for i, above in enumerate(added) for j in (i, *above)], dtype=np.int32)
    lengths = depth[records.items]
    ends = np.cumsum(lengths)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    items = blocks[np.repeat(block_starts[records.items], lengths) + within]
    starts = np.concatenate(([0], ends))[records.starts]
    worth = dict(zip(names, records.utility.tolist(), strict=True))
    made = from_arrays(starts, items, list(number), utility={name: worth.get(name, 1.0) for name in number})
    return replace(made, notes=records.notes)


def with_utility(records: Records, utility: Utility) -> Records:
    """The records with other utilities; items that are not named have 1.

    >>> with_utility(from_lists([["tea", "milk"]]), {"tea": 7}).utility.tolist()
    [1.0, 7.0]
    """
    if utility is None:
        return replace(records, utility=np.ones(records.size))
    told = read_utility(utility) if isinstance(utility, str | Path) else dict(utility)
    names: list[str] = records.names.to_pylist()
    unknown = sorted(set(told) - set(names))
    if unknown:
        raise InputError(
            f"{len(unknown):,} of {len(told):,} items with a utility are in no record; remove them, or correct their "
            "names (--show-values lists them).",
            values=unknown,
        )
    worth = np.array([_worth(told.get(name, 1.0)) for name in names])
    bad = int((~((worth >= 0) & np.isfinite(worth))).sum())
    if bad:
        raise InputError(f"{bad:,} items have a utility that is negative or no number; it must be 0 or more.")
    notes = records.notes
    if len(told) < len(names):
        notes = (*notes, f"{len(names) - len(told):,} of {len(names):,} items have no utility of their own; it is 1.")
    return replace(records, utility=worth.astype(np.float64), notes=notes)


def _worth(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _numbers(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    try:
        return cast("NDArray[np.float64]", column.cast(pa.float64()).to_numpy())
    except pa.ArrowException:
        raise InputError(f"The column {name!r} is of type {column.type}; a utility is a number.") from None


def read_utility(path: str | Path) -> dict[str, float]:
    """Utilities from a file with the columns ``item`` and ``utility``, or with an item and a number in each row."""
    source = open_source(path)
    if len(source.names) != 2 and not {"item", "utility"} <= set(source.names):
        raise InputError(f"{source.label} has {len(source.names)} columns; utilities need 'item' and 'utility'.")
    columns = ("item", "utility") if {"item", "utility"} <= set(source.names) else source.names
    table = source.read(columns, as_text=[columns[0]])
    names = _cells(table.column(0), columns[0]).to_pylist()
    values = _numbers(table.column(1), columns[1])
    if len(set(names)) < len(names):
        raise InputError(f"{source.label} tells a utility for {len(names) - len(set(names)):,} items more than once.")
    return dict(zip(names, values.tolist(), strict=True))
