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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined
from rothko.kernels.nodes import NOMINAL, TREE, children_between
from rothko.kernels.refine_gains import disclose, specialise, split
from rothko.kernels.requirements import FACTS, KIND, MOMENTS, ROW, SIZE, gap, summary

# Columns of the table of parts: line, first and last code, what can become of it, its first candidate, slots,
# candidates left, the first code of the second of two children (otherwise -1), whether its values are suppressed.
LINE, LOW, HIGH, BECOMES, FIRST, SLOTS, LEFT, CUT, SUPPRESSED = range(9)
PART_WIDTH = 9

NOTHING, SPLIT, DISCLOSE, GONE = range(4)
"""What can become of a part: nothing any more, its children, or one of its values by itself; or it was refined."""

# Columns of the table of steps: the part that was refined, the value that was disclosed (otherwise -1), the first of
# the new parts, and their number.
STEP_PART, STEP_VALUE, STEP_CHILD, STEP_CHILDREN = range(4)

NEVER_LOST = np.iinfo(np.int64).max


class Sets(NamedTuple):
    """The sets of quasi-identifiers that requirements are about, with their distinct records."""

    table: NDArray[np.int32]
    """The rows of all tables one after the other: set s begins at ``base[s]``, and a row has ``records[s]``."""
    base: NDArray[np.int64]
    records: NDArray[np.int64]
    rows: NDArray[np.int64]
    """How many rows each table has: lines, weights, what rules look at."""
    weighted: NDArray[np.bool_]
    """Whether there are weights other than 1."""
    widths: NDArray[np.int64]
    """How many lines each set has."""
    members: NDArray[np.int64]
    """(sets, lines): the line at each place of a set, -1 beyond."""
    place: NDArray[np.int64]
    """(sets, lines): the place of each line in a set, -1 where it is not in it."""
    least: NDArray[np.int64]
    """The fewest records that a group can have."""
    groups_at: NDArray[np.int64]
    """Where the groups of each set begin, and the end."""
    rules: NDArray[np.int64]
    rules_at: NDArray[np.int64]
    facts: NDArray[np.float64]
    anonymity: NDArray[np.int64]
    """The records of the smallest group of each set, A(QID)."""


class _Groups(NamedTuple):
    spans: NDArray[np.int64]
    shows: NDArray[np.int32]
    """(groups, places): parts."""
    following: NDArray[np.int32]
    """(groups, places): the next group that shows the same part, -1 at the end."""
    head: NDArray[np.int32]
    """(sets, parts): the first group that shows a part."""
    count: NDArray[np.int64]
    """Of each set."""


class _Candidates(NamedTuple):
    """A part that may be split has the number of the part; values come after all parts, line by line."""

    gain: NDArray[np.float64]
    code: NDArray[np.int32]
    owner: NDArray[np.int32]
    """Its part."""
    dead: NDArray[np.bool_]
    fewest: NDArray[np.int64]
    """(sets, candidates): the smallest child that it leaves in any group."""
    values_at: NDArray[np.int64]
    slot: NDArray[np.int32]
    """Of each code."""
    hidden: NDArray[np.int32]
    """Line by line, as far as ``hiding`` says: the codes that are suppressed, in their order."""
    hiding: NDArray[np.int64]
    never: NDArray[np.bool_]
    """Values that were found not to be disclosed validly: they never will be."""


class _Heap(NamedTuple):
    key: NDArray[np.float64]
    rank: NDArray[np.int64]
    """Decides between equal keys: the line that comes first, then the lower code."""
    candidate: NDArray[np.int32]
    owner: NDArray[np.int32]
    size: NDArray[np.int64]


class _Room(NamedTuple):
    gains: NDArray[np.float64]
    whole: NDArray[np.int64]
    side: NDArray[np.int64]
    counts: NDArray[np.int64]
    histograms: NDArray[np.int64]
    sums: NDArray[np.float64]
    child: NDArray[np.int32]
    order: NDArray[np.uint32]
    spare: NDArray[np.int32]
    child_of: NDArray[np.int32]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    touched: NDArray[np.int64]


@compiled
def refine(lines, labels, sets, most_parts, scored):
    """Refine the most masked table until no valid and beneficial refinement is left.

    ``most_parts`` is how many parts there can ever be. Returns the table of parts, that of steps, and the suppressed
    codes line by line with their numbers.
    """
    count = lines.lines.shape[0]
    parts = np.empty((most_parts, PART_WIDTH), dtype=np.int32)
    steps = np.empty((most_parts, 4), dtype=np.int32)
    groups, candidates, heap, room = _rooms(lines, labels, sets, most_parts)
    used, done = 0, 0
    for i in range(count):
        suppressed = lines.lines[i, 0] == NOMINAL and lines.lines[i, 1] > 1
        if suppressed:
            for code in range(lines.lines[i, 1]):
                candidates.hidden[lines.at[i] + code] = code
            candidates.hiding[i] = lines.lines[i, 1]
        _add(lines, labels, parts, used, i, np.int64(0), lines.lines[i, 1] - 1, suppressed, candidates, room)
        used += 1
    for s in range(sets.base.size):
        g = sets.groups_at[s]
        groups.spans[g, 0], groups.spans[g, 1] = 0, sets.records[s]
        groups.count[s] = 1
        for b in range(sets.widths[s]):
            groups.shows[g, b] = sets.members[s, b]  # the first parts have the numbers of their lines
            groups.following[g, b] = -1
            groups.head[s, sets.members[s, b]] = g
        room.touched[0] = g
        _look(lines, sets, s, 1, groups, parts, candidates, room)
    for part in range(used):
        _enter(parts, part, sets, candidates, heap, scored)
    while True:
        best = _take(parts, sets, candidates, heap, scored)
        if best < 0:
            return parts[:used].copy(), steps[:done].copy(), candidates.hidden, candidates.hiding
        shrunk = _lose_anonymity(sets, parts, candidates, best)
        first = used
        used = _perform(lines, labels, sets, parts, used, best, groups, candidates, room, steps[done])
        done += 1
        for part in range(first, used):
            _enter(parts, part, sets, candidates, heap, scored)
        if shrunk and scored:
            _set_anew(parts, sets, candidates, heap, scored)


@compiled
def _rooms(lines, labels, sets, most_parts):
    """Arrays to work in."""
    count, codes, most_sets = lines.lines.shape[0], lines.at[-1], sets.base.size
    values_at = np.zeros(count + 1, dtype=np.int64)
    values_at[0] = most_parts
    longest, most_children = np.int64(1), np.int64(2)
    for i in range(count):
        values_at[i + 1] = values_at[i] + (lines.lines[i, 1] if lines.lines[i, 0] == NOMINAL else 0)
        longest = max(longest, lines.lines[i, 1])
    for node in range(lines.tree.shape[0]):
        most_children = max(most_children, np.int64(lines.tree[node, 4]))
    most, most_records, most_labels, widest, most_rows = values_at[-1], np.int64(1), np.int64(1), np.int64(1), 1
    for t in range(labels.counts.size):
        most_labels = max(most_labels, labels.counts[t])
    for s in range(most_sets):
        most_records = max(most_records, sets.records[s])
        widest = max(widest, sets.widths[s])
    slots = most_children
    for i in range(count):
        able = np.int64(0)  # values that could be disclosed; what is disclosed makes them fewer
        for code in range(lines.at[i] + i, lines.at[i + 1] + i):
            able += lines.before[code + 1] - lines.before[code] >= lines.least[i]
        if lines.lines[i, 0] == NOMINAL:
            slots = max(slots, able + 1)
    for r in range(sets.rules.shape[0]):
        most_rows = max(most_rows, sets.rules[r, SIZE])
    ruled = slots + 3 if sets.rules.shape[0] > 0 else np.int64(1)
    most_groups = sets.groups_at[-1]
    groups = _Groups(
        np.empty((most_groups, 2), dtype=np.int64),
        np.empty((most_groups, widest), dtype=np.int32),
        np.empty((most_groups, widest), dtype=np.int32),
        np.full((most_sets, most_parts), -1, dtype=np.int32),
        np.zeros(most_sets, dtype=np.int64),
    )
    candidates = _Candidates(
        np.zeros(most),
        np.zeros(most, dtype=np.int32),
        np.full(most, -1, dtype=np.int32),
        np.ones(most, dtype=np.bool_),
        np.empty((most_sets, most), dtype=np.int64),
        values_at,
        np.zeros(codes, dtype=np.int32),
        np.empty(codes, dtype=np.int32),
        np.zeros(count, dtype=np.int64),
        np.zeros(codes, dtype=np.bool_),
    )
    heap = _Heap(
        np.empty(2 * most),
        np.empty(2 * most, dtype=np.int64),
        np.empty(2 * most, dtype=np.int32),
        np.empty(2 * most, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )
    room = _Room(
        np.empty(longest),
        np.empty(most_labels, dtype=np.int64),
        np.empty(most_labels, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros((ruled, most_rows), dtype=np.int64),
        np.zeros((ruled, 3)),
        np.empty(most_records, dtype=np.int32),
        np.empty(most_records, dtype=np.uint32),
        np.empty(most_records, dtype=np.int32),
        np.zeros(slots, dtype=np.int32),
        np.empty(most_children, dtype=np.int64),
        np.empty(most_children, dtype=np.int64),
        np.empty(max(most_groups, np.int64(1)), dtype=np.int64),
    )
    return groups, candidates, heap, room


# ── Parts and their candidates


@compiled
def _add(lines, labels, parts, part, i, low, high, suppressed, candidates, room):
    """A new part, with its candidates."""
    parts[part, LINE], parts[part, LOW], parts[part, HIGH] = i, low, high
    parts[part, BECOMES], parts[part, CUT], parts[part, SUPPRESSED] = NOTHING, -1, suppressed
    parts[part, FIRST], parts[part, SLOTS], parts[part, LEFT] = part, 0, 0
    at = lines.at[i]
    if suppressed:
        _add_values(lines, labels, parts, part, i, candidates, room)
        return
    if lines.lines[i, 0] != TREE:
        cut, gain = split(lines, labels, i, low, high, room.gains, room.whole, room.side)
        if cut < 0:
            return
        parts[part, CUT], parts[part, SLOTS] = cut, 2
    else:
        gain = specialise(lines, labels, i, low, high, room.whole, room.side)
        if gain < 0:
            return
        first, count = children_between(lines.lines, lines.tree, lines.leaf, i, low, high)
        parts[part, SLOTS] = count
        if count == 2:
            parts[part, CUT] = lines.tree[first + 1, 1]
        else:
            for child in range(count):
                for code in range(lines.tree[first + child, 1], lines.tree[first + child, 2] + 1):
                    candidates.slot[at + code] = child
    parts[part, BECOMES], parts[part, LEFT] = SPLIT, 1
    _open(candidates, np.int64(part), part, low, gain)


@compiled
def _add_values(lines, labels, parts, part, i, candidates, room):
    """The suppressed values of a line, with those that may be disclosed."""
    at = lines.at[i]
    before = lines.before[at + i : lines.at[i + 1] + i + 1]
    codes = candidates.hidden[at : at + candidates.hiding[i]]
    parts[part, FIRST] = candidates.values_at[i]
    if not disclose(lines, labels, i, codes, room.gains, room.whole):
        return
    total = np.int64(0)
    for code in codes:
        total += before[code + 1] - before[code]
    able = np.int64(0)
    for j in range(codes.size):
        code = codes[j]
        records = before[code + 1] - before[code]
        candidates.slot[at + code] = 0
        if min(records, total - records) < lines.least[i] or candidates.never[at + code]:
            continue
        _open(candidates, candidates.values_at[i] + able, part, code, room.gains[j])
        able += 1
        candidates.slot[at + code] = able
    parts[part, SLOTS], parts[part, LEFT] = able + 1, able
    parts[part, BECOMES] = DISCLOSE if able > 0 else NOTHING


@compiled
def _open(candidates, c, part, code, gain):
    """Open a candidate."""
    candidates.gain[c], candidates.code[c], candidates.owner[c], candidates.dead[c] = gain, code, part, False
    for s in range(candidates.fewest.shape[0]):
        candidates.fewest[s, c] = NEVER_LOST


@inlined
def _kill(parts, candidates, c):
    """A candidate that is not valid, and never will be."""
    if not candidates.dead[c]:
        candidates.dead[c] = True
        part = candidates.owner[c]
        parts[part, LEFT] -= 1
        if parts[part, LEFT] == 0:
            parts[part, BECOMES] = NOTHING


@inlined
def _candidates_of(parts, part):
    """How many candidates a part has, dead ones included."""
    return 1 if parts[part, BECOMES] == SPLIT else parts[part, SLOTS] - 1 if parts[part, BECOMES] == DISCLOSE else 0


# ── The best candidate


@compiled
def _score(parts, sets, candidates, c, scored):
    """InfoGain ÷ (AnonyLoss + 1), AnonyLoss on the average of the sets that the attribute is in."""
    gain = candidates.gain[c]
    if not scored:
        return gain
    line = parts[candidates.owner[c], LINE]
    lost, about = np.int64(0), np.int64(0)
    for s in range(sets.base.size):
        if sets.place[s, line] >= 0:
            about += 1
            lost += max(sets.anonymity[s] - candidates.fewest[s, c], np.int64(0))
    return gain / (lost / max(about, np.int64(1)) + 1.0)


@compiled
def _enter(parts, part, sets, candidates, heap, scored):
    """Put the candidates of a part on the heap."""
    first, many = parts[part, FIRST], _candidates_of(parts, part)
    if heap.size[0] + many > heap.key.size:
        _set_anew(parts, sets, candidates, heap, scored)
    for c in range(first, first + many):
        if not candidates.dead[c]:
            at = heap.size[0]
            heap.key[at] = _score(parts, sets, candidates, c, scored)
            heap.rank[at] = (np.int64(parts[part, LINE]) << 32) + candidates.code[c]
            heap.candidate[at], heap.owner[at] = c, part
            heap.size[0] += 1
            while at > 0 and _before(heap, at, (at - 1) // 2):
                _swap(heap, at, (at - 1) // 2)
                at = (at - 1) // 2


@compiled
def _take(parts, sets, candidates, heap, scored):
    """The candidate with the best score, from the heap; -1 where none is left."""
    while heap.size[0] > 0:
        c = heap.candidate[0]
        if not candidates.dead[c] and candidates.owner[c] == heap.owner[0]:
            score = _score(parts, sets, candidates, c, scored)
            if score == heap.key[0]:
                return np.int64(c)
            heap.key[0] = score
        else:
            heap.size[0] -= 1
            _swap(heap, 0, heap.size[0])
        _sink(heap, 0)
    return np.int64(-1)


@compiled
def _set_anew(parts, sets, candidates, heap, scored):
    """Set all keys anew, and drop candidates that there are no more."""
    kept = 0
    for at in range(heap.size[0]):
        c = heap.candidate[at]
        if candidates.dead[c] or candidates.owner[c] != heap.owner[at]:
            continue
        heap.key[kept] = _score(parts, sets, candidates, c, scored)
        heap.rank[kept], heap.candidate[kept], heap.owner[kept] = heap.rank[at], c, heap.owner[at]
        kept += 1
    heap.size[0] = kept
    for at in range(kept // 2 - 1, -1, -1):
        _sink(heap, at)


@compiled
def _sink(heap, at):
    """Let an entry of the heap sink to its place."""
    while True:
        best = at
        for below in range(2 * at + 1, min(2 * at + 3, heap.size[0])):
            if _before(heap, below, best):
                best = below
        if best == at:
            return
        _swap(heap, at, best)
        at = best


@inlined
def _before(heap, a, b):
    """Whether entry a comes before b."""
    return heap.key[a] > heap.key[b] or (heap.key[a] == heap.key[b] and heap.rank[a] < heap.rank[b])


@inlined
def _swap(heap, a, b):
    heap.key[a], heap.key[b] = heap.key[b], heap.key[a]
    heap.rank[a], heap.rank[b] = heap.rank[b], heap.rank[a]
    heap.candidate[a], heap.candidate[b] = heap.candidate[b], heap.candidate[a]
    heap.owner[a], heap.owner[b] = heap.owner[b], heap.owner[a]


# ── A refinement


@compiled
def _lose_anonymity(sets, parts, candidates, best):
    """What is left of the anonymity of each set after a refinement; whether that is less than before."""
    shrunk = False
    for s in range(sets.base.size):
        if sets.place[s, parts[candidates.owner[best], LINE]] >= 0:
            shrunk = shrunk or candidates.fewest[s, best] < sets.anonymity[s]
            sets.anonymity[s] = min(sets.anonymity[s], candidates.fewest[s, best])
    return shrunk


@compiled
def _perform(lines, labels, sets, parts, used, best, groups, candidates, room, step):
    """Perform a refinement, and update what it changes; returns how many parts there are then."""
    old = np.int64(candidates.owner[best])
    i, low, high = np.int64(parts[old, LINE]), np.int64(parts[old, LOW]), np.int64(parts[old, HIGH])
    at, cut = lines.at[i], parts[old, CUT]
    disclosed, children, first_child = np.int64(-1), np.int64(2), np.int64(0)
    if parts[old, BECOMES] == DISCLOSE:
        disclosed = np.int64(candidates.code[best])
        for slot in range(parts[old, SLOTS]):
            room.child_of[slot] = 0
        room.child_of[candidates.slot[at + disclosed]] = 1
    elif cut < 0:
        first_child, children = children_between(lines.lines, lines.tree, lines.leaf, i, low, high)
        for child in range(children):
            room.child_of[child] = child
    step[STEP_PART], step[STEP_VALUE], step[STEP_CHILD], step[STEP_CHILDREN] = old, disclosed, used, children
    for s in range(sets.base.size):
        if sets.place[s, i] >= 0:
            _divide(lines, sets, s, i, old, cut, used, children, groups, parts, candidates, room)
    _retire(lines, parts, old, i, candidates)
    if disclosed >= 0:
        rest = np.int64(0)
        for j in range(candidates.hiding[i]):
            if candidates.hidden[at + j] != disclosed:
                candidates.hidden[at + rest] = candidates.hidden[at + j]
                rest += 1
        candidates.hiding[i] = rest if rest > 1 else 0
        begin, end = np.int64(candidates.hidden[at]), np.int64(candidates.hidden[at + rest - 1])
        _add(lines, labels, parts, used, i, begin, end, rest > 1, candidates, room)
        _add(lines, labels, parts, used + 1, i, disclosed, disclosed, False, candidates, room)
    else:
        for child in range(children):
            if cut >= 0:
                begin, end = np.int64(low if child == 0 else cut), np.int64(cut - 1 if child == 0 else high)
            else:
                begin = np.int64(lines.tree[first_child + child, 1])
                end = np.int64(lines.tree[first_child + child, 2])
            _add(lines, labels, parts, used + child, i, begin, end, False, candidates, room)
    for s in range(sets.base.size):
        if sets.place[s, i] >= 0:
            _look_at_parts(lines, sets, s, i, used, children, groups, parts, candidates, room)
    return used + children


@compiled
def _retire(lines, parts, old, i, candidates):
    """Take a part away that was refined; of its values those that could not be disclosed never will be."""
    for c in range(parts[old, FIRST], parts[old, FIRST] + _candidates_of(parts, old)):
        if candidates.dead[c] and parts[old, SUPPRESSED]:
            candidates.never[lines.at[i] + candidates.code[c]] = True
        candidates.dead[c] = True
    parts[old, BECOMES] = GONE


@compiled
def _divide(lines, sets, s, i, old, cut, used, children, groups, parts, candidates, room):
    """Divide every group that shows a part by the children of its records.

    Two children are the codes below ``cut`` and the others; otherwise (-1) ``child_of`` is the child of each slot.
    Columns whose part has nothing left to refine are not moved: nobody looks at them again.
    """
    a, d, n = sets.place[s, i], sets.widths[s], sets.records[s]
    at, base = lines.at[i], sets.base[s]
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


# ── What refinements would leave


@compiled
def _look_at_parts(lines, sets, s, i, first, count, groups, parts, candidates, room):
    """Look at all groups that show new parts of a line."""
    a = sets.place[s, i]
    found = 0
    for part in range(first, first + count):
        g = np.int64(groups.head[s, part])
        while g >= 0:
            room.touched[found] = g
            found += 1
            g = np.int64(groups.following[g, a])
    _look(lines, sets, s, found, groups, parts, candidates, room)


@compiled
def _look(lines, sets, s, found, groups, parts, candidates, room):
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
            at, many_slots, cut = lines.at[sets.members[s, b]], parts[part, SLOTS], parts[part, CUT]
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
                    _kill(parts, candidates, first)
            elif sparse:
                for r in range(many):
                    slot = np.int64(slots[np.uint64(at + codes[r])])
                    if slot > 0:
                        _note(first + slot - 1, counts[slot], total, sets.least[s], fewest, s, parts, candidates)
            else:
                for slot in range(1, many_slots):
                    if counts[slot] > 0:
                        _note(first + slot - 1, counts[slot], total, sets.least[s], fewest, s, parts, candidates)
            for rule in range(rules_from, rules_to):
                if parts[part, BECOMES] != NOTHING:
                    row = sets.rules[rule, ROW]
                    values = sets.table[base + row * n + begin : base + row * n + end]
                    _check(sets, rule, codes, weights, values, at, parts, part, candidates, room)


@inlined
def _note(c, count, total, least, fewest, s, parts, candidates):
    """A value that may be disclosed leaves ``count`` records of a group with it, and the others without."""
    smallest = count
    if 0 < total - count < count:
        smallest = total - count
    fewest[s, c] = min(fewest[s, c], smallest)
    if smallest < least:
        _kill(parts, candidates, c)


@compiled
def _check(sets, r, codes, weights, values, at, parts, part, candidates, room):
    """Ask a rule of the children of a group, or of each value that may be disclosed and the rest without it."""
    rules, facts, counts, histograms, sums = sets.rules, sets.facts, room.counts, room.histograms, room.sums
    size, facts_at = rules[r, SIZE], rules[r, FACTS]
    moments = rules[r, KIND] >= MOMENTS
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
        x = facts[facts_at + 1 + v]
        if x == x:
            sums[s, 0] += w
            sums[s, 1] += w * x
            sums[s, 2] += w * x * x
    if parts[part, BECOMES] == SPLIT:
        for s in range(many):
            if (
                counts[s] > 0
                and not candidates.dead[first]
                and not _holds(s, moments, rules, r, facts, histograms, sums)
            ):
                _kill(parts, candidates, first)
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
        good = _holds(s, moments, rules, r, facts, histograms, sums)
        if good and others:
            good = _holds(rest, moments, rules, r, facts, histograms, sums)
        if not good:
            _kill(parts, candidates, c)


@compiled
def _holds(s, moments, rules, r, facts, histograms, sums):
    """Whether the records counted for a slot meet a rule."""
    if moments:
        return gap(histograms, s, sums[s, 0], sums[s, 1], sums[s, 2], rules, r, facts) == 0
    n, first = summary(histograms, s, rules, r, facts)
    return gap(histograms, s, np.float64(n), first, 0.0, rules, r, facts) == 0
