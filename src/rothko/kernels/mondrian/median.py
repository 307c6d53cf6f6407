"""The Median criterion: the widest attribute, cut at its median.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 2.2. To the letter, the left side has the values up to the
median (of an even number of records the lower one), and a line has no other cut. Ours takes the nearer end of the
median's run, and where requirements about sensitive values do not hold there, looks for another place.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import linked
from rothko.kernels.boxes import TREE, children_between, width_of
from rothko.kernels.mondrian.allowed import children_hold, keep_good, sides_hold
from rothko.kernels.mondrian.arrange import sorted_along
from rothko.kernels.mondrian.nodes import code_of


@linked
def _select(table, a, start, end, low, high, rank, counts):
    """The code at ``rank`` in sorted order, how many are smaller, how many are equal.

    Radix selection: histogram the range, keep the bucket that holds the rank, repeat. At most
    three passes over a node however many distinct values the line has, and no sort.
    """
    buckets = max(32, min(np.int64(end - start), counts.size - 1))
    below = 0
    while True:
        span = high - low + 1
        shift = 0
        while (span >> shift) >= buckets:
            shift += 1
        for b in range((span >> shift) + 1):
            counts[b] = 0
        for i in range(start, end):
            v = np.int64(table[a, i])
            if low <= v <= high:
                counts[(v - low) >> shift] += 1
        b = 0
        while below + counts[b] <= rank:
            below += counts[b]
            b += 1
        if shift == 0:
            return low + b, below, np.int64(counts[b])
        low = low + (b << shift)
        high = min(high, low + (1 << shift) - 1)


@linked
def _next_code(table, a, start, end, code):
    """The smallest code above ``code``."""
    best = np.int32(2147483647)
    for i in range(start, end):
        v = table[a, i]
        if v > code:
            best = min(best, v)
    return np.int64(best)


@linked
def _scan(table, a, start, end, low, high, least, relaxed, rules, histograms):
    """The allowable cut nearest the median among all of them, or 0 records on the left."""
    n = np.int64(end - start)
    order = sorted_along(table, a, start, end, low, high)
    good = np.zeros(n + 1, dtype=np.uint8)
    if keep_good(table, a, order, least, relaxed, True, good, rules, histograms) == 0:
        return np.int64(0), np.int64(0), np.int64(0)
    best = np.int64(0)
    for p in range(least, n - least + 1):
        if good[p] == 1 and (best == 0 or abs(2 * p - n) < abs(2 * best - n)):
            best = p
    cut = np.int64(table[a, order[best]])
    ties = np.int64(0)  # records before the cut that share its code
    while ties < best and table[a, order[best - 1 - ties]] == cut:
        ties += 1
    return best, cut, ties


@linked
def _cut_after_median(table, a, start, end, low, high, least, rules, room):
    """The cut after the median, or 0 records on the left where it is not allowable."""
    n, none = np.int64(end - start), np.int64(0)
    median, below, equal = _select(table, a, start, end, low, high, (n - 1) // 2, room.counts)
    left, cut = below + equal, median + 1
    if left < least or n - left < least:
        return none, none, none
    if not sides_hold(table, a, start, end, left, cut, none, least, rules, room.histograms):
        return none, none, none
    return left, cut, none


@linked
def cut_line(table, a, start, end, low, high, missing, least, relaxed, letter, rules, room):
    """The allowable cut of an ordered or nominal line: (records on the left, cut, equal codes that go left).

    Missing is split from present where that is allowable, since together they publish nothing;
    otherwise the cut nearest the median, or to the ``letter`` the one after it.
    """
    n = np.int64(end - start)
    none = np.int64(0)  # a number of its own type: a plain 0 is another, for which all below is compiled again
    if high == missing:
        left = np.int64(0)
        for i in range(start, end):
            left += table[a, i] != missing
        if (
            left >= least
            and n - left >= least
            and sides_hold(table, a, start, end, left, high, none, least, rules, room.histograms)
        ):
            return left, high, none
    if letter:
        return _cut_after_median(table, a, start, end, low, high, least, rules, room)
    median, below, equal = _select(table, a, start, end, low, high, n // 2, room.counts)
    if relaxed:
        left, cut, ties = n // 2, median, n // 2 - below
    else:
        # The cuts next to the median are the only ones to try for the size: any other leaves
        # still fewer records on its smaller side.
        lower, upper = below, below + equal
        lower_fits, upper_fits = lower >= least, n - upper >= least
        if not (lower_fits or upper_fits):
            return none, none, none
        ties = none
        if lower_fits and (not upper_fits or n - 2 * lower <= 2 * upper - n):
            left, cut = lower, median
        else:
            left, cut = upper, _next_code(table, a, start, end, median)
    if rules is None or sides_hold(table, a, start, end, left, cut, ties, least, rules, room.histograms):
        return left, cut, ties
    return _scan(table, a, start, end, low, high, least, relaxed, rules, room.histograms)


@linked
def choose(table, start, end, low, high, node, maps, maps_at, lines, least, relaxed, letter, rules, room):
    """The widest attribute that can be cut: (line or −1, records on the left, cut, equal codes that go left)."""
    none, width = np.int64(0), room.width
    for a in range(lines.spec.shape[0]):
        bottom, top = np.int64(low[node, a]), np.int64(high[node, a])
        bottom, top = code_of(maps, maps_at, node, a, bottom), code_of(maps, maps_at, node, a, top)
        width[a] = width_of(lines, a, bottom, top)
    while True:
        a = np.int64(np.argmax(width))
        if width[a] <= 0.0:
            return np.int64(-1), none, none, none
        width[a] = 0.0
        bottom, top = np.int64(low[node, a]), np.int64(high[node, a])
        if lines.spec[a, 0] == TREE:
            first, count = children_between(lines, a, bottom, top)
            if children_hold(table, a, start, end, first, count, lines.tree, least, rules, room, True):
                return a, none, none, none
        else:
            missing = top if code_of(maps, maps_at, node, a, top) == lines.spec[a, 2] else np.int64(-1)
            left, cut, ties = cut_line(table, a, start, end, bottom, top, missing, least, relaxed, letter, rules, room)
            if left > 0:
                return a, left, cut, ties
