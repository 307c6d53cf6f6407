"""Which classes may hold a tuple: a bit for each class and each group of values of a line.

A tuple lies in those boxes that have it on all lines. To ask every class takes as many steps as there are classes and
lines, and it is asked for every tuple again and again. Here a word tells of 64 classes at once, and most words are
empty after two lines. Lines of many values share groups: what is found is asked once more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import inlined, linked
from rothko.kernels.boxes import ORDERED, TREE
from rothko.kernels.cluster.hull import (
    ABSENT,
    BEGIN,
    FIRST,
    FULL,
    KIND,
    LAST,
    MISSING,
    MIXED,
    SIZE,
    WORD,
    contains,
)  # fmt: skip

GROUPS = 1024
"""Into how many groups the values of a line are put, at most; one more is for missing ones."""


class Sieve(NamedTuple):
    """The classes by what they hold."""

    bits: NDArray[np.uint64]
    """(groups of all lines, words): a bit for each class."""
    begin: NDArray[np.int64]
    """Where the groups of each line begin, and their number at the end."""


@linked
def room_for_sieve(lines, classes):
    """A sieve for so many classes that hold nothing yet."""
    d = lines.spec.shape[0]
    begin = np.zeros(d + 1, dtype=np.int64)
    for a in range(d):
        values = np.int64(lines.spec[a, FULL]) + 1 if lines.spec[a, KIND] == ORDERED else np.int64(lines.spec[a, SIZE])
        begin[a + 1] = begin[a] + min(values, GROUPS) + 1
    return Sieve(np.zeros((begin[d], (classes + WORD - 1) // WORD), dtype=np.uint64), begin)


@linked
def _group(lines, sieve, a, v):
    """The group of a value."""
    spec, many = lines.spec, sieve.begin[a + 1] - sieve.begin[a] - 1
    if spec[a, KIND] != TREE and v == spec[a, MISSING]:
        return sieve.begin[a]
    values = np.int64(spec[a, FULL]) + 1 if spec[a, KIND] == ORDERED else np.int64(spec[a, SIZE])
    return sieve.begin[a] + 1 + np.int64(v) * many // values


@linked
def sift(lines, boxes, sieve, c, held):
    """Write down what class ``c`` holds, or that it holds nothing."""
    spec, tree = lines.spec, lines.tree
    word, bit = c >> 6, np.uint64(1) << np.uint64(c & 63)
    for g in range(sieve.bits.shape[0]):
        sieve.bits[g, word] &= ~bit
    if not held:
        return
    for a in range(spec.shape[0]):
        first, last, v = sieve.begin[a], sieve.begin[a + 1] - 1, boxes.low[a, c]
        if spec[a, KIND] == TREE:
            first, last = _group(lines, sieve, a, tree[v, FIRST]), _group(lines, sieve, a, tree[v, LAST])
        elif boxes.mix[a, c] == ABSENT:
            last = first
        elif boxes.mix[a, c] != MIXED and spec[a, KIND] == ORDERED:
            first, last = _group(lines, sieve, a, v), _group(lines, sieve, a, boxes.high[a, c])
        elif boxes.mix[a, c] != MIXED:
            for label in range(spec[a, SIZE]):
                if (boxes.bits[spec[a, BEGIN] + (label >> 6), c] >> np.uint64(label & 63)) & np.uint64(1):
                    sieve.bits[_group(lines, sieve, a, label), word] |= bit
            continue
        for g in range(first, last + 1):
            sieve.bits[g, word] |= bit


@linked
def _rows(lines, sieve, x, t, rows):
    """Where the sieve tells of the values of tuple ``t``."""
    for a in range(rows.size):
        rows[a] = _group(lines, sieve, a, x[a, t])


@inlined
def _word(sieve, rows, w):
    """64 classes: a bit for each that may hold a tuple."""
    some = sieve.bits[rows[0], w]
    for a in range(1, rows.size):
        some &= sieve.bits[rows[a], w]
        if some == np.uint64(0):
            break
    return some


@inlined
def _place(low):
    """Which bit of a word it is, given that alone."""
    bit = np.int64(0)
    while low > np.uint64(1):
        low >>= np.uint64(1)
        bit += 1
    return bit


@linked
def cheapest_two(lines, boxes, sieve, x, t, cost, rows):
    """The two cheapest classes that hold tuple ``t``, the first of equal ones first; -1 where there are fewer."""
    best, second = np.int64(-1), np.int64(-1)
    _rows(lines, sieve, x, t, rows)
    for w in range(sieve.bits.shape[1]):
        some = _word(sieve, rows, w)
        while some != np.uint64(0):
            low = some & (~some + np.uint64(1))
            some ^= low
            c = (np.int64(w) << 6) + _place(low)
            if second >= 0 and cost[c] >= cost[second]:
                continue
            if not contains(lines, boxes, c, x, t):
                continue
            if best < 0 or cost[c] < cost[best]:
                best, second = c, best
            else:
                second = c
    return best, second


@linked
def holders(lines, boxes, sieve, x, t, rows, found):
    """All classes that hold tuple ``t``, written to ``found`` in their order: how many there are."""
    many = 0
    _rows(lines, sieve, x, t, rows)
    for w in range(sieve.bits.shape[1]):
        some = _word(sieve, rows, w)
        while some != np.uint64(0):
            low = some & (~some + np.uint64(1))
            some ^= low
            c = (np.int64(w) << 6) + _place(low)
            if contains(lines, boxes, c, x, t):
                found[many] = c
                many += 1
    return many
