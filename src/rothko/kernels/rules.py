"""Requirements over additive statistics, in the loops of the cut search.

A group of records is the histogram of its sensitive value (a row of ``histograms``, zero when not in
use) and three numbers: for a histogram its size and one summary (values seen, count of the most
frequent one, or Σ c·log c); for moments n, Σx and Σx². The one question to it is :func:`gap`: how many
records must join at least before the requirement can hold, 0 when it does. A search passes over the
positions in between.

A group to which records are added one after the other is a row for each rule of a :class:`Tally`. What one record, or
several alike, add is :func:`add`, which is written out in its callers: as a function of its own it would count
references on every array that it is given, which made the loops 20 times slower.

A rule is a row of ``spec`` and, from its FACTS on, numbers in ``facts``. These are:

===============  ========================================================================================
DISTINCT         none; P is the number of values. Counts are those above what the third number of the sums says
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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import inlined, linked

# Columns of ``spec``.
KIND, ROW, SIZE, P, Q, DEPTH, TOTAL, FACTS = range(8)

DISTINCT, SHARE, RECURSIVE, ENTROPY, CLOSE, VARIANCE, SQUARED_ERROR = range(7)
MOMENTS = VARIANCE
"""Kinds from here on are about moments, those before it about a histogram."""

BEYOND = 2.0**20
"""By so much counts of different values are raised when a tally begins anew: those from before are below, and count for
nothing. There may be as many values as people, and to clear them all would take longer than to count. No class has
more records of one value; if it had, one that is there already would not count again."""
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


class Rules(NamedTuple):
    """What is asked of sensitive values."""

    spec: NDArray[np.int64]
    facts: NDArray[np.float64]

    @property
    def asked(self) -> Rules | None:
        """What kernels take: None where nothing is asked, and then nothing of this file is compiled."""
        return self if len(self.spec) else None


class Tally(NamedTuple):
    """What the records of groups add up to; the last row of ``histograms`` is room to work in."""

    histograms: NDArray[np.int64]
    sums: NDArray[np.float64]
    """Three numbers for each rule of each group."""


@linked
def widest(rules):
    """How many values the longest histogram has."""
    most = np.int64(1)
    if rules is not None:
        for r in range(rules.spec.shape[0]):
            if rules.spec[r, KIND] < MOMENTS:
                most = max(most, rules.spec[r, SIZE])
    return most


@linked
def widest_but_distinct(rules):
    """The same without those of which different values are all that counts."""
    most = np.int64(1)
    if rules is not None:
        for r in range(rules.spec.shape[0]):
            if DISTINCT < rules.spec[r, KIND] < MOMENTS:
                most = max(most, rules.spec[r, SIZE])
    return most


@linked
def room_for(rules, groups):
    """The tally of some groups without records, group by group a row for each rule."""
    if rules is None:
        return None
    count = groups * rules.spec.shape[0]
    return Tally(np.zeros((count + 1, widest(rules)), dtype=np.int64), np.zeros((count, 3)))


@linked
def clear(rules, tally):
    """Begin a tally of one group anew."""
    if rules is None:
        return
    for r in range(rules.spec.shape[0]):
        tally.sums[r, 0] = tally.sums[r, 1] = 0.0
        if rules.spec[r, KIND] == DISTINCT:
            tally.sums[r, 2] += BEYOND
            continue
        tally.sums[r, 2] = 0.0
        if rules.spec[r, KIND] < MOMENTS:
            for v in range(rules.spec[r, SIZE]):
                tally.histograms[r, v] = 0


@linked
def own(rules):
    """A copy, for a thread: references on arrays that threads share are counted one after the other."""
    if rules is None:
        return None
    return Rules(rules.spec.copy(), rules.facts.copy())


@inlined
def entropy_term(facts, at, c):
    """The part of a count in an entropy: c · log c."""
    return facts[at + 3 + c] if c < LOGARITHMS else c * np.log(np.float64(c))


@inlined
def raised(first, kind, facts, at, c, amount):
    """What the summary of a histogram becomes where so many records join the ``c`` that have their value."""
    if kind == DISTINCT:
        first += c == 0
    elif kind == ENTROPY:
        first += entropy_term(facts, at, c + amount) - entropy_term(facts, at, c)
    else:
        first = max(first, np.float64(c + amount))
    return first


@inlined
def add_number(facts, at, sums, row, v, amount):
    """Add so many records with a value to moments; what is missing counts for nothing."""
    x = facts[at + 1 + v]
    if x == x:
        sums[row, 0] += amount
        sums[row, 1] += amount * x
        sums[row, 2] += amount * x * x


@inlined
def add(rules, r, tally, row, v, amount):
    """Add so many records with a value to a row of a tally."""
    kind, at = rules.spec[r, KIND], rules.spec[r, FACTS]
    sums = tally.sums
    if kind >= MOMENTS:
        add_number(rules.facts, at, sums, row, v, amount)
    else:
        none = np.int64(sums[row, 2])
        c = max(tally.histograms[row, v] - none, 0)
        tally.histograms[row, v] = none + c + amount
        sums[row, 0] += amount
        sums[row, 1] = raised(sums[row, 1], kind, rules.facts, at, c, amount)


@linked
def count(rules, tally, values, t, amount):
    """Add so many records of tuple ``t`` to a tally of one group."""
    if rules is None:
        return
    for r in range(rules.spec.shape[0]):
        add(rules, r, tally, r, np.int64(values[rules.spec[r, ROW], t]), amount)


@linked
def lacking(rules, tally):
    """The first rule that does not hold; -1 where all do."""
    if rules is None:
        return np.int64(-1)
    for r in range(rules.spec.shape[0]):
        if lacks(rules, r, tally, np.int64(r)) > 0:
            return np.int64(r)
    return np.int64(-1)


@inlined
def lacks(rules, r, tally, row):
    """The fewest records that must join the group of a row before it can meet the requirement; 0 when it does now."""
    return gap(tally.histograms, row, tally.sums[row, 0], tally.sums[row, 1], tally.sums[row, 2], rules, r)


@linked
def summary(histograms, group, rules, r):
    """Size and summary of the histogram of a group."""
    kind, at = rules.spec[r, KIND], rules.spec[r, FACTS]
    n, first = np.int64(0), 0.0
    for v in range(rules.spec[r, SIZE]):
        c = histograms[group, v]
        n += c
        if kind == DISTINCT:
            first += c > 0
        elif kind == ENTROPY:
            first += entropy_term(rules.facts, at, c)
        else:
            first = max(first, np.float64(c))
    return n, first


@linked
def gap(histograms, group, count, first, second, rules, r):
    """The fewest records that must join a group before it can meet the requirement; 0 when it does now."""
    kind = rules.spec[r, KIND]
    n = np.int64(count)
    p, q = rules.spec[r, P], rules.spec[r, Q]
    if kind == DISTINCT:
        return max(np.int64(0), p - np.int64(first))
    if kind == SHARE:
        lacking = np.int64(first) * q - n * p
        return np.int64(0) if lacking <= 0 else (lacking + p - 1) // p
    if kind == RECURSIVE:
        return _recursive_gap(histograms, group, n, np.int64(first), rules, r)
    if kind == ENTROPY:
        return _entropy_gap(histograms, group, n, first, rules, r)
    if kind >= MOMENTS:
        product = count * second
        error = 0.0
        if rules.spec[r, DEPTH] == 0 or product >= EXACT:
            loose = 4.0 if rules.spec[r, DEPTH] == 1 and second < EXACT else 4.0 * (count + 4.0)
            error = loose * ROUNDING * product
        # 0.56 · 25 must not come out above 14.
        bound = rules.facts[rules.spec[r, FACTS]] * count * (1.0 - 2.0 * ROUNDING)
        if kind == VARIANCE:
            bound *= count
        return np.int64(0) if count > 0.0 and product - first * first - error >= bound else np.int64(1)
    return _distance_gap(histograms, group, n, rules, r)


@linked
def _recursive_gap(histograms, group, n, top, rules, r):
    """The sum of the rarer values grows by one with a record, and the most frequent value does not fall."""
    p, q, depth = rules.spec[r, P], rules.spec[r, Q], rules.spec[r, DEPTH]
    wanted = top * q // p + 1
    # The l − 1 most frequent values have at most (l − 1)·r1 records, and at least r1 and one of each other.
    if n - (depth - 1) * top >= wanted:
        return np.int64(0)
    rest = n - top - (depth - 2)
    if rest < wanted:
        return wanted - rest
    best = histograms.shape[0] - 1
    kept = 0
    for v in range(rules.spec[r, SIZE]):
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


@linked
def _entropy_gap(histograms, group, n, kept, rules, r):
    """Far from the bound the sum that was kept decides; near it, it is taken anew."""
    if n == 0:
        return np.int64(1)
    at = rules.spec[r, FACTS]
    whole = np.log(np.float64(n)) - rules.facts[at]
    room = whole - kept / n
    if room < -SAFE:
        return np.int64(1)
    if room > SAFE:
        return np.int64(0)
    _, sum_ = summary(histograms, group, rules, r)
    values, least, most = 0, n, np.int64(0)
    for v in range(rules.spec[r, SIZE]):
        c = histograms[group, v]
        if c > 0:
            values += 1
            least, most = min(least, c), max(most, c)
    if whole - sum_ / n >= rules.facts[at + 1] or (least == most and values >= rules.facts[at + 2]):
        return np.int64(0)
    return np.int64(1)


@linked
def _distance_gap(histograms, group, n, rules, r):
    """One of n + 1 records moves a share of 1/(n + 1) by no more than the longest distance.

    On a tree what must be moved over the road from a node to its parent is what the class has too much or too little
    of below the node. The three distances are three trees; see :mod:`rothko.privacy.closeness`.
    """
    if n == 0:
        return np.int64(1)
    p, q, depth, total = rules.spec[r, P], rules.spec[r, Q], rules.spec[r, DEPTH], rules.spec[r, TOTAL]
    size, at = rules.spec[r, SIZE], rules.spec[r, FACTS]
    extra = histograms.shape[0] - 1
    for v in range(size):
        histograms[extra, v] = histograms[group, v] * total - np.int64(rules.facts[at + v]) * n
    moved = 0.0  # a sum of whole numbers: exact below 2^53
    for v in range(size - 1, -1, -1):
        below = histograms[extra, v]
        moved += rules.facts[at + 2 * size + v] * abs(below)
        parent = np.int64(rules.facts[at + size + v])
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
