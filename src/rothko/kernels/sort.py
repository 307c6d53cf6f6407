"""Sorting records by keys of several words."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled

FEW = 24
"""Up to so many records are sorted by insertion."""
MANY = 4096
"""From so many on, digits have 11 bits rather than 8."""


@compiled
def _insert(words, first_word, order, begin, end):
    """Sort a few records by all words from one on."""
    count = words.shape[0]
    for i in range(begin + 1, end):
        record = order[i]
        j = i
        while j > begin:
            other = order[j - 1]
            w = first_word
            while w < count and words[w, other] == words[w, record]:
                w += 1
            if w == count or words[w, other] < words[w, record]:
                break
            order[j] = other
            j -= 1
        order[j] = record


@compiled
def _radix(keys, order, begin, end, spare_keys, spare, counts):
    """Sort records by one word, keeping the order of equal ones; digits that all have in common are passed over."""
    n = end - begin
    width = 11 if n >= MANY else 8
    digits = (64 + width - 1) // width
    mask = np.uint64((1 << width) - 1)
    for digit in range(digits):
        for c in range(1 << width):
            counts[digit, c] = 0
    for i in range(begin, end):
        key = keys[i]
        for digit in range(digits):
            counts[digit, (key >> np.uint64(digit * width)) & mask] += 1
    flipped = False
    for digit in range(digits):
        shift = np.uint64(digit * width)
        if counts[digit, ((spare_keys if flipped else keys)[begin] >> shift) & mask] == n:
            continue
        at = begin
        for c in range(1 << width):
            count = counts[digit, c]
            counts[digit, c] = at
            at += count
        if flipped:
            for i in range(begin, end):
                c = (spare_keys[i] >> shift) & mask
                to = counts[digit, c]
                counts[digit, c] = to + 1
                keys[to] = spare_keys[i]
                order[to] = spare[i]
        else:
            for i in range(begin, end):
                c = (keys[i] >> shift) & mask
                to = counts[digit, c]
                counts[digit, c] = to + 1
                spare_keys[to] = keys[i]
                spare[to] = order[i]
        flipped = not flipped
    if flipped:
        for i in range(begin, end):
            keys[i] = spare_keys[i]
            order[i] = spare[i]


@compiled
def sort_by_words(words, order):
    """Sort records by the words of their keys, the first counting most; equal ones keep their order.

    By the first word, then runs of equal ones by the next, and so on.
    """
    n, count = order.size, words.shape[0]
    keys, spare_keys = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    spare = np.empty(n, dtype=np.int32)
    counts = np.empty((8, 1 << 11), dtype=np.int64)
    # Runs to be sorted: where they begin and end, and by which word.
    waiting = [(np.int64(0), np.int64(n), np.int64(0))]
    while len(waiting) > 0:
        begin, end, w = waiting.pop()
        if end - begin <= FEW:
            _insert(words, w, order, begin, end)
            continue
        for i in range(begin, end):
            keys[i] = words[w, order[i]]
        _radix(keys, order, begin, end, spare_keys, spare, counts)
        if w + 1 == count:
            continue
        i = begin
        while i < end:
            j = i + 1
            while j < end and keys[j] == keys[i]:
                j += 1
            if j - i > 1:
                waiting.append((i, j, w + 1))
            i = j
    return order


@compiled
def share_out(words, cuts, part, sizes):
    """Send each record to the part that its first word falls into; cuts rise, and equal words go together."""
    sizes[:] = 0
    for i in range(part.size):
        key = words[0, i]
        low, high = 0, cuts.size
        while low < high:
            middle = (low + high) // 2
            if cuts[middle] <= key:
                low = middle + 1
            else:
                high = middle
        part[i] = low
        sizes[low] += 1


@compiled
def collect(part, sizes, order):
    """The records of each part one after the other, by their number within each."""
    at = np.zeros(sizes.size, dtype=np.int64)
    for p in range(1, sizes.size):
        at[p] = at[p - 1] + sizes[p - 1]
    for i in range(part.size):
        order[at[part[i]]] = i
        at[part[i]] += 1
