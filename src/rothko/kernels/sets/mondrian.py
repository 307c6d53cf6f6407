"""Mondrian for sets, compiled: a node is cut at an item, into the records with it and those without.

Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), Algorithm 3.

Records are in CSR form and never moved; ``order`` holds their numbers, those of a node side by side, and is put in
order in place. An item that may not cut a node may not cut any part of it: fewer than k of its records have the
item, or lack it, and so in every part. So a node carries the items that may cut it with their counts, and nothing
else. Of two parts the smaller one is counted, the larger one is what is left of the node.

Where records are dense they are also given as ``bits``, a bit for each item in words of 64, which are counted a word
at a time and looked into without a search; otherwise that array is empty.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.order import sort
from rothko.kernels.sets import records

has_item = records.has

FEW = 8
"""Counts are cleared by the records that were counted where these are fewer than one for so many items."""
EVEN, ENTROPY, UTILITY = 0, 1, 2
"""Criteria: the most frequent item, the lowest entropy, the most utility for each bit that a cut tells."""


@compiled
def as_bits(starts, items, size):
    """A bit for each item of each record, in words of 64."""
    bits = np.zeros((len(starts) - 1, (size + 63) // 64), dtype=np.uint64)
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            bits[i, items[j] >> 6] |= np.uint64(1) << np.uint64(items[j] & 63)
    return bits


@linked
def has(record, starts, items, bits, item):
    """Whether a record has an item."""
    if bits.shape[0] > 0:
        return (bits[record, item >> 6] >> np.uint64(item & 63)) & np.uint64(1) == 1
    return has_item(starts, items, record, item)


@linked
def part(order, begin, end, starts, items, bits, item):
    """Move the records with an item to the front of a node; returns where those without it begin."""
    left, right = begin, end - 1
    while True:
        while left <= right and has(order[left], starts, items, bits, item):
            left += 1
        while left <= right and not has(order[right], starts, items, bits, item):
            right -= 1
        if left >= right:
            return left
        order[left], order[right] = order[right], order[left]
        left += 1
        right -= 1


@linked
def count(order, begin, end, starts, items, bits, counts):
    """Add up the items of some records."""
    if bits.shape[0] > 0:
        for i in range(begin, end):
            record = order[i]
            for w in range(bits.shape[1]):
                word = bits[record, w]
                for b in range(64):
                    counts[64 * w + b] += np.int64((word >> np.uint64(b)) & np.uint64(1))
        return
    for i in range(begin, end):
        record = order[i]
        for j in range(starts[record], starts[record + 1]):
            counts[items[j]] += 1


@linked
def log_term(x):
    """The term x log x of an entropy."""
    return x * np.log(x) if x > 1 else 0.0


@linked
def _log_terms(most):
    """The terms of entropies of so many records."""
    terms = np.zeros(most + 1)
    for x in range(2, most + 1):
        terms[x] = log_term(x)
    return terms


@linked
def _per_bit(having, n, worth):
    """What an item earns for the records that get it, for each bit of the cut: u p / h(p).

    Every class has k records or more, so a record comes through log2(n / k) bits of cuts and no more: they are what
    is to be spent well.
    """
    p = having / n
    return worth * p / -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


@linked
def _least_entropy(order, begin, end, starts, items, allowed, n_allowed, place, seen, pairs, terms):
    """The place among the allowed items of the one whose parts have the lowest entropy.

    The entropy of a part is Σ over all items of n h(share of its records that have the item), so that both parts
    weigh as much as they have records.
    """
    size = len(seen)
    n = end - begin
    for x in range(n_allowed):
        place[allowed[x]] = x + 1
    pairs[:n_allowed] = 0
    seen[:] = 0
    for i in range(begin, end):
        record = order[i]
        low, high = starts[record], starts[record + 1]
        for j in range(low, high):
            seen[items[j]] += 1
            x = place[items[j]] - 1
            if x >= 0:
                row = pairs[x]
                for other in range(low, high):
                    row[items[other]] += 1
    best, least = -1, np.inf
    for x in range(n_allowed):
        with_it = seen[allowed[x]]
        without = n - with_it
        # n h(count / n) = n log n − count log count − (n − count) log (n − count)
        total = 0.0
        row = pairs[x]
        for b in range(size):
            if seen[b] > 0:
                both = row[b]
                total += terms[with_it] - terms[both] - terms[with_it - both]
                other = seen[b] - both
                total += terms[without] - terms[other] - terms[without - other]
        if total < least * (1 - 1e-12):
            best, least = x, total
    for x in range(n_allowed):
        place[allowed[x]] = 0
    return best


@linked
def choose(allowed, having, length, n, k, worth, criterion):
    """Keep those of the first items that may cut n records, in place; how many they are, and the place of the best.

    The first of those that score alike is the best; -1 where none may cut. For ``ENTROPY`` it only tells that apart.
    """
    kept, best, most = 0, -1, -1.0
    for x in range(length):
        if having[x] >= k and n - having[x] >= k:
            allowed[kept], having[kept] = allowed[x], having[x]
            score = _per_bit(having[x], n, worth[allowed[x]]) if criterion == UTILITY else float(having[x])
            if score > most:
                best, most = kept, score
            kept += 1
    return kept, best


@linked
def _open_root(order, begin, end, starts, items, bits, k, counts):
    """The items that may cut the whole, and their counts; ``counts`` is left at 0."""
    count(order, begin, end, starts, items, bits, counts)
    length = 0
    for a in range(len(counts)):
        if counts[a] >= k and end - begin - counts[a] >= k:
            length += 1
    allowed = np.empty(length, dtype=np.int32)
    having = np.empty(length, dtype=np.int32)
    length = 0
    for a in range(len(counts)):
        if counts[a] >= k and end - begin - counts[a] >= k:
            allowed[length], having[length] = a, counts[a]
            length += 1
        counts[a] = 0
    return allowed, having


@linked
def _clear(order, begin, end, starts, items, bits, counts):
    """Set to 0 what some records were counted in."""
    if bits.shape[0] == 0 and (end - begin) * FEW < len(counts):
        for i in range(begin, end):
            record = order[i]
            for j in range(starts[record], starts[record + 1]):
                counts[items[j]] = 0
    else:
        counts[:] = 0


@compiled
def grow(order, begin, end, starts, items, bits, worth, k, criterion, small):
    """Cut the records ``order[begin:end]`` until no item may cut a part, or it has at most ``small`` records.

    Parameters
    ----------
    bits
        The records as :func:`as_bits` has them, or an array of no records.
    worth
        The utility of each item.
    small
        Parts of so few records are left alone, whether or not they may be cut; 0 to cut all.

    Returns
    -------
    Where each part begins, rising, and where the last one ends.
    """
    size = len(worth)
    counts = np.zeros(max(size, 64 * bits.shape[1]), dtype=np.int64)
    root_items, root_counts = _open_root(order, begin, end, starts, items, bits, k, counts)
    # Nodes that wait are the larger parts of nodes, and each is at most half of the one below it on the stack.
    depths = 2
    while (end - begin) >> (depths - 1) > 0:
        depths += 1
    wait_begin = np.empty(depths, dtype=np.int64)
    wait_end = np.empty(depths, dtype=np.int64)
    wait_length = np.empty(depths, dtype=np.int64)
    wait_items = np.empty((depths, len(root_items)), dtype=np.int32)
    wait_counts = np.empty((depths, len(root_items)), dtype=np.int32)
    entropy = criterion == ENTROPY
    pairs = np.empty((len(root_items) if entropy else 1, size if entropy else 1), dtype=np.int32)
    seen = np.zeros(size if entropy else 1, dtype=np.int32)
    place = np.zeros(size if entropy else 1, dtype=np.int32)
    terms = _log_terms(end - begin if entropy else 1)
    parts = np.empty(max((end - begin) // k, 1) + 1, dtype=np.int64)
    n_parts = 0
    for x in range(len(root_items)):  # an array that is set to another takes two seconds to compile
        wait_items[0, x], wait_counts[0, x] = root_items[x], root_counts[x]
    wait_begin[0], wait_end[0], wait_length[0] = begin, end, len(root_items)
    depth = 1
    while depth > 0:
        at = depth - 1
        low, high = wait_begin[at], wait_end[at]
        n = high - low
        allowed, having = wait_items[at], wait_counts[at]
        length, best = choose(allowed, having, wait_length[at], n, k, worth, criterion)
        if best < 0 or n <= small:
            parts[n_parts] = low
            n_parts += 1
            depth -= 1
            continue
        if entropy:
            best = _least_entropy(order, low, high, starts, items, allowed, length, place, seen, pairs, terms)
        middle = part(order, low, high, starts, items, bits, allowed[best])
        first_is_smaller = middle - low <= high - middle
        smaller = (low, middle) if first_is_smaller else (middle, high)
        count(order, smaller[0], smaller[1], starts, items, bits, counts)
        left = 0
        for x in range(length):
            if x != best:
                wait_items[depth, left] = allowed[x]
                wait_counts[depth, left] = counts[allowed[x]]
                allowed[left] = allowed[x]
                having[left] = having[x] - counts[allowed[x]]
                left += 1
        _clear(order, smaller[0], smaller[1], starts, items, bits, counts)
        wait_length[at], wait_length[depth] = left, left
        wait_begin[depth], wait_end[depth] = smaller
        wait_begin[at], wait_end[at] = (middle, high) if first_is_smaller else (low, middle)
        depth += 1
    sort(parts, 0, n_parts)
    parts[n_parts] = end
    return parts[: n_parts + 1].copy()
