"""Values to codes: every quasi-identifier becomes a line of int32 codes, every sensitive column a histogram's bins.

No step loops over values in Python: whole numbers of a narrow range are ranked by a table, other
numbers by sorting, everything else by its dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.domain import Domain, Sensitive
from rothko.data.exact import apart
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.icd10 import by_chapter, refuse_others
from rothko.data.line import Kind, Line, as_text
from rothko.data.schema import Column, Model, PlainColumn, Schema
from rothko.data.typed import read_as_stored
from rothko.errors import InputError
from rothko.mistakes import said
from rothko.progress import each

Codes = NDArray[np.int32]
BLOCK = 1 << 18
"""Records that are ranked at a time."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A table as a method sees it: codes on lines, and codes of what is released as it is."""

    lines: tuple[Line, ...]
    """One per quasi-identifier, in the order of the policy."""
    codes: NDArray[np.int32]
    """(quasi-identifiers, records)."""
    sensitive: dict[str, Sensitive]
    """The sensitive columns."""
    targets: dict[str, Sensitive] = field(default_factory=dict)
    """The columns that models predict."""
    features: Encoded | None = None
    """The columns beside the quasi-identifiers that models look at, as lines."""
    owner: Sensitive | None = None
    """Whose each record is, where people are counted: then the domains of sensitive columns count people, too."""

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.codes.shape[1])

    def take(self, records: NDArray[np.integer], *, threads: int = 1) -> Encoded:
        """Some of the records, or all in another order."""

        def held(columns: dict[str, Sensitive]) -> dict[str, Sensitive]:
            return {name: Sensitive(codes[records], domain) for name, (codes, domain) in columns.items()}

        codes = np.empty((len(self.lines), len(records)), dtype=np.int32)
        each(lambda a: np.take(self.codes[a], records, out=codes[a]), range(len(codes)), threads)
        features = None if self.features is None else self.features.take(records, threads=threads)
        owner = None if self.owner is None else Sensitive(self.owner.codes[records], self.owner.domain)
        return Encoded(self.lines, codes, held(self.sensitive), held(self.targets), features, owner)

    def alone(self, records: NDArray[np.integer]) -> Encoded:
        """Some of the records as a table of its own: domains have what these have, as often as they do."""

        def among(columns: dict[str, Sensitive]) -> dict[str, Sensitive]:
            return {name: Sensitive(*_of_some(codes[records], domain)) for name, (codes, domain) in columns.items()}

        assert self.owner is None, "people may have records that are not among them"
        return replace(self.take(records), sensitive=among(self.sensitive), targets=among(self.targets))


def _of_some(codes: Codes, domain: Domain) -> tuple[Codes, Domain]:
    """The codes of some records in the domain of these alone."""
    counts = np.bincount(codes, minlength=domain.size)
    there = np.flatnonzero(counts[:-1])
    place = np.full(domain.size, len(there), dtype=np.int32)
    place[there] = np.arange(len(there), dtype=np.int32)
    values = domain.values.take(pa.array(there))
    return place[codes], Domain(domain.column, values, np.append(counts[there], counts[-1]))


def encode(table: pa.Table, policy: Schema, *, threads: int = 1) -> Encoded:
    """Encode a typed table (see :mod:`rothko.data.typed`)."""
    tasks = [task for task in policy.models if task.target in table.column_names]
    targets = list(dict.fromkeys(task.target for task in tasks))
    looked_at = dict.fromkeys(name for task in tasks for name in task.features or ())
    beyond = [name for name in looked_at if name not in policy.quasi_identifiers and name in table.column_names]
    released = list(dict.fromkeys((*policy.sensitive, *targets)))
    ranked = dict(zip(released, each(lambda name: counted(name, table[name]), released, threads), strict=True))
    guide = None
    if tasks:
        codes, domain = ranked[tasks[0].target]
        guide = guide_of(tasks[0], domain)[codes]

    def on_lines(columns: Sequence[tuple[str, pa.ChunkedArray, Column]]) -> Encoded:
        codes = np.empty((len(columns), table.num_rows), dtype=np.int32)
        lines = each(lambda i: encode_line(*columns[i], codes[i], guide), range(len(columns)), threads)
        return Encoded(tuple(lines), codes, {})

    features = [(name, read_as_stored(name, table[name]), PlainColumn()) for name in beyond]
    owner = None if policy.owner is None else owners(policy.owner, table[policy.owner])
    return replace(
        on_lines([(name, table[name], policy.columns[name]) for name in policy.quasi_identifiers]),
        sensitive={name: of_people(ranked[name], owner) for name in policy.sensitive},
        targets={name: ranked[name] for name in targets},
        features=on_lines(features) if features else None,
        owner=owner,
    )


def owners(name: str, column: pa.ChunkedArray) -> Sensitive:
    """Whose each record is; refuses records that are nobody's."""
    refuse_nobody(name, column.null_count, len(column))
    return counted(name, column)


def refuse_nobody(name: str, absent: int, rows: int) -> None:
    """Refuse records of which it is not known whose they are: neither one person nor many can be told of them."""
    if absent:
        raise InputError(
            f"Column {name!r} says whose a record is, and {absent:,} of {rows:,} records have no value there; give "
            "each person one, or remove these records."
        )


def of_people(column: Sensitive, owner: Sensitive | None) -> Sensitive:
    """A column whose domain says how many people have each value, where records have an owner."""
    if owner is None:
        return column
    codes, domain = column
    held = np.unique(owner.codes.astype(np.int64) * domain.size + codes) % domain.size
    return Sensitive(codes, Domain(domain.column, domain.values, np.bincount(held, minlength=domain.size)))


def counted(name: str, column: pa.ChunkedArray) -> Sensitive:
    """A column that is released as it is: the code of each record, and how many records have each."""
    codes = np.empty(len(column), dtype=np.int32)
    values = rank(column, codes)
    codes[codes < 0] = len(values)
    return Sensitive(codes, Domain(name, values, np.bincount(codes, minlength=len(values) + 1)))


class Means(NamedTuple):
    """Of each label of a nominal line: what its mean is made of."""

    records: NDArray[np.int64]
    """How many of its records have a target."""
    totals: NDArray[np.float64]
    """The sum of :func:`guide_of` over these, added up in the order of the records."""


def guide_of(task: Model, domain: Domain) -> NDArray[np.float64]:
    """A number for each code of the target, by whose mean the labels of a nominal line are put in order (NaN: missing).

    The target itself where it is a number; else whether the label is the most frequent one, which for two labels gives
    the order in which the best cut is among neighbours (Breiman et al. 1984, section 4.2.2).
    """
    if task.numeric:
        return domain.deviations
    number = np.zeros(domain.size)
    number[np.argmax(domain.counts[:-1]) if domain.size > 1 else 0] = 1.0
    number[-1] = np.nan
    return number


def encode_line(
    name: str, column: pa.ChunkedArray, spec: Column, codes: Codes, guide: NDArray[np.float64] | None = None
) -> Line:
    """Make the line of a column and write the code of every record to ``codes``.

    Labels without a hierarchy stand in their natural order, or by the mean of ``guide`` where there is one.
    """
    from rothko.kernels.codes import recode

    values = rank(column, codes)
    counts, means = None, None
    if spec.hierarchy is not None:
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if guide is not None and takes_guide(values, spec):
        there = (codes >= 0) & ~np.isnan(guide)
        held = codes[there]
        totals = np.bincount(held, weights=guide[there], minlength=len(values))
        means = Means(np.bincount(held, minlength=len(values)), np.asarray(totals, dtype=np.float64))
    line, where = make_line(name, values, spec, missing=column.null_count > 0, counts=counts, means=means)
    if where is not None or line.missing:
        target = np.arange(len(values), dtype=np.int32) if where is None else where
        recode(codes, np.append(target, np.int32(line.missing_code)))
    return line


def takes_guide(values: pa.Array, spec: Column) -> bool:
    """Whether the line of these values is nominal, so that a target may put it in order."""
    return spec.hierarchy is None and spec.order is None and pa.types.is_string(values.type) and len(values) > 1


def make_line(
    name: str,
    values: pa.Array,
    spec: Column,
    *,
    missing: bool,
    counts: NDArray[np.int64] | None = None,
    means: Means | None = None,
) -> tuple[Line, Codes | None]:
    """The line of a column, and the code of each distinct value on it (None: its rank).

    Parameters
    ----------
    values
        The distinct values, sorted.
    missing
        Whether there are missing values beside them.
    counts
        How many records have each value; needed where there is a hierarchy.
    means
        What a nominal line is put in order by, where something is; see :func:`takes_guide`.
    """
    if spec.hierarchy is not None:
        assert counts is not None
        return _tree_line(name, values, counts, spec, missing)
    if spec.order is not None:
        return _ordinal_line(name, values, spec, missing)
    if not pa.types.is_string(values.type):
        return Line(name, Kind.ORDERED, values, _places(name, values), missing, spec.weight), None
    line = Line(name, Kind.NOMINAL, values, np.empty(0), missing, spec.weight)
    return (line, None) if means is None else _guided(line, means)


def make_grid(name: str, first: pa.Array, last: pa.Array, spec: Column, *, missing: bool) -> Line:
    """The line of a grid, from the smallest and the largest value in each cell."""
    places = _places(name, pa.concat_arrays([first, last]))
    starts, ends = places[: len(first)], places[len(first) :]
    return Line(name, Kind.ORDERED, first, starts, missing, spec.weight, upper=last, ends=ends)


def rank(column: pa.ChunkedArray, codes: Codes) -> pa.Array:
    """Write each value's rank to ``codes`` (missing: -1); return the distinct values in order."""
    from rothko.kernels.codes import rank_sorted

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_boolean(kind):
        array = one_chunk(column)
        if array.null_count == len(array):
            codes.fill(-1)
            return array.slice(0, 0)
        spans = [_span(numbers, present) for _, numbers, present in _blocks(array) if present.any()]
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        if high - low < 4 * len(array) + 65_536:
            return from_whole_numbers(_rank_dense(array, low, high, codes), kind)
        if array.null_count == 0:
            numbers = whole_numbers(array)
            return array.take(pa.array(rank_sorted(numbers, np.argsort(numbers), codes)))
    elif pa.types.is_floating(kind) and column.null_count == 0:
        array = one_chunk(column)
        numbers = np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)
        return array.take(pa.array(rank_sorted(numbers, np.argsort(numbers), codes)))
    return _rank_dictionary(column, codes)


def _rank_dense(array: pa.Array, low: int, high: int, codes: Codes) -> NDArray[np.int64]:
    """Write the rank of whole numbers of a narrow range to ``codes``, by a table of the range; the distinct ones."""
    from rothko.kernels.codes import mark_dense, rank_dense

    ranks = np.zeros(high - low + 1, dtype=np.int32)
    for _, numbers, present in _blocks(array):
        mark_dense(numbers, present, low, ranks)
    seen = np.flatnonzero(ranks) + low
    np.cumsum(ranks, out=ranks)
    ranks -= 1
    for begin, numbers, present in _blocks(array):
        rank_dense(numbers, present, low, ranks, codes[begin : begin + len(numbers)])
    return seen


def _blocks(array: pa.Array) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.bool_]]]:
    """Some records at a time: where they begin, their whole numbers, and which of them there are.

    Of all of them at once the numbers would lie in memory that is new to the process, and to be given it takes longer
    than to rank them.
    """
    for begin in range(0, len(array), BLOCK):
        some = array.slice(begin, BLOCK)
        yield begin, whole_numbers(some), _present(some)


def _rank_dictionary(column: pa.ChunkedArray, codes: Codes) -> pa.Array:
    """Any type: the dictionary is sorted, not the column."""
    from rothko.kernels.codes import recode

    array = one_chunk(column)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    codes[:] = pc.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
    used = np.unique(codes[codes >= 0])
    values = array.dictionary.take(pa.array(used))
    order = pc.sort_indices(values).to_numpy()
    place = np.full(len(array.dictionary) + 1, -1, dtype=np.int32)
    place[used[order]] = np.arange(len(order), dtype=np.int32)
    recode(codes, place)
    return values.take(pa.array(order))


def _tree_line(
    name: str, values: pa.Array, counts: NDArray[np.int64], spec: Column, missing: bool
) -> tuple[Line, Codes]:
    """A line along a hierarchy, and the code of each distinct value on it."""
    texts = as_text(values)
    hierarchy = build_hierarchy(name, values, texts, counts, spec)
    if spec.hierarchy is not None and spec.hierarchy.kind == "icd-10":
        refuse_others(texts, column=name)
    tree = hierarchy.restrict(texts, column=name, missing=missing)
    where = pc.index_in(texts, value_set=tree.leaves).to_numpy(zero_copy_only=False)
    back = np.empty(len(where), dtype=np.int64)
    back[where] = np.arange(len(where))
    line = Line(name, Kind.TREE, values.take(pa.array(back)), np.empty(0), missing, spec.weight, tree, hierarchy)
    return line, where.astype(np.int32)


def build_hierarchy(name: str, values: pa.Array, texts: pa.Array, counts: NDArray[np.int64], spec: Column) -> Hierarchy:
    """The hierarchy that the policy asks for, over the distinct values of the column."""
    asked = spec.hierarchy
    assert asked is not None

    def numeric(what: str) -> pa.Array:
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
            return values
        raise InputError(f"Column {name!r}: {what} need numbers, and the column holds {values.type}.")

    def temporal() -> pa.Array:
        if pa.types.is_temporal(values.type):
            return values
        raise InputError(
            f"Column {name!r}: a hierarchy of dates needs dates, and the column holds {values.type}; "
            "set 'type: date' where they are text."
        )

    value = asked.value
    builders: dict[str, Callable[[], Hierarchy]] = {
        "flat": lambda: Hierarchy.flat(texts),
        "auto": lambda: Hierarchy.auto(texts, counts),
        "mask": lambda: Hierarchy.mask(texts, side=value),
        "prefix": lambda: Hierarchy.prefix(texts, lengths=value),
        "icd-10": lambda: by_chapter(texts),
        "intervals": lambda: Hierarchy.intervals(numeric("intervals"), widths=value),
        "breaks": lambda: Hierarchy.intervals(numeric("breaks"), breaks=value),
        "dates": lambda: Hierarchy.dates(temporal(), levels=value),
        "tree": lambda: Hierarchy.from_nested(asked.nested, where=f"the hierarchy of {name!r}"),
        "csv": lambda: Hierarchy.from_csv(asked.file, delimiter=asked.delimiter, encoding=asked.encoding),
    }
    return builders[asked.kind]()


def _ordinal_line(name: str, values: pa.Array, spec: Column, missing: bool) -> tuple[Line, Codes]:
    """A line in the order that the policy gives; a value that it leaves out is an error."""
    order = pa.array(spec.order, pa.string())
    texts = as_text(values)
    place = pc.index_in(texts, value_set=order)
    if place.null_count:
        absent = texts.filter(pc.is_null(place)).to_pylist()
        raise InputError(
            f"Column {name!r}: 'order' leaves out {place.null_count} of its {len(values)} values "
            f"({said('--show-values')} lists them).",
            values=absent,
        )
    place = place.to_numpy()
    sorted_by_place = np.argsort(place)
    where = np.empty(len(place), dtype=np.int32)
    where[sorted_by_place] = np.arange(len(place))
    places = np.arange(len(place), dtype=np.float64)
    ordered = texts.take(pa.array(sorted_by_place))
    line = Line(name, Kind.ORDERED, ordered, places, missing, spec.weight, order=spec.order)
    return line, where


def _guided(line: Line, means: Means) -> tuple[Line, Codes]:
    """A nominal line in the order of the guide's mean; a label without any comes in the middle, at the mean of all."""
    records, totals = means
    of_all = totals.sum() / max(int(records.sum()), 1)
    order = np.argsort(np.where(records > 0, totals / np.maximum(records, 1), of_all), kind="stable")
    where = np.empty(len(order), dtype=np.int32)
    where[order] = np.arange(len(order))
    return replace(line, values=line.values.take(pa.array(order))), where


def _places(name: str, values: pa.Array) -> NDArray[np.float64]:
    """How far each of the sorted values lies from the first."""
    if len(values) == 0:
        return np.empty(0)
    if not (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        if pa.types.is_time(values.type):
            values = values.cast(pa.time64("ns")).cast(pa.int64())
        numbers = whole_numbers(values)
        # Apart in whole numbers, wrapping as unsigned ones do: 2^60 and 2^60 + 1 are one apart.
        return np.asarray((numbers.view(np.uint64) - numbers.view(np.uint64)[0]).astype(np.float64))
    if pa.types.is_decimal(values.type):
        # Rounding a sum of words may step back by the last bit.
        return np.maximum.accumulate(apart(values, values[0].as_py()))
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if np.isinf(numbers).any():
        raise InputError(
            f"Column {name!r} has infinite numbers, which have no range; "
            "replace them, or list inf and -inf under 'missing'."
        )
    with np.errstate(over="ignore"):
        places = numbers - numbers[0]
    return np.asarray(places if np.isfinite(places[-1]) else numbers / 2 - numbers[0] / 2)


def one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece; dictionaries as one."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        return column.unify_dictionaries().combine_chunks()
    return column


def _present(array: pa.Array) -> NDArray[np.bool_]:
    if array.null_count == 0:
        return np.ones(len(array), dtype=np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def whole_numbers(array: pa.Array) -> NDArray[np.int64]:
    """Integers, booleans, dates and timestamps as int64, with 0 for missing."""
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_date64(array.type) or pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    filled = pc.fill_null(array, 0) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def from_whole_numbers(numbers: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """The reverse of :func:`whole_numbers`."""
    array = pa.array(numbers)
    if pa.types.is_date32(kind):
        return array.cast(pa.int32()).view(kind)
    if pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        return array.view(kind)
    return array.cast(kind)


def _span(numbers: NDArray[np.int64], present: NDArray[np.bool_]) -> tuple[int, int]:
    held = numbers if present.all() else numbers[present]
    return int(held.min()), int(held.max())
