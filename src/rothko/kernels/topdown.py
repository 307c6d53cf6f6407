"""Top-down greedy search: bisect by two far seeds, then give groups that are too small what they lack.

Paper: Xu, Wang, Pei, Wang, Shi, Fu, KDD 2006; :mod:`rothko.methods.topdown` says what is decided here.

Records are rows of ``table``, (records, lines) codes. A group is a list of records, linked by ``following`` from its
``head`` on (-1 ends it), with its box: the smallest and largest code on every line, and on nominal lines how many
values there are. Sets of values are stamps: value v is in the set where ``marks[at[line] + v]`` is the stamp of the
moment, so that no set is ever cleared.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined
from rothko.kernels.mondrian.median import width_of
from rothko.kernels.mondrian.nodes import NOMINAL
from rothko.kernels.rules import FACTS, KIND, MOMENTS, ROW, SIZE, gap, summary

ROUNDS = 3
"""How often a partner that is farther away is looked for; the paper found that more rounds gain little."""

FEW = 1024
"""The most codes of a line whose intervals are all looked up."""


@inlined
def penalty(lines, places, scales, tree, leaf, pairs, pairs_at, a, low, high, values):
    """NCP on line ``a``, times its weight, of codes from ``low`` to ``high``; of a nominal line, of so many values."""
    found = 0.0
    if low != high:
        if pairs_at[a] >= 0:
            found = pairs[pairs_at[a] + low * lines[a, 1] + high]
        elif lines[a, 0] != NOMINAL:
            found = width_of(lines, places, tree, leaf, scales, a, low, high)
        elif high == lines[a, 2]:
            found = scales[a, 0]
        else:
            found = scales[a, 0] * (values / lines[a, 1])
    return found


@compiled
def look_up(lines, places, scales, tree, leaf):
    """The NCP of every interval of codes of the lines with few codes, and where each line begins (-1: too many codes).

    Asking the tree of a line over and over took nine tenths of the time.
    """
    at = np.full(lines.shape[0], -1, dtype=np.int64)
    total = 0
    for a in range(lines.shape[0]):
        if lines[a, 0] != NOMINAL and lines[a, 1] <= FEW:
            at[a] = total
            total += lines[a, 1] ** 2
    pairs = np.zeros(total)
    for a in range(lines.shape[0]):
        for low in range(lines[a, 1] if at[a] >= 0 else 0):
            for high in range(low, lines[a, 1]):
                pairs[at[a] + low * lines[a, 1] + high] = width_of(lines, places, tree, leaf, scales, a, low, high)
    return pairs, at


@compiled
def offsets_of(lines):
    """Where the marks of each nominal line begin, and how many marks there are in all."""
    at = np.zeros(lines.shape[0] + 1, dtype=np.int64)
    for a in range(lines.shape[0]):
        at[a + 1] = at[a] + (lines[a, 1] if lines[a, 0] == NOMINAL else 0)
    return at


# ── bisecting


@compiled
def farthest(table, order, start, end, seed, lines, places, scales, tree, leaf, pairs, pairs_at):
    """The first record that has the largest NCP together with the seed, and that NCP."""
    best, found = -1.0, seed
    two = np.int64(2)
    for i in range(start, end):
        r = order[i]
        apart = 0.0
        for a in range(table.shape[1]):
            x, y = np.int64(table[seed, a]), np.int64(table[r, a])
            if x != y:
                apart += penalty(lines, places, scales, tree, leaf, pairs, pairs_at, a, min(x, y), max(x, y), two)
        if apart > best:
            best, found = apart, r
    return found, best


@compiled
def bisect(table, k, lines, places, scales, tree, leaf, pairs, pairs_at):
    """Groups of fewer than 2k records: their records one after the other, and where each begins and the last ends.

    The records come in a random order, which is kept in every part: the first one is the paper's random start.
    """
    n, d = table.shape
    order, spare = np.arange(n), np.empty(n, dtype=np.int64)
    begins = np.zeros(n + 1, dtype=np.uint8)
    begins[0] = begins[n] = 1
    stack = np.empty((n // (2 * k) + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    waiting = 1 if n >= 2 * k else 0
    at = offsets_of(lines)
    marks = np.zeros((2, at[d]), dtype=np.int64)
    low, high = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    values, wider = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    width, trial = np.empty((2, d)), np.empty((2, d))
    stamp = np.int64(0)
    while waiting > 0:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        u = order[start]
        v, apart = farthest(table, order, start, end, u, lines, places, scales, tree, leaf, pairs, pairs_at)
        if apart == 0.0:
            # Equal records: any groups of them cost nothing.
            for i in range(start + k, end - k + 1, k):
                begins[i] = 1
            continue
        for _ in range(ROUNDS - 1):
            w, further = farthest(table, order, start, end, v, lines, places, scales, tree, leaf, pairs, pairs_at)
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
                if lines[a, 0] == NOMINAL:
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
                        if lines[a, 0] == NOMINAL:
                            more += marks[g, at[a] + code] != stamp
                        wider[g, a] = more
                        if more == values[g, a] and low[g, a] <= code <= high[g, a]:
                            trial[g, a] = width[g, a]
                        else:
                            bottom, top = min(code, low[g, a]), max(code, high[g, a])
                            trial[g, a] = penalty(
                                lines, places, scales, tree, leaf, pairs, pairs_at, a, bottom, top, more
                            )
                side = _nearer(width, trial)
                for a in range(d):
                    code = np.int64(table[r, a])
                    low[side, a], high[side, a] = min(code, low[side, a]), max(code, high[side, a])
                    values[side, a], width[side, a] = wider[side, a], trial[side, a]
                    if lines[a, 0] == NOMINAL:
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


@compiled
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
def open_groups(table, starts, lines, places, scales, tree, leaf, pairs, pairs_at):
    """The groups of records that stand one after the other: head, following, size, box and NCP of each."""
    groups, d = starts.size - 1, table.shape[1]
    head, size = starts[:-1].copy(), starts[1:] - starts[:-1]
    following = np.arange(1, table.shape[0] + 1)
    low, high = np.empty((groups, d), dtype=np.int64), np.empty((groups, d), dtype=np.int64)
    values, ncp = np.empty((groups, d), dtype=np.int64), np.empty(groups)
    at = offsets_of(lines)
    marks = np.zeros(at[d], dtype=np.int64)
    for g in range(groups):
        following[starts[g + 1] - 1] = -1
        empty_box(low[g], high[g], values[g])
        r = head[g]
        while r >= 0:
            take(table, r, low[g], high[g], values[g], marks, np.int64(g + 1), at, lines)
            r = following[r]
        ncp[g] = cost_of(low[g], high[g], values[g], lines, places, scales, tree, leaf, pairs, pairs_at)
    return head, following, size, low, high, values, ncp


@compiled
def empty_box(low, high, values):
    """The box of no records."""
    for a in range(low.size):
        low[a], high[a], values[a] = 2147483647, -1, 0


@compiled
def take(table, r, low, high, values, marks, stamp, at, lines):
    """Let a box hold one more record."""
    for a in range(low.size):
        code = np.int64(table[r, a])
        low[a], high[a] = min(code, low[a]), max(code, high[a])
        if lines[a, 0] == NOMINAL and marks[at[a] + code] != stamp:
            marks[at[a] + code] = stamp
            values[a] += 1


@compiled
def cost_of(low, high, values, lines, places, scales, tree, leaf, pairs, pairs_at):
    """The NCP of a box; 0 for that of no records."""
    total = 0.0
    for a in range(low.size):
        if high[a] >= 0:
            total += penalty(lines, places, scales, tree, leaf, pairs, pairs_at, a, low[a], high[a], values[a])
    return total


@compiled
def at_least(low, high, values, g, h, whole, lines, places, scales, tree, leaf, pairs, pairs_at):
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
        if lines[a, 0] == NOMINAL:
            if whole:
                more = max(more, values[h, a])
            exact = exact and (bottom == top or top == lines[a, 2])
            if bottom < top:
                more = max(more, np.int64(2))
        total += penalty(lines, places, scales, tree, leaf, pairs, pairs_at, a, bottom, top, more)
    return total, exact


@compiled
def joint_cost(
    table,
    head,
    following,
    low,
    high,
    values,
    g,
    h,
    marks,
    stamp,
    others,
    tick,
    at,
    lines,
    places,
    scales,
    tree,
    leaf,
    pairs,
    pairs_at,
):
    """The NCP of two groups together; the values of the first are marked with ``stamp``, ``tick`` is not in use yet."""
    total = 0.0
    for a in range(low.shape[1]):
        bottom, top, more = min(low[g, a], low[h, a]), max(high[g, a], high[h, a]), values[g, a]
        if lines[a, 0] == NOMINAL:
            r = head[h]
            while r >= 0:
                place = at[a] + table[r, a]
                if marks[place] != stamp and others[place] != tick:
                    others[place] = tick
                    more += 1
                r = following[r]
        total += penalty(lines, places, scales, tree, leaf, pairs, pairs_at, a, bottom, top, more)
    return total


@compiled
def mark(table, head, following, g, marks, stamp, at, lines):
    """Mark the values of a group on its nominal lines."""
    r = head[g]
    while r >= 0:
        for a in range(table.shape[1]):
            if lines[a, 0] == NOMINAL:
                marks[at[a] + table[r, a]] = stamp
        r = following[r]


@compiled
def merge(
    table,
    g,
    h,
    head,
    following,
    size,
    low,
    high,
    values,
    ncp,
    marks,
    stamp,
    at,
    lines,
    places,
    scales,
    tree,
    leaf,
    pairs,
    pairs_at,
):
    """Let group ``g`` have the records of group ``h``, which is empty then; the values of ``g`` are marked."""
    r = head[h]
    while r >= 0:
        then = following[r]
        take(table, r, low[g], high[g], values[g], marks, stamp, at, lines)
        following[r] = head[g]
        head[g] = r
        r = then
    size[g] += size[h]
    size[h] = 0
    head[h] = -1
    ncp[g] = cost_of(low[g], high[g], values[g], lines, places, scales, tree, leaf, pairs, pairs_at)


# ── groups that are too small


@compiled
def adjust(
    table, k, queue, first, last, end, marks, others, clock, head, following, size, low, high, values, ncp,
    lines, places, scales, tree, leaf, pairs, pairs_at,
):  # fmt: skip
    """Take up some of the groups that wait in ``queue`` and have fewer than k records; returns the end of the queue.

    Each either merges with another group, where that leaves fewer than 2k records, or else borrows from another what
    it lacks: whichever raises Σ records · NCP less. ``clock`` has the last stamps of ``marks`` and of ``others``.
    """
    groups, d = low.shape
    at = offsets_of(lines)
    picked = np.empty(k, dtype=np.int64)
    box = np.empty((6, d), dtype=np.int64)
    for q in range(first, last):
        g = queue[q]
        if size[g] == 0 or size[g] >= k:
            continue
        clock[0] += 1
        stamp = clock[0]
        mark(table, head, following, g, marks, stamp, at, lines)
        raised, partner, taken, lender = np.inf, np.int64(-1), np.inf, np.int64(-1)
        for h in range(groups):
            if h == g or size[h] == 0:
                continue
            both = size[g] + size[h]
            whole = both < 2 * k
            cost, exact = at_least(low, high, values, g, h, whole, lines, places, scales, tree, leaf, pairs, pairs_at)
            if not whole:
                if cost < taken:
                    cost = _lend(
                        table, k, g, h, taken, picked, box, head, following, size, low, high, values, marks, stamp,
                        others, clock, at, lines, places, scales, tree, leaf, pairs, pairs_at,
                    )  # fmt: skip
                    if cost < taken:
                        taken, lender = cost, h
                continue
            if both * cost - size[h] * ncp[h] < raised and not exact:
                clock[1] += 1
                cost = joint_cost(
                    table, head, following, low, high, values, g, h, marks, stamp, others, clock[1], at,
                    lines, places, scales, tree, leaf, pairs, pairs_at,
                )  # fmt: skip
            if both * cost - size[h] * ncp[h] < raised:
                raised, partner = both * cost - size[h] * ncp[h], h
        if lender >= 0:
            lacking = k - size[g]
            _lend(
                table, k, g, lender, np.inf, picked, box, head, following, size, low, high, values, marks, stamp,
                others, clock, at, lines, places, scales, tree, leaf, pairs, pairs_at,
            )  # fmt: skip
            left = cost_of(box[3], box[4], box[5], lines, places, scales, tree, leaf, pairs, pairs_at)
            if k * taken + (size[lender] - lacking) * left - size[lender] * ncp[lender] < raised:
                _hand_over(following, head, g, lender, picked, lacking)
                size[g], size[lender] = k, size[lender] - lacking
                ncp[g], ncp[lender] = taken, left
                for a in range(d):
                    low[g, a], high[g, a], values[g, a] = box[0, a], box[1, a], box[2, a]
                    low[lender, a], high[lender, a], values[lender, a] = box[3, a], box[4, a], box[5, a]
                continue
        if partner >= 0:
            merge(
                table, g, partner, head, following, size, low, high, values, ncp, marks, stamp, at,
                lines, places, scales, tree, leaf, pairs, pairs_at,
            )  # fmt: skip
            if size[g] < k:
                queue[end] = g
                end += 1
    return end


@compiled
def _lend(
    table, k, g, h, best, picked, box, head, following, size, low, high, values, marks, stamp,
    others, clock, at, lines, places, scales, tree, leaf, pairs, pairs_at,
):  # fmt: skip
    """The NCP of group ``g`` with what it lacks from group ``h``: those records that are nearest to ``g`` as it is.

    ``picked`` gets these records, and ``box`` the boxes of both groups thereafter. Infinite where it is no less than
    ``best``.
    """
    n, lacking = size[h], k - size[g]
    records, near = np.empty(n, dtype=np.int64), np.zeros(n)
    r, i, fit = head[h], 0, 0
    while r >= 0:
        records[i] = r
        for a in range(table.shape[1]):
            if near[i] >= best:
                break
            code = np.int64(table[r, a])
            more = values[g, a]
            if lines[a, 0] == NOMINAL:
                more += marks[at[a] + code] != stamp
            bottom, top = min(code, low[g, a]), max(code, high[g, a])
            near[i] += penalty(lines, places, scales, tree, leaf, pairs, pairs_at, a, bottom, top, more)
        fit += near[i] < best
        r, i = following[r], i + 1
        if fit + n - i < lacking:
            return np.inf
    order = np.argsort(near, kind="mergesort")
    for a in range(table.shape[1]):
        box[0, a], box[1, a], box[2, a] = low[g, a], high[g, a], values[g, a]
    empty_box(box[3], box[4], box[5])
    clock[1] += 2
    r = head[g]
    while r >= 0:  # its values once more, under a stamp that may be given up
        for a in range(table.shape[1]):
            if lines[a, 0] == NOMINAL:
                others[at[a] + table[r, a]] = clock[1] - 1
        r = following[r]
    for i in range(lacking):
        picked[i] = records[order[i]]
        take(table, picked[i], box[0], box[1], box[2], others, clock[1] - 1, at, lines)
    for i in range(lacking, n):
        take(table, records[order[i]], box[3], box[4], box[5], others, clock[1], at, lines)
    return cost_of(box[0], box[1], box[2], lines, places, scales, tree, leaf, pairs, pairs_at)


@compiled
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
def join(
    table, sensitive, rules, facts, first, last, marks, others, clock, head, following, size, low, high, values, ncp,
    lines, places, scales, tree, leaf, pairs, pairs_at,
):  # fmt: skip
    """Let some groups merge with the nearest one, again and again, until they meet every requirement.

    The nearest one is that with which Σ records · NCP rises least.
    """
    groups = low.shape[0]
    at = offsets_of(lines)
    longest = np.int64(1)
    for r in range(rules.shape[0]):
        longest = max(longest, rules[r, SIZE])
    histograms = np.zeros((2, longest), dtype=np.int64)
    for g in range(first, last):
        if size[g] == 0:
            continue
        clock[0] += 1
        stamp = clock[0]
        mark(table, head, following, g, marks, stamp, at, lines)
        while not holds(sensitive, head[g], following, rules, facts, histograms):
            best, partner = np.inf, np.int64(-1)
            for h in range(groups):
                if h == g or size[h] == 0:
                    continue
                both, paid = size[g] + size[h], size[h] * ncp[h]
                cost, exact = at_least(
                    low, high, values, g, h, True, lines, places, scales, tree, leaf, pairs, pairs_at
                )
                if both * cost - paid >= best:
                    continue
                if not exact:
                    clock[1] += 1
                    cost = joint_cost(
                        table, head, following, low, high, values, g, h, marks, stamp, others, clock[1], at,
                        lines, places, scales, tree, leaf, pairs, pairs_at,
                    )  # fmt: skip
                if both * cost - paid < best:
                    best, partner = both * cost - paid, h
            if partner < 0:
                break
            merge(
                table, g, partner, head, following, size, low, high, values, ncp, marks, stamp, at,
                lines, places, scales, tree, leaf, pairs, pairs_at,
            )  # fmt: skip


@compiled
def holds(sensitive, head, following, rules, facts, histograms):
    """Whether a group meets every rule; ``histograms`` are zero before and after."""
    for r in range(rules.shape[0]):
        row, offset = rules[r, ROW], rules[r, FACTS]
        n, first, second = 0.0, 0.0, 0.0
        one = head
        while one >= 0:
            v = sensitive[row, one]
            if rules[r, KIND] >= MOMENTS:
                x = facts[offset + 1 + v]
                if x == x:
                    n += 1.0
                    first += x
                    second += x * x
            else:
                histograms[0, v] += 1
            one = following[one]
        if rules[r, KIND] < MOMENTS:
            count, first = summary(histograms, np.int64(0), rules, r, facts)
            n = np.float64(count)
        lacking = gap(histograms, np.int64(0), n, first, second, rules, r, facts)
        if rules[r, KIND] < MOMENTS:
            one = head
            while one >= 0:
                histograms[0, sensitive[row, one]] = 0
                one = following[one]
        if lacking > 0:
            return False
    return True


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
