"""Classes by prices: what every record is worth is learned first, and boxes are opened where it pays.

The least loss of all partitions into boxes of k records is, relaxed, a linear program over boxes. Its dual gives every
record a price, so that no box has k records whose prices add up to more than they would cost in it, and the sum of all
prices is as large as it can be. That sum bounds the loss of every partition from below, and prices tell which
records share a box in a good one: those that pay for it.

*boxes*   all boxes, by the levels of lines, whose k dearest records cost at least about as much today;
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
from rothko.kernels.boxes import TREE
from rothko.kernels.cluster import hull
from rothko.kernels.cluster.greedy import room_for_entries
from rothko.kernels.cluster.hull import KIND, begin, join_all, ncp, own
from rothko.kernels.order import order_of
from rothko.kernels.rules import clear, count, lacking, room_for
from rothko.kernels.rules import own as own_rules

FADE = 4
"""How much a box has lowered counts a fourth after each round of classes."""
GOOD = 0.97
"""Boxes that come after the first of a round must be paid to this share by those who are left."""
IN_VAIN = 8
"""So many rounds in a row without a class end it."""


class Ladder(NamedTuple):
    """The levels of all lines: at each every code has a node."""

    node: NDArray[np.int32]
    """(lines, levels, codes)."""
    cost: NDArray[np.int64]
    """(lines, nodes): NCP in whole numbers."""
    top: NDArray[np.int64]
    """How many levels each line has."""
    lines: NDArray[np.int64]
    """Which line each is: they come in an order of their own, and so do the codes of a pool."""


class Pool(NamedTuple):
    """Tuples that are to be in classes, those that cost most first."""

    codes: NDArray[np.int32]
    """(lines, tuples)."""
    x: NDArray[np.int32]
    """(lines, tuples): their places in whole numbers."""
    amounts: NDArray[np.int64]
    price: NDArray[np.int64]
    """What a record of each costs; falling."""
    values: NDArray[np.int32]
    """(columns, tuples): what rules look at."""


class Found(NamedTuple):
    """Boxes that could be opened."""

    cost: NDArray[np.int64]
    begin: NDArray[np.int64]
    """Where the tuples of each begin, and their number at the end."""
    tuples: NDArray[np.int32]


class Walk(NamedTuple):
    """Where a walk through all boxes is: for each line a level, and its nodes one after the other."""

    lists: NDArray[np.int32]
    """(lines + 1, tuples): those within the nodes of all lines before,"""
    sorted: NDArray[np.int32]
    """and the same by the node of the line."""
    many: NDArray[np.int64]
    cost: NDArray[np.int64]
    level: NDArray[np.int64]
    at: NDArray[np.int64]
    """The next node,"""
    nodes: NDArray[np.int64]
    """of so many,"""
    ends: NDArray[np.int64]
    """(lines, tuples + 1): and where each begins."""
    tally: NDArray[np.int64]
    """For each node, how many tuples there are, then where the next one goes."""
    seen: NDArray[np.int64]


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
def _walk(ladder, tuples):
    d = ladder.node.shape[0]
    return Walk(
        np.empty((d + 1, tuples), dtype=np.int32),
        np.empty((d, tuples), dtype=np.int32),
        np.zeros(d + 1, dtype=np.int64),
        np.zeros(d + 1, dtype=np.int64),
        np.full(d, -1, dtype=np.int64),
        np.zeros(d, dtype=np.int64),
        np.zeros(d, dtype=np.int64),
        np.zeros((d, tuples + 1), dtype=np.int64),
        np.zeros(ladder.cost.shape[1], dtype=np.int64),
        np.empty(tuples, dtype=np.int64),
    )


@linked
def _deal(ladder, codes, walk, a):
    """Sort the tuples of line ``a`` by their nodes at its level, in the order of the first of each."""
    node, lists, tally, seen = ladder.node, walk.lists, walk.tally, walk.seen
    j, n, nodes = walk.level[a], walk.many[a], 0
    for i in range(n):
        v = node[a, j, codes[a, lists[a, i]]]
        if tally[v] == 0:
            seen[nodes] = v
            nodes += 1
        tally[v] += 1
    at = np.int64(0)
    for q in range(nodes):
        walk.ends[a, q] = at
        many = tally[seen[q]]
        tally[seen[q]] = at
        at += many
    walk.ends[a, nodes] = at
    for i in range(n):
        t = lists[a, i]
        v = node[a, j, codes[a, t]]
        walk.sorted[a, tally[v]] = t
        tally[v] += 1
    for q in range(nodes):
        tally[seen[q]] = 0
    walk.at[a], walk.nodes[a] = 0, nodes


@linked
def _loose(ladder, codes, walk, a, first, last):
    """Whether some tuples are together at a lower level of a line up to ``a``: their box is found there."""
    for b in range(a + 1):
        j = walk.level[b] - 1
        if j < 0:
            continue
        v, i = ladder.node[b, j, codes[b, walk.sorted[a, first]]], first + 1
        while i < last and ladder.node[b, j, codes[b, walk.sorted[a, i]]] == v:
            i += 1
        if i == last:
            return True
    return False


@linked
def _paid(pool, tuples, first, last, k):
    """What the k dearest records cost, of tuples that are in the order of their prices; -1 where there are fewer."""
    have, total = np.int64(0), np.int64(0)
    for i in range(first, last):
        some = min(pool.amounts[tuples[i]], k - have)
        have += some
        total += some * pool.price[tuples[i]]
        if have == k:
            return total
    return np.int64(-1)


@compiled
def boxes(lines, ladder, pool, k, reach, most, patience):
    """All boxes by the levels of lines whose k dearest records, times ``reach``, cost at least as much as in it.

    Parameters
    ----------
    most, patience
        So many tuples of boxes, and tuples that are looked at, at most.

    Returns
    -------
    The boxes, and whether they are all.
    """
    return boxes_of(own(lines), ladder, pool, k, reach, patience, room_for_found(most, k))


@linked
def room_for_found(most, k):
    """Room for boxes of k records or more with so many tuples; what is not written takes no memory."""
    return Found(np.empty(most // k + 1, np.int64), np.empty(most // k + 2, np.int64), np.empty(most, np.int32))


@linked
def boxes_of(lines, ladder, pool, k, reach, patience, found):
    """The same in a room for what is found."""
    d, n = pool.codes.shape
    walk = _walk(ladder, n)
    cost, ends, tuples = found
    most = tuples.size
    box, room, exact = hull.room(lines, 1), np.int64(0), True
    for a in range(d):
        exact &= lines.spec[a, KIND] == TREE
    for t in range(n):
        walk.lists[0, t] = t
    walk.many[0], ends[0] = n, 0
    m, a, looked, whole = np.int64(0), 0, np.int64(0), True
    while a >= 0:
        if walk.at[a] == walk.nodes[a]:
            walk.level[a] += 1
            if walk.level[a] == ladder.top[a]:
                a -= 1
                continue
            _deal(ladder, pool.codes, walk, a)
            looked += walk.many[a]
            if looked > patience:
                whole = False
                break
            continue
        first, last = walk.ends[a, walk.at[a]], walk.ends[a, walk.at[a] + 1]
        walk.at[a] += 1
        v = ladder.node[a, walk.level[a], pool.codes[a, walk.sorted[a, first]]]
        costs = walk.cost[a] + ladder.cost[a, v]
        paid = _paid(pool, walk.sorted[a], first, last, k)
        if paid < 0 or paid * reach < k * costs or _loose(ladder, pool.codes, walk, a, first, last):
            continue
        if a < d - 1:
            for i in range(first, last):
                walk.lists[a + 1, i - first] = walk.sorted[a, i]
            a += 1
            walk.many[a], walk.cost[a], walk.level[a], walk.at[a], walk.nodes[a] = last - first, costs, -1, 0, 0
            continue
        if room + last - first > most or m == cost.size:
            whole = False
            break
        for i in range(first, last):
            tuples[room] = walk.sorted[a, i]
            room += 1
        if not exact:
            begin(lines, box, 0, pool.x, walk.sorted[a, first])
            for i in range(first + 1, last):
                join_all(lines, box, 0, pool.x, walk.sorted[a, i])
            costs = ncp(lines, box, 0)
        cost[m] = costs
        m += 1
        ends[m] = room
    return Found(cost[:m], ends[: m + 1], tuples[:room]), whole


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
    return opened_by_prices(found, pool, k, own_rules(rules), order, sweeps, rise, fall, again, share, fair)


@linked
def opened_by_prices(found, pool, k, rules, order, sweeps, rise, fall, again, share, fair):
    """The same, for kernels."""
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
