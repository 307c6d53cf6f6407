"""Frequency sets: what the records of a node say, value by value of one line, and its sums.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1. :mod:`rothko.engines.frequency` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.engines.crowd import Zone
from rothko.privacy.statistics import Statistics

CELLS = 1 << 21
"""How many sums are looked at in one go."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FrequencySet:
    """What the records of a node say, value by value of one line. Rows are codes from :attr:`first` on."""

    first: int
    counts: Ints
    """Records."""
    histograms: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    """Sensitive columns and class labels: records by code of their domain."""
    moments: Mapping[str, Floats] = field(default_factory=dict)
    """Sensitive columns: n, Σx and Σx² of the deviations that are there."""
    numbers: Mapping[str, Ints] = field(default_factory=dict)
    """Targets that are numbers: n and Σx, in multiples of their unit."""
    codes: NDArray[np.integer] | None = None
    """The code of each row, where they do not follow each other."""
    people: Callable[[], Zone] | None = None
    """Asks who has the codes of :meth:`~rothko.engines.chooser.Chooser.undecided`, where that can be found out."""


FrequencyGroup = Sequence[FrequencySet]
"""The frequency sets of a node, one per line."""


def sums_before(sums: NDArray[Any], rows: Ints, edges: Ints) -> NDArray[Any]:
    """Sums of the rows before each of some rising places among ``rows``."""
    kind = np.float64 if sums.dtype.kind == "f" else np.int64
    if not len(edges):
        return np.zeros((0, *sums.shape[1:]), dtype=kind)
    starts = np.append(0, edges[:-1])
    total = np.add.reduceat(sums[rows[: edges[-1]]], starts, axis=0, dtype=kind)
    return np.cumsum(total, axis=0)


def without(whole: Statistics, left: Statistics) -> Statistics:
    """What is left of a whole without each of some groups."""
    return Statistics(
        whole.size - left.size,
        left.domains,
        {name: whole.histograms[name] - h for name, h in left.histograms.items()},
        {name: whole.moments[name] - m for name, m in left.moments.items()},
    )


def some_of(stats: Statistics, which: NDArray[np.bool_]) -> Statistics:
    """The sums of some groups."""
    return Statistics(
        stats.size[which],
        stats.domains,
        {name: h[which] for name, h in stats.histograms.items()},
        {name: m[which] for name, m in stats.moments.items()},
    )


def between(ends: Statistics) -> Statistics:
    """The groups between running sums."""
    return Statistics(
        np.diff(ends.size, prepend=0),
        ends.domains,
        {name: np.diff(h, axis=0, prepend=0) for name, h in ends.histograms.items()},
        {name: np.diff(m, axis=0, prepend=0.0) for name, m in ends.moments.items()},
    )
