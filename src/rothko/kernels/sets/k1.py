"""(k,1)-anonymity of sets: for each record a set that at least k records contain.

Bottom up as in Podgursky, "Practical k-Anonymity on Large Datasets", Algorithm 9: k records are gathered around each
one. Top down, ours: the set grows item by item while at least k records contain it.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.numbers import draw, mixed, ones
from rothko.kernels.order import sort
from rothko.kernels.sets.cluster import narrow, open_set, own_utilities, share_with_all, shared, worth_of
from rothko.kernels.sets.lsh import gather, hash_set
from rothko.kernels.sets.records import has


@linked
def jitter(seed, a, b, noise):
    """A factor between 1 and 1 + noise, the same for the same seed and numbers."""
    z = mixed(mixed(seed, np.uint64(a)), np.uint64(b))
    return 1.0 + noise * (np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0))


@compiled
def sign(starts, items, bit_of, words):
    """The signature of each record, (records, words): the bits of its items; nothing where there are no words."""
    signatures = np.zeros((starts.size - 1, words), dtype=np.uint64)
    for r in range(starts.size - 1 if words > 0 else 0):
        for j in range(starts[r], starts[r + 1]):
            bit = bit_of[items[j]]
            signatures[r, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return signatures


@compiled
def gather_k(
    starts, items, utility, k, first, last, exact, by_shared, sample, most, noise, begin, holders, tables, bit_of,
    signatures, seed, chosen,
):  # fmt: skip
    """Algorithm 9 for the records from ``first`` to ``last``: marks in ``chosen`` the items that each publishes.

    Candidates are all records or, as in :func:`rothko.kernels.sets.cluster.cluster`, samples: a new one whenever nobody
    that was looked at has all that is shared. Records that have it are taken, as many as need be; then the one that
    shares most, which counts up to ``noise`` more, at random; of equals the first record.

    What a candidate of a sample may share is told by its signature (:func:`sign`), so that few are looked at.
    """
    n, m = starts.size - 1, utility.size
    own = own_utilities(starts, items, utility)
    weight, common = np.zeros(m, dtype=np.float64), np.empty(m, dtype=np.int32)
    pool, bound, score = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float64), np.empty(n, dtype=np.float64)
    stamp = np.full(n, -1, dtype=np.int64)
    keys, random = np.empty(tables.keys.shape[0], dtype=np.int32), np.empty(1, dtype=np.uint64)
    signed = np.empty((signatures.shape[1], n), dtype=np.uint64)  # of the pool; no more of it is touched than is used
    exact = exact or 2 * max(sample, 2 * k) >= n
    for r in range(first, last):
        stamp[r] = r
        random[0] = mixed(seed, np.uint64(r))
        found, missing = np.int64(0), np.int64(k - 1)
        c = open_set(starts, items, utility, r, weight, common)
        if exact:
            share_with_all(starts, items, utility, begin, holders, r, score)
            for p in range(n):
                if p != r:
                    pool[found], bound[found] = p, score[p]
                    found += 1
        else:
            hash_set(tables.masks, common, 0, c, keys)
        while missing > 0 and c > 0:
            worth = worth_of(utility, common, 0, c)
            before = found
            found, c = _take_equals(
                starts, items, weight, worth, common, c, pool, bound, signed, np.int64(0), found, missing
            )
            missing -= before - found
            if missing > 0 and not exact:
                if by_shared:
                    hash_set(tables.masks, common, 0, c, keys)
                before = found
                found += gather(tables, keys, most, stamp, r, random, pool[found:])
                while found - before < sample and 2 * found < n:
                    p = draw(random, n)
                    if stamp[p] != r:
                        stamp[p] = r
                        pool[found] = p
                        found += 1
                _admit(own, signatures, pool, bound, signed, before, found)
                _lower(utility, common, c, bit_of, signed, score, bound, found)
                new = found
                found, c = _take_equals(
                    starts, items, weight, worth, common, c, pool, bound, signed, before, found, missing
                )
                missing -= new - found
            if missing > 0 and found > 0:
                i = _most_shared(starts, items, weight, noise, seed, r, pool, bound, found)
                c = narrow(starts, items, pool[i], common, c, weight)
                found -= 1
                _put(pool, bound, signed, found, i)
                missing -= 1
        _mark(starts, items, r, common, c, weight, chosen)


@compiled
def gather_anew(
    starts, items, utility, k, first, last, by_shared, sample, noise, tables, bit_of, signatures, seed, chosen
):
    """Algorithm 9 with the search of Algorithm 11, for the records from ``first`` to ``last``: as :func:`gather_k`.

    The buckets are asked anew for each record that joins, and candidates are all who are in them, and nobody beside.
    The same buckets hold the same records, less those that joined: they are looked into where they are others. Where
    they have nobody left, ``sample`` records are drawn at random.
    """
    n, m = starts.size - 1, utility.size
    own = own_utilities(starts, items, utility)
    weight, common = np.zeros(m, dtype=np.float64), np.empty(m, dtype=np.int32)
    pool, bound, score = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float64), np.empty(n, dtype=np.float64)
    stamp, now, joined = np.zeros(n, dtype=np.int64), np.int64(0), np.empty(k, dtype=np.int32)
    keys, random = np.empty(tables.keys.shape[0], dtype=np.int32), np.empty(1, dtype=np.uint64)
    asked, signed = np.empty_like(keys), np.empty((signatures.shape[1], n), dtype=np.uint64)
    for r in range(first, last):
        random[0] = mixed(seed, np.uint64(r))
        joined[0], size, found, anew = r, np.int64(1), np.int64(0), True
        c = open_set(starts, items, utility, r, weight, common)
        hash_set(tables.masks, common, 0, c, keys)
        while size < k and c > 0:
            if by_shared:
                hash_set(tables.masks, common, 0, c, keys)
            if anew or found == 0 or not np.array_equal(keys, asked):
                asked[:] = keys
                now += 1
                stamp[joined[:size]] = now
                found = gather(tables, keys, n, stamp, now, random, pool)
                anew = found == 0
                if anew:
                    found = _draw(n, sample, stamp, now, random, pool)
                _admit(own, signatures, pool, bound, signed, 0, found)
                _lower(utility, common, c, bit_of, signed, score, bound, found)
            worth, before = worth_of(utility, common, 0, c), found
            found, c = _take_equals(
                starts, items, weight, worth, common, c, pool, bound, signed, np.int64(0), found, k - size
            )
            if found == before:
                i = _most_shared(starts, items, weight, noise, seed, r, pool, bound, found)
                c = narrow(starts, items, pool[i], common, c, weight)
                found -= 1
                _put(pool, bound, signed, found, i)
            joined[size : size + before - found] = pool[found:before]
            size += before - found
        _mark(starts, items, r, common, c, weight, chosen)


@linked
def _draw(n, sample, stamp, now, random, pool):
    """Draw so many records at random, or until there is one: how many there are without those with a stamp."""
    found, drawn = np.int64(0), 0
    while drawn < sample or found == 0:
        p = draw(random, n)
        drawn += 1
        if stamp[p] != now:
            stamp[p] = now
            pool[found] = p
            found += 1
    return found


@linked
def _admit(own, signatures, pool, bound, signed, first, found):
    """Bound what the candidates from ``first`` on share by what they have, and copy their signatures."""
    for i in range(first, found):
        bound[i] = own[pool[i]]
        for w in range(signed.shape[0]):
            signed[w, i] = signatures[pool[i], w]


@linked
def _mark(starts, items, r, common, c, weight, chosen):
    """Mark the items of a record that are shared, which are weighed no longer."""
    j = starts[r]
    for i in range(c):
        while items[j] != common[i]:
            j += 1
        chosen[j] = True
        weight[common[i]] = 0.0


@linked
def _lower(utility, common, c, bit_of, signed, score, bound, found):
    """Bring bounds down to the utility of those common items whose bit a candidate's signature has.

    Summed in the order of :func:`rothko.kernels.sets.cluster.shared`: so it is never less than that, to the last digit.
    """
    score[:found] = 0.0
    for i in range(c):
        bit, u = bit_of[common[i]], utility[common[i]]
        row, mask = signed[bit >> 6], np.uint64(1) << np.uint64(bit & 63)
        for p in range(found):
            score[p] += u if row[p] & mask else 0.0
    for p in range(found):
        bound[p] = min(bound[p], score[p])


@linked
def _put(pool, bound, signed, one, other):
    """Put a candidate in the place of another, which is told behind it."""
    pool[other], pool[one], bound[other] = pool[one], pool[other], bound[one]
    for w in range(signed.shape[0]):
        signed[w, other] = signed[w, one]


@linked
def _take_equals(starts, items, weight, worth, common, c, pool, bound, signed, first, found, most):
    """Take at most so many out of the pool, from ``first`` on, that have all utility that is shared.

    Returns how many are left, and how many items are shared: some without utility may be lost.
    """
    i, last = first, found - most
    while i < found and found > last:
        if bound[i] >= worth:
            bound[i] = shared(starts, items, weight, pool[i])
            if bound[i] == worth:
                c = narrow(starts, items, pool[i], common, c, weight)
                found -= 1
                _put(pool, bound, signed, found, i)
                continue
        i += 1
    return found, c


@linked
def _most_shared(starts, items, weight, noise, seed, r, pool, bound, found):
    """Where in the pool the record is that shares most; ``bound`` as in :func:`rothko.kernels.sets.cluster.nearest`."""
    best, number, which = -1.0, np.int64(0), np.int64(-1)
    for i in range(found):
        p = pool[i]
        if bound[i] * (1.0 + noise) < best:
            continue
        bound[i] = shared(starts, items, weight, p)
        score = bound[i] * jitter(seed, r, p, noise)
        if score > best or (score == best and p < number):
            best, number, which = score, np.int64(p), np.int64(i)
    return which


# ── Top down


@linked
def narrow_support(starts, items, support, have, item):
    """Move the records with an item to the front: how many there are."""
    kept = np.int64(0)
    for i in range(have):
        r = support[i]
        if has(starts, items, r, item):
            support[i], support[kept] = support[kept], r
            kept += 1
    return kept


@linked
def count_support(starts, items, support, have, counts, touched):
    """Count the items of the supporting records: how many items there are."""
    some = np.int64(0)
    for i in range(have):
        r = support[i]
        for j in range(starts[r], starts[r + 1]):
            item = items[j]
            if counts[item] == 0:
                touched[some] = item
                some += 1
            counts[item] += 1
    return some


@linked
def grow(bits, words, rows, wish, count, have, k, taken):
    """Grow a set of items greedily while at least k records hold it: most wish for the log of records that it costs.

    Parameters
    ----------
    bits, rows
        Which of the ``have`` records have an item; item i has the row ``rows[i]``.
    taken
        Which of the ``count`` items are taken is written here.
    """
    current = np.full(words, ~np.uint64(0), dtype=np.uint64)
    for i in range(count):
        taken[i] = False
    while True:
        top, which, most = -1.0, -1, np.int64(0)
        for i in range(count):
            if taken[i]:
                continue
            now = np.int64(0)
            for w in range(words):
                now += ones(bits[rows[i], w] & current[w])
            if now == have:
                taken[i] = True
            elif now >= k:
                good = wish[i] / np.log(have / now)
                if good > top:
                    top, which, most = good, i, now
        if which < 0:
            break
        taken[which] = True
        have = most
        for w in range(words):
            current[w] &= bits[rows[which], w]


@linked
def finish(starts, items, worth, k, group, support, have, counts, bits, row_of, noise, seed, chosen):
    """Grow the sets of some records one by one, with the same supporting records: marks them in ``chosen``.

    Returns the rows of bits, of which there may now be more.
    """
    used, longest = 0, np.int64(0)
    for r in group:
        longest = max(longest, starts[r + 1] - starts[r])
        for j in range(starts[r], starts[r + 1]):
            item = items[j]
            if not chosen[j] and k <= counts[item] < have and row_of[item] < 0:
                row_of[item] = used
                used += 1
    if used > bits.shape[0]:
        bits = np.empty((2 * used, bits.shape[1]), dtype=np.uint64)
    words = (have + 63) // 64
    bits[:used, :words] = 0
    for i in range(have):
        r = support[i]
        for j in range(starts[r], starts[r + 1]):
            row = row_of[items[j]]
            if row >= 0:
                bits[row, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    rows, places = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int64)
    wish, taken = np.empty(longest, dtype=np.float64), np.empty(longest, dtype=np.bool_)
    for r in group:
        count = 0
        for j in range(starts[r], starts[r + 1]):
            item = items[j]
            if not chosen[j] and counts[item] == have:
                chosen[j] = True
            elif not chosen[j] and counts[item] >= k:
                rows[count], places[count] = row_of[item], j
                wish[count] = worth[item] * jitter(seed, r, item, noise)
                count += 1
        grow(bits, words, rows, wish, count, have, k, taken)
        for i in range(count):
            if taken[i]:
                chosen[places[i]] = True
    for r in group:
        for j in range(starts[r], starts[r + 1]):
            row_of[items[j]] = -1
    return bits


@compiled
def branch(starts, items, worth, k, group, have, counts, noise, seed, path, chosen):
    """Each record takes the best item that it has: which (-1: none is allowed). The group is sorted by it.

    The best is that of :func:`grow`.
    """
    key = np.empty(group.size, dtype=np.int64)
    for g in range(group.size):
        r = group[g]
        top, which = -1.0, np.int64(-1)
        for j in range(starts[r], starts[r + 1]):
            item = items[j]
            if chosen[j]:
                continue
            if counts[item] == have:
                chosen[j] = True
            elif counts[item] >= k:
                good = worth[item] * jitter(seed, path, item, noise) / np.log(have / counts[item])
                if good > top:
                    top, which = good, np.int64(j)
        key[g] = np.int64(r)
        if which >= 0:
            chosen[which] = True
            key[g] |= np.int64(items[which] + 1) << 32
    sort(key, 0, key.size)
    taken = np.empty(group.size, dtype=np.int64)
    for g in range(group.size):
        group[g] = np.int32(key[g] & 0x7FFFFFFF)
        taken[g] = (key[g] >> 32) - 1
    return taken


@compiled
def descend(starts, items, worth, k, roots, bounds, group, begin, holders, ratio, cap, noise, seed, chosen):
    """Grow the sets of records top down; marks in ``chosen`` the items that each publishes.

    A node has the items on its path, records whose sets begin with them, and *supporting* records, which contain them.

    Parameters
    ----------
    worth
        Utility of the items, above 0.
    roots, bounds, group
        The records ``group[bounds[i] : bounds[i + 1]]`` begin with the item ``roots[i]`` (-1: with none), which is
        marked already. They are put into another order.
    begin, holders
        The records of each item.
    ratio, cap
        Supporting records that are looked at: at most ``ratio`` for each record of a node, or ``cap``; with no more
        than ``cap`` the sets of its records are grown one by one.
    noise, seed
        Items count up to ``noise`` more, at random.
    """
    m, n = worth.size, starts.size - 1
    # All nodes on a path have the first of the same supporting records.
    support = np.empty(n, dtype=np.int32)
    counts, touched = np.zeros(m, dtype=np.int64), np.empty(m, dtype=np.int32)
    row_of, bits = np.full(m, -1, dtype=np.int32), np.empty((64, (min(cap, n) + 63) // 64), dtype=np.uint64)
    random = np.empty(1, dtype=np.uint64)
    # Nodes on the stack have records of their own.
    stack, paths = np.empty((group.size + 1, 4), dtype=np.int64), np.empty(group.size + 1, dtype=np.uint64)
    for root in range(roots.size):
        item, have = roots[root], np.int64(n)
        if item < 0:
            for r in range(n):
                support[r] = r
        else:
            have = begin[item + 1] - begin[item]
            support[:have] = holders[begin[item] : begin[item + 1]]
        random[0] = mixed(seed, np.uint64(item + 1))
        stack[0], paths[0] = (have, -1, bounds[root], bounds[root + 1]), random[0]
        nodes = 1
        while nodes > 0:
            nodes -= 1
            have, item, low, high = stack[nodes]
            path = paths[nodes]
            if item >= 0:
                have = narrow_support(starts, items, support, have, item)
            limit = max(cap, ratio * (high - low))
            if have > limit:
                for i in range(limit):
                    j = i + draw(random, have - i)
                    support[i], support[j] = support[j], support[i]
                have = limit
            some = count_support(starts, items, support, have, counts, touched)
            held = group[low:high]
            if have <= cap:
                bits = finish(starts, items, worth, k, held, support, have, counts, bits, row_of, noise, seed, chosen)
            else:
                taken = branch(starts, items, worth, k, held, have, counts, noise, seed, path, chosen)
                at = np.int64(0)
                for g in range(1, taken.size + 1):
                    if g == taken.size or taken[g] != taken[at]:
                        if taken[at] >= 0:
                            stack[nodes] = (have, taken[at], low + at, low + g)
                            paths[nodes] = mixed(path, np.uint64(taken[at]))
                            nodes += 1
                        at = np.int64(g)
            for i in range(some):
                counts[touched[i]] = 0


@compiled
def mark_shared(starts, items, utility, classes, common_starts, common, chosen):
    """Mark what a record's class shares, in place of what is marked, where that has more utility."""
    for r in range(starts.size - 1):
        c, now, other = classes[r], 0.0, 0.0
        for j in range(starts[r], starts[r + 1]):
            if chosen[j]:
                now += utility[items[j]]
        for i in range(common_starts[c], common_starts[c + 1]):
            other += utility[common[i]]
        if other > now:
            i = common_starts[c]
            for j in range(starts[r], starts[r + 1]):
                chosen[j] = i < common_starts[c + 1] and items[j] == common[i]
                if chosen[j]:
                    i += 1
