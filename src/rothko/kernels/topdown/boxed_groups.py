"""Groups of records, and what they cost.

A group is a list of records, linked by ``following`` from its ``head`` on (-1 ends it), with its box: the smallest and
largest code on every line, and on nominal lines how many values there are. Sets of values are stamps: value v is in
the set where ``marks[at[line] + v]`` is the stamp of the moment, so that no set is ever cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.boxes import NOMINAL
from rothko.kernels.topdown.records import penalty


class Groups(NamedTuple):
    """Groups, with room for two sets of values."""

    head: NDArray[np.int64]
    following: NDArray[np.int64]
    size: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    values: NDArray[np.int64]
    ncp: NDArray[np.float64]
    marks: NDArray[np.int64]
    others: NDArray[np.int64]
    clock: NDArray[np.int64]
    """The last stamps of ``marks`` and of ``others``."""


@compiled
def open_groups(records, starts):
    """The groups of records that stand one after the other."""
    count, d, marks = starts.size - 1, records.codes.shape[1], records.at[-1]
    following = np.arange(1, records.codes.shape[0] + 1)
    groups = Groups(
        starts[:-1].copy(),
        following,
        starts[1:] - starts[:-1],
        np.empty((count, d), dtype=np.int64),
        np.empty((count, d), dtype=np.int64),
        np.empty((count, d), dtype=np.int64),
        np.empty(count),
        np.zeros(marks, dtype=np.int64),
        np.zeros(marks, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )
    low, high, values = groups.low, groups.high, groups.values
    for g in range(count):
        following[starts[g + 1] - 1] = -1
        empty_box(low[g], high[g], values[g])
        groups.clock[0] += 1
        r = groups.head[g]
        while r >= 0:
            take(records, r, low[g], high[g], values[g], groups.marks, groups.clock[0])
            r = following[r]
        groups.ncp[g] = cost_of(records, low[g], high[g], values[g])
    return groups


@linked
def empty_box(low, high, values):
    """The box of no records."""
    for a in range(low.size):
        low[a], high[a], values[a] = 2147483647, -1, 0


@linked
def take(records, r, low, high, values, marks, stamp):
    """Let a box hold one more record."""
    at = records.at
    for a in range(low.size):
        code = np.int64(records.codes[r, a])
        low[a], high[a] = min(code, low[a]), max(code, high[a])
        if records.lines.spec[a, 0] == NOMINAL and marks[at[a] + code] != stamp:
            marks[at[a] + code] = stamp
            values[a] += 1


@linked
def cost_of(records, low, high, values):
    """The NCP of a box; 0 for that of no records."""
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    total = 0.0
    for a in range(low.size):
        if high[a] >= 0:
            total += penalty(lines, spec, places, scales, pairs, pairs_at, a, low[a], high[a], values[a])
    return total


@inlined
def at_least(low, high, values, lines, spec, places, scales, pairs, pairs_at, g, h, whole):
    """What a box around group ``g`` and all (``whole``) or some records of group ``h`` costs at the least, and whether
    it costs exactly that.
    """
    total, exact = 0.0, True
    for a in range(low.shape[1]):
        bottom, top, more = low[g, a], high[g, a], values[g, a]
        if whole:
            bottom, top = min(bottom, low[h, a]), max(top, high[h, a])
        elif low[h, a] > top:
            top = low[h, a]
        elif high[h, a] < bottom:
            bottom = high[h, a]
        if spec[a, 0] == NOMINAL:
            if whole:
                more = max(more, values[h, a])
            exact = exact and (bottom == top or top == spec[a, 2])
            if bottom < top:
                more = max(more, np.int64(2))
        total += penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
    return total, exact


@linked
def joint_cost(records, groups, g, h):
    """The NCP of two groups together; the values of the first have the last stamp of ``marks``."""
    low, high, marks, others, clock = groups.low, groups.high, groups.marks, groups.others, groups.clock
    table, at, following, values = records.codes, records.at, groups.following, groups.values
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    clock[1] += 1
    total = 0.0
    for a in range(low.shape[1]):
        bottom, top, more = min(low[g, a], low[h, a]), max(high[g, a], high[h, a]), values[g, a]
        if spec[a, 0] == NOMINAL:
            r = groups.head[h]
            while r >= 0:
                place = at[a] + table[r, a]
                if marks[place] != clock[0] and others[place] != clock[1]:
                    others[place] = clock[1]
                    more += 1
                r = following[r]
        total += penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
    return total


@linked
def mark(records, groups, g, marks, stamp):
    """Mark the values of a group on its nominal lines."""
    r = groups.head[g]
    while r >= 0:
        for a in range(records.codes.shape[1]):
            if records.lines.spec[a, 0] == NOMINAL:
                marks[records.at[a] + records.codes[r, a]] = stamp
        r = groups.following[r]


@linked
def merge(records, groups, g, h):
    """Let group ``g`` have the records of group ``h``, which is empty then; the values of ``g`` are marked."""
    head, following, size = groups.head, groups.following, groups.size
    low, high, values = groups.low[g], groups.high[g], groups.values[g]
    r = head[h]
    while r >= 0:
        then = following[r]
        take(records, r, low, high, values, groups.marks, groups.clock[0])
        following[r] = head[g]
        head[g] = r
        r = then
    size[g] += size[h]
    size[h] = 0
    head[h] = -1
    groups.ncp[g] = cost_of(records, low, high, values)


@compiled
def class_of(head, following):
    """The class of each record, numbered in the order of the groups that are not empty; and how many there are."""
    found = np.empty(following.size, dtype=np.int32)
    classes = 0
    for g in range(head.size):
        r = head[g]
        while r >= 0:
            found[r] = classes
            r = following[r]
        classes += head[g] >= 0
    return found, classes
