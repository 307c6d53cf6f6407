"""A grid: the line of numbers or dates with more distinct values than memory holds.

Its codes are cells between values of a sample, about as many records of it in each. A cell knows the smallest and the
largest value that occur in it, so that the range of a class holds every value of it, and ends at values that occur.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rothko.data.encode import Codes, from_whole_numbers, make_grid
from rothko.data.line import Line
from rothko.data.schema import Schema
from rothko.data.survey.distinct import as_stored, is_whole, presence
from rothko.data.survey.lookup import Lookup, Numbers, as_numbers
from rothko.data.typed import typed_column
from rothko.errors import InputError
from rothko.mistakes import said

CELLS = 65_536
"""How many cells a grid has at most."""


class Cells(NamedTuple):
    """What was found in the cells of a grid."""

    missing: bool
    """Whether a value was missing."""
    first: Numbers
    """The smallest value of each."""
    last: Numbers
    """The largest."""


class Grid:
    """The cells of a column, and what was found in each as far as it was gone through."""

    def __init__(self, name: str, sample: pa.ChunkedArray, policy: Schema) -> None:
        self._name = name
        self._policy = policy
        values = self._typed(sample)
        numbers = np.sort(as_numbers(values.drop_null()))
        cells = max(min(CELLS, len(numbers)), 1)
        # Cell i is all from its edge up to the next; the first has no lower end. A value that would fill several is the
        # edge of one.
        self._edges: Numbers = np.unique(numbers[np.arange(cells) * len(numbers) // cells]) if len(numbers) else numbers
        self._kind = values.type
        self._missing = False
        whole = is_whole(values.type)
        low, high = (np.iinfo(np.int64).min, np.iinfo(np.int64).max) if whole else (-np.inf, np.inf)
        kind = np.int64 if whole else np.float64
        self._first: Numbers = np.full(max(len(self._edges), 1), high, dtype=kind)
        self._last: Numbers = np.full(max(len(self._edges), 1), low, dtype=kind)

    def add(self, column: pa.ChunkedArray) -> None:
        """Take in more records."""
        from rothko.kernels.lookup import widen

        values = self._typed(column)
        self._missing |= values.null_count > 0
        widen(self._cells(values, -1), as_numbers(values), self._first, self._last)

    @property
    def found(self) -> Cells:
        """What was found so far."""
        return Cells(self._missing, self._first, self._last)

    def take_in(self, other: Cells) -> None:
        """Add what was found of other records."""
        self._missing |= other.missing
        np.minimum(self._first, other.first, out=self._first)
        np.maximum(self._last, other.last, out=self._last)

    def line(self) -> tuple[Line, Lookup]:
        """The line, and the lookup of its codes, once all records have been taken in."""
        held = self._first <= self._last  # the cell of no record is no code; only a file that changes has one
        first, last = self._as_values(self._first[held]), self._as_values(self._last[held])
        line = make_grid(self._name, first, last, self._policy.columns[self._name], missing=self._missing)
        of_cell = np.where(held, np.cumsum(held) - 1, -1).astype(np.int32)

        def look_up(column: pa.ChunkedArray, codes: Codes) -> None:
            values = self._typed(column)
            codes[:] = of_cell[self._cells(values, 0)]
            present = presence(values)
            if present.size:
                codes[~present] = line.missing_code

        return line, look_up

    def _typed(self, column: pa.ChunkedArray) -> pa.Array:
        return as_stored(typed_column(self._name, column, self._policy))

    def _cells(self, values: pa.Array, absent: int) -> Codes:
        cells = np.maximum(np.searchsorted(self._edges, as_numbers(values), side="right") - 1, 0).astype(np.int32)
        present = presence(values)
        if present.size:
            cells[~present] = absent
        return cells

    def _as_values(self, numbers: Numbers) -> pa.Array:
        if is_whole(self._kind):
            return from_whole_numbers(numbers, self._kind)
        return pa.array(numbers).cast(self._kind)


def check_grid(name: str, kind: pa.DataType, policy: Schema) -> None:
    """Refuse a column whose distinct values do not fit in memory and that cannot be cut in cells."""
    spec = policy.columns[name]
    many = f"Column {name!r} has more distinct values than the memory limit leaves room for"
    if name not in policy.quasi_identifiers:
        raise InputError(f"{many}; raise {said('--memory')}, round its values, or ask nothing of it.")
    numeric = (is_whole(kind) and not pa.types.is_boolean(kind)) or pa.types.is_floating(kind)
    if not numeric or spec.type == "text" or spec.hierarchy is not None or spec.order is not None:
        raise InputError(
            f"{many}, and only numbers and dates without a hierarchy can do with fewer; raise {said('--memory')}, "
            "drop or keep "
            "it, or make it coarser before, for example by shorter codes."
        )
    if name in policy.averaged:
        raise InputError(f"{many}, and its mean is asked for; raise {said('--memory')}, or publish ranges.")
