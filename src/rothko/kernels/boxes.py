"""The smallest box around some records, growing by one record at a time, and its NCP.

Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, sections 2.1 and 5.1. Of an ordered line a box has a range; of a tree the
lowest node that covers it; of a nominal line the set of values. These are what a local recoding publishes. A line that
mixes missing and present values counts as a whole.

The state of a box is some arrays with a place for each line, see :func:`room`. Its two functions are written out in
their callers, which are the innermost loops.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined
from rothko.kernels.mondrian.nodes import NOMINAL, ORDERED


@compiled
def room(lines):
    """Arrays for one box at a time.

    First and last code that lie inside it; the node of a tree; how many values of a nominal line there are; the NCP of
    each line; for each value of nominal lines the box that it was last seen in; where these begin.
    """
    d = lines.shape[0]
    seen_at = np.zeros(d, dtype=np.int64)
    total = 0
    for a in range(d):
        if lines[a, 0] == NOMINAL:
            seen_at[a] = total
            total += lines[a, 1]
    low, high = np.empty(d, dtype=np.int32), np.empty(d, dtype=np.int32)
    node, values = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    return low, high, node, values, np.empty(d), np.full(total, -1, dtype=np.int64), seen_at


@inlined
def open_box(rows, at, box, lines, leaf, low, high, node, values, width, seen, seen_at):
    """Begin a box, which has a number of its own, with the record at a place."""
    for a in range(lines.shape[0]):
        code = rows[at, a]
        low[a] = code
        high[a] = code
        width[a] = 0.0
        if lines[a, 0] == NOMINAL:
            # No code lies inside: each is looked up among those that were seen.
            low[a], high[a] = 1, 0
            values[a] = 1
            seen[seen_at[a] + code] = box
        elif lines[a, 0] != ORDERED:
            node[a] = leaf[lines[a, 5] + code]


@inlined
def widen(rows, at, box, lines, places, scales, tree, low, high, node, values, width, seen, seen_at):
    """Let the record at a place join a box; whether it has become wider."""
    wider = False
    for a in range(lines.shape[0]):
        code = rows[at, a]
        if low[a] <= code <= high[a]:
            continue
        kind, size, missing = lines[a, 0], lines[a, 1], lines[a, 2]
        if kind == ORDERED:
            low[a], high[a] = min(low[a], code), max(high[a], code)
            if high[a] == missing:
                width[a] = scales[a, 0]
            else:
                offset = lines[a, 3]
                width[a] = scales[a, 0] * ((places[offset + high[a]] - places[offset + low[a]]) / scales[a, 1])
        elif kind == NOMINAL:
            if seen[seen_at[a] + code] == box:
                continue
            seen[seen_at[a] + code] = box
            values[a] += 1
            mixed = missing >= 0 and seen[seen_at[a] + missing] == box
            width[a] = scales[a, 0] if mixed else scales[a, 0] * (values[a] / size)
        else:
            first = lines[a, 4]
            while code < tree[first + node[a], 1] or code > tree[first + node[a], 2]:
                node[a] = tree[first + node[a], 0]
            low[a], high[a] = tree[first + node[a], 1], tree[first + node[a], 2]
            width[a] = scales[a, 0] * ((high[a] - low[a] + 1) / size)
        wider = True
    return wider


@compiled
def ncp_of(rows, members, begin, end, box, lines, places, scales, tree, leaf, state):
    """NCP of the smallest box around the records at the places ``members[begin:end]``."""
    low, high, node, values, width, seen, seen_at = state
    open_box(rows, members[begin], box, lines, leaf, low, high, node, values, width, seen, seen_at)
    for i in range(begin + 1, end):
        widen(rows, members[i], box, lines, places, scales, tree, low, high, node, values, width, seen, seen_at)
    return width.sum()


@compiled
def loss_of(rows, members, starts, lines, places, scales, tree, leaf):
    """Size · NCP of all groups together."""
    state = room(lines)
    loss = 0.0
    for g in range(starts.size - 1):
        begin, end = starts[g], starts[g + 1]
        loss += (end - begin) * ncp_of(rows, members, begin, end, np.int64(g), lines, places, scales, tree, leaf, state)
    return loss


@compiled
def bounds_of(rows, members, starts, first, last, low, high):
    """First and last code on each line of the classes ``first`` to ``last``."""
    for c in range(first, last):
        at = members[starts[c]]
        for a in range(rows.shape[1]):
            low[c, a] = rows[at, a]
            high[c, a] = rows[at, a]
        for i in range(starts[c] + 1, starts[c + 1]):
            at = members[i]
            for a in range(rows.shape[1]):
                low[c, a] = min(low[c, a], rows[at, a])
                high[c, a] = max(high[c, a], rows[at, a])


@compiled
def members_of(rows, a, size, members, starts):
    """The distinct codes of each class on a line of so many codes, rising, and where those of each class begin."""
    seen = np.full(size, -1, dtype=np.int64)
    found, begins = np.empty(members.size, dtype=np.int32), np.zeros(starts.size, dtype=np.int64)
    at = 0
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            code = rows[members[i], a]
            if seen[code] != c:
                seen[code] = c
                found[at] = code
                at += 1
        found[begins[c] : at].sort()
        begins[c + 1] = at
    return begins, found[:at].copy()
