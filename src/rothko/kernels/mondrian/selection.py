"""The Selection criterion: cut along the edges of the queries that will be asked.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.2, equation 7. A query is a box of codes with a weight. All
records of a part that overlaps it are returned; those of a part that does not are saved, and the imprecision falls by
their number times the weight. A cut saves where it leaves a part outside of a query that the node overlaps.

Overlap is judged on the smallest boxes around the records, which are what a release shows as ranges, and not on the
regions of the cuts, which are larger: a query never returns more for it. Between the codes of two records a cut may lie
anywhere; it lies where the regions beside it save most, too: at the edge of a query.

To the letter, overlap is judged on the regions: those of the node, and of the parts wherever a cut may lie.

Equal savings: the more even cut, then the attribute that comes first, then the lower code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import linked
from rothko.kernels.boxes import TREE, children_between
from rothko.kernels.mondrian.allowed import children_hold, keep_good
from rothko.kernels.mondrian.arrange import sorted_along
from rothko.kernels.mondrian.nodes import region_of
from rothko.kernels.order import order_of


class Queries(NamedTuple):
    """The queries that will be asked."""

    low: NDArray[np.int32]
    """(queries, lines): lowest and highest codes."""
    high: NDArray[np.int32]
    weights: NDArray[np.float64]


@linked
def _overlapped(low, high, queries):
    """The queries that a box overlaps."""
    box_low, box_high = queries.low, queries.high
    found = np.empty(box_low.shape[0], dtype=np.int64)
    count = 0
    for q in range(box_low.shape[0]):
        overlaps = True
        for a in range(low.size):
            if high[a] < box_low[q, a] or low[a] > box_high[q, a]:
                overlaps = False
        if overlaps:
            found[count] = q
            count += 1
    return found[:count].copy()


@linked
def _weights_along(edges, weights, queries, rising):
    """Edges of queries in order, and the weight of those up to each (``rising``) or from each on."""
    n = edges.size
    order = order_of(edges, n, False)
    along = np.zeros(n + 1)
    if rising:
        for i in range(n):
            along[i + 1] = along[i] + weights[queries[order[i]]]
    else:
        for i in range(n - 1, -1, -1):
            along[i] = along[i + 1] + weights[queries[order[i]]]
    return edges[order], along


@linked
def _best_of_line(table, a, order, least, good, lows, from_low, highs, to_high):
    """What the best good position of a line saves by the smallest boxes, and the position."""
    n = order.size
    best, best_left = 0.0, np.int64(0)
    below, above = 0, 0  # queries that begin at or before the left side's last code; that end before the right side
    for p in range(least, n - least + 1):
        if good[p] == 0:
            continue
        last, first = table[a, order[p - 1]], table[a, order[p]]
        while below < lows.size and lows[below] <= last:
            below += 1
        while above < highs.size and highs[above] < first:
            above += 1
        saved = from_low[below] * p + to_high[above] * (n - p)
        if saved > best or (saved > 0.0 and saved == best and abs(2 * p - n) < abs(2 * best_left - n)):
            best, best_left = saved, np.int64(p)
    return best, best_left


@linked
def _best_by_regions(table, a, order, least, good, missing, lows, from_low, highs, to_high):
    """What the best good position of a line saves by the regions beside it, and the position."""
    n = order.size
    best, best_left = 0.0, np.int64(0)
    for p in range(least, n - least + 1):
        if good[p] == 0:
            continue
        last, first = np.int64(table[a, order[p - 1]]), np.int64(table[a, order[p]])
        _, saved = _edge(last, first, missing, np.int64(p), n, lows, from_low, highs, to_high)
        if saved > best or (saved > 0.0 and saved == best and abs(2 * p - n) < abs(2 * best_left - n)):
            best, best_left = saved, np.int64(p)
    return best, best_left


@linked
def _edge(last, first, missing, left, n, lows, from_low, highs, to_high):
    """Where to cut between the last code on the left and the first one on the right: where the regions save most.

    It is the first code of the right region: that of the record, or where a query begins; of equals the highest. What
    is missing has a region of its own. Returns what the regions save, too.
    """
    below, above = np.searchsorted(lows, first), np.searchsorted(highs, first)
    cut, best = first, from_low[below] * left + to_high[above] * (n - left)
    if first == missing:
        return cut, best
    while below > 0 and lows[below - 1] > last:
        edge = lows[below - 1]
        below, above = np.searchsorted(lows, edge), np.searchsorted(highs, edge)
        saved = from_low[below] * left + to_high[above] * (n - left)
        if saved > best:
            cut, best = edge, saved
    return cut, best


@linked
def _saved_by_children(tree, first, count, sizes, a, queries, hit):
    saved = 0.0
    for c in range(count):
        for i in range(hit.size):
            q = hit[i]
            if tree[first + c, 2] < queries.low[q, a] or tree[first + c, 1] > queries.high[q, a]:
                saved += queries.weights[q] * sizes[c]
    return saved


@linked
def _saved_by_regions(tree, first, count, sizes, a, queries, hit, low, high):
    """The same by the regions of the children that have records, which share the codes ``low … high``."""
    saved = 0.0
    begins, here = low, np.int64(-1)
    for c in range(count + 1):
        if c < count and sizes[c] == 0:
            continue
        last = tree[first + c, 1] - 1 if c < count else high
        for i in range(hit.size if here >= 0 else 0):
            q = hit[i]
            if last < queries.low[q, a] or begins > queries.high[q, a]:
                saved += queries.weights[q] * sizes[here]
        if here >= 0:
            begins = last + 1
        here = np.int64(c)
    return saved


@linked
def choose(table, start, end, low, high, node, nodes, around, letter, lines, least, rules, room, queries):
    """The allowable cut that lowers the imprecision most: (line or −1, records on the left, cut)."""
    if queries is None:
        return np.int64(-1), np.int64(0), np.int64(0)
    n = np.int64(end - start)
    best, best_line, best_left, best_cut = 0.0, np.int64(-1), np.int64(0), np.int64(0)
    evenness = n
    region_low, region_high = low[node], high[node]
    if letter:
        region_low, region_high = region_of(nodes, node, around)
    hit = _overlapped(region_low, region_high, queries)
    for a in range(lines.spec.shape[0]):
        bottom, top = np.int64(low[node, a]), np.int64(high[node, a])
        lows, highs = np.empty(hit.size, dtype=np.int64), np.empty(hit.size, dtype=np.int64)
        inside = True
        for i in range(hit.size):
            lows[i], highs[i] = queries.low[hit[i], a], queries.high[hit[i], a]
            inside = inside and lows[i] <= bottom and highs[i] >= top
        if inside or bottom == top:
            continue  # every part would overlap all of them
        left, cut, uneven = np.int64(0), np.int64(0), n
        if lines.spec[a, 0] == TREE:
            first, count = children_between(lines, a, bottom, top)
            if not children_hold(table, a, start, end, first, count, lines.tree, least, rules, room, True):
                continue
            if letter:
                ends = np.int64(region_low[a]), np.int64(region_high[a])
                saved = _saved_by_regions(lines.tree, first, count, room.sizes, a, queries, hit, *ends)
            else:
                saved = _saved_by_children(lines.tree, first, count, room.sizes, a, queries, hit)
            largest = np.int64(0)
            for c in range(count):
                largest = max(largest, room.sizes[c])
            uneven = 2 * largest - n
        else:
            order = sorted_along(table, a, start, end, bottom, top)
            good = np.zeros(n + 1, dtype=np.uint8)
            if keep_good(table, a, order, least, False, True, good, rules, room.histograms) == 0:
                continue
            lows, from_low = _weights_along(lows, queries.weights, hit, False)
            highs, to_high = _weights_along(highs, queries.weights, hit, True)
            missing = np.int64(lines.spec[a, 2])
            if letter:
                saved, left = _best_by_regions(table, a, order, least, good, missing, lows, from_low, highs, to_high)
            else:
                saved, left = _best_of_line(table, a, order, least, good, lows, from_low, highs, to_high)
            if left > 0:
                last, cut = np.int64(table[a, order[left - 1]]), np.int64(table[a, order[left]])
                cut, _ = _edge(last, cut, missing, left, n, lows, from_low, highs, to_high)
            uneven = abs(2 * left - n)
        if saved > best or (saved > 0.0 and saved == best and uneven < evenness):
            best, best_line, best_left, best_cut, evenness = saved, np.int64(a), left, cut, uneven
    return best_line, best_left, best_cut
