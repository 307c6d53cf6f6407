"""Top-Down Refinement, compiled: Algorithm 1 of Fung, Wang, Yu, Anonymizing Classification Data for Privacy
Preservation, TKDE 19(5), 2007, with the structures of its sections 4.3 and 4.4.

A set of quasi-identifiers that requirements are about has a table of its distinct records, a row per column: codes, how
many records there are of each, codes that rules look at. The records of a *group*, which show the same on all of these
quasi-identifiers, are one contiguous range; what it shows are its *parts*, one per quasi-identifier.

TIPS: the groups that show a part are linked, so that a refinement goes to them and to no others. Groups are divided and
never removed, so links are only ever added. QITS: since every set has a table and groups of its own, the count of a
group is the length of its range, weighted.

Each code of a part has a *slot*. A part that is split goes to its children, one per slot. Of a part whose values are
suppressed every slot but the first is a value that may be disclosed; the first is of the others. A *candidate* is a
part that may be split, or a value that may be disclosed. What a candidate loses of anonymity only ever grows, until
the smallest group of a set becomes smaller, so the best one is on top of a heap whose keys are bounds from above; all
keys are set anew when a smallest group shrinks.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, inlined, linked
from rothko.kernels.boxes import TREE, children_between
from rothko.kernels.refine.gains import disclose, several_labels, specialise, split
from rothko.kernels.refine.heap import BY_SCORE, BY_TDS, enter, set_anew, take
from rothko.kernels.refine.look import look, look_at_parts
from rothko.kernels.refine.state import (
    BECOMES,
    CUT,
    DISCLOSE,
    FIRST,
    GONE,
    HIGH,
    LEFT,
    LINE,
    LOW,
    NOTHING,
    PART_WIDTH,
    SLOTS,
    SPLIT,
    STEP_CHILD,
    STEP_CHILDREN,
    STEP_PART,
    STEP_VALUE,
    SUPPRESSED,
    candidates_of,
    open_candidate,
    rooms,
)  # fmt: skip


@compiled
def refine(columns, labels, sets, start, most_parts, most_steps, criterion):
    """Refine a table until no valid and beneficial refinement is left, or the sets do not tell what one would leave.

    ``most_parts`` is how many parts there can ever be; after ``most_steps`` refinements it ends as well. Returns the
    table of parts, that of steps, the suppressed codes line by line with their numbers, the values that are never to be
    disclosed, and whether none is left.
    """
    parts = np.empty((most_parts, PART_WIDTH), dtype=np.int32)
    steps = np.empty((most_parts, 4), dtype=np.int32)
    groups, candidates, heap, room = rooms(columns, labels, sets, most_parts)
    candidates.hidden[:] = start.hidden
    candidates.hiding[:] = start.hiding
    candidates.never[:] = start.never
    used, done, told = start.parts.shape[0], 0, True
    for part in range(used):
        given = start.parts[part]
        i, low, high = np.int64(given[0]), np.int64(given[1]), np.int64(given[2])
        _place(parts, part, i, low, high, given[3] != 0)
        if given[4] == 0:
            _open(columns, labels, parts, part, candidates, room)
            told = told and _told(columns, parts, part, candidates, start.apart)
    if told:
        for s in range(sets.base.size):
            _begin(columns, sets, s, start, groups, parts, candidates, room)
        for part in range(used):
            enter(parts, part, sets, candidates, heap, criterion)
    while told:
        best = take(parts, sets, candidates, heap, criterion)
        if best < 0:
            break
        shrunk = _lose_anonymity(sets, parts, candidates, best)
        first = used
        used = _perform(columns, labels, sets, parts, used, best, groups, candidates, room, steps[done])
        done += 1
        told = done < most_steps
        for part in range(first, used):
            told = told and _told(columns, parts, part, candidates, start.apart)
        if not told:
            break
        i = parts[first, LINE]
        for s in range(sets.base.size):
            if sets.place[s, i] >= 0:
                look_at_parts(columns, sets, s, i, first, used - first, groups, parts, candidates, room)
        for part in range(first, used):
            enter(parts, part, sets, candidates, heap, criterion)
        if criterion == BY_TDS or (shrunk and criterion == BY_SCORE):
            set_anew(parts, sets, candidates, heap, criterion)
    for part in range(used):
        if parts[part, BECOMES] == DISCLOSE:
            _note_never(columns, parts, part, candidates)
    return parts[:used].copy(), steps[:done].copy(), candidates.hidden, candidates.hiding, candidates.never, told


@linked
def _begin(columns, sets, s, start, groups, parts, candidates, room):
    """The groups of a set that there are to begin with."""
    begin, g = start.groups_at[s], sets.groups_at[s]
    groups.count[s] = start.groups_at[s + 1] - begin
    for j in range(groups.count[s]):
        groups.spans[g + j, 0], groups.spans[g + j, 1] = start.spans[begin + j, 0], start.spans[begin + j, 1]
        for b in range(sets.widths[s]):
            part = start.shows[begin + j, b]
            groups.shows[g + j, b] = part
            groups.following[g + j, b] = groups.head[s, part]
            groups.head[s, part] = g + j
        room.touched[j] = g + j
    look(columns, sets, s, groups.count[s], groups, parts, candidates, room)


# ── Parts and their candidates


@linked
def _place(parts, part, i, low, high, suppressed):
    """A new part, of which nothing can become yet."""
    parts[part, LINE], parts[part, LOW], parts[part, HIGH] = i, low, high
    parts[part, BECOMES], parts[part, CUT], parts[part, SUPPRESSED] = NOTHING, -1, suppressed
    parts[part, FIRST], parts[part, SLOTS], parts[part, LEFT] = part, 0, 0


@linked
def _open(columns, labels, parts, part, candidates, room):
    """The candidates of a part."""
    i, low, high = np.int64(parts[part, LINE]), np.int64(parts[part, LOW]), np.int64(parts[part, HIGH])
    at = columns.at[i]
    if parts[part, SUPPRESSED]:
        _open_values(columns, labels, parts, part, i, candidates, room)
        return
    if columns.lines.spec[i, 0] != TREE:
        cut, gain = split(columns, labels, i, low, high, room.gains, room.whole, room.side)
        if cut < 0:
            return
        parts[part, CUT], parts[part, SLOTS] = cut, 2
    else:
        gain = specialise(columns, labels, i, low, high, room.whole, room.side)
        if gain < 0:
            return
        first, count = children_between(columns.lines, i, low, high)
        parts[part, SLOTS] = count
        if count == 2:
            parts[part, CUT] = columns.lines.tree[first + 1, 1]
        else:
            for child in range(count):
                for code in range(columns.lines.tree[first + child, 1], columns.lines.tree[first + child, 2] + 1):
                    candidates.slot[at + code] = child
    parts[part, BECOMES], parts[part, LEFT] = SPLIT, 1
    open_candidate(candidates, np.int64(part), part, low, gain)


@linked
def _open_values(columns, labels, parts, part, i, candidates, room):
    """The suppressed values of a line, with those that may be disclosed."""
    at = columns.at[i]
    before = columns.before[at + i : columns.at[i + 1] + i + 1]
    codes = candidates.hidden[at : at + candidates.hiding[i]]
    parts[part, FIRST] = candidates.values_at[i]
    if not disclose(columns, labels, i, codes, room.gains, room.whole):
        return
    total = np.int64(0)
    for code in codes:
        total += before[code + 1] - before[code]
    able = np.int64(0)
    for j in range(codes.size):
        code = codes[j]
        records = before[code + 1] - before[code]
        candidates.slot[at + code] = 0
        if min(records, total - records) < columns.least[i] or candidates.never[at + code]:
            continue
        open_candidate(candidates, candidates.values_at[i] + able, part, code, room.gains[j])
        able += 1
        candidates.slot[at + code] = able
    parts[part, SLOTS], parts[part, LEFT] = able + 1, able
    parts[part, BECOMES] = DISCLOSE if able > 0 else NOTHING


@linked
def _told(columns, parts, part, candidates, apart):
    """Whether the sets tell apart what a part can become."""
    at, becomes = columns.at[parts[part, LINE]], parts[part, BECOMES]
    if becomes == SPLIT and parts[part, CUT] >= 0:
        return apart[at + parts[part, CUT]]
    if becomes == SPLIT:
        i, low, high = np.int64(parts[part, LINE]), np.int64(parts[part, LOW]), np.int64(parts[part, HIGH])
        first, count = children_between(columns.lines, i, low, high)
        for child in range(first + 1, first + count):
            if not apart[at + columns.lines.tree[child, 1]]:
                return False
    for c in range(parts[part, FIRST], parts[part, FIRST] + (candidates_of(parts, part) if becomes == DISCLOSE else 0)):
        if not apart[at + candidates.code[c]]:
            return False
    return True


@linked
def _note_never(columns, parts, part, candidates):
    """Of the suppressed values of a part, those that could not be disclosed never will be."""
    at = columns.at[parts[part, LINE]]
    for c in range(parts[part, FIRST], parts[part, FIRST] + candidates_of(parts, part)):
        if candidates.dead[c]:
            candidates.never[at + candidates.code[c]] = True


# ── A refinement


@linked
def _lose_anonymity(sets, parts, candidates, best):
    """What is left of the anonymity of each set after a refinement; whether that is less than before."""
    shrunk = False
    for s in range(sets.base.size):
        if sets.place[s, parts[candidates.owner[best], LINE]] >= 0:
            shrunk = shrunk or candidates.fewest[s, best] < sets.anonymity[s]
            sets.anonymity[s] = min(sets.anonymity[s], candidates.fewest[s, best])
    return shrunk


@linked
def _perform(columns, labels, sets, parts, used, best, groups, candidates, room, step):
    """Perform a refinement; returns how many parts there are then. What they leave of groups is yet to be looked at."""
    old = np.int64(candidates.owner[best])
    i, low, high = np.int64(parts[old, LINE]), np.int64(parts[old, LOW]), np.int64(parts[old, HIGH])
    at, cut = columns.at[i], parts[old, CUT]
    disclosed, children, first_child = np.int64(-1), np.int64(2), np.int64(0)
    if parts[old, BECOMES] == DISCLOSE:
        disclosed = np.int64(candidates.code[best])
        for slot in range(parts[old, SLOTS]):
            room.child_of[slot] = 0
        room.child_of[candidates.slot[at + disclosed]] = 1
    elif cut < 0:
        first_child, children = children_between(columns.lines, i, low, high)
        for child in range(children):
            room.child_of[child] = child
    step[STEP_PART], step[STEP_VALUE], step[STEP_CHILD], step[STEP_CHILDREN] = old, disclosed, used, children
    for s in range(sets.base.size):
        if sets.place[s, i] >= 0:
            _divide(columns, sets, s, i, old, cut, used, children, groups, parts, candidates, room)
    _retire(columns, parts, old, candidates)
    if disclosed >= 0:
        rest = np.int64(0)
        for j in range(candidates.hiding[i]):
            if candidates.hidden[at + j] != disclosed:
                candidates.hidden[at + rest] = candidates.hidden[at + j]
                rest += 1
        begin, end = np.int64(candidates.hidden[at]), np.int64(candidates.hidden[at + rest - 1])
        stays = rest > 1 or _stays_suppressed(columns, labels, i, begin)
        candidates.hiding[i] = rest if stays else 0
        _place(parts, used, i, begin, end, stays)
        _place(parts, used + 1, i, disclosed, disclosed, False)
    else:
        for child in range(children):
            if cut >= 0:
                begin, end = np.int64(low if child == 0 else cut), np.int64(cut - 1 if child == 0 else high)
            else:
                begin = np.int64(columns.lines.tree[first_child + child, 1])
                end = np.int64(columns.lines.tree[first_child + child, 2])
            _place(parts, used + child, i, begin, end, False)
    for part in range(used, used + children):
        _open(columns, labels, parts, part, candidates, room)
    return used + children


@inlined
def _stays_suppressed(columns, labels, i, code):
    """Whether the last suppressed value stays so: to the letter, where disclosing it would not be beneficial.

    Where it would be, it changes no group and loses nothing, so it is disclosed sooner or later, and may be at once.
    """
    return columns.letter and labels.counts.size > 0 and not several_labels(labels, i, code, code)


@linked
def _retire(columns, parts, old, candidates):
    """Take a part away that was refined."""
    if parts[old, SUPPRESSED]:
        _note_never(columns, parts, old, candidates)
    for c in range(parts[old, FIRST], parts[old, FIRST] + candidates_of(parts, old)):
        candidates.dead[c] = True
    parts[old, BECOMES] = GONE


@linked
def _divide(columns, sets, s, i, old, cut, used, children, groups, parts, candidates, room):
    """Divide every group that shows a part by the children of its records.

    Two children are the codes below ``cut`` and the others; otherwise (-1) ``child_of`` is the child of each slot.
    Columns whose part has nothing left to refine are not moved: nobody looks at them again.
    """
    a, d, n = sets.place[s, i], sets.widths[s], sets.records[s]
    at, base = columns.at[i], sets.base[s]
    child, order, spare, sizes, places = room.child, room.order, room.spare, room.sizes, room.places
    shows, following, spans, slots = groups.shows, groups.following, groups.spans, candidates.slot
    g = np.int64(groups.head[s, old])
    while g >= 0:
        after = np.int64(following[g, a])
        begin, end = spans[g, 0], spans[g, 1]
        many = np.uint64(end - begin)
        codes = sets.table[base + a * n + begin : base + a * n + end]
        for c in range(children):
            sizes[c] = 0
        if cut >= 0:
            right = np.int64(0)
            for r in range(many):
                c = np.int32(codes[r] >= cut)
                child[r] = c
                right += c
            sizes[0], sizes[1] = np.int64(many) - right, right
        else:
            for r in range(many):
                c = room.child_of[slots[np.uint64(at + codes[r])]]
                child[r] = c
                sizes[c] += 1
        total, there = np.int64(0), 0
        for c in range(children):
            places[c] = total
            total += sizes[c]
            there += sizes[c] > 0
        if there > 1:
            for r in range(many if children > 2 else np.uint64(0)):
                c = child[r]
                order[places[c]] = r
                places[c] += 1
            for row in range(sets.rows[s]):
                if row < d and row != a and parts[shows[g, row], BECOMES] == NOTHING:
                    continue
                if row == d and not sets.weighted[s]:
                    continue
                values = sets.table[base + row * n + begin : base + row * n + end]
                if children == 2:
                    _part(values, child, spare)
                    continue
                for r in range(many):
                    spare[r] = values[np.uint64(order[r])]
                for r in range(many):
                    values[r] = spare[r]
        record, use = begin, g
        for c in range(children):
            if sizes[c] == 0:
                continue
            if use != g:
                for b in range(d):
                    shows[use, b] = shows[g, b]
                    if b != a:
                        following[use, b] = groups.head[s, shows[g, b]]
                        groups.head[s, shows[g, b]] = use
            spans[use, 0] = record
            record += sizes[c]
            spans[use, 1] = record
            shows[use, a] = used + c
            following[use, a] = groups.head[s, used + c]
            groups.head[s, used + c] = use
            there -= 1
            if there > 0:
                use = sets.groups_at[s] + groups.count[s]
                groups.count[s] += 1
        g = after


@inlined
def _part(values, child, spare):
    """Bring the values of the first child before those of the second, in their order.

    Each is written to both places, and counts in one: there is nothing to guess for the processor.
    """
    left, right = np.uint64(0), np.uint64(0)
    for r in range(np.uint64(values.size)):
        value, c = values[r], np.uint64(child[r])
        values[left] = value
        spare[right] = value
        left += np.uint64(1) - c
        right += c
    for r in range(right):
        values[left + r] = spare[r]
