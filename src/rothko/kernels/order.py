"""Records brought in order: by class, by keys of one word or several; and equal keys numbered."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined, linked

FEW = 24
"""Up to so many records are sorted by insertion."""
MANY = 4096
"""From so many on, digits have 11 bits rather than 8."""
FIT = 4096
"""Keys that are told apart in one table."""

FINE = 12
"""Bits of the buckets that rows are dealt to at a time."""

MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def find(rising, begin, end, value):
    """The first place from ``begin`` to ``end`` whose number is not below a value."""
    while begin < end:
        middle = (begin + end) >> 1
        if rising[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


# ── numbers


@linked
def sort(values, begin, end):
    """Sort some of the numbers, in place.

    Quicksort, the shorter side last on the stack; what Numba makes of NumPy's takes a second to compile for each type.
    """
    waiting = np.empty((64, 2), dtype=np.int64)
    waiting[0, 0], waiting[0, 1] = begin, end
    depth = 1
    while depth > 0:
        depth -= 1
        low, high = waiting[depth, 0], waiting[depth, 1]
        while high - low > FEW:
            a, b, c = values[low], values[(low + high) >> 1], values[high - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = low, high - 1
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if j + 1 - low > high - i:
                waiting[depth, 0], waiting[depth, 1] = low, j + 1
                low = i
            else:
                waiting[depth, 0], waiting[depth, 1] = i, high
                high = j + 1
            depth += 1
        for i in range(low + 1, high):
            value = values[i]
            j = i
            while j > low and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value


@linked
def order_of(numbers, n, falling):
    """The places of the first n numbers as they rise, or fall; equal ones in their order. Merge sort, from pairs up."""
    order, spare = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for at in range(begin, end):
                later = i == middle
                if i < middle and j < end:
                    one, other = numbers[order[i]], numbers[order[j]]
                    later = other > one if falling else other < one
                if later:
                    spare[at] = order[j]
                    j += 1
                else:
                    spare[at] = order[i]
                    i += 1
        order, spare = spare, order
        width *= 2
    return order


# ── by class


@compiled
def arrange(classes, count):
    """The records class by class, in their order within each; and where each class begins, with the end."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for i in range(classes.size):
        starts[classes[i] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    places = starts.copy()
    order = np.empty(classes.size, dtype=np.int32)
    for i in range(classes.size):
        c = np.uint64(classes[i])
        order[places[c]] = i
        places[c] += 1
    return order, starts


# ── equal keys


@compiled
def number(keys):
    """Equal keys get the same number, from 0 on; the number of each, and where one record of each number stands.

    Keys are dealt by their hash first, so that each table of those seen fits in the cache: on a million different
    keys that is several times as fast as one table.
    """
    n = keys.size
    bits = 0
    while bits < 16 and (n >> bits) > FIT:
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    dealt, held_by = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint32)
    if bits > 0:
        for i in range(n):
            starts[((keys[i] * MIX) >> shift) + np.uint64(1)] += 1
        for b in range(1 << bits):
            starts[b + 1] += starts[b]
        places = starts.copy()
        for i in range(n):
            key = keys[i]
            b = (key * MIX) >> shift
            to = np.uint64(places[b])
            # The key too: looked up by record, every other one would be far away.
            dealt[to], held_by[to] = key, i
            places[b] += 1
    else:
        starts[1] = n
        for i in range(n):
            dealt[i], held_by[i] = keys[i], i
    numbers = np.empty(n, dtype=np.int32)
    first = np.empty(n, dtype=np.int32)
    seen = np.empty(1, dtype=np.int32)
    held = np.empty(1, dtype=np.uint64)
    count = 0
    for b in range(1 << bits):
        begin, end = starts[b], starts[b + 1]
        size = 16
        while size < 2 * (end - begin):
            size *= 2
        if size > seen.size:
            seen = np.empty(size, dtype=np.int32)
            held = np.empty(size, dtype=np.uint64)
        for h in range(size):
            seen[h] = -1
        mask = np.uint64(size - 1)
        for at in range(begin, end):
            key, i = dealt[at], held_by[at]
            h = ((key * MIX) >> np.uint64(20)) & mask
            while seen[h] >= 0 and held[h] != key:
                h = (h + np.uint64(1)) & mask
            if seen[h] < 0:
                seen[h] = count
                held[h] = key
                first[count] = i
                count += 1
            numbers[i] = seen[h]
    return numbers, first[:count].copy()


# ── by keys


@compiled
def order_by_key(keys, bits, first, last, order):
    """Sort the rows whose upper ``bits`` of the key lie in ``first … last`` into their places in ``order``.

    Keys are hashes, so they spread evenly: a bucket per few rows, then insertion inside each bucket. Rows are dealt to
    buckets in two steps, as many at a time as stay in the cache: in one step, on ten million rows, each would be far
    from the row before. Ranges of buckets are disjoint, and so are the places that they fill.
    """
    shift, fine = np.uint64(64 - bits), min(bits, FINE)
    parts, mask = ((last - first - 1) >> fine) + 1, (1 << fine) - 1
    begins = np.zeros(parts + 1, dtype=np.int64)
    before = 0
    for i in range(keys.size):
        b = np.int64(keys[i] >> shift)
        if b < first:
            before += 1
        elif b < last:
            begins[((b - first) >> fine) + 1] += 1
    most = 0
    for part in range(parts):
        most = max(most, begins[part + 1])
        begins[part + 1] += begins[part]
    dealt, held_by = np.empty(begins[parts], dtype=np.uint64), np.empty(begins[parts], dtype=np.uint32)
    places = begins.copy()
    for i in range(keys.size):
        b = np.int64(keys[i] >> shift)
        if first <= b < last:
            part = (b - first) >> fine
            to = places[part]
            dealt[to], held_by[to] = keys[i], i
            places[part] = to + 1
    risen = np.empty(most, dtype=np.uint64)
    starts, filled = np.empty(mask + 2, dtype=np.int64), np.empty(mask + 1, dtype=np.int64)
    for part in range(parts):
        for b in range(mask + 2):
            starts[b] = 0
        for at in range(begins[part], begins[part + 1]):
            starts[((np.int64(dealt[at] >> shift) - first) & mask) + 1] += 1
        for b in range(mask + 1):
            filled[b] = starts[b]
            starts[b + 1] += starts[b]
        to = before + begins[part]
        for at in range(begins[part], begins[part + 1]):
            key = dealt[at]
            b = (np.int64(key >> shift) - first) & mask
            j = filled[b]
            filled[b] = j + 1
            while j > starts[b] and risen[j - 1] > key:
                risen[j] = risen[j - 1]
                order[to + j] = order[to + j - 1]
                j -= 1
            risen[j] = key
            order[to + j] = held_by[at]


@linked
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


@linked
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
def share_out(words, cuts, part):
    """Send each record to the part that its first word falls into; cuts rise, and equal words go together."""
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
