"""Some near classes are taken apart and grouped anew (:mod:`rothko.kernels.cluster.greedy`), in one of its ways at
random; what costs less is kept.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import linked
from rothko.kernels.cluster import greedy, hull
from rothko.kernels.cluster.greedy import LIFTING, PARTLY, RANDOM, Pool, group, room_for_entries
from rothko.kernels.cluster.hull import copy_box, ncp, room_for_chain, unions
from rothko.kernels.cluster.lists import put
from rothko.kernels.numbers import draw
from rothko.kernels.order import sort

room_for_tuples, room_for_boxes = greedy.room, hull.room


@linked
def _nearest(lines, boxes, c, m, wanted, random, together, chain, near, far):
    """Some classes that are near to class ``c``, itself first; a little at random, so that not always the same are."""
    unions(lines, boxes, c, m, together, chain)
    near[0], far[0], found = c, -1, 1
    for b in range(m):
        if b == c:
            continue
        apart = np.int64(together[b])
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
    lines, boxes, size, cost, head = block.lines, classes.boxes, classes.size, classes.cost, classes.head
    held, amounts, follow = classes.held, classes.amounts, classes.follow
    d, n = block.x.shape
    records = np.int64(0)
    for c in range(m):
        records += size[c]
    place = np.full(n, -1, dtype=np.int32)
    pool = Pool(
        np.empty((d, n), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty((block.values.shape[0], n), dtype=np.int32),
    )
    most = boxes.low.shape[1]
    new_boxes, new_size = room_for_boxes(lines, most), np.empty(most, dtype=np.int64)
    slots, work, entries = np.empty(most, dtype=np.int64), room_for_tuples(lines, n, records), room_for_entries(records)
    together, chain = np.empty(most, dtype=np.int32), room_for_chain(lines)
    near, far = np.empty(nearest + 1, dtype=np.int64), np.empty(nearest + 1, dtype=np.int64)
    for _ in range(steps):
        c, other = draw(random, m), draw(random, m)
        if cost[other] > cost[c]:
            c = other
        wanted = min(2 + draw(random, nearest - 1), m)
        found = _nearest(lines, boxes, c, m, wanted, random, together, chain, near, far)
        tuples, before = np.int64(0), np.int64(0)
        for i in range(found):
            before += size[near[i]] * cost[near[i]]
            e = head[near[i]]
            while e >= 0:
                t = held[e]
                if place[t] < 0:
                    place[t] = tuples
                    pool.who[tuples], pool.left[tuples] = t, 0
                    for a in range(d):
                        pool.x[a, tuples] = block.x[a, t]
                    for r in range(block.values.shape[0]):
                        pool.values[r, tuples] = block.values[r, t]
                    tuples += 1
                pool.left[place[t]] += amounts[e]
                e = follow[e]
        for i in range(tuples):
            place[pool.who[i]] = -1
        if before == 0 or found < 2:
            continue
        way = (RANDOM if draw(random, 3) > 0 else 0) | (PARTLY if draw(random, 2) else 0)
        way |= LIFTING if draw(random, 2) else 0
        used, made, after, loose = group(
            lines, pool, tuples, k, block.rules, way, random, new_boxes, new_size, entries, work, block.tally
        )
        if made == 0 or loose > 0 or after >= before:
            continue
        for i in range(found):
            slots[i] = near[i]
            e = head[near[i]]
            while e >= 0:
                later = follow[e]
                follow[e] = free
                free = e
                e = later
            head[near[i]] = -1
        for i in range(found, made):
            slots[i] = m
            head[m] = -1
            m += 1
        for i in range(used):
            c = slots[entries.classes[i]]
            e = free
            free = follow[e]
            held[e], amounts[e], follow[e] = entries.tuples[i], entries.amounts[i], head[c]
            head[c] = e
        for i in range(made):
            copy_box(new_boxes, i, boxes, slots[i])
            size[slots[i]] = new_size[i]
            cost[slots[i]] = ncp(lines, boxes, slots[i])
        if made < found:
            sort(slots, made, found)
            for i in range(found - 1, made - 1, -1):
                m -= 1
                if slots[i] != m:
                    put(classes, m, slots[i])
    return m, free
