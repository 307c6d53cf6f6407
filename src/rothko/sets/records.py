"""Set-valued records: each is a set of items, each item has a utility.

In memory a matrix in CSR form: int32 items, sorted and without repetition within a record; 20 million records of
40 items take 3.5 GB. Items are numbered in the order of their texts, so that the numbers do not depend on the order of
the records.

They come from text with a record a line (:mod:`rothko.sets.files`), a list column, long form (record, item),
boolean columns, a SciPy CSR matrix, lists, or a table whose cells become items ``column=value``, numbers by bins
(Podgursky, "Practical k-Anonymity on Large Datasets", chapter III and the Adults dataset of chapter V). Of a hierarchy
all ancestors become items, too (Table 10 there). A record without items is kept, an item that stands twice in a record
counts once. Messages say where and how many, never which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.errors import InputError, nearest
from rothko.sets.cells import binned, cells, numbers_of
from rothko.sets.utility import Utility, with_utility

STEP = 1 << 24
"""Items that are given other numbers at a time."""


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
        from rothko.kernels.sets.records import count_items

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
    from rothko.kernels.sets.records import tidy

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
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    used = np.flatnonzero(np.bincount(codes, minlength=len(encoded.dictionary)))
    names = _texts(encoded.dictionary.take(pa.array(used)))
    if len(used) < len(encoded.dictionary):
        codes = np.searchsorted(used, np.arange(len(encoded.dictionary)))[codes]
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


def renumbered(codes: NDArray[np.int32], names: pa.Array, known: dict[str, int]) -> NDArray[np.int32]:
    """Numbers of a piece as those of all pieces; names that are new get the next ones."""
    return np.array([known.setdefault(name, len(known)) for name in names.to_pylist()], dtype=np.int32)[codes]


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
        of_parts.append(renumbered(*_numbered(keys), owners)[present.to_numpy(zero_copy_only=False)])
        parts.append(renumbered(*_numbered(texts.drop_null()), numbers))
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


def from_booleans(table: pa.Table, *, columns: Sequence[str] | None = None, utility: Utility = None) -> Records:
    """Records from a table with one column for each item: true, or a number other than 0, where a record has it.

    >>> from_booleans(pa.table({"tea": [True, False], "milk": [1, 1]})).to_lists()
    [['milk', 'tea'], ['milk']]
    """
    names = list(table.column_names if columns is None else columns)
    rows: list[NDArray[np.int64]] = []
    for name in names:
        check_column(name, table.column_names)
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
        check_column(name, table.column_names)
    for name in (*bins, *hierarchies):
        check_column(name, names)
    coded: list[NDArray[np.int64]] = []
    labels: list[pa.Array] = []
    before = 0
    for name in names:
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
    records = from_arrays(starts, matrix[matrix >= 0].astype(np.int32), texts)
    for name, hierarchy in hierarchies.items():
        records = with_ancestors(records, hierarchy, prefix=f"{name}=")
    return with_utility(records, utility)


def check_column(name: str, names: Sequence[str]) -> None:
    """Refuse a column that is not there."""
    if name not in names:
        raise InputError(f"There is no column {name!r}; {nearest(name, names)}")


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
