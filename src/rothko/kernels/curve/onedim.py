"""Optimal grouping of records that lie in a row (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, sections 3 and 5.1).

Opt(i) is the least loss of the first i records, in groups of k to 2k − 1 records that lie side by side; the loss of a
group is its size times its NCP. NCP is either that of the smallest box around the records (:func:`group_in_boxes`), or
how far they reach along the curve (:func:`group_along`). Where two groupings cost the same, the last group is the
smaller one.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined
from rothko.kernels.boxes import NOMINAL, ORDERED, along, open_box, room, share, widen

BLOCK = 256
"""Records that are gathered line by line; they stay in the innermost cache."""
ENDS = 256
"""Rows of a block of :func:`group_along`, at most."""
ROUNDED = 2.0**-49
"""Twice what two losses and a comparison of them are rounded by, at most, as a share of the larger one."""


@compiled
def gather(codes, order, first, last, rows):
    """Write the codes of the records at the places ``first`` to ``last`` of the order to ``rows``, record by record."""
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for a in range(codes.shape[0]):
            row = codes[a]
            for i in range(begin, end):
                rows[i, a] = row[order[i]]


@inlined
def width_of_range(spec, places, scales, a, low, high):
    """NCP of the codes ``low … high`` of an ordered line."""
    mixed = high == spec[a, 2]
    return 0.0 if low == high else scales[a, 0] if mixed else along(spec, places, scales, a, low, high)


@inlined
def width_of_set(spec, scales, a, values, latest, seen_at, begin):
    """NCP of so many values of a nominal line, which are those of the records from ``begin`` on."""
    missing = spec[a, 2]
    mixed = missing >= 0 and latest[seen_at[a] + missing] >= begin
    return 0.0 if values == 1 else scales[a, 0] if mixed else share(spec, scales, a, values)


@inlined
def node_over(spec, tree, a, node, code):
    """The lowest node of line ``a`` over a node and a code."""
    while code < tree[node, 1] or code > tree[node, 2]:
        node = spec[a, 4] + tree[node, 0]
    return node


@inlined
def count_values(rows, i, k, spec, values, latest, seen_at, often, before):
    """Count the nominal values of the k records up to record i.

    Writes where each value of this one was ``before``, and returns the first of these places.
    """
    since = i
    for a in range(spec.shape[0]):
        if spec[a, 0] == NOMINAL:
            at = seen_at[a] + rows[i, a]
            before[a], latest[at] = latest[at], i
            since = min(since, before[a])
            values[a] += often[at] == 0
            often[at] += 1
            if i >= k:
                at = seen_at[a] + rows[i - k, a]
                often[at] -= 1
                values[a] -= often[at] == 0
    return since


@compiled
def group_in_boxes(rows, lines, k, best, back):
    """Find the best last group of the first records, for every number of them.

    ``best[i]`` is the least loss of the first i records, ``back[i]`` where the last of their groups begins; that of no
    records is given. Let groups begin at b and c, b < c. Their boxes never get narrower, and to any end the one from c
    is no wider than the one from b. So once

        best[c] − best[b] ≤ (c − b) · NCP(b … here)

    the group from c loses no more than the one from b, here and wherever they end later, and it is the smaller one: b
    is done with. Each c asks this of all that are left when its group is large enough. Of 5 first records 3 are left,
    of 50 8, of 1,000 some 100, and only these are tried. Losses are rounded, so the right side must be larger by a
    margin, except where best[c] ≤ best[b]: rounding keeps that order.

    A group that is left keeps its box. Whether the box gets wider is asked from the latest on: if a record lies in
    one, it lies in all that begin earlier. The first box of a group, that of k records, is put together from two that
    meet where k divides. It is written out here: as an inlined function of 16 arrays it took 50 ns
    more for a record.
    """
    n, d = rows.shape
    spec, places, scales, tree, leaf = lines
    # The box of the latest k records, and its parts.
    low, high, node, values, width, latest, seen_at = room(lines)
    low[:], high[:], values[:] = -1, -1, 0
    first_low, first_high = np.empty((k, d), dtype=np.int32), np.empty((k, d), dtype=np.int32)
    then_low, then_high = np.empty(d, dtype=np.int32), np.empty(d, dtype=np.int32)
    often, before = np.zeros(latest.size, dtype=np.int32), np.zeros(d, dtype=np.int64)
    # Boxes of groups, by the remainder of their first places; the node of a nominal line is its number of values.
    lows, highs = np.empty((k, d), dtype=np.int32), np.empty((k, d), dtype=np.int32)
    nodes, widths = np.empty((k, d), dtype=np.int32), np.empty((k, d))
    # Groups that are left, as floats, several of which are computed at once; what is done with has a base of infinity.
    begins, bases, ncps, losses = np.empty(2 * k), np.empty(2 * k), np.empty(2 * k), np.empty(2 * k)
    bits = losses.view(np.int64)  # numbers that are not negative lie in the order of their bits
    most = 2 * k * scales[:, 0].sum()
    left, place = 0, k - 1
    for i in range(n):
        begin, end = i + 1 - k, i + 1
        since = np.int64(i)
        if latest.size > 0:
            since = count_values(rows, i, k, spec, values, latest, seen_at, often, before)
        if begin < 0:
            continue
        place = place + 1 if place + 1 < k else 0
        # ── the record joins the groups
        for j in range(left - 1, -1, -1):
            if bases[j] == np.inf:
                continue
            b = np.int64(begins[j])
            s = place - (begin - b)
            if s < 0:
                s += k
            inside = since >= b
            for a in range(d):
                inside &= (lows[s, a] <= rows[i, a]) & (rows[i, a] <= highs[s, a])
            if inside:
                break
            ncp = 0.0
            for a in range(d):
                code, kind = rows[i, a], spec[a, 0]
                if kind == NOMINAL:
                    if before[a] < b:
                        nodes[s, a] += 1
                        widths[s, a] = width_of_set(spec, scales, a, nodes[s, a], latest, seen_at, b)
                elif code < lows[s, a] or code > highs[s, a]:
                    if kind == ORDERED:
                        lows[s, a], highs[s, a] = min(lows[s, a], code), max(highs[s, a], code)
                        widths[s, a] = width_of_range(spec, places, scales, a, lows[s, a], highs[s, a])
                    else:
                        up = node_over(spec, tree, a, nodes[s, a], code)
                        nodes[s, a], lows[s, a], highs[s, a] = up, tree[up, 1], tree[up, 2]
                        widths[s, a] = share(spec, scales, a, highs[s, a] - lows[s, a] + 1)
                ncp += widths[s, a]
            ncps[j] = ncp
        # ── what is done with: too large, or no better than the group that comes
        base = best[begin]
        margin = (base + most) * ROUNDED
        to, here = np.float64(end), np.float64(begin)
        done = 0
        for j in range(left):
            rise, later = base - bases[j], here - begins[j]
            needless = (later >= k) | (rise <= 0) | (rise + margin <= later * ncps[j])
            bases[j] = np.inf if needless else bases[j]
            losses[j] = bases[j] + (to - begins[j]) * ncps[j]
            done += np.int64(needless)
        if base < np.inf and 2 * done >= left:
            kept = 0
            for j in range(left):
                if bases[j] < np.inf:
                    begins[kept], bases[kept], ncps[kept], losses[kept] = begins[j], bases[j], ncps[j], losses[j]
                    kept += 1
            left = kept
        # ── the group that comes
        if place == 0:
            for a in range(d):
                then_low[a] = then_high[a] = first_low[k - 1, a] = first_high[k - 1, a] = rows[i, a]
            for s in range(k - 2, -1, -1):
                for a in range(d):
                    code = rows[begin + s, a]
                    first_low[s, a], first_high[s, a] = min(first_low[s + 1, a], code), max(first_high[s + 1, a], code)
        ncp = 0.0
        for a in range(d):
            then_low[a], then_high[a] = min(then_low[a], rows[i, a]), max(then_high[a], rows[i, a])
            if spec[a, 0] == NOMINAL:
                width[a] = width_of_set(spec, scales, a, values[a], latest, seen_at, begin)
                lows[place, a], highs[place, a], nodes[place, a] = 0, spec[a, 1], values[a]
            else:
                lowest, highest = min(first_low[place, a], then_low[a]), max(first_high[place, a], then_high[a])
                changed = lowest != low[a] or highest != high[a]
                low[a], high[a] = lowest, highest
                if spec[a, 0] == ORDERED:
                    if changed:
                        width[a] = width_of_range(spec, places, scales, a, lowest, highest)
                    lows[place, a], highs[place, a] = lowest, highest
                else:
                    if changed:
                        node[a] = node_over(spec, tree, a, spec[a, 4] + leaf[spec[a, 5] + lowest], highest)
                    up = node[a]
                    if changed:
                        width[a] = 0.0 if lowest == highest else share(spec, scales, a, tree[up, 2] - tree[up, 1] + 1)
                    nodes[place, a], lows[place, a], highs[place, a] = up, tree[up, 1], tree[up, 2]
            widths[place, a] = width[a]
            ncp += width[a]
        if base < np.inf:
            begins[left], bases[left], ncps[left], losses[left] = begin, base, ncp, base + k * ncp
            left += 1
        # ── the best one; of several the latest, which is the smallest
        least = bits[left - 1]
        for j in range(left):
            least = min(least, bits[j])
        j = left - 1
        while bits[j] != least:
            j -= 1
        best[end], back[end] = losses[j], np.int32(begins[j])


@compiled
def group_along(gaps, k, best, back):
    """The same with size · extent along the curve as the loss of a group, for all groups at once, in whole numbers.

    Of two first records, one that is no worse than an earlier one for some row is no worse for any longer row: the
    earlier group is larger, and each further step costs it more. So the best first record of a row lies between those
    of a shorter and of a longer row. Rows of a block end at most k records behind the last of those before it, and need
    nothing of each other: the last one is tried first, then the one in the middle between two that are known, and so
    on. For k = 1,000 that is about ten first records for a row rather than a thousand. Whole numbers, for rounding
    would tell which of two groupings that lose the same is taken.
    """
    n = gaps.size
    place = np.cumsum(gaps)
    block = 1
    while block < ENDS and 2 * block <= k:
        block *= 2
    for begin in range(k - 1, n, block):
        last = min(begin + block, n)
        step = block
        while step > 0:
            for end in range(begin + step, last + 1, 2 * step):
                here = place[end - 1]
                origin, latest = max(np.int64(back[end - step]), end - 2 * k + 1, 0), end - k
                if step < block and end + step <= last:
                    latest = min(latest, np.int64(back[end + step]))
                found = best[origin] + (end - origin) * (here - place[origin])
                for j in range(origin + 1, latest + 1):
                    loss = best[j] + (end - j) * (here - place[j])
                    if loss <= found:
                        found, origin = loss, j
                best[end], back[end] = found, origin
            step //= 2


@compiled
def groups_of(back, n):
    """Where each group of the first n records begins, and n; ``back`` says where the last group of each row does."""
    count = 0
    i = n
    while i > 0:
        i = back[i]
        count += 1
    starts = np.empty(count + 1, dtype=np.int64)
    i = n
    while count >= 0:
        starts[count] = i
        i = back[i]
        count -= 1
    return starts


@compiled
def join_groups(rows, members, starts, k, lines):
    """The best way to join groups that lie in a row so that each has at least k records: where the joined ones begin.

    The same recurrence over groups rather than records. What can be parted into two that are large enough is not tried:
    that is never the better one.
    """
    spec, places, scales, tree, leaf = lines
    low, high, node, values, width, seen, seen_at = room(lines)
    groups = starts.size - 1
    best = np.full(groups + 1, np.inf)
    best[0] = 0.0
    back = np.zeros(groups + 1, dtype=np.int32)
    for b in range(groups):
        if best[b] == np.inf:
            continue
        open_box(rows, members[starts[b]], b, spec, leaf, low, high, node, values, width, seen, seen_at)
        enough = 0
        for e in range(b, groups):
            for i in range(starts[e], starts[e + 1]):
                widen(
                    rows, members[i], b, spec, places, scales, tree, low, high, node, values, width, seen, seen_at
                )  # fmt: skip
            size = starts[e + 1] - starts[b]
            if size < k:
                continue
            if enough == 0:
                enough = size
            elif size - enough >= k:
                break
            loss = best[b] + size * width.sum()
            if loss <= best[e + 1]:
                best[e + 1] = loss
                back[e + 1] = b
    return starts[groups_of(back, groups)]
