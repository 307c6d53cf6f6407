"""Set-valued records: each is a set of items, each item has a utility.

In memory a matrix in CSR form: int32 items, sorted and without repetition within a record; 20 million records of
40 items take 3.5 GB. Items are numbered in the order of their texts, so that the numbers do not depend on the order of
the records.

They come from lists, a list column, a SciPy CSR matrix, a table (:mod:`rothko.sets.tables`), or text with a record a
line (:mod:`rothko.sets.files`). Of a hierarchy all ancestors become items, too (Podgursky, "Practical k-Anonymity on
Large Datasets", Table 10). A record without items is kept, an item that stands twice in a record counts once. Messages
say where and how many, never which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.errors import InputError
from rothko.mistakes import said

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


class Common(NamedTuple):
    """What the records of each class have in common."""

    sizes: NDArray[np.int64]
    bounds: NDArray[np.int64]
    """Where the records of each class begin in ``order``."""
    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    """The items that all records of a class have, as CSR."""

    @classmethod
    def of(cls, class_of: NDArray[np.int32], starts: NDArray[np.int64], items: NDArray[np.int32], size: int) -> Common:
        """Find it for records as CSR of so many items, each in a class."""
        from rothko.kernels.sets.records import shared

        sizes = np.bincount(class_of)
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        order = np.argsort(class_of, kind="stable").astype(np.int32)
        return cls(sizes, bounds, order, *shared(order, bounds, starts, items, size))


def set_keys(starts: NDArray[np.int64], items: NDArray[np.int32], size: int) -> NDArray[np.uint64]:
    """Two numbers for each of some sets of so many items, the same ones for equal sets; always the same."""
    from rothko.kernels.sets.records import hashes

    marks = np.random.default_rng(0).integers(1 << 63, size=(2, size), dtype=np.uint64)
    return cast("NDArray[np.uint64]", hashes(starts, items, *marks))


# ── From what is in memory


def from_arrays(
    starts: NDArray[Any],
    items: NDArray[Any],
    names: pa.Array | Sequence[str],
    *,
    utility: Mapping[str, float] | None = None,
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


def from_lists(lists: Iterable[Iterable[object]], *, utility: Mapping[str, float] | None = None) -> Records:
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


def from_list_column(column: pa.Array | pa.ChunkedArray) -> Records:
    """Records from an Arrow list column; a missing list is a record without items.

    >>> from_list_column(pa.array([["a", "b"], None])).starts.tolist()
    [0, 2, 2]
    """
    if not is_list(column.type):
        raise InputError(f"The column is of type {column.type}, not a list of items.")
    lists = one_array(column)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return from_arrays(starts, *numbered(lists.flatten()))


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def is_list(kind: pa.DataType) -> bool:
    """Whether a column has lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def numbered(texts: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    """Items as numbers, and their texts."""
    if texts.null_count:
        raise InputError(f"{texts.null_count:,} items are missing.")
    encoded = texts if pa.types.is_dictionary(texts.type) else pc.dictionary_encode(texts)
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


def _texts(names: pa.Array | Sequence[str]) -> pa.Array:
    texts = names if isinstance(names, pa.Array) else pa.array(names, pa.large_string())
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


def from_csr(matrix: Any, *, names: Sequence[str] | None = None) -> Records:
    """Records from a SciPy sparse matrix: a row each, with the items whose entries are not 0."""
    sparse = matrix.tocsr(copy=True)
    sparse.eliminate_zeros()
    width = sparse.shape[1]
    texts = [str(j) for j in range(width)] if names is None else list(names)
    if len(texts) != width:
        raise InputError(f"There are {len(texts):,} names for the {width:,} columns of the matrix.")
    return from_arrays(sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32), texts)


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
                f"{len(unknown):,} values of the column {prefix[:-1]!r} are not in its hierarchy "
                f"({said('--show-values')} lists "
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


def with_utility(records: Records, utility: Mapping[str, float] | None) -> Records:
    """The records with other utilities; items that are not named have 1.

    A list may name more than there is, as a catalogue does. Where it also lacks items of the records, somebody spells
    them otherwise: that is refused.

    >>> with_utility(from_lists([["tea", "milk"]]), {"tea": 7}).utility.tolist()
    [1.0, 7.0]
    """
    if utility is None:
        return replace(records, utility=np.ones(records.size))
    told = dict(utility)
    names: list[str] = records.names.to_pylist()
    unknown = sorted(map(str, set(told) - set(names)))
    without = len(names) - (len(told) - len(unknown))
    if unknown and without:
        raise InputError(
            f"{len(unknown):,} of {len(told):,} items with a utility are in no record, and {without:,} of records "
            f"have none; remove those, or correct their names ({said('--show-values')} lists them).",
            values=unknown,
        )
    worth = np.array([_worth(told.get(name, 1.0)) for name in names], dtype=np.float64)
    bad = [names[i] for i in np.flatnonzero(~((worth >= 0) & np.isfinite(worth)))]
    if bad:
        raise InputError(
            f"{len(bad):,} of {len(told):,} utilities are negative, missing, infinite or no number; each must be 0 or "
            f"more ({said('--show-values')} lists the items).",
            values=bad,
        )
    notes = records.notes
    if without:
        notes = (*notes, f"{without:,} of {len(names):,} items have no utility of their own; it is 1.")
    return replace(records, utility=worth, notes=notes)


def _worth(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
