"""Locality-sensitive hashing of sets: keys of records, the buckets that they fall into, and who is in them.

Podgursky, "Practical k-Anonymity on Large Datasets", Algorithms 10, 11 and 13. A bit of a key is set where the record
has at least one item of the bit's set; with a mask of bits for each item, a key is all masks of a record, or-ed.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined


@inlined
def draw(random, n):
    """A number below n."""
    random[0] = random[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return np.int64((random[0] >> np.uint64(33)) % np.uint64(n))


@compiled
def mixed(a, b):
    """A number that looks random, of two others."""
    z = a + b * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def hash_records(starts, items, masks):
    """The key of each record in each table (tables, records); masks are (tables, items)."""
    tables, n = masks.shape[0], starts.size - 1
    keys = np.zeros((tables, n), dtype=np.int32)
    for r in range(n):
        for t in range(tables):
            key = np.int64(0)
            for j in range(starts[r], starts[r + 1]):
                key |= masks[t, items[j]]
            keys[t, r] = key
    return keys


@compiled
def fill_tables(keys, buckets):
    """The records bucket by bucket (``order``), where each bucket begins and each record is, and sizes of buckets."""
    tables, n = keys.shape
    begin = np.zeros((tables, buckets + 1), dtype=np.int64)
    order, place = np.empty((tables, n), dtype=np.int32), np.empty((tables, n), dtype=np.int32)
    sizes = np.zeros((tables, buckets), dtype=np.int64)
    for t in range(tables):
        for r in range(n):
            begin[t, keys[t, r] + 1] += 1
        for b in range(buckets):
            begin[t, b + 1] += begin[t, b]
        for r in range(n):
            b = keys[t, r]
            p = begin[t, b] + sizes[t, b]
            order[t, p] = r
            place[t, r] = p
            sizes[t, b] += 1
    return begin, order, place, sizes


@compiled
def gather(keys, begin, order, sizes, r, most, stamp, now, random, pool):
    """Write the records that share a bucket with record ``r`` to the pool, each once: how many.

    At most ``most`` from each table, from a random place of the bucket on. Those with the stamp ``now`` are left out,
    and all that are found get it.
    """
    found = np.int64(0)
    for t in range(keys.shape[0]):
        b = keys[t, r]
        first, size = begin[t, b], sizes[t, b]
        at = draw(random, size) if size > most else np.int64(0)
        for i in range(min(size, most)):
            j = at + i
            if j >= size:
                j -= size
            p = order[t, first + j]
            if stamp[p] != now:
                stamp[p] = now
                pool[found] = p
                found += 1
    return found


@compiled
def remove(keys, begin, order, place, sizes, r):
    """Take a record out of its buckets."""
    for t in range(keys.shape[0]):
        b = keys[t, r]
        sizes[t, b] -= 1
        last = begin[t, b] + sizes[t, b]
        other, p = order[t, last], place[t, r]
        order[t, p], order[t, last] = other, r
        place[t, other], place[t, r] = p, last
