"""Repairing classes: records that cost less elsewhere go there, and groups of near classes are clustered anew.

Steps on the classes of a block (:mod:`rothko.kernels.cluster.lists`), of which the last three never raise the loss:

*place*      records that are in no class yet join the one in which they add least, where its requirements still hold;
*absorb*     those that no class may take become one, which merges with the nearest until it holds;
*dissolve*   a class whose records together cost less in other classes than in theirs is given up;
*move*       a record leaves a class that has records to spare where that saves more than it costs elsewhere;
*recluster*  some near classes are grouped anew (:mod:`rothko.kernels.cluster.recluster`).
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.cluster import hull
from rothko.kernels.cluster.hull import begin, copy_box, join_all, ncp, own, room_for_chain, union, unions
from rothko.kernels.cluster.lists import NONE, Block, box, entries_of, find, holds, listed, put, take_in, unlink
from rothko.kernels.cluster.recluster import recluster
from rothko.kernels.order import order_of
from rothko.kernels.rules import clear, count, lacking, room_for
from rothko.kernels.rules import own as own_rules

LONGEST = 1024
"""Classes with more entries than this keep them."""
room_for_boxes = hull.room


@linked
def place(block, classes, m, loose, free):
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
            c, _ = find(block, classes, m, t, some, np.int64(-1), unlimited)
            if c < 0 or free < 0:
                break
            new = free
            free = follow[new]
            held[new], amounts[new], follow[new] = t, some, head[c]
            head[c] = new
            take_in(block, classes, c, t, some)
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
    """Make a class of the list ``loose``, and merge it with the nearest ones until it holds: how many there are.

    Only what joins is counted: where a requirement is hard to meet thousands of classes may.
    """
    head, size, cost, together, chain = (
        classes.head, classes.size, classes.cost, classes.after, room_for_chain(block.lines)
    )  # fmt: skip
    c, counted = m, np.int64(-1)
    head[c], size[c] = loose, 0
    m += 1
    begin(block.lines, classes.boxes, c, block.x, classes.held[loose])
    clear(block.rules, block.tally)
    while True:
        e = head[c]
        while e != counted:
            join_all(block.lines, classes.boxes, c, block.x, classes.held[e])
            count(block.rules, block.tally, block.values, classes.held[e], classes.amounts[e])
            size[c] += classes.amounts[e]
            e = classes.follow[e]
        cost[c] = ncp(block.lines, classes.boxes, c)
        if m == 1 or (size[c] >= k and lacking(block.rules, block.tally) < 0):
            return m
        unions(block.lines, classes.boxes, c, m, together, chain)
        best, near = np.int64(1) << 62, -1
        for b in range(m):
            rise = (size[b] + size[c]) * np.int64(together[b]) - size[b] * cost[b]
            if b != c and rise < best:
                best, near = rise, b
        counted = head[c]
        _append(c, head[near], classes.follow, head)
        m -= 1
        if near != m:
            put(classes, m, near)
            if c == m:
                c = near


@linked
def dissolve(block, classes, m, order):
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
            b, rise = find(block, classes, m, classes.held[e], classes.amounts[e], c, bound)
            bound -= rise
            if b < 0:
                break
            copy_box(boxes, b, before, moved)
            was_size[moved], was_cost[moved], to[moved] = size[b], cost[b], b
            moved += 1
            take_in(block, classes, b, classes.held[e], classes.amounts[e])
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
            put(classes, m, c)
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
def move(block, classes, m, k, order, tries):
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
            if size[c] - amounts[e] >= k and holds(block, classes, c, e, NONE, np.int64(0)):
                to, _ = find(block, classes, m, classes.held[e], amounts[e], c, saved)
            if to < 0:
                i += 1
                failed += 1
                continue
            failed = 0
            unlink(c, e, follow, head)
            follow[e] = head[to]
            head[to] = e
            take_in(block, classes, to, classes.held[e], amounts[e])
            size[c] -= amounts[e]
            slimmer = box(block, classes, c)
            if slimmer < cost[c]:
                count = -1  # what the others save has changed; those before this one are not asked again
            else:
                # Two may have held the box open between them: the others save at least what is known of them.
                count -= 1
                for j in range(i, count):
                    some[j], slim[j] = some[j + 1], slim[j + 1]
            cost[c] = slimmer


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
    classes, loose, free = listed(block, k, tuples, of_class, amounts, m)
    cost, random = classes.cost, np.array([seed], dtype=np.uint64)
    if m > 0:
        loose, free = place(block, classes, m, loose, free)
    if absorb and loose >= 0:
        m = _absorb(block, classes, m, k, loose)
        loose = np.int64(-1)
    for _ in range(passes):
        if m < 2:
            break
        m = dissolve(block, classes, m, order_of(cost, m, True))
        move(block, classes, m, k, order_of(cost, m, True), tries)
        if steps > 0:
            m, free = recluster(block, classes, m, k, free, steps, nearest, random)
            move(block, classes, m, k, order_of(cost, m, True), tries)
    new, at = entries_of(classes, m, loose)
    return new.tuples[:at].copy(), new.classes[:at].copy(), new.amounts[:at].copy(), m
