"""The values that classes may have, by what they show: runs of codes on a line.

A range, a tree label and the root are one run; a set of labels has as many as it has gaps on the line, and one more.
Every metric that asks how many values a class may have, or how its records spread over them, asks here: only the values
that occur in the original count, as they make up the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rothko.metrics.published import Shown


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """What each class may have on one line."""

    size: int
    """Codes of the line."""
    starts: NDArray[np.int64]
    """Where the runs of each class begin, and their number at the end: classes + 1 numbers."""
    low: NDArray[np.int64]
    """First code of each run; those of a class rise."""
    high: NDArray[np.int64]
    """Last code of each run."""

    @classmethod
    def of(cls, shown: Shown, size: int) -> Extent | None:
        """From what classes show on a line of so many codes; None where they do not say where they lie.

        >>> nothing = np.zeros(2, dtype=np.bool_)
        >>> Extent.of(Shown(np.array([0, 2]), np.array([1, 2]), nothing, nothing), 3).count.tolist()
        [2, 1]
        """
        if not shown.known:
            return None
        if shown.members is None:
            return cls(size, np.arange(len(shown.low) + 1), shown.low, shown.high)
        codes = shown.members.codes.astype(np.int64)
        owner = np.repeat(np.arange(len(shown.low)), shown.members.sizes)
        begins = np.ones(len(codes), dtype=np.bool_)
        begins[1:] = (np.diff(codes) != 1) | (np.diff(owner) != 0)
        ends = np.append(begins[1:], True)[: len(codes)]
        starts = np.searchsorted(owner[begins], np.arange(len(shown.low) + 1))
        return cls(size, starts.astype(np.int64), codes[begins], codes[ends])

    @property
    def count(self) -> NDArray[np.int64]:
        """How many values each class may have."""
        return self._by_class(self.high - self.low + 1)

    def take(self, classes: NDArray[np.integer[Any]]) -> Extent:
        """What some classes may have, in the order of these."""
        runs = np.diff(self.starts)[classes]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(runs)])
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], runs)
        places = np.repeat(self.starts[classes], runs) + within
        return Extent(self.size, starts, self.low[places], self.high[places])

    def total(self, of_codes: ArrayLike) -> NDArray[Any]:
        """For each class, the sum of a number of each code over the codes that it may have."""
        numbers = np.asarray(of_codes)
        before = np.concatenate([np.zeros(1, dtype=numbers.dtype), np.cumsum(numbers, dtype=numbers.dtype)])
        return self._by_class(before[self.high + 1] - before[self.low])

    def within(self, first: int, last: int) -> NDArray[np.int64]:
        """How many codes from the first up to before the last each class may have."""
        return self._by_class(np.maximum(np.minimum(self.high + 1, last) - np.maximum(self.low, first), 0))

    def _by_class(self, of_runs: NDArray[Any]) -> NDArray[Any]:
        found = np.zeros(len(self.starts) - 1, dtype=of_runs.dtype)
        some = self.starts[1:] > self.starts[:-1]  # a class whose values the original has not has no run
        if len(of_runs) == len(found) and some.all():
            return of_runs
        if some.any():
            found[some] = np.add.reduceat(of_runs, self.starts[:-1][some])
        return found
