"""What the sensitive values of one class add up to while it grows, and which values it lacks.

The rules, and what decides on them, are those of :mod:`rothko.kernels.rules`; a row of ``histograms`` and of
``sums`` for each. The last row of ``histograms`` is room to work in.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined
from rothko.kernels.rules import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    FACTS,
    KIND,
    LOGARITHMS,
    MOMENTS,
    RECURSIVE,
    ROW,
    SHARE,
    SIZE,
    TOTAL,
    gap,
)


@compiled
def room(rules):
    """Histograms and sums for one class."""
    most = 1
    for r in range(rules.shape[0]):
        if rules[r, KIND] < MOMENTS:
            most = max(most, rules[r, SIZE])
    return np.zeros((rules.shape[0] + 1, most), dtype=np.int64), np.zeros((rules.shape[0], 3))


@compiled
def clear(rules, histograms, sums):
    """Begin with nothing."""
    for r in range(rules.shape[0]):
        for i in range(3):
            sums[r, i] = 0.0
        if rules[r, KIND] < MOMENTS:
            for v in range(rules[r, SIZE]):
                histograms[r, v] = 0


@inlined
def _entropy_term(c, at, facts):
    """C · log c."""
    term = 0.0
    if c > 1:
        term = facts[at + 3 + c] if c < LOGARITHMS else c * np.log(np.float64(c))
    return term


@compiled
def count(values, t, amount, rules, facts, histograms, sums):
    """Add so many records of tuple ``t``."""
    for r in range(rules.shape[0]):
        v = np.int64(values[rules[r, ROW], t])
        kind, at = rules[r, KIND], rules[r, FACTS]
        if kind >= MOMENTS:
            number = facts[at + 1 + v]
            if number == number:
                sums[r, 0] += amount
                sums[r, 1] += amount * number
                sums[r, 2] += amount * number * number
            continue
        c = histograms[r, v]
        histograms[r, v] = c + amount
        sums[r, 0] += amount
        if kind == DISTINCT:
            sums[r, 1] += c == 0
        elif kind == ENTROPY:
            sums[r, 1] += _entropy_term(c + amount, at, facts) - _entropy_term(c, at, facts)
        else:
            sums[r, 1] = max(sums[r, 1], np.float64(c + amount))


@compiled
def lacking(rules, facts, histograms, sums):
    """The first rule that does not hold; -1 where all do."""
    for r in range(rules.shape[0]):
        if gap(histograms, np.int64(r), sums[r, 0], sums[r, 1], sums[r, 2], rules, r, facts) > 0:
            return np.int64(r)
    return np.int64(-1)


@inlined
def helps(v, r, rules, facts, histograms, sums):
    """Whether one more record with this value brings the class nearer to a rule that does not hold."""
    kind, at = rules[r, KIND], rules[r, FACTS]
    good = True
    if kind == DISTINCT:
        good = histograms[r, v] == 0
    elif kind in (SHARE, RECURSIVE):
        good = histograms[r, v] < sums[r, 1]
    elif kind == ENTROPY:
        # Entropy rises where log c is below its mean over the records.
        c = histograms[r, v]
        good = c == 0 or np.log(np.float64(c)) * sums[r, 0] < sums[r, 1]
    elif kind == CLOSE:
        good = histograms[r, v] * np.float64(rules[r, TOTAL]) < facts[at + v] * sums[r, 0]
    else:
        # Variance rises where the distance from the mean is larger than it.
        number, n = facts[at + 1 + v], max(sums[r, 0], 1.0)
        far = number * n - sums[r, 1]
        good = number == number and far * far >= sums[r, 2] * n - sums[r, 1] * sums[r, 1]
    return good
