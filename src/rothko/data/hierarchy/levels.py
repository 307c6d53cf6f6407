"""The levels of hierarchies that follow from a rule: intervals, periods of time, balanced groups.

Each takes the distinct values of a column as arrays and returns arrays of labels, a level at a time, or the shape
of a tree; :mod:`rothko.data.hierarchy.hierarchy` makes hierarchies of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.exact import DIGITS, is_exact
from rothko.data.hierarchy.numbered import ROOT, Nodes
from rothko.errors import HierarchyError


def join(*parts: pa.Array | str) -> pa.Array:
    """Texts put together, element by element."""
    return pc.binary_join_element_wise(*parts, "")


class Units(NamedTuple):
    """Whole numbers and decimals as whole multiples of a unit."""

    numbers: NDArray[Any]
    """Of type int64 where all of them fit, or else whole numbers of Python."""
    scale: int
    """The unit is 10^-scale."""

    @classmethod
    def of(cls, values: pa.Array) -> Units:
        """The units of sorted values."""
        kind = values.type
        if pa.types.is_integer(kind) and kind != pa.uint64():
            return cls(values.cast(pa.int64()).to_numpy(), 0)
        scale = max(kind.scale, 0) if pa.types.is_decimal(kind) else 0
        with localcontext(prec=2 * DIGITS):
            numbers = [int(Decimal(value).scaleb(scale)) for value in values.to_pylist()]
        return cls(np.array(numbers, dtype=object), scale)

    def wide(self) -> Units:
        """The same as whole numbers of any size."""
        return self._replace(numbers=self.numbers.astype(object))


def by_widths(values: pa.Array, widths: Sequence[float]) -> list[pa.Array]:
    """One array of interval labels per width, finest first; null where there is no interval."""
    if not widths or not all(math.isfinite(width) and width > 0 for width in widths):
        raise HierarchyError(f"the widths of intervals must be positive numbers, and are {list(widths)}")
    # Through its text, so that 0.1 is a tenth, as a person means it, and not the nearest binary fraction.
    exact = [Fraction(str(width)) for width in widths]
    if any(coarse % fine for fine, coarse in itertools.pairwise(exact)):
        raise HierarchyError(f"each width must be a multiple of the one before, and they are {list(widths)}")
    top, bottom = exact[0].numerator, exact[0].denominator
    if is_exact(values.type):
        units = Units.of(values)
        unit = 10**units.scale
        least, most = (int(units.numbers[i]) for i in (0, -1)) if len(values) else (0, 0)
        # Both ends of the coarsest interval fit in 64 bits, too.
        if unit > 1 or bottom > 1 or max(-least, most) + int(exact[-1]) >= 2**62:
            units = units.wide()
        index = units.numbers * bottom // (top * unit)
        inside = np.ones(len(values), dtype=np.bool_)
    else:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            inside = np.isfinite(numbers) & (np.abs(numbers) / top * bottom < 2.0**52)
        number = np.where(inside, numbers, 0.0)
        index = np.floor(number / top * bottom)
        # The quotient may be off by a rounding at the very edge; the edges themselves are the nearest floats.
        index -= index * top / bottom > number
        index += (index + 1) * top / bottom <= number
    return [
        _interval_labels(index // int(width / exact[0]), inside, width.numerator, width.denominator) for width in exact
    ]


def _interval_labels(index: NDArray[Any], inside: NDArray[np.bool_], top: int, bottom: int) -> pa.Array:
    distinct, place = np.unique(index, return_inverse=True)
    edges = [distinct * top, (distinct + 1) * top]
    if distinct.dtype == object:
        low, high = (pa.array([_written(Fraction(one, bottom)) for one in edge], pa.string()) for edge in edges)
    else:
        if distinct.dtype != np.int64:
            edges = [edge / bottom for edge in edges]
            if bottom == 1 and np.all(np.abs(edges) < 2**53):
                edges = [edge.astype(np.int64) for edge in edges]  # Arrow writes the float 1e10 as "1e+10"
        low, high = (pa.array(edge).cast(pa.string()) for edge in edges)
    return join("[", low, ", ", high, ")").take(pa.array(place, mask=~inside))


def _written(edge: Fraction) -> str:
    """A multiple of a decimal width with all its digits."""
    with localcontext(prec=4 * DIGITS):
        text = f"{Decimal(edge.numerator) / Decimal(edge.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def by_breaks(values: pa.Array, breaks: Sequence[float] | Sequence[Sequence[float]]) -> list[pa.Array]:
    """One array of interval labels per list of breaks, finest first; null where there is no interval."""
    nested = [level for level in breaks if isinstance(level, Sequence)]
    if nested and len(nested) < len(breaks):
        raise HierarchyError("breaks are either numbers or lists of numbers, not both")
    lists: list[Any] = nested or [breaks]
    if not lists[0]:
        raise HierarchyError("a hierarchy of intervals needs at least one break")
    for level in lists:
        if not all(map(math.isfinite, level)) or any(b <= a for a, b in itertools.pairwise(level)):
            raise HierarchyError(f"breaks must be finite and ascending, and are {list(level)}")
    if any(not set(coarse) <= set(fine) for fine, coarse in itertools.pairwise(lists)):
        raise HierarchyError("the breaks of each level must be among those of the level before")
    labels = []
    for level in lists:
        edges = ["-inf", *(str(int(edge)) if edge == int(edge) else str(edge) for edge in level), "inf"]
        names = [f"{'[' if i else '('}{low}, {high})" for i, (low, high) in enumerate(itertools.pairwise(edges))]
        place, known = _place_among(values, level)
        labels.append(pa.array(names).take(pa.array(place, mask=~known)))
    return labels


def _place_among(values: pa.Array, level: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """How many breaks each value has reached, and whether that can be said."""
    if not is_exact(values.type):
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.searchsorted(np.array(level, dtype=np.float64), numbers, side="right"), np.isfinite(numbers)
    units = Units.of(values)
    reached = [math.ceil(Fraction(str(edge)) * 10**units.scale) for edge in level]
    if any(abs(edge) >= 2**63 for edge in reached):
        units = units.wide()
    place = np.searchsorted(np.array(reached, dtype=units.numbers.dtype), units.numbers, side="right")
    return place, np.ones(len(values), dtype=np.bool_)


def period(column: pa.Array, level: str) -> pa.Array:
    """The period of each date in the words that are published for it."""

    def digits(part: pa.Array, width: int) -> pa.Array:
        return pc.utf8_lpad(part.cast(pa.string()), width=width, padding="0")

    year = pc.year(column)
    if level == "decade":
        return join(digits(pa.array(year.to_numpy() // 10 * 10), 4), "s")
    if level == "year":
        return digits(year, 4)
    if level == "quarter":
        return join(digits(year, 4), "-Q", pc.quarter(column).cast(pa.string()))
    month = join(digits(year, 4), "-", digits(pc.month(column), 2))
    return month if level == "month" else join(month, "-", digits(pc.day(column), 2))


def balance(counts: NDArray[np.int64], fanout: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Cut 0…n−1 into runs, runs of runs and so on: first, last and parent of every node but the root."""
    # A count of 0 would let a run of them be peeled off value by value, and the tree grow deep.
    running = np.concatenate(([0], np.cumsum(np.maximum(counts, 1))))
    a, b, node = np.array([0]), np.array([len(counts)]), np.array([0])
    lows, highs, parents, n_nodes = [a[:0]], [a[:0]], [a[:0]], 1
    if not len(counts):
        node = node[:0]
    while node.size:
        runs = np.minimum(fanout, b - a)
        cuts = np.repeat(b[:, None], fanout + 1, axis=1)
        cuts[:, 0] = a
        for j in range(1, fanout):
            target = running[a] + (running[b] - running[a]) * (np.minimum(j, runs) / runs)
            cut = np.clip(np.searchsorted(running, target), 1, len(counts))
            cut -= target - running[cut - 1] <= running[cut] - target
            # Every run gets at least one value, on this side of the cut and on the other.
            cuts[:, j] = np.where(j < runs, np.clip(cut, cuts[:, j - 1] + 1, b - (runs - j)), b)
        first, after = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        parent = np.repeat(node, fanout)
        some = first < after
        a, b, parent = first[some], after[some], parent[some]
        lows.append(a)
        highs.append(b - 1)
        parents.append(parent)
        node = n_nodes + np.arange(len(a))
        n_nodes += len(a)
        inner = b - a > 1
        a, b, node = a[inner], b[inner], node[inner]
    return np.concatenate(lows), np.concatenate(highs), np.concatenate(parents)


def nodes_of(levels: Sequence[pa.Array]) -> Nodes:
    """The nodes of a hierarchy with one array of labels per level, coarsest first and the values last.

    A null skips the level for that value, and a label equal to the one above it is the same node.
    """
    every = pa.concat_arrays(levels).dictionary_encode()
    codes = _close_gaps(every.indices.fill_null(-1).to_numpy().reshape(len(levels), -1))
    codes[1:][codes[1:] == codes[:-1]] = -1
    codes = _close_gaps(codes)
    node = np.zeros(codes.shape[1], dtype=np.int64)
    labels, parents, n_nodes = [], [np.array([-1])], 1
    for level in codes:
        here = np.flatnonzero(level >= 0)
        # Parent first, then label: siblings by first appearance, nodes in the order of their parents.
        key = node[here] * len(every.dictionary) + level[here]
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        order = np.lexsort((first, node[here][first]))
        first = here[first[order]]
        labels.append(level[first])
        parents.append(node[first])
        node[here] = n_nodes + np.argsort(order)[place]
        n_nodes += len(order)
    names = every.dictionary.take(pa.array(np.concatenate(labels))).to_numpy(zero_copy_only=False).tolist()
    return (ROOT, *names), np.concatenate(parents).astype(np.int32)


def _close_gaps(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Move the labels of each value up where levels are skipped (−1)."""
    return np.take_along_axis(codes, np.argsort(codes < 0, axis=0, kind="stable"), axis=0)
