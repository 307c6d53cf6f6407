"""Lines weighed by what they tell about the targets of a workload.

NCP counts values: a class that mixes two of five hundred occupations loses little of that line, even where these two
are all that tells a rich from a poor. For a model another thing counts: what the release no longer tells about its
target. So every line is published at each of its levels (:func:`rothko.methods.cluster.peel.levels_of`), and its
weight is the information that is lost for each NCP, on average over the levels. A line that tells nothing has next to
no weight, and is given up first.

Two lines may tell together what neither tells alone. So the same is asked among the records of each group of another
line, of all others, and the most that is found counts.

Information about a label is in bits, that about a number in shares of its variance, both less what chance alone would
show: with few records for each value any column seems to tell something (Miller 1955). What is no more than chance may
well show is nothing, and levels at which nearly every record has a value of its own are not asked.

Classes are not made pure beside that. Among records of the same values a box that holds those of one label would say
nothing of the values, but of the label: models learn such boxes by heart, and exact records have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.methods.cluster.peel import Level, levels_of
from rothko.workload.criteria import check_learnable
from rothko.workload.tasks import Classify, Model, Task, models

DOUBT = 5.0
"""Standard deviations of what chance shows, under which nothing was shown."""
LEAST = 0.001
"""Of the largest weight: among classes that tell the same about the target, those of less loss are better."""
ENOUGH = 10
"""Records of a cell, on average: values that are rarer are taken together, at the finest level where they are not."""
GROUPS = (32, 4)
"""Into how many groups a line divides the records, at most, when others are looked at beside it."""
BESIDE = 16
"""Beside how many lines each is looked at: those that tell most by themselves."""
MOST_SUMS = 20_000_000
"""What is not looked at beside another line, since it would take too many numbers."""

Floats = NDArray[np.float64]


def weighed(encoded: Encoded, workload: Sequence[Task]) -> Encoded:
    """The table with lines that weigh what they tell about the targets, times what the policy has them weigh."""
    tasks = models(workload)
    if not tasks:
        return encoded
    told = np.mean([_told(encoded, task) for task in tasks], axis=0)
    if not told.any():
        return encoded
    weights = np.maximum(told / told.max(), LEAST)
    lines = [replace(line, weight=line.weight * float(w)) for line, w in zip(encoded.lines, weights, strict=True)]
    return replace(encoded, lines=tuple(lines))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A line as a model may see it: the codes of the records that have a target."""

    line: Line
    place: int
    """Among all lines."""
    codes: NDArray[np.int32]
    levels: list[Level]

    def groups(self, most: int) -> tuple[NDArray[np.int64], int]:
        """The group of each record, by the finest level of so many groups, and how many there are."""
        few = next(level for level in self.levels if level.groups.max() < most)
        return few.groups[self.codes], int(few.groups.max()) + 1

    def may_begin(self, level: Level) -> bool:
        """Whether a level may be the finest that is asked: labels stand in the order of the target's mean, so that
        neighbours which are taken together look as if they told something, also where it is chance.
        """
        return self.line.kind is not Kind.NOMINAL or level is self.levels[0]


def _told(encoded: Encoded, task: Model) -> Floats:
    """What each line tells about one target for its NCP, the best of them 1; 0 for one that the model does not see."""
    codes, domain = encoded.targets[task.target]
    check_learnable(task, domain)
    there = np.flatnonzero(codes < domain.size - 1)
    target = codes[there]
    if isinstance(task, Classify):
        lost, powers, kinds = label_lost, None, domain.size - 1
    else:
        x = domain.deviations[target] / (np.abs(domain.deviations[:-1]).max() or 1.0)
        lost, powers = number_lost, (np.ones(len(x)), x, x * x)
        kinds = 3

    def sums(cells: NDArray[np.int64], count: int) -> Floats:
        """All that is asked of a cell adds up: a histogram of the label, or moments of the number."""
        if powers is None:
            return np.bincount(cells * kinds + target, minlength=count * kinds).reshape(count, kinds).astype(np.float64)
        return np.stack([np.bincount(cells, weights=power, minlength=count) for power in powers], axis=1)

    seen = []
    for i, line in enumerate(encoded.lines):
        if task.features is None or line.name in task.features:
            held = encoded.codes[i][there]
            levels = levels_of(line, np.bincount(held, minlength=line.size))
            if len(levels) > 1:
                seen.append(_Seen(line, i, held, levels))
    found = np.zeros(len(encoded.lines))
    for one in seen:
        alone = sums(one.codes.astype(np.int64), one.line.size)
        found[one.place] = _for_ncp(one, alone[:, None], lost)
    for other in sorted(seen, key=lambda one: (-found[one.place], one.place))[:BESIDE]:
        for most in GROUPS:
            group, count = other.groups(most)
            for one in seen:
                size = one.line.size
                if one is not other and size * count * kinds <= MOST_SUMS:
                    cells = sums(one.codes * np.int64(count) + group, size * count).reshape(size, count, kinds)
                    found[one.place] = max(found[one.place], _for_ncp(one, cells, lost))
    return found / (found.max() or 1.0)


def _for_ncp(one: _Seen, sums: Floats, lost_to: Callable[[Floats, Floats], float]) -> float:
    """What is no longer told about a target for each NCP, on average over the levels of a line."""
    finest, found = None, []
    for level in one.levels:
        joined = np.zeros((int(level.groups.max()) + 1, *sums.shape[1:]))
        np.add.at(joined, level.groups, sums)
        if level.ncp > 0:
            found.append(0.0 if finest is None else lost_to(finest, joined) / level.ncp)
        if finest is None and one.may_begin(level) and len(one.codes) >= ENOUGH * _filled(joined):
            finest = joined
    return float(np.mean(found)) if found else 0.0


def label_lost(fine: Floats, coarse: Floats) -> float:
    """How many bits less are told about a label by coarser values, beyond what chance would show.

    Parameters
    ----------
    fine, coarse
        (values, groups, labels): how many records there are of each; values are looked at within groups.

    >>> fine = np.array([[[500, 0]], [[0, 500]]])
    >>> label_lost(fine, fine.sum(axis=0, keepdims=True)) > 0.99
    True
    """
    records = coarse.sum()
    free = (_filled(fine) - _filled(coarse)) * (np.count_nonzero(coarse.sum(axis=(0, 1))) - 1)
    bit = 2 * np.log(2) * records  # so many times what is lost is χ² with so many degrees of freedom
    return _beyond((_bits(coarse) - _bits(fine)) / records, free / bit, np.sqrt(2 * free) / bit)


def number_lost(fine: Floats, coarse: Floats) -> float:
    """The share of the variance of a number that coarser values do not explain, beyond what chance would show.

    Parameters
    ----------
    fine, coarse
        (values, groups, 3): records, Σx and Σx².

    >>> fine = np.array([[[50, 50.0, 50.0]], [[50, -50.0, 50.0]]])
    >>> round(number_lost(fine, fine.sum(axis=0, keepdims=True)), 2)
    0.99
    """
    table = coarse.sum(axis=(0, 1))
    whole = _squares(table)
    if whole <= 0:
        return 0.0
    free, others = _filled(fine) - _filled(coarse), table[0] - 1
    return _beyond((_squares(coarse) - _squares(fine)) / whole, free / others, np.sqrt(2 * free) / others)


def _filled(cells: Floats) -> int:
    """How many cells have records."""
    return int(np.count_nonzero(cells.any(axis=2)))


def _beyond(shown: float, chance: float, deviation: float) -> float:
    """What is shown beyond chance; nothing where chance may well show as much."""
    return float(shown - chance) if shown > chance + DOUBT * deviation else 0.0


def _bits(histograms: Floats) -> float:
    """Entropy of each histogram times its records, all together."""

    def logs(counts: Floats) -> float:
        return float((counts * np.log2(np.where(counts > 0, counts, 1.0))).sum())

    return logs(histograms.sum(axis=-1)) - logs(histograms)


def _squares(moments: Floats) -> float:
    """Σ (x − mean)² within each cell, all together."""
    records = np.maximum(moments[..., 0], 1.0)
    return float(np.maximum(moments[..., 2] - moments[..., 1] ** 2 / records, 0.0).sum())
