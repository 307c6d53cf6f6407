"""Sets that are known by a number: a table of them, and a sieve in front of it.

The number is the sum of random numbers of the items, from which the sum without one item follows at once.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import inlined, linked

NOBODY = -1
SPARSE = 32
"""Bits of a sieve for each set in it."""
LARGEST = 1 << 22
"""Bits of the largest sieve: half a megabyte, which stays near the processor."""
LEAST = 1 << 12
"""Bits of the smallest."""


# ── A table of sets: open addressing, linear probing


@linked
def look_up(keys, owners, key):
    """Where a key is, or the free place where it would go."""
    mask = np.uint64(len(keys) - 1)
    at = (key ^ (key >> np.uint64(32))) & mask
    while owners[at] != NOBODY and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@linked
def remove(keys, owners, key):
    """Take a key out, and close the gap."""
    mask = np.uint64(len(keys) - 1)
    one = np.uint64(1)
    gap = look_up(keys, owners, key)
    at = gap
    while True:
        at = (at + one) & mask
        if owners[at] == NOBODY:
            break
        home = (keys[at] ^ (keys[at] >> np.uint64(32))) & mask
        # Where its home lies behind the gap, going round, it can be found without passing the gap.
        if ((at - home) & mask) >= ((at - gap) & mask):
            keys[gap] = keys[at]
            owners[gap] = owners[at]
            gap = at
    owners[gap] = NOBODY


@linked
def table_for(n):
    """An empty table with room for n keys."""
    room = 16
    while room < 2 * n + 2:
        room *= 2
    return np.zeros(room, dtype=np.uint64), np.full(room, NOBODY, dtype=np.int32)


# ── A sieve of sets: a bit for each, so that most that are not there are known without the table


@inlined
def hole_of(key, mask):
    """The bit of a set: from other digits of its key than its place in the table."""
    return (key >> np.uint64(16)) & mask


@linked
def sieve_for(n):
    """Room for sieves of n sets at most."""
    return np.empty(max(LEAST, min(2 * SPARSE * n, LARGEST)) // 64, dtype=np.uint64)


@linked
def empty(sieve, count):
    """Begin a sieve for so many sets; returns the mask of its bits."""
    room = LEAST
    while room < SPARSE * count and 2 * room <= 64 * len(sieve):
        room *= 2
    for w in range(room // 64):
        sieve[w] = np.uint64(0)
    return np.uint64(room - 1)


@linked
def let_in(sieve, mask, key, first, after):
    """Put the sets of a list of classes into a sieve."""
    c = first
    while c != NOBODY:
        hole = hole_of(key[c], mask)
        sieve[hole >> np.uint64(6)] |= np.uint64(1) << (hole & np.uint64(63))
        c = after[c]


@inlined
def may_hold(sieve, mask, key):
    """Whether a set may be in a sieve: always where it is, and hardly ever where it is not."""
    hole = hole_of(key, mask)
    return (sieve[hole >> np.uint64(6)] >> (hole & np.uint64(63))) & np.uint64(1) != np.uint64(0)
