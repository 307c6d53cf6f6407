"""How well the classes of a release tell a column that a model will predict.

Conditional entropy and weighted mean squared error: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.1,
equations 1 and 2. Classification metric: Iyengar, Transforming Data to Satisfy Privacy Constraints, KDD 2002,
section 4. All are functions of the class of each record alone; a record without label or number says nothing
about a model and is left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def conditional_entropy(
    classes: NDArray[np.integer], labels: NDArray[np.integer], times: NDArray[np.int64] | None = None
) -> float:
    """H(C | R*): the entropy of the label within the classes, weighted by their sizes, in bits (equation 1).

    Parameters
    ----------
    classes
        The class of each record.
    labels
        The code of each record's label, -1 where it is missing.
    times
        How often each record occurs; once where it is None.

    Examples
    --------
    >>> conditional_entropy(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    0.5
    """
    there = labels >= 0
    if not there.any():
        return 0.0
    of_class, _, counts = _counted(classes[there], labels[there], None if times is None else times[there])
    sizes = np.bincount(of_class, weights=counts)
    # Σ n(c, i) · log (n(i) / n(c, i)): no share of a class is ever rounded.
    return float(np.sum(counts * np.log2(sizes[of_class] / counts)) / counts.sum())


def classification_metric(
    classes: NDArray[np.integer], labels: NDArray[np.integer], times: NDArray[np.int64] | None = None
) -> float:
    """CM: the share of records whose label is not the most frequent one of their class, or that are suppressed.

    Parameters
    ----------
    classes
        The class of each record, -1 for a suppressed one.
    labels
        The code of each record's label, -1 where it is missing.
    times
        How often each record occurs; once where it is None.

    Examples
    --------
    >>> classification_metric(np.array([0, 0, 0, -1]), np.array([0, 1, 1, 1]))
    0.5
    """
    there = labels >= 0
    if not there.any():
        return 0.0
    kept = there & (classes >= 0)
    of_class, _, counts = _counted(classes[kept], labels[kept], None if times is None else times[kept])
    most = np.zeros(int(of_class.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, of_class, counts)
    records = int(np.count_nonzero(there) if times is None else times[there].sum())
    return (records - int(most.sum())) / records


def wmse(classes: NDArray[np.integer], numbers: NDArray[np.float64]) -> float:
    """WMSE(T, R*): the mean squared distance of a number to the mean of its class (equation 2).

    Parameters
    ----------
    classes
        The class of each record.
    numbers
        The number of each record, NaN where it is missing.

    Returns
    -------
    The error, or infinity where no floating-point number is as large as the squares.

    Examples
    --------
    >>> wmse(np.array([0, 0, 1]), np.array([1e9, 1e9 + 2, 7]))
    0.6666666666666666
    """
    there = ~np.isnan(numbers)
    if not there.any():
        return 0.0
    classes, numbers = classes[there], numbers[there]
    sizes = np.maximum(np.bincount(classes), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        # Twice around the mean: what rounding leaves of the first mean, the second takes away.
        for _ in range(2):
            means = np.bincount(classes, weights=numbers) / sizes
            numbers = numbers - means[classes]
        found = float(np.mean(numbers**2))
    return found if math.isfinite(found) else math.inf


def _counted(
    classes: NDArray[np.integer], labels: NDArray[np.integer], times: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of class and label that occur, and how often."""
    width = int(labels.max(initial=0)) + 1
    pairs = classes.astype(np.int64) * width + labels
    cells = (int(classes.max(initial=0)) + 1) * width
    if times is not None:
        found, place = np.unique(pairs, return_inverse=True)
        counts = np.zeros(len(found), dtype=np.int64)
        np.add.at(counts, place, times)
    elif cells <= 4 * len(pairs) + 65_536:
        table = np.bincount(pairs, minlength=cells)
        found = np.flatnonzero(table)
        counts = table[found]
    else:
        found, counts = np.unique(pairs, return_counts=True)
    return found // width, found % width, counts
