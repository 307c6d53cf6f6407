"""Where published values lie on an axis, read from their text alone: values, ranges, masks, ordered labels.

:mod:`rothko.metrics.published` reads the same texts beside the original, whose values it knows. Whoever has the
release alone knows no more than this: two ends, or nothing but a name.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.metrics.published import words_of
from rothko.plots.model import Axis
from rothko.plots.ticks import written
from rothko.policy.column import Column
from rothko.release.publish import ROOT, SUPPRESSED, bounds_names
from rothko.report.released import Released

Floats = NDArray[np.float64]
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
SPAN = r"""^[\[(](?P<low>[^",]+), (?P<high>[^",]+)[\])]$"""
PLAIN = r"^[^\[({*⊥…\"]+$"
"""A range, and a single value, where neither has a sign that is written otherwise: most are read at once."""
PERIOD = re.compile(r"(?P<year>\d{4})(?:(?P<decade>s)|-Q(?P<quarter>[1-4])|-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?")
"""How a hierarchy of dates names its periods."""
WHOLE = re.compile(r"\d+")
MASKED = re.compile(r"\d+\**")
INFINITE = ("-inf", "inf")
BEYOND = 0.06
"""How far a region without an end is drawn beyond the last end that is known, as a share of the axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Where the classes lie on one quasi-identifier."""

    axis: Axis
    low: Floats
    """Of each class; NaN where it says that its values are missing."""
    high: Floats
    """Where it ends: one step further than its last value, where values have steps."""
    step: float
    """How far a value reaches; nothing where numbers have fractions."""

    def words(self, low: float, high: float) -> str:
        """A stretch as a person reads it."""
        first, end = written(self.axis, low), written(self.axis, max(low, high - self.step))
        return first if first == end else f"{first} to {end}"

    def below(self, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Places of the axis, and the share of records below each, of those that have a value.

        The records of a class are spread evenly over it.
        """
        there = ~np.isnan(self.low)
        low, high, sizes = self.low[there], self.high[there], sizes[there]
        edges = np.unique(np.concatenate([[self.axis.low, self.axis.high], low, high]))
        first, last = np.searchsorted(edges, low), np.searchsorted(edges, high)
        last = np.maximum(last, np.minimum(first + 1, len(edges) - 1))
        first = np.minimum(first, last - 1)
        density = sizes / (edges[last] - edges[first])
        rises = np.bincount(first, density, len(edges)) - np.bincount(last, density, len(edges))
        mass = np.concatenate([[0.0], np.cumsum(np.cumsum(rises)[:-1] * np.diff(edges))])
        return edges, np.maximum.accumulate(mass) / max(float(mass[-1]), 1e-300)


def all_spans(released: Released) -> dict[str, Spans | None]:
    """Where the classes lie on each quasi-identifier; None for those that have labels without an order."""
    return {name: spans_of(released, name) for name in released.shown}


def spans_of(released: Released, name: str) -> Spans | None:
    """Where the classes lie on a quasi-identifier; None where it has labels without an order."""
    column = released.policy.columns[name]
    shown = released.shown[name]
    if name not in shown or set(bounds_names(name)) <= set(shown):
        texts = [released.classes[one].combine_chunks() for one in bounds_names(name)]
        found = _places(texts, column)
        if found is None:
            return None
        (low, high), about = found
        unknown = np.isnan(low) | np.isnan(high)
        return _on_axis(name, about, np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high), unknown)
    labels = pc.dictionary_encode(released.classes[name].combine_chunks())
    dated = column.hierarchy is not None and column.hierarchy.kind == "dates"
    ends = (_periods if dated else _ends)(labels.dictionary)
    found = None if ends is None else _places(ends, column)
    if found is None:
        return None
    (low, high), about = found
    root = pc.equal(labels.dictionary, ROOT).to_numpy(zero_copy_only=False)
    low, high = _open(ends, low, high, root)
    ended = pc.match_substring_regex(labels.dictionary, r"\)$").to_numpy(zero_copy_only=False)
    indices = pc.fill_null(labels.indices, len(low)).to_numpy(zero_copy_only=False)
    low, high = (np.append(one, math.nan)[indices] for one in (low, high))
    return _on_axis(name, about, low, high, np.append(ended, False)[indices])


def _ends(labels: pa.Array) -> list[pa.Array] | None:
    """Both ends of what labels stand for, as text; null where an end is open, and None where one has no ends."""
    spans = pc.extract_regex(labels, SPAN)
    plain = pc.match_substring_regex(labels, PLAIN)
    ends = [pc.if_else(plain, labels, pc.struct_field(spans, side)) for side in ("low", "high")]
    rest = np.flatnonzero(pc.is_null(ends[0]).to_numpy(zero_copy_only=False))
    if not len(rest):
        return ends
    found = [ends_of(text) for text in labels.take(pa.array(rest)).to_pylist()]
    if any(pair is None for pair in found):
        return None
    both = [[pair[side] for pair in found if pair is not None] for side in (0, 1)]
    mask = np.zeros(len(labels), dtype=np.bool_)
    mask[rest] = True
    return [
        pc.replace_with_mask(one, pa.array(mask), pa.array(texts, pa.string()))
        for one, texts in zip(ends, both, strict=True)
    ]


def _periods(labels: pa.Array) -> list[pa.Array] | None:
    """The first and the last day of the periods that labels name; None where one is no period."""
    found = [("-inf", "inf") if text == ROOT else period_of(text) for text in labels.to_pylist()]
    if any(pair is None for pair in found):
        return None
    return [pa.array([pair[side] for pair in found if pair is not None], pa.string()) for side in (0, 1)]


def period_of(label: str) -> tuple[str, str] | None:
    """The first and the last day of a period; None where a label is none.

    >>> period_of("1960s"), period_of("1961-Q2"), period_of("1961-02"), period_of("spring")
    (('1960-01-01', '1969-12-31'), ('1961-04-01', '1961-06-30'), ('1961-02-01', '1961-02-28'), None)
    """
    found = PERIOD.fullmatch(label)
    if found is None:
        return None
    if found["day"]:
        return label, label
    year, last = int(found["year"]), int(found["year"]) + (9 if found["decade"] else 0)
    first_month, last_month = 1, 12
    if found["quarter"]:
        first_month, last_month = 3 * int(found["quarter"]) - 2, 3 * int(found["quarter"])
    elif found["month"]:
        first_month = last_month = int(found["month"])
    if not (year >= 1 and last <= 9999 and 1 <= first_month <= 12):
        return None
    days = monthrange(last, last_month)[1]
    return f"{year:04d}-{first_month:02d}-01", f"{last:04d}-{last_month:02d}-{days:02d}"


def _open(ends: list[pa.Array] | None, low: Floats, high: Floats, root: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Ends with infinities where they are open."""
    assert ends is not None
    opened = [
        pc.fill_null(pc.equal(one, text), False).to_numpy(zero_copy_only=False)
        for one, text in zip(ends, INFINITE, strict=True)
    ]
    return np.where(opened[0] | root, -np.inf, low), np.where(opened[1] | root, np.inf, high)


def ends_of(label: str) -> tuple[str, str] | None:
    """The two ends of what a label stands for; None where it is a set of words, or something else without ends.

    >>> ends_of("[20, 35]"), ends_of("34"), ends_of("*"), ends_of("021**"), ends_of("01760 … 03217")
    (('20', '35'), ('34', '34'), ('-inf', 'inf'), ('02100', '02199'), ('01760', '03217'))
    >>> ends_of("{02139, 02142}"), ends_of("{a, b}")
    (('02139', '02142'), None)
    """
    if label == ROOT:
        return "-inf", "inf"
    if label == SUPPRESSED:
        return None
    if label.startswith("{") and label.endswith("}"):
        words = words_of(label[1:-1])
        numbers = [word for word in words if WHOLE.fullmatch(word)]
        return (min(words, key=int), max(words, key=int)) if words and len(numbers) == len(words) else None
    if label[:1] in ("[", "(") and label[-1:] in ("]", ")"):
        words = words_of(label[1:-1])
        return (words[0], words[1]) if len(words) == 2 else None
    if " … " in label:
        first, _, last = label.partition(" … ")
        return first, last
    if MASKED.fullmatch(label) and label.endswith("*"):
        return label.replace("*", "0"), label.replace("*", "9")
    return label, label


def _places(texts: Sequence[pa.Array], column: Column) -> tuple[list[Floats], Axis] | None:
    """Ends as numbers, NaN for those that are open or missing, and an axis without a title on which they lie.

    None where they have no order.
    """
    known = [pc.if_else(pc.is_in(one, value_set=pa.array(INFINITE)), None, one) for one in texts]
    if column.order is not None:
        order = pa.array(column.order, pa.string())
        found = [pc.index_in(one, value_set=order) for one in known]
        lost = any(a.null_count != b.null_count for a, b in zip(found, known, strict=True))
        return None if lost else ([_floats(one) for one in found], Axis("", 0, len(order), "names", column.order))
    if all(one.null_count == len(one) for one in known):
        return None
    if all(pc.all(pc.match_substring_regex(one, NUMBER)).as_py() is not False for one in known):
        # 02139 is a zip and no number: it is written with all of its digits.
        code = any(pc.any(pc.match_substring_regex(one, r"^0\d+$")).as_py() for one in known)
        longest = max(pc.max(pc.utf8_length(one)).as_py() or 0 for one in known)
        return [_floats(pc.cast(one, pa.float64())) for one in known], Axis("", 0, 1, digits=longest if code else 0)
    try:
        return [_days(one) for one in known], Axis("", 0, 1, "date")
    except pa.ArrowInvalid:
        return None


def _floats(numbers: pa.Array) -> Floats:
    return np.asarray(pc.cast(numbers, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _days(texts: pa.Array) -> Floats:
    """Days from 1970 to dates or times."""
    if pc.max(pc.utf8_length(texts)).as_py() == 10:
        return _floats(pc.cast(pc.cast(texts, pa.date32()), pa.int32()))
    return _floats(pc.cast(pc.cast(texts, pa.timestamp("us")), pa.int64())) / 86_400_000_000


def _on_axis(name: str, about: Axis, low: Floats, high: Floats, ended: NDArray[np.bool_]) -> Spans:
    """Spans with ends that are all known: those of everything reach as far as the others do, regions a little further.

    Parameters
    ----------
    ended
        Whether the last value does not belong to a span any more, as in ``[20, 40)``.
    """
    known = np.concatenate([low, high])
    known = known[np.isfinite(known)]
    step = 1.0 if about.scale != "linear" or about.digits or not (known % 1).any() else 0.0
    first, last = (float(known.min()), float(known.max()) + step) if len(known) else (0.0, 1.0)
    one_sided = np.isneginf(low) != np.isposinf(high)
    if about.scale == "names":
        first, last = 0.0, float(len(about.names))
    elif one_sided.any():
        first, last = first - BEYOND * (last - first), last + BEYOND * (last - first)
    if not last > first:
        last = first + 1.0
    axis = Axis(name, first, last, about.scale, about.names, digits=about.digits)
    high = np.where(np.isposinf(high), last, high + np.where(ended, 0.0, step))
    return Spans(axis, np.where(np.isneginf(low), first, low), high, step)
