"""The classes of a block while they are repaired: lists of entries, with a box, a size and a cost each.

An entry is so many records of a tuple: ``head[c]`` is the first of class c, ``follow[e]`` the next one, -1 the end.
Entries that are not in use make up a list of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import linked
from rothko.kernels.cluster.hull import Boxes, WholeLines, begin, copy_box, join_all, least_rise, ncp
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
