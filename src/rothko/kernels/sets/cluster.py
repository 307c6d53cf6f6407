"""Clustering of sets: a class grows record by record, by the one that leaves most utility to what all share.

Podgursky, "Practical k-Anonymity on Large Datasets", Algorithms 4 and 5. The utility that a class shares with a record
is a sum over the record's items of a weight, which is 0 for what the class does not share. It can only fall while the
class grows, so that what a candidate shared before is a bound: most candidates need not be looked at again.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.numbers import draw
from rothko.kernels.sets.lsh import gather, hash_set, remove


@linked
def own_utilities(starts, items, utility):
    """The utility of each record."""
    own = np.zeros(starts.size - 1, dtype=np.float64)
    for r in range(own.size):
        for j in range(starts[r], starts[r + 1]):
            own[r] += utility[items[j]]
    return own


@inlined
def shared(starts, items, weight, r):
    """The weights of a record's items, summed."""
    total = 0.0
    for j in range(starts[r], starts[r + 1]):
        total += weight[items[j]]
    return total


@linked
def open_set(starts, items, utility, r, weight, common):
    """Begin a class with a record: write its items and weigh them; how many there are."""
    c = np.int64(0)
    for j in range(starts[r], starts[r + 1]):
        common[c] = items[j]
        weight[items[j]] = utility[items[j]]
        c += 1
    return c


@linked
def narrow(starts, items, r, common, c, weight):
    """Keep of the common items those that a record has: how many."""
    kept, j, end = np.int64(0), starts[r], starts[r + 1]
    for i in range(c):
        item = common[i]
        while j < end and items[j] < item:
            j += 1
        if j < end and items[j] == item:
            common[kept] = item
            kept += 1
        else:
            weight[item] = 0.0
    return kept


@linked
def nearest(starts, items, own, weight, pool, bound, found):
    """Where in the pool the record is that shares most; of equals the one of least utility, then the first record.

    ``bound`` is at least what each shares, and is brought down to it where it is looked at.
    """
    best, least, number, which = -1.0, 0.0, np.int64(0), np.int64(-1)
    for i in range(found):
        if bound[i] < best:
            continue
        p = pool[i]
        if bound[i] == best and (own[p] > least or (own[p] == least and p > number)):
            continue
        score = shared(starts, items, weight, p)
        bound[i] = score
        if score > best or (score == best and (own[p] < least or (own[p] == least and p < number))):
            best, least, number, which = score, own[p], np.int64(p), np.int64(i)
    return which


@linked
def limit(own, most, pool, bound, found):
    """What the records of a pool share at most: all that they have, or all that there is to share."""
    for i in range(found):
        bound[i] = min(own[pool[i]], most)


@linked
def worth_of(utility, items, first, last):
    """The utility of the items from ``first`` to ``last``."""
    worth = 0.0
    for j in range(first, last):
        worth += utility[items[j]]
    return worth


@linked
def share_with_all(starts, items, utility, begin, holders, r, score):
    """What each record shares with record ``r``."""
    score[:] = 0.0
    for j in range(starts[r], starts[r + 1]):
        item = items[j]
        u = utility[item]
        for p in range(begin[item], begin[item + 1]):
            score[holders[p]] += u


@compiled
def cluster(starts, items, utility, k, exact, by_shared, thesis, sample, most, begin, holders, tables, random):
    """Algorithm 4: the class of each record, and how many classes there are.

    Parameters
    ----------
    exact
        Whether all records that are left are candidates, found through ``begin``, ``holders``; else for each record
        that joins a new sample of at least ``sample``: those in the buckets of ``tables``, at most ``most`` of each,
        and others at random.
    by_shared
        Whether buckets are those of what the class shares so far; else those of its first record.
    thesis
        Whether records at random are looked at only where the buckets have none, and records that are left over join
        the class that is worth most with them.
    tables
        See :mod:`rothko.kernels.sets.lsh`; taken apart on the way.
    """
    n, m = starts.size - 1, utility.size
    own = own_utilities(starts, items, utility)
    classes = np.full(n, -1, dtype=np.int32)
    alive, where = np.arange(n).astype(np.int32), np.arange(n).astype(np.int32)
    weight, common = np.zeros(m, dtype=np.float64), np.empty(m, dtype=np.int32)
    pool, bound, score = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float64), np.empty(n, dtype=np.float64)
    stamp, now = np.zeros(n, dtype=np.int64), np.int64(0)
    keys = np.empty(tables.keys.shape[0], dtype=np.int32)
    # What each class shares, one after the other.
    length, at = np.zeros(n // k + 1, dtype=np.int64), np.zeros(n // k + 2, dtype=np.int64)
    held = np.empty(items.size, dtype=np.int32)
    left, made, old, found = np.int64(n), np.int64(0), draw(random, n), np.int64(0)
    while left >= k:
        first = _distant(
            starts, items, utility, own, exact, sample, begin, holders, old, alive, left, score, weight, random
        )
        left = _take(first, alive, where, left, tables)
        classes[first] = made
        if exact:
            share_with_all(starts, items, utility, begin, holders, first, score)
            for i in range(left):
                pool[i], bound[i] = alive[i], score[alive[i]]
            found = left
        c = open_set(starts, items, utility, first, weight, common)
        for joined in range(k - 1):
            if not exact:
                if joined == 0 or by_shared:
                    hash_set(tables.masks, common, 0, c, keys)
                now += 1
                found = gather(tables, keys, most, stamp, now, random, pool)
                if found == 0 or not thesis:
                    found = _fill(alive, left, sample, stamp, now, random, pool, found)
                limit(own, worth_of(utility, common, 0, c), pool, bound, found)
            i = nearest(starts, items, own, weight, pool, bound, found)
            p = pool[i]
            found -= 1
            pool[i], bound[i] = pool[found], bound[found]
            c = narrow(starts, items, p, common, c, weight)
            left = _take(p, alive, where, left, tables)
            classes[p] = made
        for i in range(c):
            held[at[made] + i] = common[i]
            weight[common[i]] = 0.0
        length[made], at[made + 1] = c, at[made] + c
        made, old = made + 1, first
    size = np.full(made, k, dtype=np.int64)
    worth = _worths(utility, at, length, held, made)
    while left > 0:
        r = alive[draw(random, left)]
        open_set(starts, items, utility, r, weight, common)
        best, c = -np.inf, np.int64(-1)
        for i in range(made):
            gain = _gain(held, at[i], length[i], weight, size[i], worth[i], thesis)
            if gain > best:
                best, c = gain, np.int64(i)
        _join(starts, items, utility, r, c, held, at, length, size, worth)
        classes[r] = c
        _close(starts, items, r, weight)
        left = _take(r, alive, where, left, tables)
    return classes, made


@linked
def _take(r, alive, where, left, tables):
    """Take a record out of those that are left: how many are."""
    left -= 1
    last, p = alive[left], where[r]
    alive[p], alive[left] = last, r
    where[last], where[r] = p, left
    remove(tables, r)
    return left


@linked
def _fill(alive, left, wanted, stamp, now, random, pool, found):
    """Add random records to the pool until there are so many; all, where that is more than half: how many."""
    if 2 * wanted >= left:
        for i in range(left):
            p = alive[i]
            if stamp[p] != now:
                stamp[p] = now
                pool[found] = p
                found += 1
    while found < wanted and found < left:
        p = alive[draw(random, left)]
        if stamp[p] != now:
            stamp[p] = now
            pool[found] = p
            found += 1
    return found


@linked
def _distant(starts, items, utility, own, exact, sample, begin, holders, old, alive, left, score, weight, random):
    """The record that is farthest from ``old``: all that only one of them has counts; of equals the first."""
    farthest, which = -1.0, np.int64(-1)
    if exact:
        share_with_all(starts, items, utility, begin, holders, old, score)
        for i in range(left):
            p = alive[i]
            far = own[p] - 2 * score[p]
            if which < 0 or far > farthest or (far == farthest and p < which):
                farthest, which = far, np.int64(p)
        return which
    for j in range(starts[old], starts[old + 1]):
        weight[items[j]] = utility[items[j]]
    for _ in range(sample):
        p = alive[draw(random, left)]
        far = own[p] - 2 * shared(starts, items, weight, p)
        if which < 0 or far > farthest or (far == farthest and p < which):
            farthest, which = far, np.int64(p)
    _close(starts, items, old, weight)
    return which


@inlined
def _close(starts, items, r, weight):
    for j in range(starts[r], starts[r + 1]):
        weight[items[j]] = 0.0


@linked
def _worths(utility, at, length, held, made):
    """The utility of what each class shares."""
    worth = np.zeros(made, dtype=np.float64)
    for c in range(made):
        worth[c] = worth_of(utility, held, at[c], at[c] + length[c])
    return worth


@inlined
def _gain(held, first, length, weight, size, worth, thesis):
    """By how much the utility of a class rises, or falls, with the record whose items are weighed.

    In the thesis what it is then.
    """
    both = 0.0
    for j in range(first, first + length):
        both += weight[held[j]]
    return (size + 1) * both - (0.0 if thesis else size * worth)


@linked
def _join(starts, items, utility, r, c, held, at, length, size, worth):
    """Add a record to a class."""
    kept, j, end = at[c], starts[r], starts[r + 1]
    both = 0.0
    for i in range(at[c], at[c] + length[c]):
        item = held[i]
        while j < end and items[j] < item:
            j += 1
        if j < end and items[j] == item:
            held[kept] = item
            kept += 1
            both += utility[item]
    length[c], worth[c] = kept - at[c], both
    size[c] += 1


@compiled
def join_all(
    starts, items, utility, loose, classes, size, at, length, held, worth, exact, thesis, sample, most, tables, random
):  # fmt: skip
    """Lines 10 to 13 of Algorithm 5: each loose record joins the class whose utility rises most, of equals the first.

    Candidates are all classes, or those of the records in its buckets and others at random, ``sample`` at least.
    In the thesis it joins the class whose utility is highest with it, and looks at random ones only where its buckets
    have none.
    """
    n, m, made = starts.size - 1, utility.size, size.size
    weight, common = np.zeros(m, dtype=np.float64), np.empty(m, dtype=np.int32)
    stamp, seen = np.zeros(n, dtype=np.int64), np.zeros(made, dtype=np.int64)
    pool = np.empty(min(n, most * tables.keys.shape[0]), dtype=np.int32)
    for i in range(loose.size):
        r, now = loose[i], i + 1
        open_set(starts, items, utility, r, weight, common)
        best, chosen = -np.inf, np.int64(-1)
        if exact or (made <= sample and not thesis):
            for c in range(made):
                gain = _gain(held, at[c], length[c], weight, size[c], worth[c], thesis)
                if gain > best:
                    best, chosen = gain, np.int64(c)
        else:
            looked = 0
            found = gather(tables, tables.keys[:, r], most, stamp, now, random, pool)
            for f in range(found + sample):
                if (f >= found and looked >= sample) or (f == found and thesis and looked > 0):
                    break
                c = np.int64(classes[pool[f]]) if f < found else draw(random, made)
                if c < 0 or seen[c] == now:
                    continue
                seen[c] = now
                looked += 1
                gain = _gain(held, at[c], length[c], weight, size[c], worth[c], thesis)
                if gain > best or (gain == best and c < chosen):
                    best, chosen = gain, c
        _join(starts, items, utility, r, chosen, held, at, length, size, worth)
        classes[r] = chosen
        _close(starts, items, r, weight)


@compiled
def distances(starts, items, utility, order, bounds):
    """The mean distance of two records of each class, ``order[bounds[c] : bounds[c + 1]]``; 0 where it has but one.

    An item that f of s records have sets f · (s − f) of the s · (s − 1) / 2 pairs apart.
    """
    apart, count = np.zeros(bounds.size - 1, dtype=np.float64), np.zeros(utility.size, dtype=np.int64)
    for c in range(apart.size):
        s = bounds[c + 1] - bounds[c]
        for i in range(bounds[c], bounds[c + 1]):
            for j in range(starts[order[i]], starts[order[i] + 1]):
                count[items[j]] += 1
        for i in range(bounds[c], bounds[c + 1]):
            for j in range(starts[order[i]], starts[order[i] + 1]):
                f = count[items[j]]
                apart[c] += utility[items[j]] * f * (s - f)
                count[items[j]] = 0
        apart[c] /= max(1, s * (s - 1) // 2)
    return apart
