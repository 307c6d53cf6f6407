"""Keys along the Hilbert curve, for any number of dimensions.

J. Skilling: Programming the Hilbert curve. AIP Conference Proceedings 707, 2004 (after A. R. Butz, 1971). The bits of
the coordinates are turned into the bits of the key by exchanges and inversions, O(dimensions · bits) for a record. A
block of records goes through each step together, so that the compiler works on many of them with one instruction.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked

BLOCK = 256
"""Records that go through the steps together; their coordinates stay in the innermost cache."""


@compiled
def hilbert_keys(codes, attributes, tables, starts, bits, first, last, keys):
    """Write the keys of the records ``first`` to ``last``: most significant word first, from its top bit on.

    Parameters
    ----------
    codes
        (lines, records).
    attributes
        The line of each dimension.
    tables, starts
        The coordinate of each code, dimension after dimension, and where each dimension begins.
    keys
        (words, records), as many words as ``attributes.size * bits`` bits take.
    """
    d = attributes.size
    # Dimensions as rows: each step below is a loop over one or two of them that the compiler turns into wide
    # instructions, for which all numbers must stay 16 bits wide.
    x = np.zeros((d, BLOCK), dtype=np.uint16)
    word = np.empty(BLOCK, dtype=np.uint64)
    none = np.uint16(0)
    for begin in range(first, last, BLOCK):
        n = min(BLOCK, last - begin)
        for a in range(d):
            at, row, given = starts[a], x[a], codes[attributes[a], begin : begin + n]
            for j in range(n):
                row[j] = tables[at + given[j]]
        head = x[0]
        for bit in range(bits - 1, 0, -1):
            high, low = np.uint16(1 << bit), np.uint16((1 << bit) - 1)
            for j in range(BLOCK):
                head[j] = np.uint16(head[j] ^ (low if (head[j] & high) != 0 else none))
            for a in range(1, d):
                other = x[a]
                for j in range(BLOCK):
                    # Where the bit is set the lower bits of the first are inverted, else the two exchange theirs.
                    inverted = (other[j] & high) != 0
                    moved = np.uint16((head[j] ^ other[j]) & low)
                    head[j] = np.uint16(head[j] ^ (low if inverted else moved))
                    other[j] = np.uint16(other[j] ^ (none if inverted else moved))
        for a in range(1, d):
            before, row = x[a - 1], x[a]
            for j in range(BLOCK):
                row[j] = np.uint16(row[j] ^ before[j])
        # At every bit the parity of the bits above it in the last dimension, which undoes the Gray code.
        row = x[d - 1]
        for j in range(BLOCK):
            word[j] = row[j] >> 1
        for step in (1, 2, 4, 8):
            for j in range(BLOCK):
                word[j] ^= word[j] >> np.uint64(step)
        for a in range(d):
            row = x[a]
            for j in range(BLOCK):
                row[j] = np.uint16(row[j] ^ np.uint16(word[j]))
        _interleave(x, bits, word, begin, n, keys)


@linked
def _interleave(x, bits, word, begin, n, keys):
    """The highest bit of every dimension, then the next one, and so on, from the top bit of the first word on."""
    word[:] = 0
    filled = 0
    at = 0
    for bit in range(bits - 1, -1, -1):
        high = np.uint16(1 << bit)
        for a in range(x.shape[0]):
            row = x[a]
            for j in range(BLOCK):
                word[j] = (word[j] << np.uint64(1)) | np.uint64((row[j] & high) != 0)
            filled += 1
            if filled == 64:
                for j in range(n):
                    keys[at, begin + j] = word[j]
                    word[j] = 0
                at += 1
                filled = 0
    if filled > 0:
        for j in range(n):
            keys[at, begin + j] = word[j] << np.uint64(64 - filled)


@compiled
def gaps_between(keys, order, first, last, gaps):
    """How far the records at the places ``first`` to ``last`` lie behind those before them, as shares of the curve."""
    words = keys.shape[0]
    for i in range(max(first, 1), last):
        a, b = order[i - 1], order[i]
        gap, scale = 0.0, 2.0 ** (-64.0 * words)
        borrow = np.uint64(0)
        # From the last word on, with what it lacks taken from the one before: the difference is exact word by word.
        for w in range(words - 1, -1, -1):
            difference = keys[w, b] - keys[w, a]
            lent = np.uint64(keys[w, b] < keys[w, a])
            lent |= np.uint64(difference < borrow)
            difference -= borrow
            borrow = lent
            gap += np.float64(difference) * scale
            scale *= 18446744073709551616.0
        gaps[i] = gap
