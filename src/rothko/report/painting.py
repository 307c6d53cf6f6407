"""The painting: classes as rectangles over two quasi-identifiers, from what a release publishes.

Where a quasi-identifier has an order, a side of the painting is its axis. Where it has labels alone, they share the
side by how many records they have; where both have, the painting is a tree of rectangles (Bruls, Huizing, van Wijk,
*Squarified Treemaps*, 2000): the labels of the one, and in each those of the other. Classes that look alike at this
size are one rectangle, which says how many they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.errors import InputError, PolicyError, nearest
from rothko.metrics.association import MISSING
from rothko.plots.model import Cell, Painting
from rothko.plots.ticks import number, written
from rothko.report.released import Released
from rothko.report.spans import Spans, all_spans

MOST = 1600
"""Rectangles of a painting, but for some hundred of what is left on the coarsest grid."""
FINEST, COARSEST = 1024, 4
"""Steps along a side."""
BANDS = 12
"""Labels that have a band of their own; the others share one."""
DOT = 0.02
"""The height of a single value, where most are; its width is half of it, for paintings are twice as wide as high."""
SKEWED = 0.08
"""A side is stretched where half of the records lie on no more than this share of it."""
OTHERS = "other labels"
NO_SIDES = ("", "", ""), ("", "", "")
"""What is written at the sides of a tree."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Where the classes lie along a side of the painting, from 0 to 1."""

    low: Floats
    high: Floats
    ends: tuple[str, str, str]
    """Its title, and what stands at both ends."""
    words: Callable[[float, float], str]
    """A stretch of it as a person reads it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Fields:
    """Rectangles, each of some classes."""

    box: Floats
    """(fields, 4): left, right, bottom, top."""
    records: Floats
    classes: Floats
    total: Floats
    """Of the target."""
    times: Floats
    words: list[str]
    of: NDArray[np.int64]
    """The field of each class, or -1."""


def paint(
    released: Released,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str = "density",
    spans: Mapping[str, Spans | None] | None = None,
) -> Painting:
    """A painting of a release.

    Parameters
    ----------
    x, y
        Quasi-identifiers; chosen where they are not given: those with an order and the most different values.
    by
        What colours stand for: ``density`` (records for the room that they have; in a tree of rectangles that is the
        same everywhere, and colours stand for the size), ``size`` (records of a class),
        ``loss`` (how much of both sides a class covers), or ``target``, the column that the release was read with.
    spans
        Where the classes lie, where that was read already.
    """
    spans = all_spans(released) if spans is None else spans
    x, y = chosen_sides(released, x, y, spans=spans)
    fields, sides = _laid(released, spans, x, y)
    value, legend = _coloured(released, fields, "size" if by == "density" and sides == NO_SIDES else by)
    cells = []
    for i in _painted(fields):
        left, right, bottom, top = (round(float(end), 4) for end in fields.box[i])
        cells.append(Cell(left, right, bottom, top, round(float(value[i]), 3), fields.words[i]))
    names = x if y is None else f"{x} and {y}"
    return Painting(
        "painting",
        f"{released.records:,} records in {len(released.whole):,} classes, by {names}",
        f"Every rectangle is what one class or several publish of {names}; the smallest class has "
        f"{int(released.whole.min()):,} records. Colours: {legend[0]}.{released.drawn_from}",
        tuple(cells), *sides, legend,
    )  # fmt: skip


def classes_painted(released: Released, at: int, *, x: str | None = None, y: str | None = None) -> pa.Table:
    """What the classes that are one rectangle of a painting show of its two sides; nothing where there is no such one.

    Parameters
    ----------
    at
        The place of the rectangle among the cells of the painting.
    """
    spans = all_spans(released)
    x, y = chosen_sides(released, x, y, spans=spans)
    fields, _ = _laid(released, spans, x, y)
    order = _painted(fields)
    columns = [column for name in (x, y) if name is not None for column in released.shown[name]]
    if not 0 <= at < len(order):
        return released.classes.select(columns).slice(0, 0)
    shown = released.classes.select(columns).filter(pa.array(fields.of == order[at]))
    return shown.group_by(columns).aggregate([])


def _laid(
    released: Released, spans: Mapping[str, Spans | None], x: str, y: str | None
) -> tuple[_Fields, tuple[tuple[str, str, str], tuple[str, str, str]]]:
    """The rectangles over two quasi-identifiers, and what is written at both sides."""
    a, b = spans[x], None if y is None else spans[y]
    if a is None and (y is None or b is None):
        return _tree(released, x, y), NO_SIDES
    across = _ordered(released, a) if a is not None else _banded(released, x)
    up = _ordered(released, b) if b is not None else _banded(released, y)
    return _merged(released, across, up), (across.ends, up.ends)


def _painted(fields: _Fields) -> NDArray[np.int64]:
    """In which order they are painted: the large ones lie below."""
    return np.argsort(-_area(fields), kind="stable")


def chosen_sides(
    released: Released, x: str | None, y: str | None, *, spans: Mapping[str, Spans | None] | None = None
) -> tuple[str, str | None]:
    """The quasi-identifiers of both sides, chosen where they are not given; one alone where there is no other."""
    spans = all_spans(released) if spans is None else spans
    for asked in (x, y):
        if asked is not None and asked not in spans:
            raise PolicyError(f"{asked!r} is no quasi-identifier of the release; {nearest(asked, list(spans))}")
    if x is not None and x == y:
        raise InputError(f"Both sides are {x!r}; choose another quasi-identifier for one of them.")
    distinct = {name: len(released.classes[released.shown[name][0]].unique()) for name in spans}
    ranked = sorted(
        spans, key=lambda one: (spans[one] is None, -distinct[one] if spans[one] else -_variety(released, one), one)
    )
    if x is None:
        x = next(name for name in ranked if name != y)
    if y is None:
        y = next((name for name in ranked if name != x), None)
    return x, y


def _variety(released: Released, name: str) -> float:
    """How much the bands of a label would say: the entropy of their shares."""
    side = _banded(released, name)
    share = side.high - side.low
    return float(-np.dot(released.sizes, np.log2(np.maximum(share, 1e-300))) / int(released.sizes.sum()))


def _ordered(released: Released, spans: Spans) -> _Side:
    """A side with an axis; stretched by how many records there are, where most of them lie close together."""
    low, high, axis = spans.low, spans.high, spans.axis
    gone = np.isnan(low)
    low, high = np.where(gone, axis.low, low), np.where(gone, axis.high, high)
    room = axis.high - axis.low
    edges, share = spans.below(released.sizes)
    middle = np.interp([0.25, 0.75], share, edges)
    title = axis.title
    places = (edges - axis.low) / room
    if axis.scale != "names" and middle[1] - middle[0] <= SKEWED * room:
        places = 0.15 * places + 0.85 * share
        title = f"{axis.title} (stretched where records are)"

    def words(first: float, last: float) -> str:
        ends = np.interp([first, last], places, edges)
        return f"{axis.title} {spans.words(*(float(end) for end in np.round(ends, 6)))}"

    ends = (title, written(axis, axis.low), written(axis, axis.high - spans.step))
    return _Side(np.interp(low, edges, places), np.interp(high, edges, places), ends, words)


def _labels(released: Released, name: str) -> tuple[list[str], NDArray[np.int64]]:
    """The labels of a quasi-identifier, and which of them each class shows."""
    column = released.classes[released.shown[name][0]].combine_chunks()
    coded = pc.dictionary_encode(pc.fill_null(column, MISSING))
    return coded.dictionary.to_pylist(), np.asarray(coded.indices.to_numpy(), dtype=np.int64)


def label_counts(released: Released, name: str) -> tuple[list[str], Floats]:
    """The labels of a quasi-identifier, and how many records have each."""
    labels, of_class = _labels(released, name)
    return labels, np.bincount(of_class, weights=released.sizes, minlength=len(labels)).astype(np.float64)


def short(label: str, longest: int = 60) -> str:
    """A label, or the beginning of a long one: sets may have hundreds of values."""
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def _banded(released: Released, name: str | None) -> _Side:
    """A side on which each label has a band as broad as its share of the records; one band where nothing is shown."""
    if name is None:
        nothing = np.zeros(len(released.sizes))
        return _Side(nothing, nothing + 1, ("", "", ""), lambda *_: "")
    labels, of_class = _labels(released, name)
    order = np.argsort(-label_counts(released, name)[1], kind="stable")
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    of_class, labels = rank[of_class], [labels[i] for i in order]
    if len(labels) > BANDS:
        of_class = np.minimum(of_class, BANDS - 1)
        labels = [*labels[: BANDS - 1], OTHERS]
    share = np.bincount(of_class, weights=released.sizes, minlength=len(labels)) / int(released.sizes.sum())
    ends = np.concatenate([[0.0], np.cumsum(share)])

    def words(first: float, last: float) -> str:
        at = int(np.searchsorted(ends, (first + last) / 2, side="right")) - 1
        return f"{name} {short(labels[min(max(at, 0), len(labels) - 1)])}"

    return _Side(ends[of_class], ends[of_class + 1], (name, short(labels[0]), short(labels[-1])), words)


def _merged(released: Released, across: _Side, up: _Side) -> _Fields:
    """Rectangles of classes that look alike: where these lie on average."""
    box = np.stack([across.low, across.high, up.low, up.high], axis=1)
    of_field, count = alike(box, released.sizes)
    records, classes, total, times = _sums(released, of_field, count)
    weighed = [np.bincount(of_field, weights=side * released.sizes, minlength=count) / records for side in box.T]
    ends = np.clip(np.stack(weighed, axis=1), 0, 1)
    ends[:, 1::2] = np.maximum(ends[:, 1::2], ends[:, ::2] + 1 / FINEST)
    order = np.argsort(of_field, kind="stable")
    starts = np.searchsorted(of_field[order], np.arange(count))
    least, most = np.minimum.reduceat(box[order], starts), np.maximum.reduceat(box[order], starts)
    words = []
    for i in range(count):
        places = [across.words(least[i, 0], most[i, 1]), up.words(least[i, 2], most[i, 3])]
        words.append(" · ".join([*(place for place in places if place), _counted(records[i], classes[i])]))
    return _Fields(np.clip(_seen(ends), 0, 1), records, classes, total, times, words, of_field)


def alike(box: Floats, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Which rectangle each class is painted as, and how many there are.

    Where there are too many, classes that look alike on a fine grid are one rectangle if they have their share of the
    records; the others are looked at on a coarser grid, and so on: what is dense keeps its shape.
    """
    of_field, count = np.empty(len(box), dtype=np.int64), 0
    left, steps = np.arange(len(box)), FINEST
    share = int(sizes.sum()) / MOST
    while len(left):
        grid = np.round(box[left] * steps).astype(np.int64)
        key = ((grid[:, 0] * (steps + 1) + grid[:, 1]) * (steps + 1) + grid[:, 2]) * (steps + 1) + grid[:, 3]
        distinct, group = np.unique(key, return_inverse=True)
        taken = np.bincount(group, weights=sizes[left]) >= share
        if steps == COARSEST or len(distinct) <= MOST - count:
            taken[:] = True
        mine = taken[group]
        of_field[left[mine]] = (count + np.cumsum(taken) - 1)[group[mine]]
        count += int(np.count_nonzero(taken))
        left, steps = left[~mine], steps // 2
    return of_field, count


def _seen(box: Floats) -> Floats:
    """Rectangles that can be seen: where most are single values or means, these get some width."""
    for side, least in ((0, DOT / 2), (2, DOT)):
        thin = box[:, side + 1] - box[:, side] < least / 2
        if 2 * np.count_nonzero(thin) > len(box):
            middle = (box[:, side] + box[:, side + 1]) / 2
            box[thin, side], box[thin, side + 1] = (middle - least / 2)[thin], (middle + least / 2)[thin]
    return box


def _sums(released: Released, groups: NDArray[np.int64], count: int) -> list[Floats]:
    """Records, classes, and what is told of the target, of each group of classes."""
    target = released.target
    nothing = np.zeros(len(released.sizes))
    weights: list[Any] = [released.sizes, np.ones(len(released.sizes))]
    weights += [nothing, nothing] if target is None else [target.totals, target.counts]
    return [np.bincount(groups, weights=one, minlength=count).astype(np.float64) for one in weights]


def _counted(records: float, classes: float) -> str:
    several = f" in {int(classes):,} classes" if classes > 1 else ""
    return f"{int(records):,} records{several}"


def _tree(released: Released, x: str, y: str | None) -> _Fields:
    """A tree of rectangles: labels of x, and in each of them those of y."""
    names, outer = _labels(released, x)
    below, inner = ([""], np.zeros_like(outer)) if y is None else _labels(released, y)
    key, of_field = np.unique(outer * len(below) + inner, return_inverse=True)
    records, classes, total, times = _sums(released, of_field, len(key))
    box = np.zeros((len(key), 4))
    over = key // len(below)
    whole = np.bincount(over, weights=records, minlength=len(names)).astype(np.float64)
    order = np.argsort(-whole, kind="stable")
    order = order[whole[order] > 0]
    for label, room in zip(order, squarified(whole[order], (0.0, 0.0, 2.0, 1.0)), strict=True):
        mine = np.flatnonzero(over == label)
        mine = mine[np.argsort(-records[mine], kind="stable")]
        box[mine] = [(a / 2, (a + w) / 2, b, b + h) for a, b, w, h in squarified(records[mine], room)]
    words = []
    for k, n, c in zip(key.tolist(), records, classes, strict=True):
        places = [f"{x} {short(names[k // len(below)])}"]
        places += [] if y is None else [f"{y} {short(below[k % len(below)])}"]
        words.append(" · ".join([*places, _counted(n, c)]))
    if len(key) > MOST:
        keep = np.argsort(-records, kind="stable")[:MOST]
        box, records, classes, total, times = (one[keep] for one in (box, records, classes, total, times))
        words = [words[i] for i in keep]
        place = np.full(len(key), -1, dtype=np.int64)
        place[keep] = np.arange(len(keep))
        of_field = place[of_field]
    return _Fields(box, records, classes, total, times, words, of_field)


def squarified(areas: Floats, room: tuple[float, float, float, float]) -> list[tuple[float, float, float, float]]:
    """Rectangles (x, y, width, height) that fill a room by their areas, as near to squares as they get.

    >>> squarified(np.array([2.0, 1.0, 1.0]), (0.0, 0.0, 1.0, 1.0))
    [(0.0, 0.0, 0.5, 1.0), (0.5, 0.5, 0.5, 0.5), (0.5, 0.0, 0.5, 0.5)]
    """
    x, y, wide, high = room
    left = areas.astype(np.float64) / max(float(areas.sum()), 1e-300) * wide * high
    found: list[tuple[float, float, float, float]] = []
    while len(left):
        short = max(min(wide, high), 1e-12)
        sums = np.cumsum(left)
        # The worst shape of a row of the first so many, for every number of them.
        worst = np.maximum(short**2 * left[0] / sums**2, sums**2 / (short**2 * np.maximum(left, 1e-300)))
        longer = np.flatnonzero(worst[1:] > worst[:-1])
        count = int(longer[0]) + 1 if len(longer) else len(left)
        row, depth = left[:count], float(sums[count - 1]) / short
        ends = np.cumsum(row) / depth
        for size, end in zip(row / depth, ends, strict=True):
            if wide >= high:
                found.append((x, y + high - float(end), depth, float(size)))
            else:
                found.append((x + float(end - size), y + high - depth, float(size), depth))
        if wide >= high:
            x, wide = x + depth, wide - depth
        else:
            high -= depth
        left = left[count:]
    return found


def _area(fields: _Fields) -> Floats:
    return np.asarray((fields.box[:, 1] - fields.box[:, 0]) * (fields.box[:, 3] - fields.box[:, 2]))


def _coloured(released: Released, fields: _Fields, by: str) -> tuple[Floats, tuple[str, str, str]]:
    """How far along the colours each field lies, by the share of fields below it; and what the ends stand for."""
    if by == "density":
        raw, title, form = fields.records / np.maximum(_area(fields), 1e-9), "records for their room", None
    elif by == "size":
        raw, title, form = fields.records / fields.classes, "records of a class", number
    elif by == "loss":
        raw, title, form = _area(fields), "how much of both sides is covered", None
    elif by == "target" and released.target is not None:
        raw, title, form = fields.total / np.maximum(fields.times, 1e-300), released.target.meaning, number
    else:
        raise InputError(f"Colours stand for density, size, loss or a column, not {by!r}.")
    if not len(raw) or float(raw.max()) - float(raw.min()) <= 1e-12 * max(abs(float(raw.max())), 1e-300):
        return np.full(len(raw), 0.6), (title, "the same everywhere", "")
    distinct, of_field = np.unique(raw, return_inverse=True)
    weight = np.cumsum(np.bincount(of_field, weights=np.sqrt(fields.records)))
    share = (weight[of_field] - weight[0]) / max(float(weight[-1] - weight[0]), 1e-300)
    ends = ("fewest", "most") if by == "density" else ("least", "most")
    if form is not None:
        ends = (form(float(f"{distinct[0]:.3g}")), form(float(f"{distinct[-1]:.3g}")))
    return share, (title, *ends)
