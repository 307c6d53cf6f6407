"""Records that are sets of items, in CSR form: record i owns ``items[starts[i] : starts[i + 1]]``.

What every method for sets needs: records put in order, items counted, the items that the records of a class share, and
equal sets found.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.order import arrange, find, sort


@compiled
def tidy(starts, items):
    """Sort each record and keep one of equal items, in place; returns how many items are left."""
    kept = 0
    begin = starts[0]
    for i in range(len(starts) - 1):
        end = starts[i + 1]
        rising = True
        for j in range(begin + 1, end):
            if items[j - 1] >= items[j]:
                rising = False
                break
        if not rising:
            sort(items, begin, end)
        starts[i] = kept
        for j in range(begin, end):
            if j == begin or items[j] != items[j - 1]:
                # Never ahead of what is read: the item before was read already.
                items[kept] = items[j]
                kept += 1
        begin = end
    starts[len(starts) - 1] = kept
    return kept


@linked
def has(starts, items, r, item):
    """Whether a record has an item."""
    end = starts[r + 1]
    at = find(items, starts[r], end, item)
    return at < end and items[at] == item


@compiled
def count_items(items, size):
    """How often each item occurs."""
    counts = np.zeros(size, dtype=np.int64)
    for j in range(len(items)):
        counts[items[j]] += 1
    return counts


@compiled
def shared(order, bounds, starts, items, size):
    """The items that all records of a class have.

    Parameters
    ----------
    order
        Record numbers; class c owns ``order[bounds[c] : bounds[c + 1]]``.

    Returns
    -------
    CSR over the classes.
    """
    classes = len(bounds) - 1
    out_starts = np.zeros(classes + 1, dtype=np.int64)
    room = max(len(items) // 8, 1024)
    out = np.empty(room, dtype=np.int32)
    seen = np.zeros(size, dtype=np.int64)  # how many records of the class have the item, of those that all have it
    filled = 0
    for c in range(classes):
        begin, end = bounds[c], bounds[c + 1]
        if end > begin:
            first = order[begin]
            for j in range(starts[first], starts[first + 1]):
                seen[items[j]] = 1
            for i in range(begin + 1, end):
                record = order[i]
                for j in range(starts[record], starts[record + 1]):
                    if seen[items[j]] == i - begin:
                        seen[items[j]] += 1
            for j in range(starts[first], starts[first + 1]):
                item = items[j]
                if seen[item] == end - begin:
                    if filled == room:
                        room *= 2
                        wider = np.empty(room, dtype=np.int32)
                        for known in range(filled):
                            wider[known] = out[known]
                        out = wider
                    out[filled] = item
                    filled += 1
                seen[item] = 0
        out_starts[c + 1] = filled
    return out_starts, out[:filled].copy()


@compiled
def spread(rows, starts, items):
    """The rows of a CSR matrix in the order asked for, each as often as it is asked for."""
    out_starts = np.zeros(len(rows) + 1, dtype=np.int64)
    for i in range(len(rows)):
        out_starts[i + 1] = out_starts[i] + starts[rows[i] + 1] - starts[rows[i]]
    out = np.empty(out_starts[len(rows)], dtype=np.int32)
    for i in range(len(rows)):
        begin = starts[rows[i]]
        to = out_starts[i]
        for j in range(starts[rows[i] + 1] - begin):
            out[to + j] = items[begin + j]
    return out_starts, out


@compiled
def hashes(starts, items, first, second):
    """Two hashes of each record from random numbers of the items: equal sets have equal ones."""
    n = len(starts) - 1
    out = np.zeros((n, 2), dtype=np.uint64)
    for i in range(n):
        for j in range(starts[i], starts[i + 1]):
            out[i, 0] += first[items[j]]
            out[i, 1] ^= second[items[j]]
    return out


@compiled
def by_item(starts, items, size):
    """The records of each item, rising: the transposed matrix."""
    owner = np.empty(len(items), dtype=np.int32)
    for i in range(len(starts) - 1):
        owner[starts[i] : starts[i + 1]] = i
    places, out_starts = arrange(items, size)
    for j in range(len(items)):
        places[j] = owner[places[j]]
    return out_starts, places


@compiled
def count_uncovered(class_of, shown_starts, shown, starts, items):
    """How many records lack an item of the set that is shown for their class; the items of a record rise."""
    wrong = 0
    for i in range(len(starts) - 1):
        c = class_of[i]
        for j in range(shown_starts[c], shown_starts[c + 1]):
            if not has(starts, items, i, shown[j]):
                wrong += 1
                break
    return wrong
