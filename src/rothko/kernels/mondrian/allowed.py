"""Whether a cut is allowable: every part must have enough records and meet every requirement."""

from __future__ import annotations

import numpy as np

from rothko.kernels import linked
from rothko.kernels.mondrian.arrange import arrange_many, arrange_two, split, values_in
from rothko.kernels.rules import (
    DISTINCT,
    FACTS,
    KIND,
    MOMENTS,
    ROW,
    SIZE,
    P,
    Tally,
    add_number,
    gap,
    lacks,
    raised,
    summary,
)


@linked
def sides(table, a, start, end, cut, ties, rules, r, histograms):
    """Whether the records below a cut (and the first ``ties`` equal to it) and the others both meet a requirement.

    For a histogram that is not longer than the records are many; the longer ones go through :func:`keep_allowed`.
    """
    kind, row, at, facts = rules.spec[r, KIND], rules.spec[r, ROW], rules.spec[r, FACTS], rules.facts
    if kind >= MOMENTS:
        n, s, q = 0.0, 0.0, 0.0
        n_right, s_right, q_right = 0.0, 0.0, 0.0
        for i in range(start, end):
            v = table[a, i]
            right = np.float64(v >= cut)
            if ties > 0 and v == cut:
                right = 0.0
                ties -= 1
            x = facts[at + 1 + np.uint64(table[row, i])]
            there = np.float64(x == x)
            x = x if x == x else 0.0
            left = 1.0 - right
            # Without a branch on the side, which would be mispredicted for every other record; and not by way of
            # the sum of both, from which the difference would keep the rounding of the larger side.
            n += there * left
            s += x * left
            q += x * x * left
            n_right += there * right
            s_right += x * right
            q_right += x * x * right
        if gap(histograms, np.int64(0), n, s, q, rules, r) > 0:
            return False
        return gap(histograms, np.int64(1), n_right, s_right, q_right, rules, r) == 0
    if ties > 0:
        for i in range(start, end):
            v = table[a, i]
            right = np.uint64(v >= cut)
            if ties > 0 and v == cut:
                right = np.uint64(0)
                ties -= 1
            histograms[right, np.uint64(table[row, i])] += 1
    else:
        for i in range(start, end):
            histograms[np.uint64(table[a, i] >= cut), np.uint64(table[row, i])] += 1
    good = True
    for side in range(2):
        if good:
            size, first = summary(histograms, side, rules, r)
            good = gap(histograms, side, np.float64(size), first, 0.0, rules, r) == 0
        for v in range(rules.spec[r, SIZE]):
            histograms[side, v] = 0
    return good


@linked
def enough_on_sides(table, a, start, end, cut, ties, row, enough, marks):
    """Whether there are enough different values on both sides of a cut: no more records are looked at than that takes.

    ``marks`` has two rows of zeros, as long as there are values, and has them again in the end.
    """
    left, right = 0, 0
    stop = end
    for i in range(start, end):
        if left >= enough and right >= enough:
            stop = i
            break
        v = table[a, i]
        side = np.uint64(v >= cut)
        if ties > 0 and v == cut:
            side = np.uint64(0)
            ties -= 1
        new = 1 - marks[side, np.uint64(table[row, i])]
        marks[side, np.uint64(table[row, i])] = 1
        if side == 0:
            left += new
        else:
            right += new
    for j in range(start, stop):
        marks[0, np.uint64(table[row, j])] = 0
        marks[1, np.uint64(table[row, j])] = 0
    return left >= enough and right >= enough


@linked
def keep_enough(values, good, enough, marks):
    """Of the ``good`` positions keep those with enough different values before and after them; returns how many."""
    n = values.size
    for side in range(2):
        found, step = 0, 0
        while step < n and found < enough:
            v = np.uint64(values[step if side == 0 else n - 1 - step])
            found += 1 - marks[0, v]
            marks[0, v] = 1
            step += 1
        for i in range(step):
            marks[0, np.uint64(values[i if side == 0 else n - 1 - i])] = 0
        if found < enough:
            return 0
        for i in range(step):
            good[i if side == 0 else n - i] = 0
    kept = 0
    for p in range(n + 1):
        kept += good[p]
    return kept


@linked
def enough_in_parts(table, row, start, count, enough, child, sizes, order, marks):
    """Whether every child that has records has enough different values."""
    arrange_many(child, start, count, sizes, order)
    at = np.int64(0)
    for c in range(count):
        found, step = 0, np.int64(0)
        while step < sizes[c] and found < enough:
            v = np.uint64(table[row, order[at + step]])
            found += 1 - marks[0, v]
            marks[0, v] = 1
            step += 1
        for i in range(at, at + step):
            marks[0, np.uint64(table[row, order[i]])] = 0
        if sizes[c] > 0 and found < enough:
            return False
        at += sizes[c]
    return True


@linked
def keep_allowed(values, least, good, rules, r, histograms):
    """Of the ``good`` positions keep those before which, and after which, a requirement holds; returns how many.

    One pass over the values from each end. Where a state says how many records it lacks, the positions up to there
    are not asked about.
    """
    if rules.spec[r, KIND] == DISTINCT:
        return keep_enough(values, good, rules.spec[r, P], histograms)
    kind, size, at, facts = rules.spec[r, KIND], rules.spec[r, SIZE], rules.spec[r, FACTS], rules.facts
    n = values.size
    one = np.int64(0)  # typed as all groups are, so that nothing is compiled twice
    kept = 0
    for side in range(2):
        count, first, second = 0.0, 0.0, 0.0
        next_size = 0
        kept = 0
        for step in range(n - least):
            i = step if side == 0 else n - 1 - step
            v = np.uint64(values[i])
            if kind >= MOMENTS:
                x = facts[at + 1 + v]
                if x == x:
                    count += 1.0
                    first += x
                    second += x * x
            else:
                c = histograms[0, v]
                histograms[0, v] = c + 1
                count += 1.0
                first = raised(first, kind, facts, at, c, 1)
            p = i + 1 - side
            if good[p] == 0:
                continue
            lacking = next_size - (step + 1)
            if lacking <= 0:
                lacking = gap(histograms, one, count, first, second, rules, r)
                next_size = step + 1 + lacking
            if lacking > 0:
                good[p] = 0
            else:
                kept += 1
        if kind < MOMENTS:
            if size <= n:
                for v in range(size):
                    histograms[0, v] = 0
            else:
                for i in range(n):
                    histograms[0, values[i]] = 0
        if kept == 0:
            return 0
    return kept


@linked
def sides_hold(table, a, start, end, left, cut, ties, least, rules, histograms):
    """Whether both sides of a cut meet every requirement that is about a sensitive value."""
    if rules is None:
        return True
    n = np.int64(end - start)
    for r in range(rules.spec.shape[0]):
        if rules.spec[r, KIND] == DISTINCT:
            row, enough = rules.spec[r, ROW], rules.spec[r, P]
            if not enough_on_sides(table, a, start, end, cut, ties, row, enough, histograms):
                return False
            continue
        if rules.spec[r, SIZE] <= n or rules.spec[r, KIND] >= MOMENTS:
            if not sides(table, a, start, end, cut, ties, rules, r, histograms):
                return False
            continue
        order = np.empty(n, dtype=np.uint32)
        arrange_two(table, a, start, end, left, cut, ties, order)
        good = np.zeros(n + 1, dtype=np.uint8)
        good[left] = 1
        if keep_allowed(values_in(table, rules.spec[r, ROW], order), least, good, rules, r, histograms) == 0:
            return False
    return True


@linked
def keep_good(table, a, order, least, relaxed, checked, good, rules, histograms):
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
    if rules is not None:
        for r in range(rules.spec.shape[0] if checked else 0):
            if kept > 0:
                kept = keep_allowed(values_in(table, rules.spec[r, ROW], order), least, good, rules, r, histograms)
    return kept


@linked
def children_hold(table, a, start, end, first, count, tree, least, rules, room, checked):
    """Specialise to the children of a node: how many parts there are, or 0 where one would break a requirement.

    The room gets the child of every record, and the records of every child. Unless ``checked``, the size of the parts
    is all that is asked.
    """
    child, sizes = room.child, room.sizes
    split(table, a, start, end, first, count, tree, child, sizes)
    parts = 0
    for c in range(count):
        if 0 < sizes[c] < least:
            return 0
        parts += sizes[c] > 0
    if rules is not None:
        for r in range(rules.spec.shape[0] if checked else 0):
            if rules.spec[r, KIND] == DISTINCT:
                row, enough = rules.spec[r, ROW], rules.spec[r, P]
                if not enough_in_parts(table, row, start, count, enough, child, sizes, room.order, room.histograms):
                    return 0
            elif not _parts_hold(table, start, end, count, rules, r, child, sizes):
                return 0
    return parts


@linked
def _parts_hold(table, start, end, count, rules, r, child, sizes):
    """Whether every child that has records meets a requirement."""
    row, wide = rules.spec[r, ROW], rules.spec[r, SIZE] if rules.spec[r, KIND] < MOMENTS else 1
    tally = Tally(np.zeros((count + 1, wide), dtype=np.int64), np.zeros((count, 3)))
    if rules.spec[r, KIND] >= MOMENTS:
        for i in range(start, end):
            add_number(rules.facts, rules.spec[r, FACTS], tally.sums, child[i - start], np.uint64(table[row, i]), 1)
    else:
        # Counted first and summed up after: on a census, 1.4 times as fast as adding each record.
        for i in range(start, end):
            tally.histograms[child[i - start], np.uint64(table[row, i])] += 1
        for c in range(count):
            n, tally.sums[c, 1] = summary(tally.histograms, c, rules, r)
            tally.sums[c, 0] = n
    good = True
    for c in range(count):
        good = good and (sizes[c] == 0 or lacks(rules, r, tally, np.int64(c)) == 0)
    return good
