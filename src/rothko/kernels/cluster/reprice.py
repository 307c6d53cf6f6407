"""Some near classes are taken apart and made anew by prices (:mod:`rothko.kernels.cluster.price`), then repaired; what
costs less is kept.

To group them anew (:mod:`rothko.kernels.cluster.recluster`) makes one class after the other, of a few. Prices weigh all
boxes that a dozen of them could have.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.cluster.hull import own, room_for_chain
from rothko.kernels.cluster.lists import Block, entries_of, exchange, listed, taken_apart
from rothko.kernels.cluster.price import opened_by_prices
from rothko.kernels.cluster.recluster import dearer_of_two, nearest_to
from rothko.kernels.cluster.repair import dissolve, move, place
from rothko.kernels.cluster.walk import Pool, boxes_of, room_for_found
from rothko.kernels.numbers import draw
from rothko.kernels.order import order_of
from rothko.kernels.rules import own as own_rules
from rothko.kernels.rules import room_for


@linked
def _pool(block, codes, who, left, paid, n):
    """So many tuples, those first whose records cost most, and of equal ones the first: their numbers, and a pool."""
    d, columns = block.x.shape[0], block.values.shape[0]
    along, price = order_of(who, n, False), np.empty(n, dtype=np.int64)
    for at in range(n):
        price[at] = paid[along[at]] // left[along[at]]
    pool = Pool(
        np.empty((d, n), dtype=np.int32),
        np.empty((d, n), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty((columns, n), dtype=np.int32),
    )
    named = np.empty(n, dtype=np.int64)
    for at, i in enumerate(order_of(price, n, True)):
        t = who[along[i]]
        named[at], pool.amounts[at], pool.price[at] = t, left[along[i]], price[i]
        for a in range(d):
            pool.codes[a, at], pool.x[a, at] = codes[a, t], block.x[a, t]
        for r in range(columns):
            pool.values[r, at] = block.values[r, t]
    return named, pool


@linked
def _any_order(n, random):
    """Numbers up to n in any order."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = draw(random, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


@compiled
def reprice(
    lines, ladder, codes, x, values, k, rules, tuples, of_class, amounts, m,
    steps, nearest, reach, most, patience, sweeps, rise, fall, again, share, fair, worth, tries, seed,
):  # fmt: skip
    """Make near classes of a block anew by prices, again and again.

    Parameters
    ----------
    lines, x, values, k, rules, tuples, of_class, amounts, m
        See :func:`rothko.kernels.cluster.repair.repair`; all records are in a class.
    ladder, codes
        See :mod:`rothko.kernels.cluster.price`.
    steps, nearest
        How often, and how many classes at a time.
    reach, most, patience
        Which boxes count, how many tuples they may have together, how often each tuple may be looked at for them.
    sweeps, rise, fall, again, share, fair
        See :func:`rothko.kernels.cluster.price.dive`; ``rise`` is a share of what a record costs on average.
    worth
        Where prices show that no more than this share could be gained, nothing is made anew.

    Returns
    -------
    Tuples, classes and amounts; how many classes there are.
    """
    lines, rules = own(lines), own_rules(rules)
    block = Block(lines, x, values, rules, room_for(rules, 1))
    classes, _, free = listed(block, k, tuples, of_class, amounts, m)
    random, n = np.array([seed], dtype=np.uint64), x.shape[1]
    size, cost = classes.size, classes.cost
    among, who = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int64)
    left, paid, room = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), room_for_found(most, k)
    together, chain = np.empty(size.size, dtype=np.int32), room_for_chain(lines)
    near, far = np.empty(nearest + 1, dtype=np.int64), np.empty(nearest + 1, dtype=np.int64)
    lowest = np.zeros(ladder.top.size, dtype=np.int64)
    for _ in range(steps):
        if m < 2:
            break
        c = dearer_of_two(cost, m, random)
        count = nearest_to(lines, classes.boxes, c, m, min(nearest, m), random, together, chain, near, far, cost)
        before, records = np.int64(0), np.int64(0)
        for i in range(count):
            before += size[near[i]] * cost[near[i]]
            records += size[near[i]]
        if before == 0:
            continue
        named, pool = _pool(block, codes, who, left, paid, taken_apart(classes, near, count, among, who, left, paid))
        found, _, _ = boxes_of(lines, ladder, pool, k, reach, patience * named.size, room, lowest, ladder.top)
        if found.cost.size == 0:
            continue
        order = _any_order(found.cost.size, random)
        step = np.int64(rise * before / records)
        some, of, many, made, _ = opened_by_prices(
            found, pool, k, rules, order, sweeps, step, fall, again, share, fair, np.int64(before * (1 - worth))
        )
        if made == 0:
            continue
        new, loose, unused = listed(block, k, named[some], of, many, made)
        loose, unused = place(block, new, made, loose, unused)
        if loose >= 0:
            continue
        made = dissolve(block, new, made, order_of(new.cost, made, True))
        move(block, new, made, k, order_of(new.cost, made, True), tries)
        after = np.int64(0)
        for i in range(made):
            after += new.size[i] * new.cost[i]
        if after < before:
            entries, used = entries_of(new, made, loose)
            m, free = exchange(block, classes, m, free, near, count, entries, used, made, new.boxes, new.size)
    entries, used = entries_of(classes, m, np.int64(-1))
    return entries.tuples[:used].copy(), entries.classes[:used].copy(), entries.amounts[:used].copy(), m
