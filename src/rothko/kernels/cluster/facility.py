"""Classes by opening boxes: a box that is nobody's becomes a class where that saves, whatever it does to the others.

Local search for a facility location with lower bounds (Guha, Meyerson, Munagala 2000: open one, close some). Of every
class that has records in a box, the box may take

*spare*  what that class can spare, which has k records left;
*all*    all of them: the class is given up, and its other records go to the cheapest classes that hold them already.

What is better is chosen for each class by itself, in one look at the records of the box. Where fewer than k come
together, further classes are given up, or spare records although they cost more in the box, whichever costs least.
Moving and dissolving (:mod:`rothko.kernels.cluster.repair`) look at one class, grouping anew at some near ones: a box
may draw on dozens that are not near each other. Nothing of it raises the loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.cluster.hull import least_rise, own
from rothko.kernels.cluster.lists import NONE, Block, box, holds, listed, take_in, unlink
from rothko.kernels.cluster.sieve import Sieve, cheapest_two, room_for_sieve, sift
from rothko.kernels.order import order_of
from rothko.kernels.rules import own as own_rules
from rothko.kernels.rules import room_for

SPARE, ALL = 1, 2
NOWHERE = np.int64(1) << 40
"""What a record costs that no other class holds."""
UNKNOWN = -2
IN_VAIN = 4
"""After so many boxes in vain for each class a pass ends: requirements do not hold where they are opened."""


class Ledger(NamedTuple):
    """Where the entries of each tuple are, and what is known of classes for the box that is looked at."""

    of: NDArray[np.int64]
    """The class of each entry,"""
    first: NDArray[np.int64]
    """the first entry of each tuple,"""
    beside: NDArray[np.int64]
    """and the next one of the same tuple."""
    version: NDArray[np.int64]
    """How often the box of each class has changed."""
    holder: NDArray[np.int64]
    """(2, tuples): the two cheapest classes that hold a tuple (-1: none),"""
    since: NDArray[np.int64]
    """and their versions when that was so."""
    parted: NDArray[np.int64]
    """What is saved where all records of a class go to others that hold them,"""
    known: NDArray[np.int64]
    """and its version when that was so."""
    within: NDArray[np.int64]
    """How many records of each class the box has,"""
    elsewhere: NDArray[np.int64]
    """and what those would save in other classes."""
    choice: NDArray[np.int64]
    """SPARE, ALL, or how many records a cheaper class gives, below zero."""
    touched: NDArray[np.int64]
    """The classes that have records in the box."""
    inside: NDArray[np.bool_]
    """Whether each tuple is in it."""
    changed: NDArray[np.int64]
    """The classes that opening it changes,"""
    was: NDArray[np.int64]
    """and how many records each had before, -1 where it does not change."""
    moved: NDArray[np.int64]
    """(2, entries): those that move, and from which class."""
    sieve: Sieve
    """Which classes may hold a tuple,"""
    rows: NDArray[np.int64]
    """and room to work in."""


@linked
def _ledger(block, classes, m):
    tuples = block.x.shape[1]
    entries, most = classes.held.size, classes.size.size
    ledger = Ledger(
        np.empty(entries, np.int64), np.full(tuples, -1, np.int64), np.full(entries, -1, np.int64),
        np.zeros(most, np.int64), np.full((2, tuples), UNKNOWN, np.int64), np.zeros((2, tuples), np.int64),
        np.zeros(most, np.int64), np.full(most, -1, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64),
        np.zeros(most, np.int64), np.empty(most, np.int64), np.zeros(tuples, np.bool_), np.empty(most, np.int64),
        np.full(most, -1, np.int64), np.empty((2, entries), np.int64), room_for_sieve(block.lines, most),
        np.empty(block.x.shape[0], np.int64),
    )  # fmt: skip
    for c in range(m):
        sift(block.lines, classes.boxes, ledger.sieve, c, True)
        e = classes.head[c]
        while e >= 0:
            ledger.of[e] = c
            ledger.beside[e] = ledger.first[classes.held[e]]
            ledger.first[classes.held[e]] = e
            e = classes.follow[e]
    return ledger


@linked
def _look(block, classes, ledger, t):
    """Find the two cheapest classes that hold a tuple: it adds nothing to their NCP."""
    found = cheapest_two(block.lines, classes.boxes, ledger.sieve, block.x, t, classes.cost, ledger.rows)
    for i in range(2):
        ledger.holder[i, t] = found[i]
        if found[i] >= 0:
            ledger.since[i, t] = ledger.version[found[i]]


@linked
def _otherwise(block, classes, ledger, t, c):
    """What a record of a tuple costs in the cheapest class but ``c`` that holds it."""
    known = ledger.holder[0, t] != UNKNOWN
    for i in range(2):
        b = ledger.holder[i, t]
        known &= b < 0 or ledger.since[i, t] == ledger.version[b]
    if not known:
        _look(block, classes, ledger, t)
    b = ledger.holder[0, t] if ledger.holder[0, t] != c else ledger.holder[1, t]
    return classes.cost[b] if b >= 0 else NOWHERE


@linked
def _parted(block, classes, ledger, c):
    """What is saved where all records of class ``c`` go to others that hold them."""
    if ledger.known[c] != ledger.version[c]:
        saved, e = np.int64(0), classes.head[c]
        while e >= 0:
            other = _otherwise(block, classes, ledger, classes.held[e], c)
            saved += classes.amounts[e] * (classes.cost[c] - other)
            e = classes.follow[e]
        ledger.parted[c], ledger.known[c] = saved, ledger.version[c]
    return ledger.parted[c]


@linked
def _promising(found, b, classes, ledger):
    """Whether any record costs more today than in box ``b``."""
    for i in range(found.begin[b], found.begin[b + 1]):
        e = ledger.first[found.tuples[i]]
        while e >= 0:
            if classes.cost[ledger.of[e]] > found.cost[b]:
                return True
            e = ledger.beside[e]
    return False


@linked
def _spared(classes, ledger, c, k):
    """How many records of class ``c`` in the box it can spare."""
    return min(ledger.within[c], max(classes.size[c] - k, np.int64(0)))


@linked
def _whole(classes, ledger, c, costs):
    """What is saved where class ``c`` is given up."""
    saved = ledger.within[c] * (classes.cost[c] - costs)
    return saved if ledger.within[c] == classes.size[c] else saved + ledger.parted[c] - ledger.elsewhere[c]


@linked
def _weigh(block, classes, k, found, b, ledger):
    """Choose what box ``b`` would take of each class: how many classes it has records of, and what is saved."""
    costs, touched = found.cost[b], 0
    for i in range(found.begin[b], found.begin[b + 1]):
        t = found.tuples[i]
        e = ledger.first[t]
        while e >= 0:
            c = ledger.of[e]
            if ledger.within[c] == 0:
                ledger.touched[touched] = c
                ledger.elsewhere[c] = ledger.choice[c] = 0
                touched += 1
            ledger.within[c] += classes.amounts[e]
            if classes.cost[c] > costs:
                other = _otherwise(block, classes, ledger, t, c)
                ledger.elsewhere[c] += classes.amounts[e] * (classes.cost[c] - other)
            e = ledger.beside[e]
    saved, have = np.int64(0), np.int64(0)
    for i in range(touched):
        c = ledger.touched[i]
        if classes.cost[c] <= costs:
            continue
        _parted(block, classes, ledger, c)
        spared = _spared(classes, ledger, c, k)
        some, whole = spared * (classes.cost[c] - costs), _whole(classes, ledger, c, costs)
        ledger.choice[c] = ALL if whole > some else SPARE
        saved += max(some, whole)
        have += ledger.within[c] if whole > some else spared
    return touched, _filled(classes, ledger, touched, k, costs, have, saved)


@linked
def _filled(classes, ledger, touched, k, costs, have, saved):
    """What is saved where a box must take more to have k records, from where it costs least; 0 for nothing."""
    while have < k and saved > 0:
        best, least = -1, np.inf
        for i in range(touched):
            c = ledger.touched[i]
            spared = _spared(classes, ledger, c, k)
            loss, more = np.int64(0), np.int64(0)
            if ledger.choice[c] == 0:
                more = min(spared, k - have)
                loss = more * (costs - classes.cost[c])
            elif ledger.choice[c] == SPARE:
                more = ledger.within[c] - spared
                loss = spared * (classes.cost[c] - costs) - _whole(classes, ledger, c, costs)
            if more > 0 and loss / min(more, k - have) < least:
                best, least = c, loss / min(more, k - have)
        if best < 0:
            return np.int64(0)
        spared = _spared(classes, ledger, best, k)
        if ledger.choice[best] == SPARE:
            ledger.choice[best] = ALL
            have += ledger.within[best] - spared
            saved -= spared * (classes.cost[best] - costs) - _whole(classes, ledger, best, costs)
        else:
            more = min(spared, k - have)
            ledger.choice[best] = -more
            have += more
            saved -= more * (costs - classes.cost[best])
    return max(saved, np.int64(0))


@linked
def _forget(ledger, touched):
    """The next box is looked at."""
    for i in range(touched):
        ledger.within[ledger.touched[i]] = 0


@linked
def _link(classes, ledger, e, c):
    """Put an entry, which is in no list, into class ``c``."""
    classes.follow[e] = classes.head[c]
    classes.head[c] = e
    ledger.of[e] = c


@linked
def _changes(classes, ledger, c, changed):
    """Write down that class ``c`` changes, and what it cost: how many do."""
    if ledger.was[c] >= 0:
        return changed, np.int64(0)
    ledger.changed[changed], ledger.was[c] = c, classes.size[c]
    return changed + 1, classes.size[c] * classes.cost[c]


@linked
def _take(classes, ledger, c, to, some, free, moved):
    """Bring so many records of class ``c`` that are in the box to another class, or all entries that are not to none.

    The entries of the list are linked anew; where one is parted the rest stays. Those that are to leave for other
    classes, where ``some`` is the whole class, are only written down.
    """
    e, size = classes.head[c], classes.size[c]
    all_leave, left = some == size, some
    classes.head[c] = -1
    while e >= 0:
        later, t = classes.follow[e], classes.held[e]
        if not ledger.inside[t]:
            if all_leave:
                ledger.moved[0, moved], ledger.moved[1, moved] = e, c
                ledger.of[e] = -1
                moved += 1
            else:
                _link(classes, ledger, e, c)
        elif left == 0:
            _link(classes, ledger, e, c)
        else:
            amount = min(classes.amounts[e], left)
            if amount < classes.amounts[e]:
                part = free
                free = classes.follow[part]
                classes.held[part], classes.amounts[part] = t, classes.amounts[e] - amount
                ledger.beside[part] = ledger.first[t]
                ledger.first[t] = part
                _link(classes, ledger, part, c)
                classes.amounts[e] = amount
            left -= amount
            classes.size[c] -= amount
            classes.size[to] += amount
            ledger.moved[0, moved], ledger.moved[1, moved] = e, c
            moved += 1
            _link(classes, ledger, e, to)
        e = later
    if all_leave:
        classes.size[c] = 0
    return free, moved


@linked
def _place(block, classes, m, ledger, e):
    """The class in which an entry adds least, of those that are not given up."""
    size, cost, after = classes.size, classes.cost, classes.after
    t, amount = classes.held[e], classes.amounts[e]
    least_rise(block.lines, classes.boxes, m, block.x, t, amount, size, cost, after, NONE)
    best, least = NONE, np.int64(1) << 62
    for c in range(m):
        rise = (size[c] + amount) * np.int64(after[c]) - size[c] * cost[c]
        if size[c] > 0 and rise < least:
            best, least = np.int64(c), rise
    return best


@linked
def _undo(block, classes, ledger, changed, moved):
    """All entries go back to where they were."""
    for i in range(moved - 1, -1, -1):
        e, c = ledger.moved[0, i], ledger.moved[1, i]
        if ledger.of[e] >= 0:
            unlink(ledger.of[e], e, classes.follow, classes.head)
        _link(classes, ledger, e, c)
    for i in range(changed):
        c = ledger.changed[i]
        classes.size[c] = ledger.was[c]
        if classes.size[c] > 0:
            classes.cost[c] = box(block, classes, c)


@linked
def _open(block, classes, m, k, found, b, ledger, touched, new, free):
    """Make box ``b`` class ``new``, as was chosen: what that saves, 0 where it is undone; and the next free entry."""
    for i in range(found.begin[b], found.begin[b + 1]):
        ledger.inside[found.tuples[i]] = True
    moved, changed, saved = 0, 0, np.int64(0)
    classes.size[new], classes.head[new], classes.cost[new] = 0, -1, 0
    changed, _ = _changes(classes, ledger, new, changed)
    for i in range(touched):
        c = ledger.touched[i]
        some = -ledger.choice[c]
        if ledger.choice[c] > 0:
            some = _spared(classes, ledger, c, k) if ledger.choice[c] == SPARE else classes.size[c]
        if some > 0:
            changed, before = _changes(classes, ledger, c, changed)
            saved += before
            free, moved = _take(classes, ledger, c, new, some, free, moved)
    for i in range(changed):
        if classes.size[ledger.changed[i]] > 0:
            classes.cost[ledger.changed[i]] = box(block, classes, ledger.changed[i])
    fits = classes.size[new] >= k
    for i in range(moved):
        e = ledger.moved[0, i]
        if not fits or ledger.of[e] >= 0:
            continue
        c = _place(block, classes, m, ledger, e)
        changed, before = _changes(classes, ledger, c, changed)
        saved += before
        _link(classes, ledger, e, c)
        take_in(block, classes, c, classes.held[e], classes.amounts[e])
    for i in range(changed):
        c = ledger.changed[i]
        saved -= classes.size[c] * classes.cost[c]
    fits &= saved > 0
    for i in range(changed):
        fits = fits and (
            classes.size[ledger.changed[i]] == 0 or holds(block, classes, ledger.changed[i], NONE, NONE, 0)
        )
    if not fits:
        _undo(block, classes, ledger, changed, moved)
    for i in range(changed):
        c = ledger.changed[i]
        ledger.version[c] += np.int64(fits)
        if fits:
            sift(block.lines, classes.boxes, ledger.sieve, c, classes.size[c] > 0)
        ledger.was[c] = -1
    for i in range(found.begin[b], found.begin[b + 1]):
        ledger.inside[found.tuples[i]] = False
        if fits:
            ledger.holder[0, found.tuples[i]] = UNKNOWN
    return saved if fits else np.int64(0), free


@linked
def _pass(block, classes, m, k, found, ledger, free, saved):
    """Open boxes, those first that save most: how many classes there are, the next free entry, what was saved."""
    vain, total = 0, np.int64(0)
    for b in order_of(saved, saved.size, True):
        if saved[b] == 0 or vain > IN_VAIN * m:
            break
        touched, still = _weigh(block, classes, k, found, b, ledger)
        if still > 0:
            new = 0
            while new < m and classes.size[new] > 0:
                new += 1
            gained, free = _open(block, classes, max(m, new + 1), k, found, b, ledger, touched, new, free)
            if gained > 0:
                m, total = max(m, np.int64(new + 1)), total + gained
            vain = vain + 1 if gained == 0 else 0
        _forget(ledger, touched)
    return m, free, total


@compiled
def savings(lines, found, x, values, k, rules, tuples, of_class, amounts, m, first, last):
    """What it would save to open each of some boxes alone: from ``first`` to before ``last``.

    The others as for :func:`open_boxes`.
    """
    lines, rules = own(lines), own_rules(rules)
    block = Block(lines, x, values, rules, room_for(rules, 1))
    classes, _, _ = listed(block, k, tuples, of_class, amounts, m)
    ledger, saved = _ledger(block, classes, m), np.zeros(last - first, dtype=np.int64)
    for b in range(first, last):
        if _promising(found, b, classes, ledger):
            touched, saved[b - first] = _weigh(block, classes, k, found, b, ledger)
            _forget(ledger, touched)
    return saved


@compiled
def open_boxes(lines, found, x, values, k, rules, tuples, of_class, amounts, m, saved):
    """Open boxes where that saves, those first that save most.

    Parameters
    ----------
    lines, x, values, k, rules, tuples, of_class, amounts, m
        See :func:`rothko.kernels.cluster.repair.repair`; all records are in a class.
    found
        The boxes, see :func:`rothko.kernels.cluster.walk.boxes`.
    saved
        What each of them would save alone, see :func:`savings`.

    Returns
    -------
    Tuples, classes and amounts; how many classes there are; what was saved, and what is lost.
    """
    lines, rules = own(lines), own_rules(rules)
    block = Block(lines, x, values, rules, room_for(rules, 1))
    classes, _, free = listed(block, k, tuples, of_class, amounts, m)
    ledger, lost = _ledger(block, classes, m), np.int64(0)
    m, free, total = _pass(block, classes, m, k, found, ledger, free, saved)
    number, count, used = np.empty(m, dtype=np.int64), np.int64(0), 0
    held, of, many = np.empty(ledger.of.size, np.int64), np.empty(ledger.of.size, np.int64), classes.amounts.copy()
    for c in range(m):
        e = classes.head[c]
        number[c] = count
        count += np.int64(classes.size[c] > 0)
        lost += classes.size[c] * classes.cost[c]
        while e >= 0:
            held[used], of[used], many[used] = classes.held[e], number[c], classes.amounts[e]
            used += 1
            e = classes.follow[e]
    return held[:used].copy(), of[:used].copy(), many[:used].copy(), count, total, lost
