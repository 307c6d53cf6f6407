"""Numbers that look random: drawn, mixed from others, hashed from rows; and bits that are counted."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined, linked

_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_PRIME = np.uint64(0x100000001B3)


@inlined
def draw(random, n):
    """A number below n; ``random`` is the state, one word."""
    random[0] = random[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return np.int64((random[0] >> np.uint64(33)) % np.uint64(n))


@linked
def mix(x):
    """Spread every bit of ``x`` over the result (Steele, Lea, Flood 2014: splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * _B
    x = (x ^ (x >> np.uint64(27))) * _C
    return x ^ (x >> np.uint64(31))


@linked
def mixed(a, b):
    """A number that looks random, of two others."""
    return mix(a + b * _A + np.uint64(0x632BE59BD9B4E019))


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


@inlined
def ones(x):
    """How many bits of a word are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
