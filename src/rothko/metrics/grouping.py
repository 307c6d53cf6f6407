"""What classes cost, from their sizes and from the width of what they show; and how that adds up over parts of a table.

NCP and GCP: :func:`rothko.methods.classes.penalties`. Discernibility: Bayardo and Agrawal, ICDE 2005. Average class
size: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, here plainly records ÷ classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Grouping(NamedTuple):
    """Classes as metrics ask for them."""

    ncp: dict[str, float]
    """Quasi-identifier → the mean NCP of the records."""
    gcp: float
    """Their mean, by the weights of the columns."""
    sizes: NDArray[np.integer]
    """Records in each class; classes that publish the same are one."""
    suppressed: int = 0
    """Records that lose everything."""


def average_class_size(classes: Grouping) -> float:
    """Records ÷ classes."""
    return int(classes.sizes.sum()) / len(classes.sizes)


def discernibility(classes: Grouping) -> int:
    """Σ of squared sizes."""
    return int(np.sum(classes.sizes.astype(np.int64) ** 2))


def class_sizes(classes: Grouping) -> dict[str, int]:
    """Classes by size, in ranges that double: 1, 2-3, 4-7 and so on.

    >>> class_sizes(Grouping({}, 0.0, np.array([1, 5, 6, 9])))
    {'1': 1, '4-7': 2, '8-15': 1}
    """
    octave = np.floor(np.log2(classes.sizes)).astype(np.int64)
    found, counts = np.unique(octave, return_counts=True)
    return {
        ("1" if o == 0 else f"{2**o}-{2 ** (o + 1) - 1}"): int(c) for o, c in zip(found.tolist(), counts, strict=True)
    }


def mean(values: Sequence[float], rows: Sequence[int]) -> float:
    """Of parts with so many records each."""
    return float(np.dot(values, np.array(rows) / sum(rows)))


def mean_by_column(values: Sequence[Mapping[str, float]], rows: Sequence[int]) -> dict[str, float]:
    """The same for each column."""
    return {name: mean([one[name] for one in values], rows) for name in values[0]}


def mean_by_class(values: Sequence[float], rows: Sequence[int]) -> float:
    """Of parts, from what their records ÷ classes are."""
    return sum(rows) / sum(round(n / average) for n, average in zip(rows, values, strict=True))


def histogram(values: Sequence[Mapping[str, int]], rows: Sequence[int]) -> dict[str, int]:
    """Of parts, from theirs."""
    found = sum(map(Counter, values), Counter[str]())
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition("-")[0])))
