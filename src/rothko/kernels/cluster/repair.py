"""Repairing classes: records that cost less elsewhere go there, and groups of near classes are clustered anew.

Steps on the classes of a block, of which the last three never raise the loss:

*place*      records that are in no class yet join the one in which they add least, where its requirements still hold;
*absorb*     those that no class may take become one, which merges with the nearest until it holds; *dissolve*   a class
whose records together cost less in other classes than in theirs is given up; *move*       a record leaves a class that
has records to spare where that saves more than it costs elsewhere; *recluster*  some near classes are grouped anew
(:mod:`rothko.kernels.cluster.greedy`), in one of its ways at random, and the
             result is kept where it costs less.

A class is a list of entries, so many records of a tuple each: ``head[c]`` is its first, ``follow[e]`` the next one, -1
the end. Entries that are not in use make up a list of their own.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.cluster import greedy as cluster
from rothko.kernels.cluster import hull, tally
from rothko.kernels.cluster.greedy import LIFTING, PARTLY, RANDOM, draw, group
from rothko.kernels.cluster.hull import begin, copy_box, join_all, least_rise, ncp, room_for_chain, union, unions
from rothko.kernels.cluster.tally import clear, count, lacking

TRIES = 16
"""How many classes are asked whether they may take a record."""
LONGEST = 1024
"""Classes with more entries than this keep them."""

room_for_tuples, room_for_boxes, room_for_values = cluster.room, hull.room, tally.room


@compiled
def _holds(c, without, t, amount, held, amounts, follow, head, values, rules, facts, histograms, sums):
    """Whether the rules hold for class ``c`` without an entry, and with so many records of tuple ``t`` (-1: none)."""
    if rules.shape[0] == 0:
        return True
    clear(rules, histograms, sums)
    e = head[c]
    while e >= 0:
        if e != without:
            count(values, held[e], amounts[e], rules, facts, histograms, sums)
        e = follow[e]
    if t >= 0:
        count(values, t, amount, rules, facts, histograms, sums)
    return lacking(rules, facts, histograms, sums) < 0


@compiled
def _box(spec, tree, leaf, low, high, mix, bits, c, x, held, follow, first):
    """Make box ``c`` the one around a list of entries."""
    begin(spec, leaf, low, high, mix, bits, c, x, held[first])
    e = follow[first]
    while e >= 0:
        join_all(spec, tree, low, high, mix, bits, c, x, held[e])
        e = follow[e]


@compiled
def _find(
    spec, tree, table, low, high, mix, bits, m, x, t, amount, size, cost, after, skip, held, amounts, follow, head,
    values, rules, facts, histograms, sums, bound,
):  # fmt: skip
    """The class in which records of a tuple add least, where its rules hold with them, and how much; -1 for none.

    Only what adds less than ``bound`` counts.
    """
    c, rise = least_rise(spec, tree, table, low, high, mix, bits, m, x, t, amount, size, cost, after, skip)
    for _ in range(TRIES):
        if c < 0 or rise >= bound:
            return np.int64(-1), bound
        if _holds(c, -1, t, amount, held, amounts, follow, head, values, rules, facts, histograms, sums):
            return c, rise
        after[c] = -1  # not this one
        c, rise = -1, np.int64(1) << 62
        for b in range(m):
            if after[b] >= 0 and b != skip:
                adds = (size[b] + amount) * np.int64(after[b]) - size[b] * cost[b]
                if adds < rise:
                    c, rise = np.int64(b), adds
    return np.int64(-1), bound


@compiled
def _place(
    spec, tree, table, low, high, mix, bits, m, x, size, cost, after, held, amounts, follow, head, loose, free, values,
    rules, facts, histograms, sums,
):  # fmt: skip
    """Let the records of the list ``loose`` join classes, one at a time where there are rules: the list of the rest."""
    rest = np.int64(-1)
    unlimited = np.int64(1) << 62
    while loose >= 0:
        e = loose
        loose = follow[e]
        t = held[e]
        while amounts[e] > 0:
            some = amounts[e] if rules.shape[0] == 0 else np.int64(1)
            c, _ = _find(
                spec, tree, table, low, high, mix, bits, m, x, t, some, size, cost, after, np.int64(-1), held, amounts,
                follow, head, values, rules, facts, histograms, sums, unlimited,
            )  # fmt: skip
            if c < 0:
                break
            if free < 0:
                break
            new = free
            free = follow[new]
            held[new], amounts[new], follow[new] = t, some, head[c]
            head[c] = new
            join_all(spec, tree, low, high, mix, bits, c, x, t)
            size[c] += some
            cost[c] = ncp(spec, tree, low, high, mix, c)
            amounts[e] -= some
        if amounts[e] > 0:
            follow[e] = rest
            rest = e
        else:
            follow[e] = free
            free = e
    return rest, free


@compiled
def _append(c, other, follow, head):
    """Put the entries of a list before those of class ``c``."""
    last = other
    while follow[last] >= 0:
        last = follow[last]
    follow[last] = head[c]
    head[c] = other


@compiled
def _absorb(
    spec, tree, leaf, low, high, mix, bits, m, x, k, size, cost, together, chain, held, amounts, follow, head, loose,
    values, rules, facts, histograms, sums,
):  # fmt: skip
    """Make a class of the list ``loose``, and merge it with the nearest ones until it holds: how many there are."""
    c = m
    head[c], size[c] = loose, 0
    e = loose
    while e >= 0:
        size[c] += amounts[e]
        e = follow[e]
    m += 1
    while True:
        _box(spec, tree, leaf, low, high, mix, bits, c, x, held, follow, head[c])
        cost[c] = ncp(spec, tree, low, high, mix, c)
        whole = _holds(c, -1, -1, np.int64(0), held, amounts, follow, head, values, rules, facts, histograms, sums)
        if m == 1 or (size[c] >= k and whole):
            return m
        unions(spec, tree, low, high, mix, bits, c, m, together, chain)
        best, near = np.int64(1) << 62, -1
        for b in range(m):
            rise = (size[b] + size[c]) * np.int64(together[b]) - size[b] * cost[b]
            if b != c and rise < best:
                best, near = rise, b
        _append(c, head[near], follow, head)
        size[c] += size[near]
        m -= 1
        if near != m:
            copy_box(low, high, mix, bits, m, low, high, mix, bits, near)
            size[near], cost[near], head[near] = size[m], cost[m], head[m]
            if c == m:
                c = near


@compiled
def _dissolve(
    spec, tree, table, low, high, mix, bits, m, x, size, cost, after, held, amounts, follow, head, values, rules,
    facts, histograms, sums, order,
):  # fmt: skip
    """Give up classes, in an order, whose records cost less in others: how many classes are left."""
    longest = 0
    for c in range(m):
        length, e = 0, head[c]
        while e >= 0:
            length += 1
            e = follow[e]
        longest = max(longest, length)
    was_low, was_high, was_mix, was_bits = room_for_boxes(spec, bits.shape[0], longest)
    was_size, was_cost, to = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    for i in range(order.size):
        c = order[i]
        bound = size[c] * cost[c]
        moved, e = 0, head[c]
        while e >= 0 and bound > 0 and moved < longest:
            b, rise = _find(
                spec, tree, table, low, high, mix, bits, m, x, held[e], amounts[e], size, cost, after, c, held, amounts,
                follow, head, values, rules, facts, histograms, sums, bound,
            )  # fmt: skip
            bound -= rise
            if b < 0:
                break
            copy_box(low, high, mix, bits, b, was_low, was_high, was_mix, was_bits, moved)
            was_size[moved], was_cost[moved], to[moved] = size[b], cost[b], b
            moved += 1
            join_all(spec, tree, low, high, mix, bits, b, x, held[e])
            size[b] += amounts[e]
            cost[b] = ncp(spec, tree, low, high, mix, b)
            # In its new class already, for what holds there with the next one; the list goes on from here.
            after_e = follow[e]
            follow[e] = head[b]
            head[b] = e
            head[c] = after_e
            e = after_e
        if e >= 0:
            for j in range(moved - 1, -1, -1):
                b = to[j]
                copy_box(was_low, was_high, was_mix, was_bits, j, low, high, mix, bits, b)
                size[b], cost[b] = was_size[j], was_cost[j]
                back = head[b]
                head[b] = follow[back]
                follow[back] = head[c]
                head[c] = back
            continue
        if moved == 0:
            continue
        m -= 1
        if c != m:
            copy_box(low, high, mix, bits, m, low, high, mix, bits, c)
            size[c], cost[c], head[c] = size[m], cost[m], head[m]
            for j in range(i + 1, order.size):
                if order[j] == m:
                    order[j] = c
    return m


@compiled
def _without_each(spec, tree, leaf, low, high, mix, bits, c, x, held, follow, head, some, slim, later):
    """NCP of class ``c`` without each of its entries, which are listed in ``some``: how many there are.

    From the box of all entries before one and that of all after it. Of a class with more entries than there is room
    for, and of one entry alone, nothing is known: 0 entries.
    """
    later_low, later_high, later_mix, later_bits = later
    count, e = 0, head[c]
    while e >= 0:
        if count == some.size:
            return 0
        some[count] = e
        count += 1
        e = follow[e]
    if count < 2:
        return 0
    begin(spec, leaf, later_low, later_high, later_mix, later_bits, count - 1, x, held[some[count - 1]])
    for i in range(count - 2, 0, -1):
        copy_box(later_low, later_high, later_mix, later_bits, i + 1, later_low, later_high, later_mix, later_bits, i)
        join_all(spec, tree, later_low, later_high, later_mix, later_bits, i, x, held[some[i]])
    slim[0] = ncp(spec, tree, later_low, later_high, later_mix, 1)
    before = low.shape[1] - 1  # the last box is room to work in
    begin(spec, leaf, low, high, mix, bits, before, x, held[some[0]])
    for i in range(1, count):
        if i + 1 < count:
            slim[i] = union(
                spec, tree, low, high, mix, bits, before, later_low, later_high, later_mix, later_bits, i + 1
            )
            join_all(spec, tree, low, high, mix, bits, before, x, held[some[i]])
        else:
            slim[i] = ncp(spec, tree, low, high, mix, before)
    return count


@compiled
def _unlink(c, leaving, follow, head):
    """Take an entry out of the list of a class."""
    if head[c] == leaving:
        head[c] = follow[leaving]
        return
    e = head[c]
    while follow[e] != leaving:
        e = follow[e]
    follow[e] = follow[leaving]


@compiled
def _move(
    spec, tree, leaf, table, low, high, mix, bits, m, x, k, size, cost, after, held, amounts, follow, head, values,
    rules, facts, histograms, sums, order, tries,
):  # fmt: skip
    """Let records leave classes, in an order, that have some to spare, wherever that saves more than it costs.

    A class is left alone when as many in a row as ``tries`` had nowhere to go.
    """
    some, slim = np.empty(LONGEST, dtype=np.int64), np.empty(LONGEST, dtype=np.int64)
    later = room_for_boxes(spec, bits.shape[0], LONGEST)
    for c in order:
        count, i, failed = -1, 0, 0
        while size[c] > k and cost[c] > 0 and failed < tries:
            if count < 0:
                count = _without_each(
                    spec, tree, leaf, low, high, mix, bits, c, x, held, follow, head, some, slim, later
                )
            if i >= count:
                break
            e = some[i]
            saved = size[c] * cost[c] - (size[c] - amounts[e]) * slim[i]
            to = np.int64(-1)
            if size[c] - amounts[e] >= k and _holds(
                c, e, -1, np.int64(0), held, amounts, follow, head, values, rules, facts, histograms, sums
            ):
                to, _ = _find(
                    spec, tree, table, low, high, mix, bits, m, x, held[e], amounts[e], size, cost, after, c, held,
                    amounts, follow, head, values, rules, facts, histograms, sums, saved,
                )  # fmt: skip
            if to < 0:
                i += 1
                failed += 1
                continue
            failed = 0
            _unlink(c, e, follow, head)
            follow[e] = head[to]
            head[to] = e
            join_all(spec, tree, low, high, mix, bits, to, x, held[e])
            size[to] += amounts[e]
            cost[to] = ncp(spec, tree, low, high, mix, to)
            size[c] -= amounts[e]
            _box(spec, tree, leaf, low, high, mix, bits, c, x, held, follow, head[c])
            slimmer = ncp(spec, tree, low, high, mix, c)
            if slimmer < cost[c]:
                count = -1  # what the others save has changed; those before this one are not asked again
            else:
                # Two may have held the box open between them: the others save at least what is known of them.
                count -= 1
                for j in range(i, count):
                    some[j], slim[j] = some[j + 1], slim[j + 1]
            cost[c] = slimmer


@compiled
def _nearest(spec, tree, low, high, mix, bits, c, m, wanted, random, together, chain, near, far):
    """Some classes that are near to class ``c``, itself first; a little at random, so that not always the same are."""
    unions(spec, tree, low, high, mix, bits, c, m, together, chain)
    near[0], far[0], found = c, -1, 1
    for b in range(m):
        if b == c:
            continue
        apart = np.int64(together[b])
        apart += draw(random, (apart >> 3) + 1)
        if found < wanted:
            i = found
            found += 1
        elif apart >= far[found - 1]:
            continue
        else:
            i = found - 1
        while i > 1 and far[i - 1] > apart:
            far[i], near[i] = far[i - 1], near[i - 1]
            i -= 1
        far[i], near[i] = apart, b
    return found


@compiled
def _recluster(
    spec, tree, leaf, table, low, high, mix, bits, m, x, k, size, cost, held, amounts, follow, head, free, values,
    rules, facts, histograms, sums, steps, nearest, random,
):  # fmt: skip
    """Group some near classes anew, so many times, and keep what costs less: how many classes there are."""
    d, n = x.shape
    records = np.int64(0)
    for c in range(m):
        records += size[c]
    place = np.full(n, -1, dtype=np.int32)
    pool, pool_values = np.empty((d, n), dtype=np.int32), np.empty((values.shape[0], n), dtype=np.int32)
    who, left = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    most = low.shape[1]
    new_low, new_high, new_mix, new_bits = room_for_boxes(spec, bits.shape[0], most)
    new_size, slots = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    work = room_for_tuples(spec, n, records)
    entry_tuple, entry_class = np.empty(records, dtype=np.int64), np.empty(records, dtype=np.int64)
    entry_amount = np.empty(records, dtype=np.int64)
    together, chain = np.empty(most, dtype=np.int32), room_for_chain(spec)
    near, far = np.empty(nearest + 1, dtype=np.int64), np.empty(nearest + 1, dtype=np.int64)
    for _ in range(steps):
        c, other = draw(random, m), draw(random, m)
        if cost[other] > cost[c]:
            c = other
        wanted = min(2 + draw(random, nearest - 1), m)
        found = _nearest(spec, tree, low, high, mix, bits, c, m, wanted, random, together, chain, near, far)
        tuples, before = np.int64(0), np.int64(0)
        for i in range(found):
            before += size[near[i]] * cost[near[i]]
            e = head[near[i]]
            while e >= 0:
                t = held[e]
                if place[t] < 0:
                    place[t] = tuples
                    who[tuples], left[tuples] = t, 0
                    for a in range(d):
                        pool[a, tuples] = x[a, t]
                    for r in range(values.shape[0]):
                        pool_values[r, tuples] = values[r, t]
                    tuples += 1
                left[place[t]] += amounts[e]
                e = follow[e]
        for i in range(tuples):
            place[who[i]] = -1
        if before == 0 or found < 2:
            continue
        way = (RANDOM if draw(random, 3) > 0 else 0) | (PARTLY if draw(random, 2) else 0)
        way |= LIFTING if draw(random, 2) else 0
        entries, made, after, loose = group(
            spec, tree, leaf, table, pool, who, left, pool_values, tuples, k, rules, facts, way, random, new_low,
            new_high, new_mix, new_bits, new_size, entry_tuple, entry_class, entry_amount, work, histograms, sums,
        )  # fmt: skip
        if made == 0 or loose > 0 or after >= before:
            continue
        for i in range(found):
            slots[i] = near[i]
            e = head[near[i]]
            while e >= 0:
                later = follow[e]
                follow[e] = free
                free = e
                e = later
            head[near[i]] = -1
        for i in range(found, made):
            slots[i] = m
            head[m] = -1
            m += 1
        for i in range(entries):
            c = slots[entry_class[i]]
            e = free
            free = follow[e]
            held[e], amounts[e], follow[e] = entry_tuple[i], entry_amount[i], head[c]
            head[c] = e
        for i in range(made):
            copy_box(new_low, new_high, new_mix, new_bits, i, low, high, mix, bits, slots[i])
            size[slots[i]] = new_size[i]
            cost[slots[i]] = ncp(spec, tree, low, high, mix, slots[i])
        if made < found:
            gone = np.sort(slots[made:found])
            for i in range(gone.size - 1, -1, -1):
                m -= 1
                if gone[i] != m:
                    copy_box(low, high, mix, bits, m, low, high, mix, bits, gone[i])
                    size[gone[i]], cost[gone[i]], head[gone[i]] = size[m], cost[m], head[m]
    return m, free


@compiled
def repair(
    spec, tree, leaf, table, words, x, values, k, rules, facts, tuples, classes, amounts, m, absorb, passes, tries,
    steps, nearest, seed,
):  # fmt: skip
    """Repair the classes of a block.

    Parameters
    ----------
    spec, tree, leaf, table, words
        The lines, see :mod:`rothko.kernels.cluster.hull`, and how many words their sets take.
    x, values
        The tuples of the block: (lines, tuples) places, (columns, tuples) sensitive values.
    k, rules, facts
        The requirements, see :mod:`rothko.kernels.rules`.
    tuples, classes, amounts
        The m classes: so many records of a tuple in a class (-1: in none yet), one entry after the other.
    absorb
        Whether records that no class may take are to become one, which merges with others until it holds.
    passes, tries
        How often to dissolve and to move; how many records of a class in a row have nowhere to go before it is left.
    steps, nearest
        How often to cluster near classes anew in each pass, and how many of them at most at a time.

    Returns
    -------
    Tuples, classes and amounts of the repaired classes; how many there are.
    """
    # Copies of its own: a call counts references on its arrays, over which threads would contend.
    spec, tree, leaf, table, rules, facts = (
        spec.copy(),
        tree.copy(),
        leaf.copy(),
        table.copy(),
        rules.copy(),
        facts.copy(),
    )
    entries, records = tuples.size, np.int64(0)
    for e in range(entries):
        records += amounts[e]
    room = entries + records
    most = max(np.int64(m), records // k) + 3
    held, left, follow = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    head = np.full(most, -1, dtype=np.int64)
    size, cost, after = np.zeros(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int32)
    low, high, mix, bits = room_for_boxes(spec, words, most)
    histograms, sums = room_for_values(rules)
    random = np.array([seed], dtype=np.uint64)
    loose, free = np.int64(-1), np.int64(-1)
    for e in range(entries):
        c = classes[e]
        held[e], left[e] = tuples[e], amounts[e]
        if c < 0:
            follow[e] = loose
            loose = np.int64(e)
        else:
            follow[e] = head[c]
            head[c] = e
            size[c] += amounts[e]
    for e in range(room - 1, entries - 1, -1):
        follow[e] = free
        free = np.int64(e)
    for c in range(m):
        _box(spec, tree, leaf, low, high, mix, bits, c, x, held, follow, head[c])
        cost[c] = ncp(spec, tree, low, high, mix, c)
    if m > 0:
        loose, free = _place(
            spec, tree, table, low, high, mix, bits, m, x, size, cost, after, held, left, follow, head, loose, free,
            values, rules, facts, histograms, sums,
        )  # fmt: skip
    if absorb and loose >= 0:
        m = _absorb(
            spec, tree, leaf, low, high, mix, bits, m, x, k, size, cost, after, room_for_chain(spec), held,
            left, follow, head, loose, values, rules, facts, histograms, sums,
        )  # fmt: skip
        loose = np.int64(-1)
    for _ in range(passes):
        if m < 2:
            break
        m = _dissolve(
            spec, tree, table, low, high, mix, bits, m, x, size, cost, after, held, left, follow, head, values, rules,
            facts, histograms, sums, np.argsort(-cost[:m]),
        )  # fmt: skip
        _move(
            spec, tree, leaf, table, low, high, mix, bits, m, x, k, size, cost, after, held, left, follow, head, values,
            rules, facts, histograms, sums, np.argsort(-cost[:m]), tries,
        )  # fmt: skip
        if steps > 0:
            m, free = _recluster(
                spec, tree, leaf, table, low, high, mix, bits, m, x, k, size, cost, held, left, follow, head, free,
                values, rules, facts, histograms, sums, steps, nearest, random,
            )  # fmt: skip
            _move(
                spec, tree, leaf, table, low, high, mix, bits, m, x, k, size, cost, after, held, left, follow, head,
                values, rules, facts, histograms, sums, np.argsort(-cost[:m]), tries,
            )  # fmt: skip
    at = 0
    new_tuples, new_classes = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    new_amounts = np.empty(room, dtype=np.int64)
    for c in range(m + 1):
        e = head[c] if c < m else loose
        while e >= 0:
            new_tuples[at], new_classes[at], new_amounts[at] = held[e], c if c < m else -1, left[e]
            at += 1
            e = follow[e]
    return new_tuples[:at].copy(), new_classes[:at].copy(), new_amounts[:at].copy(), m
