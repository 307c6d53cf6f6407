"""In how many records sets are contained: the smallest number over many sets, for the verifier.

Sets that have their rarest item in common are asked about together, among the records of that item: in these a row of
bits is made for each item that is asked about, and the rows of a set are and-ed word by word. Where very many sets have
the next item in common, too, they are asked about among the records that have both, and so on.

So a record is taken up once for each of its items, not once for each set, and what is done for a set is a 64th of the
records of its rarest item.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.numbers import ones
from rothko.kernels.order import sort
from rothko.kernels.sets.records import has

WORDS = 64
"""Words of bits that are made at a time: those of an item are eight lines of a cache."""
BLOCK = 64 * WORDS
"""Records of as many bits."""
NUMBER = 32
"""Bits of a set's number, where its next item stands above them to sort by."""
NONE = np.int64(-1)


@compiled
def fewest_containing(begins, ends, asked_starts, asked, starts, items, holder_starts, holders, many, enough):
    """The smallest number of records that contain a set, over all sets asked about.

    A set is counted only up to the smallest number so far.

    Parameters
    ----------
    begins, ends
        Groups of sets that begin with the same item.
    asked_starts, asked
        Sets that are not empty, without repetition; their rarest items first.
    holder_starts, holders
        The records of each item, see :func:`rothko.kernels.sets.records.by_item`.
    many
        Sets with one more item in common from which on they are asked about by themselves.
    enough
        Counting stops here: the number of all records to know the very smallest number.
    """
    worst, most, longest = enough, np.int64(0), np.int64(0)
    for g in range(begins.size):
        item = asked[asked_starts[begins[g]]]
        most = max(most, holder_starts[item + 1] - holder_starts[item])
        for s in range(begins[g], ends[g]):
            longest = max(longest, asked_starts[s + 1] - asked_starts[s])
    row_of = np.full(holder_starts.size - 1, -1, dtype=np.int32)
    # Groups that wait: their sets, how many items they have in common, and where in ``room`` the records lie that have
    # all but the last of these. Those of the group itself go behind them: what lies there belongs to groups that are
    # done with.
    waiting = np.empty((64, 5), dtype=np.int64)
    room = np.empty(2 * most, dtype=np.int32)
    for g in range(begins.size):
        key = np.empty(ends[g] - begins[g], dtype=np.int64)
        for i in range(key.size):
            key[i] = begins[g] + i
        item = asked[asked_starts[begins[g]]]
        first = holder_starts[item]
        found = holder_starts[item + 1] - first
        for i in range(found):
            room[i] = holders[first + i]
        waiting[0] = 0
        waiting[0, 1], waiting[0, 2], waiting[0, 4] = key.size, 1, found
        depth = 1
        while depth > 0:
            depth -= 1
            begin, end, common = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2]
            low, high = waiting[depth, 3], waiting[depth, 4]
            if common > 1:
                if room.size < 2 * high - low:
                    wider = np.empty(2 * (2 * high - low), dtype=np.int32)
                    for i in range(high):
                        wider[i] = room[i]
                    room = wider
                item = asked[asked_starts[key[begin]] + common - 1]
                kept = high
                for i in range(low, high):
                    if has(starts, items, room[i], item):
                        room[kept] = room[i]
                        kept += 1
                low, high = high, kept
            if end - begin < many:
                worst = _among(
                    key, begin, end, common, asked_starts, asked, starts, items, room, low, high, row_of, longest, worst
                )
                continue
            _by_next(key, begin, end, common, asked_starts, asked)
            left, at = begin, begin
            while at < end:
                after = at + 1
                item = _next(key[at], common, asked_starts, asked)
                while after < end and _next(key[after], common, asked_starts, asked) == item:
                    after += 1
                if item == NONE:
                    worst = min(worst, high - low)
                    left = after
                elif after - at >= many:
                    worst = _among(
                        key, left, at, common, asked_starts, asked, starts, items, room, low, high, row_of, longest,
                        worst,
                    )  # fmt: skip
                    left = after
                    if depth == waiting.shape[0]:
                        deeper = np.empty((2 * depth, 5), dtype=np.int64)
                        deeper[:depth] = waiting
                        waiting = deeper
                    waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = at, after, common + 1
                    waiting[depth, 3], waiting[depth, 4] = low, high
                    depth += 1
                elif after - left >= many:
                    worst = _among(
                        key, left, after, common, asked_starts, asked, starts, items, room, low, high, row_of, longest,
                        worst,
                    )  # fmt: skip
                    left = after
                at = after
            worst = _among(
                key, left, end, common, asked_starts, asked, starts, items, room, low, high, row_of, longest, worst
            )
    return worst


@linked
def _next(s, common, asked_starts, asked):
    """The item of a set behind those that it has in common, or none."""
    at = asked_starts[s] + common
    return np.int64(asked[at]) if at < asked_starts[s + 1] else NONE


@linked
def _by_next(key, begin, end, common, asked_starts, asked):
    """Order sets by their next item."""
    shift, mask = np.int64(NUMBER), np.int64((1 << NUMBER) - 1)
    for i in range(begin, end):
        key[i] = ((_next(key[i], common, asked_starts, asked) + 1) << shift) | key[i]
    sort(key, begin, end)
    for i in range(begin, end):
        key[i] &= mask


@linked
def _among(key, begin, end, common, asked_starts, asked, starts, items, records, low, high, row_of, longest, worst):
    """The smallest number of some records that contain one of some sets, if it is below ``worst``.

    All records have the items that the sets have in common.
    """
    if begin == end:
        return worst
    rows = np.int32(0)
    for i in range(begin, end):
        for j in range(asked_starts[key[i]] + common, asked_starts[key[i] + 1]):
            if row_of[asked[j]] < 0:
                row_of[asked[j]] = rows
                rows += 1
    words = min(WORDS, (high - low + 63) >> 6)
    bits = np.empty((rows, words), dtype=np.uint64)
    mine = np.empty(longest, dtype=np.int64)
    alive, found = np.empty(end - begin, dtype=np.int64), np.zeros(end - begin, dtype=np.int64)
    for i in range(end - begin):
        alive[i] = key[begin + i]
    left = end - begin
    for block in range(low, high, BLOCK):
        if left == 0:
            break
        upto = min(block + BLOCK, high)
        full = (upto - block + 63) >> 6
        for row in range(rows):
            for w in range(full):
                bits[row, w] = np.uint64(0)
        for i in range(block, upto):
            r, place = records[i], i - block
            one = np.uint64(1) << np.uint64(place & 63)
            for j in range(starts[r], starts[r + 1]):
                row = row_of[items[j]]
                if row >= 0:
                    bits[row, place >> 6] |= one
        last = ~np.uint64(0) >> np.uint64(64 * full - (upto - block))
        kept = 0
        for i in range(left):
            s, total, length = alive[i], found[i], np.int64(0)
            for j in range(asked_starts[s] + common, asked_starts[s + 1]):
                mine[length] = row_of[asked[j]]
                length += 1
            for w in range(full):
                word = last if w == full - 1 else ~np.uint64(0)
                for j in range(length):
                    word &= bits[mine[j], w]
                    if word == np.uint64(0):
                        break
                if word != np.uint64(0):
                    total += ones(word)
                    if total >= worst:
                        break
            if total < worst:
                alive[kept], found[kept] = s, total
                kept += 1
        left = kept
    for i in range(left):
        worst = min(worst, found[i])
    for i in range(begin, end):
        for j in range(asked_starts[key[i]] + common, asked_starts[key[i] + 1]):
            row_of[asked[j]] = -1
    return worst
