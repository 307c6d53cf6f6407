"""What the tasks of a workload make of the choice of cuts: the arrays that the kernels score cuts with.

Scores are sums over targets (LeFevre, DeWitt, Ramakrishnan, TODS 2008, equations 5 and 6), each times a factor:

- class labels only: entropy in bits;
- numbers only: squared error, in shares of the variance of all targets in the whole table;
- both: each target in shares of its own impurity in the whole table, entropy or variance.

The gain of a cut is how much the score falls, for each record of the node, in these units; under
``minimum_gain`` the median takes over. A record without a value of the target does not count for that target.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.errors import InputError, WorkloadWarning
from rothko.privacy.statistics import Domain
from rothko.workload.features import groups_of
from rothko.workload.tasks import Classify, Model, Select, Task, models

MANY_LABELS = 1000

AddRow = Callable[[str, NDArray[np.int32]], int]
"""Puts codes into the table of the kernel, once for each name; returns the row."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """The arrays of the criteria, see :mod:`rothko.kernels.gain` and :mod:`rothko.kernels.selection`."""

    targets: NDArray[np.int64]
    factors: NDArray[np.float64]
    features: NDArray[np.uint8]
    numbers: NDArray[np.int64]
    logs: NDArray[np.int64]
    minimum_gain: float
    then_median: bool
    """Whether the median takes over where there is too little to gain; otherwise the node is left whole."""
    box_low: NDArray[np.int32]
    box_high: NDArray[np.int32]
    weights: NDArray[np.float64]

    @property
    def first_phase(self) -> int:
        """The criterion that begins."""
        from rothko.kernels.nodes import GAIN, SELECTION

        return SELECTION if len(self.weights) else GAIN

    def arguments(self) -> tuple[Any, ...]:
        """The arrays in the order in which the kernel takes them."""
        return (
            self.targets, self.factors, self.features, self.numbers, self.logs, self.minimum_gain,
            self.then_median, self.box_low, self.box_high, self.weights,
        )  # fmt: skip


def criteria(
    encoded: Encoded,
    workload: Sequence[Task],
    add_row: AddRow,
    *,
    minimum_gain: float,
    then_median: bool = True,
    threads: int = 1,
) -> Criteria | None:
    """The criteria of a workload; None where no task has a say in the cuts."""
    tasks = models(workload)
    low, high, weights = _queries(workload, encoded.lines)
    if not tasks and not len(weights):
        return None
    rows, factors, numbers = _targets(encoded, tasks, add_row, threads)
    names = [line.name for line in encoded.lines]
    seen = [[task.features is None or name in task.features for name in names] for task in tasks]
    return Criteria(
        targets=rows,
        factors=factors,
        features=np.array(seen, dtype=np.uint8).reshape(len(tasks), len(names)),
        numbers=numbers,
        logs=logarithms(encoded.rows if tasks else 0),
        minimum_gain=float(minimum_gain),
        then_median=then_median,
        box_low=low,
        box_high=high,
        weights=weights,
    )


def logarithms(most: int) -> NDArray[np.int64]:
    """c·log₂ c for c from 0 to ``most``, in multiples of 2^−24."""
    counts = np.arange(most + 1, dtype=np.float64)
    return np.rint(counts * np.log2(np.maximum(counts, 1.0)) * 2.0**24).astype(np.int64)


def _targets(
    encoded: Encoded, tasks: Sequence[Model], add_row: AddRow, threads: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The table of targets, their factors, and their numbers one after the other."""
    from rothko.kernels.gain import LABEL, NUMBER

    rows, impurities, units = [], [], []
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    at = at_group = 0
    for task in tasks:
        codes, domain = encoded.targets[task.target]
        is_label = isinstance(task, Classify)
        impurity = _impurity(task, domain, encoded.rows)
        row = add_row(task.target, codes)
        group, groups = groups_of(encoded, task, threads=threads)
        group_row = -1 if group is None else add_row(f"groups of {task!r}", group)
        labels = domain.size - 1
        begins = sum(map(len, numbers))
        rows.append((LABEL if is_label else NUMBER, row, labels, groups, group_row, begins, at, at_group))
        if is_label:
            unit = 2.0**-24
        else:
            whole, power = fixed_point(domain, encoded.rows)
            numbers.append(whole)
            unit = 2.0 ** (-2 * power)
        at += (labels if is_label else 1) * groups + 1
        at_group += groups
        impurities.append(impurity)
        units.append(unit)
    kinds = {isinstance(task, Classify) for task in tasks}
    if kinds == {True}:
        shares = np.ones(len(tasks))
    elif kinds == {False}:
        shares = np.full(len(tasks), sum(impurities))
    else:
        shares = np.array(impurities)
    table = np.array(rows, dtype=np.int64).reshape(-1, 8)
    return table, np.array(units) / shares if tasks else np.empty(0), np.concatenate(numbers)


def _impurity(task: Model, domain: Domain, rows: int) -> float:
    """Entropy in bits or variance of a target in the whole table; an error where there is nothing to learn."""
    counts = domain.counts[:-1]
    if not counts.sum():
        raise InputError(f"{task.describe()}: all {rows} values are missing, so there is nothing to learn.")
    if len(counts) == 1:
        raise InputError(f"{task.describe()}: the column has one value throughout, so there is nothing to learn.")
    share = counts / counts.sum()
    if isinstance(task, Classify):
        if len(counts) > MANY_LABELS:
            warnings.warn(
                f"{task.describe()}: the column has {len(counts):,} classes; a number is better served by regress, "
                "and labels by fewer, coarser ones.",
                WorkloadWarning,
                stacklevel=2,
            )
        return float(-np.dot(share, np.log2(share)))
    x = domain.deviations[:-1]
    mean = float(np.dot(share, x))
    return float(np.dot(share, (x - mean) ** 2))


def fixed_point(domain: Domain, rows: int) -> tuple[NDArray[np.int64], int]:
    """The deviations of a domain in multiples of 2^−power, such that no sum over the table passes 2^62.

    Whole numbers stay what they are while they fit.
    """
    x = domain.deviations[:-1]
    largest = float(np.max(np.abs(x), initial=0.0))
    power = 61 - math.frexp(max(largest, 2.0**-900) * rows)[1]
    if domain.whole:
        power = min(power, 0)
    return np.rint(np.ldexp(x, power)).astype(np.int64), power


def _queries(
    workload: Sequence[Task], lines: Sequence[Line]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """The boxes of all selections, and the weight of each."""
    lows, highs = [np.empty((0, len(lines)), dtype=np.int32)], [np.empty((0, len(lines)), dtype=np.int32)]
    weights = [np.empty(0)]
    for task in workload:
        if isinstance(task, Select):
            from rothko.workload.boxes import boxes

            low, high = boxes(task.predicate, lines)
            if not len(low):
                raise InputError(f"{task.describe()}: no value of this table satisfies it; correct or remove it.")
            lows.append(low)
            highs.append(high)
            weights.append(np.full(len(low), float(task.weight)))
    return np.concatenate(lows), np.concatenate(highs), np.concatenate(weights)
