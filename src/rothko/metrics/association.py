"""How far the columns of a release hang together as those of its original do.

Cramér's V (Cramér, *Mathematical Methods of Statistics*, 1946, section 21.9) of every pair of columns, 0 (independent)
… 1 (the one tells the other), before and after. Values are put into some ten parts with equally many records. A class
is taken as whoever has the release alone would take it: its records spread evenly over what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.line import Kind, Line
from rothko.metrics.extent import Extent
from rothko.metrics.pair import Beside, Pair

PARTS = 10
"""Of a column, at most."""
MISSING = "(missing)"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Association:
    """How two columns hang together."""

    names: tuple[str, str]
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Spread:
    """A column in parts, before and after."""

    name: str
    parts: tuple[tuple[str, str], ...]
    """The first and the last value of each part."""
    before: Floats
    """The share of records in each part."""
    after: Floats
    """The same of the release."""


def associations(pair: Pair) -> list[Association]:
    """Of every two columns, those that changed most first; columns that show a mean alone are left out."""
    columns = {line.name: (parts, share) for line, parts, share in _lines(pair)}
    weighted = {name: share * pair.sizes[:, None] for name, (_, share) in columns.items()}
    found = []
    for a, b in combinations(columns, 2):
        (x, fx), (y, fy) = columns[a], columns[b]
        before = _counted(x, y, fx.shape[1], fy.shape[1])
        after = fx.T @ weighted[b]
        found.append(Association((a, b), cramers_v(before), cramers_v(after)))
    for name, beside in pair.beside.items():
        values, of_class = _beside(beside, len(pair.sizes))
        for a, (x, fx) in columns.items():
            before = _counted(x, values, fx.shape[1], of_class.shape[1])
            found.append(Association((a, name), cramers_v(before), cramers_v(fx.T @ of_class)))
    return sorted(found, key=lambda one: (-abs(one.before - one.after), one.names))


def spreads(pair: Pair, most: int = 24) -> list[Spread]:
    """The distribution of each quasi-identifier, before and after: in parts of equal width where it has an order."""
    found = []
    for i, (line, extent) in enumerate(zip(pair.lines, pair.extents(), strict=True)):
        if extent is None:
            continue
        edges = _even(line, most)
        counts = np.bincount(pair.encoded.codes[i], minlength=line.size)
        before = np.add.reduceat(counts, edges[:-1])
        # Classes that show the same are one.
        key, first, back = np.unique(pair.keys[line.name], return_index=True, return_inverse=True)
        sizes = np.bincount(back, pair.sizes, len(key))
        after = _shares(extent.take(first), edges).T @ sizes
        rows = max(pair.encoded.rows, 1)
        found.append(Spread(line.name, _ends(line, edges), before / rows, after / rows))
    return found


def _even(line: Line, most: int) -> NDArray[np.int64]:
    """The first codes of parts of equal width, and the end of the last; a missing value is a part of its own."""
    size = line.size - line.missing
    if line.kind is Kind.ORDERED and len(line.places) > most:
        width = np.linspace(line.places[0], line.places[-1], most + 1)
        cuts = np.searchsorted(line.places, width[1:-1])
    else:
        cuts = np.linspace(0, size, min(most, max(size, 1)) + 1).round().astype(np.int64)[1:-1]
    return np.unique(np.concatenate([[0], cuts, [size], [line.size]])).astype(np.int64)


def _ends(line: Line, edges: NDArray[np.int64]) -> tuple[tuple[str, str], ...]:
    """The first and the last value of each part."""
    texts = pa.concat_arrays([line.texts.cast(pa.string()), pa.array([MISSING])])
    first, last = texts.take(pa.array(edges[:-1])), texts.take(pa.array(edges[1:] - 1))
    return tuple(zip(first.to_pylist(), last.to_pylist(), strict=True))


def _counted(x: NDArray[np.int64], y: NDArray[np.int64], wide: int, high: int) -> Floats:
    """How many records lie in each part of both columns."""
    return np.bincount(x * high + y, minlength=wide * high).reshape(wide, high).astype(np.float64)


def cramers_v(table: Floats) -> float:
    """Of counts by two columns; 0 where one of them has one value.

    >>> cramers_v(np.array([[5.0, 0], [0, 5]])), cramers_v(np.ones((2, 3))), cramers_v(np.ones((1, 3)))
    (1.0, 0.0, 0.0)
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = min(table.shape) - 1
    if least < 1:
        return 0.0
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    return float(np.sqrt(max(((table - expected) ** 2 / expected).sum() / total / least, 0.0)))


def _lines(pair: Pair) -> Iterator[tuple[Line, NDArray[np.int64], Floats]]:
    """Every line with the part of each record, and what part of each class lies in which."""
    for i, (line, extent) in enumerate(zip(pair.lines, pair.extents(), strict=True)):
        if extent is None:
            continue
        counts = np.bincount(pair.encoded.codes[i], minlength=line.size)
        edges = _edges(counts)
        part = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        yield line, part[pair.encoded.codes[i]], _shares(extent, edges)


def _edges(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first codes of some parts with about equally many records, and the end of the last."""
    if len(counts) <= PARTS:
        return np.arange(len(counts) + 1)
    below = np.concatenate([[0], np.cumsum(counts)])
    cuts = np.searchsorted(below, below[-1] * np.arange(1, PARTS) / PARTS)
    return np.unique(np.concatenate([[0], cuts, [len(counts)]]))


def _shares(extent: Extent, edges: NDArray[np.int64]) -> Floats:
    """(classes, parts): the share of the codes of each class that lies in each part."""
    count = np.maximum(extent.count, 1)
    found = np.empty((len(edges) - 1, len(count)))
    for part, (first, last) in enumerate(pairwise(edges.tolist())):
        np.divide(extent.within(first, last), count, out=found[part])
    return found.T


def _beside(beside: Beside, classes: int) -> tuple[NDArray[np.int64], Floats]:
    """A column that leaves as it is: its most frequent values, and one for the rest, by record and by class."""
    counts = np.bincount(beside.codes, minlength=beside.size)
    place = np.full(beside.size, PARTS - 1, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")[: PARTS - 1 if beside.size > PARTS else PARTS]
    place[order] = np.arange(len(order))
    parts = int(place.max()) + 1
    of_class = np.zeros((classes, parts))
    np.add.at(of_class, (beside.of_class, place[beside.value]), beside.records)
    return place[beside.codes], of_class
