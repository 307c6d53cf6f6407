"""Counting frequency groups: per value of a line, what cuts are chosen from, for many nodes in one go.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1: their AV, AVC and AVS sets in one.

The counters of all nodes lie one after the other; those of a node begin at ``at[node]`` with its first code
``low[node]``. A record whose node is negative is not counted.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked


@compiled
def count_values(codes, nodes, low, at, counts):
    """Records by value: ``counts[at + code − low]``."""
    for i in range(codes.size):
        node = nodes[i]
        if node >= 0:
            counts[at[node] + codes[i] - low[node]] += 1


@compiled
def count_pairs(codes, nodes, low, at, cells, width, counts):
    """Records by value and cell, ``counts[at + code − low, cell]``; only cells below ``width`` are counted."""
    for i in range(codes.size):
        node = nodes[i]
        if node >= 0 and cells[i] < width:
            counts[at[node] + codes[i] - low[node], cells[i]] += 1


@compiled
def add_numbers(codes, nodes, low, at, values, numbers, sums):
    """Sums by value of what ``numbers`` has for the code of each record, ``sums[at + code − low, column]``."""
    for i in range(codes.size):
        node = nodes[i]
        if node >= 0 and values[i] < numbers.shape[0]:
            place = at[node] + codes[i] - low[node]
            for column in range(numbers.shape[1]):
                sums[place, column] += numbers[values[i], column]


@linked
def spans(codes, nodes, count):
    """The smallest and the largest code of a line in each of ``count`` nodes, and -1 before a node's first record."""
    low = np.full(count, -1, dtype=np.int32)
    high = np.full(count, -1, dtype=np.int32)
    for i in range(codes.size):
        node = nodes[i]
        if node >= 0:
            if low[node] < 0 or codes[i] < low[node]:
                low[node] = codes[i]
            if codes[i] > high[node]:
                high[node] = codes[i]
    return low, high
