"""Bringing the records of a node in order: sorted along a line, parts of a cut together.

The records of a node are one contiguous range of ``table``, an int32 matrix with a row per
column: the quasi-identifiers' codes, the record numbers, the sensitive codes. Cutting a node
reorders its range, stably, so that each part is contiguous again: deep nodes then live in the
cache, and every scan is sequential.

Positions are unsigned and arrays are not sliced in these loops: signed indices cost a check for
negative ones, and a slice counts a reference on the table, over which the threads would contend.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.mondrian.nodes import CHILD, CHILDREN, END, START, code_of


@linked
def sorted_along(table, a, start, end, low, high):
    """The records of a node in stable ascending order of line ``a``: radix sort, up to eleven bits a pass."""
    n = np.int64(end - start)
    order = np.empty(n, dtype=np.uint32)
    spare = np.empty(n, dtype=np.uint32)
    for i in range(n):
        order[i] = start + np.uint64(i)
    # Going through the buckets must not take longer than going through the records.
    bits = 4
    while bits < 11 and (2 << bits) <= n and (1 << bits) <= high - low:
        bits += 1
    mask = (1 << bits) - 1
    counts = np.empty(mask + 2, dtype=np.int64)
    shift = 0
    while (high - low) >> shift > 0:
        for b in range(mask + 2):
            counts[b] = 0
        for i in range(n):
            counts[(((table[a, order[i]] - low) >> shift) & mask) + 1] += 1
        for b in range(mask + 1):
            counts[b + 1] += counts[b]
        for i in range(n):
            b = ((table[a, order[i]] - low) >> shift) & mask
            spare[counts[b]] = order[i]
            counts[b] += 1
        order, spare = spare, order
        shift += bits
    return order


@linked
def rank_anew(table, a, start, end, node, low, high, maps, maps_at, filled):
    """Replace the codes of line ``a`` among the records of a node by their ranks, so that none is in vain.

    ``maps`` keeps the code of each rank, for this node and all below it; ``filled`` is how much of it is in use.
    """
    order = sorted_along(table, a, start, end, np.int64(low[node, a]), np.int64(high[node, a]))
    if filled + order.size > maps.size:
        larger = np.empty(2 * maps.size + order.size, dtype=np.int32)
        for i in range(filled):
            larger[i] = maps[i]
        maps = larger
    before, rank = np.int64(-1), np.int64(-1)
    for i in range(order.size):
        code = np.int64(table[a, order[i]])
        if code != before:
            rank += 1
            maps[filled + rank] = code_of(maps, maps_at, node, a, code)
            before = code
        table[a, order[i]] = rank
    maps_at[node, a] = filled
    low[node, a], high[node, a] = 0, rank
    return maps, filled + rank + 1


@linked
def values_in(table, row, order):
    """A row of the table in the given order."""
    values = np.empty(order.size, dtype=np.int32)
    for i in range(order.size):
        values[i] = table[row, order[i]]
    return values


@linked
def _child(tree, first, count, code):
    """Which of ``count`` children from row ``first`` on holds the code."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if tree[first + middle, 1] <= code:
            low = middle
        else:
            high = middle - 1
    return low


@linked
def split(table, a, start, end, first, count, tree, child, sizes):
    """Which of ``count`` children from row ``first`` on each record goes to, and how many each gets."""
    for c in range(count):
        sizes[c] = 0
    for i in range(start, end):
        c = _child(tree, first, count, table[a, i])
        child[i - start] = c
        sizes[c] += 1


@linked
def arrange_two(table, a, start, end, left, cut, ties, order):
    """The order that brings the records below the cut (and the first ``ties`` equal ones) to the front."""
    x, y = np.uint64(0), np.uint64(left)
    if ties > 0:
        for i in range(start, end):
            v = table[a, i]
            if v < cut or (v == cut and ties > 0):
                ties -= v == cut
                order[x] = i
                x += np.uint64(1)
            else:
                order[y] = i
                y += np.uint64(1)
        return
    # Strict cuts pick x or y without a branch, which would be mispredicted for every other record; counting
    # ties in the same loop would bring the branch back (this step was 5 times slower with it).
    for i in range(start, end):
        m = np.uint64(table[a, i] < cut)
        order[y ^ ((x ^ y) & (np.uint64(0) - m))] = i
        x += m
        y += np.uint64(1) - m


@compiled
def arrange_many(child, start, count, sizes, order):
    """The order that brings the records of each child together, children in line order."""
    places = np.empty(count, dtype=np.uint64)
    total = 0
    for c in range(count):
        places[c] = total
        total += sizes[c]
    for i in range(np.uint64(total)):
        c = child[i]
        order[places[c]] = start + i
        places[c] += np.uint64(1)


@linked
def move(table, start, end, order, spare, nodes, low, high, node):
    """Put the records of a node in the given order, and note the smallest box around each of its parts.

    The hottest loop: unsigned positions let it be a vector gather. A column of one value is in any
    order already, and its parts need no look at it.
    """
    d = low.shape[1]
    n = end - start
    first, last = nodes[node, CHILD], nodes[node, CHILD] + nodes[node, CHILDREN]
    for c in range(table.shape[0]):
        if c < d and low[node, c] == high[node, c]:
            for child in range(first, last):
                low[child, c] = high[child, c] = low[node, c]
            continue
        for i in range(n):
            spare[i] = table[c, order[i]]
        for child in range(first, last):
            begin, stop = np.uint64(nodes[child, START]), np.uint64(nodes[child, END])
            smallest = spare[begin - start]
            largest = smallest
            for i in range(begin, stop):
                v = spare[i - start]
                table[c, i] = v
                smallest = min(smallest, v)
                largest = max(largest, v)
            if c < d:
                low[child, c] = smallest
                high[child, c] = largest
