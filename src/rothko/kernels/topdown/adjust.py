"""Groups that are too small get what they lack; those that do not meet every requirement merge with the nearest."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.boxes import NOMINAL
from rothko.kernels.order import order_of
from rothko.kernels.rules import KIND, MOMENTS, ROW, add, lacks, room_for
from rothko.kernels.topdown.boxed_groups import at_least, cost_of, empty_box, joint_cost, mark, merge, take
from rothko.kernels.topdown.records import penalty


@compiled
def adjust(records, groups, k, queue, first, last, end):
    """Take up some of the groups that wait in ``queue`` and have fewer than k records; returns the end of the queue.

    Each either merges with another group, where that leaves fewer than 2k records, or else borrows from another what
    it lacks: whichever raises Σ records · NCP less.
    """
    low, high, values, size, ncp = groups.low, groups.high, groups.values, groups.size, groups.ncp
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    picked = np.empty(k, dtype=np.int64)
    box = np.empty((6, low.shape[1]), dtype=np.int64)
    for q in range(first, last):
        g = queue[q]
        if size[g] == 0 or size[g] >= k:
            continue
        groups.clock[0] += 1
        mark(records, groups, g, groups.marks, groups.clock[0])
        raised, partner, taken, lender = np.inf, np.int64(-1), np.inf, np.int64(-1)
        for h in range(size.size):
            if h == g or size[h] == 0:
                continue
            both = size[g] + size[h]
            whole = both < 2 * k
            cost, exact = at_least(low, high, values, lines, spec, places, scales, pairs, pairs_at, g, h, whole)
            if not whole:
                if cost < taken:
                    cost = _lend(records, groups, k, g, h, taken, picked, box)
                    if cost < taken:
                        taken, lender = cost, h
                continue
            if both * cost - size[h] * ncp[h] < raised and not exact:
                cost = joint_cost(records, groups, g, h)
            if both * cost - size[h] * ncp[h] < raised:
                raised, partner = both * cost - size[h] * ncp[h], h
        if lender >= 0:
            lacking = k - size[g]
            _lend(records, groups, k, g, lender, np.inf, picked, box)
            left = cost_of(records, box[3], box[4], box[5])
            if k * taken + (size[lender] - lacking) * left - size[lender] * ncp[lender] < raised:
                _hand_over(groups.following, groups.head, g, lender, picked, lacking)
                size[g], size[lender] = k, size[lender] - lacking
                ncp[g], ncp[lender] = taken, left
                for a in range(low.shape[1]):
                    low[g, a], high[g, a], values[g, a] = box[0, a], box[1, a], box[2, a]
                    low[lender, a], high[lender, a], values[lender, a] = box[3, a], box[4, a], box[5, a]
                continue
        if partner >= 0:
            merge(records, groups, g, partner)
            if size[g] < k:
                queue[end] = g
                end += 1
    return end


@linked
def _lend(records, groups, k, g, h, best, picked, box):
    """The NCP of group ``g`` with what it lacks from group ``h``: those records that are nearest to ``g`` as it is.

    ``picked`` gets these records, and ``box`` the boxes of both groups thereafter. Infinite where it is no less than
    ``best``.
    """
    table, low, high, values, clock = records.codes, groups.low, groups.high, groups.values, groups.clock
    at, marks, following = records.at, groups.marks, groups.following
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    n, lacking = groups.size[h], k - groups.size[g]
    members, near = np.empty(n, dtype=np.int64), np.zeros(n)
    r, i, fit = groups.head[h], 0, 0
    while r >= 0:
        members[i] = r
        for a in range(table.shape[1]):
            if near[i] >= best:
                break
            code = np.int64(table[r, a])
            more = values[g, a]
            if spec[a, 0] == NOMINAL:
                more += marks[at[a] + code] != clock[0]
            bottom, top = min(code, low[g, a]), max(code, high[g, a])
            near[i] += penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
        fit += near[i] < best
        r, i = following[r], i + 1
        if fit + n - i < lacking:
            return np.inf
    order = order_of(near, near.size, False)
    for a in range(table.shape[1]):
        box[0, a], box[1, a], box[2, a] = low[g, a], high[g, a], values[g, a]
    empty_box(box[3], box[4], box[5])
    clock[1] += 2
    mark(records, groups, g, groups.others, clock[1] - 1)  # once more, under a stamp that may be given up
    for i in range(lacking):
        picked[i] = members[order[i]]
        take(records, picked[i], box[0], box[1], box[2], groups.others, clock[1] - 1)
    for i in range(lacking, n):
        take(records, members[order[i]], box[3], box[4], box[5], groups.others, clock[1])
    return cost_of(records, box[0], box[1], box[2])


@linked
def _hand_over(following, head, g, h, picked, count):
    """Move some records from the list of group ``h`` to that of group ``g``."""
    for i in range(count):
        r = head[h]
        if r == picked[i]:
            head[h] = following[r]
        else:
            while following[r] != picked[i]:
                r = following[r]
            following[r] = following[picked[i]]
        following[picked[i]] = head[g]
        head[g] = picked[i]


@compiled
def join(records, groups, sensitive, rules, first, last):
    """Let some groups merge with the nearest one, again and again, until they meet every requirement.

    The nearest one is that with which Σ records · NCP rises least.
    """
    low, high, values, size, ncp = groups.low, groups.high, groups.values, groups.size, groups.ncp
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    tally = room_for(rules, 1)
    for g in range(first, last):
        if size[g] == 0:
            continue
        groups.clock[0] += 1
        mark(records, groups, g, groups.marks, groups.clock[0])
        while not holds(sensitive, groups.head[g], groups.following, rules, tally):
            best, partner = np.inf, np.int64(-1)
            for h in range(size.size):
                if h == g or size[h] == 0:
                    continue
                both, paid = size[g] + size[h], size[h] * ncp[h]
                cost, exact = at_least(low, high, values, lines, spec, places, scales, pairs, pairs_at, g, h, True)
                if both * cost - paid >= best:
                    continue
                if not exact:
                    cost = joint_cost(records, groups, g, h)
                if both * cost - paid < best:
                    best, partner = both * cost - paid, h
            if partner < 0:
                break
            merge(records, groups, g, partner)


@linked
def holds(sensitive, head, following, rules, tally):
    """Whether a group meets every rule; the tally has nothing before and after."""
    good = True
    for r in range(rules.spec.shape[0]):
        one = head if good else -1
        while one >= 0:
            add(rules, r, tally, r, np.int64(sensitive[rules.spec[r, ROW], one]), 1)
            one = following[one]
        good = good and lacks(rules, r, tally, np.int64(r)) == 0
        tally.sums[r] = 0.0
        one = head if rules.spec[r, KIND] < MOMENTS else -1
        while one >= 0:
            tally.histograms[r, sensitive[rules.spec[r, ROW], one]] = 0
            one = following[one]
    return good
