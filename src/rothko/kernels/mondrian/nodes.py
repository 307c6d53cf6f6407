"""The table of nodes: the tree of cuts while it grows.

A node has a row of int32: its parent, the line that it is cut on, the code at which it begins on the line
that its parent is cut on, its range of records, its first part, how many parts it has, and the criterion
that it is to be cut by. The parts of a cut stand side by side in line order, parents before children.

A cut is the smallest code on its right side. A tree node is cut into its children; children
without records get no part, and their codes fall to the part on their left (or the first part),
so that the regions of the parts cover the region of the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.rules import widest

# Columns of the table.
PARENT, ATTRIBUTE, BEGINS, START, END, CHILD, CHILDREN, PHASE = range(8)
NODE_WIDTH = 8
LEAF, PENDING = -1, -2

SELECTION, GAIN, MEDIAN = range(3)
"""The criteria in the order in which they take a node over from each other."""


class Room(NamedTuple):
    """Arrays to work in, for nodes of up to so many records."""

    order: NDArray[np.uint32]
    spare: NDArray[np.int32]
    counts: NDArray[np.int32]
    """By value."""
    histograms: NDArray[np.int64]
    """Three rows, as :mod:`rothko.kernels.rules` has them; zero when not in use."""
    child: NDArray[np.int32]
    """Of each record, where a tree is cut."""
    sizes: NDArray[np.int64]
    """Of each child."""
    width: NDArray[np.float64]
    """Of each line."""


@inlined
def room_for(n, lines, rules):
    """Room for nodes of up to n records."""
    most_children = 1
    for t in range(lines.tree.shape[0]):
        most_children = max(most_children, lines.tree[t, 4])
    return Room(
        np.empty(n, dtype=np.uint32),
        np.empty(n, dtype=np.int32),
        np.empty(max(256, min(n, 1 << 15)) + 1, dtype=np.int32),
        np.zeros((3, widest(rules)), dtype=np.int64),
        np.empty(n if lines.tree.shape[0] > 0 else 1, dtype=np.int32),
        np.empty(most_children, dtype=np.int64),
        np.empty(lines.spec.shape[0]),
    )


@linked
def with_room(table, needed):
    """The table itself, or a copy with room for more rows."""
    if needed <= table.shape[0]:
        return table
    larger = np.empty((max(needed, 2 * table.shape[0]), table.shape[1]), dtype=np.int32)
    for row in range(table.shape[0]):
        for field in range(table.shape[1]):
            larger[row, field] = table[row, field]
    return larger


@linked
def open_node(nodes, node, parent, begins, start, end, waiting, phase):
    """Write a node that is still to be cut; until then its CHILD is the one to take up after it (a stack)."""
    nodes[node, PARENT] = parent
    nodes[node, ATTRIBUTE] = PENDING
    nodes[node, BEGINS] = begins
    nodes[node, START] = start
    nodes[node, END] = end
    nodes[node, CHILD] = waiting
    nodes[node, CHILDREN] = 0
    nodes[node, PHASE] = phase


@linked
def code_of(maps, maps_at, node, a, rank):
    """The code that a node's records have as a rank on line ``a`` (see
    :func:`rothko.kernels.mondrian.arrange.rank_anew`).
    """
    return np.int64(rank) if maps_at[node, a] < 0 else np.int64(maps[maps_at[node, a] + rank])


@linked
def region_of(nodes, node, around):
    """The region that the cuts above a node left it: first and last codes, given those of the root (``around``)."""
    low, high = around[0].copy(), around[1].copy()
    part = np.int64(node)
    while nodes[part, PARENT] >= 0:
        parent = np.int64(nodes[part, PARENT])
        a, first = nodes[parent, ATTRIBUTE], nodes[parent, CHILD]
        if part > first:
            low[a] = max(low[a], nodes[part, BEGINS])
        if part + 1 < first + nodes[parent, CHILDREN]:
            high[a] = min(high[a], nodes[part + 1, BEGINS] - 1)
        part = parent
    return low, high


@compiled
def regions(attribute, begins, child, children, root_low, root_high):
    """The region of each node on the lines, given that of the root: first and last code per attribute.

    Parts of one cut share the node's region between them: each reaches to where the next begins.
    """
    count, d = attribute.size, root_low.size
    low = np.empty((count, d), dtype=np.int32)
    high = np.empty((count, d), dtype=np.int32)
    for a in range(d):
        low[0, a] = root_low[a]
        high[0, a] = root_high[a]
    for node in range(count):
        a = attribute[node]
        if a < 0:
            continue
        first, last = child[node], child[node] + children[node]
        for part in range(first, last):
            for b in range(d):
                low[part, b] = low[node, b]
                high[part, b] = high[node, b]
            if part > first:
                low[part, a] = begins[part]
            if part + 1 < last:
                high[part, a] = begins[part + 1] - 1
    return low, high
