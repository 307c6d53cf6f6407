"""Classes by prices: what every record is worth is learned first, and boxes are opened where it pays.

The least loss of all partitions into boxes of k records is, relaxed, a linear program over boxes. Its dual gives every
record a price, so that no box has k records whose prices add up to more than they would cost in it, and the sum of all
prices is as large as it can be. That sum bounds the loss of every partition from below, and prices tell which
records share a box in a good one: those that pay for it.

*boxes*   all boxes, by the levels of lines, whose k dearest records cost at least about as much today
          (:mod:`rothko.kernels.cluster.walk`);
*sweep*   all prices rise a little, and every box whose k dearest records pay more than it costs lowers theirs (a
          projection on one constraint after the other). How much a box has lowered tells how large its part is
          in the relaxed solution;
*dive*    the boxes that lowered most become classes of the k records that pay most, and of all that would pay more
          than it costs; these leave, the prices of the others are swept anew, and so on.

All is in whole numbers, so nothing depends on the order of sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.cluster import hull
from rothko.kernels.cluster.greedy import room_for_entries
from rothko.kernels.cluster.hull import begin, join_all, ncp, own
from rothko.kernels.order import order_of
from rothko.kernels.rules import clear, count, lacking, room_for
from rothko.kernels.rules import own as own_rules

FADE = 4
"""How much a box has lowered counts a fourth after each round of classes."""
GOOD = 0.97
"""Boxes that come after the first of a round must be paid to this share by those who are left."""
IN_VAIN = 8
"""So many rounds in a row without a class end it."""
ENDLESS = np.int64(1) << 62
"""More than any classes lose."""


@compiled
def costs(lines, x, classes, m):
    """NCP of m classes in whole numbers, given the places of their tuples, one class after the other."""
    lines = own(lines)
    box, found = hull.room(lines, 1), np.zeros(m, dtype=np.int64)
    for i in range(classes.size):
        if i == 0 or classes[i] != classes[i - 1]:
            begin(lines, box, 0, x, i)
        else:
            join_all(lines, box, 0, x, i)
        if i + 1 == classes.size or classes[i + 1] != classes[i]:
            found[classes[i]] = ncp(lines, box, 0)
    return found


@linked
def _select(tuples, low, high, price, left, k):
    """Bring those tuples to the front that have the k dearest records, the cheapest of them last.

    Of equal ones the first in the pool is dearer.
    """
    have = np.int64(0)
    while high - low > 1:
        a, b, c = tuples[low], tuples[(low + high) >> 1], tuples[high - 1]
        # The middle one of three.
        if (price[a] > price[b]) | ((price[a] == price[b]) & (a < b)):
            a, b = b, a
        if (price[c] > price[b]) | ((price[c] == price[b]) & (c < b)):
            c = b
        pivot = c if (price[c] > price[a]) | ((price[c] == price[a]) & (c < a)) else a
        worth, i, j, dearer = price[pivot], low, high - 1, np.int64(0)
        while i <= j:
            t = tuples[i]
            if (price[t] > worth) | ((price[t] == worth) & (t <= pivot)):
                dearer += left[t]
                i += 1
            else:
                tuples[i] = tuples[j]
                tuples[j] = t
                j -= 1
        if have + dearer < k:
            have += dearer
            low = i
        elif i == high:
            # The pivot is the last: take it out, so that the rest gets shorter.
            i = low
            while tuples[i] != pivot:
                i += 1
            tuples[i] = tuples[high - 1]
            tuples[high - 1] = pivot
            if have + dearer - left[pivot] < k:
                return
            high -= 1
        else:
            high = i


class Sweep(NamedTuple):
    """What is kept between sweeps."""

    ends: NDArray[np.int64]
    """Where the tuples of each box end that have records left,"""
    order: NDArray[np.int64]
    """The boxes that have k records left, one after the other."""
    due: NDArray[np.int64]
    """How far all prices must have risen before a box may ask for more than it costs."""
    lowered: NDArray[np.int64]
    """By how much each box has lowered prices."""
    risen: NDArray[np.int64]
    """By how much prices have risen (one number), and how many boxes there are."""


@linked
def _front(found, b, ends, left):
    """Bring the tuples of a box to the front of which something is left: how many records there are."""
    tuples, kept, have = found.tuples, found.begin[b], np.int64(0)
    for i in range(found.begin[b], ends[b]):
        t = tuples[i]
        if left[t] > 0:
            tuples[i] = tuples[kept]
            tuples[kept] = t
            kept += 1
            have += left[t]
    ends[b] = kept
    return have


@linked
def sweep(found, left, price, k, rise, state):
    """Raise all prices, and let every box of which k records pay more than it costs lower theirs."""
    ends, order, due, lowered, risen = state
    tuples = found.tuples
    for t in range(price.size):
        price[t] += rise
    risen[0] += rise
    kept = np.int64(0)
    for i in range(risen[1]):
        b = order[i]
        if due[b] >= risen[0]:
            order[kept] = b
            kept += 1
            continue
        if _front(found, b, ends, left) < k:
            continue
        order[kept] = b
        kept += 1
        low = found.begin[b]
        _select(tuples, low, ends[b], price, left, k)
        have, total, j = np.int64(0), np.int64(0), low
        while have < k:
            some = min(left[tuples[j]], k - have)
            total += some * price[tuples[j]]
            have += some
            j += 1
        above = total // k - found.cost[b]
        due[b] = risen[0] - above if above < 0 else risen[0]
        if above <= 0:
            continue
        lowered[b] += above
        have, j = np.int64(0), low
        while have < k:
            t = tuples[j]
            some = min(left[t], k - have)
            price[t] -= above * some // left[t]
            have += some
            j += 1
    risen[1] = kept


@linked
def _pays(found, b, state, left, price, k):
    """How many records a class of box ``b`` would have, and what they pay: k, and those that pay more than it costs."""
    have, total = _front(found, b, state.ends, left), np.int64(0)
    if have < k:
        return np.int64(0), total
    _select(found.tuples, found.begin[b], state.ends[b], price, left, k)
    have = np.int64(0)
    for i in range(found.begin[b], state.ends[b]):
        t = found.tuples[i]
        some = left[t] if price[t] > found.cost[b] else max(min(left[t], k - have), 0)
        if some == 0:
            continue
        have += some
        total += some * price[t]
    return have, total


@linked
def _open(found, b, state, left, price, k, values, rules, tally, entries, used, c):
    """Make a class of box ``b``, where its rules hold: how many entries there are."""
    have, at = np.int64(0), used
    if rules is not None:
        clear(rules, tally)
    for i in range(found.begin[b], state.ends[b]):
        t = found.tuples[i]
        some = left[t] if price[t] > found.cost[b] else max(min(left[t], k - have), 0)
        if some == 0:
            continue
        have += some
        if rules is not None:
            count(rules, tally, values, t, some)
        entries.tuples[at], entries.classes[at], entries.amounts[at] = t, c, some
        at += 1
    if lacking(rules, tally) >= 0:
        return used
    for i in range(used, at):
        left[entries.tuples[i]] -= entries.amounts[i]
    return at


@compiled
def dive(found, pool, k, rules, order, sweeps, rise, fall, again, share, fair):
    """Learn prices, and open boxes, those first that lower most.

    Parameters
    ----------
    order
        The boxes in the order in which they are asked.
    sweeps, rise, fall
        How often prices rise at first, by how much in the beginning, and what each rise is of the one before.
    again
        How many sweeps follow each round.
    share
        Which part of the records that are left a round brings to classes.
    fair
        To which share a box must be paid: records that pay less are left, for the classes of others.

    Returns
    -------
    Tuples, classes (-1: none) and amounts; how many classes there are; the prices after the first sweeps.
    """
    return opened_by_prices(found, pool, k, own_rules(rules), order, sweeps, rise, fall, again, share, fair, ENDLESS)


@linked
def opened_by_prices(found, pool, k, rules, order, sweeps, rise, fall, again, share, fair, enough):
    """The same, for kernels; no classes where prices show that none of these boxes lose less than ``enough``.

    After each sweep no box has k records that pay more than it costs: all of them together pay no more than any classes
    lose.
    """
    n, m, left, price = pool.amounts.size, found.cost.size, pool.amounts.copy(), pool.price.copy()
    tally, records = room_for(rules, 1), np.int64(0)
    for t in range(n):
        records += left[t]
    state = Sweep(
        found.begin[1:].copy(), order.copy(), np.full(m, -1, dtype=np.int64), np.zeros(m, dtype=np.int64),
        np.array([0, m], dtype=np.int64),
    )  # fmt: skip
    step = float(rise)
    for i in range(sweeps):
        if i == sweeps - max(sweeps // 3, 1):
            state.lowered[:] = 0
        sweep(found, left, price, k, np.int64(step), state)
        step *= fall
        paid = np.int64(0)
        for t in range(n):
            paid += left[t] * price[t]
        if paid >= enough:
            state.risen[1] = 0
            break
    learned = price.copy()
    entries, used, classes, vain = room_for_entries(records + n), np.int64(0), np.int64(0), 0
    while state.risen[1] > 0 and vain < IN_VAIN:
        many = state.risen[1]
        lowered = np.empty(many, dtype=np.int64)
        for i in range(many):
            lowered[i] = state.lowered[state.order[i]]
        opened, taken = 0, np.int64(0)
        for i in order_of(lowered, many, True):
            b = state.order[i]
            if lowered[i] == 0 or (opened > 0 and taken >= share * records):
                break
            have, paid = _pays(found, b, state, left, price, k)
            if have == 0 or paid < (max(GOOD, fair) if opened > 0 else fair) * found.cost[b] * have:
                continue
            before = used
            used = _open(found, b, state, left, price, k, pool.values, rules, tally, entries, used, classes)
            if used > before:
                opened, taken, classes = opened + 1, taken + have, classes + 1
        records -= taken
        vain = 0 if opened > 0 else vain + 1
        for b in range(m):
            state.lowered[b] //= FADE
        for _ in range(again):
            sweep(found, left, price, k, np.int64(step), state)
    for t in range(n):
        if left[t] > 0:
            entries.tuples[used], entries.classes[used], entries.amounts[used] = t, -1, left[t]
            used += 1
    return (
        entries.tuples[:used].copy(), entries.classes[:used].copy(), entries.amounts[:used].copy(), classes, learned,
    )  # fmt: skip
