"""Top-Down Refinement: the steps that look at records, compiled.

Paper: Fung, Wang, Yu, Anonymizing Classification Data for Privacy Preservation, TKDE 19(5), 2007, sections 4.3 and 4.4.
A set of quasi-identifiers that requirements are about has a table of its distinct records, a row per column: codes, how
many records there are of each, codes that rules look at. The records of a *group*, which show the same on all of these
quasi-identifiers, are one contiguous range; what it shows are its *parts*, one per quasi-identifier.

The paper's TIPS links the groups of each candidate by pointers, and its QITS find the count of a group from a tree.
Here the parts of a group are a column of a matrix, which is gone through from one end to the other: there are a
few thousand groups, and each is one comparison. A group is the leaf of both structures, since every set has a table of
its own.

Each code of a part has a *slot*. A part that is split goes to its children, one per slot. Of a part whose values are
suppressed every slot but the first is a value that may be disclosed; the first is of the others.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.requirements import FACTS, KIND, MOMENTS, ROW, SIZE, gap, summary

NOTHING, SPLIT, DISCLOSE = range(3)
"""What can become of a part: nothing any more, its children, or one of its values by itself."""

SCALE = 2.0**24
"""Logarithms are kept in multiples of one over this."""

FIT = 4096
"""Keys that are told apart in one table."""

MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def number(keys):
    """Equal keys get the same number, from 0 on; the number of each, and where one record of each number stands.

    Keys are dealt by their hash first, so that each table of those seen fits in the cache: on a million different
    keys that is several times as fast as one table.
    """
    n = keys.size
    bits = 0
    while bits < 16 and (n >> bits) > FIT:
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    dealt = np.empty(n, dtype=np.uint32)
    if bits > 0:
        for i in range(n):
            starts[((keys[i] * MIX) >> shift) + np.uint64(1)] += 1
        for b in range(1 << bits):
            starts[b + 1] += starts[b]
        places = starts.copy()
        for i in range(n):
            b = (keys[i] * MIX) >> shift
            dealt[places[b]] = i
            places[b] += 1
    else:
        starts[1] = n
        for i in range(n):
            dealt[i] = i
    numbers = np.empty(n, dtype=np.int32)
    first = np.empty(n, dtype=np.int32)
    seen = np.empty(1, dtype=np.int32)
    held = np.empty(1, dtype=np.uint64)
    count = 0
    for b in range(1 << bits):
        begin, end = starts[b], starts[b + 1]
        size = 16
        while size < 2 * (end - begin):
            size *= 2
        if size > seen.size:
            seen = np.empty(size, dtype=np.int32)
            held = np.empty(size, dtype=np.uint64)
        for h in range(size):
            seen[h] = -1
        mask = np.uint64(size - 1)
        for at in range(begin, end):
            i = dealt[at]
            key = keys[i]
            h = ((key * MIX) >> np.uint64(20)) & mask
            while seen[h] >= 0 and held[h] != key:
                h = (h + np.uint64(1)) & mask
            if seen[h] < 0:
                seen[h] = count
                held[h] = key
                first[count] = i
                count += 1
            numbers[i] = seen[h]
    return numbers, first[:count].copy()


@compiled
def choose(candidates, count, dead, gain, line, code, fewest, within, anonymity, scored, part_of, kind, left):
    """The candidate with the best score among those that are not dead, -1 where there is none.

    Dead ones are taken from the list, of which ``count`` are in use, and from ``left``, how many candidates a part
    has; a part without any has nothing more to become. Equal scores: the line that comes first, then the lower code.
    """
    best, best_score, kept = -1, -1.0, 0
    for at in range(count):
        c = candidates[at]
        if dead[c]:
            part = part_of[c]
            left[part] -= 1
            if left[part] == 0:
                kind[part] = NOTHING
            continue
        candidates[kept] = c
        kept += 1
        score = gain[c]
        if scored:
            lost, sets = np.int64(0), np.int64(0)
            for s in range(anonymity.size):
                if within[line[c], s]:
                    sets += 1
                    lost += max(anonymity[s] - fewest[s, c], np.int64(0))
            score = score / (lost / max(sets, np.int64(1)) + 1.0)
        if (
            best < 0
            or score > best_score
            or (score == best_score and (line[c] < line[best] or (line[c] == line[best] and code[c] < code[best])))
        ):
            best, best_score = c, score
    return best, kept


@compiled
def choose_cut(gains, records, low, high, least):
    """The code before which cutting ``low … high`` gains most and leaves at least so many records on both sides; -1.

    Of equal gains the more even cut, then the lower.
    """
    best, best_gain, best_size = -1, 0.0, np.int64(0)
    for cut in range(low + 1, high + 1):
        left, right = records[cut] - records[low], records[high + 1] - records[cut]
        if left < least or right < least:
            continue
        gain, size = gains[cut - low - 1], max(left, right)
        if best < 0 or gain > best_gain or (gain == best_gain and size < best_size):
            best, best_gain, best_size = cut, gain, size
    return best, best_gain


@compiled
def perform(table, spans, parts, count, a, part, cut, slot, at, child_of, new_parts, kind, spare):
    """Refine a part: every group that shows it is divided by the children of its records.

    Two children are the codes below ``cut`` and the others; otherwise (-1) ``child_of`` is the child of each slot.
    ``new_parts`` is the part of each child. Returns how many groups there are
    then, and which of them are new or show a new part. Columns whose part has nothing left to refine are not moved:
    nobody looks at them again.
    """
    children = new_parts.size
    touched = np.empty(spans.shape[0], dtype=np.int64)
    found = 0
    sizes = np.empty(children, dtype=np.int64)
    places = np.empty(children, dtype=np.int64)
    longest = 0
    for g in range(count):
        if parts[a, g] == part:
            longest = max(longest, spans[g, 1] - spans[g, 0])
    child = np.empty(longest, dtype=np.int32)
    order = np.empty(longest, dtype=np.uint32)
    d = parts.shape[0]
    before = count
    for g in range(before):
        if parts[a, g] != part:
            continue
        begin, end = spans[g, 0], spans[g, 1]
        n = np.uint64(end - begin)
        start = np.uint64(begin)
        for c in range(children):
            sizes[c] = 0
        if cut >= 0:
            right = np.int64(0)
            for i in range(n):
                c = np.int32(table[a, start + i] >= cut)
                child[i] = c
                right += c
            sizes[0], sizes[1] = np.int64(n) - right, right
        else:
            for i in range(n):
                c = child_of[slot[np.uint64(at + table[a, start + i])]]
                child[i] = c
                sizes[c] += 1
        total = 0
        there = 0
        for c in range(children):
            places[c] = total
            total += sizes[c]
            there += sizes[c] > 0
        if there > 1:
            for i in range(n):
                c = child[i]
                order[places[c]] = begin + np.int64(i)
                places[c] += 1
            for row in range(table.shape[0]):
                if row < d and row != a and kind[parts[row, g]] == NOTHING:
                    continue
                for i in range(n):
                    spare[i] = table[row, np.uint64(order[i])]
                for i in range(n):
                    table[row, start + i] = spare[i]
        at_record = begin
        use = g
        for c in range(children):
            if sizes[c] == 0:
                continue
            if use != g:
                for b in range(d):
                    parts[b, use] = parts[b, g]
            spans[use, 0] = at_record
            at_record += sizes[c]
            spans[use, 1] = at_record
            parts[a, use] = new_parts[c]
            touched[found] = use
            found += 1
            use = count
            count += sizes[c] > 0
        count -= 1  # the last one that was made room for has no records
    return count, touched[:found].copy()


@compiled
def look(
    table, spans, parts, touched, slot, ats, cuts, kind, first, slots, dead, fewest, least, rules, facts, counts,
    histograms, sums,
):  # fmt: skip
    """Count the children that refining the parts of some groups would leave, and note what that means to candidates.

    ``fewest`` gets the smallest number of records in a child, for each candidate of this set; a candidate with a child
    that breaks a requirement is ``dead``, for good: a refinement after it only divides the child. So what was
    counted once need not be taken back, and a minimum over all that was ever counted is that of the groups there are.

    A part with two children is counted by comparing codes with its cut, which is a vector loop and looks up nothing.
    """
    d = parts.shape[0]
    for t in range(touched.size):
        g = touched[t]
        begin, end = np.uint64(spans[g, 0]), np.uint64(spans[g, 1])
        total = np.int64(0)
        for i in range(begin, end):
            total += np.int64(table[d, i])
        for b in range(d):
            part = parts[b, g]
            if kind[part] == NOTHING or (kind[part] == SPLIT and dead[first[part]]):
                continue
            at, many, cut = ats[b], slots[part], cuts[part]
            sparse = kind[part] == DISCLOSE and many > np.int64(end - begin) and rules.shape[0] == 0
            if cut >= 0:
                right = np.int64(0)
                for i in range(begin, end):
                    right += np.int64(table[d, i] if table[b, i] >= cut else 0)
                counts[0], counts[1] = total - right, right
            else:
                if sparse:  # what groups have is less than what there is: the rest stays as it was
                    for i in range(begin, end):
                        counts[slot[np.uint64(at + table[b, i])]] = 0
                else:
                    for s in range(many):
                        counts[s] = 0
                for i in range(begin, end):
                    counts[np.uint64(slot[np.uint64(at + table[b, i])])] += np.int64(table[d, i])
            if kind[part] == SPLIT:
                smallest = total
                for s in range(many):
                    if 0 < counts[s] < smallest:
                        smallest = counts[s]
                c = first[part]
                fewest[c] = min(fewest[c], smallest)
                if smallest < least:
                    dead[c] = 1
            elif sparse:
                for i in range(begin, end):
                    s = np.int64(slot[np.uint64(at + table[b, i])])
                    if s > 0:
                        _note(first[part] + s - 1, counts[s], total, least, fewest, dead)
            else:
                for s in range(1, many):
                    if counts[s] > 0:
                        _note(first[part] + s - 1, counts[s], total, least, fewest, dead)
            for r in range(rules.shape[0]):
                if _any_left(kind[part], first[part], many, dead):
                    _check(
                        table, d, begin, end, b, cut, slot, at, kind[part], first[part], many, counts, dead, rules, r,
                        facts, histograms, sums,
                    )  # fmt: skip


@compiled
def _any_left(kind, first, many, dead):
    """Whether a candidate of a part is left."""
    left = False
    for c in range(first, first + (1 if kind == SPLIT else many - 1)):
        left = left or dead[c] == 0
    return left


@compiled
def _note(c, count, total, least, fewest, dead):
    """A value that may be disclosed leaves ``count`` records of a group with it, and the others without."""
    smallest = count
    if 0 < total - count < count:
        smallest = total - count
    fewest[c] = min(fewest[c], smallest)
    if smallest < least:
        dead[c] = 1


@compiled
def _check(
    table, d, begin, end, b, cut, slot, at, kind, first, many, counts, dead, rules, r, facts, histograms, sums
):  # fmt: skip
    """Ask a rule of the children of a group, or of each value that may be disclosed and the rest without it."""
    row, size, facts_at = rules[r, ROW], rules[r, SIZE], rules[r, FACTS]
    moments = rules[r, KIND] >= MOMENTS
    for s in range(many):
        if moments:
            sums[s, 0] = sums[s, 1] = sums[s, 2] = 0.0
        else:
            for v in range(size):
                histograms[s, v] = 0
    for i in range(begin, end):
        s = np.uint64(table[b, i] >= cut) if cut >= 0 else np.uint64(slot[np.uint64(at + table[b, i])])
        w = np.int64(table[d, i])
        v = np.uint64(table[row, i])
        if not moments:
            histograms[s, v] += w
            continue
        x = facts[facts_at + 1 + v]
        if x == x:
            sums[s, 0] += w
            sums[s, 1] += w * x
            sums[s, 2] += w * x * x
    if kind == SPLIT:
        for s in range(many):
            if counts[s] > 0 and dead[first] == 0 and not _holds(s, moments, rules, r, facts, histograms, sums):
                dead[first] = 1
        return
    rest, whole = np.int64(many), many + 1
    if not moments:
        for v in range(size):
            histograms[whole, v] = 0
            for s in range(many):
                histograms[whole, v] += histograms[s, v]
    for s in range(1, many):
        c = first + s - 1
        if counts[s] == 0 or dead[c]:
            continue
        others = False
        for o in range(many):
            others = others or (o != s and counts[o] > 0)
        if moments:
            sums[rest, 0] = sums[rest, 1] = sums[rest, 2] = 0.0
            for o in range(many):
                for m in range(3):  # added up, and not by a difference, which would keep the rounding of the whole
                    sums[rest, m] += sums[o, m] if o != s else 0.0
        else:
            for v in range(size):
                histograms[rest, v] = histograms[whole, v] - histograms[s, v]
        good = _holds(np.int64(s), moments, rules, r, facts, histograms, sums)
        if good and others:
            good = _holds(rest, moments, rules, r, facts, histograms, sums)
        if not good:
            dead[c] = 1


@compiled
def _holds(s, moments, rules, r, facts, histograms, sums):
    """Whether the records counted for a slot meet a rule."""
    if moments:
        return gap(histograms, s, sums[s, 0], sums[s, 1], sums[s, 2], rules, r, facts) == 0
    n, first = summary(histograms, s, rules, r, facts)
    return gap(histograms, s, np.float64(n), first, 0.0, rules, r, facts) == 0


@compiled
def arrange(classes, count):
    """The records class by class, in their order within each; and where each class begins, with the end."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for i in range(classes.size):
        starts[classes[i] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    places = starts.copy()
    order = np.empty(classes.size, dtype=np.int32)
    for i in range(classes.size):
        c = np.uint64(classes[i])
        order[places[c]] = i
        places[c] += 1
    return order, starts


@compiled
def split_gains(labels, amounts, places, low, high, logs, whole, left, gains):
    """Add to ``gains`` how much the entropy of a label falls by cutting the codes ``low … high`` of a line before each.

    The records of code c have ``labels`` and ``amounts`` from ``places[c]`` on. Returns how many labels there are.
    Logarithms are whole numbers, as in :mod:`rothko.kernels.gain`.
    """
    n, there = _count(labels, amounts, places[low], places[high + 1], whole)
    if there < 2:
        return there
    sum_right, sum_left = np.int64(0), np.int64(0)
    for v in range(whole.size):
        sum_right += logs[whole[v]]
        left[v] = 0
    parent = logs[n] - sum_right
    before = np.int64(0)
    for code in range(low, high):
        for i in range(places[code], places[code + 1]):
            v, c = labels[i], np.int64(amounts[i])
            sum_right += logs[whole[v] - left[v] - c] - logs[whole[v] - left[v]]
            sum_left += logs[left[v] + c] - logs[left[v]]
            left[v] += c
            before += c
        fall = parent - (logs[before] - sum_left) - (logs[n - before] - sum_right)
        gains[code - low] += max(fall, np.int64(0)) / (n * SCALE)
    return there


@compiled
def children_gain(labels, amounts, places, ends, logs, whole, left):
    """How much the entropy of a label falls where children end after the codes ``ends``; the first is no child."""
    n, there = _count(labels, amounts, places[ends[0] + 1], places[ends[-1] + 1], whole)
    if there < 2:
        return 0.0, there
    fall = logs[n]
    for v in range(whole.size):
        fall -= logs[whole[v]]
    for c in range(1, ends.size):
        size, _ = _count(labels, amounts, places[ends[c - 1] + 1], places[ends[c] + 1], left)
        fall -= logs[size]
        for v in range(left.size):
            fall += logs[left[v]]
    return max(fall, np.int64(0)) / (n * SCALE), there


@compiled
def value_gains(labels, amounts, places, codes, logs, whole, gains):
    """Add to ``gains`` how much the entropy of a label falls by taking each of some codes from the others.

    Returns how many labels there are.
    """
    n, there = np.int64(0), 0
    for v in range(whole.size):
        whole[v] = 0
    for code in codes:
        for i in range(places[code], places[code + 1]):
            whole[labels[i]] += amounts[i]
            n += amounts[i]
    all_logs = np.int64(0)
    for v in range(whole.size):
        there += whole[v] > 0
        all_logs += logs[whole[v]]
    if there < 2:
        return there
    for j in range(codes.size):
        size, rest = np.int64(0), all_logs
        own = np.int64(0)
        for i in range(places[codes[j]], places[codes[j] + 1]):
            v, c = labels[i], np.int64(amounts[i])
            rest += logs[whole[v] - c] - logs[whole[v]]
            own += logs[c]
            size += c
        fall = (logs[n] - all_logs) - (logs[size] - own) - (logs[n - size] - rest)
        gains[j] += max(fall, np.int64(0)) / (n * SCALE)
    return there


@compiled
def _count(labels, amounts, begin, end, counts):
    """Count labels; how many records, and how many labels, there are."""
    for v in range(counts.size):
        counts[v] = 0
    n, there = np.int64(0), 0
    for i in range(begin, end):
        there += counts[labels[i]] == 0
        counts[labels[i]] += amounts[i]
        n += amounts[i]
    return n, there
