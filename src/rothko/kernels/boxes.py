"""Lines as the kernels take them, the NCP of a box on a line, and the smallest box around some records.

Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, sections 2.1 and 5.1. Of an ordered line a box has a range; of a tree the
lowest node that covers it; of a nominal line the set of values. A line that mixes missing and present values counts as
a whole. NCP is :func:`along` or :func:`share`, and nothing else, but for :mod:`rothko.kernels.cluster.hull`, which
counts it in whole numbers.

A box that grows by one record at a time is a :class:`Box`, with a place for each line. Its two functions are written
out in their callers, which are the innermost loops. They take arrays one by one, which their callers take out of the
tuples before the loop: taken out within it, each counts a reference, and hilbert took twice the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.order import sort

ORDERED, NOMINAL, TREE = 0, 1, 2
"""Kinds of line: widths by value, by number of values, by leaves under the lowest common node."""

TINY = 1e-300


class Lines(NamedTuple):
    """The lines of a table."""

    spec: NDArray[np.int64]
    """(lines, 6): kind, number of codes, missing code or -1, offset into ``places``, into ``tree``, into ``leaf``."""
    places: NDArray[np.float64]
    """How far each code of an ordered line lies from the first."""
    scales: NDArray[np.float64]
    """(lines, 2): weight, and how far the last code lies from the first."""
    tree: NDArray[np.int32]
    """(nodes, 5) of all hierarchies: parent, first code, last code, first child, children."""
    leaf: NDArray[np.int32]
    """The node of each leaf of all hierarchies."""


@linked
def lowest_node(lines, a, low, high):
    """The row in ``tree`` of the lowest node of line ``a`` that covers the codes from ``low`` to ``high``."""
    offset = lines.spec[a, 4]
    row = offset + lines.leaf[lines.spec[a, 5] + low]
    while lines.tree[row, 2] < high:
        row = offset + lines.tree[row, 0]
    return row


@linked
def children_between(lines, a, low, high):
    """The children of the lowest node of line ``a`` over the codes ``low … high``: their first row, and how many."""
    row = lowest_node(lines, a, low, high)
    return lines.spec[a, 4] + lines.tree[row, 3], np.int64(lines.tree[row, 4])


@inlined
def along(spec, places, scales, a, low, high):
    """NCP of the codes ``low … high`` of an ordered line, times its weight."""
    at = spec[a, 3]
    return scales[a, 0] * ((places[at + high] - places[at + low]) / scales[a, 1])


@inlined
def share(spec, scales, a, values):
    """NCP of so many values of a nominal line or leaves of a tree, times its weight."""
    return scales[a, 0] * (values / spec[a, 1])


@linked
def width_of(lines, a, low, high):
    """NCP of all codes ``low … high`` of a line, times its weight; 0 when it is one value."""
    if low == high:
        return 0.0
    spec, scales = lines.spec, lines.scales
    if high == spec[a, 2]:
        return scales[a, 0]  # missing and present together are published as the root
    kind = spec[a, 0]
    if kind == ORDERED:
        # Never nothing: two values so close that their distance is lost to rounding can still be told apart.
        return max(along(spec, lines.places, scales, a, low, high), TINY)
    if kind == NOMINAL:
        return share(spec, scales, a, high - low + 1)
    row = lowest_node(lines, a, low, high)
    return share(spec, scales, a, lines.tree[row, 2] - lines.tree[row, 1] + 1)


class Box(NamedTuple):
    """The smallest box around some records."""

    low: NDArray[np.int32]
    """First and last code that lie inside it."""
    high: NDArray[np.int32]
    node: NDArray[np.int64]
    """Of a tree."""
    values: NDArray[np.int64]
    """How many values of a nominal line there are."""
    width: NDArray[np.float64]
    """The NCP of each line."""
    seen: NDArray[np.int64]
    """For each value of nominal lines the box that it was last seen in; those of a line from ``seen_at`` on."""
    seen_at: NDArray[np.int64]


@compiled
def room(lines):
    """Room for one box at a time."""
    d = lines.spec.shape[0]
    seen_at = np.zeros(d, dtype=np.int64)
    total = 0
    for a in range(d):
        if lines.spec[a, 0] == NOMINAL:
            seen_at[a] = total
            total += lines.spec[a, 1]
    low, high = np.empty(d, dtype=np.int32), np.empty(d, dtype=np.int32)
    node, values = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    return Box(low, high, node, values, np.empty(d), np.full(total, -1, dtype=np.int64), seen_at)


@inlined
def open_box(rows, at, number, spec, leaf, low, high, node, values, width, seen, seen_at):
    """Begin a box, which has a number of its own, with the record at a place."""
    for a in range(spec.shape[0]):
        code = rows[at, a]
        low[a] = code
        high[a] = code
        width[a] = 0.0
        if spec[a, 0] == NOMINAL:
            # No code lies inside: each is looked up among those that were seen.
            low[a], high[a] = 1, 0
            values[a] = 1
            seen[seen_at[a] + code] = number
        elif spec[a, 0] != ORDERED:
            node[a] = spec[a, 4] + leaf[spec[a, 5] + code]


@inlined
def widen(rows, at, number, spec, places, scales, tree, low, high, node, values, width, seen, seen_at):
    """Let the record at a place join a box; whether it has become wider."""
    wider = False
    for a in range(spec.shape[0]):
        code = rows[at, a]
        if low[a] <= code <= high[a]:
            continue
        kind, missing = spec[a, 0], spec[a, 2]
        if kind == ORDERED:
            low[a], high[a] = min(low[a], code), max(high[a], code)
            width[a] = scales[a, 0] if high[a] == missing else along(spec, places, scales, a, low[a], high[a])
        elif kind == NOMINAL:
            if seen[seen_at[a] + code] == number:
                continue
            seen[seen_at[a] + code] = number
            values[a] += 1
            mixed = missing >= 0 and seen[seen_at[a] + missing] == number
            width[a] = scales[a, 0] if mixed else share(spec, scales, a, values[a])
        else:
            while code < tree[node[a], 1] or code > tree[node[a], 2]:
                node[a] = spec[a, 4] + tree[node[a], 0]
            low[a], high[a] = tree[node[a], 1], tree[node[a], 2]
            width[a] = share(spec, scales, a, high[a] - low[a] + 1)
        wider = True
    return wider


@compiled
def ncp_of(rows, members, begin, end, number, lines, box):
    """NCP of the smallest box around the records at the places ``members[begin:end]``."""
    spec, places, scales, tree, leaf = lines
    low, high, node, values, width, seen, seen_at = box
    open_box(rows, members[begin], number, spec, leaf, low, high, node, values, width, seen, seen_at)
    for i in range(begin + 1, end):
        widen(rows, members[i], number, spec, places, scales, tree, low, high, node, values, width, seen, seen_at)
    return width.sum()


@compiled
def loss_of(rows, members, starts, lines):
    """Size · NCP of all groups together."""
    box = room(lines)
    loss = 0.0
    for g in range(starts.size - 1):
        begin, end = starts[g], starts[g + 1]
        loss += (end - begin) * ncp_of(rows, members, begin, end, np.int64(g), lines, box)
    return loss


@compiled
def bounds_of(rows, members, starts, first, last, low, high):
    """First and last code on each line of the classes ``first`` to ``last``."""
    for c in range(first, last):
        at = members[starts[c]]
        for a in range(rows.shape[1]):
            low[c, a] = rows[at, a]
            high[c, a] = rows[at, a]
        for i in range(starts[c] + 1, starts[c + 1]):
            at = members[i]
            for a in range(rows.shape[1]):
                low[c, a] = min(low[c, a], rows[at, a])
                high[c, a] = max(high[c, a], rows[at, a])


@compiled
def members_of(rows, a, size, members, starts):
    """The distinct codes of each class on a line of so many codes, rising, and where those of each class begin."""
    seen = np.full(size, -1, dtype=np.int64)
    found, begins = np.empty(members.size, dtype=np.int32), np.zeros(starts.size, dtype=np.int64)
    at = 0
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            code = rows[members[i], a]
            if seen[code] != c:
                seen[code] = c
                found[at] = code
                at += 1
        sort(found, begins[c], at)
        begins[c + 1] = at
    return begins, found[:at].copy()
