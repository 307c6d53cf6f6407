"""Classes by the cheapest generalization first: every group of enough records becomes a class, and leaves.

A *vector* has one level for each line, and at each level every code belongs to a group. Vectors come in the order of
what they cost; at each, the tuples that are left and agree in the groups of all lines are brought together, and those
that are k records or more, and for which the rules hold, are a class.

Groups are told apart by the sum of a random number for each line's group. Should two ever share a sum they become
one class, whose box is that of its records as any other's.

Where no group of a vector has k records, none has at a vector that is nowhere above it, then or later: records only
leave. So a vector without any is raised, line by line, as long as that stays so, and all below it are passed over.

Most vectors of a large table have none, and to see that, some of its groups will do: those whose number ends in so many
zeros that a table of them stays in the cache of a core. A group that was overlooked is part of one at a later vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.rules import clear, count, lacking, room_for
from rothko.kernels.rules import own as own_rules

# Places of ``state``: the next vector, the tuples that are left, the classes so far, tuples that were looked at.
NEXT, LEFT, CLASSES, SEEN = range(4)


class Levels(NamedTuple):
    """The levels of all lines."""

    keys: NDArray[np.uint64]
    """For each level of each line, the number of the group of each code."""
    begin: NDArray[np.int64]
    """(lines, levels): where the numbers of a level begin."""
    top: NDArray[np.int64]
    """The last level of each line."""
    step: NDArray[np.int64]
    """A vector is a number: the sum of its levels times these."""


class Left(NamedTuple):
    """Tuples that are in no class yet; the first so many count."""

    codes: NDArray[np.int32]
    """(tuples, lines)."""
    amounts: NDArray[np.int64]
    values: NDArray[np.int32]
    """(columns, tuples): what rules look at."""
    who: NDArray[np.int64]
    """Their numbers."""


class Slots(NamedTuple):
    """Groups by what their numbers add up to: a table with open addresses."""

    key: NDArray[np.uint64]
    total: NDArray[np.int64]
    """Records; 0 where a slot is free."""
    first: NDArray[np.int64]
    """The last tuple of a group, which leads to the others."""
    number: NDArray[np.int64]
    """The class of a group; -1 where it is none."""
    of: NDArray[np.int64]
    """The slot of each tuple."""
    other: NDArray[np.int64]
    """Another tuple of the same group; -1 at the end."""


@linked
def _size(tuples):
    """How many slots for so many tuples: a power of two."""
    size = np.int64(1)
    while size < 2 * tuples:
        size *= 2
    return size


@linked
def _room(tuples):
    size = _size(tuples)
    return Slots(
        np.empty(size, dtype=np.uint64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(tuples, dtype=np.int64),
        np.empty(tuples, dtype=np.int64),
    )


@linked
def _gather(levels, at, left, m, slots):
    """Bring the tuples together that agree at a vector, of which ``at`` says where its numbers begin."""
    keys, codes, amounts = levels.keys, left.codes, left.amounts
    key, total, first, of, other = slots.key, slots.total, slots.first, slots.of, slots.other
    size = _size(m)
    for p in range(size):
        total[p] = 0
    mask = np.uint64(size - 1)
    for j in range(m):
        h = np.uint64(0)
        for a in range(codes.shape[1]):
            h += keys[at[a] + codes[j, a]]
        p = (h ^ (h >> np.uint64(29))) & mask
        while total[p] > 0 and key[p] != h:
            p = (p + np.uint64(1)) & mask
        other[j] = first[p] if total[p] > 0 else -1
        key[p], first[p], of[j] = h, j, p
        total[p] += amounts[j]


@linked
def _barren(levels, at, left, m, k, slots, most):
    """Whether no group at a vector has k records, as far as can be told by the groups of about ``most`` tuples."""
    keys, codes, amounts, key, total = levels.keys, left.codes, left.amounts, slots.key, slots.total
    sieve, some = np.uint64(0), m
    while some > most:
        sieve, some = np.uint64(2) * sieve + np.uint64(1), some // 2
    size = _size(some)
    for p in range(size):
        total[p] = 0
    mask, free, chosen = np.uint64(size - 1), size // 2 + 1, np.int64(0)
    for j in range(m):
        h = np.uint64(0)
        for a in range(codes.shape[1]):
            h += keys[at[a] + codes[j, a]]
        if (h >> np.uint64(40)) & sieve:
            continue
        chosen += 1
        p = (h ^ (h >> np.uint64(29))) & mask
        while total[p] > 0 and key[p] != h:
            p = (p + np.uint64(1)) & mask
        if total[p] == 0:
            free -= 1
        key[p] = h
        total[p] += amounts[j]
        if total[p] >= k or free == 0:
            return False
    # Where groups are few, those that were chosen need not be like the others.
    return 2 * chosen >= some


@linked
def _take(left, m, k, rules, tally, slots, found, classes):
    """Let the groups of k records for which the rules hold become classes: how many tuples and classes there are."""
    codes, amounts, values, who = left
    for j in range(m):
        slots.number[slots.of[j]] = -2
    kept = np.int64(0)
    for j in range(m):
        p = slots.of[j]
        if slots.number[p] == -2:
            slots.number[p] = -1
            if slots.total[p] >= k:
                if rules is not None:
                    clear(rules, tally)
                    i = slots.first[p]
                    while i >= 0:
                        count(rules, tally, values, i, amounts[i])
                        i = slots.other[i]
                if lacking(rules, tally) < 0:
                    slots.number[p] = classes
                    classes += 1
        found[who[j]] = slots.number[p]
    for j in range(m):
        if slots.number[slots.of[j]] >= 0:
            continue
        if kept != j:
            who[kept], amounts[kept] = who[j], amounts[j]
            for a in range(codes.shape[1]):
                codes[kept, a] = codes[j, a]
            for r in range(values.shape[0]):
                values[r, kept] = values[r, j]
        kept += 1
    return kept, classes


@linked
def _pass_over(levels, vector, barren, below):
    """Note all vectors that are nowhere above one."""
    d = vector.size
    for a in range(d):
        below[a] = 0
    number = np.int64(0)
    while True:
        barren[number] = True
        a = 0
        while a < d and below[a] == vector[a]:
            number -= below[a] * levels.step[a]
            below[a] = 0
            a += 1
        if a == d:
            return
        below[a] += 1
        number += levels.step[a]


@compiled
def peel(levels, order, barren, left, k, rules, found, state, enough, most):
    """Make classes at one vector after the other, until enough tuples were looked at or all vectors are through.

    Parameters
    ----------
    order
        The vectors as numbers, the cheapest first.
    barren
        For each vector, whether it is known to have no group of k records.
    left
        The tuples; those that stay are brought to the front.
    found
        The class of each tuple is written here; -1 where it is in none.
    state
        See the top of this file. Where one call ends the next one goes on.
    most
        Of more tuples than this some groups tell whether any has k records.
    """
    rules = own_rules(rules)
    tally, slots = room_for(rules, 1), _room(state[LEFT])
    d = left.codes.shape[1]
    at, vector, below = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    seen = np.int64(0)
    while state[NEXT] < order.size and state[LEFT] > 0 and seen < enough:
        number = order[state[NEXT]]
        state[NEXT] += 1
        if barren[number]:
            continue
        for a in range(d):
            vector[a] = number // levels.step[a] % (levels.top[a] + 1)
            at[a] = levels.begin[a, vector[a]]
        seen += state[LEFT]
        if not _barren(levels, at, left, state[LEFT], k, slots, most):
            _gather(levels, at, left, state[LEFT], slots)
            seen += state[LEFT]
            state[LEFT], state[CLASSES] = _take(left, state[LEFT], k, rules, tally, slots, found, state[CLASSES])
            if rules is not None:
                continue  # groups that are large enough may be left
        for a in range(d):
            while vector[a] < levels.top[a]:
                at[a] = levels.begin[a, vector[a] + 1]
                if not _barren(levels, at, left, state[LEFT], k, slots, most):
                    at[a] = levels.begin[a, vector[a]]
                    break
                seen += state[LEFT]
                vector[a] += 1
        _pass_over(levels, vector, barren, below)
    state[SEEN] += seen
