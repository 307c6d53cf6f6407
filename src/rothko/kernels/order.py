"""Hashing rows by their content, and ordering them by the hash."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled

_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_PRIME = np.uint64(0x100000001B3)


@compiled
def mix(x):
    """Spread every bit of ``x`` over the result (Steele, Lea, Flood 2014: splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * _B
    x = (x ^ (x >> np.uint64(27))) * _C
    return x ^ (x >> np.uint64(31))


@compiled
def fold_numbers(values, state):
    """Take one more number of every row into its hash."""
    for i in range(values.size):
        state[i] = mix((state[i] + _A) ^ mix(values[i]))


@compiled
def fold_bytes(offsets, data, state):
    """Take one more text of every row into its hash; text i is ``data[offsets[i] : offsets[i + 1]]``."""
    for i in range(offsets.size - 1):
        h = np.uint64(offsets[i + 1] - offsets[i])
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[j])) * _PRIME
        state[i] = mix((state[i] + _A) ^ mix(h))


@compiled
def order_by_key(keys, bits, first, last, order):
    """Sort the rows whose upper ``bits`` of the key lie in ``first … last`` into their places in ``order``.

    Keys are hashes, so they spread evenly: a bucket per few rows, then insertion inside each bucket.
    Ranges of buckets are disjoint, and so are the places that they fill.
    """
    shift = np.uint64(64 - bits)
    begins = np.zeros(last - first + 1, dtype=np.int64)
    before = 0
    for i in range(keys.size):
        b = np.int64(keys[i] >> shift)
        if b < first:
            before += 1
        elif b < last:
            begins[b - first + 1] += 1
    begins[0] = before
    for b in range(last - first):
        begins[b + 1] += begins[b]
    filled = begins.copy()
    for i in range(keys.size):
        b = np.int64(keys[i] >> shift)
        if first <= b < last:
            j = filled[b - first]
            filled[b - first] = j + 1
            while j > begins[b - first] and keys[order[j - 1]] > keys[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
