"""The top of set-mondrian over records that lie elsewhere: what is counted there, and what is chosen from the counts.

The choice is that of :func:`rothko.kernels.sets.mondrian.grow`, which has the records. A tree of cuts is given by the
item that cuts each node, -1 where none does, and by where its parts are: those with the item at ``below``, those
without it one further.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.sets.mondrian import choose, log_term
from rothko.kernels.sets.records import has


@compiled
def choose_cut(allowed, having, n, k, worth, criterion):
    """Keep the items that may cut n records, in place; how many they are, and the place of the best, -1 for none."""
    return choose(allowed, having, len(allowed), n, k, worth, criterion)


@compiled
def find_nodes(starts, items, item, below):
    """The node of a tree in which each record ends; the items of a record rise."""
    out = np.empty(len(starts) - 1, dtype=np.int32)
    for i in range(len(out)):
        node = 0
        while item[node] >= 0:
            node = below[node] if has(starts, items, i, item[node]) else below[node] + 1
        out[i] = node
    return out


@compiled
def count_groups(starts, items, group, counts):
    """Add up the items of the records of each group, a row of ``counts``; those of a group below 0 are left out."""
    for i in range(len(group)):
        if group[i] >= 0:
            row = counts[group[i]]
            for j in range(starts[i], starts[i + 1]):
                row[items[j]] += 1


@compiled
def count_pairs(starts, items, group, place, pairs):
    """Add up which items go together in the records of each group.

    ``place[g, a]`` is the row of ``pairs`` for item a in group g, -1 where it has none; a row has a count for each
    item.
    """
    for i in range(len(group)):
        if group[i] >= 0:
            rows = place[group[i]]
            for j in range(starts[i], starts[i + 1]):
                at = rows[items[j]]
                if at >= 0:
                    row = pairs[at]
                    for other in range(starts[i], starts[i + 1]):
                        row[items[other]] += 1


@compiled
def entropy_of_parts(row, seen, n, having):
    """The entropy of both parts of n records, of which ``having`` have the item that cuts them.

    ``seen`` counts the items of all of them, ``row`` those of the part with the item. The sum is that of
    ``_least_entropy``, term by term.
    """
    without = n - having
    total = 0.0
    for b in range(len(seen)):
        if seen[b] > 0:
            both = row[b]
            total += log_term(having) - log_term(both) - log_term(having - both)
            other = seen[b] - both
            total += log_term(without) - log_term(other) - log_term(without - other)
    return total
