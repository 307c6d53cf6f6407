"""Requirements over additive statistics, in the loops of the cut search.

A group of records is the histogram of its sensitive value (a row of ``histograms``, zero when not in
use) and three numbers: for a histogram its size and one summary (values seen, count of the most
frequent one, or Σ c·log c); for moments n, Σx and Σx². The one question to it is :func:`gap`: how many
records must join at least before the requirement can hold, 0 when it does. A search passes over the
positions in between.

The loops below are written out for all kinds, and nothing in them is a function of its own: a call
counts references on every array that it is given, which made them 20 times slower.

A rule is a row of ``rules`` and, from its FACTS on, numbers in ``facts``. These are:

===============  ========================================================================================
DISTINCT         none; P is the number of values
SHARE            none; the most frequent value has at most P/Q of the records
RECURSIVE        none; r1 < P/Q · (r_l + … + r_m), DEPTH is l
ENTROPY          log l, the margin, l, and a table of c·log c
VARIANCE         the bound, and the deviation of each code (NaN: missing); DEPTH 1 where all are whole
SQUARED_ERROR    the same
CLOSE            how many records of the table each bin has, its parent in a tree (-1: none; parents come
                 first), and how far that is. At most P/Q; DEPTH is the longest distance, TOTAL the
                 records of the table
===============  ========================================================================================

The last row of ``histograms`` is room to work in. Comparisons are in whole numbers where the
definition is (see :mod:`rothko.privacy.requirement`), so that nothing depends on rounding.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled

# Columns of the table of rules.
KIND, ROW, SIZE, P, Q, DEPTH, TOTAL, FACTS = range(8)

DISTINCT, SHARE, RECURSIVE, ENTROPY, CLOSE, VARIANCE, SQUARED_ERROR = range(7)
MOMENTS = VARIANCE
"""Kinds from here on are about moments, those before it about a histogram."""

LOGARITHMS = 2048
"""How many values of c·log c are in a table; it stays in the cache."""
SAFE = 1e-6
"""How wrong a sum of c·log c that was kept by differences may be for each record, and more."""
ROUNDING = 2.0**-52
EXACT = 2.0**53
STRICT = 1 + 1e-9


_COUNTS = np.maximum(np.arange(LOGARITHMS, dtype=np.float64), 1.0)
logarithms = _COUNTS * np.log(_COUNTS)
"""c·log c for small c."""


@compiled
def summary(histograms, group, rules, r, facts):
    """Size and summary of the histogram of a group."""
    kind, at = rules[r, KIND], rules[r, FACTS]
    n, first = np.int64(0), 0.0
    for v in range(rules[r, SIZE]):
        c = histograms[group, v]
        n += c
        if kind == DISTINCT:
            first += c > 0
        elif kind == ENTROPY:
            if c > 1:
                first += facts[at + 3 + c] if c < LOGARITHMS else c * np.log(np.float64(c))
        else:
            first = max(first, np.float64(c))
    return n, first


@compiled
def sides(table, a, start, end, cut, ties, rules, r, facts, histograms):
    """Whether the records below a cut (and the first ``ties`` equal to it) and the others both meet a requirement.

    For a histogram that is not longer than the records are many; the longer ones go through :func:`keep_allowed`.
    """
    kind, row, at = rules[r, KIND], rules[r, ROW], rules[r, FACTS]
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
        if gap(histograms, np.int64(0), n, s, q, rules, r, facts) > 0:
            return False
        return gap(histograms, np.int64(1), n_right, s_right, q_right, rules, r, facts) == 0
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
            size, first = summary(histograms, side, rules, r, facts)
            good = gap(histograms, side, np.float64(size), first, 0.0, rules, r, facts) == 0
        for v in range(rules[r, SIZE]):
            histograms[side, v] = 0
    return good


@compiled
def keep_allowed(values, least, good, rules, r, facts, histograms):
    """Of the ``good`` positions keep those before which, and after which, a requirement holds; returns how many.

    One pass over the values from each end. Where a state says how many records it lacks, the positions up to there
    are not asked about.
    """
    kind, size, at = rules[r, KIND], rules[r, SIZE], rules[r, FACTS]
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
                if kind == DISTINCT:
                    first += c == 0
                elif kind == ENTROPY:
                    first += (facts[at + 4 + c] if c + 1 < LOGARITHMS else (c + 1) * np.log(np.float64(c + 1))) - (
                        facts[at + 3 + c] if c < LOGARITHMS else c * np.log(np.float64(c))
                    )
                else:
                    first = max(first, np.float64(c + 1))
            p = i + 1 - side
            if good[p] == 0:
                continue
            lacking = next_size - (step + 1)
            if lacking <= 0:
                lacking = gap(histograms, one, count, first, second, rules, r, facts)
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


@compiled
def gap(histograms, group, count, first, second, rules, r, facts):
    """The fewest records that must join a group before it can meet the requirement; 0 when it does now."""
    kind = rules[r, KIND]
    n = np.int64(count)
    p, q = rules[r, P], rules[r, Q]
    if kind == DISTINCT:
        return max(np.int64(0), p - np.int64(first))
    if kind == SHARE:
        lacking = np.int64(first) * q - n * p
        return np.int64(0) if lacking <= 0 else (lacking + p - 1) // p
    if kind == RECURSIVE:
        return _recursive_gap(histograms, group, n, np.int64(first), rules, r)
    if kind == ENTROPY:
        return _entropy_gap(histograms, group, n, first, rules, r, facts)
    if kind >= MOMENTS:
        product = count * second
        error = 0.0
        if rules[r, DEPTH] == 0 or product >= EXACT:
            loose = 4.0 if rules[r, DEPTH] == 1 and second < EXACT else 4.0 * (count + 4.0)
            error = loose * ROUNDING * product
        bound = facts[rules[r, FACTS]] * count * (1.0 - 2.0 * ROUNDING)  # 0.56 · 25 must not come out above 14
        if kind == VARIANCE:
            bound *= count
        return np.int64(0) if count > 0.0 and product - first * first - error >= bound else np.int64(1)
    return _distance_gap(histograms, group, n, rules, r, facts)


@compiled
def _recursive_gap(histograms, group, n, top, rules, r):
    """The sum of the rarer values grows by one with a record, and the most frequent value does not fall."""
    p, q, depth = rules[r, P], rules[r, Q], rules[r, DEPTH]
    wanted = top * q // p + 1
    # The l − 1 most frequent values have at most (l − 1)·r1 records, and at least r1 and one of each other.
    if n - (depth - 1) * top >= wanted:
        return np.int64(0)
    rest = n - top - (depth - 2)
    if rest < wanted:
        return wanted - rest
    best = histograms.shape[0] - 1
    kept = 0
    for v in range(rules[r, SIZE]):
        c = histograms[group, v]
        if c == 0 or (kept == depth - 1 and c <= histograms[best, kept - 1]):
            continue
        at = kept if kept < depth - 1 else kept - 1
        kept = min(kept + 1, depth - 1)
        while at > 0 and histograms[best, at - 1] < c:
            histograms[best, at] = histograms[best, at - 1]
            at -= 1
        histograms[best, at] = c
    rest = n
    for i in range(kept):
        rest -= histograms[best, i]
    return max(np.int64(0), wanted - rest)


@compiled
def _entropy_gap(histograms, group, n, kept, rules, r, facts):
    """Far from the bound the sum that was kept decides; near it, it is taken anew."""
    if n == 0:
        return np.int64(1)
    at = rules[r, FACTS]
    whole = np.log(np.float64(n)) - facts[at]
    room = whole - kept / n
    if room < -SAFE:
        return np.int64(1)
    if room > SAFE:
        return np.int64(0)
    _, sum_ = summary(histograms, group, rules, r, facts)
    values, least, most = 0, n, np.int64(0)
    for v in range(rules[r, SIZE]):
        c = histograms[group, v]
        if c > 0:
            values += 1
            least, most = min(least, c), max(most, c)
    if whole - sum_ / n >= facts[at + 1] or (least == most and values >= facts[at + 2]):
        return np.int64(0)
    return np.int64(1)


@compiled
def _distance_gap(histograms, group, n, rules, r, facts):
    """One of n + 1 records moves a share of 1/(n + 1) by no more than the longest distance.

    On a tree what must be moved over the road from a node to its parent is what the class has too much or too little
    of below the node. The three distances are three trees; see :mod:`rothko.privacy.closeness`.
    """
    if n == 0:
        return np.int64(1)
    p, q, depth, total = rules[r, P], rules[r, Q], rules[r, DEPTH], rules[r, TOTAL]
    size, at = rules[r, SIZE], rules[r, FACTS]
    extra = histograms.shape[0] - 1
    for v in range(size):
        histograms[extra, v] = histograms[group, v] * total - np.int64(facts[at + v]) * n
    moved = 0.0  # a sum of whole numbers: exact below 2^53
    for v in range(size - 1, -1, -1):
        below = histograms[extra, v]
        moved += facts[at + 2 * size + v] * abs(below)
        parent = np.int64(facts[at + size + v])
        if parent >= 0:
            histograms[extra, parent] += below
    full = np.float64(n) * np.float64(total) * np.float64(depth)
    if full < EXACT:
        whole = n * total * depth
        if np.int64(moved) <= whole // q * p + whole % q * p // q:
            return np.int64(0)
    elif moved * STRICT <= full * (p / q):
        return np.int64(0)
    over = (moved / full - p / q) * (1 - 1e-9)
    return max(np.int64(1), np.int64(over * n / (1.0 - over)) if over > 0.0 else np.int64(1))
