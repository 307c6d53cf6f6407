"""Ranking values into codes, and spreading what is known per class over the records."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled


@compiled
def rank_dense(values, present, low, high, codes):
    """Rank whole numbers of a narrow range by a table of the range.

    Writes the rank of every present value among the distinct ones to ``codes`` (absent: -1) and
    returns the distinct values in order.
    """
    rank = np.zeros(high - low + 1, dtype=np.int32)
    for i in range(values.size):
        if present[i]:
            rank[values[i] - low] = 1
    distinct = 0
    for v in range(rank.size):
        distinct += rank[v]
        rank[v] = distinct - 1
    seen = np.empty(distinct, dtype=np.int64)
    for v in range(rank.size - 1, -1, -1):
        seen[rank[v]] = low + v
    for i in range(values.size):
        codes[i] = rank[values[i] - low] if present[i] else -1
    return seen


@compiled
def rank_sorted(values, order, codes):
    """Rank any numbers by the order that sorts them; returns the position of each distinct value's first record."""
    firsts = np.empty(order.size, dtype=np.int64)
    distinct = 0
    for i in range(order.size):
        if i == 0 or values[order[i]] != values[order[i - 1]]:
            firsts[distinct] = order[i]
            distinct += 1
        codes[order[i]] = distinct - 1
    return firsts[:distinct].copy()


@compiled
def recode(codes, table):
    """Replace every code by its entry in the table, in place; -1 (absent) by the last entry."""
    last = table[table.size - 1]
    for i in range(codes.size):
        c = codes[i]
        codes[i] = table[c] if c >= 0 else last


@compiled
def spread(of_class, classes, out):
    """``out[i] = of_class[classes[i]]``: a value per class becomes one per record."""
    for i in range(classes.size):
        out[i] = of_class[classes[i]]
