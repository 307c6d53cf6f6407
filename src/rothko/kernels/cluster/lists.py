"""The classes of a block while they are repaired: lists of entries, with a box, a size and a cost each.

An entry is so many records of a tuple: ``head[c]`` is the first of class c, ``follow[e]`` the next one, -1 the end.
Entries that are not in use make up a list of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import linked
from rothko.kernels.cluster import hull
from rothko.kernels.cluster.greedy import room_for_entries
from rothko.kernels.cluster.hull import Boxes, WholeLines, begin, copy_box, join_all, least_rise, ncp
from rothko.kernels.order import sort
from rothko.kernels.rules import Rules, Tally, clear, count, lacking

TRIES = 16
"""How many classes are asked whether they may take a record."""
NONE = np.int64(-1)
"""No entry, no tuple; typed as all are, so that nothing is compiled twice."""


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


room_for_boxes = hull.room


@linked
def listed(block, k, tuples, of_class, amounts, m):
    """Lists of the entries of m classes, with room for all that may be made of them.

    Returns
    -------
    The classes; the first entry of those that are in none (-1), and of those that are not in use.
    """
    entries, records = tuples.size, np.int64(0)
    for e in range(entries):
        records += amounts[e]
    room = entries + records
    most = max(np.int64(m), records // k) + 3
    classes = Classes(
        room_for_boxes(block.lines, most),
        np.zeros(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.full(most, -1, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(most, dtype=np.int32),
    )
    size, head, held, left, follow = classes.size, classes.head, classes.held, classes.amounts, classes.follow
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
        classes.cost[c] = box(block, classes, c)
    return classes, loose, free


@linked
def entries_of(classes, m, loose):
    """The entries of the first m classes, and of the list of those that are in none, one after the other."""
    new, at = room_for_entries(classes.held.size), 0
    for c in range(m + 1):
        e = classes.head[c] if c < m else loose
        while e >= 0:
            new.tuples[at], new.classes[at], new.amounts[at] = classes.held[e], c if c < m else -1, classes.amounts[e]
            at += 1
            e = classes.follow[e]
    return new, at


@linked
def taken_apart(classes, some, count, place, who, left, paid):
    """The tuples of some classes, with their records and what these cost together: how many tuples there are.

    ``place`` is -1 for every tuple, and is so again.
    """
    tuples = np.int64(0)
    for i in range(count):
        e = classes.head[some[i]]
        while e >= 0:
            t = classes.held[e]
            if place[t] < 0:
                place[t] = tuples
                who[tuples], left[tuples], paid[tuples] = t, 0, 0
                tuples += 1
            left[place[t]] += classes.amounts[e]
            paid[place[t]] += classes.amounts[e] * classes.cost[some[i]]
            e = classes.follow[e]
    for i in range(tuples):
        place[who[i]] = -1
    return tuples


@linked
def exchange(block, classes, m, free, some, count, entries, used, made, boxes, size):
    """Put so many classes, given by entries and boxes, in the place of some others: how many there are then."""
    head, held, amounts, follow = classes.head, classes.held, classes.amounts, classes.follow
    slots = np.empty(max(made, count), dtype=np.int64)
    for i in range(count):
        slots[i] = some[i]
        e = head[some[i]]
        while e >= 0:
            later = follow[e]
            follow[e] = free
            free = e
            e = later
        head[some[i]] = -1
    for i in range(count, made):
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
        copy_box(boxes, i, classes.boxes, slots[i])
        classes.size[slots[i]] = size[i]
        classes.cost[slots[i]] = ncp(block.lines, classes.boxes, slots[i])
    if made < count:
        sort(slots, made, count)
        for i in range(count - 1, made - 1, -1):
            m -= 1
            if slots[i] != m:
                put(classes, m, slots[i])
    return m, free


@linked
def holds(block, classes, c, without, t, amount):
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
def box(block, classes, c):
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
def unlink(c, leaving, follow, head):
    """Take an entry out of the list of a class."""
    if head[c] == leaving:
        head[c] = follow[leaving]
        return
    e = head[c]
    while follow[e] != leaving:
        e = follow[e]
    follow[e] = follow[leaving]


@linked
def take_in(block, classes, c, t, amount):
    """Let so many records of a tuple join the box of class ``c``."""
    join_all(block.lines, classes.boxes, c, block.x, t)
    classes.size[c] += amount
    classes.cost[c] = ncp(block.lines, classes.boxes, c)


@linked
def put(classes, c, to):
    """Write class ``c``, which is the last, to the place of another that is no more."""
    copy_box(classes.boxes, c, classes.boxes, to)
    classes.size[to], classes.cost[to], classes.head[to] = classes.size[c], classes.cost[c], classes.head[c]


@linked
def find(block, classes, m, t, amount, skip, bound):
    """The class in which records of a tuple add least, where its rules hold with them, and how much; -1 for none.

    Only what adds less than ``bound`` counts.
    """
    size, cost, after = classes.size, classes.cost, classes.after
    c, rise = least_rise(block.lines, classes.boxes, m, block.x, t, amount, size, cost, after, skip)
    for _ in range(TRIES):
        if c < 0 or rise >= bound:
            return np.int64(-1), bound
        if holds(block, classes, c, NONE, t, amount):
            return c, rise
        after[c] = -1  # not this one
        c, rise = NONE, np.int64(1) << 62
        for b in range(m):
            if after[b] >= 0 and b != skip:
                adds = (size[b] + amount) * np.int64(after[b]) - size[b] * cost[b]
                if adds < rise:
                    c, rise = np.int64(b), adds
    return np.int64(-1), bound
