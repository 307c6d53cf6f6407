"""Greedy multidimensional partitioning (Mondrian), compiled.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 2.2; the recursion is the basic Mondrian figure of their KDD
2006 paper. The parts of a tree builder are next door: a criterion chooses a cut
(:mod:`~rothko.kernels.mondrian.selection`, :mod:`~rothko.kernels.mondrian.gain`,
:mod:`~rothko.kernels.mondrian.median`), the requirements allow it (:mod:`~rothko.kernels.mondrian.allowed`), the
records are moved (:mod:`~rothko.kernels.mondrian.arrange`). The loop here takes one node after the other.

Criteria take over from each other: a node is cut for the queries until that saves nothing more, then
for the models until a cut gains less than ``minimum_gain``, then at the median. The parts of a
node go on with the criterion that cut it. To the letter of the paper, the models go on until there is no allowable cut.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled, linked
from rothko.kernels.boxes import TREE, children_between
from rothko.kernels.mondrian import gain, median, selection
from rothko.kernels.mondrian.arrange import arrange_many, arrange_two, move, rank_anew, split
from rothko.kernels.mondrian.nodes import (
    ATTRIBUTE,
    CHILD,
    CHILDREN,
    END,
    GAIN,
    LEAF,
    MEDIAN,
    NODE_WIDTH,
    PHASE,
    SELECTION,
    START,
    code_of,
    open_node,
    room_for,
    with_room,
)
from rothko.kernels.mondrian.target_cells import room as room_for_gain
from rothko.kernels.mondrian.target_cells import sees_all

SPARSE = 2
"""Codes are ranked anew where they are more than this many for every record of a node."""

choose_selection, choose_gain, choose_median = selection.choose, gain.choose, median.choose


@linked
def _extremes(table, a, start, end):
    """The smallest and the largest code of line ``a`` among the records ``start … end``."""
    low = table[a, start]
    high = low
    for i in range(start, end):
        low = min(low, table[a, i])
        high = max(high, table[a, i])
    return low, high


@compiled
def grow(table, begin, stop, phase, maps, maps_from, lines, least, rules, relaxed, letter, around, criteria, most_cuts):
    """Cut the records ``begin … stop`` until no allowable cut is left, or ``most_cuts`` were made.

    Parameters
    ----------
    table
        int32, one row per column: d quasi-identifiers, record numbers, sensitive codes, targets. Reordered in place.
    phase
        The criterion to begin with.
    maps, maps_from
        The codes of lines that were ranked anew, and where those of each line begin; -1 where its codes are in use.
    lines
        See :class:`rothko.kernels.boxes.Lines`.
    least
        The fewest records that a part may have.
    rules
        Requirements about sensitive values, see :mod:`rothko.kernels.rules`; None for none.
    relaxed
        Whether a median may part records with equal codes.
    letter
        Whether every criterion goes by the letter of the paper.
    around
        The region of the records, int32 (2, d): its first and its last codes.
    criteria
        None for the median alone, or a tuple: :class:`~rothko.kernels.mondrian.target_cells.Targets` or None,
        :class:`~rothko.kernels.mondrian.selection.Queries` or None, the least gain, and whether to go on with the
        median after it. What is None is not compiled.

    Returns
    -------
    The nodes (see :mod:`rothko.kernels.mondrian.nodes`); the smallest box around each, its lowest and its highest
    codes, int32 (nodes, d); and what the nodes that are still to be cut take as ``maps`` and, row by row, as
    ``maps_from``.
    """
    d = lines.spec.shape[0]
    n = stop - begin
    room = room_for(n, lines, rules)
    order, child, sizes = room.order, room.child, room.sizes
    if criteria is not None:
        targets, queries, minimum_gain, then_median = criteria
        work = room_for_gain(n, lines, targets)
        # Cuts that no model looks at, and cuts between equal codes, are left to the median.
        all_seen = not relaxed and sees_all(targets)

    nodes = np.empty((1024, NODE_WIDTH), dtype=np.int32)
    low = np.empty((1024, d), dtype=np.int32)
    high = np.empty((1024, d), dtype=np.int32)
    maps_at = np.empty((1024, d), dtype=np.int32)
    filled = np.int64(maps.size)
    open_node(nodes, 0, -1, 0, begin, stop, -1, phase)
    for a in range(d):
        low[0, a], high[0, a] = _extremes(table, a, np.uint64(begin), np.uint64(stop))
        maps_at[0, a] = maps_from[a]
    used = np.int64(1)
    waiting = np.int64(0)
    cuts = 0
    while waiting >= 0 and cuts < most_cuts:
        node = waiting
        waiting = np.int64(nodes[node, CHILD])
        start, end = np.uint64(nodes[node, START]), np.uint64(nodes[node, END])
        nodes[node, ATTRIBUTE] = LEAF
        if np.int64(end - start) < 2 * least:
            continue
        a, left, cut, ties = np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
        now = np.int64(nodes[node, PHASE])
        if criteria is not None:
            if now == SELECTION:
                a, left, cut = choose_selection(
                    table, start, end, low, high, node, nodes, around, letter, lines, least, rules, room, queries
                )
                if a < 0:
                    now = np.int64(MEDIAN if targets is None else GAIN)
            if now == GAIN:
                for b in range(d):
                    if lines.spec[b, 0] != TREE and high[node, b] - low[node, b] >= SPARSE * np.int64(end - start):
                        maps, filled = rank_anew(table, b, start, end, node, low, high, maps, maps_at, filled)
                a, left, cut, gained = choose_gain(
                    table, start, end, low, high, node, letter, lines, least, rules, room, targets, work
                )
                if a < 0 and (all_seen or letter):
                    continue
                if a < 0 or ((gained <= 0.0 or gained < minimum_gain) and not letter):
                    if not then_median:
                        continue
                    a, now = np.int64(-1), np.int64(MEDIAN)
        if now == MEDIAN:
            a, left, cut, ties = choose_median(
                table, start, end, low, high, node, maps, maps_at, lines, least, relaxed, letter, rules, room
            )
        if a < 0:
            continue
        parts, first, count = np.int64(2), np.int64(0), np.int64(0)
        if lines.spec[a, 0] == TREE:
            first, count = children_between(lines, a, np.int64(low[node, a]), np.int64(high[node, a]))
            if now != MEDIAN:
                split(table, a, start, end, first, count, lines.tree, child, sizes)
            arrange_many(child, start, count, sizes, order)
            parts = np.int64(0)
            for c in range(count):
                parts += sizes[c] > 0
        else:
            arrange_two(table, a, start, end, left, cut, ties, order)
        nodes, low, high = with_room(nodes, used + parts), with_room(low, used + parts), with_room(high, used + parts)
        maps_at = with_room(maps_at, used + parts)
        nodes[node, ATTRIBUTE], nodes[node, CHILD], nodes[node, CHILDREN] = a, used, parts
        for part in range(used, used + parts):
            for b in range(d):
                maps_at[part, b] = maps_at[node, b]
        at = np.int64(start)
        if lines.spec[a, 0] == TREE:
            for c in range(count):
                if sizes[c] > 0:
                    open_node(nodes, used, node, np.int64(lines.tree[first + c, 1]), at, at + sizes[c], waiting, now)
                    at += sizes[c]
                    waiting = used
                    used += 1
        else:
            bottom = code_of(maps, maps_at, node, a, np.int64(low[node, a]))
            open_node(nodes, used, node, bottom, at, at + left, waiting, now)
            open_node(nodes, used + 1, node, code_of(maps, maps_at, node, a, cut), at + left, np.int64(end), used, now)
            waiting = used + 1
            used += 2
        move(table, start, end, order, room.spare, nodes, low, high, node)
        cuts += 1
    for node in range(used if filled > 0 else 0):
        for a in range(d):
            low[node, a] = code_of(maps, maps_at, node, a, np.int64(low[node, a]))
            high[node, a] = code_of(maps, maps_at, node, a, np.int64(high[node, a]))
    return nodes[:used].copy(), low[:used].copy(), high[:used].copy(), maps[:filled].copy(), maps_at[:used].copy()
