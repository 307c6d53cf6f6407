"""Locality-sensitive hashing of sets: keys of records, the buckets that they fall into, and who is in them.

Podgursky, "Practical k-Anonymity on Large Datasets", Algorithms 10, 11 and 13. A bit of a key is set where the record
has at least one item of the bit's set; with a mask of bits for each item, a key is all masks of a record, or-ed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.numbers import draw
from rothko.kernels.order import arrange


class Tables(NamedTuple):
    """Records in the buckets of hash tables, (tables, …)."""

    keys: NDArray[np.int32]
    """The bucket of each record."""
    begin: NDArray[np.int64]
    """Where each bucket begins in ``order``, and the end."""
    order: NDArray[np.int32]
    place: NDArray[np.int32]
    """Where each record is in ``order``."""
    sizes: NDArray[np.int64]
    masks: NDArray[np.int64]
    """The bits that each item sets, (tables, items)."""


@compiled
def hash_records(starts, items, masks):
    """The key of each record in each table (tables, records); masks are (tables, items)."""
    n = starts.size - 1
    keys, key = np.zeros((masks.shape[0], n), dtype=np.int32), np.zeros(masks.shape[0], dtype=np.int32)
    for r in range(n):
        hash_set(masks, items, starts[r], starts[r + 1], key)
        keys[:, r] = key
    return keys


@linked
def hash_set(masks, items, first, last, keys):
    """Write the key in each table of the set of the items from ``first`` to ``last``."""
    for t in range(masks.shape[0]):
        key = np.int64(0)
        for j in range(first, last):
            key |= masks[t, items[j]]
        keys[t] = key


@compiled
def fill_tables(keys, buckets, masks):
    """The records bucket by bucket; see :class:`Tables`."""
    tables, n = keys.shape
    begin = np.empty((tables, buckets + 1), dtype=np.int64)
    order, place = np.empty((tables, n), dtype=np.int32), np.empty((tables, n), dtype=np.int32)
    for t in range(tables):
        order[t], begin[t] = arrange(keys[t], buckets)
        for p in range(n):
            place[t, order[t, p]] = p
    return Tables(keys, begin, order, place, begin[:, 1:] - begin[:, :-1], masks)


@linked
def gather(tables, keys, most, stamp, now, random, pool):
    """Write the records in the buckets with these keys, one in each table, to the pool, each once: how many.

    At most ``most`` from each table, from a random place of the bucket on. Those with the stamp ``now`` are left out,
    and all that are found get it.
    """
    found = np.int64(0)
    for t in range(keys.size):
        b = keys[t]
        first, size = tables.begin[t, b], tables.sizes[t, b]
        at = draw(random, size) if size > most else np.int64(0)
        for i in range(min(size, most)):
            j = at + i
            if j >= size:
                j -= size
            p = tables.order[t, first + j]
            if stamp[p] != now:
                stamp[p] = now
                pool[found] = p
                found += 1
    return found


@linked
def remove(tables, r):
    """Take a record out of its buckets."""
    order, place = tables.order, tables.place
    for t in range(tables.keys.shape[0]):
        b = tables.keys[t, r]
        tables.sizes[t, b] -= 1
        last = tables.begin[t, b] + tables.sizes[t, b]
        other, p = order[t, last], place[t, r]
        order[t, p], order[t, last] = other, r
        place[t, other], place[t, r] = p, last
