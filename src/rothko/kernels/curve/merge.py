"""Merging groups that lie in a row until every one meets the requirements about sensitive values.

From left to right, a class is closed as soon as it holds. A group that does not hold by itself joins the class before
it, where that costs less than joining the group after it and the class still holds. What is left over at the end joins
the classes before it until they hold, as all records together do.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.boxes import ncp_of, room
from rothko.kernels.rules import KIND, MOMENTS, ROW, add, lacks, room_for

LARGE = 8
"""A group is not measured against a class that has more than so many times its records: that stays linear."""


@linked
def _count(table, members, begin, end, rules, tally, base):
    """Add records to the rows of a tally from ``base`` on."""
    for r in range(rules.spec.shape[0]):
        row = rules.spec[r, ROW]
        for i in range(begin, end):
            add(rules, r, tally, base + r, table[row, members[i]], 1)


@linked
def _uncount(table, members, begin, end, rules, histograms, base):
    """Take records out of the histograms again; what the sums were, the caller knows."""
    for r in range(rules.spec.shape[0]):
        if rules.spec[r, KIND] < MOMENTS:
            row = rules.spec[r, ROW]
            for i in range(begin, end):
                histograms[base + r, table[row, members[i]]] -= 1


@linked
def _lacking(rules, tally, base):
    """The fewest records that must join before all rules can hold; 0 when they do."""
    most = np.int64(0)
    for r in range(rules.spec.shape[0]):
        most = max(most, lacks(rules, r, tally, np.int64(base + r)))
    return most


@compiled
def merge_groups(table, members, starts, rules, rows, lines):
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
    count = rules.spec.shape[0]
    groups, n = starts.size - 1, members.size
    tally = room_for(rules, 2)  # of the class that was closed last, and of what is pending
    histograms, sums = tally.histograms, tally.sums
    closed, pending = np.int64(0), np.int64(count)
    box = room(lines)
    found, classes = np.empty(groups + 1, dtype=np.int64), 0
    begin, asked = np.int64(0), np.int64(0)
    number = np.int64(0)
    for g in range(groups):
        end = starts[g + 1]
        _count(table, members, starts[g], end, rules, tally, pending)
        lacking = asked - end
        if lacking <= 0:
            lacking = _lacking(rules, tally, pending)
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
        alone = (begin - before) * ncp_of(rows, members, before, begin, number, lines, box)
        back = (end - before) * ncp_of(rows, members, before, end, number + 1, lines, box)
        on = (after - begin) * ncp_of(rows, members, begin, after, number + 2, lines, box)
        single = (after - end) * ncp_of(rows, members, end, after, number + 3, lines, box)
        number += 4
        if back - alone >= on - single:
            continue
        kept = sums[closed : closed + count].copy()
        _count(table, members, begin, end, rules, tally, closed)
        if _lacking(rules, tally, closed) == 0:
            _uncount(table, members, begin, end, rules, histograms, pending)
            sums[pending : pending + count] = 0.0
            begin, asked = end, np.int64(0)
        else:
            _uncount(table, members, begin, end, rules, histograms, closed)
            sums[closed : closed + count] = kept
    while begin < n and classes > 0:
        classes -= 1
        _count(table, members, found[classes], begin, rules, tally, pending)
        begin = found[classes]
        if _lacking(rules, tally, pending) == 0:
            classes += 1
            begin = np.int64(n)
    if begin < n:  # all of them together, or nothing at all
        found[0] = 0
        classes = 1
    found[classes] = n
    return found[: classes + 1].copy()
