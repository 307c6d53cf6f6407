"""A line: the integer codes of one quasi-identifier, in an order on which every published value is an interval.

Three kinds. *Ordered*: numbers, dates, ordinal text; code = rank among the distinct values. *Tree*:
a hierarchy's leaves numbered by walking it, so that each node owns an interval. *Nominal*: labels in
their natural order, published as sets. The missing value, where there is one, is the last code: a
leaf directly under the root, so an interval that mixes it with others publishes the root.

A *grid* is an ordered line with more distinct values than memory: a code is a cell, all values from ``values[code]``
to ``upper[code]``, both of which occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.numbered import Tree


class Kind(IntEnum):
    """How far apart two codes of a line are; the numbers are those of the kernels."""

    ORDERED = 0
    """By value."""
    NOMINAL = 1
    """By the number of values in between."""
    TREE = 2
    """By the leaves under the lowest common node."""


@dataclass(frozen=True, slots=True)
class Line:
    """The codes of one quasi-identifier."""

    name: str
    """The column."""
    kind: Kind
    """How distances are measured."""
    values: pa.Array
    """The value of each code in line order, without the missing one."""
    places: NDArray[np.float64]
    """How far each value lies from the first, in its own unit (ordered lines; empty otherwise)."""
    missing: bool
    """Whether missing values occur; their code is the last one."""
    weight: float = 1.0
    """How much the column counts, in choosing cuts and in loss."""
    tree: Tree | None = None
    """The part of the hierarchy that occurs in the data."""
    hierarchy: Hierarchy | None = None
    """The whole hierarchy, to place values that the data does not have."""
    order: tuple[str, ...] | None = None
    """All values of an ordinal text column, the data's and others, as the policy orders them."""
    upper: pa.Array | None = None
    """The last value of each cell of a grid; None where every code is one value."""
    ends: NDArray[np.float64] | None = None
    """How far the last value of each cell of a grid lies from the first of all."""

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.values) + self.missing

    @property
    def span(self) -> float:
        """How far the last value of an ordered line lies from the first; 1 where that is nothing."""
        ends = self.places if self.ends is None else self.ends
        return float(ends[-1]) if len(ends) and ends[-1] > 0 else 1.0

    @property
    def missing_code(self) -> int:
        """The code of the missing value, -1 where there is none."""
        return len(self.values) if self.missing else -1

    @property
    def last(self) -> pa.Array:
        """The largest value of each code; in a grid only, it is another than the smallest."""
        return self.values if self.upper is None else self.upper

    @property
    def texts(self) -> pa.Array:
        """The values as text, as they are published."""
        return as_text(self.values)

    def width(self, low: NDArray[np.integer], high: NDArray[np.integer]) -> NDArray[np.float64]:
        """Normalised certainty penalty of intervals of codes, without weight (Ghinita et al. 2007, section 2.1).

        0 for a single value, 1 for the whole line. Numbers: range ÷ range of the table. Trees: leaves
        under the lowest common node ÷ all leaves. Sets: their size ÷ all values.
        """
        low, high = np.asarray(low), np.asarray(high)
        ends = self.places if self.ends is None else self.ends
        if self.kind is Kind.ORDERED and not self.missing and len(self.places):
            return np.asarray((ends[high] - self.places[low]) / self.span)
        if self.kind is Kind.ORDERED:
            last = max(len(self.values) - 1, 0)
            places = self.places if len(self.places) else np.zeros(1)
            ends = ends if len(ends) else places
            width = (ends[np.minimum(high, last)] - places[np.minimum(low, last)]) / self.span
        elif self.kind is Kind.NOMINAL:
            width = (high - low + 1) / self.size
        else:
            assert self.tree is not None
            node = self.tree.lowest(low, high)
            width = (self.tree.high[node] - self.tree.low[node] + 1) / self.size
        mixed = (low < high) & (high == self.missing_code)
        alone = (low == high) if self.upper is None else (low == self.missing_code)
        return np.where(alone, 0.0, np.where(mixed, 1.0, width))


def as_text(values: pa.Array) -> pa.Array:
    """Values as the text that is published for them."""
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "true", "false")
    return pc.cast(values, pa.string())
