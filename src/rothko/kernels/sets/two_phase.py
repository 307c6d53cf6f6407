"""Two-phase aggregation for sets, compiled: Podgursky, Algorithms 6 to 8.

Items are numbered by what they are worth in all records, utility × frequency, the most valuable first, and stand in
this order in a record. Then the item that a class drops is its last one, and as a class that is merged into another
takes that one's set, the set of every class is the first so many items of the record that founded it. A set is known by
the sum of random numbers of its items (:mod:`rothko.kernels.sets.by_sum`). Two sets with the same sum would come into
one class, which would publish less than it could and break no promise.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.sets.by_sum import NOBODY, empty, let_in, look_up, may_hold, remove, sieve_for, table_for
from rothko.kernels.sets.records import has

WORTHWHILE = 8
"""A sieve is made where it holds fewer than so many sets for each class that looks through it."""


# ── The first phase


@linked
def _enter(queue, before, after, place, owner):
    head = queue[place]
    before[owner] = NOBODY
    after[owner] = head
    if head != NOBODY:
        before[head] = owner
    queue[place] = owner


@linked
def _leave(queue, before, after, place, owner):
    if before[owner] != NOBODY:
        after[before[owner]] = after[owner]
    else:
        queue[place] = after[owner]
    if after[owner] != NOBODY:
        before[after[owner]] = before[owner]


@linked
def _found(starts, items, worth, marks):
    """Classes of equal records, as lists: each is known by the record that founded it, its first one."""
    n = len(starts) - 1
    following = np.full(n, NOBODY, dtype=np.int32)
    last = np.arange(n).astype(np.int32)
    size = np.zeros(n, dtype=np.int32)
    key = np.zeros(n, dtype=np.uint64)
    value = np.zeros(n)
    keys, owners = table_for(n)
    for i in range(n):
        total = np.uint64(0)
        for j in range(starts[i], starts[i + 1]):
            total += marks[items[j]]
            value[i] += worth[items[j]]
        key[i] = total
        at = look_up(keys, owners, total)
        if owners[at] == NOBODY:
            keys[at], owners[at] = total, i
            size[i] = 1
        else:
            owner = owners[at]
            following[last[owner]] = i
            last[owner] = i
            size[owner] += 1
    return following, last, size, key, value, keys, owners


@linked
def _fill_up(following, last, size, value, length, k):
    """Where fewer than k records have nothing left to drop: the cheapest records of other classes join them.

    They come from the classes whose sets are worth least, as long as these keep k records; where no class has more
    than k, the one that is worth least comes as a whole.
    """
    none = NOBODY
    for c in range(len(size)):
        if 0 < size[c] < k and length[c] == 0:
            none = c
    while none != NOBODY and size[none] < k:
        donor, whole = NOBODY, NOBODY
        for c in range(len(size)):
            if c != none and size[c] > k and (donor == NOBODY or value[c] < value[donor]):
                donor = c
            if c != none and size[c] > 0 and (whole == NOBODY or value[c] * size[c] < value[whole] * size[whole]):
                whole = c
        if donor == NOBODY:
            following[last[none]] = whole
            last[none] = last[whole]
            size[none] += size[whole]
            size[whole] = 0
            continue
        for _ in range(min(size[donor] - k, k - size[none])):
            record = following[donor]  # behind the founder, by whom the class is known
            following[donor] = following[record]
            if last[donor] == record:
                last[donor] = donor
            following[record] = NOBODY
            following[last[none]] = record
            last[none] = record
            size[donor] -= 1
            size[none] += 1


@compiled
def merge(starts, items, worth, marks, k):
    """Algorithm 7: the smallest class joins one that it reaches by dropping an item, or drops its least valuable one.

    Of classes of the same size the one with the least valuable last item comes first, and of these the last one that
    got there (at first, the last one founded). Small sets would otherwise be gone before large ones come down to them.

    Parameters
    ----------
    starts, items
        At least k records; items are numbered by utility × frequency, falling, and rise within a record.
    worth
        The utility of each item.
    marks
        A random number for each item.

    Returns
    -------
    For each record the next one of its class or -1; the last record and the size of each class, which is known by the
    record that founded it, its first one (size 0: no class).
    """
    n = len(starts) - 1
    following, last, size, key, value, keys, owners = _found(starts, items, worth, marks)
    length = np.empty(n, dtype=np.int32)
    for i in range(n):
        length[i] = starts[i + 1] - starts[i]
    queue = np.full(len(worth), NOBODY, dtype=np.int32)  # the smallest classes, by the last item
    before = np.full(n, NOBODY, dtype=np.int32)
    after = np.full(n, NOBODY, dtype=np.int32)
    queued = np.zeros(len(worth), dtype=np.int32)
    larger = np.empty(len(worth), dtype=np.int32)  # all others, by the last item
    beyond = np.empty(n, dtype=np.int32)
    standing = np.empty(len(worth), dtype=np.int32)
    sieve = sieve_for(n)
    classes = np.arange(n).astype(np.int32)
    n_classes = n
    for small in range(1, k):
        kept = 0
        larger[:] = NOBODY
        standing[:] = 0
        for p in range(n_classes):
            c = classes[p]
            if size[c] >= small and length[c] > 0:
                classes[kept] = c
                kept += 1
                rank = items[starts[c] + length[c] - 1]
                if size[c] == small:
                    _enter(queue, before, after, rank, c)
                    queued[rank] += 1
                else:
                    beyond[c], larger[rank] = larger[rank], c
                    standing[rank] += 1
        n_classes = kept
        for rank in range(len(worth) - 1, -1, -1):
            # What drops another item than the last still has this last item, and no class comes to have it any more.
            sifted = standing[rank] < WORTHWHILE * queued[rank]
            mask = np.uint64(0)
            if sifted:
                mask = empty(sieve, standing[rank] + queued[rank])
                let_in(sieve, mask, key, queue[rank], after)
                let_in(sieve, mask, key, larger[rank], beyond)
            while queue[rank] != NOBODY:
                c = queue[rank]
                _leave(queue, before, after, rank, c)
                queued[rank] -= 1
                remove(keys, owners, key[c])
                begin, end = starts[c], starts[c] + length[c]
                shorter = look_up(keys, owners, key[c] - marks[rank])
                best, most = owners[shorter], -1.0
                if best != NOBODY:
                    most = (size[best] + small) * (value[c] - worth[rank])
                for j in range(end - 2, begin - 1, -1):
                    wanted = key[c] - marks[items[j]]
                    if sifted and not may_hold(sieve, mask, wanted):
                        continue
                    other = owners[look_up(keys, owners, wanted)]
                    if other != NOBODY:
                        gain = (size[other] + small) * (value[c] - worth[items[j]])
                        if gain > most:
                            best, most = other, gain
                if best == NOBODY:
                    length[c] -= 1
                    key[c] -= marks[rank]
                    value[c] -= worth[rank]
                    keys[shorter], owners[shorter] = key[c], c
                    if length[c] > 0:
                        lower = items[end - 2]
                        _enter(queue, before, after, lower, c)
                        queued[lower] += 1
                    continue
                if size[best] == small and length[best] > 0:
                    lower = items[starts[best] + length[best] - 1]
                    _leave(queue, before, after, lower, best)
                    queued[lower] -= 1
                    beyond[best], larger[lower] = larger[lower], best
                    standing[lower] += 1
                following[last[best]] = c
                last[best] = last[c]
                size[best] += small
                size[c] = 0
    _fill_up(following, last, size, value, length, k)
    return following, last, size


# ── The second phase


@linked
def _count(first, following, starts, items, counts, touched):
    """Count the items of a class's records; returns how many different ones there are."""
    length = 0
    record = first
    while record != NOBODY:
        for j in range(starts[record], starts[record + 1]):
            item = items[j]
            if counts[item] == 0:
                touched[length] = item
                length += 1
            counts[item] += 1
        record = following[record]
    return length


@linked
def _shared_key(size, counts, touched, length, marks):
    """The key of the items that all records of a class have."""
    total = np.uint64(0)
    for x in range(length):
        if counts[touched[x]] == size:
            total += marks[touched[x]]
    return total


@linked
def _best_item(size, key, counts, touched, length, worth, marks, keys, owners, k):
    """The item that gains most when records that have it move to the class with it, or -1."""
    best, most = NOBODY, 0.0
    for x in range(length):
        item = touched[x]
        having = counts[item]
        if having == 0 or having == size:
            continue
        gain = worth[item] * min(having, size - k)
        if gain < most or (gain == most and (best == NOBODY or item > best)):
            continue
        if (size >= 2 * k and having >= k) or owners[look_up(keys, owners, key + marks[item])] != NOBODY:
            best, most = item, gain
    return best


@linked
def _move(c, dest, item, most, first, following, last, size, starts, items, counts):
    """Move records with an item from one class to another, in their order, ``most`` at most."""
    record, previous, moved = first[c], NOBODY, 0
    while record != NOBODY and moved < most:
        after = following[record]
        if has(starts, items, record, item):
            if previous == NOBODY:
                first[c] = after
            else:
                following[previous] = after
            if after == NOBODY:
                last[c] = previous
            following[record] = NOBODY
            if first[dest] == NOBODY:
                first[dest] = record
            else:
                following[last[dest]] = record
            last[dest] = record
            for j in range(starts[record], starts[record + 1]):
                counts[items[j]] -= 1
            moved += 1
        else:
            previous = record
        record = after
    size[c] -= moved
    size[dest] += moved


@linked
def _unite(c, other, first, following, last, size):
    """Let the records of class ``c``, which is none then, follow those of another."""
    following[last[other]] = first[c]
    last[other] = last[c]
    size[other] += size[c]
    size[c] = 0
    first[c] = NOBODY


@compiled
def split_back(first, following, last, size, starts, items, worth, marks, k, again):
    """Algorithm 8: close every class, then move records to the class with one item more, where that is allowed.

    Of the items that may be added the one with the largest gain comes first.

    Parameters
    ----------
    first, following, last, size
        The classes as lists of records; changed in place. There is room for n // k classes at least.
    again
        Whether a class is closed anew whenever records have come or gone; where another has the same set then, the two
        become one. Else it is known by the set that it was closed to, and by what was added.
    """
    m = len(worth)
    n_classes = 0
    for c in range(len(size)):
        if size[c] > 0:
            n_classes = c + 1
    room = len(size)
    key = np.zeros(room, dtype=np.uint64)
    keys, owners = table_for(room)
    counts = np.zeros(m, dtype=np.int32)
    touched = np.empty(m, dtype=np.int32)
    free = np.empty(room, dtype=np.int32)
    n_free = 0
    waiting = np.empty(room + 1, dtype=np.int32)  # a ring: every class waits once at most
    waits = np.zeros(room, dtype=np.bool_)
    head, tail = 0, 0
    for c in range(room - 1, -1, -1):
        if size[c] == 0:
            free[n_free] = c
            n_free += 1
    for c in range(n_classes):
        if size[c] == 0:
            continue
        length = _count(first[c], following, starts, items, counts, touched)
        key[c] = _shared_key(size[c], counts, touched, length, marks)
        for x in range(length):
            counts[touched[x]] = 0
        at = look_up(keys, owners, key[c])
        if owners[at] == NOBODY:
            keys[at], owners[at] = key[c], c
            waiting[tail] = c
            tail += 1
            waits[c] = True
        else:
            _unite(c, owners[at], first, following, last, size)
            free[n_free] = c
            n_free += 1
    while head != tail:
        c = waiting[head]
        head = (head + 1) % (room + 1)
        waits[c] = False
        if size[c] == 0:
            continue
        length = _count(first[c], following, starts, items, counts, touched)
        while True:
            closed = _shared_key(size[c], counts, touched, length, marks)
            if again and closed != key[c]:
                remove(keys, owners, key[c])
                at = look_up(keys, owners, closed)
                other = owners[at]
                if other != NOBODY:
                    _unite(c, other, first, following, last, size)
                    free[n_free] = c
                    n_free += 1
                    if not waits[other]:
                        waits[other] = True
                        waiting[tail] = other
                        tail = (tail + 1) % (room + 1)
                    break
                key[c] = closed
                keys[at], owners[at] = closed, c
            if size[c] <= k:
                break
            item = _best_item(size[c], key[c], counts, touched, length, worth, marks, keys, owners, k)
            if item == NOBODY:
                break
            wanted = key[c] + marks[item]
            at = look_up(keys, owners, wanted)
            dest = owners[at]
            if dest == NOBODY:
                n_free -= 1
                dest = free[n_free]
                key[dest] = wanted
                keys[at], owners[at] = wanted, dest
                first[dest], last[dest] = NOBODY, NOBODY
            _move(c, dest, item, size[c] - k, first, following, last, size, starts, items, counts)
            if not waits[dest]:
                waits[dest] = True
                waiting[tail] = dest
                tail = (tail + 1) % (room + 1)
        for x in range(length):
            counts[touched[x]] = 0


@compiled
def class_numbers(first, following, size, starts, items, worth):
    """The class of each record, numbered without gaps, and the utility that the classes publish."""
    out = np.empty(len(starts) - 1, dtype=np.int32)
    counts = np.zeros(len(worth), dtype=np.int32)
    touched = np.empty(len(worth), dtype=np.int32)
    number, kept = 0, 0.0
    for c in range(len(size)):
        if size[c] == 0:
            continue
        length = _count(first[c], following, starts, items, counts, touched)
        for x in range(length):
            if counts[touched[x]] == size[c]:
                kept += worth[touched[x]] * size[c]
            counts[touched[x]] = 0
        record = first[c]
        while record != NOBODY:
            out[record] = number
            record = following[record]
        number += 1
    return out, kept
