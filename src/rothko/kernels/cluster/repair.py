"""Repairing classes: records that cost less elsewhere go there, and groups of near classes are clustered anew.

Steps on the classes of a block, of which the last three never raise the loss:

*place*      records that are in no class yet join the one in which they add least, where its requirements still hold;
*absorb*     those that no class may take become one, which merges with the nearest until it holds;
*dissolve*   a class whose records together cost less in other classes than in theirs is given up;
*move*       a record leaves a class that has records to spare where that saves more than it costs elsewhere;
*recluster*  some near classes are grouped anew (:mod:`rothko.kernels.cluster.greedy`), in one of its ways at random,
             and the result is kept where it costs less.

A class is a list of entries, so many records of a tuple each: ``head[c]`` is its first, ``follow[e]`` the next one, -1
the end. Entries that are not in use make up a list of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.cluster import greedy, hull
from rothko.kernels.cluster.greedy import LIFTING, PARTLY, RANDOM, Pool, group, room_for_entries
from rothko.kernels.cluster.hull import (
    Boxes,
    WholeLines,
    begin,
    copy_box,
    join_all,
    least_rise,
    ncp,
    own,
    room_for_chain,
    union,
    unions,
)
from rothko.kernels.numbers import draw
from rothko.kernels.order import order_of, sort
from rothko.kernels.rules import Rules, Tally, clear, count, lacking, room_for
from rothko.kernels.rules import own as own_rules

TRIES = 16
"""How many classes are asked whether they may take a record."""
LONGEST = 1024
"""Classes with more entries than this keep them."""
NONE = np.int64(-1)
"""No entry, no tuple; typed as all are, so that nothing is compiled twice."""

room_for_tuples, room_for_boxes = greedy.room, hull.room


class Block(NamedTuple):
    """The tuples of a block, and what is asked of their classes."""

    lines: WholeLines
    x: NDArray[np.int32]
    """(lines, tuples): places."""
    values: NDArray[np.int32]
    """(columns, tuples): sensitive values."""
    rules: Rules | None
    tally: Tally | None
    """Room to work in."""


class Classes(NamedTuple):
    """The classes of a block, and their entries."""

    boxes: Boxes
    """The last one is room to work in."""
    size: NDArray[np.int64]
    cost: NDArray[np.int64]
    """NCP."""
    head: NDArray[np.int64]
    held: NDArray[np.int64]
    """The tuple of each entry."""
    amounts: NDArray[np.int64]
    """The records of each entry."""
    follow: NDArray[np.int64]
    after: NDArray[np.int32]
    """Room to work in, for each class."""


@linked
def _holds(block, classes, c, without, t, amount):
    """Whether the rules hold for class ``c`` without an entry, and with so many records of tuple ``t`` (-1: none)."""
    return _hold(block.rules, block.tally, block.values, classes, c, without, t, amount)


@linked
def _hold(rules, tally, values, classes, c, without, t, amount):
    if rules is None:
        return True
    clear(rules, tally)
    e = classes.head[c]
    while e >= 0:
        if e != without:
            count(rules, tally, values, classes.held[e], classes.amounts[e])
        e = classes.follow[e]
    if t >= 0:
        count(rules, tally, values, t, amount)
    return lacking(rules, tally) < 0


@linked
def _box(block, classes, c):
    """Make box ``c`` the one around its entries; its NCP."""
    lines, boxes, held, follow = block.lines, classes.boxes, classes.held, classes.follow
    e = classes.head[c]
    begin(lines, boxes, c, block.x, held[e])
    e = follow[e]
    while e >= 0:
        join_all(lines, boxes, c, block.x, held[e])
        e = follow[e]
    return ncp(lines, boxes, c)


@linked
def _join(block, classes, c, t, amount):
    """Let so many records of a tuple join the box of class ``c``."""
    join_all(block.lines, classes.boxes, c, block.x, t)
    classes.size[c] += amount
    classes.cost[c] = ncp(block.lines, classes.boxes, c)


@linked
def _put(classes, c, to):
    """Write class ``c``, which is the last, to the place of another that is no more."""
    copy_box(classes.boxes, c, classes.boxes, to)
    classes.size[to], classes.cost[to], classes.head[to] = classes.size[c], classes.cost[c], classes.head[c]


@linked
def _find(block, classes, m, t, amount, skip, bound):
    """The class in which records of a tuple add least, where its rules hold with them, and how much; -1 for none.

    Only what adds less than ``bound`` counts.
    """
    size, cost, after = classes.size, classes.cost, classes.after
    c, rise = least_rise(block.lines, classes.boxes, m, block.x, t, amount, size, cost, after, skip)
    for _ in range(TRIES):
        if c < 0 or rise >= bound:
            return np.int64(-1), bound
        if _holds(block, classes, c, NONE, t, amount):
            return c, rise
        after[c] = -1  # not this one
        c, rise = NONE, np.int64(1) << 62
        for b in range(m):
            if after[b] >= 0 and b != skip:
                adds = (size[b] + amount) * np.int64(after[b]) - size[b] * cost[b]
                if adds < rise:
                    c, rise = np.int64(b), adds
    return np.int64(-1), bound


@linked
def _place(block, classes, m, loose, free):
    """Let the records of the list ``loose`` join classes, one at a time where there are rules: the list of the rest."""
    head, held, amounts, follow = classes.head, classes.held, classes.amounts, classes.follow
    rest = np.int64(-1)
    unlimited = np.int64(1) << 62
    while loose >= 0:
        e = loose
        loose = follow[e]
        t = held[e]
        while amounts[e] > 0:
            some = amounts[e] if block.rules is None else np.int64(1)
            c, _ = _find(block, classes, m, t, some, np.int64(-1), unlimited)
            if c < 0 or free < 0:
                break
            new = free
            free = follow[new]
            held[new], amounts[new], follow[new] = t, some, head[c]
            head[c] = new
            _join(block, classes, c, t, some)
            amounts[e] -= some
        if amounts[e] > 0:
            follow[e] = rest
            rest = e
        else:
            follow[e] = free
            free = e
    return rest, free


@linked
def _append(c, other, follow, head):
    """Put the entries of a list before those of class ``c``."""
    last = other
    while follow[last] >= 0:
        last = follow[last]
    follow[last] = head[c]
    head[c] = other


@linked
def _absorb(block, classes, m, k, loose):
    """Make a class of the list ``loose``, and merge it with the nearest ones until it holds: how many there are."""
    head, size, cost, together, chain = (
        classes.head, classes.size, classes.cost, classes.after, room_for_chain(block.lines)
    )  # fmt: skip
    c = m
    head[c], size[c] = loose, 0
    e = loose
    while e >= 0:
        size[c] += classes.amounts[e]
        e = classes.follow[e]
    m += 1
    while True:
        cost[c] = _box(block, classes, c)
        whole = _holds(block, classes, c, NONE, NONE, np.int64(0))
        if m == 1 or (size[c] >= k and whole):
            return m
        unions(block.lines, classes.boxes, c, m, together, chain)
        best, near = np.int64(1) << 62, -1
        for b in range(m):
            rise = (size[b] + size[c]) * np.int64(together[b]) - size[b] * cost[b]
            if b != c and rise < best:
                best, near = rise, b
        _append(c, head[near], classes.follow, head)
        size[c] += size[near]
        m -= 1
        if near != m:
            _put(classes, m, near)
            if c == m:
                c = near


@linked
def _dissolve(block, classes, m, order):
    """Give up classes, in an order, whose records cost less in others: how many classes are left."""
    boxes, size, cost, head, follow = classes.boxes, classes.size, classes.cost, classes.head, classes.follow
    longest = 0
    for c in range(m):
        length, e = 0, head[c]
        while e >= 0:
            length += 1
            e = follow[e]
        longest = max(longest, length)
    before = room_for_boxes(block.lines, longest)
    was_size, was_cost, to = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    for i in range(order.size):
        c = order[i]
        bound = size[c] * cost[c]
        moved, e = 0, head[c]
        while e >= 0 and bound > 0 and moved < longest:
            b, rise = _find(block, classes, m, classes.held[e], classes.amounts[e], c, bound)
            bound -= rise
            if b < 0:
                break
            copy_box(boxes, b, before, moved)
            was_size[moved], was_cost[moved], to[moved] = size[b], cost[b], b
            moved += 1
            _join(block, classes, b, classes.held[e], classes.amounts[e])
            # In its new class already, for what holds there with the next one; the list goes on from here.
            after_e = follow[e]
            follow[e] = head[b]
            head[b] = e
            head[c] = after_e
            e = after_e
        if e >= 0:
            for j in range(moved - 1, -1, -1):
                b = to[j]
                copy_box(before, j, boxes, b)
                size[b], cost[b] = was_size[j], was_cost[j]
                back = head[b]
                head[b] = follow[back]
                follow[back] = head[c]
                head[c] = back
            continue
        if moved == 0:
            continue
        m -= 1
        if c != m:
            _put(classes, m, c)
            for j in range(i + 1, order.size):
                if order[j] == m:
                    order[j] = c
    return m


@linked
def _without_each(block, classes, c, some, slim, later):
    """NCP of class ``c`` without each of its entries, which are listed in ``some``: how many there are.

    From the box of all entries before one and that of all after it. Of a class with more entries than there is room
    for, and of one entry alone, nothing is known: 0 entries.
    """
    lines, boxes, x, held = block.lines, classes.boxes, block.x, classes.held
    count, e = 0, classes.head[c]
    while e >= 0:
        if count == some.size:
            return 0
        some[count] = e
        count += 1
        e = classes.follow[e]
    if count < 2:
        return 0
    begin(lines, later, count - 1, x, held[some[count - 1]])
    for i in range(count - 2, 0, -1):
        copy_box(later, i + 1, later, i)
        join_all(lines, later, i, x, held[some[i]])
    slim[0] = ncp(lines, later, 1)
    before = boxes.low.shape[1] - 1
    begin(lines, boxes, before, x, held[some[0]])
    for i in range(1, count):
        if i + 1 < count:
            slim[i] = union(lines, boxes, before, later, i + 1)
            join_all(lines, boxes, before, x, held[some[i]])
        else:
            slim[i] = ncp(lines, boxes, before)
    return count


@linked
def _unlink(c, leaving, follow, head):
    """Take an entry out of the list of a class."""
    if head[c] == leaving:
        head[c] = follow[leaving]
        return
    e = head[c]
    while follow[e] != leaving:
        e = follow[e]
    follow[e] = follow[leaving]


@linked
def _move(block, classes, m, k, order, tries):
    """Let records leave classes, in an order, that have some to spare, wherever that saves more than it costs.

    A class is left alone when as many in a row as ``tries`` had nowhere to go.
    """
    size, cost, amounts, head, follow = classes.size, classes.cost, classes.amounts, classes.head, classes.follow
    some, slim = np.empty(LONGEST, dtype=np.int64), np.empty(LONGEST, dtype=np.int64)
    later = room_for_boxes(block.lines, LONGEST)
    for c in order:
        count, i, failed = -1, 0, 0
        while size[c] > k and cost[c] > 0 and failed < tries:
            if count < 0:
                count = _without_each(block, classes, c, some, slim, later)
            if i >= count:
                break
            e = some[i]
            saved = size[c] * cost[c] - (size[c] - amounts[e]) * slim[i]
            to = np.int64(-1)
            if size[c] - amounts[e] >= k and _holds(block, classes, c, e, NONE, np.int64(0)):
                to, _ = _find(block, classes, m, classes.held[e], amounts[e], c, saved)
            if to < 0:
                i += 1
                failed += 1
                continue
            failed = 0
            _unlink(c, e, follow, head)
            follow[e] = head[to]
            head[to] = e
            _join(block, classes, to, classes.held[e], amounts[e])
            size[c] -= amounts[e]
            slimmer = _box(block, classes, c)
            if slimmer < cost[c]:
                count = -1  # what the others save has changed; those before this one are not asked again
            else:
                # Two may have held the box open between them: the others save at least what is known of them.
                count -= 1
                for j in range(i, count):
                    some[j], slim[j] = some[j + 1], slim[j + 1]
            cost[c] = slimmer


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
def _recluster(block, classes, m, k, free, steps, nearest, random):
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
                    _put(classes, m, slots[i])
    return m, free


@compiled
def repair(lines, x, values, k, rules, tuples, of_class, amounts, m, absorb, passes, tries, steps, nearest, seed):
    """Repair the classes of a block.

    Parameters
    ----------
    lines
        See :mod:`rothko.kernels.cluster.hull`.
    x, values
        The tuples of the block: (lines, tuples) places, (columns, tuples) sensitive values.
    k, rules
        The requirements, see :mod:`rothko.kernels.rules`.
    tuples, of_class, amounts
        The m classes: so many records of a tuple in a class (-1: in none yet), one entry after the other.
    absorb
        Whether records that no class may take are to become one, which merges with others until it holds.
    passes, tries
        How often to dissolve and to move; how many records of a class in a row have nowhere to go before it is left.
    steps, nearest
        How often to cluster near classes anew in each pass, and how many of them at most at a time.

    Returns
    -------
    Tuples, classes and amounts of the repaired classes; how many there are.
    """
    lines, rules = own(lines), own_rules(rules)
    block = Block(lines, x, values, rules, room_for(rules, 1))
    entries, records = tuples.size, np.int64(0)
    for e in range(entries):
        records += amounts[e]
    room = entries + records
    most = max(np.int64(m), records // k) + 3
    classes = Classes(
        room_for_boxes(lines, most),
        np.zeros(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.full(most, -1, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(most, dtype=np.int32),
    )
    size, cost, head = classes.size, classes.cost, classes.head
    held, left, follow = classes.held, classes.amounts, classes.follow
    random = np.array([seed], dtype=np.uint64)
    loose, free = np.int64(-1), np.int64(-1)
    for e in range(entries):
        c = of_class[e]
        held[e], left[e] = tuples[e], amounts[e]
        if c < 0:
            follow[e] = loose
            loose = np.int64(e)
        else:
            follow[e] = head[c]
            head[c] = e
            size[c] += amounts[e]
    for e in range(room - 1, entries - 1, -1):
        follow[e] = free
        free = np.int64(e)
    for c in range(m):
        cost[c] = _box(block, classes, c)
    if m > 0:
        loose, free = _place(block, classes, m, loose, free)
    if absorb and loose >= 0:
        m = _absorb(block, classes, m, k, loose)
        loose = np.int64(-1)
    for _ in range(passes):
        if m < 2:
            break
        m = _dissolve(block, classes, m, order_of(cost, m, True))
        _move(block, classes, m, k, order_of(cost, m, True), tries)
        if steps > 0:
            m, free = _recluster(block, classes, m, k, free, steps, nearest, random)
            _move(block, classes, m, k, order_of(cost, m, True), tries)
    at = 0
    new = room_for_entries(room)
    for c in range(m + 1):
        e = head[c] if c < m else loose
        while e >= 0:
            new.tuples[at], new.classes[at], new.amounts[at] = held[e], c if c < m else -1, left[e]
            at += 1
            e = follow[e]
    return new.tuples[:at].copy(), new.classes[:at].copy(), new.amounts[:at].copy(), m
