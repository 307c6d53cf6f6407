"""Chains: what one class has to spare is spared by another, which costs more, though the two have no record in common.

A record may go to any class whose box has room for it, and all that counts is how many records a class is left with:
while boxes stay as they are, a record of class a costs what a costs. So where a gives one to b, and b another one to c,
then what is saved is a's cost less c's, however many classes are between them, and these keep their numbers. That is a
flow of least cost, of what classes have above k, and it is solved as one: the sizes that can be come to are the bases
of a polymatroid, of which the greedy one is best. So the cheapest class takes all that reaches it, then the next one.
For each record that it takes a search goes from class to class, backwards, until one is found that costs more and has
some to spare; what was searched in vain leads to none for any later class either, and is left for good.

Moving (:mod:`rothko.kernels.cluster.repair`) sees chains of one link.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, linked
from rothko.kernels.cluster.hull import own
from rothko.kernels.cluster.lists import NONE, Block, entries_of, holds, listed, unlink
from rothko.kernels.cluster.sieve import holders, room_for_sieve, sift
from rothko.kernels.order import order_of
from rothko.kernels.rules import own as own_rules
from rothko.kernels.rules import room_for

IN_VAIN = 16
"""After so many chains that a requirement forbids a class takes no more."""
BARRED = np.int64(1) << 62
"""As if a search had found a class already."""


class Links(NamedTuple):
    """Which records a class has room for, and where they are."""

    begin: NDArray[np.int64]
    """Where the tuples of each box begin, and their number at the end."""
    within: NDArray[np.int32]
    of: NDArray[np.int64]
    """The class of each entry,"""
    first: NDArray[np.int64]
    """the first entry of each tuple,"""
    beside: NDArray[np.int64]
    """and the next one of the same tuple."""


class Search(NamedTuple):
    """A search for classes whose records may come to one, however many are between them."""

    queue: NDArray[np.int64]
    via: NDArray[np.int64]
    """The entry that leaves each class that was found,"""
    to: NDArray[np.int64]
    """and where it goes."""
    seen: NDArray[np.int64]
    """The last search that found it."""
    dead: NDArray[np.bool_]
    """Whether nothing that costs more leads to it."""
    barred: NDArray[np.int64]
    """The classes that a requirement did not let give or take."""


@linked
def _links(block, classes, m):
    """Ask once which boxes hold each tuple."""
    tuples, sieve = block.x.shape[1], room_for_sieve(block.lines, m)
    for c in range(m):
        sift(block.lines, classes.boxes, sieve, c, True)
    rows, some, begin = np.empty(block.x.shape[0], np.int64), np.empty(m, np.int64), np.zeros(m + 1, np.int64)
    for t in range(tuples):
        for i in range(holders(block.lines, classes.boxes, sieve, block.x, t, rows, some)):
            begin[some[i] + 1] += 1
    for c in range(m):
        begin[c + 1] += begin[c]
    within, at = np.empty(begin[m], np.int32), begin.copy()
    for t in range(tuples):
        for i in range(holders(block.lines, classes.boxes, sieve, block.x, t, rows, some)):
            within[at[some[i]]] = t
            at[some[i]] += 1
    entries = classes.held.size
    links = Links(
        begin, within, np.empty(entries, np.int64), np.full(tuples, -1, np.int64), np.empty(entries, np.int64)
    )
    for c in range(m):
        e = classes.head[c]
        while e >= 0:
            _beside(classes, links, e, c)
            e = classes.follow[e]
    return links


@linked
def _beside(classes, links, e, c):
    """Write down where an entry is that was not there before."""
    links.of[e] = c
    links.beside[e] = links.first[classes.held[e]]
    links.first[classes.held[e]] = e


@linked
def _search(classes, links, search, k, sink, number):
    """The nearest class that costs more than another one and can spare records for it; or -1, and how many it asked."""
    search.queue[0], search.seen[sink] = sink, number
    asked, known = 0, 1
    while asked < known:
        b = search.queue[asked]
        asked += 1
        for i in range(links.begin[b], links.begin[b + 1]):
            e = links.first[links.within[i]]
            while e >= 0:
                c = links.of[e]
                if search.seen[c] < number and not search.dead[c]:
                    search.seen[c], search.via[c], search.to[c] = number, e, b
                    if classes.size[c] > k and classes.cost[c] > classes.cost[sink]:
                        return c, known
                    search.queue[known] = c
                    known += 1
                e = links.beside[e]
    return NONE, known


@linked
def _pass_on(classes, links, e, to, some, free):
    """Bring so many records of an entry to a class: the entry that they are there, and the next free one."""
    c = links.of[e]
    if some == classes.amounts[e]:
        unlink(c, e, classes.follow, classes.head)
        links.of[e] = to
    else:
        classes.amounts[e] -= some
        e, free, t = free, classes.follow[free], classes.held[e]
        classes.held[e], classes.amounts[e] = t, some
        _beside(classes, links, e, to)
    classes.follow[e] = classes.head[to]
    classes.head[to] = e
    classes.size[c] -= some
    classes.size[to] += some
    return e, free


@linked
def _pull(block, classes, links, search, k, source, sink, free):
    """Let every class of a chain give to the next one, unless a requirement forbids one of them: which (-1: none); and
    the next free entry.
    """
    some, c = classes.size[source] - k, source
    while c != sink:
        some = min(some, classes.amounts[search.via[c]])
        c = search.to[c]
    c = source
    while c != sink:
        search.via[c], free = _pass_on(classes, links, search.via[c], search.to[c], some, free)
        c = search.to[c]
    against, c = NONE, source
    while against < 0:
        if not holds(block, classes, c, NONE, NONE, np.int64(0)):
            against = c
        if c == sink:
            break
        c = search.to[c]
    if against >= 0:
        c = source
        while c != sink:
            _, free = _pass_on(classes, links, search.via[c], c, some, free)
            c = search.to[c]
    return against, free


@compiled
def chains(lines, x, values, k, rules, tuples, of_class, amounts, m):
    """Let classes that cost less take what those that cost more can spare, through others; boxes stay as they are.

    Parameters
    ----------
    lines, x, values, k, rules, tuples, of_class, amounts, m
        See :func:`rothko.kernels.cluster.repair.repair`; all records are in a class.

    Returns
    -------
    Tuples, classes and amounts; how many classes there are.
    """
    lines, rules = own(lines), own_rules(rules)
    block = Block(lines, x, values, rules, room_for(rules, 1))
    classes, _, free = listed(block, k, tuples, of_class, amounts, m)
    links = _links(block, classes, m)
    search = Search(
        np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64), np.zeros(m, np.int64),
        np.zeros(m, np.bool_), np.empty(IN_VAIN, np.int64),
    )  # fmt: skip
    number = np.int64(0)
    for sink in order_of(classes.cost, m, False):
        barred = 0
        while not search.dead[sink] and barred < IN_VAIN:
            number += 1
            source, known = _search(classes, links, search, k, sink, number)
            if source < 0:
                for i in range(known if barred == 0 else 0):
                    search.dead[search.queue[i]] = True
                break
            against, free = _pull(block, classes, links, search, k, source, sink, free)
            if against == sink:
                break
            if against >= 0:
                search.seen[against] = BARRED
                search.barred[barred] = against
                barred += 1
        for i in range(barred):
            search.seen[search.barred[i]] = 0
    new, at = entries_of(classes, m, NONE)
    return new.tuples[:at].copy(), new.classes[:at].copy(), new.amounts[:at].copy(), m
