"""Records that go to a better class, compiled.

A class publishes a set, and every record that contains the set could be in it at no cost to the others. So a record is
better off in the class with the most valuable set that it contains, as long as the class that it leaves keeps k records
or is left by all. The sets are kept in a trie, laid out in the order in which it is walked, with the place behind each
subtree: what a record does not contain is passed over in one step.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.order import order_of

NOBODY = -1


@compiled
def plant(starts, items, order, worth):
    """A trie of sets.

    Parameters
    ----------
    starts, items
        The sets as CSR, all different but for those without items, of which the last one counts.
    order
        The sets in the order of their items.

    Returns
    -------
    For each node its item, the place behind its subtree, the set that ends there or -1, the value of its items, and the
    largest value of a set in its subtree or -1; and the set without items or -1.
    """
    longest = 0
    for s in range(len(order)):
        longest = max(longest, starts[s + 1] - starts[s])
    room = len(items)
    item = np.empty(room, dtype=np.int32)
    behind = np.empty(room, dtype=np.int32)
    owner = np.full(room, NOBODY, dtype=np.int32)
    value = np.zeros(room)
    path = np.empty(longest, dtype=np.int32)
    depth, n, empty = 0, 0, NOBODY
    for s in order:
        begin, end = starts[s], starts[s + 1]
        if begin == end:
            empty = s
            continue
        same = 0
        while same < min(depth, end - begin) and item[path[same]] == items[begin + same]:
            same += 1
        while depth > same:
            depth -= 1
            behind[path[depth]] = n
        for j in range(begin + same, end):
            item[n] = items[j]
            value[n] = worth[items[j]]
            if depth > 0:
                value[n] += value[path[depth - 1]]
            path[depth] = n
            depth += 1
            n += 1
        owner[path[depth - 1]] = s
    while depth > 0:
        depth -= 1
        behind[path[depth]] = n
    best = np.full(n, -1.0)
    for i in range(n - 1, -1, -1):
        if owner[i] != NOBODY:
            best[i] = value[i]
        below = i + 1
        while below < behind[i]:
            best[i] = max(best[i], best[below])
            below = behind[below]
    return item[:n], behind[:n], owner[:n], value[:n], best, empty


@compiled
def most_valuable(starts, items, size, own, item, behind, owner, value, best, empty):
    """The most valuable set that each record contains, other than its own class's, and its value; -1 for none."""
    n = len(starts) - 1
    found = np.full(n, NOBODY, dtype=np.int32)
    worth = np.full(n, -1.0)
    has = np.full(size, NOBODY, dtype=np.int32)
    for record in range(n):
        for j in range(starts[record], starts[record + 1]):
            has[items[j]] = record
        if empty != own[record] and empty != NOBODY:
            found[record], worth[record] = empty, 0.0
        i = 0
        while i < len(item):
            if has[item[i]] == record and best[i] > worth[record]:
                if owner[i] != NOBODY and owner[i] != own[record] and value[i] > worth[record]:
                    found[record], worth[record] = owner[i], value[i]
                i += 1
            else:
                i = behind[i]
    return found, worth


@compiled
def settle(order, bounds, value, found, worth, k, turn):
    """Let records leave for better classes, class by class.

    A class either lets those go that gain most, while it keeps k, or dissolves, where all its records together are
    better off elsewhere; whichever gains more. One that records came to stays, and nobody goes to one that dissolved.

    Parameters
    ----------
    order, bounds
        Class c has the records ``order[bounds[c] : bounds[c + 1]]``.
    value
        Of the set of each class.
    found, worth
        Where each record would go, and the value of the set there; see :func:`most_valuable`.
    turn
        The classes in the order in which they are asked.

    Returns
    -------
    The class of each record, and what was gained.
    """
    classes = len(bounds) - 1
    class_of = np.empty(len(order), dtype=np.int32)
    size = np.empty(classes, dtype=np.int64)
    for c in range(classes):
        size[c] = bounds[c + 1] - bounds[c]
    gone = np.zeros(classes, dtype=np.bool_)
    joined = np.zeros(classes, dtype=np.bool_)
    total = 0.0
    for c in range(classes):
        for i in range(bounds[c], bounds[c + 1]):
            class_of[order[i]] = c
    for c in turn:
        members = order[bounds[c] : bounds[c + 1]]
        gains = np.empty(len(members))
        all_may_go, together = not joined[c], 0.0
        for i in range(len(members)):
            to = found[members[i]]
            if to == NOBODY or gone[to]:
                all_may_go = False
                gains[i] = -1.0
            else:
                gains[i] = worth[members[i]] - value[c]
            together += gains[i]
        by_gain = order_of(gains, gains.size, True)
        leaving, gained = 0, 0.0
        while leaving < min(size[c] - k, len(members)) and gains[by_gain[leaving]] > 0:
            gained += gains[by_gain[leaving]]
            leaving += 1
        if all_may_go and together > max(gained, 0.0):
            leaving, gained = len(members), together
            gone[c] = True
        for i in by_gain[:leaving]:
            to = found[members[i]]
            class_of[members[i]] = to
            joined[to] = True
            size[to] += 1
            size[c] -= 1
        total += gained
    return class_of, total


@compiled
def as_lists(class_of, room):
    """Classes as lists of records: the first one of each, the one that follows each record, the last one, the size.

    Parameters
    ----------
    room
        How many classes there may come to be.
    """
    n = len(class_of)
    first = np.full(room, NOBODY, dtype=np.int32)
    last = np.full(room, NOBODY, dtype=np.int32)
    following = np.full(n, NOBODY, dtype=np.int32)
    size = np.zeros(room, dtype=np.int32)
    for record in range(n):
        c = class_of[record]
        if first[c] == NOBODY:
            first[c] = record
        else:
            following[last[c]] = record
        last[c] = record
        size[c] += 1
    return first, following, last, size
