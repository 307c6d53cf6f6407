"""Columns that determine another one: who knows the one, knows the other.

Few records show where this cannot be so; what is left is counted over all of them. Pairs are looked at in one direction
after the other: a zip determines its town, and a town no zip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import rank

SAMPLED = 2_000
"""Records that show what does not determine what."""
NEARLY = 0.99
"""The share of records from which on a value determines another."""
REPEATED = 5
"""So many records must share a value on average: what nobody shares determines everything."""
COUNTED = 200
"""The most pairs that are counted over all records: a table of a thousand copies of a column is told of a few."""

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Dependence:
    """A column whose values determine those of another."""

    by: str
    of: str
    share: float
    """Of the records: how many have the commonest value of the one among those of the other."""


def dependences(columns: Sequence[tuple[str, pa.ChunkedArray, int]]) -> list[Dependence]:
    """Find the pairs, in the order of the columns.

    Parameters
    ----------
    columns
        Name, values and the number of distinct ones.
    """
    rows = len(columns[0][1]) if columns else 0
    telling = [
        (name, column, distinct) for name, column, distinct in columns if 2 <= distinct <= max(rows, 1) / REPEATED
    ]
    if len(telling) < 2:
        return []
    drawn = np.arange(rows)
    if rows > SAMPLED:
        drawn = np.sort(np.random.default_rng(0).choice(rows, SAMPLED, replace=False))
    at = pa.array(drawn)
    few = np.stack([_codes(column.take(at)) for _, column, _ in telling])
    kept: dict[int, Codes] = {}

    def whole(i: int) -> Codes:
        if i not in kept:
            if len(kept) >= 16:
                kept.pop(next(iter(kept)))
            kept[i] = _codes(telling[i][1])
        return kept[i]

    return list(_counted(telling, _possible(few, [distinct for *_, distinct in telling]), whole))


def _codes(column: pa.ChunkedArray) -> Codes:
    """Ranks from 0, the missing value among them."""
    codes = np.empty(len(column), dtype=np.int32)
    rank(column, codes)
    codes += 1
    return codes


def _possible(few: Codes, distinct: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs that a sample does not speak against: of records next to each other with equal values, few differ."""
    counts = np.array(distinct)
    for by in range(len(few)):
        order = np.argsort(few[by], kind="stable")
        ordered = few[:, order]
        equal = ordered[by, 1:] == ordered[by, :-1]
        differ = (ordered[:, 1:] != ordered[:, :-1])[:, equal].sum(axis=1)
        fits = (differ <= 2 * (1 - NEARLY) * few.shape[1] + 3) & (counts <= counts[by])
        fits[by] = False
        yield from ((by, int(of)) for of in np.flatnonzero(fits))


def _counted(
    columns: Sequence[tuple[str, pa.ChunkedArray, int]],
    pairs: Iterator[tuple[int, int]],
    whole: Callable[[int], Codes],
) -> Iterator[Dependence]:
    for tried, (by, of) in enumerate(pairs):
        if tried == COUNTED:
            return
        share, commonest = determined(whole(by), whole(of))
        if share >= NEARLY and share > (1 + commonest) / 2:
            yield Dependence(columns[by][0], columns[of][0], share)


def determined(by: Codes, of: Codes) -> tuple[float, float]:
    """The share of records with the commonest value of one column among those of the other, and of all records.

    Examples
    --------
    >>> determined(np.array([0, 0, 1, 1], np.int32), np.array([5, 5, 5, 7], np.int32))
    (0.75, 0.75)
    """
    width = int(of.max()) + 1
    pairs, counts = np.unique(by.astype(np.int64) * width + of, return_counts=True)
    groups = pairs // width
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    most = np.maximum.reduceat(counts, begins)
    return float(most.sum() / len(by)), float(np.bincount(of).max() / len(of))
