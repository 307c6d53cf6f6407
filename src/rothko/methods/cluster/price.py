"""Classes by prices: which records share a box is read off the linear program that bounds every release from below.

Its dual gives each record a price (:mod:`rothko.kernels.cluster.price`); boxes whose records pay for them become
classes. Peeling and growing look at one class at a time and leave the last ones what nobody wanted: prices see
beforehand what is scarce. What comes of it is repaired as any other start.

Boxes are those of the levels of lines that peeling has, too. There are far too many of them to be looked at; only
those count in which k records would cost no more than they do in the classes that are given, and a little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.hierarchy.numbered import Tree
from rothko.methods.cluster.peel import levels_of
from rothko.methods.cluster.repair import (
    Effort,
    Found,
    Local,
    along_curve,
    by_blocks,
    joined,
    repair_pass,
    seed_of,
    settled,
)
from rothko.methods.cluster.room import UNLIMITED, Room, of_block, of_levels, of_member
from rothko.methods.cluster.tuples import WHOLE, Entries, Tuples
from rothko.progress import each

if TYPE_CHECKING:
    from rothko.kernels.cluster.walk import Found as Boxes
    from rothko.kernels.cluster.walk import Ladder, Pool

REACH = 1.05
"""A box counts where k records cost so many times more than in it, or no less than a little;"""
REACHES = (REACH, 1.0, 0.9, 0.8)
"""where there are too many boxes only those that promise more."""
BLOCK = 100_000
"""Records that are looked at together."""
MOST = 100_000_000
"""Tuples of all boxes of a block, where there is room for them: 400 MB, and while they are found as much again."""
LOOKS = 40_000
"""How often each tuple is looked at to find them, at most, at each reach."""
MOST_LINES, LARGEST = 17, 50_000_000
"""With more lines than peeling takes, or more levels times codes, there are no prices: they take too much memory."""
FIRST, FAR = 4, 0.3
"""After this part of the looks so many of the parts must be gone through at the first reach: otherwise no reach of use
has an end, and only boxes that promise most are looked for, with as many looks."""
UNSERVED = 0.25
"""A block of which more records than this share would be in no class stays as it is."""
SWEEPS, RISE, FALL = 30, 0.1, 0.92
"""Prices rise so often at first, by this share of their mean in the beginning and less each time:"""
AGAIN, SHARE = 3, 0.1
"""and so often after each round, which brings this share of the records that are left to classes."""
FAIR = 0.8
"""To which share a class must be paid by its records; others join classes where they add least."""
OPENINGS, WORTH = 8, 0.001
"""How often all boxes are looked at for such as are worth opening, at most; a pass must gain this share of the loss."""
PARTED = 3
"""The levels of so many lines make parts of the walk through all boxes."""
NEAR = 8
"""How many near classes are made anew at a time, where not the whole block is,"""
MOST_NEAR, LOOKS_NEAR = 4_000_000, 25_000
"""and how many tuples their boxes may have together, how often each is looked at to find them,"""
HOPE = 0.01
"""where prices do not show that less than this share could be gained."""


def dearest(
    tuples: Tuples, entries: Entries, most: int, *, turn: int, threads: int
) -> tuple[Entries, list[tuple[int, int]], Entries]:
    """Blocks of classes along a curve, of so many records together, those that cost most; and all other classes."""
    entries, pieces = along_curve(tuples, entries, turn, BLOCK, threads)
    if len(tuples.records) <= most:
        return entries, pieces, Entries.none()
    # Block by block: the places of all tuples would be in memory twice.
    costs = [_costs(tuples, _numbered(Entries(*entries.between(*piece), entries.count))) for piece in pieces]
    cost = np.concatenate(costs)[entries.classes] * entries.amounts
    starts = [begin for begin, _ in pieces]
    mean = np.add.reduceat(cost, starts) / np.add.reduceat(entries.amounts, starts)
    chosen = np.zeros(len(pieces), dtype=np.bool_)
    chosen[np.argsort(-mean, kind="stable")[: math.ceil(most * len(pieces) / len(tuples.records))]] = True
    inside = np.repeat(chosen, [end - begin for begin, end in pieces])
    some, rest = _numbered(entries.where(inside)), _numbered(entries.where(~inside))
    ends = np.cumsum([end - begin for (begin, end), taken in zip(pieces, chosen, strict=True) if taken])
    return some, list(pairwise([0, *ends.tolist()])), rest


def _numbered(entries: Entries) -> Entries:
    """Classes numbered anew, where some are not there."""
    kept, classes = np.unique(entries.classes, return_inverse=True)
    return Entries(entries.tuples, classes, entries.amounts, len(kept))


def _costs(tuples: Tuples, entries: Entries) -> NDArray[np.int64]:
    """NCP of each class in whole numbers; their entries come one class after the other."""
    from rothko.kernels.cluster.price import costs

    found: NDArray[np.int64] = costs(
        tuples.lines, tuples.x.take(entries.tuples, axis=1), entries.classes, entries.count
    )
    return found


def priced(
    tuples: Tuples,
    entries: Entries,
    pieces: Sequence[tuple[int, int]],
    effort: Effort,
    *,
    turn: int,
    seed: int,
    threads: int,
    over: Callable[[], bool],
    room: Room,
) -> tuple[Entries, bool] | None:
    """Other classes of the same blocks, by prices that begin with what they cost; None where there are none.

    And whether boxes had no end in any of them.
    """
    ladder = ladder_of(tuples, room)
    if ladder is None:
        return None
    room = room.without(ladder.node.nbytes + ladder.cost.nbytes)
    # What is found by several at a time is there at a time.
    side_by_side = 1 if room.limited else threads
    within = max(side_by_side // len(pieces), 1)

    def work(i: int) -> tuple[Entries, bool]:
        return _block(tuples, ladder, entries, pieces[i], effort, (seed, turn, i), within, over, room)

    made = each(work, range(len(pieces)), side_by_side)
    return joined([block for block, _ in made]), any(endless for _, endless in made)


def _block(
    tuples: Tuples,
    ladder: Ladder,
    entries: Entries,
    piece: tuple[int, int],
    effort: Effort,
    numbers: tuple[int, ...],
    threads: int,
    over: Callable[[], bool],
    room: Room,
) -> tuple[Entries, bool]:
    """The classes of a block; where it has too many boxes, those that were found are opened among the classes."""
    from rothko.kernels.cluster.price import dive

    as_it_was = _numbered(Entries(*entries.between(*piece), entries.count))
    room = room.without(of_block(int(as_it_was.amounts.sum()), len(ladder.top), tuples.k))
    most = room.most(of_member(tuples.k), MOST)
    if over() or as_it_was.count < 2 or most == 0:
        return as_it_was, False
    who, pool = _pool_of(tuples, ladder, as_it_was)
    found, whole, endless = _boxes(tuples, ladder, pool, most, threads)
    new = as_it_was
    if whole:
        asked = np.random.default_rng(seed_of(*numbers)).permutation(len(found.cost))
        rise = int(RISE * (pool.price * pool.amounts).sum() / pool.amounts.sum())
        made = dive(found, pool, tuples.k, tuples.rules.asked, asked, SWEEPS, rise, FALL, AGAIN, SHARE, FAIR)
        if made[2][made[1] < 0].sum() <= UNSERVED * pool.amounts.sum():
            new = settled(tuples, Entries(who[made[0]], made[1], made[2], made[3]), threads=threads)
    return _opened(tuples, new, who, pool, found, replace(effort, steps=0), numbers, threads, over), endless


def _boxes(tuples: Tuples, ladder: Ladder, pool: Pool, most: int, threads: int) -> tuple[Boxes, bool, bool]:
    """All boxes that count, whether they are all, and whether there is no end to them.

    They are no more than may be looked at, and than there is room for.
    In parts by the levels of the first lines, the finest first. Where there are too many boxes fewer of them count:
    those that were found are sieved, and the other parts walked through at a lower reach. Of what is too much even at
    the lowest one those parts are taken that come before that, and so much of the next one.
    """
    from rothko.kernels.cluster.walk import still_worth

    parts = np.array(list(product(*map(range, ladder.top[:PARTED].tolist()))), dtype=np.int64)
    looks = LOOKS * len(pool.amounts)
    made, spent, whole = _walked(tuples, ladder, pool, parts, REACHES[0], most, looks // FIRST, threads, short=False)
    if whole:
        return _together(made), True, False
    # Where it is room that lacks, a lower reach leaves enough of it.
    endless = len(made) < FAR * len(parts) and sum(len(part.tuples) for part in made) <= most // FIRST
    if endless:
        looks //= FIRST
    for reach in REACHES[-1:] if endless else REACHES:
        # One after the other takes the place of what it was: all of them would be there twice.
        for i, part in enumerate(made):
            made[i] = still_worth(part, pool, tuples.k, reach)
        room, last = most - sum(len(part.tuples) for part in made), reach == REACHES[-1]
        left = parts[len(made) :]
        some, _, whole = _walked(tuples, ladder, pool, left, reach, room, looks - spent, threads, short=last)
        made, spent = made + some, 0
        if whole:
            break
    return _together(made), whole, endless


def _walked(
    tuples: Tuples,
    ladder: Ladder,
    pool: Pool,
    parts: NDArray[np.int64],
    reach: float,
    room: int,
    looks: int,
    threads: int,
    *,
    short: bool,
) -> tuple[list[Boxes], int, bool]:
    """The boxes of the parts that come before there are too many, how many looks they took, and whether these are all.

    Of the next one as many as there is room for, where it may be cut short. Which they are does not hang on threads.
    """
    from rothko.kernels.cluster.walk import boxes

    d = len(ladder.top)
    spent, most = np.zeros((2, len(parts)), dtype=np.int64), np.array([looks, room])

    def work(i: int) -> Boxes | None:
        looks, room = (most - spent[:, :i].sum(axis=1)).tolist()
        if looks < 0 or room < 0:
            return None  # it would not be taken
        first, top = np.zeros(d, dtype=np.int64), ladder.top.copy()
        first[:PARTED], top[:PARTED] = parts[i], parts[i] + 1
        found: Boxes
        found, whole, looked = boxes(tuples.lines, ladder, pool, tuples.k, reach, room, looks, first, top)
        spent[:, i] = (looked, len(found.tuples)) if whole else most + 1
        return found

    made = each(work, range(len(parts)), threads)
    within = int((np.cumsum(spent, axis=1) <= most[:, None]).all(axis=0).sum())
    # The next one may have begun before it was known how much is left for it.
    made[within:] = map(work, range(within, len(parts))[:short])
    return [part for part in made if part is not None], int(spent[0, :within].sum()), within == len(parts)


def _together(parts: list[Boxes]) -> Boxes:
    """The boxes of some parts, one after the other; parts are taken out of their list, not to be there twice."""
    from rothko.kernels.cluster.walk import Found

    count, members = sum(len(part.cost) for part in parts), sum(len(part.tuples) for part in parts)
    found = Found(
        np.empty(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64), np.empty(members, dtype=np.int32)
    )
    box = at = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        found.cost[box : box + len(part.cost)] = part.cost
        found.begin[box + 1 : box + 1 + len(part.cost)] = part.begin[1:] + at
        found.tuples[at : at + len(part.tuples)] = part.tuples
        box, at = box + len(part.cost), at + len(part.tuples)
    return found


def _opened(
    tuples: Tuples,
    entries: Entries,
    who: NDArray[np.int64],
    pool: Pool,
    found: Boxes,
    effort: Effort,
    numbers: tuple[int, ...],
    threads: int,
    over: Callable[[], bool],
) -> Entries:
    """Classes after records were moved and boxes opened, by turns, until that gains little."""
    from rothko.kernels.cluster.facility import open_boxes, savings

    order = np.argsort(who)
    # As many tuples in each: what a box would save hangs on no other.
    cuts = np.searchsorted(found.begin, np.linspace(0, found.begin[-1], threads + 1)).tolist()
    for i in range(OPENINGS):
        if over():
            break
        entries = repair_pass(tuples, entries, effort, numbers[1] + i, seed=numbers[0], threads=threads, over=over)
        places = order[np.searchsorted(who, entries.tuples, sorter=order)]
        given = (
            tuples.lines, found, pool.x, pool.values, tuples.k, tuples.rules.asked, places, entries.classes,
            entries.amounts, entries.count,
        )  # fmt: skip

        def saved(some: tuple[int, int], given: tuple[Any, ...] = given) -> NDArray[np.int64]:
            one: NDArray[np.int64] = savings(*given, *some)
            return one

        made = open_boxes(*given, np.concatenate(each(saved, pairwise(cuts), threads)))
        entries = Entries(who[made[0]], *made[1:4])
        if made[4] <= WORTH * made[5]:
            break
    return entries


def _pool_of(tuples: Tuples, ladder: Ladder, entries: Entries) -> tuple[NDArray[np.int64], Pool]:
    """The tuples of some classes, those first whose records cost most: which they are, and a pool."""
    from rothko.kernels.cluster.walk import Pool

    local, inverse = np.unique(entries.tuples, return_inverse=True)
    counts = np.bincount(inverse, weights=entries.amounts).astype(np.int64)
    paid = np.bincount(inverse, weights=entries.amounts * _costs(tuples, entries)[entries.classes])
    price = (paid / counts).astype(np.int64)
    order = np.argsort(-price, kind="stable")
    who = local[order]
    codes = codes_of(tuples, ladder, who)
    return who, Pool(codes, tuples.x.take(who, axis=1), counts[order], price[order], tuples.values.take(who, axis=1))


def near_anew(
    tuples: Tuples,
    entries: Entries,
    effort: Effort,
    turn: int,
    *,
    seed: int,
    threads: int,
    over: Callable[[], bool],
    room: Room,
    endless: bool = False,
) -> Entries:
    """One pass over all classes, in blocks along the curve of this turn: some near ones at a time are made anew.

    Where boxes of a table have no end, those of a few classes have none either: they are looked for a tenth as long.
    """
    from rothko.kernels.cluster.reprice import reprice

    ladder = ladder_of(tuples, room)
    if ladder is None:
        return entries
    room = room.without(ladder.node.nbytes + ladder.cost.nbytes)
    looks = LOOKS_NEAR // 10 if endless else LOOKS_NEAR
    most = room.most(of_member(tuples.k), MOST_NEAR)
    if most < tuples.k:
        return entries
    side_by_side = room.most(most * of_member(tuples.k), threads)

    def work(block: Local, seed: np.uint64) -> Found:
        codes = codes_of(tuples, ladder, block.who)
        steps = max(round(effort.steps * block.classes), 1)
        found: Found = reprice(
            tuples.lines, ladder, codes, *block.given, steps, NEAR, REACH, most, looks,
            SWEEPS, RISE, FALL, AGAIN, SHARE, FAIR, HOPE, effort.tries, seed,
        )  # fmt: skip
        return found

    return by_blocks(tuples, entries, work, effort.block, turn, seed=seed, threads=side_by_side, over=over)


def codes_of(tuples: Tuples, ladder: Ladder, who: NDArray[np.int64]) -> NDArray[np.int32]:
    """The codes of some tuples, in the order of the lines of a ladder."""
    return tuples.encoded.codes[ladder.lines[:, None], tuples.records[tuples.starts[who]]]


def may_price(tuples: Tuples, room: Room) -> bool:
    """Whether there may be prices: of so many lines, and in so much room, of which levels take half at most."""
    lines = tuples.encoded.lines
    return len(lines) <= MOST_LINES and room.fits(2 * of_levels(lines))


def ladder_of(tuples: Tuples, room: Room = UNLIMITED) -> Ladder | None:
    """The levels of all lines as the kernel takes them; None where they would take too much memory.

    Those lines come first that tell records apart best: what is parted early is not looked at for all that follow.
    """
    from rothko.kernels.cluster.walk import Ladder

    if not may_price(tuples, room):
        return None
    along = np.argsort([-_entropy(codes) for codes in tuples.encoded.codes], kind="stable")
    lines = [tuples.encoded.lines[a] for a in along]
    whole = sum(line.weight for line in lines) or 1.0
    nodes: list[list[NDArray[np.int64]]] = []
    costs: list[NDArray[np.int64]] = []
    for line in lines:
        full = round(WHOLE * line.weight / whole)
        if line.tree is not None:
            nodes.append(_by_depth(line.tree))
            widths = [line.width(line.tree.low, line.tree.high)]
        else:
            levels = levels_of(line, np.ones(line.size, dtype=np.int64))
            widths = [level.widths for level in levels]
            before = np.cumsum([0, *map(len, widths)])
            nodes.append([level.groups + at for level, at in zip(levels, before, strict=False)])
        costs.append(np.rint(full * np.concatenate(widths)).astype(np.int64))
    if len(lines) * max(map(len, nodes)) * max(line.size for line in lines) > LARGEST:
        return None
    node = np.zeros((len(lines), max(map(len, nodes)), max(line.size for line in lines)), dtype=np.int32)
    cost = np.zeros((len(lines), max(map(len, costs))), dtype=np.int64)
    for a, some in enumerate(nodes):
        node[a, : len(some), : lines[a].size] = some
        cost[a, : len(costs[a])] = costs[a]
    return Ladder(node, cost, np.array([len(some) for some in nodes], dtype=np.int64), along)


def _entropy(codes: NDArray[np.int32]) -> float:
    shares = np.bincount(codes) / max(len(codes), 1)
    return float(-(shares * np.log(shares, where=shares > 0, out=np.zeros_like(shares))).sum())


def _by_depth(tree: Tree) -> list[NDArray[np.int64]]:
    """The node of each leaf, from the deepest level up to the root.

    Levels are counted from the root: so all leaves of a node come to it at once, however deep they are.
    """
    depth = np.zeros(len(tree.parent), dtype=np.int64)
    up = tree.parent.astype(np.int64)
    while (up >= 0).any():
        depth += up >= 0
        up = np.where(up >= 0, tree.parent[up], -1)
    node = tree.leaf.astype(np.int64)
    found = [node]
    for level in range(int(depth[node].max()) - 1, -1, -1):
        node = np.where(depth[node] > level, tree.parent[node], node)
        found.append(node)
    return found
