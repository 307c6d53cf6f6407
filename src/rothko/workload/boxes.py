"""Where a predicate lies on the lines of a table: boxes of codes.

A comparison selects some codes of a line. On numbers, dates and times it goes by value; on ordinal
text by the order of the policy; on labels by the label, where a node of a hierarchy stands for all
values below it. Missing values meet no comparison. Codes side by side make an interval, and one
interval of each line makes a box.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import Kind, Line
from rothko.errors import InputError, PolicyError, nearest
from rothko.mistakes import said
from rothko.workload.predicate import (
    MOST_BOXES,
    Comparison,
    Conjunction,
    Predicate,
    Value,
    as_number,
    can_hold,
    quote_together,
)

_Mask = NDArray[np.bool_]
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def boxes(predicate: Predicate, lines: Sequence[Line]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The boxes that a predicate selects.

    Parameters
    ----------
    predicate
        What to select.
    lines
        The lines of the table, among them one for each column of the predicate.

    Returns
    -------
    The lowest and the highest codes, both inclusive, as (boxes, lines). No box lies within another;
    there is none where the table has no value that is selected.

    Raises
    ------
    PolicyError
        If a comparison does not fit its column, nothing can meet the predicate whatever the table
        holds, or it falls into too many boxes.
    InputError
        If neither the data nor the hierarchy has a label.
    """
    named = {line.name: line for line in lines}
    axes = {name: _axis(named[name]) for name in predicate.columns}
    found: list[NDArray[np.int32]] = []
    excluding: list[Sequence[Comparison]] = []
    for comparisons in predicate.alternatives:
        clash = _excluding(comparisons, axes)
        if clash:
            excluding.append(clash)
            continue
        masks = [[axes[line.name].codes(c) for c in comparisons if c.column == line.name] for line in lines]
        runs = [_runs(line, selected) for line, selected in zip(lines, masks, strict=True)]
        number = math.prod(map(len, runs))
        if sum(map(len, found)) + number > MOST_BOXES:
            raise PolicyError(
                f"workload: {quote_together(comparisons)} falls into {number:,} boxes on this table, and a predicate "
                f"may have {MOST_BOXES:,}; give the columns a hierarchy and select its nodes, or ask in several tasks."
            )
        found.append(np.array(list(itertools.product(*runs)), dtype=np.int32).reshape(number, len(lines), 2))
    if len(excluding) == len(predicate.alternatives):
        raise PolicyError(f"workload: nothing can meet {quote_together(excluding[0])}; correct it.")
    both = _outermost(np.concatenate(found))
    return np.ascontiguousarray(both[:, :, 0]), np.ascontiguousarray(both[:, :, 1])


def _excluding(comparisons: Conjunction, axes: dict[str, _Labels | _Values]) -> Sequence[Comparison]:
    """Comparisons of one column that exclude each other whatever the table holds; empty where there are none."""
    for name, axis in axes.items():
        same = [c for c in comparisons if c.column == name]
        if same and not axis.can_hold(same):
            return same
    return ()


def _runs(line: Line, masks: list[_Mask]) -> list[tuple[int, int]]:
    """The intervals of codes that all comparisons of a line select; the whole line where there are none."""
    if not masks:
        return [(0, line.size - 1)]
    inside = np.concatenate(([False], np.logical_and.reduce(masks), [False]))
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return list(zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True))


def _outermost(both: NDArray[np.int32]) -> NDArray[np.int32]:
    """The boxes that do not lie within another, each once."""
    both = np.unique(both, axis=0)
    low, high = both[:, :, 0], both[:, :, 1]
    within = [np.all((low <= a) & (high >= b), axis=1).sum() > 1 for a, b in zip(low, high, strict=True)]
    return both[~np.array(within, dtype=np.bool_)]


# ── what the values of a predicate mean on a line ────────────────────────────────────────────────


def _axis(line: Line) -> _Labels | _Values:
    kind = line.values.type
    if pa.types.is_boolean(kind) and line.kind is not Kind.TREE:
        return _Labels.of(line, pa.array(["false", "true"]))
    labels = _nodes(line) if line.kind is Kind.TREE else None
    if not pa.types.is_string(kind) and not pa.types.is_boolean(kind):
        return _Values(line, _numbers(line.values), labels)
    if labels is not None:
        return labels
    if line.kind is Kind.ORDERED:
        order = line.texts if line.order is None else pa.array(line.order, pa.string())
        return _Labels.of(line, order, ordinal=True)
    return _Labels.of(line, line.texts)


def _nodes(line: Line) -> _Labels:
    """The nodes of the whole hierarchy, whether or not the table has values below them."""
    assert line.hierarchy is not None
    leaves = line.hierarchy.leaves
    tree = line.hierarchy.restrict(leaves, column=line.name, missing=False)
    return _Labels(line, tree.labels, tree.low, tree.high, _places(line, leaves), len(leaves))


def _places(line: Line, labels: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.index_in(line.texts, value_set=labels).to_numpy(zero_copy_only=False), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Labels:
    """Labels, each of which stands for some places beside each other; every value of the line has one place."""

    line: Line
    names: pa.Array
    low: NDArray[np.integer]
    high: NDArray[np.integer]
    place: NDArray[np.int64]
    """Of each code."""
    size: int
    """How many places there are."""
    ordinal: bool = False

    @classmethod
    def of(cls, line: Line, names: pa.Array, *, ordinal: bool = False) -> _Labels:
        """Labels that stand for one place each."""
        each = np.arange(len(names))
        return cls(line, names, each, each, _places(line, names), len(names), ordinal)

    def codes(self, comparison: Comparison) -> _Mask:
        """Which codes a comparison selects."""
        return self.covered(comparison)[self.place]

    def can_hold(self, comparisons: Sequence[Comparison]) -> bool:
        """Whether a place meets all the comparisons, be it in the table or not."""
        return bool(np.logical_and.reduce([self.covered(comparison) for comparison in comparisons]).any())

    def known(self, values: Sequence[Value]) -> NDArray[np.int64]:
        """The label that each value is, −1 where there is none."""
        texts = pa.array([value.text for value in values], pa.string())
        return np.asarray(pc.index_in(texts, value_set=self.names).fill_null(-1).to_numpy(), dtype=np.int64)

    def covered(self, comparison: Comparison) -> _Mask:
        """Which places a comparison selects."""
        if comparison.operator != "in" and not self.ordinal:
            raise PolicyError(
                f"Column {self.line.name!r}: {quote_together([comparison])} asks for an order, and its labels have "
                "none; use = or in, or give the column an 'order'."
            )
        known = self.known(comparison.values)
        if (known < 0).any():
            raise self.unknown(comparison.values[int(np.argmin(known))])
        if comparison.operator != "in":
            return np.asarray(_COMPARE[comparison.operator](np.arange(self.size), self.low[known[0]]))
        steps = np.zeros(self.size + 1, dtype=np.int64)  # up where a label begins, down behind its end
        np.add.at(steps, self.low[known], 1)
        np.add.at(steps, self.high[known] + 1, -1)
        return np.cumsum(steps[:-1]) > 0

    def unknown(self, value: Value) -> InputError:
        """The error for a label that does not exist; it tells the labels that the policy has, and no others."""
        labels = self.names.drop_null().to_pylist()
        column = f"Column {self.line.name!r}: a predicate asks for {value}"
        if self.line.order is not None:
            return InputError(f"{column}, which is not in its 'order'; {nearest(value.text, labels)}")
        holders = "no value has" if self.line.tree is None else "neither a value nor a node of its hierarchy has"
        return InputError(
            f"{column}, a label that {holders} ({said('--show-values')} lists those there are).", values=labels
        )


@dataclass(frozen=True, slots=True)
class _Values:
    """Numbers, dates and times, as numbers; on a hierarchy also the labels of its nodes."""

    line: Line
    numbers: NDArray[Any]
    labels: _Labels | None

    def codes(self, comparison: Comparison) -> _Mask:
        """Which codes a comparison selects."""
        if comparison.operator != "in":
            return _beyond(self.numbers, comparison.operator, self.read(comparison, comparison.values[0]))
        labelled = self.labelled(comparison)
        values = [self.read(comparison, value) for value in comparison.values if value not in labelled]
        selected = _equal(self.numbers, values)
        if self.labels is not None and labelled:
            selected |= self.labels.codes(replace(comparison, values=labelled))
        return selected

    def can_hold(self, comparisons: Sequence[Comparison]) -> bool:
        """Whether any value could meet all the comparisons; where some ask for labels, they are taken by themselves."""
        labelled = [c for c in comparisons if self.labelled(c)]
        if not labelled:
            reading = {value: self.read(c, value) for c in comparisons for value in c.values}
            return can_hold(comparisons, reading.__getitem__)
        labels_only = [c for c in labelled if self.labelled(c) == c.values]
        return self.labels is None or not labels_only or self.labels.can_hold(labels_only)

    def labelled(self, comparison: Comparison) -> tuple[Value, ...]:
        """The values of a comparison that are labels of the hierarchy."""
        if self.labels is None or comparison.operator != "in":
            return ()
        known = self.labels.known(comparison.values) >= 0
        return tuple(value for value, is_label in zip(comparison.values, known, strict=True) if is_label)

    def read(self, comparison: Comparison, value: Value) -> Decimal | int:
        """A value of the predicate on the scale of the column."""
        kind = self.line.values.type
        read = _read_temporal(value, kind) if pa.types.is_temporal(kind) else as_number(value.text)
        if read is not None:
            return read
        if self.labels is not None and comparison.operator == "in":
            raise self.labels.unknown(value)
        noun = next(noun for test, noun in _NOUNS if test(kind))
        raise PolicyError(
            f"Column {self.line.name!r}: {quote_together([comparison])} compares it with {value}, and it takes {noun}."
        )


_NOUNS: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (pa.types.is_date, "a date in quotes, such as '2024-02-29'"),
    (pa.types.is_timestamp, "a timestamp in quotes, such as '2024-02-29' or '2024-02-29 12:30:00'"),
    (pa.types.is_time, "a time in quotes, such as '12:30:00'"),
    (lambda kind: True, "a number, such as 40"),
]


def _read_temporal(value: Value, kind: pa.DataType) -> int | None:
    """A date, timestamp or time from ISO text, in the unit of the column; local time where no zone is given."""
    text = f"1970-01-01T{value.text}" if pa.types.is_time(kind) else value.text
    if value.number is not None:
        return None
    clock = kind if pa.types.is_date(kind) else pa.timestamp(kind.unit)
    try:
        read = pa.array([text]).cast(clock)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            read = pc.assume_timezone(read, kind.tz)
    except pa.ArrowInvalid:
        try:
            read = pa.array([text]).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    return int(_numbers(read)[0])


def _numbers(values: pa.Array) -> NDArray[Any]:
    """Values as numbers that compare as they do; decimals, which no machine number holds, as objects."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return np.array(values.to_pylist(), dtype=object)
    if pa.types.is_temporal(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _beyond(numbers: NDArray[Any], sign: str, value: Decimal | int) -> _Mask:
    """Which numbers lie on one side of a value, which may lie between any two that the type can hold."""
    compare = _COMPARE[sign]
    if numbers.dtype == object:
        return np.asarray(compare(numbers, value), dtype=np.bool_)
    if numbers.dtype.kind == "f":
        return np.asarray(compare(numbers, _floating([value], numbers.dtype)[0]))
    return np.asarray(compare(numbers, math.floor(value) if sign in ("<=", ">") else math.ceil(value)))


def _equal(numbers: NDArray[Any], values: Sequence[Decimal | int]) -> _Mask:
    """Which numbers are among some values."""
    if numbers.dtype == object:
        return np.isin(numbers, np.array(values, dtype=object))
    if numbers.dtype.kind == "f":
        return np.isin(numbers, _floating(values, numbers.dtype))
    ends = np.iinfo(np.int64)
    return np.isin(numbers, [int(v) for v in values if v == int(v) and ends.min <= v <= ends.max])


def _floating(values: Sequence[Decimal | int], kind: np.dtype[Any]) -> NDArray[Any]:
    """As the column holds them: 0.1 is the number nearest to it there too."""
    with np.errstate(over="ignore"):
        return np.array([float(value) for value in values]).astype(kind)
