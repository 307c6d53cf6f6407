"""Greedy multidimensional partitioning (Mondrian), Median criterion, compiled.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 2.2; the recursion is the basic Mondrian
figure of their KDD 2006 paper. The four parts of a tree builder, in this order below: how wide
is each attribute in a node, where is its best cut, does every part meet the requirements, move
the records.

The records of a node are one contiguous range of ``table``, an int32 matrix with a row per
column: the quasi-identifiers' codes, the record numbers, the sensitive codes. Cutting a node
reorders its range, stably, so that each part is contiguous again: deep nodes then live in the
cache, and every scan is sequential.

Positions are unsigned and arrays are not sliced in these loops: signed indices cost a check for
negative ones, and a slice counts a reference on the table, over which the threads would contend.

A cut is the smallest code on its right side. A tree node is cut into its children; children
without records get no part, and their codes fall to the part on their left (or the first part),
so that the regions of the parts cover the region of the node.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.requirements import FACTS, KIND, MOMENTS, ROW, SIZE, gap, keep_allowed, sides, summary

ORDERED, NOMINAL, TREE = 0, 1, 2
"""Kinds of line: widths by value, by number of values, by leaves under the lowest common node."""

# Columns of the node table.
PARENT, ATTRIBUTE, BEGINS, START, END, CHILD, CHILDREN = range(7)
NODE_WIDTH = 7
LEAF, PENDING = -1, -2

TINY = 1e-300


@compiled
def _extremes(table, a, start, end):
    """The smallest and the largest code of line ``a`` among the records ``start … end``."""
    low = table[a, start]
    high = low
    for i in range(start, end):
        low = min(low, table[a, i])
        high = max(high, table[a, i])
    return low, high


@compiled
def lowest_node(tree, offset, leaf, leaf_offset, low, high):
    """The lowest node of a line's tree that covers the codes from ``low`` to ``high``."""
    node = leaf[leaf_offset + low]
    while tree[offset + node, 2] < high:
        node = tree[offset + node, 0]
    return node


@compiled
def _width(lines, places, tree, leaf, scales, a, low, high):
    """Normalised width of attribute ``a`` over the codes low … high, times its weight; 0 when it is one value."""
    if low == high:
        return 0.0
    kind, size, missing = lines[a, 0], lines[a, 1], lines[a, 2]
    if high == missing:
        return scales[a, 0]  # missing and present together are published as the root
    if kind == ORDERED:
        offset = lines[a, 3]
        # Never nothing: two values so close that their distance is lost to rounding can still be told apart.
        return max(scales[a, 0] * ((places[offset + high] - places[offset + low]) / scales[a, 1]), TINY)
    if kind == NOMINAL:
        return scales[a, 0] * ((high - low + 1) / size)
    node = lowest_node(tree, lines[a, 4], leaf, lines[a, 5], low, high)
    row = lines[a, 4] + node
    return scales[a, 0] * ((tree[row, 2] - tree[row, 1] + 1) / size)


@compiled
def _select(table, a, start, end, low, high, rank, counts):
    """The code at ``rank`` in sorted order, how many are smaller, how many are equal.

    Radix selection: histogram the range, keep the bucket that holds the rank, repeat. At most
    three passes over a node however many distinct values the line has, and no sort.
    """
    buckets = max(32, min(np.int64(end - start), counts.size - 1))
    below = 0
    while True:
        span = high - low + 1
        shift = 0
        while (span >> shift) >= buckets:
            shift += 1
        for b in range((span >> shift) + 1):
            counts[b] = 0
        for i in range(start, end):
            v = np.int64(table[a, i])
            if low <= v <= high:
                counts[(v - low) >> shift] += 1
        b = 0
        while below + counts[b] <= rank:
            below += counts[b]
            b += 1
        if shift == 0:
            return low + b, below, np.int64(counts[b])
        low = low + (b << shift)
        high = min(high, low + (1 << shift) - 1)


@compiled
def _next_code(table, a, start, end, code):
    """The smallest code above ``code``."""
    best = np.int32(2147483647)
    for i in range(start, end):
        v = table[a, i]
        if v > code:
            best = min(best, v)
    return np.int64(best)


@compiled
def _sides_hold(table, a, start, end, left, cut, ties, least, rules, facts, histograms):
    """Whether both sides of a cut meet every requirement that is about a sensitive value."""
    n = np.int64(end - start)
    for r in range(rules.shape[0]):
        if rules[r, SIZE] <= n or rules[r, KIND] >= MOMENTS:
            if not sides(table, a, start, end, cut, ties, rules, r, facts, histograms):
                return False
            continue
        order = np.empty(n, dtype=np.uint32)
        _arrange_two(table, a, start, end, left, cut, ties, order)
        good = np.zeros(n + 1, dtype=np.uint8)
        good[left] = 1
        if keep_allowed(_values(table, rules[r, ROW], order), least, good, rules, r, facts, histograms) == 0:
            return False
    return True


@compiled
def _values(table, row, order):
    """A row of the table in the given order."""
    values = np.empty(order.size, dtype=np.int32)
    for i in range(order.size):
        values[i] = table[row, order[i]]
    return values


@compiled
def _sorted(table, a, start, end, low, high):
    """The records of a node in stable ascending order of line ``a``: radix sort, eleven bits a pass."""
    n = np.int64(end - start)
    order = np.empty(n, dtype=np.uint32)
    spare = np.empty(n, dtype=np.uint32)
    for i in range(n):
        order[i] = start + np.uint64(i)
    # Going through the buckets must not take longer than going through the records.
    bits = 11 if n > 2000 else 6
    mask = (1 << bits) - 1
    counts = np.empty(mask + 2, dtype=np.int64)
    shift = 0
    while (high - low) >> shift > 0:
        for b in range(mask + 2):
            counts[b] = 0
        for i in range(n):
            counts[(((table[a, order[i]] - low) >> shift) & mask) + 1] += 1
        for b in range(mask + 1):
            counts[b + 1] += counts[b]
        for i in range(n):
            b = ((table[a, order[i]] - low) >> shift) & mask
            spare[counts[b]] = order[i]
            counts[b] += 1
        order, spare = spare, order
        shift += bits
    return order


@compiled
def _scan(table, a, start, end, low, high, least, relaxed, rules, facts, histograms):
    """The allowable cut nearest the median among all of them, or 0 records on the left."""
    n = np.int64(end - start)
    order = _sorted(table, a, start, end, low, high)
    good = np.zeros(n + 1, dtype=np.uint8)
    left = 0
    for p in range(least, n - least + 1):
        if relaxed or table[a, order[p]] != table[a, order[p - 1]]:
            good[p] = 1
            left += 1
    for r in range(rules.shape[0]):
        if left > 0:
            left = keep_allowed(_values(table, rules[r, ROW], order), least, good, rules, r, facts, histograms)
    if left == 0:
        return np.int64(0), np.int64(0), np.int64(0)
    best = np.int64(0)
    for p in range(least, n - least + 1):
        if good[p] == 1 and (best == 0 or abs(2 * p - n) < abs(2 * best - n)):
            best = p
    cut = np.int64(table[a, order[best]])
    ties = np.int64(0)  # records before the cut that share its code
    while ties < best and table[a, order[best - 1 - ties]] == cut:
        ties += 1
    return best, cut, ties


@compiled
def _cut_line(table, a, start, end, low, high, missing, least, relaxed, rules, facts, counts, histograms):
    """The allowable cut of an ordered or nominal line: (records on the left, cut, equal codes that go left).

    Missing is split from present where that is allowable, since together they publish nothing;
    otherwise the cut nearest the median.
    """
    n = np.int64(end - start)
    none = np.int64(0)  # a number of its own type: a plain 0 is another, for which all below is compiled again
    if high == missing:
        left = np.int64(0)
        for i in range(start, end):
            left += table[a, i] != missing
        if (
            left >= least
            and n - left >= least
            and _sides_hold(table, a, start, end, left, high, none, least, rules, facts, histograms)
        ):
            return left, high, none
    median, below, equal = _select(table, a, start, end, low, high, n // 2, counts)
    if relaxed:
        left, cut, ties = n // 2, median, n // 2 - below
    else:
        # The cuts next to the median are the only ones to try for the size: any other leaves
        # still fewer records on its smaller side.
        lower, upper = below, below + equal
        lower_fits, upper_fits = lower >= least, n - upper >= least
        if not (lower_fits or upper_fits):
            return none, none, none
        ties = none
        if lower_fits and (not upper_fits or n - 2 * lower <= 2 * upper - n):
            left, cut = lower, median
        else:
            left, cut = upper, _next_code(table, a, start, end, median)
    if _sides_hold(table, a, start, end, left, cut, ties, least, rules, facts, histograms):
        return left, cut, ties
    return _scan(table, a, start, end, low, high, least, relaxed, rules, facts, histograms)


@compiled
def _child(tree, first, count, code):
    """Which of ``count`` children from row ``first`` on holds the code."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if tree[first + middle, 1] <= code:
            low = middle
        else:
            high = middle - 1
    return low


@compiled
def _cut_tree(table, a, start, end, first, count, tree, least, rules, facts, child, sizes):
    """Specialise to the children of a node: how many parts there are, or 0 where one would break a requirement.

    ``child`` gets the child of every record, ``sizes`` the records of every child.
    """
    for c in range(count):
        sizes[c] = 0
    for i in range(start, end):
        c = _child(tree, first, count, table[a, i])
        child[i - start] = c
        sizes[c] += 1
    parts = 0
    for c in range(count):
        if 0 < sizes[c] < least:
            return 0
        parts += sizes[c] > 0
    for r in range(rules.shape[0]):
        if not _parts_hold(table, start, end, count, rules, r, facts, child, sizes):
            return 0
    return parts


@compiled
def _parts_hold(table, start, end, count, rules, r, facts, child, sizes):
    """Whether every child that has records meets a requirement."""
    kind, row, at = rules[r, KIND], rules[r, ROW], rules[r, FACTS]
    if kind >= MOMENTS:
        moments = np.zeros((count, 3))
        histograms = np.zeros((2, 1), dtype=np.int64)
        for i in range(start, end):
            x = facts[at + 1 + np.uint64(table[row, i])]
            if x == x:
                c = child[i - start]
                moments[c, 0] += 1.0
                moments[c, 1] += x
                moments[c, 2] += x * x
        for c in range(count):
            n, first, second = moments[c, 0], moments[c, 1], moments[c, 2]
            if sizes[c] > 0 and gap(histograms, np.int64(0), n, first, second, rules, r, facts) > 0:
                return False
        return True
    histograms = np.zeros((count + 1, rules[r, SIZE]), dtype=np.int64)
    for i in range(start, end):
        histograms[child[i - start], np.uint64(table[row, i])] += 1
    for c in range(count):
        n, first = summary(histograms, c, rules, r, facts)
        if sizes[c] > 0 and gap(histograms, c, np.float64(n), first, 0.0, rules, r, facts) > 0:
            return False
    return True


@compiled
def _arrange_two(table, a, start, end, left, cut, ties, order):
    """The order that brings the records below the cut (and the first ``ties`` equal ones) to the front."""
    x, y = np.uint64(0), np.uint64(left)
    if ties > 0:
        for i in range(start, end):
            v = table[a, i]
            if v < cut or (v == cut and ties > 0):
                ties -= v == cut
                order[x] = i
                x += np.uint64(1)
            else:
                order[y] = i
                y += np.uint64(1)
        return
    # Strict cuts pick x or y without a branch, which would be mispredicted for every other record; counting
    # ties in the same loop would bring the branch back (this step was 5 times slower with it).
    for i in range(start, end):
        m = np.uint64(table[a, i] < cut)
        order[y ^ ((x ^ y) & (np.uint64(0) - m))] = i
        x += m
        y += np.uint64(1) - m


@compiled
def _arrange_many(child, start, count, sizes, order):
    """The order that brings the records of each child together, children in line order."""
    places = np.empty(count, dtype=np.uint64)
    total = 0
    for c in range(count):
        places[c] = total
        total += sizes[c]
    for i in range(np.uint64(total)):
        c = child[i]
        order[places[c]] = start + i
        places[c] += np.uint64(1)


@compiled
def _move(table, start, end, order, spare, nodes, low, high, node):
    """Put the records of a node in the given order, and note the smallest box around each of its parts.

    The hottest loop: unsigned positions let it be a vector gather. A column of one value is in any
    order already, and its parts need no look at it.
    """
    d = low.shape[1]
    n = end - start
    first, last = nodes[node, CHILD], nodes[node, CHILD] + nodes[node, CHILDREN]
    for c in range(table.shape[0]):
        if c < d and low[node, c] == high[node, c]:
            for child in range(first, last):
                low[child, c] = high[child, c] = low[node, c]
            continue
        for i in range(n):
            spare[i] = table[c, order[i]]
        for child in range(first, last):
            begin, stop = np.uint64(nodes[child, START]), np.uint64(nodes[child, END])
            smallest = spare[begin - start]
            largest = smallest
            for i in range(begin, stop):
                v = spare[i - start]
                table[c, i] = v
                smallest = min(smallest, v)
                largest = max(largest, v)
            if c < d:
                low[child, c] = smallest
                high[child, c] = largest


@compiled
def _room(table, needed):
    """The table itself, or a copy with room for more rows."""
    if needed <= table.shape[0]:
        return table
    larger = np.empty((max(needed, 2 * table.shape[0]), table.shape[1]), dtype=np.int32)
    for row in range(table.shape[0]):
        for field in range(table.shape[1]):
            larger[row, field] = table[row, field]
    return larger


@compiled
def _open_node(nodes, node, parent, begins, start, end, waiting):
    """Write a node that is still to be cut; until then its CHILD is the one to take up after it (a stack)."""
    nodes[node, PARENT] = parent
    nodes[node, ATTRIBUTE] = PENDING
    nodes[node, BEGINS] = begins
    nodes[node, START] = start
    nodes[node, END] = end
    nodes[node, CHILD] = waiting
    nodes[node, CHILDREN] = 0


@compiled
def grow(table, begin, stop, lines, places, scales, tree, leaf, least, rules, facts, relaxed, most_cuts):
    """Cut the records ``begin … stop`` until no allowable cut is left, or ``most_cuts`` were made.

    Parameters
    ----------
    table
        int32, one row per column: d quasi-identifiers, record numbers, sensitive codes. Reordered in place.
    lines
        int64 (d, 6): kind, number of codes, missing code or -1, offset into ``places``, into ``tree``, into ``leaf``.
    places
        How far each code of an ordered line lies from the first.
    scales
        float64 (d, 2): weight of each line, and how far its last code lies from the first.
    tree
        int32 (nodes, 5) of all hierarchies: parent, first code, last code, first child, children.
    least
        The fewest records that a part may have.
    rules, facts
        Requirements about sensitive values, see :mod:`rothko.kernels.requirements`.

    Returns
    -------
    The nodes, int32 (nodes, 7), parents before children, the parts of a cut side by side in line order, and the
    smallest box around each: its lowest and its highest codes, int32 (nodes, d).
    """
    d = lines.shape[0]
    n = stop - begin
    order = np.empty(n, dtype=np.uint32)
    spare = np.empty(n, dtype=np.int32)
    counts = np.empty(max(256, min(n, 1 << 15)) + 1, dtype=np.int32)
    most_values, most_children = 1, 1
    for r in range(rules.shape[0]):
        if rules[r, KIND] < MOMENTS:
            most_values = max(most_values, rules[r, SIZE])
    for t in range(tree.shape[0]):
        most_children = max(most_children, tree[t, 4])
    histograms = np.zeros((3, most_values), dtype=np.int64)
    child = np.empty(n if tree.shape[0] > 0 else 1, dtype=np.int32)
    sizes = np.empty(most_children, dtype=np.int64)
    width = np.empty(d)

    nodes = np.empty((1024, NODE_WIDTH), dtype=np.int32)
    low = np.empty((1024, d), dtype=np.int32)
    high = np.empty((1024, d), dtype=np.int32)
    _open_node(nodes, 0, -1, 0, begin, stop, -1)
    for a in range(d):
        low[0, a], high[0, a] = _extremes(table, a, np.uint64(begin), np.uint64(stop))
    used = np.int64(1)
    waiting = np.int64(0)
    cuts = 0
    while waiting >= 0 and cuts < most_cuts:
        node = waiting
        waiting = np.int64(nodes[node, CHILD])
        start, end = np.uint64(nodes[node, START]), np.uint64(nodes[node, END])
        nodes[node, ATTRIBUTE] = LEAF
        if np.int64(end - start) < 2 * least:
            continue
        for a in range(d):
            width[a] = _width(lines, places, tree, leaf, scales, a, low[node, a], high[node, a])
        while True:
            a = np.argmax(width)
            if width[a] <= 0.0:
                break
            width[a] = 0.0
            bottom, top = np.int64(low[node, a]), np.int64(high[node, a])
            if lines[a, 0] == TREE:
                offset = lines[a, 4]
                at = offset + lowest_node(tree, offset, leaf, lines[a, 5], bottom, top)
                first, count = offset + tree[at, 3], np.int64(tree[at, 4])
                parts = _cut_tree(table, a, start, end, first, count, tree, least, rules, facts, child, sizes)
                if parts == 0:
                    continue
                _arrange_many(child, start, count, sizes, order)
                nodes, low, high = _room(nodes, used + parts), _room(low, used + parts), _room(high, used + parts)
                nodes[node, ATTRIBUTE], nodes[node, CHILD], nodes[node, CHILDREN] = a, used, parts
                at = np.int64(start)
                for c in range(count):
                    if sizes[c] > 0:
                        _open_node(nodes, used, node, np.int64(tree[first + c, 1]), at, at + sizes[c], waiting)
                        at += sizes[c]
                        waiting = used
                        used += 1
            else:
                left, cut, ties = _cut_line(
                    table, a, start, end, bottom, top, lines[a, 2], least, relaxed, rules, facts, counts,
                    histograms,
                )  # fmt: skip
                if left == 0:
                    continue
                _arrange_two(table, a, start, end, left, cut, ties, order)
                at = np.int64(start) + left
                nodes, low, high = _room(nodes, used + 2), _room(low, used + 2), _room(high, used + 2)
                nodes[node, ATTRIBUTE], nodes[node, CHILD], nodes[node, CHILDREN] = a, used, 2
                _open_node(nodes, used, node, bottom, np.int64(start), at, waiting)
                _open_node(nodes, used + 1, node, cut, at, np.int64(end), used)
                waiting = used + 1
                used += 2
            _move(table, start, end, order, spare, nodes, low, high, node)
            cuts += 1
            break
    return nodes[:used].copy(), low[:used].copy(), high[:used].copy()


@compiled
def regions(attribute, begins, child, children, sizes):
    """The region of each node on the lines: first and last code per attribute, whole lines at the root.

    Parts of one cut share the node's region between them: each reaches to where the next begins.
    """
    count, d = attribute.size, sizes.size
    low = np.zeros((count, d), dtype=np.int32)
    high = np.empty((count, d), dtype=np.int32)
    for a in range(d):
        high[0, a] = sizes[a] - 1
    for node in range(count):
        a = attribute[node]
        if a < 0:
            continue
        first, last = child[node], child[node] + children[node]
        for part in range(first, last):
            for b in range(d):
                low[part, b] = low[node, b]
                high[part, b] = high[node, b]
            if part > first:
                low[part, a] = begins[part]
            if part + 1 < last:
                high[part, a] = begins[part + 1] - 1
    return low, high
