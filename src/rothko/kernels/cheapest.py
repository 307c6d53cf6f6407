"""The cheapest box around a record that holds k records: what no release by boxes can lose less of.

Branch and bound over the nodes above the record in every hierarchy. A box that holds another record costs at least what
the smallest box around the two costs, so records that are farther than the best box so far need no look, and the
k-nearest one bounds what lines are still to be chosen. The last line may be an ordered one, on which the narrowest
window around the record is found. What several such lines cost together is bounded by the k-nearest record on them.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked

BINS = 4096
"""Of costs from 0 to 1, to find the nearest records without putting all in order."""


@linked
def costs_from(at, codes, spec, weights, places, trees, leaves, row):
    """Fill what the smallest box around a record and each code costs, line by line."""
    for line in range(spec.shape[0]):
        kind, size, missing, begin, first, offset = spec[line]
        own = codes[line, at]
        if kind == 2:
            node = leaves[first + own]
            low, high = own, own
            row[offset + own] = 0.0
            while trees[node, 0] >= 0:
                node = trees[node, 0]
                wide = weights[line] * (trees[node, 2] - trees[node, 1] + 1) / size
                for code in range(trees[node, 1], low):
                    row[offset + code] = wide
                for code in range(high + 1, trees[node, 2] + 1):
                    row[offset + code] = wide
                low, high = trees[node, 1], trees[node, 2]
        else:
            for code in range(size):
                if code == own:
                    wide = 0.0
                elif code == missing or own == missing:
                    wide = 1.0
                elif kind == 0:
                    wide = abs(places[begin + code] - places[begin + own])
                else:
                    wide = 2.0 / size
                row[offset + code] = weights[line] * wide


@linked
def nearest(costs, counts, some, k):
    """The least cost within which k records lie, of some tuples; infinite where they are fewer."""
    order = np.argsort(costs[some])
    there = 0
    for i in order:
        there += counts[some[i]]
        if there >= k:
            return costs[some[i]]
    return np.inf


@linked
def narrowest(x, own, counts, some, k, unit, missing, span):
    """What the narrowest window around a place costs that holds k records of some tuples."""
    total = 0
    for i in some:
        total += counts[i]
    if total < k:
        return np.inf
    there = 0
    if own == missing:
        for i in some:
            if x[i] == missing:
                there += counts[i]
        return 0.0 if there >= k else unit
    known = some[x[some] != missing]
    known = known[np.argsort(x[known])]
    best = unit
    begin, there = 0, 0
    for end in range(known.size):
        there += counts[known[end]]
        while begin < end and x[known[begin + 1]] <= own and there - counts[known[begin]] >= k:
            there -= counts[known[begin]]
            begin += 1
        if x[known[end]] >= own and there >= k:
            best = min(best, unit * (span[x[known[end]]] - span[x[known[begin]]]))
    return best


@compiled
def cheapest(at, codes, counts, k, spec, weights, places, trees, leaves, effort):
    """What the cheapest box around a record costs that holds k records, or less; and whether it is exactly that.

    Lines are those of hierarchies first. ``effort`` is how many tuples may be looked at; where that is not enough, the
    k-nearest record is the bound.
    """
    lines, tuples = codes.shape
    levels = 0
    while levels < lines and spec[levels, 0] == 2:
        levels += 1
    row = np.zeros(spec[lines - 1, 5] + spec[lines - 1, 1])
    costs_from(at, codes, spec, weights, places, trees, leaves, row)
    cost = np.zeros(tuples)
    for line in range(lines):
        offset = spec[line, 5]
        for i in range(tuples):
            cost[i] += row[offset + codes[line, i]]
    held = np.zeros(BINS + 1, dtype=np.int64)
    for i in range(tuples):
        held[min(int(cost[i] * BINS), BINS)] += counts[i]
    last, there = 0, held[0]
    while there < k and last < BINS:
        last += 1
        there += held[last]
    if there < k:
        return np.inf, True
    near = np.flatnonzero(cost * BINS < last + 1)
    safe = nearest(cost, counts, near, k)
    # A box that holds the nearest ones: what the best one costs at most.
    near = near[cost[near] <= safe]
    best = 0.0
    for line in range(levels):
        best += row[spec[line, 5] + codes[line, near]].max()
    rest = np.zeros((levels + 1, tuples))
    one = lines == levels + 1 and spec[levels, 0] == 0
    for line in range(lines - 1, -1, -1):
        to = min(line, levels)
        for i in range(tuples):
            if line < levels:
                rest[line, i] = rest[line + 1, i] + row[spec[line, 5] + codes[line, i]]
            else:
                rest[to, i] += row[spec[line, 5] + codes[line, i]]
    if one:
        begin, missing = spec[levels, 3], spec[levels, 2]
        span = places[begin : begin + spec[levels, 1]]
        best += narrowest(codes[levels], codes[levels, at], counts, near, k, weights[levels], missing, span)
    elif levels < lines:
        best += nearest(rest[levels], counts, near, k)
    around = np.flatnonzero(cost <= best)
    # The levels of each hierarchy above the record, and how far one is in going through them.
    inside = np.empty((levels + 1, around.size), dtype=np.int64)
    inside[0] = around
    size = np.zeros(levels + 1, dtype=np.int64)
    size[0] = around.size
    spent = np.zeros(levels + 1)
    tried = np.full(levels + 1, -1.0)
    depth = 0
    while depth >= 0:
        some = inside[depth, : size[depth]]
        if depth == levels:
            if one:
                leaf = narrowest(codes[levels], codes[levels, at], counts, some, k, weights[levels], missing, span)
            elif levels < lines:
                leaf = nearest(rest[levels], counts, some, k)
            else:
                leaf = 0.0
            best = min(best, spent[depth] + leaf)
            depth -= 1
            continue
        # The next level up: the least cost beyond the one before at which somebody is.
        level = np.inf
        offset = spec[depth, 5]
        for i in some:
            wide = row[offset + codes[depth, i]]
            if tried[depth] < wide < level:
                level = wide
        effort -= size[depth]
        if effort < 0:
            return min(safe, best), False
        if level == np.inf or spent[depth] + level >= best:
            tried[depth] = -1.0
            depth -= 1
            continue
        tried[depth] = level
        kept, there = 0, 0
        for i in some:
            if row[offset + codes[depth, i]] <= level:
                inside[depth + 1, kept] = i
                kept += 1
                there += counts[i]
        if there < k:
            continue
        size[depth + 1] = kept
        spent[depth + 1] = spent[depth] + level
        near_by = 0
        for i in inside[depth + 1, :kept]:
            if spent[depth + 1] + rest[depth + 1, i] < best:
                near_by += counts[i]
        if near_by >= k:
            depth += 1
            tried[depth] = -1.0
    return best, True


@compiled
def cheapest_of(chosen, codes, counts, k, spec, weights, places, trees, leaves, effort):
    """The same for several records."""
    found, exact = np.empty(chosen.size), np.empty(chosen.size, dtype=np.bool_)
    for i in range(chosen.size):
        found[i], exact[i] = cheapest(chosen[i], codes, counts, k, spec, weights, places, trees, leaves, effort)
    return found, exact
