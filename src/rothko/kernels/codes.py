"""Ranking values into codes, and spreading what is known per class over the records."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled


@compiled
def mark_dense(values, present, low, marks):
    """Mark whole numbers of a narrow range in a table of the range, which begins at ``low``."""
    for i in range(values.size):
        if present[i]:
            marks[values[i] - low] = 1


@compiled
def rank_dense(values, present, low, ranks, codes):
    """Write the entry of every present value in a table of the range to ``codes``; absent: -1."""
    for i in range(values.size):
        codes[i] = ranks[values[i] - low] if present[i] else -1


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
