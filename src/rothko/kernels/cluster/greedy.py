"""Grouping tuples into classes of low NCP: greedily, one tuple at a time, or by lifting, one line at a time.

A class begins with a tuple. *Greedy* adds the tuple that raises its NCP least until the requirements hold.
*Lifting* raises the box on one line at a time, a tree to a higher node, a range to a further value, a set by a label,
wherever that brings most records for its NCP; all that lie in the box then join. Greedy looks one tuple ahead, which is
short-sighted for large classes, and lifting is better there; the cheaper of the two is taken.

The tuples are distinct and have numbers of records (``left``). They are searched all at a time in one pass over
contiguous arrays, and those that are used up are taken out: time is quadratic in the tuples, so
callers give a block of neighbours at a time.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined
from rothko.kernels.cluster import hull, tally
from rothko.kernels.cluster.hull import (
    ABSENT,
    BEGIN,
    FIRST,
    KIND,
    LAST,
    MISSING,
    MIXED,
    PARENT,
    PRESENT,
    SIZE,
    WIDTH,
    begin,
    copy_box,
    join,
    join_all,
    labels_cost,
    least_rise,
    ncp,
    room_for_chain,
    weigh,
    width,
)
from rothko.kernels.cluster.tally import clear, count, helps, lacking
from rothko.kernels.mondrian.nodes import ORDERED, TREE
from rothko.kernels.rules import ROW

# Ways of grouping, which may be combined: begin with any tuple rather than that of most records; take of the last
# tuple no more records than are needed; try lifting too.
RANDOM, PARTLY, LIFTING = 1, 2, 4

TAKEN = np.int32(1 << 29)
"""Added to the NCP of tuples that are used up; above any NCP."""

room_for_boxes, room_for_values = hull.room, tally.room


@inlined
def draw(random, n):
    """A number below n."""
    random[0] = random[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return np.int64((random[0] >> np.uint64(33)) % np.uint64(n))


@compiled
def room(spec, tuples, records):
    """Arrays to work in, for so many tuples and records."""
    d = spec.shape[0]
    widest = tuples
    for a in range(d):
        widest = max(widest, np.int64(spec[a, SIZE]))
    each, total = np.empty((d, tuples), dtype=np.int32), np.empty(tuples, dtype=np.int32)
    taken, some = np.empty(records, dtype=np.int64), np.empty(records, dtype=np.int64)
    out, outs = np.empty((d, tuples), dtype=np.int32), np.empty(tuples, dtype=np.int32)
    where, gains = np.empty(tuples, dtype=np.int32), np.empty(widest, dtype=np.int64)
    return each, total, taken, some, out, outs, where, gains, room_for_chain(spec)


@compiled
def _flag(spec, tree, low, high, mix, bits, a, c, x, n, out, outs, where):
    """Note which tuples lie outside the box on line ``a``; on how many lines they do, and the sum of these lines."""
    for t in range(n):
        outs[t] -= out[a, t]
        where[t] -= a * out[a, t]
    if spec[a, KIND] == TREE:
        first, last = tree[low[a, c], FIRST], tree[low[a, c], LAST]
        for t in range(n):
            out[a, t] = (x[a, t] < first) | (x[a, t] > last)
    elif mix[a, c] == MIXED:
        for t in range(n):
            out[a, t] = 0
    elif mix[a, c] == ABSENT:
        for t in range(n):
            out[a, t] = x[a, t] != spec[a, MISSING]
    elif spec[a, KIND] == ORDERED:
        first, last, missing = low[a, c], high[a, c], spec[a, MISSING]
        for t in range(n):
            v = x[a, t]
            out[a, t] = (v < first) | (v > last) | (v == missing)
    else:
        for t in range(n):
            v = x[a, t]
            known = (bits[spec[a, BEGIN] + (v >> 6), c] >> np.uint64(v & 63)) & np.uint64(1)
            out[a, t] = (known == np.uint64(0)) | (v == spec[a, MISSING])
    for t in range(n):
        outs[t] += out[a, t]
        where[t] += a * out[a, t]


@compiled
def _best_raise(spec, tree, low, high, mix, a, c, x, left, near, listed, where, need, gains):
    """The best way to raise the box on line ``a``: records per NCP, and the node or value to raise it to.

    ``listed`` are the ``near`` tuples that lie outside on one line only; no more than ``need`` records count.
    """
    best, raised = 0.0, np.int32(0)
    now = width(spec, tree, low, high, mix, a, c)
    if spec[a, KIND] == TREE:
        node = low[a, c]
        while tree[node, PARENT] >= 0:
            node = tree[node, PARENT]
            gained = np.int64(0)
            for i in range(near):
                t = listed[i]
                if where[t] == a and tree[node, FIRST] <= x[a, t] <= tree[node, LAST]:
                    gained += left[t]
            score = min(gained, need) / max(tree[node, WIDTH] - now, 1)
            if score > best:
                best, raised = score, node
        return best, raised
    if spec[a, KIND] == ORDERED:
        m = 0
        for i in range(near):
            t = listed[i]
            if where[t] == a and x[a, t] != spec[a, MISSING]:
                gains[m] = np.int64(x[a, t]) << 32 | t
                m += 1
        rising = np.sort(gains[:m])
        above, below = np.int64(0), np.int64(0)
        for i in range(m):
            v, gained = np.int32(rising[i] >> 32), left[rising[i] & 0xFFFFFFFF]
            if v > high[a, c]:
                above += gained
                score = min(above, need) / max(v - high[a, c], 1)
                if score > best:
                    best, raised = score, v
        for i in range(m - 1, -1, -1):
            v, gained = np.int32(rising[i] >> 32), left[rising[i] & 0xFFFFFFFF]
            if v < low[a, c]:
                below += gained
                score = min(below, need) / max(low[a, c] - v, 1)
                if score > best:
                    best, raised = score, v
        return best, raised
    rise = max(labels_cost(spec, a, high[a, c] + 1) - now, 1)
    for i in range(near):
        t = listed[i]
        if where[t] == a:
            gains[x[a, t]] = 0
    for i in range(near):
        t = listed[i]
        if where[t] == a:
            gains[x[a, t]] += left[t]
    for i in range(near):
        t = listed[i]
        if where[t] == a and x[a, t] != spec[a, MISSING]:
            score = min(gains[x[a, t]], need) / rise
            if score > best:
                best, raised = score, x[a, t]
    return best, raised


@compiled
def lift(spec, tree, leaf, low, high, mix, bits, c, x, left, n, s, k, out, outs, where, listed, gains):
    """Raise the box of tuple ``s`` until it holds k records: how many it holds; -1 where no single step brings any.

    Afterwards ``outs`` is 0 for the tuples inside.
    """
    begin(spec, leaf, low, high, mix, bits, c, x, s)
    for t in range(n):
        outs[t] = 0
        where[t] = 0
    for a in range(spec.shape[0]):
        for t in range(n):
            out[a, t] = 0
        _flag(spec, tree, low, high, mix, bits, a, c, x, n, out, outs, where)
    while True:
        have, near = np.int64(0), 0
        for t in range(n):
            if outs[t] == 0:
                have += left[t]
            elif outs[t] == 1:
                listed[near] = t
                near += 1
        if have >= k:
            return have
        best, line, raised = 0.0, -1, np.int32(0)
        for a in range(spec.shape[0]):
            if mix[a, c] == PRESENT:
                score, to = _best_raise(spec, tree, low, high, mix, a, c, x, left, near, listed, where, k - have, gains)
                if score > best:
                    best, line, raised = score, a, to
        if line < 0:
            return np.int64(-1)
        if spec[line, KIND] == TREE:
            low[line, c] = raised
        else:
            join(spec, tree, low, high, mix, bits, line, c, raised)
        _flag(spec, tree, low, high, mix, bits, line, c, x, n, out, outs, where)


@compiled
def _grow(
    spec, tree, low, high, mix, bits, c, x, left, values, n, s, k, way, rules, facts, each, total, taken, some, chain,
    histograms, sums,
):  # fmt: skip
    """Greedily add tuples to class ``c``, which is tuple ``s``: how many were taken from, and how many records.

    Fewer than k, or a rule that lacks (the third number), where there are no more tuples that help.
    """
    d = spec.shape[0]
    for t in range(n):
        total[t] = 0
    for a in range(d):
        for t in range(n):
            each[a, t] = 0
        weigh(spec, tree, low, high, mix, bits, a, c, x, n, each, total, chain)
    clear(rules, histograms, sums)
    ruled = rules.shape[0] > 0
    picked, have, lacks, t = 0, np.int64(0), np.int64(-1), s
    while True:
        amount = left[t]
        if ruled and (lacks >= 0 or have == 0):
            amount = 1  # more of one value than needed leads away from most rules
        elif way & PARTLY and have + amount > k:
            amount = max(k - have, 1)
        taken[picked], some[picked] = t, amount
        picked += 1
        have += amount
        left[t] -= amount
        if left[t] == 0:
            total[t] += TAKEN
        if ruled:
            count(values, t, amount, rules, facts, histograms, sums)
            lacks = lacking(rules, facts, histograms, sums)
        done = have >= k and lacks < 0
        for a in range(d):
            if join(spec, tree, low, high, mix, bits, a, c, x[a, t]) and not done:
                weigh(spec, tree, low, high, mix, bits, a, c, x, n, each, total, chain)
        if done:
            break
        best, t = TAKEN, -1
        if lacks < 0:
            for i in range(n):
                if total[i] < best:
                    best, t = total[i], i
        else:
            row = rules[lacks, ROW]
            for i in range(n):
                if total[i] < best and helps(values[row, i], lacks, rules, facts, histograms, sums):
                    best, t = total[i], i
        if t < 0:
            break
    for i in range(picked):
        left[taken[i]] += some[i]
    return picked, have, lacks


@compiled
def _start(left, n, way, random):
    """The tuple to begin with."""
    if way & RANDOM:
        return draw(random, n)
    most = np.int64(0)
    for t in range(1, n):
        if left[t] > left[most]:
            most = np.int64(t)
    return most


@compiled
def _compact(x, who, left, values, n):
    """Take out the tuples that are used up: how many stay."""
    kept = np.int64(0)
    for t in range(n):
        if left[t] == 0:
            continue
        if kept != t:
            for a in range(x.shape[0]):
                x[a, kept] = x[a, t]
            for r in range(values.shape[0]):
                values[r, kept] = values[r, t]
            left[kept], who[kept] = left[t], who[t]
        kept += 1
    return kept


@compiled
def _all_hold(outs, left, values, n, rules, facts, histograms, sums):
    """Whether the rules hold for all tuples inside a box together."""
    clear(rules, histograms, sums)
    if rules.shape[0] > 0:
        for t in range(n):
            if outs[t] == 0:
                count(values, t, left[t], rules, facts, histograms, sums)
    return lacking(rules, facts, histograms, sums) < 0


@compiled
def group(
    spec, tree, leaf, table, x, who, left, values, n, k, rules, facts, way, random, low, high, mix, bits, size,
    tuples, classes, amounts, work, histograms, sums,
):  # fmt: skip
    """Group n tuples into classes of at least k records for which the rules hold.

    Parameters
    ----------
    spec, tree, leaf, table
        The lines, see :mod:`rothko.kernels.cluster.hull`.
    x, who, left, values
        The tuples: places on the lines (lines, tuples), numbers, records, sensitive values. All are used up.
    way
        See the top of this file.
    low, high, mix, bits, size
        The boxes and sizes of the classes are written here; there is room for one class more than there can be.
    tuples, classes, amounts
        So many records of a tuple in a class, one entry after the other, are written here.
    work, histograms, sums
        Room to work in.

    Returns
    -------
    How many entries and classes there are, Σ size · NCP, and how many records at the end are in no class (-1).
    """
    each, total, taken, some, out, outs, where, gains, chain = work
    records = np.int64(0)
    for t in range(n):
        records += left[t]
    # Typed as they are elsewhere: a plain 0 is another type, for which all below is compiled again.
    entries, m, loss = np.int64(0), np.int64(0), np.int64(0)
    while records >= k:
        s = _start(left, n, way, random)
        begin(spec, leaf, low, high, mix, bits, m, x, s)
        picked, have, lacks, wide = 1, left[s], np.int64(-1), np.int64(0)
        taken[0], some[0] = s, left[s]
        if rules.shape[0] > 0 or left[s] < k:
            inside = np.int64(-1)
            if way & LIFTING:
                inside = lift(
                    spec, tree, leaf, low, high, mix, bits, m + 1, x, left, n, s, k, out, outs, where, taken, gains
                )
                if inside >= 0 and not _all_hold(outs, left, values, n, rules, facts, histograms, sums):
                    inside = np.int64(-1)
            picked, have, lacks = _grow(
                spec, tree, low, high, mix, bits, m, x, left, values, n, s, k, way, rules, facts, each, total, taken,
                some, chain, histograms, sums,
            )  # fmt: skip
            if have < k or lacks >= 0:
                break
            wide = ncp(spec, tree, low, high, mix, m)
            if inside >= 0:
                first = True
                for t in range(n):
                    if outs[t] == 0:
                        if first:
                            begin(spec, leaf, low, high, mix, bits, m + 1, x, t)
                        else:
                            join_all(spec, tree, low, high, mix, bits, m + 1, x, t)
                        first = False
                lifted = ncp(spec, tree, low, high, mix, m + 1)
                if lifted < wide:
                    wide, have, picked = lifted, inside, 0
                    for t in range(n):
                        if outs[t] == 0:
                            taken[picked], some[picked] = t, left[t]
                            picked += 1
                    copy_box(low, high, mix, bits, m + 1, low, high, mix, bits, m)
        for i in range(picked):
            tuples[entries], classes[entries], amounts[entries] = who[taken[i]], m, some[i]
            entries += 1
            left[taken[i]] -= some[i]
        size[m] = have
        loss += have * wide
        records -= have
        m += 1
        n = _compact(x, who, left, values, n)
    loose = np.int64(0)
    cost, after = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int32)
    for c in range(m):
        cost[c] = ncp(spec, tree, low, high, mix, c)
    for t in range(n):
        c, rise = -1, np.int64(0)
        if m > 0 and rules.shape[0] == 0:
            c, rise = least_rise(
                spec, tree, table, low, high, mix, bits, m, x, t, left[t], size, cost, after, np.int64(-1)
            )
            join_all(spec, tree, low, high, mix, bits, c, x, t)
            size[c] += left[t]
            cost[c] = ncp(spec, tree, low, high, mix, c)
        else:
            loose += left[t]
        loss += rise
        tuples[entries], classes[entries], amounts[entries] = who[t], c, left[t]
        entries += 1
    return entries, m, loss, loose


@compiled
def group_block(spec, tree, leaf, table, words, x, counts, values, k, rules, facts, way, seed):
    """Group the tuples of a block: tuple, class (-1: none) and records of each entry; how many classes there are."""
    # Copies of its own: a call counts references on its arrays, over which threads would contend.
    spec, tree, leaf, table, rules, facts = (
        spec.copy(),
        tree.copy(),
        leaf.copy(),
        table.copy(),
        rules.copy(),
        facts.copy(),
    )
    n, records = counts.size, np.int64(0)
    for t in range(n):
        records += counts[t]
    most = records // k + 3
    low, high, mix, bits = room_for_boxes(spec, words, most)
    histograms, sums = room_for_values(rules)
    tuples, classes = np.empty(records, dtype=np.int64), np.empty(records, dtype=np.int64)
    amounts = np.empty(records, dtype=np.int64)
    entries, m, _, _ = group(
        spec, tree, leaf, table, x.copy(), np.arange(n), counts.copy(), values.copy(), n, k, rules, facts, way,
        np.array([seed], dtype=np.uint64), low, high, mix, bits, np.empty(most, dtype=np.int64), tuples, classes,
        amounts, room(spec, n, records), histograms, sums,
    )  # fmt: skip
    return tuples[:entries].copy(), classes[:entries].copy(), amounts[:entries].copy(), m
