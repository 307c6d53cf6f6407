"""Additive statistics: everything that decides on a class adds up over its records.

The vector of a group of records holds its size and, for each sensitive column that a requirement
is about, the histogram of its values. Vectors of disjoint groups add up to the vector of their
union, so it does not matter where and in how many pieces the records are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Statistics:
    """The sums of m groups of records, one row each."""

    size: NDArray[np.int64]
    """Number of records."""
    histograms: Mapping[str, NDArray[np.int64]]
    """Sensitive column → (m, values): how often each value occurs. Missing is a value of its own."""

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.size + other.size, {name: h + other.histograms[name] for name, h in self.histograms.items()}
        )

    @classmethod
    def count(
        cls, group: NDArray[np.integer], groups: int, columns: Mapping[str, tuple[NDArray[np.int32], int]]
    ) -> Statistics:
        """Count records into their groups.

        Parameters
        ----------
        group
            The group of each record.
        groups
            How many groups there are.
        columns
            Sensitive column → (code of each record, number of codes).
        """
        histograms = {
            name: np.bincount(group.astype(np.int64) * values + codes, minlength=groups * values).reshape(
                groups, values
            )
            for name, (codes, values) in columns.items()
        }
        return cls(np.bincount(group, minlength=groups), histograms)
