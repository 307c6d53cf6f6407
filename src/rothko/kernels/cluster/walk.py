"""All boxes by the levels of lines that may be worth opening: those whose k dearest records cost about as much today.

One line after the other takes each of its levels, and each of its nodes there; what cannot become a box any more is
left at once, so that most of them are never looked at. The levels of the first two lines make *parts* of that, which
know nothing of each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.boxes import TREE
from rothko.kernels.cluster import hull
from rothko.kernels.cluster.hull import KIND, begin, join_all, ncp, own


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


@linked
def _walk(ladder, tuples):
    d = ladder.node.shape[0]
    return Walk(
        np.empty((d + 1, tuples), dtype=np.int32),
        np.empty((d, tuples), dtype=np.int32),
        np.zeros(d + 1, dtype=np.int64),
        np.zeros(d + 1, dtype=np.int64),
        np.zeros(d, dtype=np.int64),
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
def boxes(lines, ladder, pool, k, reach, most, patience, first, top):
    """All boxes by the levels of lines whose k dearest records, times ``reach``, cost at least as much as in it.

    Parameters
    ----------
    most, patience
        So many tuples of boxes, and tuples that are looked at, at most.
    first, top
        The first level of each line, and how far they go: those of a part.

    Returns
    -------
    The boxes, whether they are all, and how many tuples were looked at.
    """
    found, whole, looked = boxes_of(own(lines), ladder, pool, k, reach, patience, room_for_found(most, k), first, top)
    # Not views, which would keep all that there was room for.
    return Found(found.cost.copy(), found.begin.copy(), found.tuples.copy()), whole, looked


@linked
def room_for_found(most, k):
    """Room for boxes of k records or more with so many tuples; what is not written takes no memory."""
    return Found(np.empty(most // k + 1, np.int64), np.empty(most // k + 2, np.int64), np.empty(most, np.int32))


@linked
def boxes_of(lines, ladder, pool, k, reach, patience, found, first_level, top):
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
    walk.many[0], ends[0], walk.level[0] = n, 0, first_level[0] - 1
    m, a, looked, whole = np.int64(0), 0, np.int64(0), True
    while a >= 0:
        if walk.at[a] == walk.nodes[a]:
            walk.level[a] += 1
            if walk.level[a] == top[a]:
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
            walk.many[a], walk.cost[a], walk.level[a] = last - first, costs, first_level[a] - 1
            walk.at[a], walk.nodes[a] = 0, 0
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
    return Found(cost[:m], ends[: m + 1], tuples[:room]), whole, looked


@compiled
def still_worth(found, pool, k, reach):
    """Those boxes that count at a lower reach, too."""
    cost, begin, tuples = found
    kept = np.zeros(cost.size, dtype=np.bool_)
    many = np.int64(0)
    for b in range(cost.size):
        kept[b] = _paid(pool, tuples, begin[b], begin[b + 1], k) * reach >= k * cost[b]
        if kept[b]:
            many += begin[b + 1] - begin[b]
    some = Found(cost[kept], np.zeros(kept.sum() + 1, np.int64), np.empty(many, np.int32))
    m, at = 0, np.int64(0)
    for b in range(cost.size):
        if kept[b]:
            for i in range(begin[b], begin[b + 1]):
                some.tuples[at] = tuples[i]
                at += 1
            m += 1
            some.begin[m] = at
    return some
