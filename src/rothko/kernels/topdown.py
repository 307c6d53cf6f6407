"""Top-down greedy search: bisect by two far seeds, then give groups that are too small what they lack.

Paper: Xu, Wang, Pei, Wang, Shi, Fu, KDD 2006; :mod:`rothko.methods.topdown` says what is decided here.

A group is a list of records, linked by ``following`` from its
``head`` on (-1 ends it), with its box: the smallest and largest code on every line, and on nominal lines how many
values there are. Sets of values are stamps: value v is in the set where ``marks[at[line] + v]`` is the stamp of the
moment, so that no set is ever cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.boxes import NOMINAL, ORDERED, TINY, Lines, along, share, width_of
from rothko.kernels.order import order_of
from rothko.kernels.rules import KIND, MOMENTS, ROW, add, lacks, room_for

ROUNDS = 3
"""How often a partner that is farther away is looked for; the paper found that more rounds gain little."""

FEW = 1024
"""The most codes of a line whose intervals are all looked up."""


class Records(NamedTuple):
    """Records, with what boxes around them cost."""

    codes: NDArray[np.int32]
    """(records, lines)."""
    lines: Lines
    pairs: NDArray[np.float64]
    """The NCP of every interval of codes, of lines with few of them; asking trees took nine tenths of the time."""
    pairs_at: NDArray[np.int64]
    """Where these of each line begin; -1: too many codes."""
    at: NDArray[np.int64]
    """Where the marks of each nominal line begin, and how many marks there are in all."""


class Groups(NamedTuple):
    """Groups, with room for two sets of values."""

    head: NDArray[np.int64]
    following: NDArray[np.int64]
    size: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    values: NDArray[np.int64]
    ncp: NDArray[np.float64]
    marks: NDArray[np.int64]
    others: NDArray[np.int64]
    clock: NDArray[np.int64]
    """The last stamps of ``marks`` and of ``others``."""


@inlined
def penalty(lines, spec, places, scales, pairs, pairs_at, a, low, high, values):
    """NCP on line ``a``, times its weight, of codes from ``low`` to ``high``; of a nominal line, of so many values.

    Arrays one by one, taken out of the tuples before the loop: within it that took half the time again.
    """
    found = 0.0
    if low != high:
        if pairs_at[a] >= 0:
            found = pairs[pairs_at[a] + low * spec[a, 1] + high]
        elif high == spec[a, 2]:
            found = scales[a, 0]
        elif spec[a, 0] == NOMINAL:
            found = share(spec, scales, a, values)
        elif spec[a, 0] == ORDERED:
            found = max(along(spec, places, scales, a, low, high), TINY)
        else:
            found = width_of(lines, a, low, high)
    return found


@compiled
def look_up(codes, lines):
    """Records, with the NCP of intervals looked up."""
    spec = lines.spec
    d = spec.shape[0]
    pairs_at, at = np.full(d, -1, dtype=np.int64), np.zeros(d + 1, dtype=np.int64)
    total = 0
    for a in range(d):
        at[a + 1] = at[a] + (spec[a, 1] if spec[a, 0] == NOMINAL else 0)
        if spec[a, 0] != NOMINAL and spec[a, 1] <= FEW:
            pairs_at[a] = total
            total += spec[a, 1] ** 2
    pairs = np.zeros(total)
    for a in range(d):
        for low in range(spec[a, 1] if pairs_at[a] >= 0 else 0):
            for high in range(low, spec[a, 1]):
                pairs[pairs_at[a] + low * spec[a, 1] + high] = width_of(lines, a, low, high)
    return Records(codes, lines, pairs, pairs_at, at)


# ── bisecting


@linked
def farthest(records, order, start, end, seed):
    """The first record that has the largest NCP together with the seed, and that NCP."""
    table = records.codes
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    best, found = -1.0, seed
    two = np.int64(2)
    for i in range(start, end):
        r = order[i]
        apart = 0.0
        for a in range(table.shape[1]):
            x, y = np.int64(table[seed, a]), np.int64(table[r, a])
            if x != y:
                apart += penalty(lines, spec, places, scales, pairs, pairs_at, a, min(x, y), max(x, y), two)
        if apart > best:
            best, found = apart, r
    return found, best


@compiled
def bisect(records, k):
    """Groups of fewer than 2k records: their records one after the other, and where each begins and the last ends.

    The records come in a random order, which is kept in every part: the first one is the paper's random start.
    """
    table, at = records.codes, records.at
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    n, d = table.shape
    order, spare = np.arange(n), np.empty(n, dtype=np.int64)
    begins = np.zeros(n + 1, dtype=np.uint8)
    begins[0] = begins[n] = 1
    stack = np.empty((n // (2 * k) + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    waiting = 1 if n >= 2 * k else 0
    marks = np.zeros((2, at[d]), dtype=np.int64)
    low, high = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    values, wider = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    width, trial = np.empty((2, d)), np.empty((2, d))
    stamp = np.int64(0)
    while waiting > 0:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        u = order[start]
        v, apart = farthest(records, order, start, end, u)
        if apart == 0.0:
            # Equal records: any groups of them cost nothing.
            for i in range(start + k, end - k + 1, k):
                begins[i] = 1
            continue
        for _ in range(ROUNDS - 1):
            w, further = farthest(records, order, start, end, v)
            if further <= apart:
                break
            u, v, apart = v, w, further
        stamp += 1
        for g in range(2):
            for a in range(d):
                code = np.int64(table[u if g == 0 else v, a])
                low[g, a] = high[g, a] = code
                values[g, a] = 1
                width[g, a] = 0.0
                if spec[a, 0] == NOMINAL:
                    marks[g, at[a] + code] = stamp
        left, right = 0, 0  # the first part moves to its place at once, the second waits in ``spare``
        for i in range(start, end):
            r = order[i]
            if r in (u, v):
                side = 0 if r == u else 1
            else:
                for g in range(2):
                    for a in range(d):
                        code = np.int64(table[r, a])
                        more = values[g, a]
                        if spec[a, 0] == NOMINAL:
                            more += marks[g, at[a] + code] != stamp
                        wider[g, a] = more
                        if more == values[g, a] and low[g, a] <= code <= high[g, a]:
                            trial[g, a] = width[g, a]
                        else:
                            bottom, top = min(code, low[g, a]), max(code, high[g, a])
                            trial[g, a] = penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
                side = _nearer(width, trial)
                for a in range(d):
                    code = np.int64(table[r, a])
                    low[side, a], high[side, a] = min(code, low[side, a]), max(code, high[side, a])
                    values[side, a], width[side, a] = wider[side, a], trial[side, a]
                    if spec[a, 0] == NOMINAL:
                        marks[side, at[a] + code] = stamp
            if side == 0:
                order[start + left] = r
                left += 1
            else:
                spare[right] = r
                right += 1
        for i in range(right):
            order[start + left + i] = spare[i]
        begins[start + left] = 1
        if right >= 2 * k:
            stack[waiting, 0], stack[waiting, 1] = start + left, end
            waiting += 1
        if left >= 2 * k:
            stack[waiting, 0], stack[waiting, 1] = start, start + left
            waiting += 1
    return order, np.flatnonzero(begins)


@linked
def _nearer(width, trial):
    """The group of two to which a record goes, given what its boxes cost now and would cost with it.

    The one whose NCP is the lower one with the record in it; where both are alike the one that it raises less.
    """
    now_0, now_1, then_0, then_1 = 0.0, 0.0, 0.0, 0.0
    for a in range(width.shape[1]):
        now_0 += width[0, a]
        now_1 += width[1, a]
        then_0 += trial[0, a]
        then_1 += trial[1, a]
    if then_0 == then_1:
        return 0 if now_0 >= now_1 else 1
    return 0 if then_0 < then_1 else 1


# ── groups and what they cost


@compiled
def open_groups(records, starts):
    """The groups of records that stand one after the other."""
    count, d, marks = starts.size - 1, records.codes.shape[1], records.at[-1]
    following = np.arange(1, records.codes.shape[0] + 1)
    groups = Groups(
        starts[:-1].copy(),
        following,
        starts[1:] - starts[:-1],
        np.empty((count, d), dtype=np.int64),
        np.empty((count, d), dtype=np.int64),
        np.empty((count, d), dtype=np.int64),
        np.empty(count),
        np.zeros(marks, dtype=np.int64),
        np.zeros(marks, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )
    low, high, values = groups.low, groups.high, groups.values
    for g in range(count):
        following[starts[g + 1] - 1] = -1
        empty_box(low[g], high[g], values[g])
        groups.clock[0] += 1
        r = groups.head[g]
        while r >= 0:
            take(records, r, low[g], high[g], values[g], groups.marks, groups.clock[0])
            r = following[r]
        groups.ncp[g] = cost_of(records, low[g], high[g], values[g])
    return groups


@linked
def empty_box(low, high, values):
    """The box of no records."""
    for a in range(low.size):
        low[a], high[a], values[a] = 2147483647, -1, 0


@linked
def take(records, r, low, high, values, marks, stamp):
    """Let a box hold one more record."""
    at = records.at
    for a in range(low.size):
        code = np.int64(records.codes[r, a])
        low[a], high[a] = min(code, low[a]), max(code, high[a])
        if records.lines.spec[a, 0] == NOMINAL and marks[at[a] + code] != stamp:
            marks[at[a] + code] = stamp
            values[a] += 1


@linked
def cost_of(records, low, high, values):
    """The NCP of a box; 0 for that of no records."""
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    total = 0.0
    for a in range(low.size):
        if high[a] >= 0:
            total += penalty(lines, spec, places, scales, pairs, pairs_at, a, low[a], high[a], values[a])
    return total


@inlined
def at_least(low, high, values, lines, spec, places, scales, pairs, pairs_at, g, h, whole):
    """What a box around group ``g`` and all (``whole``) or some records of group ``h`` costs at the least, and whether
    it costs exactly that.
    """
    total, exact = 0.0, True
    for a in range(low.shape[1]):
        bottom, top, more = low[g, a], high[g, a], values[g, a]
        if whole:
            bottom, top = min(bottom, low[h, a]), max(top, high[h, a])
        elif low[h, a] > top:
            top = low[h, a]
        elif high[h, a] < bottom:
            bottom = high[h, a]
        if spec[a, 0] == NOMINAL:
            if whole:
                more = max(more, values[h, a])
            exact = exact and (bottom == top or top == spec[a, 2])
            if bottom < top:
                more = max(more, np.int64(2))
        total += penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
    return total, exact


@linked
def joint_cost(records, groups, g, h):
    """The NCP of two groups together; the values of the first have the last stamp of ``marks``."""
    low, high, marks, others, clock = groups.low, groups.high, groups.marks, groups.others, groups.clock
    table, at, following, values = records.codes, records.at, groups.following, groups.values
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    clock[1] += 1
    total = 0.0
    for a in range(low.shape[1]):
        bottom, top, more = min(low[g, a], low[h, a]), max(high[g, a], high[h, a]), values[g, a]
        if spec[a, 0] == NOMINAL:
            r = groups.head[h]
            while r >= 0:
                place = at[a] + table[r, a]
                if marks[place] != clock[0] and others[place] != clock[1]:
                    others[place] = clock[1]
                    more += 1
                r = following[r]
        total += penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
    return total


@linked
def mark(records, groups, g, marks, stamp):
    """Mark the values of a group on its nominal lines."""
    r = groups.head[g]
    while r >= 0:
        for a in range(records.codes.shape[1]):
            if records.lines.spec[a, 0] == NOMINAL:
                marks[records.at[a] + records.codes[r, a]] = stamp
        r = groups.following[r]


@linked
def merge(records, groups, g, h):
    """Let group ``g`` have the records of group ``h``, which is empty then; the values of ``g`` are marked."""
    head, following, size = groups.head, groups.following, groups.size
    low, high, values = groups.low[g], groups.high[g], groups.values[g]
    r = head[h]
    while r >= 0:
        then = following[r]
        take(records, r, low, high, values, groups.marks, groups.clock[0])
        following[r] = head[g]
        head[g] = r
        r = then
    size[g] += size[h]
    size[h] = 0
    head[h] = -1
    groups.ncp[g] = cost_of(records, low, high, values)


# ── groups that are too small


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


# ── requirements beyond the number of records


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


@compiled
def class_of(head, following):
    """The class of each record, numbered in the order of the groups that are not empty; and how many there are."""
    found = np.empty(following.size, dtype=np.int32)
    classes = 0
    for g in range(head.size):
        r = head[g]
        while r >= 0:
            found[r] = classes
            r = following[r]
        classes += head[g] >= 0
    return found, classes
