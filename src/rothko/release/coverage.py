"""Classes cover their records: every quasi-identifier lies in what its class publishes.

Published labels are read again as a reader reads them (``[20, 35]``, ``(-inf, 40)``, ``{a, b}``, the label of a tree,
``*``), and compared with the values of the records in the class, by SQL. Neither codes nor boxes are looked at: what
publishes a class may be wrong about both. Numbers and dates are compared by the extremes of each class, everything else
by the values that each label stands for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import Kind, Line, as_text
from rothko.errors import VerificationError
from rothko.release.publish import ROOT, SPECIAL, SUPPRESSED, Published, bounds_names

NEAR = 1e-9
"""How far a published mean may lie from that of the records, as a share of the largest of them."""
SPAN = r'^([\[(])("(?:[^"]|"")*"|[^,]*), ("(?:[^"]|"")*"|[^,]*)([\])])$'
"""A range or a region: where it begins and ends, and whether these values belong to it."""
WORD = re.compile(r'(?:^|, )(?:"((?:[^"]|"")*)"|([^,]*))(?=, |$)')
"""A label among others, in quotes where it needs them."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a quasi-identifier, record by record: where each begins and ends."""

    low: pa.Array
    high: pa.Array
    """Another array than :attr:`low` only where values are known by their cells."""

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Values:
        """The values of a column."""
        one = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        one = one.dictionary_decode() if pa.types.is_dictionary(one.type) else one
        return cls(one, one)

    def take(self, records: pa.Array) -> Values:
        """Those of some records."""
        low = self.low.take(records)
        return Values(low, low if self.high is self.low else self.high.take(records))

    @classmethod
    def at(cls, line: Line, codes: NDArray[np.int32]) -> Values:
        """The values that codes stand for."""
        places = pa.array(codes, mask=codes == line.missing_code)
        low = line.values.take(places)
        return cls(low, low if line.upper is None else line.last.take(places))


def check_coverage(
    values: Mapping[str, Values],
    classes: NDArray[np.int32],
    lines: Sequence[Line],
    published: Mapping[str, Sequence[Published]],
    *,
    by_column: bool = False,
    times: NDArray[np.int64] | None = None,
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Refuse classes that publish something that does not hold for all of their records.

    Parameters
    ----------
    values
        Quasi-identifier → its values.
    classes
        The class of each record.
    by_column
        Whether every quasi-identifier is recoded by itself: a mean is then that of all records that show it, and bounds
        that are missing say that one of these has no value.
    times
        How many records each of the values stands for; one where it is None.
    """
    by_extent = [line for line in lines if line.kind is Kind.ORDERED and not pa.types.is_string(line.values.type)]
    if by_column:
        published = _without_numbers(values, classes, by_extent, published, times, connection)
    by_extent = [line for line in by_extent if published[line.name]]
    if by_extent:
        grouped = _Grouped(classes, len(published[by_extent[0].name][0].of_class))
        for line in by_extent:
            _refuse_outside(values[line.name], line, published[line.name], grouped, times, connection)
    for line in lines:
        if line not in by_extent:
            for column in published[line.name]:
                _refuse(line.name, _strangers(values[line.name].low, classes, line, column, connection))


def check_silence(published: Mapping[str, Sequence[Published]], silent: int) -> None:
    """Refuse a class of suppressed records that shows anything."""
    for name, columns in published.items():
        for column in columns:
            if column.values[int(column.of_class[silent])].as_py() not in (ROOT, None):
                _refuse(name, 1)


def _without_numbers(
    values: Mapping[str, Values],
    classes: NDArray[np.int32],
    lines: Sequence[Line],
    published: Mapping[str, Sequence[Published]],
    times: NDArray[np.int64] | None,
    connection: duckdb.DuckDBPyConnection,
) -> dict[str, Sequence[Published]]:
    """What is published besides means and bounds, which are checked here: each against the records that show it."""
    others = dict(published)
    for line in lines:
        for column in published[line.name]:
            if not pa.types.is_string(column.values.type):
                alone = replace(column, of_class=np.arange(len(column.values), dtype=np.int32))
                shown = column.of_class[classes]
                check_coverage(values, shown, [line], {line.name: [alone]}, times=times, connection=connection)
        others[line.name] = [column for column in published[line.name] if pa.types.is_string(column.values.type)]
    return others


def _refuse(name: str, wrong: int) -> None:
    if wrong:
        raise VerificationError(
            f"Verification failed: what {wrong:,} classes publish of {name!r} does not hold for all of their "
            "records; nothing was released. Please report this."
        )


class _Grouped:
    """The class of each record, to reduce values by."""

    def __init__(self, classes: NDArray[np.int32], count: int) -> None:
        sizes = np.bincount(classes, minlength=count)
        if len(sizes) > count:
            raise VerificationError(
                "Verification failed: there are records of classes that publish nothing; nothing was released. "
                "Please report this."
            )
        self.held = np.flatnonzero(sizes)
        """The classes that have records."""
        self._classes, self._count = classes, count

    def reduced(self, by: np.ufunc, numbers: NDArray[Any], start: Any) -> NDArray[Any]:
        """The least, the greatest or the sum of numbers, one for each record, in every class that has some."""
        found = np.full(self._count, start, dtype=numbers.dtype)
        by.at(found, self._classes, numbers)
        return found[self.held]


class _Extent:
    """Where the records of each class lie on a line: their extremes, and how many have no value."""

    def __init__(self, grouped: _Grouped, low: NDArray[Any], high: NDArray[Any], values: pa.Array) -> None:
        ends = np.finfo(low.dtype) if low.dtype.kind == "f" else np.iinfo(low.dtype)
        self.absent = np.zeros(len(grouped.held), dtype=np.int64)
        self.some = np.ones(len(grouped.held), dtype=np.bool_)
        if values.null_count:
            there = ~_absent(values)
            self.absent = grouped.reduced(np.add, (~there).astype(np.int64), 0)
            self.some = grouped.reduced(np.logical_or, there, False)
            low, high = np.where(there, low, ends.max), np.where(there, high, ends.min)
        self.low = grouped.reduced(np.minimum, low, ends.max)
        self.high = grouped.reduced(np.maximum, high, ends.min)


def _refuse_outside(
    held: Values,
    line: Line,
    columns: Sequence[Published],
    grouped: _Grouped,
    times: NDArray[np.int64] | None,
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Refuse classes that publish less of a line than their records reach over."""
    for column in columns:
        of_class = column.of_class[grouped.held]
        if _is_mean(line, column):
            holds = _near(column, held.low, grouped, of_class, times)
        elif pa.types.is_string(column.values.type):
            labels = _Labels(column.values, held.low.type, connection)
            low, high, words = _comparable([held.low, held.high, labels.words])
            holds = labels.hold(_Extent(grouped, low, high, held.low), words, of_class)
        else:
            low, high, bound = _comparable([held.low, held.high, column.values.cast(held.low.type)])
            extent = _Extent(grouped, low, high, held.low)
            first = column.name == bounds_names(line.name)[0]
            reaches = bound[of_class] <= extent.low if first else bound[of_class] >= extent.high
            holds = np.where(_absent(column.values)[of_class], extent.absent > 0, (extent.absent == 0) & reaches)
        _refuse(line.name, int(np.count_nonzero(~holds)))


def _is_mean(line: Line, column: Published) -> bool:
    return not pa.types.is_string(column.values.type) and column.name not in bounds_names(line.name)


def _absent(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False))


def _near(
    column: Published,
    values: pa.Array,
    grouped: _Grouped,
    of_class: NDArray[np.integer],
    times: NDArray[np.int64] | None,
) -> NDArray[np.bool_]:
    """Whether classes show about the mean of their records.

    Numbers are divided by that of all records before, for the sum of two may be larger than any number.
    """
    there = ~_absent(values)
    share = 1 / max(len(values), 1) if times is None else times / max(int(times.sum()), 1)
    if pa.types.is_float32(values.type):  # a short float is the number that it is written as
        values = as_text(values)
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    numbers = np.where(there, numbers, 0.0)
    sums = grouped.reduced(np.add, numbers * share, 0.0)
    shares = grouped.reduced(np.add, there * share, 0.0)
    largest = grouped.reduced(np.maximum, np.abs(numbers), 0.0)
    shown = column.values.cast(pa.float64()).to_numpy(zero_copy_only=False)[of_class]
    with np.errstate(invalid="ignore"):
        near = np.abs(shown * shares - sums) <= NEAR * largest * shares
    missing = grouped.reduced(np.logical_or, ~there, False)
    return np.where(_absent(column.values)[of_class], missing, ~missing & near)


class _Labels:
    """Labels as a reader reads them: ranges, values by themselves, which are ranges of one, regions, the root, or none.

    :attr:`words` has the values that they name: both of each range and region, then those that stand alone.
    """

    def __init__(self, labels: pa.Array, kind: pa.DataType, connection: duckdb.DuckDBPyConnection) -> None:
        is_span, named, self._open = _spans(labels)
        texts = pa.concat_arrays([named, labels.filter(pa.array(~is_span))])
        self.words = _read(texts, kind, connection)
        self._known = ~_absent(self.words)
        alone = len(named) + np.cumsum(~is_span) - 1
        self._first = np.where(is_span, 2 * np.cumsum(is_span) - 2, alone)
        """Place of the first word of each label."""
        self._last = self._first + is_span
        self._nothing = _absent(labels)
        self._root = _true(pc.equal(labels, ROOT))
        self._below, self._above = (_true(pc.equal(texts, word)) for word in ("-inf", "inf"))

    def hold(self, extent: _Extent, words: NDArray[Any], of_class: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each class lies in its label, given the words as numbers that compare as they do."""
        first, last = self._first[of_class], self._last[of_class]
        begins = self._known[first] & (words[first] <= extent.low)
        told = begins & self._known[last] & (words[last] >= extent.high)
        if self._open.any():
            finishes = self._above[last] | (self._known[last] & (words[last] > extent.high))
            told = np.where(self._open[of_class], (self._below[first] | begins) & finishes, told)
        present = (extent.absent == 0) & extent.some & told
        return np.where(self._nothing[of_class], ~extent.some, self._root[of_class] | present)


def _spans(labels: pa.Array) -> tuple[NDArray[np.bool_], pa.Array, NDArray[np.bool_]]:
    """Which labels are ranges or regions, whose values need no quotes; the two values of each; which end open."""
    texts = labels.cast(pa.binary())
    begin, end = pc.binary_slice(texts, 0, 1), pc.binary_slice(texts, -1)
    closed, opened = _true(pc.equal(end, b"]")), _true(pc.equal(end, b")"))
    inner = pc.binary_slice(texts, 1, -1)
    two = pc.and_(pc.equal(pc.count_substring(inner, ","), 1), pc.match_substring(inner, ", "))
    is_span = _true(pc.and_(pc.is_in(begin, pa.array([b"[", b"("])), two)) & (closed | opened)
    words = pc.list_flatten(pc.split_pattern(inner.filter(pa.array(is_span)), ", "))
    return is_span, words.cast(pa.string()), is_span & opened


def _read(texts: pa.Array, kind: pa.DataType, connection: duckdb.DuckDBPyConnection) -> pa.Array:
    """Texts as SQL reads them, in a type; nothing where one is no value of it."""
    connection.register("typed", pa.table({"value": pa.array([], kind)}))
    [name] = connection.sql("SELECT value FROM typed").types
    connection.register("texts", pa.table({"i": np.arange(len(texts)), "text": texts}))
    found = connection.sql(f"SELECT i, TRY_CAST(text AS {name}) AS value FROM texts").to_arrow_table()
    connection.unregister("typed")
    connection.unregister("texts")
    place = np.empty(len(texts), dtype=np.int64)
    place[found["i"].to_numpy()] = np.arange(len(texts))  # rows come in any order
    return _as_kind(found["value"].combine_chunks().take(pa.array(place)), kind)


def _true(truths: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(truths, False).to_numpy(zero_copy_only=False))


def _as_kind(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values that SQL read, in the type of the records; where the type does not hold one of them, none is known."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        return pa.nulls(len(values), kind)


def _comparable(arrays: Sequence[pa.Array]) -> list[NDArray[Any]]:
    """Values of one type as numbers that compare as they do; anything where there is none."""
    kind = arrays[0].type
    if pa.types.is_decimal(kind):  # by their ranks: no machine number holds them
        encoded = pc.dictionary_encode(pa.concat_arrays(arrays))
        ranks = np.append(pc.rank(encoded.dictionary, tiebreaker="dense").to_numpy().astype(np.int64), 0)
        all_ = ranks[pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(zero_copy_only=False)]
        return list(np.split(all_, np.cumsum([len(array) for array in arrays])[:-1]))
    found: dict[int, NDArray[Any]] = {}
    for array in arrays:
        if id(array) not in found:
            found[id(array)] = _as_numbers(array)
    return [found[id(array)] for array in arrays]


def _as_numbers(array: pa.Array) -> NDArray[Any]:
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    filled = pc.fill_null(array, 0) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _strangers(
    values: pa.Array, classes: NDArray[np.int32], line: Line, column: Published, connection: duckdb.DuckDBPyConnection
) -> int:
    """How many pairs of a label and a value there are that the label does not stand for."""
    distinct = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    texts = as_text(distinct.dictionary)
    count = len(texts) + 1  # the last one is the missing value
    codes = pc.fill_null(distinct.indices, count - 1).to_numpy(zero_copy_only=False)
    pairs = np.unique(column.of_class[classes].astype(np.int64) * count + codes)
    label, value = pairs // count, pairs % count
    labels = column.values
    there = value < count - 1
    named = pc.is_valid(labels).to_numpy(zero_copy_only=False)[label]
    everything = pc.fill_null(pc.is_in(labels, pa.array([ROOT, SUPPRESSED])), False).to_numpy(zero_copy_only=False)[
        label
    ]
    wrong = np.count_nonzero((there & ~named) | (~there & named & ~everything))
    asked = there & named & ~everything
    if not asked.any():
        return int(wrong)
    members = _members(line, labels, texts)
    connection.register("asked", pa.table({"label": label[asked], "value": texts.take(pa.array(value[asked]))}))
    connection.register("members", members)
    [(strangers,)] = connection.execute("SELECT count(*) FROM asked ANTI JOIN members USING (label, value)").fetchall()
    connection.unregister("asked")
    connection.unregister("members")
    return int(wrong) + int(strangers)


def _members(line: Line, labels: pa.Array, texts: pa.Array) -> pa.Table:
    """(label, value): which values each label stands for, by its place among the labels."""
    if line.kind is Kind.TREE:
        return _below(line, labels)
    if line.kind is Kind.ORDERED:
        return _between(line.texts.to_pylist(), labels)
    if pc.any(pc.match_substring_regex(texts, SPECIAL), min_count=0).as_py():
        return _listed([_words(label) for label in labels.to_pylist()])
    # No label needs quotes, so every comma is one between labels.
    inner = pc.utf8_trim(pc.fill_null(labels, ""), characters="{}")
    lists = pc.split_pattern(inner, ", ")
    return pa.table({"label": pc.list_parent_indices(lists), "value": pc.list_flatten(lists)})


def _below(line: Line, labels: pa.Array) -> pa.Table:
    """The values under each node that is published, climbing from every leaf to the root."""
    tree = line.tree
    assert tree is not None
    node = tree.leaf[: len(line.values)].astype(np.int64)
    values = np.arange(len(node))
    found: list[tuple[pa.Array, pa.Array]] = []
    place = pc.fill_null(pc.index_in(tree.labels, value_set=labels, skip_nulls=True), -1).to_numpy(zero_copy_only=False)
    texts = line.texts
    while len(node):
        shown = place[node] >= 0
        found.append((pa.array(place[node[shown]].astype(np.int64)), texts.take(pa.array(values[shown]))))
        node = tree.parent[node].astype(np.int64)
        node, values = node[node >= 0], values[node >= 0]
    return pa.table(
        {"label": pa.concat_arrays([a for a, _ in found]), "value": pa.concat_arrays([b for _, b in found])}
    )


def _between(order: Sequence[str], labels: pa.Array) -> pa.Table:
    """The values of each range of texts, which have an order of their own."""
    place = {text: i for i, text in enumerate(order)}
    lists: list[list[str]] = []
    for label in labels.to_pylist():
        span = None if label is None else re.match(SPAN, label)
        if span is None:
            lists.append(_words(label))
            continue
        first, last = _bare(span[2]), _bare(span[3])
        begin = 0 if span[1] == "(" else place.get(first, len(order))
        end = len(order) if last == "inf" and span[4] == ")" else place.get(last, -1) + (span[4] == "]")
        lists.append(list(order[begin:end]))
    return _listed(lists)


def _words(label: str | None) -> list[str]:
    """The values that a label names: itself, or those of a set."""
    if label is None:
        return []
    if not (label.startswith("{") and label.endswith("}")):
        return [_bare(label)]
    return [quoted.replace('""', '"') or bare for quoted, bare in WORD.findall(label[1:-1])]


def _bare(label: str) -> str:
    """A label without its quotes."""
    if len(label) > 1 and label.startswith('"') and label.endswith('"'):
        return label[1:-1].replace('""', '"')
    return label


def _listed(lists: Sequence[Sequence[str]]) -> pa.Table:
    sizes = [len(one) for one in lists]
    return pa.table(
        {
            "label": np.repeat(np.arange(len(lists)), sizes),
            "value": pa.array([word for one in lists for word in one], pa.string()),
        }
    )
