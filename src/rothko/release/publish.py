"""Published forms: what each class shows for each quasi-identifier.

``range``   the smallest box around the class: ``[20, 35]``, one value plain
``region``  the cut region of φ: ``[20, 40)``, open-ended at the rim: ``(-inf, 20)``, ``[40, inf)``
``mean``    the mean of the class, for numbers; other columns as ``range``
``bounds``  two columns, ``age_min`` and ``age_max``, in the type of the data; other columns as ``range``

A tree node publishes its label and the root ``*``; a set of values without hierarchy ``{a, b}``, the whole
line ``*``, values that are suppressed one by one ``⊥``. A class in which everything is missing publishes a missing
value, one that mixes missing and present values ``*`` (a missing value where the form is a number). Range and region
columns are always text, so that the schema of a release does not depend on its data.

Where a method recodes every line by itself, what a class shows is what its part of the line shows: ranges, bounds and
means are those of the part in the whole table, so that the same value shows the same in every class.

An ``aggregate`` task of the workload adds the summary statistics of LeFevre, DeWitt, Ramakrishnan, TODS 2008,
section 3.3, where the form does not show them already: the *range* (``age_min``, ``age_max``) for MIN and MAX,
the *mean* (``age_mean``) for SUM and AVG. They too are missing where the class has missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line, as_text
from rothko.errors import PolicyError
from rothko.methods.classes import Classes, ColumnClasses, Ends, LocalClasses, Members, TreeClasses
from rothko.mistakes import said
from rothko.progress import each
from rothko.workload.tasks import Aggregate, Task

Statistic = Literal["range", "mean"]

ROOT = "*"
SUPPRESSED = "⊥"
"""What a suppressed value shows."""
SPECIAL = r'[,{}\[\]()"\r\n]|^\s|\s$|^[*⊥]$'
"""What makes a label need quotes where it stands among others."""
AMBIGUOUS = r'^[{\["(].*|^[*⊥]$'
"""What makes a label need quotes where it stands alone: it would read as a set, a range or the root."""
ANSWERED_BY: dict[str, Statistic | None] = {
    "count": None, "sum": "mean", "avg": "mean", "min": "range", "max": "range",
}  # fmt: skip
"""Aggregate function → the statistic of a class that it is answered from; counting needs none."""


@dataclass(frozen=True, slots=True)
class Published:
    """One column of the release: its distinct values, and which of them each class shows."""

    name: str
    values: pa.Array
    of_class: NDArray[np.int32]
    """Index into :attr:`values` for each class."""

    def of_nobody(self) -> Published:
        """The same column of no class."""
        return Published(self.name, pa.array([], self.values.type), np.empty(0, dtype=np.int32))

    def with_silence(self) -> Published:
        """The same column with one class more, which shows nothing: ``*``, or no number."""
        label = ROOT if pa.types.is_string(self.values.type) else None
        at = pc.index(self.values, label).as_py() if label is not None else -1
        values = self.values
        if at < 0:
            at, values = len(values), pa.concat_arrays([values, pa.array([label], values.type)])
        return Published(self.name, values, np.append(self.of_class, np.int32(at))).in_order()

    def in_order(self) -> Published:
        """The same with texts in their order: that of the classes may tell how they were made."""
        if not pa.types.is_string(self.values.type):
            return self
        order = pc.array_sort_indices(self.values)
        place = np.empty(len(order), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        return Published(self.name, self.values.take(order), place[self.of_class])

    def by(self, classes: NDArray[np.integer] | None = None) -> pa.Array:
        """What each of some rows shows, given the class of each (None: a row per class); texts as a dictionary."""
        from rothko.kernels.codes import spread

        indices = self.of_class
        if classes is not None:
            indices = np.empty(len(classes), dtype=np.int32)
            spread(self.of_class, classes, indices)
        if not pa.types.is_string(self.values.type):
            return self.values.take(pa.array(indices))
        if self.values.null_count == 0:
            return pa.DictionaryArray.from_arrays(pa.array(indices), self.values)
        # Null is no entry of a dictionary but a missing index: files know it in that form only.
        null = pc.index(pc.is_null(self.values), True).as_py()
        return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices == null), pc.fill_null(self.values, ""))


def publish(
    encoded: Encoded, partition: Classes, form: str, *, workload: Sequence[Task] = (), threads: int = 1
) -> dict[str, tuple[Published, ...]]:
    """Quasi-identifier → its published columns, in the order of the policy; its statistics come last."""
    regions = partition.regions() if form == "region" else None
    asked = statistics_asked(workload)

    def one(i: int) -> tuple[Published, ...]:
        line, codes = encoded.lines[i], encoded.codes[i]
        first, *added = published_names(line, form, asked.get(line.name, ()))
        if first != line.name:
            columns = _bounds(line, *partition.ends(i))
        elif form == "mean" and is_numeric(line):
            columns = (_mean(line, codes, *partition.gathered(i, codes), first),)
        else:
            columns = (_labels(partition, i, line, regions),)
        if first == line.name and bounds_names(line.name)[0] in added:
            columns += _bounds(line, *partition.ends(i))
        if mean_name(line.name) in added:
            columns += (_mean(line, codes, *partition.gathered(i, codes), mean_name(line.name)),)
        by_class = [replace(column, of_class=partition.shown(i, column.of_class)) for column in columns]
        return tuple(column.in_order() for column in by_class)

    columns = each(one, range(len(encoded.lines)), threads)
    return {line.name: column for line, column in zip(encoded.lines, columns, strict=True)}


def alike(published: Mapping[str, Sequence[Published]]) -> NDArray[np.int64]:
    """A number from 0 on for each class, the same for those that publish the same: to a reader they are one.

    >>> shown = Published("age", pa.array(["*"]), np.array([0, 0]))
    >>> alike({"age": [shown]}).tolist()
    [0, 0]
    """
    columns = [column.of_class.astype(np.int64) for columns in published.values() for column in columns]
    found = columns[0]
    for key in columns[1:]:
        found = np.unique(found, return_inverse=True)[1] * (int(key.max(initial=0)) + 1) + key
    return np.unique(found, return_inverse=True)[1]


@singledispatch
def _labels(partition: Classes, i: int, line: Line, regions: Ends | None) -> Published:
    """What the intervals of a line show as text: as ``region`` where there are regions, else as ``range``."""
    raise NotImplementedError(type(partition))


@_labels.register
def _(partition: TreeClasses, i: int, line: Line, regions: Ends | None) -> Published:
    # A tree's region is the node that its class came to, which ``range`` publishes too.
    if regions is None or line.kind is Kind.TREE:
        return _distinct(line, *partition.ends(i), range_labels)
    return _distinct(line, regions[0][:, i], regions[1][:, i], region_labels)


@_labels.register
def _(partition: LocalClasses, i: int, line: Line, regions: Ends | None) -> Published:
    members = partition.members(i)
    return _distinct(line, *partition.ends(i), range_labels) if members is None else _sets(line, members)


@_labels.register
def _(partition: ColumnClasses, i: int, line: Line, regions: Ends | None) -> Published:
    low, high = partition.ends(i)
    if line.kind is Kind.NOMINAL:
        hidden = pa.array(np.arange(len(low)) == partition.parts[i].suppressed)
        labels = pc.if_else(hidden, SUPPRESSED, _texts_at(line, low))
        return Published(line.name, labels, np.arange(len(low), dtype=np.int32))
    return _distinct(line, low, high, region_labels if regions and line.kind is Kind.ORDERED else range_labels)


def statistics_asked(workload: Iterable[Task]) -> dict[str, frozenset[Statistic]]:
    """Quasi-identifier → the statistics of its classes that the aggregates of a workload are answered from.

    >>> statistics_asked([Aggregate("age", functions=["avg", "count"])])
    {'age': frozenset({'mean'})}
    """
    asked: dict[str, frozenset[Statistic]] = {}
    for task in workload:
        if isinstance(task, Aggregate):
            needed = frozenset(found for f in task.functions if (found := ANSWERED_BY[f]) is not None)
            asked |= {name: asked.get(name, frozenset()) | needed for name in task.of}
    return asked


def check_statistics(lines: Sequence[Line], asked: Iterable[str]) -> None:
    """Refuse aggregates of what has no range and no mean, or publishes nothing but labels."""
    by_name = {line.name: line for line in lines}
    for name in asked:
        line = by_name.get(name)
        if line is None:
            raise PolicyError(
                f"workload: aggregate of {name!r}, which is no quasi-identifier; a column that is released as it is "
                "needs no statistics, so leave it out."
            )
        if line.kind is Kind.TREE:
            raise PolicyError(
                f"workload: aggregate of {name!r}, whose hierarchy is all that its classes show; "
                "remove the hierarchy, or the task."
            )
        if not is_numeric(line):
            raise PolicyError(
                f"workload: aggregate needs numbers, and {name!r} holds {line.values.type}; "
                "set 'type: number' where they are text, or remove the task."
            )


def published_names(line: Line, form: str, statistics: Collection[Statistic] = ()) -> tuple[str, ...]:
    """The columns that publish a quasi-identifier: in its form, then the statistics that the form does not show."""
    typed = line.kind is Kind.ORDERED and not pa.types.is_string(line.values.type)
    names = bounds_names(line.name) if form == "bounds" and typed else (line.name,)
    if "range" in statistics and form not in ("range", "bounds"):
        names += bounds_names(line.name)
    if "mean" in statistics and form != "mean":
        names += (mean_name(line.name),)
    return names


def bounds_names(name: str) -> tuple[str, ...]:
    """The columns of the smallest and the largest value of a class."""
    return f"{name}_min", f"{name}_max"


def mean_name(name: str) -> str:
    """The column of the mean of a class, where it stands beside another form."""
    return f"{name}_mean"


def is_numeric(line: Line) -> bool:
    """Whether classes have a mean on this line."""
    kind = line.values.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return line.kind is Kind.ORDERED and bool(number)


def range_labels(line: Line, low: NDArray[np.integer], high: NDArray[np.integer]) -> pa.Array:
    """The labels of intervals of codes, as ``range`` publishes them."""
    if line.kind is Kind.TREE:
        assert line.tree is not None
        return line.tree.labels.take(pa.array(line.tree.lowest(low, high)))
    if line.kind is Kind.NOMINAL:
        return _set_labels(line, low, high)
    first, last = _texts_at(line, low, among=True), _texts_at(line, high, among=True, upper=True)
    spans = pc.binary_join_element_wise("[", first, ", ", last, "]", "")
    single = pa.array(low == high) if line.upper is None else pc.equal(first, last)
    return _finished(line, low, high, pc.if_else(single, _texts_at(line, low), spans))


def region_labels(line: Line, low: NDArray[np.integer], high: NDArray[np.integer]) -> pa.Array:
    """The labels of regions of φ, half-open, as ``region`` publishes them."""
    if line.kind is Kind.NOMINAL:
        return _set_labels(line, low, high)
    count = len(line.values)
    begins = pc.if_else(
        pa.array(low == 0), "(-inf", pc.binary_join_element_wise("[", _texts_at(line, low, among=True), "")
    )
    ends = pc.binary_join_element_wise(_texts_at(line, np.minimum(high + 1, count), among=True), ")", "")
    ends = pc.if_else(pa.array(high >= count - 1), "inf)", ends)
    whole = (low == 0) & (high >= count - 1)
    spans = pc.if_else(pa.array(whole), ROOT, pc.binary_join_element_wise(begins, ends, ", "))
    return _finished(line, low, high, spans)


def _texts_at(line: Line, codes: NDArray[np.integer], *, among: bool = False, upper: bool = False) -> pa.Array:
    """The text of the (largest) value at each code, null past the last value (the missing one).

    Labels that would read as something else are quoted: alone as a set, a range or the root, among others also
    as the comma or the end.
    """
    count = len(line.values)
    values = (line.last if upper else line.values).take(pa.array(codes, mask=codes >= count))
    return _quoted(values, SPECIAL if among else AMBIGUOUS) if pa.types.is_string(values.type) else as_text(values)


def _quoted(words: pa.Array, where: str) -> pa.Array:
    quotes = pc.binary_join_element_wise('"', pc.replace_substring(words, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(words, where), quotes, words)


def _set_labels(line: Line, low: NDArray[np.integer], high: NDArray[np.integer]) -> pa.Array:
    """Sets of neighbouring labels, each in the natural order of labels whatever the order of the line."""
    words = _quoted(line.texts, SPECIAL)
    rank = np.argsort(pc.sort_indices(line.texts).to_numpy())
    listed = _in_line_order if np.array_equal(rank, np.arange(len(rank))) else _in_natural_order
    labels = listed(words, rank, low.tolist(), high.tolist())
    sets = pc.if_else(pa.array(low == high), _texts_at(line, low), pa.array(labels, pa.string()))
    whole = (low == 0) & (high == line.size - 1) & (low < high)
    return _finished(line, low, high, pc.if_else(pa.array(whole), ROOT, sets))


def _in_line_order(words: pa.Array, _: NDArray[np.int64], low: list[int], high: list[int]) -> list[str | None]:
    """Sets of labels as they lie on the line; None past the last label."""
    # One string of all labels; every set is a slice of it.
    joined = ", ".join(words.to_pylist())
    lengths = np.asarray(pc.utf8_length(words).to_numpy(zero_copy_only=False), dtype=np.int64)
    ends = np.cumsum(lengths + 2) - 2
    begins = ends - lengths
    last = len(words) - 1
    return [None if b > last else "{" + joined[begins[a] : ends[b]] + "}" for a, b in zip(low, high, strict=True)]


def _in_natural_order(words: pa.Array, rank: NDArray[np.int64], low: list[int], high: list[int]) -> list[str | None]:
    """The same for a line in another order, such as that of the target's mean, which must not show."""
    in_order = np.empty(len(words), dtype=object)
    in_order[rank] = words.to_pylist()
    last = len(words) - 1
    return [
        None if b > last else "{" + ", ".join(in_order[np.sort(rank[a : b + 1])]) + "}"
        for a, b in zip(low, high, strict=True)
    ]


def _sets(line: Line, members: Members) -> Published:
    """The very values of each class as a set, in the natural order of labels."""
    rank = np.argsort(pc.sort_indices(line.texts).to_numpy())
    missing = len(line.values)
    owner = np.repeat(np.arange(len(members.sizes)), members.sizes)
    order = np.lexsort((np.append(rank, missing)[members.codes], owner))
    codes = members.codes[order]
    size = members.sizes
    first, last = codes[members.starts[:-1]], codes[members.starts[1:] - 1]
    words = pa.concat_arrays([_quoted(line.texts, SPECIAL), pa.array([""])]).take(pa.array(codes))
    listed = pc.binary_join(pa.ListArray.from_arrays(pa.array(members.starts, pa.int32()), words), ", ")
    sets = pc.binary_join_element_wise("{", listed, "}", "")
    sets = pc.if_else(pa.array(size == 1), _texts_at(line, first), sets)
    whole = (size == line.size) & (size > 1)
    labels = _finished(line, first, last, pc.if_else(pa.array(whole), ROOT, sets))
    unique = pc.dictionary_encode(labels, null_encoding="encode")
    return Published(line.name, unique.dictionary, unique.indices.to_numpy())


def _finished(line: Line, low: NDArray[np.integer], high: NDArray[np.integer], labels: pa.Array) -> pa.Array:
    """Nothing for what is missing, the root for what mixes missing and present."""
    if not line.missing:
        return labels
    mixed = (high == line.missing_code) & (low < high)
    absent = low == line.missing_code
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), pc.if_else(pa.array(mixed), ROOT, labels))


def _distinct(
    line: Line,
    low: NDArray[np.integer],
    high: NDArray[np.integer],
    labels: Callable[[Line, NDArray[np.integer], NDArray[np.integer]], pa.Array],
) -> Published:
    """Label each distinct interval once."""
    intervals = pc.dictionary_encode(pa.array(low.astype(np.int64) << 32 | high))
    pairs = intervals.dictionary.to_numpy()
    texts = labels(line, pairs >> 32, pairs & 0xFFFFFFFF)
    if line.kind is Kind.ORDERED and not line.missing:
        return Published(line.name, texts, intervals.indices.to_numpy())
    # Different intervals may share a label (two intervals under one tree node): a value is listed once.
    unique = pc.dictionary_encode(texts, null_encoding="encode")
    return Published(line.name, unique.dictionary, unique.indices.take(intervals.indices).to_numpy())


def _bounds(line: Line, low: NDArray[np.int32], high: NDArray[np.int32]) -> tuple[Published, ...]:
    """Two columns in the type of the data; both missing where the class has missing values."""
    absent = (high == line.missing_code) if line.missing else np.zeros(len(high), dtype=np.bool_)
    ends = [np.where(absent, len(line.values), codes) for codes in (low, high)]
    columns = []
    for name, codes, held in zip(bounds_names(line.name), ends, (line.values, line.last), strict=True):
        values = pa.concat_arrays([held, pa.nulls(1, held.type)])
        used, of_class = np.unique(codes, return_inverse=True)
        columns.append(Published(name, values.take(pa.array(used)), of_class.astype(np.int32)))
    return tuple(columns)


def exact_mean(numbers: NDArray[np.float64], times: NDArray[np.int64] | None = None) -> float:
    """The mean of numbers whose sum is no number of this size; NaN where one is missing.

    >>> exact_mean(np.array([1e308, 1e308])), exact_mean(np.array([-1e308, 1e308, 3.0]))
    (1e+308, 1.0)
    """
    if np.isnan(numbers).any():
        return float("nan")
    times = np.ones(len(numbers), dtype=np.int64) if times is None else times
    total = sum(Fraction(x) * n for x, n in zip(numbers.tolist(), times.tolist(), strict=True))
    return float(total / int(times.sum()))


def as_numbers(values: pa.Array) -> NDArray[np.float64]:
    """Numbers as floats; a short float is the number that it is written as: 1.47, not 1.4700000286102295."""
    short = pa.types.is_float32(values.type) or pa.types.is_float16(values.type)
    read = as_text(values.cast(pa.float32())) if short else values
    numbers: NDArray[np.float64] = read.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def without_noise(means: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means without the digits that sums of floats leave behind them: all but fifteen, counted from the largest number.

    >>> without_noise(np.array([0.3000000000000001, 1.4e-17]), np.array([0.6, 0.1])).tolist()
    [0.3, 0.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        decimals = 14 - np.floor(np.log10(np.abs(largest)))
        exact = (decimals >= 0) & (decimals <= 22)  # these powers of ten are floats, so that a quotient is the nearest
        scale = 10.0 ** np.where(exact, decimals, 0)
        return np.where(exact, np.rint(means * scale) / scale + 0.0, means)


def _mean(
    line: Line, codes: NDArray[np.integer], order: NDArray[np.int32], starts: NDArray[np.int64], name: str
) -> Published:
    """The mean of each class; missing where the class has missing values."""
    if line.upper is not None:
        raise PolicyError(
            f"Column {line.name!r} has more distinct values than memory holds, so its classes have no means; "
            f"raise {said('--memory')}, or publish ranges."
        )
    numbers = np.append(as_numbers(line.values), np.nan)
    # Summed in the order of the values: sums of floats depend on the order, and that of the input must not show.
    sizes = np.diff(starts)
    owner = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    codes = np.sort(owner << 32 | codes[order]) & 0xFFFFFFFF
    # Counted from the smallest number of the class: the mean of large, close numbers keeps its digits, and a
    # far number in another class takes nothing from it.
    lowest = numbers[codes[starts[:-1]]]
    with np.errstate(over="ignore", invalid="ignore"):
        held = numbers[codes] - np.repeat(lowest, sizes)
        means = np.add.reduceat(held, starts[:-1]) / sizes + lowest
    for c in np.flatnonzero(~np.isfinite(means)).tolist():
        means[c] = exact_mean(numbers[codes[starts[c] : starts[c + 1]]])
    largest = np.maximum(np.abs(lowest), np.abs(numbers[codes[starts[1:] - 1]]))
    values, of_class = np.unique(without_noise(means, largest), return_inverse=True, equal_nan=True)
    return Published(name, pa.array(values, from_pandas=True), of_class.astype(np.int32))
