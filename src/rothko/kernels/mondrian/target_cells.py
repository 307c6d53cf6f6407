"""What the records of a node say about the targets of models: whole numbers, which add up.

It is a row of *cells* for each target: counts by class label (within each group of the features beyond the
quasi-identifiers; LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.1.3), or the sum of a number by group. All of it
is whole numbers, so that sums come out the same in whatever order and in however many pieces the records are counted:

- Σ c·log₂ c is kept in multiples of 2⁻²⁴ (``logs``): the entropy of a part, times its
  records, is Σ over groups of log(records) − Σ over cells of log(count);
- a number is a multiple of a power of two that is chosen for the table (``numbers``): of the squared error of a part
  only −(Σx)²/n depends on the cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import inlined, linked

# Columns of ``spec``, a row for each target: its kind; row of the codes; labels, groups, row of the groups; where its
# numbers begin in ``numbers``; where its cells and its groups begin among those of all targets.
KIND, ROW, LABELS, GROUPS, GROUP_ROW, NUMBERS, AT, AT_GROUP = range(8)


LABEL, NUMBER = range(2)
"""Kinds of target."""


SCALE = 2.0**24
"""Logarithms are kept in multiples of one over this."""

FEW = 32
"""A line is counted by value where it has at most this many counters for every record of the node."""


@inlined
def step(logs, c):
    """How much c·log₂ c grows with one more."""
    return logs[np.uint64(c) + np.uint64(1)] - logs[np.uint64(c)]


class Targets(NamedTuple):
    """What models predict."""

    spec: NDArray[np.int64]
    factors: NDArray[np.float64]
    features: NDArray[np.uint8]
    """(targets, lines): whether the model looks at the line."""
    numbers: NDArray[np.int64]
    logs: NDArray[np.int64]


class Work(NamedTuple):
    """Arrays to work in; counts and sums are of the node, left and right of a cut."""

    cells: NDArray[np.int32]
    """Of each record, by target."""
    values: NDArray[np.int64]
    """The number of each record."""
    counts: NDArray[np.int64]
    """By cell."""
    by_group: NDArray[np.int64]
    sums: NDArray[np.int64]
    """By group."""
    frequency: NDArray[np.int64]
    """Counts by value and cell."""
    sums_by_value: NDArray[np.int64]
    """By value and group."""
    score: NDArray[np.float64]
    """Of each candidate."""
    before: NDArray[np.int32]
    """Records before each candidate."""
    parents: NDArray[np.float64]
    """Score of the node by target."""
    wholes: NDArray[np.int64]
    """The same in multiples of 1/SCALE, for labels."""


@linked
def sees_all(targets):
    """Whether every model looks at every line."""
    if targets is None:
        return True
    for t in range(targets.features.shape[0]):
        for a in range(targets.features.shape[1]):
            if targets.features[t, a] == 0:
                return False
    return True


@linked
def room(n, lines, targets):
    """Arrays to work in, for nodes of up to ``n`` records."""
    if targets is None:
        return None
    spec = targets.spec
    count = spec.shape[0]
    cells, groups, any_number = 0, 0, False
    longest, widest = 0, 1
    for t in range(count):
        width = (spec[t, LABELS] if spec[t, KIND] == LABEL else 1) * spec[t, GROUPS] + 1
        widest = max(widest, width)
        cells += width
        groups += spec[t, GROUPS]
        any_number = any_number or spec[t, KIND] == NUMBER
    for a in range(lines.spec.shape[0]):
        longest = max(longest, lines.spec[a, 1])
    wide = max(n + 1, min(FEW * n, longest * widest))
    return Work(
        np.empty((count, n), dtype=np.int32),
        np.empty((count, n if any_number else 1), dtype=np.int64),
        np.zeros((3, cells), dtype=np.int64),
        np.zeros((3, groups), dtype=np.int64),
        np.zeros((3, groups), dtype=np.int64),
        np.empty(wide, dtype=np.int64),
        np.empty(wide if any_number else 1, dtype=np.int64),
        np.empty(wide, dtype=np.float64),
        np.empty(wide, dtype=np.int32),
        np.empty(count, dtype=np.float64),
        np.empty(count, dtype=np.int64),
    )


@linked
def score_node(table, start, end, targets, work):
    """Look up the cell and the number of every record; the score of the node, uncut."""
    cells, values, counts, by_group, sums = work.cells, work.values, work.counts, work.by_group, work.sums
    parents, factors, logs = work.parents, targets.factors, targets.logs
    n = np.int64(end - start)
    score = 0.0
    for t in range(targets.spec.shape[0]):
        row, labels, groups, group_row = (
            targets.spec[t, ROW],
            targets.spec[t, LABELS],
            targets.spec[t, GROUPS],
            targets.spec[t, GROUP_ROW],
        )
        at, at_group, is_label = targets.spec[t, AT], targets.spec[t, AT_GROUP], targets.spec[t, KIND] == LABEL
        width = labels if is_label else 1
        for i in range(n):
            code = np.int64(table[row, start + np.uint64(i)])
            group = np.int64(table[group_row, start + np.uint64(i)]) if groups > 1 else np.int64(0)
            if code >= labels:  # missing: it says nothing about the target
                cells[t, i] = width * groups
            else:
                cells[t, i] = group * width + (code if is_label else 0)
                if not is_label:
                    values[t, i] = targets.numbers[targets.spec[t, NUMBERS] + code]
        if width * groups <= n:
            for c in range(at, at + width * groups + 1):
                counts[0, c] = 0
        else:
            for i in range(n):
                counts[0, at + cells[t, i]] = 0
        for g in range(at_group, at_group + groups):
            by_group[0, g] = 0
            sums[0, g] = 0
        whole = np.int64(0)
        for i in range(n):
            c = np.int64(cells[t, i])
            if c == width * groups:
                continue
            g = at_group + (c // width if groups > 1 else 0)
            if is_label:
                whole += step(logs, by_group[0, g]) - step(logs, counts[0, at + c])
            else:
                sums[0, g] += values[t, i]
            by_group[0, g] += 1
            counts[0, at + c] += 1
        work.wholes[t] = whole
        parents[t] = factors[t] * np.float64(whole)
        if not is_label:
            for g in range(at_group, at_group + groups):
                parents[t] -= factors[t] * square(sums[0, g], by_group[0, g])
        score += parents[t]
    return score


@inlined
def square(total, n):
    """(Σx)²/n."""
    return np.float64(total) * np.float64(total) / np.float64(n) if n > 0 else 0.0


@linked
def clear_left(t, n, targets, work):
    """Everything is right of the cut, nothing left of it. Where cells are many only those in use are set."""
    cells, counts, by_group, sums = work.cells, work.counts, work.by_group, work.sums
    at = targets.spec[t, AT]
    width = targets.spec[t, LABELS] if targets.spec[t, KIND] == LABEL else 1
    if width * targets.spec[t, GROUPS] <= n:
        for c in range(at, at + width * targets.spec[t, GROUPS]):
            counts[1, c] = 0
            counts[2, c] = counts[0, c]
    else:
        for i in range(n):
            c = at + cells[t, i]
            counts[1, c] = 0
            counts[2, c] = counts[0, c]
    for g in range(targets.spec[t, AT_GROUP], targets.spec[t, AT_GROUP] + targets.spec[t, GROUPS]):
        by_group[1, g], by_group[2, g] = 0, by_group[0, g]
        sums[1, g], sums[2, g] = 0, sums[0, g]


@inlined
def score_numbers(t, targets, by_group, sums):
    """−Σ over both sides and all groups of (Σx)²/n."""
    score = 0.0
    for g in range(targets.spec[t, AT_GROUP], targets.spec[t, AT_GROUP] + targets.spec[t, GROUPS]):
        score += square(sums[1, g], by_group[1, g]) + square(sums[2, g], by_group[2, g])
    return -score
