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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.boxes import ORDERED, TREE
from rothko.kernels.cluster import hull
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
    own,
    room_for_chain,
    weigh,
    width,
)
from rothko.kernels.numbers import draw
from rothko.kernels.order import sort
from rothko.kernels.rules import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    FACTS,
    MOMENTS,
    RECURSIVE,
    ROW,
    SHARE,
    TOTAL,
    clear,
    count,
    lacking,
    room_for,
)
from rothko.kernels.rules import KIND as RULE
from rothko.kernels.rules import own as own_rules

# Ways of grouping, which may be combined: begin with any tuple rather than that of most records; take of the last
# tuple no more records than are needed; try lifting too.
RANDOM, PARTLY, LIFTING = 1, 2, 4

TAKEN = np.int32(1 << 29)
"""Added to the NCP of tuples that are used up; above any NCP."""

room_for_boxes = hull.room


class Pool(NamedTuple):
    """Tuples that are in no class yet; the first so many count."""

    x: NDArray[np.int32]
    """(lines, tuples): places on the lines."""
    who: NDArray[np.int64]
    """Their numbers."""
    left: NDArray[np.int64]
    """How many records there are of each."""
    values: NDArray[np.int32]
    """(columns, tuples): sensitive values."""


class Entries(NamedTuple):
    """So many records of a tuple in a class, one entry after the other."""

    tuples: NDArray[np.int64]
    classes: NDArray[np.int64]
    amounts: NDArray[np.int64]


class Work(NamedTuple):
    """Arrays to work in."""

    each: NDArray[np.int32]
    """(lines, tuples): what NCP becomes, and the sum over lines."""
    total: NDArray[np.int32]
    taken: NDArray[np.int64]
    some: NDArray[np.int64]
    out: NDArray[np.int32]
    """(lines, tuples): whether a tuple is outside; on how many lines, and the sum of these lines."""
    outs: NDArray[np.int32]
    where: NDArray[np.int32]
    gains: NDArray[np.int64]
    chain: NDArray[np.int32]


@linked
def room(lines, tuples, records):
    """Arrays to work in, for so many tuples and records."""
    d = lines.spec.shape[0]
    widest = tuples
    for a in range(d):
        widest = max(widest, np.int64(lines.spec[a, SIZE]))
    each, total = np.empty((d, tuples), dtype=np.int32), np.empty(tuples, dtype=np.int32)
    taken, some = np.empty(records, dtype=np.int64), np.empty(records, dtype=np.int64)
    out, outs = np.empty((d, tuples), dtype=np.int32), np.empty(tuples, dtype=np.int32)
    where, gains = np.empty(tuples, dtype=np.int32), np.empty(widest, dtype=np.int64)
    return Work(each, total, taken, some, out, outs, where, gains, room_for_chain(lines))


@linked
def room_for_entries(count):
    """Room for so many entries."""
    return Entries(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))


@inlined
def helps(v, r, rules, tally):
    """Whether one more record with this value brings a class nearer to a rule that does not hold."""
    kind, at, sums = rules.spec[r, RULE], rules.spec[r, FACTS], tally.sums
    c = tally.histograms[r, v] if kind < MOMENTS else np.int64(0)
    good = True
    if kind == DISTINCT:
        good = c <= sums[r, 2]
    elif kind in (SHARE, RECURSIVE):
        good = c < sums[r, 1]
    elif kind == ENTROPY:
        # Entropy rises where log c is below its mean over the records.
        good = c == 0 or np.log(np.float64(c)) * sums[r, 0] < sums[r, 1]
    elif kind == CLOSE:
        good = c * np.float64(rules.spec[r, TOTAL]) < rules.facts[at + v] * sums[r, 0]
    else:
        # Variance rises where the distance from the mean is larger than it.
        number, n = rules.facts[at + 1 + v], max(sums[r, 0], 1.0)
        far = number * n - sums[r, 1]
        good = number == number and far * far >= sums[r, 2] * n - sums[r, 1] * sums[r, 1]
    return good


@linked
def _flag(lines, boxes, a, c, x, n, work):
    """Note which tuples lie outside the box on line ``a``; on how many lines they do, and the sum of these lines."""
    spec, tree, out, outs, where = lines.spec, lines.tree, work.out, work.outs, work.where
    low, high, mix, bits = boxes
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


@linked
def _best_raise(lines, boxes, a, c, pool, near, need, work):
    """The best way to raise the box on line ``a``: records per NCP, and the node or value to raise it to.

    The first ``near`` of those taken are the tuples that lie outside on one line only; no more than ``need`` records
    count.
    """
    spec, tree, low, high, x, left = lines.spec, lines.tree, boxes.low, boxes.high, pool.x, pool.left
    listed, where, gains = work.taken, work.where, work.gains
    best, raised = 0.0, np.int32(0)
    now = width(lines, boxes, a, c)
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
        sort(gains, 0, m)
        above, below = np.int64(0), np.int64(0)
        for i in range(m):
            v, gained = np.int32(gains[i] >> 32), left[gains[i] & 0xFFFFFFFF]
            if v > high[a, c]:
                above += gained
                score = min(above, need) / max(v - high[a, c], 1)
                if score > best:
                    best, raised = score, v
        for i in range(m - 1, -1, -1):
            v, gained = np.int32(gains[i] >> 32), left[gains[i] & 0xFFFFFFFF]
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


@linked
def lift(lines, boxes, c, pool, n, s, k, work):
    """Raise the box of tuple ``s`` until it holds k records: how many it holds; -1 where no single step brings any.

    Afterwards ``outs`` is 0 for the tuples inside.
    """
    spec, x, left, out, outs, where, listed = lines.spec, pool.x, pool.left, work.out, work.outs, work.where, work.taken
    begin(lines, boxes, c, x, s)
    for t in range(n):
        outs[t] = 0
        where[t] = 0
    for a in range(spec.shape[0]):
        for t in range(n):
            out[a, t] = 0
        _flag(lines, boxes, a, c, x, n, work)
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
            if boxes.mix[a, c] == PRESENT:
                score, to = _best_raise(lines, boxes, a, c, pool, near, k - have, work)
                if score > best:
                    best, line, raised = score, a, to
        if line < 0:
            return np.int64(-1)
        if spec[line, KIND] == TREE:
            boxes.low[line, c] = raised
        else:
            join(lines, boxes, line, c, raised)
        _flag(lines, boxes, line, c, x, n, work)


@linked
def _grow(lines, boxes, c, pool, n, s, k, way, rules, tally, work):
    """Greedily add tuples to class ``c``, which is tuple ``s``: how many were taken from, and how many records.

    Fewer than k, or a rule that lacks (the third number), where there are no more tuples that help.
    """
    d, x, left, values = lines.spec.shape[0], pool.x, pool.left, pool.values
    each, total, taken, some, chain = work.each, work.total, work.taken, work.some, work.chain
    for t in range(n):
        total[t] = 0
    for a in range(d):
        for t in range(n):
            each[a, t] = 0
        weigh(lines, boxes, a, c, x, n, each, total, chain)
    clear(rules, tally)
    ruled = rules is not None
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
            count(rules, tally, values, t, amount)
            lacks = lacking(rules, tally)
        done = have >= k and lacks < 0
        for a in range(d):
            if join(lines, boxes, a, c, x[a, t]) and not done:
                weigh(lines, boxes, a, c, x, n, each, total, chain)
        if done:
            break
        best, t = TAKEN, -1
        if lacks < 0:
            for i in range(n):
                if total[i] < best:
                    best, t = total[i], i
        elif rules is not None:
            row = rules.spec[lacks, ROW]
            for i in range(n):
                if total[i] < best and helps(values[row, i], lacks, rules, tally):
                    best, t = total[i], i
        if t < 0:
            break
    for i in range(picked):
        left[taken[i]] += some[i]
    return picked, have, lacks


@linked
def _start(left, n, way, random):
    """The tuple to begin with."""
    if way & RANDOM:
        return draw(random, n)
    most = np.int64(0)
    for t in range(1, n):
        if left[t] > left[most]:
            most = np.int64(t)
    return most


@linked
def _compact(pool, n):
    """Take out the tuples that are used up: how many stay."""
    x, who, left, values = pool
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


@linked
def _all_hold(outs, pool, n, rules, tally):
    """Whether the rules hold for all tuples inside a box together."""
    if rules is None:
        return True
    clear(rules, tally)
    for t in range(n):
        if outs[t] == 0:
            count(rules, tally, pool.values, t, pool.left[t])
    return lacking(rules, tally) < 0


@linked
def group(lines, pool, n, k, rules, way, random, boxes, size, entries, work, tally):
    """Group n tuples into classes of at least k records for which the rules hold.

    Parameters
    ----------
    pool
        The tuples; all are used up.
    way
        See the top of this file.
    boxes, size
        The boxes and sizes of the classes are written here; there is room for one class more than there can be.
    entries
        Are written here.
    work, tally
        Room to work in.

    Returns
    -------
    How many entries and classes there are, Σ size · NCP, and how many records at the end are in no class (-1).
    """
    x, who, left, _ = pool
    tuples, classes, amounts = entries
    taken, some, outs = work.taken, work.some, work.outs
    records = np.int64(0)
    for t in range(n):
        records += left[t]
    # Typed as they are elsewhere: a plain 0 is another type, for which all below is compiled again.
    used, m, loss = np.int64(0), np.int64(0), np.int64(0)
    while records >= k:
        s = _start(left, n, way, random)
        begin(lines, boxes, m, x, s)
        picked, have, lacks, wide = 1, left[s], np.int64(-1), np.int64(0)
        taken[0], some[0] = s, left[s]
        if rules is not None or left[s] < k:
            inside = np.int64(-1)
            if way & LIFTING:
                inside = lift(lines, boxes, m + 1, pool, n, s, k, work)
                if inside >= 0 and not _all_hold(outs, pool, n, rules, tally):
                    inside = np.int64(-1)
            picked, have, lacks = _grow(lines, boxes, m, pool, n, s, k, way, rules, tally, work)
            if have < k or lacks >= 0:
                break
            wide = ncp(lines, boxes, m)
            if inside >= 0:
                first = True
                for t in range(n):
                    if outs[t] == 0:
                        if first:
                            begin(lines, boxes, m + 1, x, t)
                        else:
                            join_all(lines, boxes, m + 1, x, t)
                        first = False
                lifted = ncp(lines, boxes, m + 1)
                if lifted < wide:
                    wide, have, picked = lifted, inside, 0
                    for t in range(n):
                        if outs[t] == 0:
                            taken[picked], some[picked] = t, left[t]
                            picked += 1
                    copy_box(boxes, m + 1, boxes, m)
        for i in range(picked):
            tuples[used], classes[used], amounts[used] = who[taken[i]], m, some[i]
            used += 1
            left[taken[i]] -= some[i]
        size[m] = have
        loss += have * wide
        records -= have
        m += 1
        n = _compact(pool, n)
    loose = np.int64(0)
    cost, after = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int32)
    for c in range(m):
        cost[c] = ncp(lines, boxes, c)
    for t in range(n):
        c, rise = -1, np.int64(0)
        if m > 0 and rules is None:
            c, rise = least_rise(lines, boxes, m, x, t, left[t], size, cost, after, np.int64(-1))
            join_all(lines, boxes, c, x, t)
            size[c] += left[t]
            cost[c] = ncp(lines, boxes, c)
        else:
            loose += left[t]
        loss += rise
        tuples[used], classes[used], amounts[used] = who[t], c, left[t]
        used += 1
    return used, m, loss, loose


@compiled
def group_block(lines, x, counts, values, k, rules, way, seed):
    """Group the tuples of a block: tuple, class (-1: none) and records of each entry; how many classes there are."""
    lines, rules = own(lines), own_rules(rules)
    n, records = counts.size, np.int64(0)
    for t in range(n):
        records += counts[t]
    most = records // k + 3
    pool, entries = Pool(x.copy(), np.arange(n), counts.copy(), values.copy()), room_for_entries(records)
    used, m, _, _ = group(
        lines, pool, n, k, rules, way, np.array([seed], dtype=np.uint64), room_for_boxes(lines, most),
        np.empty(most, dtype=np.int64), entries, room(lines, n, records), room_for(rules, 1),
    )  # fmt: skip
    return entries.tuples[:used].copy(), entries.classes[:used].copy(), entries.amounts[:used].copy(), m
