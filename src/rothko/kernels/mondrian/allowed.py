"""Whether a cut is allowable: every part must have enough records and meet every requirement."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.mondrian.arrange import arrange_two, split, values_in
from rothko.kernels.rules import FACTS, KIND, MOMENTS, ROW, SIZE, gap, keep_allowed, sides, summary


@compiled
def sides_hold(table, a, start, end, left, cut, ties, least, rules, facts, histograms):
    """Whether both sides of a cut meet every requirement that is about a sensitive value."""
    n = np.int64(end - start)
    for r in range(rules.shape[0]):
        if rules[r, SIZE] <= n or rules[r, KIND] >= MOMENTS:
            if not sides(table, a, start, end, cut, ties, rules, r, facts, histograms):
                return False
            continue
        order = np.empty(n, dtype=np.uint32)
        arrange_two(table, a, start, end, left, cut, ties, order)
        good = np.zeros(n + 1, dtype=np.uint8)
        good[left] = 1
        if keep_allowed(values_in(table, rules[r, ROW], order), least, good, rules, r, facts, histograms) == 0:
            return False
    return True


@compiled
def keep_good(table, a, order, least, relaxed, checked, good, rules, facts, histograms):
    """Mark the positions at which sorted records may be cut, as ``good``; returns how many there are.

    Between different codes, or anywhere where ``relaxed``; with enough records on both sides, and where ``checked``
    with every requirement met on both.
    """
    n = order.size
    kept = 0
    for p in range(least, n - least + 1):
        if relaxed or table[a, order[p]] != table[a, order[p - 1]]:
            good[p] = 1
            kept += 1
    for r in range(rules.shape[0] if checked else 0):
        if kept > 0:
            kept = keep_allowed(values_in(table, rules[r, ROW], order), least, good, rules, r, facts, histograms)
    return kept


@compiled
def children_hold(table, a, start, end, first, count, tree, least, rules, facts, child, sizes, checked):
    """Specialise to the children of a node: how many parts there are, or 0 where one would break a requirement.

    ``child`` gets the child of every record, ``sizes`` the records of every child. Unless ``checked``, the size of the
    parts is all that is asked.
    """
    split(table, a, start, end, first, count, tree, child, sizes)
    parts = 0
    for c in range(count):
        if 0 < sizes[c] < least:
            return 0
        parts += sizes[c] > 0
    for r in range(rules.shape[0] if checked else 0):
        if not _parts_hold(table, start, end, count, rules, r, facts, child, sizes):
            return 0
    return parts


@compiled
def _parts_hold(table, start, end, count, rules, r, facts, child, sizes):
    """Whether every child that has records meets a requirement."""
    kind, row, at = rules[r, KIND], rules[r, ROW], rules[r, FACTS]
    if kind >= MOMENTS:
        moments = np.zeros((count, 3))
        histograms = np.zeros((2, 1), dtype=np.int64)
        for i in range(start, end):
            x = facts[at + 1 + np.uint64(table[row, i])]
            if x == x:
                c = child[i - start]
                moments[c, 0] += 1.0
                moments[c, 1] += x
                moments[c, 2] += x * x
        for c in range(count):
            n, first, second = moments[c, 0], moments[c, 1], moments[c, 2]
            if sizes[c] > 0 and gap(histograms, np.int64(0), n, first, second, rules, r, facts) > 0:
                return False
        return True
    histograms = np.zeros((count + 1, rules[r, SIZE]), dtype=np.int64)
    for i in range(start, end):
        histograms[child[i - start], np.uint64(table[row, i])] += 1
    for c in range(count):
        n, first = summary(histograms, c, rules, r, facts)
        if sizes[c] > 0 and gap(histograms, c, np.float64(n), first, 0.0, rules, r, facts) > 0:
            return False
    return True
