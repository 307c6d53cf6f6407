"""Top-Down Refinement: how parts can be refined further, some refinements ahead, compiled.

Where an interval is split, whether a node goes to its children and which values can be disclosed depend on the part
and on counts by code alone, and not on what else was refined (:mod:`rothko.kernels.refine.gains`). So it is known
before any record is grouped which codes must be told apart.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.boxes import NOMINAL, TREE, children_between
from rothko.kernels.refine.gains import disclose, specialise, split


@compiled
def refinement_depths(columns, labels, depth):
    """How many refinements it takes to tell each code from those below, one in the other; 0 where none does.

    Every part of an ordered line or of a tree comes from the whole line by the same refinements, whatever else is
    refined. So this is known once and for all, and a code is where a part is divided at most once. Values that are
    suppressed are told apart otherwise (:func:`look_ahead`).
    """
    longest, most_labels = np.int64(1), np.int64(1)
    for i in range(columns.lines.spec.shape[0]):
        longest = max(longest, columns.lines.spec[i, 1])
    for t in range(labels.counts.size):
        most_labels = max(most_labels, labels.counts[t])
    gains, whole, side = np.empty(longest), np.empty(most_labels, dtype=np.int64), np.empty(most_labels, dtype=np.int64)
    stack = np.empty((longest + 1, 3), dtype=np.int32)
    for i in range(columns.lines.spec.shape[0]):
        at, size = columns.at[i], columns.at[i + 1] - columns.at[i]
        if columns.lines.spec[i, 0] == NOMINAL:
            continue
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, size - 1, 1
        height = 1
        while height > 0:
            height -= 1
            low, high, level = np.int64(stack[height, 0]), np.int64(stack[height, 1]), stack[height, 2]
            if columns.lines.spec[i, 0] == TREE:
                if specialise(columns, labels, i, low, high, whole, side) < 0:
                    continue
                first, count = children_between(columns.lines, i, low, high)
                for child in range(first, first + count):
                    begin, end = columns.lines.tree[child, 1], columns.lines.tree[child, 2]
                    if begin > low:
                        depth[at + begin] = level
                    stack[height, 0], stack[height, 1], stack[height, 2] = begin, end, level + 1
                    height += 1
                continue
            cut, _ = split(columns, labels, i, low, high, gains, whole, side)
            if cut >= 0:
                depth[at + cut] = level
                stack[height, 0], stack[height, 1], stack[height, 2] = low, cut - 1, level + 1
                stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = cut, high, level + 1
                height += 2


@compiled
def look_ahead(columns, labels, depth, parts, hidden, hiding, never, levels, apart):
    """Mark the codes that must be told from others to refine each of some parts so many times, one in the other.

    ``depth`` is what :func:`refinement_depths` tells; ``parts``, ``hidden``, ``hiding``, ``never`` and ``apart`` are
    those of :class:`rothko.kernels.refine.state.Start`.
    """
    longest, most_labels = np.int64(1), np.int64(1)
    for i in range(columns.lines.spec.shape[0]):
        if columns.lines.spec[i, 0] == NOMINAL:
            longest = max(longest, columns.lines.spec[i, 1])
    for t in range(labels.counts.size):
        most_labels = max(most_labels, labels.counts[t])
    gains, whole = np.empty(longest), np.empty(most_labels, dtype=np.int64)
    for part in range(parts.shape[0]):
        i, low, high = np.int64(parts[part, 0]), np.int64(parts[part, 1]), np.int64(parts[part, 2])
        at, live = columns.at[i], parts[part, 4] == 0
        if parts[part, 3] != 0:
            if live and levels > 0:
                _values_ahead(columns, labels, i, hidden[at : at + hiding[i]], never, gains, whole, apart)
            continue
        apart[at + low] = True
        if live:
            # The later of the refinements that made its two ends is the one that it came from.
            above = depth[at + low]
            if at + high + 1 < columns.at[i + 1]:
                above = max(above, depth[at + high + 1])
            for code in range(at + low + 1, at + high + 1):
                if depth[code] > 0 and depth[code] - above <= levels:
                    apart[code] = True


@linked
def _values_ahead(columns, labels, i, codes, never, gains, whole, apart):
    """Mark the suppressed values that can be disclosed; what else is disclosed before makes them fewer, never more."""
    at = columns.at[i]
    before = columns.before[at + i : columns.at[i + 1] + i + 1]
    if not disclose(columns, labels, i, codes, gains, whole):
        return
    total = np.int64(0)
    for code in codes:
        total += before[code + 1] - before[code]
    for code in codes:
        records = before[code + 1] - before[code]
        if min(records, total - records) >= columns.least[i] and not never[at + code]:
            apart[at + code] = True
