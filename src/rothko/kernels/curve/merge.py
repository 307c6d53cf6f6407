"""Merging groups that lie in a row until every one meets the requirements about sensitive values.

From left to right, a class is closed as soon as it holds. A group that does not hold by itself joins the class before
it, where that costs less than joining the group after it and the class still holds. What is left over at the end joins
the classes before it until they hold, as all records together do.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.boxes import ncp_of, room
from rothko.kernels.rules import DISTINCT, ENTROPY, FACTS, KIND, LOGARITHMS, MOMENTS, ROW, SIZE, gap

LARGE = 8
"""A group is not measured against a class that has more than so many times its records: that stays linear."""


@compiled
def _count(table, members, begin, end, rules, facts, histograms, sums, base):
    """Add records to the histograms and sums from ``base`` on, a row for each rule."""
    for r in range(rules.shape[0]):
        kind, row, at = rules[r, KIND], rules[r, ROW], rules[r, FACTS]
        count, first, second = sums[base + r, 0], sums[base + r, 1], sums[base + r, 2]
        for i in range(begin, end):
            v = table[row, members[i]]
            if kind >= MOMENTS:
                x = facts[at + 1 + v]
                if x == x:
                    count += 1.0
                    first += x
                    second += x * x
                continue
            c = histograms[base + r, v]
            histograms[base + r, v] = c + 1
            count += 1.0
            if kind == DISTINCT:
                first += c == 0
            elif kind == ENTROPY:
                first += (facts[at + 4 + c] if c + 1 < LOGARITHMS else (c + 1) * np.log(np.float64(c + 1))) - (
                    facts[at + 3 + c] if c < LOGARITHMS else c * np.log(np.float64(c))
                )
            else:
                first = max(first, np.float64(c + 1))
        sums[base + r, 0], sums[base + r, 1], sums[base + r, 2] = count, first, second


@compiled
def _uncount(table, members, begin, end, rules, histograms, base):
    """Take records out of the histograms again; what the sums were, the caller knows."""
    for r in range(rules.shape[0]):
        if rules[r, KIND] < MOMENTS:
            row = rules[r, ROW]
            for i in range(begin, end):
                histograms[base + r, table[row, members[i]]] -= 1


@compiled
def _lacking(rules, facts, histograms, sums, base):
    """The fewest records that must join before all rules can hold; 0 when they do."""
    most = np.int64(0)
    for r in range(rules.shape[0]):
        g = np.int64(base + r)
        most = max(most, gap(histograms, g, sums[g, 0], sums[g, 1], sums[g, 2], rules, r, facts))
    return most


@compiled
def merge_groups(table, members, starts, rules, facts, rows, lines, places, scales, tree, leaf):
    """Merge groups until all rules hold: where the classes begin, and the number of records at the end.

    Parameters
    ----------
    table
        What the rules look at, by the places of records in the order of the curve.
    members, starts
        These places, group by group, and where each group begins.
    rows
        (records, lines): codes in the order of the curve.
    """
    count = rules.shape[0]
    groups, n = starts.size - 1, members.size
    width = np.int64(1)
    for r in range(count):
        width = max(width, rules[r, SIZE])
    # One set of histograms for the class that was closed last, one for what is pending; the last row is room for gap().
    histograms = np.zeros((2 * count + 1, width), dtype=np.int64)
    sums = np.zeros((2 * count, 3))
    closed, pending = np.int64(0), np.int64(count)
    state = room(lines)
    found, classes = np.empty(groups + 1, dtype=np.int64), 0
    begin, asked = np.int64(0), np.int64(0)
    box = np.int64(0)
    for g in range(groups):
        end = starts[g + 1]
        _count(table, members, starts[g], end, rules, facts, histograms, sums, pending)
        lacking = asked - end
        if lacking <= 0:
            lacking = _lacking(rules, facts, histograms, sums, pending)
            asked = end + lacking
        if lacking == 0:
            if classes > 0:
                _uncount(table, members, found[classes - 1], begin, rules, histograms, closed)
            sums[closed : closed + count] = 0.0
            closed, pending = pending, closed
            found[classes] = begin
            classes += 1
            begin, asked = end, np.int64(0)
            continue
        if classes == 0 or begin < starts[g] or g + 1 == groups:
            continue
        before = found[classes - 1]
        if begin - before > LARGE * (end - begin):
            continue
        after = starts[g + 2]
        alone = (begin - before) * ncp_of(rows, members, before, begin, box, lines, places, scales, tree, leaf, state)
        back = (end - before) * ncp_of(rows, members, before, end, box + 1, lines, places, scales, tree, leaf, state)
        on = (after - begin) * ncp_of(rows, members, begin, after, box + 2, lines, places, scales, tree, leaf, state)
        single = (after - end) * ncp_of(rows, members, end, after, box + 3, lines, places, scales, tree, leaf, state)
        box += 4
        if back - alone >= on - single:
            continue
        kept = sums[closed : closed + count].copy()
        _count(table, members, begin, end, rules, facts, histograms, sums, closed)
        if _lacking(rules, facts, histograms, sums, closed) == 0:
            _uncount(table, members, begin, end, rules, histograms, pending)
            sums[pending : pending + count] = 0.0
            begin, asked = end, np.int64(0)
        else:
            _uncount(table, members, begin, end, rules, histograms, closed)
            sums[closed : closed + count] = kept
    while begin < n and classes > 0:
        classes -= 1
        _count(table, members, found[classes], begin, rules, facts, histograms, sums, pending)
        begin = found[classes]
        if _lacking(rules, facts, histograms, sums, pending) == 0:
            classes += 1
            begin = np.int64(n)
    if begin < n:  # all of them together, or nothing at all
        found[0] = 0
        classes = 1
    found[classes] = n
    return found[: classes + 1].copy()
