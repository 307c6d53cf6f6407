"""How well a release answers queries: selections, and aggregates of what they select.

Selection: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.2. A predicate returns all records of every class
whose box overlaps it; imprecision is how many too many these are. Aggregation: ibid., section 3.3. COUNT comes
from the sizes of the classes, SUM and AVG from their means, MIN and MAX from their ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.methods.classes import Members

Ints = NDArray[np.integer[Any]]


def overlapping(
    low: Ints, high: Ints, query_low: Ints, query_high: Ints, members: Mapping[int, Members] | None = None
) -> NDArray[np.bool_]:
    """Whether each class overlaps a query: a union of boxes, as the classes are boxes.

    Parameters
    ----------
    low, high
        (classes, lines): first and last code of each class.
    query_low, query_high
        (boxes, lines): the same of the query.
    members
        Of lines on which classes show sets: the codes of each class.

    Examples
    --------
    >>> overlapping(np.array([[0], [3]]), np.array([[2], [5]]), np.array([[2]]), np.array([[2]]))
    array([ True, False])
    >>> ends_of_a_set = Members(np.array([0, 2]), np.array([0, 2], dtype=np.int32))
    >>> overlapping(np.array([[0]]), np.array([[2]]), np.array([[1]]), np.array([[1]]), {0: ends_of_a_set})
    array([False])
    """
    found = np.zeros(len(low), dtype=np.bool_)
    for first, last in zip(query_low, query_high, strict=True):
        hit = np.all((low <= last) & (high >= first), axis=1)
        for line, sets in (members or {}).items():
            inside = (sets.codes >= first[line]) & (sets.codes <= last[line])
            hit &= np.logical_or.reduceat(inside, sets.starts[:-1])
        found |= hit
    return found


def within(low: Ints, high: Ints, sizes: Sequence[int], query_low: Ints, query_high: Ints) -> NDArray[np.bool_]:
    """Whether each class lies in one of the boxes of a query: all of its records satisfy it, whichever they are.

    >>> within(np.array([[0], [3]]), np.array([[2], [5]]), [9], np.array([[2]]), np.array([[6]]))
    array([False,  True])
    """
    found = np.zeros(len(low), dtype=np.bool_)
    for first, last in zip(query_low, query_high, strict=True):
        narrowed = (first > 0) | (last < np.asarray(sizes) - 1)
        found |= np.all(((low >= first) & (high <= last)) | ~narrowed, axis=1)
    return found


def satisfying(codes: Ints, sizes: Sequence[int], query_low: Ints, query_high: Ints) -> NDArray[np.bool_]:
    """Whether each record lies in a query.

    Parameters
    ----------
    codes
        (lines, records).
    sizes
        How many codes each line has: one that a box does not narrow need not be looked at.

    Examples
    --------
    >>> satisfying(np.array([[0, 2, 4]]), [5], np.array([[2]]), np.array([[4]]))
    array([False,  True,  True])
    """
    found = np.zeros(codes.shape[1], dtype=np.bool_)
    for first, last in zip(query_low, query_high, strict=True):
        inside = np.ones(codes.shape[1], dtype=np.bool_)
        for line, size in enumerate(sizes):
            if first[line] > 0:
                inside &= codes[line] >= first[line]
            if last[line] < size - 1:
                inside &= codes[line] <= last[line]
        found |= inside
    return found


def imprecision(sizes: Ints, overlaps: NDArray[np.bool_], matching: int) -> int:
    """How many records a predicate returns beyond those that satisfy it.

    >>> imprecision(np.array([3, 4, 5]), np.array([True, False, True]), matching=6)
    2
    """
    return int(sizes[overlaps].sum()) - matching


def answer(
    function: str, sizes: Ints, statistic: NDArray[np.float64], absent: NDArray[np.bool_]
) -> tuple[float | None, int]:
    """Answer an aggregate from the classes that a query returns.

    Parameters
    ----------
    sizes
        Records in each class.
    statistic
        What each class shows: its mean for ``sum`` and ``avg``, its smallest value for ``min``, its largest for
        ``max``; NaN where it shows none.
    absent
        Whether a class is known to have missing values only, which an aggregate leaves out.

    Returns
    -------
    The answer, None where no class has one; and how many records it leaves out though they may have a value.

    Examples
    --------
    >>> answer("avg", np.array([2, 6]), np.array([10.0, 20.0]), np.array([False, False]))
    (17.5, 0)
    """
    if function == "count":
        return float(sizes.sum()), 0
    known = ~np.isnan(statistic)
    unanswered = int(sizes[~known & ~absent].sum())
    sizes, statistic = sizes[known], statistic[known]
    return _aggregate(function, statistic, sizes), unanswered


def true_answer(function: str, values: NDArray[np.float64], counts: Ints, records: int) -> float | None:
    """The same from the original: its distinct values, how many of the records have each, and how many there are.

    >>> true_answer("sum", np.array([10.0, 20.0]), np.array([3, 1]), records=5)
    50.0
    """
    if function == "count":
        return float(records)
    return _aggregate(function, values[counts > 0], counts[counts > 0])


def relative_error(truth: float | None, answered: float | None) -> float | None:
    """|answer − truth| ÷ |truth|; None where there is no answer, or no measure for its distance from 0.

    >>> relative_error(40.0, 50.0)
    0.25
    """
    if truth is None or answered is None:
        return None
    apart = abs(answered - truth)
    if apart == 0:
        return 0.0
    return apart / abs(truth) if truth else None


def _aggregate(function: str, values: NDArray[np.float64], times: Ints) -> float | None:
    """An aggregate of values, each so many times."""
    if len(values) == 0:
        return None
    if function in ("min", "max"):
        return float(values.min() if function == "min" else values.max())
    with np.errstate(over="ignore", invalid="ignore"):
        # From the first value on, so that large numbers which differ little keep their digits.
        mean = values[0] + float(np.sum((values - values[0]) * times)) / int(times.sum())
        found = mean if function == "avg" else float(np.sum(values * times))
    return float(found) if np.isfinite(found) else None
