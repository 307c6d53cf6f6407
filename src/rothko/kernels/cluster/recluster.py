"""Some near classes are taken apart and grouped anew (:mod:`rothko.kernels.cluster.greedy`), in one of its ways at
random; what costs less is kept.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import linked
from rothko.kernels.cluster import greedy, hull
from rothko.kernels.cluster.greedy import LIFTING, PARTLY, RANDOM, Pool, group, room_for_entries
from rothko.kernels.cluster.hull import room_for_chain, unions
from rothko.kernels.cluster.lists import exchange, taken_apart
from rothko.kernels.numbers import draw

room_for_tuples, room_for_boxes = greedy.room, hull.room


@linked
def dearer_of_two(cost, m, random):
    """Any class, and the dearer ones more often."""
    c, other = draw(random, m), draw(random, m)
    return other if cost[other] > cost[c] else c


@linked
def nearest_to(lines, boxes, c, m, wanted, random, together, chain, near, far, base):
    """Some classes that are near to class ``c``, itself first; a little at random, so that not always the same are.

    Near is what costs little together with it, beyond what ``base`` says of each.
    """
    unions(lines, boxes, c, m, together, chain)
    near[0], far[0], found = c, -1, 1
    for b in range(m):
        if b == c:
            continue
        apart = np.int64(together[b]) - base[b]
        apart += draw(random, (apart >> 3) + 1)
        if found < wanted:
            i = found
            found += 1
        elif apart >= far[found - 1]:
            continue
        else:
            i = found - 1
        while i > 1 and far[i - 1] > apart:
            far[i], near[i] = far[i - 1], near[i - 1]
            i -= 1
        far[i], near[i] = apart, b
    return found


@linked
def recluster(block, classes, m, k, free, steps, nearest, random):
    """Group some near classes anew, so many times, and keep what costs less: how many classes there are."""
    lines, boxes, size, cost = block.lines, classes.boxes, classes.size, classes.cost
    d, n = block.x.shape
    records = np.int64(0)
    for c in range(m):
        records += size[c]
    place, paid = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int64)
    pool = Pool(
        np.empty((d, n), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty((block.values.shape[0], n), dtype=np.int32),
    )
    most = boxes.low.shape[1]
    new_boxes, new_size = room_for_boxes(lines, most), np.empty(most, dtype=np.int64)
    work, entries = room_for_tuples(lines, n, records), room_for_entries(records)
    together, nothing = np.empty(most, dtype=np.int32), np.zeros(most, dtype=np.int64)
    chain = room_for_chain(lines)
    near, far = np.empty(nearest + 1, dtype=np.int64), np.empty(nearest + 1, dtype=np.int64)
    for _ in range(steps):
        c = dearer_of_two(cost, m, random)
        wanted = min(2 + draw(random, nearest - 1), m)
        found = nearest_to(lines, boxes, c, m, wanted, random, together, chain, near, far, nothing)
        before = np.int64(0)
        for i in range(found):
            before += size[near[i]] * cost[near[i]]
        if before == 0 or found < 2:
            continue
        tuples = taken_apart(classes, near, found, place, pool.who, pool.left, paid)
        for i in range(tuples):
            for a in range(d):
                pool.x[a, i] = block.x[a, pool.who[i]]
            for r in range(block.values.shape[0]):
                pool.values[r, i] = block.values[r, pool.who[i]]
        way = (RANDOM if draw(random, 3) > 0 else 0) | (PARTLY if draw(random, 2) else 0)
        way |= LIFTING if draw(random, 2) else 0
        used, made, after, loose = group(
            lines, pool, tuples, k, block.rules, way, random, new_boxes, new_size, entries, work, block.tally
        )
        if made > 0 and loose == 0 and after < before:
            m, free = exchange(block, classes, m, free, near, found, entries, used, made, new_boxes, new_size)
    return m, free
