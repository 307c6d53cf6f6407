"""Requirements over additive statistics, one record at a time.

The cut search asks two questions very often: does this side still hold when one more record
joins it, and does it hold now? A requirement is therefore kept as a running state: the histogram
of its sensitive value and a summary of that histogram which one record changes in constant time.
"""

from __future__ import annotations

from rothko.kernels import compiled

DISTINCT = 0
"""At least ``a`` distinct values; the summary is the number of values seen."""


@compiled
def add(histogram, summary, kind, value):
    """Let one record with sensitive ``value`` join the group."""
    before = histogram[value]
    histogram[value] = before + 1
    if kind == DISTINCT and before == 0:
        summary[0] += 1.0


@compiled
def holds(summary, kind, a):
    """Whether the group meets the requirement now."""
    if kind == DISTINCT:
        return summary[0] >= a
    return False
