"""Top-Down Refinement: what refinements would leave of groups, counted where a refinement changed them.

Fung, Wang, Yu, TKDE 2007, sections 3.3 and 4.3: AnonyLoss and validity of the candidates.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import inlined, linked
from rothko.kernels.refine.state import BECOMES, CUT, DISCLOSE, FIRST, NOTHING, SLOTS, SPLIT, kill
from rothko.kernels.rules import DISTINCT, FACTS, KIND, MOMENTS, ROW, SIZE, P, add_number, gap, summary


@linked
def look_at_parts(columns, sets, s, i, first, count, groups, parts, candidates, room):
    """Look at all groups that show new parts of a line."""
    a = sets.place[s, i]
    found = 0
    for part in range(first, first + count):
        g = np.int64(groups.head[s, part])
        while g >= 0:
            room.touched[found] = g
            found += 1
            g = np.int64(groups.following[g, a])
    look(columns, sets, s, found, groups, parts, candidates, room)


@linked
def look(columns, sets, s, found, groups, parts, candidates, room):
    """Count the children that refining the parts of some groups would leave, and note what that means to candidates.

    ``fewest`` gets the smallest number of records in a child, for each candidate of this set; a candidate with a child
    that breaks a requirement is ``dead``, for good: a refinement after it only divides the child. So what was
    counted once need not be taken back, and a minimum over all that was ever counted is that of the groups there are.

    A part with two children is counted by comparing codes with its cut, which is a vector loop and looks up nothing.
    """
    d, n, base = sets.widths[s], sets.records[s], sets.base[s]
    rules_from, rules_to = sets.rules_at[s], sets.rules_at[s + 1]
    counts, slots, fewest = room.counts, candidates.slot, candidates.fewest
    for t in range(found):
        g = room.touched[t]
        begin, end = groups.spans[g, 0], groups.spans[g, 1]
        many = np.uint64(end - begin)
        weights = sets.table[base + d * n + begin : base + d * n + end]
        weighted, total = sets.weighted[s], np.int64(many)
        if weighted:
            total = np.int64(0)
            for r in range(many):
                total += np.int64(weights[r])
        for b in range(d):
            part = groups.shows[g, b]
            becomes = parts[part, BECOMES]
            if becomes == NOTHING:
                continue
            codes = sets.table[base + b * n + begin : base + b * n + end]
            at, many_slots, cut = columns.at[sets.members[s, b]], parts[part, SLOTS], parts[part, CUT]
            sparse = becomes == DISCLOSE and many_slots > np.int64(many) and rules_from == rules_to
            if cut >= 0:
                right = np.int64(0)
                if weighted:
                    for r in range(many):
                        right += np.int64(weights[r] if codes[r] >= cut else 0)
                else:
                    for r in range(many):
                        right += np.int64(codes[r] >= cut)
                counts[0], counts[1] = total - right, right
            else:
                if sparse:  # what groups have is less than what there is: the rest stays as it was
                    for r in range(many):
                        counts[slots[np.uint64(at + codes[r])]] = 0
                else:
                    for slot in range(many_slots):
                        counts[slot] = 0
                for r in range(many):
                    counts[np.uint64(slots[np.uint64(at + codes[r])])] += np.int64(weights[r])
            first = np.int64(parts[part, FIRST])
            if becomes == SPLIT:
                smallest = total
                for slot in range(many_slots):
                    if 0 < counts[slot] < smallest:
                        smallest = counts[slot]
                fewest[s, first] = min(fewest[s, first], smallest)
                if smallest < sets.least[s]:
                    kill(parts, candidates, first)
            elif sparse:
                for r in range(many):
                    slot = np.int64(slots[np.uint64(at + codes[r])])
                    if slot > 0:
                        _note(first + slot - 1, counts[slot], total, sets.least[s], fewest, s, parts, candidates)
            else:
                for slot in range(1, many_slots):
                    if counts[slot] > 0:
                        _note(first + slot - 1, counts[slot], total, sets.least[s], fewest, s, parts, candidates)
            _check_all(sets.rules, sets, s, begin, end, codes, weights, at, parts, part, candidates, room)


@inlined
def _note(c, count, total, least, fewest, s, parts, candidates):
    """A value that may be disclosed leaves ``count`` records of a group with it, and the others without."""
    smallest = count
    if 0 < total - count < count:
        smallest = total - count
    fewest[s, c] = min(fewest[s, c], smallest)
    if smallest < least:
        kill(parts, candidates, c)


@linked
def _check_all(rules, sets, s, begin, end, codes, weights, at, parts, part, candidates, room):
    """Ask the rules of a set, until nothing of a part is left to become."""
    if rules is None:
        return
    base, n = sets.base[s], sets.records[s]
    for rule in range(sets.rules_at[s], sets.rules_at[s + 1]):
        if parts[part, BECOMES] != NOTHING:
            row = rules.spec[rule, ROW]
            values = sets.table[base + row * n + begin : base + row * n + end]
            _check(rules, rule, codes, weights, values, at, parts, part, candidates, room)


@linked
def _check_enough(enough, codes, values, at, parts, part, candidates, marks):
    """Ask for enough different values in the children of a group, or with and without each that may be disclosed.

    The records are gone through child by child. A mark is the child in which a value was seen last, from 1 on, below 0
    where it was in another one before; so what a child has alone is known, and with it what there is without the child.
    """
    n, many, cut = codes.size, np.int64(parts[part, SLOTS]), parts[part, CUT]
    first = np.int64(parts[part, FIRST])
    child = np.empty(n, dtype=np.int32)
    begins = np.zeros(many + 1, dtype=np.int64)
    for i in range(n):
        child[i] = codes[i] >= cut if cut >= 0 else candidates.slot[np.uint64(at + codes[i])]
        begins[child[i] + 1] += 1
    for s in range(many):
        begins[s + 1] += begins[s]
    order, place = np.empty(n, dtype=np.int64), begins[:many].copy()
    for i in range(n):
        order[place[child[i]]] = i
        place[child[i]] += 1
    held, alone, total = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64), 0
    for i in range(n):
        s, v = np.int64(child[order[i]]), np.uint64(values[order[i]])
        mark = marks[v]
        if mark == 0:
            total += 1
            held[s] += 1
            alone[s] += 1
            marks[v] = s + 1
        elif abs(mark) != s + 1:
            held[s] += 1
            if mark > 0:
                alone[mark - 1] -= 1
            marks[v] = -(s + 1)
    for i in range(n):
        marks[np.uint64(values[i])] = 0
    if parts[part, BECOMES] == SPLIT:
        for s in range(many):
            if begins[s + 1] > begins[s] and held[s] < enough:
                kill(parts, candidates, first)
        return
    for s in range(1, many):
        there = begins[s + 1] - begins[s]
        if there > 0 and (held[s] < enough or (there < n and total - alone[s] < enough)):
            kill(parts, candidates, first + s - 1)


@linked
def _check(rules, r, codes, weights, values, at, parts, part, candidates, room):
    """Ask a rule of the children of a group, or of each value that may be disclosed and the rest without it."""
    if rules.spec[r, KIND] == DISTINCT:
        _check_enough(rules.spec[r, P], codes, values, at, parts, part, candidates, room.marks)
        return
    counts, histograms, sums = room.counts, room.histograms, room.sums
    size, facts_at = rules.spec[r, SIZE], rules.spec[r, FACTS]
    moments = rules.spec[r, KIND] >= MOMENTS
    many, cut = np.int64(parts[part, SLOTS]), parts[part, CUT]
    first = np.int64(parts[part, FIRST])
    for s in range(many):
        if moments:
            sums[s, 0] = sums[s, 1] = sums[s, 2] = 0.0
        else:
            for v in range(size):
                histograms[s, v] = 0
    for i in range(codes.size):
        s = np.uint64(codes[i] >= cut) if cut >= 0 else np.uint64(candidates.slot[np.uint64(at + codes[i])])
        w = np.int64(weights[i])
        v = np.uint64(values[i])
        if not moments:
            histograms[s, v] += w
            continue
        add_number(rules.facts, facts_at, sums, s, v, w)
    if parts[part, BECOMES] == SPLIT:
        for s in range(many):
            if counts[s] > 0 and not candidates.dead[first] and not _holds(s, moments, rules, r, histograms, sums):
                kill(parts, candidates, first)
        return
    rest, whole = many, many + 1
    if not moments:
        for v in range(size):
            histograms[whole, v] = 0
            for s in range(many):
                histograms[whole, v] += histograms[s, v]
    for s in range(1, many):
        c = first + s - 1
        if counts[s] == 0 or candidates.dead[c]:
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
        good = _holds(s, moments, rules, r, histograms, sums)
        if good and others:
            good = _holds(rest, moments, rules, r, histograms, sums)
        if not good:
            kill(parts, candidates, c)


@linked
def _holds(s, moments, rules, r, histograms, sums):
    """Whether the records counted for a slot meet a rule."""
    if moments:
        return gap(histograms, s, sums[s, 0], sums[s, 1], sums[s, 2], rules, r) == 0
    n, first = summary(histograms, s, rules, r)
    return gap(histograms, s, np.float64(n), first, 0.0, rules, r) == 0
