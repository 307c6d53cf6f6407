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
def add(histograms, summaries, group, kind, value):
    """Let one record with sensitive ``value`` join a group."""
    before = histograms[group, value]
    histograms[group, value] = before + 1
    if kind == DISTINCT and before == 0:
        summaries[group, 0] += 1.0


@compiled
def holds(summaries, group, kind, a):
    """Whether a group meets the requirement now."""
    if kind == DISTINCT:
        return summaries[group, 0] >= a
    return False
