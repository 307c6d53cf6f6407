"""The 1-D l-diversity heuristic (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, section 4.2, Figs. 8 and 9).

Records lie in a row, one bucket for each sensitive value; the frontier is the first record left in each bucket. A group
takes records of the frontier, so all its values are different, and it has at least l of them. It may only be closed
when what remains is eligible (EG): no value has more than 1/l of it.

*Greedy step*: the l nearest records of the frontier, then one more at a time until EG holds. *Fall-back step*, where
that fails: the values with most records left, again one more at a time. *Fig. 9*: while the record that comes next
widens this group less than the narrowest group of its own would be wide, it joins this one. The paper asks once,
however large the group is by then; asked again and again, up to 2·l − 1 records, it saves more.

Let R = q·l + r records be left, 0 ≤ r < l, and no value have more than q. While no more than l + r records are taken,
what remains has room for q − 1 of each value; so all that matters is that the values with q left, of which there are at
most l + r/q, are among those taken. Hence the fall-back step always succeeds; and the greedy one is given up as soon as
the room is too small even for a value that it took from, after less than 2·l records.

Two tournament trees over the values keep the nearest record and the largest bucket: O(log m) for each record, where the
paper's step is O(m).
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined
from rothko.kernels.boxes import ncp_of, room

COUNT = 32
"""Bits of a key below the count of a bucket; they hold how near its first record is."""


@inlined
def _least(contest, value, key):
    """Give a value another key in a tree whose root is the smallest."""
    i = contest.size // 2 + value
    contest[i] = key
    while i > 1:
        i //= 2
        winner = min(contest[2 * i], contest[2 * i + 1])
        if contest[i] == winner:
            break
        contest[i] = winner


@inlined
def _most(contest, value, key):
    """Give a value another key in a tree whose root is the largest."""
    i = contest.size // 2 + value
    contest[i] = key
    while i > 1:
        i //= 2
        winner = max(contest[2 * i], contest[2 * i + 1])
        if contest[i] == winner:
            break
        contest[i] = winner


@compiled
def diverse_groups(values, buckets, l, reach, once, rows, lines):  # noqa: E741 (the literature's letter)
    """Group records so that the values of each group are different, and at least ``l``.

    Parameters
    ----------
    values
        The sensitive value of each record, in the order of the curve; none has more than 1/l of them.
    buckets
        How many values there are.
    reach
        How far each record lies along the curve, by which the optimisation of Fig. 9 goes; where it is empty, it goes
        by the NCP of the smallest boxes around the codes in ``rows``.
    once
        Whether that is asked once for each group, as in the paper, which needs ``reach``: how far the record that may
        join lies from the leftmost of the group, on whichever side.

    Returns
    -------
    The places of the records, group by group, and where each group begins.
    """
    n = values.size
    leaves = 1
    while leaves < buckets:
        leaves *= 2
    ahead = np.empty(n, dtype=np.int64)  # the next record of the same value
    head = np.full(buckets, n, dtype=np.int64)
    left = np.zeros(buckets, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        v = values[i]
        ahead[i] = head[v]
        head[v] = i
        left[v] += 1
    nearest = np.full(2 * leaves, n, dtype=np.int64)
    largest = np.full(2 * leaves, -1, dtype=np.int64)
    for v in range(buckets):
        if left[v] > 0:
            nearest[leaves + v] = head[v]
            largest[leaves + v] = (left[v] << COUNT) + n - head[v]
    for i in range(leaves - 1, 0, -1):
        nearest[i] = min(nearest[2 * i], nearest[2 * i + 1])
        largest[i] = max(largest[2 * i], largest[2 * i + 1])

    members, starts = np.empty(n, dtype=np.int64), np.empty(n // l + 2, dtype=np.int64)
    group, taken = np.empty(buckets + 1, dtype=np.int64), 0
    coming, ready = np.empty(l, dtype=np.int64), 0  # the nearest of the frontier, out of the tree
    owner = np.full(buckets, -1, dtype=np.int64)  # the last group that a value was taken for
    box, number = room(lines), np.int64(0)
    groups, done = 0, 0
    while done < n:
        remaining = n - done
        # ── greedy step
        most = largest[1] >> COUNT
        taken, used = 0, 0
        good = False
        while True:
            if taken >= l:
                good = (largest[1] >> COUNT) * l <= remaining - taken
                if good or (most - 1) * l > remaining - taken:
                    break
            if used < ready:
                at = coming[used]
                used += 1
            else:
                at = nearest[1]
                if at == n:
                    break
                _least(nearest, values[at], n)
            v = values[at]
            group[taken] = at
            taken += 1
            left[v] -= 1
            _most(largest, v, (left[v] << COUNT) + n - head[v])
        if not good:
            # ── fall-back step
            for i in range(taken):
                v = values[group[i]]
                left[v] += 1
                _least(nearest, v, head[v])
                _most(largest, v, (left[v] << COUNT) + n - head[v])
            for i in range(used, ready):
                _least(nearest, values[coming[i]], coming[i])
            taken = 0
            while largest[1] >= 0:
                if taken >= l and max(most - 1, largest[1] >> COUNT) * l <= remaining - taken:
                    break
                at = n - (largest[1] & ((1 << COUNT) - 1))
                v = values[at]
                group[taken] = at
                taken += 1
                left[v] -= 1
                _most(largest, v, -1)
                _least(nearest, v, n)
        for i in range(taken):
            at = group[i]
            v = values[at]
            head[v] = ahead[at]
            _least(nearest, v, head[v])
            _most(largest, v, (left[v] << COUNT) + n - head[v] if left[v] > 0 else -1)
            owner[v] = groups
        remaining -= taken
        # ── Fig. 9: the next record joins this group where it would be farther from its own
        ready = 0
        most = taken + 1 if once else 2 * l - 1
        while remaining > 0:
            while ready < l:
                at = nearest[1]
                _least(nearest, values[at], n)
                place = ready
                while place > 0 and coming[place - 1] > at:
                    coming[place] = coming[place - 1]
                    place -= 1
                coming[place] = at
                ready += 1
            at = coming[0]
            v = values[at]
            if owner[v] == groups or taken >= most:
                break
            group[taken] = at
            if reach.size > 0:
                leftmost = group[:taken].min()
                here, there = reach[at] - reach[leftmost], reach[coming[l - 1]] - reach[at]
                here = abs(here) if once else max(here, 0.0)
            else:
                here = ncp_of(rows, group, 0, taken + 1, number, lines, box)
                there = ncp_of(rows, coming, 0, l, number + 1, lines, box)
                number += 2
            if here >= there:
                break
            left[v] -= 1
            _most(largest, v, (left[v] << COUNT) + n - head[v])
            if (largest[1] >> COUNT) * l > remaining - 1:
                left[v] += 1
                _most(largest, v, (left[v] << COUNT) + n - head[v])
                break
            head[v] = ahead[at]
            _least(nearest, v, head[v])
            _most(largest, v, (left[v] << COUNT) + n - head[v] if left[v] > 0 else -1)
            owner[v] = groups
            taken += 1
            remaining -= 1
            ready -= 1
            for i in range(ready):
                coming[i] = coming[i + 1]
        starts[groups] = done
        groups += 1
        for i in range(taken):
            members[done + i] = group[i]
        done += taken
    starts[groups] = n
    return members, starts[: groups + 1].copy()
