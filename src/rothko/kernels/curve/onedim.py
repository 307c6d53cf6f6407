"""Optimal grouping of records that lie in a row (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, sections 3 and 5.1).

Opt(i) is the least loss of the first i records, in groups of k to 2k − 1 records that lie side by side; the loss of a
group is its size times its NCP. NCP is either that of the smallest box around the records (:func:`box_costs`), for a
block of first records at a time, or how far they reach along the curve (:func:`group_along`). Where two groupings cost
the same, the last group is the smaller one.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.boxes import NOMINAL, open_box, room, widen

BLOCK = 256
"""Records that are gathered line by line; they stay in the innermost cache."""
ENDS = 256
"""Rows of a block of :func:`group_along`, at most."""


@compiled
def gather(codes, order, first, last, rows):
    """Write the codes of the records at the places ``first`` to ``last`` of the order to ``rows``, record by record."""
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for a in range(codes.shape[0]):
            row = codes[a]
            for i in range(begin, end):
                rows[i, a] = row[order[i]]


@compiled
def ends_of_runs(rows):
    """Where the run of equal records that each one is in ends."""
    n = rows.shape[0]
    ends = np.empty(n, dtype=np.int64)
    for i in range(n - 1, -1, -1):
        same = i + 1 < n
        if same:
            for a in range(rows.shape[1]):
                if rows[i, a] != rows[i + 1, a]:
                    same = False
                    break
        ends[i] = ends[i + 1] if same else i + 1
    return ends


@compiled
def fields_of(lines):
    """Where each line has its field in the packed codes of a record: word and lowest bit; and the number of words.

    A field is as wide as the codes of the line, with one bit more on top. Nominal lines have none, of word −1.
    """
    d = lines.spec.shape[0]
    word, shift = np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=np.int64)
    words, used = 0, 64
    for a in range(d):
        if lines.spec[a, 0] == NOMINAL:
            continue
        bits = 1
        while (np.int64(1) << bits) < lines.spec[a, 1]:
            bits += 1
        if used + bits + 1 > 64:
            words += 1
            used = 0
        word[a], shift[a] = words - 1, used
        used += bits + 1
    return word, shift, words


@compiled
def pack(rows, word, shift, first, last, packed):
    """Write the packed codes of the records ``first`` to ``last``, one word after the other."""
    for i in range(first, last):
        for w in range(packed.shape[1]):
            packed[i, w] = 0
        for a in range(rows.shape[1]):
            if word[a] >= 0:
                packed[i, word[a]] |= np.uint64(rows[i, a]) << np.uint64(shift[a])


@compiled
def box_costs(rows, packed, word, shift, ends, lines, k, most, first, last, costs):
    """Write size · NCP of the groups that begin at ``first`` to ``last``; column s is for k + s records.

    The box grows by one record after the other (section 5.1). Runs of equal records make it grow once, and groups that
    begin in the same run share it. ``most`` is the NCP of the whole table: no box is wider.

    Whether a record lies inside the box is asked of all lines at once: a difference of packed codes leaves the top bit
    of every field as it is where it is not negative. That is most of the work, and 3 times faster than line by line.
    """
    n, d = rows.shape
    spec, places, scales, tree, leaf = lines
    low, high, node, values, width, seen, seen_at = room(lines)
    words = packed.shape[1]
    tops = np.zeros(words, dtype=np.uint64)
    top, within = np.zeros(d, dtype=np.uint64), np.zeros(d, dtype=np.uint64)
    nominal = False
    for a in range(d):
        if word[a] < 0:
            nominal = True
            continue
        bits = 1
        while (np.int64(1) << bits) < spec[a, 1]:
            bits += 1
        top[a] = np.uint64(1) << np.uint64(shift[a] + bits)
        within[a] = top[a] - (np.uint64(1) << np.uint64(shift[a]))
        tops[word[a]] |= top[a]
    lowest, highest = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.uint64)
    ncps = np.empty(2 * k)
    begin = first
    while begin < last:
        after = ends[begin]
        stop = min(after, last)
        open_box(rows, begin, begin, spec, leaf, low, high, node, values, width, seen, seen_at)
        for w in range(words):
            lowest[w] = packed[begin, w]
            highest[w] = packed[begin, w] | tops[w]
        ncp = 0.0
        at, reach = after, min(n, stop + 2 * k - 2)
        while at < reach:
            outside = nominal
            for w in range(words):
                code = packed[at, w]
                if ((code | tops[w]) - lowest[w]) & (highest[w] - code) & tops[w] != tops[w]:
                    outside = True
            if outside and widen(
                rows, at, begin, spec, places, scales, tree, low, high, node, values, width, seen, seen_at
            ):
                ncp = 0.0
                for a in range(d):
                    ncp += width[a]
                    if word[a] >= 0:
                        w, by = word[a], np.uint64(shift[a])
                        lowest[w] = (lowest[w] & ~within[a]) | (np.uint64(low[a]) << by)
                        highest[w] = (highest[w] & ~within[a]) | (np.uint64(high[a]) << by)
            until = reach if ncp >= most else min(ends[at], reach)
            for i in range(at, until):
                ncps[i - after] = ncp
            at = until
        # Groups that end within the first run have no loss, those that end later that of the box up to there.
        for i in range(begin, stop):
            row = costs[i - first]
            exact = min(max(after - i - k + 1, 0), k)
            row[:exact] = 0.0
            from_ = i + k - 1 - after
            for s in range(exact, min(k, reach - i - k + 1)):
                row[s] = np.float64(k + s) * ncps[from_ + s]
        begin = stop


@compiled
def add_groups(costs, first, last, k, best, back):
    """Try the groups that begin at ``first`` to ``last``, whose ``best`` are known, as the last ones of longer rows.

    ``best[i]`` is the least loss of the first i records, ``back[i]`` where the last of their groups begins.
    """
    n = best.size - 1
    for b in range(first, last):
        before = best[b]
        if before == np.inf:
            continue
        row = costs[b - first]
        to, origins = best[b + k : min(b + 2 * k - 1, n) + 1], back[b + k : min(b + 2 * k - 1, n) + 1]
        for s in range(to.size):
            loss = before + row[s]
            better = loss <= to[s]
            to[s] = loss if better else to[s]
            origins[s] = np.int32(b) if better else origins[s]


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
