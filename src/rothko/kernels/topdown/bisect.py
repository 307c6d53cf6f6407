"""Bisecting by two far seeds, until groups have fewer than 2k records."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.boxes import NOMINAL
from rothko.kernels.topdown.records import penalty

ROUNDS = 3
"""How often a partner that is farther away is looked for; the paper found that more rounds gain little."""


@linked
def farthest(records, order, start, end, seed):
    """The first record that has the largest NCP together with the seed, and that NCP."""
    table = records.codes
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    best, found = -1.0, seed
    two = np.int64(2)
    for i in range(start, end):
        r = order[i]
        apart = 0.0
        for a in range(table.shape[1]):
            x, y = np.int64(table[seed, a]), np.int64(table[r, a])
            if x != y:
                apart += penalty(lines, spec, places, scales, pairs, pairs_at, a, min(x, y), max(x, y), two)
        if apart > best:
            best, found = apart, r
    return found, best


@compiled
def bisect(records, k):
    """Groups of fewer than 2k records: their records one after the other, and where each begins and the last ends.

    The records come in a random order, which is kept in every part: the first one is the paper's random start.
    """
    table, at = records.codes, records.at
    lines, pairs, pairs_at = records.lines, records.pairs, records.pairs_at
    spec, places, scales = lines.spec, lines.places, lines.scales
    n, d = table.shape
    order, spare = np.arange(n), np.empty(n, dtype=np.int64)
    begins = np.zeros(n + 1, dtype=np.uint8)
    begins[0] = begins[n] = 1
    stack = np.empty((n // (2 * k) + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    waiting = 1 if n >= 2 * k else 0
    marks = np.zeros((2, at[d]), dtype=np.int64)
    low, high = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    values, wider = np.empty((2, d), dtype=np.int64), np.empty((2, d), dtype=np.int64)
    width, trial = np.empty((2, d)), np.empty((2, d))
    stamp = np.int64(0)
    while waiting > 0:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        u = order[start]
        v, apart = farthest(records, order, start, end, u)
        if apart == 0.0:
            # Equal records: any groups of them cost nothing.
            for i in range(start + k, end - k + 1, k):
                begins[i] = 1
            continue
        for _ in range(ROUNDS - 1):
            w, further = farthest(records, order, start, end, v)
            if further <= apart:
                break
            u, v, apart = v, w, further
        stamp += 1
        for g in range(2):
            for a in range(d):
                code = np.int64(table[u if g == 0 else v, a])
                low[g, a] = high[g, a] = code
                values[g, a] = 1
                width[g, a] = 0.0
                if spec[a, 0] == NOMINAL:
                    marks[g, at[a] + code] = stamp
        left, right = 0, 0  # the first part moves to its place at once, the second waits in ``spare``
        for i in range(start, end):
            r = order[i]
            if r in (u, v):
                side = 0 if r == u else 1
            else:
                for g in range(2):
                    for a in range(d):
                        code = np.int64(table[r, a])
                        more = values[g, a]
                        if spec[a, 0] == NOMINAL:
                            more += marks[g, at[a] + code] != stamp
                        wider[g, a] = more
                        if more == values[g, a] and low[g, a] <= code <= high[g, a]:
                            trial[g, a] = width[g, a]
                        else:
                            bottom, top = min(code, low[g, a]), max(code, high[g, a])
                            trial[g, a] = penalty(lines, spec, places, scales, pairs, pairs_at, a, bottom, top, more)
                side = _nearer(width, trial)
                for a in range(d):
                    code = np.int64(table[r, a])
                    low[side, a], high[side, a] = min(code, low[side, a]), max(code, high[side, a])
                    values[side, a], width[side, a] = wider[side, a], trial[side, a]
                    if spec[a, 0] == NOMINAL:
                        marks[side, at[a] + code] = stamp
            if side == 0:
                order[start + left] = r
                left += 1
            else:
                spare[right] = r
                right += 1
        for i in range(right):
            order[start + left + i] = spare[i]
        begins[start + left] = 1
        if right >= 2 * k:
            stack[waiting, 0], stack[waiting, 1] = start + left, end
            waiting += 1
        if left >= 2 * k:
            stack[waiting, 0], stack[waiting, 1] = start, start + left
            waiting += 1
    return order, np.flatnonzero(begins)


@linked
def _nearer(width, trial):
    """The group of two to which a record goes, given what its boxes cost now and would cost with it.

    The one whose NCP is the lower one with the record in it; where both are alike the one that it raises less.
    """
    now_0, now_1, then_0, then_1 = 0.0, 0.0, 0.0, 0.0
    for a in range(width.shape[1]):
        now_0 += width[0, a]
        now_1 += width[1, a]
        then_0 += trial[0, a]
        then_1 += trial[1, a]
    if then_0 == then_1:
        return 0 if now_0 >= now_1 else 1
    return 0 if then_0 < then_1 else 1
