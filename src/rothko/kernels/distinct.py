"""Records that are alike: told apart, and brought together."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled

FIT = 4096
"""Keys that are told apart in one table."""

MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def number(keys):
    """Equal keys get the same number, from 0 on; the number of each, and where one record of each number stands.

    Keys are dealt by their hash first, so that each table of those seen fits in the cache: on a million different
    keys that is several times as fast as one table.
    """
    n = keys.size
    bits = 0
    while bits < 16 and (n >> bits) > FIT:
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    dealt = np.empty(n, dtype=np.uint32)
    if bits > 0:
        for i in range(n):
            starts[((keys[i] * MIX) >> shift) + np.uint64(1)] += 1
        for b in range(1 << bits):
            starts[b + 1] += starts[b]
        places = starts.copy()
        for i in range(n):
            b = (keys[i] * MIX) >> shift
            dealt[places[b]] = i
            places[b] += 1
    else:
        starts[1] = n
        for i in range(n):
            dealt[i] = i
    numbers = np.empty(n, dtype=np.int32)
    first = np.empty(n, dtype=np.int32)
    seen = np.empty(1, dtype=np.int32)
    held = np.empty(1, dtype=np.uint64)
    count = 0
    for b in range(1 << bits):
        begin, end = starts[b], starts[b + 1]
        size = 16
        while size < 2 * (end - begin):
            size *= 2
        if size > seen.size:
            seen = np.empty(size, dtype=np.int32)
            held = np.empty(size, dtype=np.uint64)
        for h in range(size):
            seen[h] = -1
        mask = np.uint64(size - 1)
        for at in range(begin, end):
            i = dealt[at]
            key = keys[i]
            h = ((key * MIX) >> np.uint64(20)) & mask
            while seen[h] >= 0 and held[h] != key:
                h = (h + np.uint64(1)) & mask
            if seen[h] < 0:
                seen[h] = count
                held[h] = key
                first[count] = i
                count += 1
            numbers[i] = seen[h]
    return numbers, first[:count].copy()


@compiled
def arrange(classes, count):
    """The records class by class, in their order within each; and where each class begins, with the end."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for i in range(classes.size):
        starts[classes[i] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    places = starts.copy()
    order = np.empty(classes.size, dtype=np.int32)
    for i in range(classes.size):
        c = np.uint64(classes[i])
        order[places[c]] = i
        places[c] += 1
    return order, starts
