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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.errors import InputError, WorkloadWarning
from rothko.workload.tasks import Classify, Model, Select, Task, models

STRIDE = 1 << 15
"""Logarithms that are computed at a time: they stay in the cache."""
MANY_LABELS = 1000

AddRow = Callable[[str, NDArray[np.int32]], int]
"""Puts codes into the table of the kernel, once for each name; returns the row."""


class Groups(NamedTuple):
    """Records in groups within which a model's target is looked at by itself."""

    codes: NDArray[np.int32]
    """The group of each record."""
    total: int
    """How many groups there are."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """The arrays of the criteria, see :mod:`rothko.kernels.mondrian.target_cells` and
    :mod:`rothko.kernels.mondrian.selection`.
    """

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
        from rothko.kernels.mondrian.nodes import GAIN, SELECTION

        return SELECTION if len(self.weights) else GAIN

    def arguments(self) -> tuple[Any, ...]:
        """The arrays in the order in which the kernel takes them."""
        from rothko.kernels.mondrian.selection import Queries
        from rothko.kernels.mondrian.target_cells import Targets

        targets = Targets(self.targets, self.factors, self.features, self.numbers, self.logs)
        queries = Queries(self.box_low, self.box_high, self.weights)
        return (
            targets if len(self.targets) else None,
            queries if len(self.weights) else None,
            self.minimum_gain,
            self.then_median,
        )


def criteria(
    encoded: Encoded,
    workload: Sequence[Task],
    add_row: AddRow,
    *,
    minimum_gain: float,
    groups: Sequence[Groups | None] | None = None,
    then_median: bool = True,
) -> Criteria | None:
    """The criteria of a workload; None where no task has a say in the cuts.

    Parameters
    ----------
    add_row
        Puts codes into the table of the kernel.
    groups
        Of each model, the groups of records to take its gain in; None for all records together.
    then_median
        Whether the median goes on where there is nothing to gain.
    """
    tasks = models(workload)
    low, high, weights = _queries(workload, encoded.lines)
    if not tasks and not len(weights):
        return None
    rows, factors, numbers = _targets(encoded, tasks, groups or [None] * len(tasks), add_row)
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


def logarithm(counts: NDArray[Any]) -> NDArray[np.int64]:
    """c·log₂ c of each count, in multiples of 2^−24."""
    c = np.asarray(counts, dtype=np.float64)
    return np.rint(c * np.log2(np.maximum(c, 1.0)) * 2.0**24).astype(np.int64)


def logarithms(most: int) -> NDArray[np.int64]:
    """The same of all counts from 0 to ``most``."""
    found = np.empty(most + 1, dtype=np.int64)
    for begin in range(0, most + 1, STRIDE):
        found[begin : begin + STRIDE] = logarithm(np.arange(begin, min(begin + STRIDE, most + 1)))
    return found


def _targets(
    encoded: Encoded, tasks: Sequence[Model], groups: Sequence[Groups | None], add_row: AddRow
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The table of targets, their factors, and their numbers one after the other."""
    from rothko.kernels.mondrian.target_cells import LABEL, NUMBER

    rows, impurities, powers = [], [], []
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    at = at_group = 0
    for task, group in zip(tasks, groups, strict=True):
        codes, domain = encoded.targets[task.target]
        check_learnable(task, domain)
        is_label, labels = isinstance(task, Classify), domain.size - 1
        row, group_row, count = add_row(task.target, codes), -1, 1
        if group is not None and group.total > 1:
            group_row, count = add_row(f"groups of {task!r}", group.codes), group.total
        begins = sum(map(len, numbers))
        rows.append((LABEL if is_label else NUMBER, row, labels, count, group_row, begins, at, at_group))
        if is_label:
            impurities.append(_entropy(domain))
            powers.append(24)
        else:
            whole, power = fixed_point(domain, int(domain.counts.sum()))
            numbers.append(whole)
            impurities.append(_variance(whole, domain))
            if impurities[-1] == 0:  # such as 1 and 1.0, which are different texts
                raise InputError(
                    f"{task.describe()}: its numbers are all the same, or too close to be told apart, so there is "
                    "nothing to learn."
                )
            powers.append(2 * power)
        at += (labels if is_label else 1) * count + 1
        at_group += count
    factors = _factors([isinstance(task, Classify) for task in tasks], np.array(impurities), np.array(powers))
    return np.array(rows, dtype=np.int64).reshape(-1, 8), factors, np.concatenate(numbers)


def _factors(
    are_labels: Sequence[bool], impurities: NDArray[np.float64], powers: NDArray[np.int64]
) -> NDArray[np.float64]:
    """What the score of each target is to be multiplied by; scores and impurities are in multiples of 2^−power."""
    if all(are_labels):
        return np.ldexp(1.0, -powers) if len(powers) else np.empty(0)
    if any(are_labels):
        return 1 / impurities
    # In the unit of the largest numbers: the square of a large one would not be a number any more.
    units = np.ldexp(1.0, powers.min() - powers)
    return np.asarray(units / np.dot(units, impurities))


def check_learnable(task: Model, domain: Domain) -> None:
    """Refuse a target with nothing to learn, and warn of one with too much."""
    counts = domain.counts[:-1]
    if not counts.sum():
        raise InputError(
            f"{task.describe()}: all {domain.counts.sum()} values are missing, so there is nothing to learn."
        )
    if len(counts) == 1:
        raise InputError(f"{task.describe()}: the column has one value throughout, so there is nothing to learn.")
    if isinstance(task, Classify) and len(counts) > MANY_LABELS:
        warnings.warn(
            f"{task.describe()}: the column has {len(counts):,} classes; a number is better served by regress, "
            "and labels by fewer, coarser ones.",
            WorkloadWarning,
            stacklevel=2,
        )


def _entropy(domain: Domain) -> float:
    """Of a label in the whole table, in multiples of 2^−24 bits."""
    share = domain.counts[:-1] / domain.counts[:-1].sum()
    return float(-np.dot(share, np.log2(share))) * 2.0**24


def _variance(numbers: NDArray[np.int64], domain: Domain) -> float:
    """Of a number in the whole table, in the square of its unit."""
    share = domain.counts[:-1] / domain.counts[:-1].sum()
    mean = float(np.dot(share, numbers))
    return float(np.dot(share, (numbers - mean) ** 2))


def fixed_point(domain: Domain, rows: int) -> tuple[NDArray[np.int64], int]:
    """The deviations of a domain in multiples of 2^−power, such that no sum over the table passes 2^62.

    Whole numbers stay what they are while they fit.
    """
    x = domain.deviations[:-1]
    largest = float(np.max(np.abs(x), initial=0.0))
    power = 61 - math.frexp(largest)[1] - math.frexp(rows)[1]
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
