"""The smallest boxes around many classes at once, in whole numbers, and what it costs a tuple to join one.

As :mod:`rothko.kernels.boxes`, for searches that look at every tuple, or at every class, again and again: a line after
the other over contiguous arrays, so that the processor takes eight at a time. NCP is in whole numbers: a line that is
published as nothing counts FULL, and those of all lines add up to less than 2^25. So sums do not depend on their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import inlined, linked
from rothko.kernels.boxes import ORDERED, TREE
from rothko.kernels.numbers import ones

# Columns of ``spec``, a row for each line: its kind; its NCP as a whole; how tuples write that a value is missing (-1
# where none is, and for trees, where it is a leaf); how many codes it has; where its words of ``bits`` or its leaves
# begin; NCP of a set for each label; where its ``table`` begins, -1 where there is none; its first node, and how many.
KIND, FULL, MISSING, SIZE, BEGIN, UNIT, TABLE, NODE, NODES = range(9)
# Columns of ``tree``.
PARENT, FIRST, LAST, WIDTH = range(4)
PRESENT, ABSENT, MIXED = range(3)
WORD = 64


class WholeLines(NamedTuple):
    """Lines in whole numbers."""

    spec: NDArray[np.int32]
    tree: NDArray[np.int32]
    """(nodes, 4): parent, first and last code, NCP."""
    leaf: NDArray[np.int32]
    table: NDArray[np.int32]
    """For each leaf of some hierarchies, the NCP of the lowest node over it and each node."""
    words: int
    """How many words the sets of labels take."""


class Boxes(NamedTuple):
    """The boxes of classes, (lines, classes)."""

    low: NDArray[np.int32]
    """The smallest place of an ordered line; of a tree the lowest node that covers the class."""
    high: NDArray[np.int32]
    """The largest place of an ordered line; how many labels of a nominal line there are."""
    mix: NDArray[np.int8]
    """Whether values are present, absent (all missing) or both."""
    bits: NDArray[np.uint64]
    """(words, classes): these labels."""


@linked
def room(lines, classes):
    """Room for the boxes of so many classes."""
    d = lines.spec.shape[0]
    low, high = np.empty((d, classes), dtype=np.int32), np.empty((d, classes), dtype=np.int32)
    return Boxes(low, high, np.empty((d, classes), dtype=np.int8), np.zeros((lines.words, classes), dtype=np.uint64))


@linked
def own(lines):
    """A copy for a block: a call counts references on its arrays, over which threads would contend."""
    return WholeLines(lines.spec.copy(), lines.tree.copy(), lines.leaf.copy(), lines.table.copy(), lines.words)


@linked
def room_for_chain(lines):
    """An array for the nodes from any one up to the root, however deep a hierarchy is."""
    longest = 1
    for a in range(lines.spec.shape[0]):
        longest = max(longest, np.int64(lines.spec[a, NODES]))
    return np.empty(longest, dtype=np.int32)


@linked
def begin(lines, boxes, c, x, t):
    """Let class ``c`` be tuple ``t`` alone."""
    spec, leaf = lines.spec, lines.leaf
    low, high, mix, bits = boxes
    for a in range(spec.shape[0]):
        v = x[a, t]
        mix[a, c] = PRESENT
        low[a, c] = high[a, c] = v
        if spec[a, KIND] == TREE:
            low[a, c] = leaf[spec[a, BEGIN] + v]
            continue
        if v == spec[a, MISSING]:
            mix[a, c] = ABSENT
        if spec[a, KIND] == ORDERED:
            continue
        for w in range(spec[a, BEGIN], spec[a, BEGIN] + (spec[a, SIZE] + WORD - 1) // WORD):
            bits[w, c] = np.uint64(0)
        high[a, c] = 0
        if mix[a, c] == PRESENT:
            bits[spec[a, BEGIN] + (v >> 6), c] = np.uint64(1) << np.uint64(v & 63)
            high[a, c] = 1


@inlined
def join(lines, boxes, a, c, v):
    """Let a value join class ``c`` on line ``a``; whether its box has changed."""
    spec, tree = lines.spec, lines.tree
    low, high, mix, bits = boxes
    changed = False
    if spec[a, KIND] == TREE:
        node = low[a, c]
        while v < tree[node, FIRST] or v > tree[node, LAST]:
            node = tree[node, PARENT]
            changed = True
        low[a, c] = node
    elif mix[a, c] != MIXED:
        if (v == spec[a, MISSING]) != (mix[a, c] == ABSENT):
            mix[a, c] = MIXED
            changed = True
        elif mix[a, c] == PRESENT:
            if spec[a, KIND] == ORDERED:
                if v < low[a, c]:
                    low[a, c] = v
                    changed = True
                elif v > high[a, c]:
                    high[a, c] = v
                    changed = True
            else:
                w = spec[a, BEGIN] + (v >> 6)
                bit = np.uint64(1) << np.uint64(v & 63)
                if bits[w, c] & bit == np.uint64(0):
                    bits[w, c] |= bit
                    high[a, c] += 1
                    changed = True
    return changed


@linked
def join_all(lines, boxes, c, x, t):
    """Let tuple ``t`` join class ``c``."""
    for a in range(lines.spec.shape[0]):
        join(lines, boxes, a, c, x[a, t])


@inlined
def labels_cost(spec, a, labels):
    """NCP of a set of labels."""
    return np.int32(0) if labels == 1 else np.int32(labels * spec[a, UNIT])


@inlined
def width(lines, boxes, a, c):
    """NCP of class ``c`` on line ``a``."""
    spec, low, high, mix = lines.spec, boxes.low, boxes.high, boxes.mix
    found = spec[a, FULL]
    if spec[a, KIND] == TREE:
        found = lines.tree[low[a, c], WIDTH]
    elif mix[a, c] == ABSENT:
        found = np.int32(0)
    elif mix[a, c] == PRESENT:
        found = high[a, c] - low[a, c] if spec[a, KIND] == ORDERED else labels_cost(spec, a, high[a, c])
    return found


@linked
def ncp(lines, boxes, c):
    """NCP of class ``c`` over all lines."""
    total = np.int64(0)
    for a in range(lines.spec.shape[0]):
        total += width(lines, boxes, a, c)
    return total


@linked
def copy_box(boxes, c, others, to):
    """Write the box of a class to another place."""
    low, high, mix, bits = boxes
    to_low, to_high, to_mix, to_bits = others
    for a in range(low.shape[0]):
        to_low[a, to], to_high[a, to], to_mix[a, to] = low[a, c], high[a, c], mix[a, c]
    for w in range(bits.shape[0]):
        to_bits[w, to] = bits[w, c]


@linked
def weigh(lines, boxes, a, c, x, n, each, total, chain):
    """What the NCP of class ``c`` on line ``a`` becomes when one of n tuples joins: written to ``each``.

    ``total`` has the sum of ``each`` over all lines, before and after.
    """
    spec, tree = lines.spec, lines.tree
    low, high, mix, bits = boxes
    full, missing = spec[a, FULL], spec[a, MISSING]
    for t in range(n):
        total[t] -= each[a, t]
    if spec[a, KIND] == TREE:
        # From the root down to the node of the class: the lowest that has the tuple counts.
        node, depth = low[a, c], 0
        while tree[node, PARENT] >= 0:
            chain[depth] = node
            depth += 1
            node = tree[node, PARENT]
        for t in range(n):
            each[a, t] = full
        for j in range(depth - 1, -1, -1):
            node = chain[j]
            first, last, inside = tree[node, FIRST], tree[node, LAST], tree[node, WIDTH]
            for t in range(n):
                v = x[a, t]
                each[a, t] = inside if (v >= first) & (v <= last) else each[a, t]
    elif mix[a, c] == MIXED:
        for t in range(n):
            each[a, t] = full
    elif mix[a, c] == ABSENT:
        for t in range(n):
            each[a, t] = 0 if x[a, t] == missing else full
    elif spec[a, KIND] == ORDERED:
        first, last = low[a, c], high[a, c]
        for t in range(n):
            v = x[a, t]
            wide = max(last, v) - min(first, v)
            each[a, t] = full if v == missing else wide
    else:
        labels, at = high[a, c], spec[a, BEGIN]
        inside, outside = labels_cost(spec, a, labels), labels_cost(spec, a, labels + 1)
        if spec[a, SIZE] <= WORD:
            word = bits[at, c]
            for t in range(n):
                v = x[a, t]
                wide = inside if (word >> np.uint64(v)) & np.uint64(1) else outside
                each[a, t] = full if v == missing else wide
        else:
            for t in range(n):
                v = x[a, t]
                wide = inside if (bits[at + (v >> 6), c] >> np.uint64(v & 63)) & np.uint64(1) else outside
                each[a, t] = full if v == missing else wide
    for t in range(n):
        total[t] += each[a, t]


@linked
def least_rise(lines, boxes, classes, x, t, amount, size, cost, after, skip):
    """The class, other than ``skip``, in which so many records of tuple ``t`` add least to the loss, and how much.

    ``cost`` is the NCP of each class; ``after`` is room to work in.
    """
    spec, tree, table = lines.spec, lines.tree, lines.table
    low, high, mix, bits = boxes
    for c in range(classes):
        after[c] = 0
    for a in range(spec.shape[0]):
        v, full = x[a, t], spec[a, FULL]
        if spec[a, KIND] == TREE:
            at = spec[a, TABLE]
            if at >= 0:
                at += v * spec[a, NODES] - spec[a, NODE]
                for c in range(classes):
                    after[c] += table[at + low[a, c]]
                continue
            for c in range(classes):
                node = low[a, c]
                while v < tree[node, FIRST] or v > tree[node, LAST]:
                    node = tree[node, PARENT]
                after[c] += tree[node, WIDTH]
        elif v == spec[a, MISSING]:
            for c in range(classes):
                after[c] += 0 if mix[a, c] == ABSENT else full
        elif spec[a, KIND] == ORDERED:
            for c in range(classes):
                wide = max(high[a, c], v) - min(low[a, c], v)
                after[c] += wide if mix[a, c] == PRESENT else full
        else:
            word, shift = spec[a, BEGIN] + (v >> 6), np.uint64(v & 63)
            for c in range(classes):
                labels = high[a, c] + np.int32(1) - np.int32((bits[word, c] >> shift) & np.uint64(1))
                wide = labels_cost(spec, a, labels)
                after[c] += wide if mix[a, c] == PRESENT else full
    best, found = np.int64(1) << 62, np.int64(-1)
    for c in range(classes):
        rise = (size[c] + amount) * np.int64(after[c]) - size[c] * cost[c]
        if rise < best and c != skip:
            best, found = rise, np.int64(c)
    return found, best


@linked
def contains(lines, boxes, c, x, t):
    """Whether the box of class ``c`` has room for tuple ``t`` as it is."""
    spec, tree = lines.spec, lines.tree
    low, high, mix, bits = boxes
    for a in range(spec.shape[0]):
        v = x[a, t]
        if spec[a, KIND] == TREE:
            if v < tree[low[a, c], FIRST] or v > tree[low[a, c], LAST]:
                return False
        elif mix[a, c] != MIXED:
            if (v == spec[a, MISSING]) != (mix[a, c] == ABSENT):
                return False
            if mix[a, c] == ABSENT:
                continue
            if spec[a, KIND] == ORDERED:
                if v < low[a, c] or v > high[a, c]:
                    return False
            elif (bits[spec[a, BEGIN] + (v >> 6), c] >> np.uint64(v & 63)) & np.uint64(1) == np.uint64(0):
                return False
    return True


@linked
def unions(lines, boxes, c, classes, together, chain):
    """NCP of the union of class ``c`` with each class."""
    spec, tree = lines.spec, lines.tree
    low, high, mix, bits = boxes
    for b in range(classes):
        together[b] = 0
    for a in range(spec.shape[0]):
        full, mine = spec[a, FULL], mix[a, c]
        if spec[a, KIND] == TREE:
            node, depth = low[a, c], 0
            while node >= 0:
                chain[depth] = node
                depth += 1
                node = tree[node, PARENT]
            for b in range(classes):
                first, last = tree[low[a, b], FIRST], tree[low[a, b], LAST]
                j = 0
                while first < tree[chain[j], FIRST] or last > tree[chain[j], LAST]:
                    j += 1
                together[b] += tree[chain[j], WIDTH]
        elif spec[a, KIND] == ORDERED:
            bottom, top = low[a, c], high[a, c]
            for b in range(classes):
                wide = max(top, high[a, b]) - min(bottom, low[a, b])
                together[b] += wide if (mine == mix[a, b]) & (mine != MIXED) else full
        else:
            for b in range(classes):
                if mine != mix[a, b] or mine == MIXED:
                    together[b] += full
                elif mine == PRESENT:
                    labels = np.int64(0)
                    for w in range(spec[a, BEGIN], spec[a, BEGIN] + (spec[a, SIZE] + WORD - 1) // WORD):
                        labels += ones(bits[w, c] | bits[w, b])
                    together[b] += labels_cost(spec, a, labels)


@linked
def union(lines, boxes, c, others, b):
    """NCP of the union of two classes."""
    spec, tree = lines.spec, lines.tree
    low, high, mix, bits = boxes
    other_low, other_high, other_mix, other_bits = others
    total = np.int64(0)
    for a in range(spec.shape[0]):
        if spec[a, KIND] == TREE:
            node, other = low[a, c], other_low[a, b]
            while tree[other, FIRST] < tree[node, FIRST] or tree[other, LAST] > tree[node, LAST]:
                node = tree[node, PARENT]
            total += tree[node, WIDTH]
        elif mix[a, c] != other_mix[a, b] or mix[a, c] == MIXED:
            total += spec[a, FULL]
        elif mix[a, c] == PRESENT:
            if spec[a, KIND] == ORDERED:
                total += max(high[a, c], other_high[a, b]) - min(low[a, c], other_low[a, b])
            else:
                labels = np.int64(0)
                for w in range(spec[a, BEGIN], spec[a, BEGIN] + (spec[a, SIZE] + WORD - 1) // WORD):
                    labels += ones(bits[w, c] | other_bits[w, b])
                total += labels_cost(spec, a, labels)
    return total
