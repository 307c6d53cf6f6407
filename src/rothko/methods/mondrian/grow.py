"""The loop of Mondrian: a compiled one over all cores, for records that are in memory.

The tree is cut into subtrees, and each is grown to its end by one compiled call without the
interpreter lock. Large nodes are cut one at a time so that their parts can go to different threads;
there are a few dozen such steps however large the table is. The classes do not depend on the number
of threads: each subtree works on its own range of the table.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.classes import Cuts, LocalClasses, TreeClasses
from rothko.methods.method import Progress, silent
from rothko.methods.mondrian.problem import Problem

Nodes = NDArray[np.int32]
Grown = tuple[Nodes, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Nodes of a tree, with the lowest and highest codes of each, and how its records' codes were ranked anew."""

SUBTREES_PER_THREAD = 8
"""How many subtrees each thread gets at least, so that an uneven one does not hold up the rest."""


def cut(
    encoded: Encoded,
    arrays: Problem,
    table: NDArray[np.int32],
    *,
    phase: int | None = None,
    threads: int,
    progress: Progress = silent,
) -> TreeClasses | LocalClasses:
    """The classes of a table that the kernel reorders; those of a relaxed problem have no tree of cuts.

    Parameters
    ----------
    phase
        The criterion to begin with (see :mod:`rothko.kernels.mondrian.nodes`), where another than the workload's first.
    """
    from rothko.kernels.mondrian.nodes import ATTRIBUTE, BEGINS, CHILD, CHILDREN, LEAF, START

    nodes, low, high = grow_tree(table, arrays, arrays.first_phase if phase is None else phase, threads, progress)
    leaf = np.flatnonzero(nodes[:, ATTRIBUTE] == LEAF)
    leaf = leaf[np.argsort(nodes[leaf, START])]
    order, starts = table[len(encoded.lines)].copy(), np.append(nodes[leaf, START], encoded.rows).astype(np.int64)
    if arrays.relaxed:
        return LocalClasses(order, starts, low[leaf], high[leaf])
    cuts = Cuts(
        attribute=nodes[:, ATTRIBUTE].copy(),
        begins=nodes[:, BEGINS].copy(),
        child=nodes[:, CHILD].copy(),
        children=nodes[:, CHILDREN].copy(),
        leaf=leaf,
        sizes=np.array([line.size for line in encoded.lines], dtype=np.int32),
    )
    return TreeClasses(order, starts, low[leaf], high[leaf], cuts)


def grow_tree(
    table: NDArray[np.int32], arrays: Problem, phase: int, threads: int, progress: Progress
) -> tuple[Nodes, ...]:
    """Grow the whole tree: cut large nodes one at a time, small ones to the end, side by side."""
    from rothko.kernels.mondrian.grow import grow
    from rothko.kernels.mondrian.nodes import (
        ATTRIBUTE,
        BEGINS,
        CHILD,
        CHILDREN,
        END,
        LEAF,
        PENDING,
        PHASE,
        START,
        regions,
    )

    rows = table.shape[1]
    large = max(rows // (SUBTREES_PER_THREAD * threads), 20_000)

    def step(
        begin: int, end: int, phase: int, maps: NDArray[np.int32], maps_from: NDArray[np.int32], around: Problem
    ) -> Grown:
        most_cuts = 1 if threads > 1 and end - begin > large else np.iinfo(np.int64).max
        grown: Grown = grow(table, begin, end, phase, maps, maps_from, *around.arguments(), most_cuts)
        return grown

    no_maps = np.empty(0, dtype=np.int32), np.full(len(arrays.lines.spec), -1, dtype=np.int32)
    if threads == 1:
        nodes, low, high, _, _ = step(0, rows, phase, *no_maps, arrays)
        progress(rows)
        return nodes, low, high
    steps: dict[tuple[int, int], Grown] = {}
    with ThreadPoolExecutor(threads) as pool:
        whole = pool.submit(step, 0, rows, phase, *no_maps, arrays)
        running: dict[Future[Grown], tuple[tuple[int, int], Problem]] = {whole: ((0, rows), arrays)}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                span, around = running.pop(done)
                steps[span] = done.result()
                nodes, _, _, maps, maps_at = steps[span]
                ended = nodes[nodes[:, ATTRIBUTE] == LEAF]
                progress(int(np.sum(ended[:, END] - ended[:, START])))
                pending = np.flatnonzero(nodes[:, ATTRIBUTE] == PENDING)
                if len(pending):
                    low, high = regions(*nodes[:, [ATTRIBUTE, BEGINS, CHILD, CHILDREN]].T.copy(), *around.around)
                for i in pending:
                    span = int(nodes[i, START]), int(nodes[i, END])
                    part = replace(around, around=np.stack((low[i], high[i])))
                    later = pool.submit(step, *span, int(nodes[i, PHASE]), maps, maps_at[i], part)
                    running[later] = span, part
    return _join(steps)


def _join(steps: dict[tuple[int, int], Grown]) -> tuple[Nodes, ...]:
    """One tree from the steps: the root of a step takes the place of the pending node that it began from."""
    from rothko.kernels.mondrian.nodes import ATTRIBUTE, CHILD, CHILDREN, END, PARENT, PENDING, START

    # Outermost first, then from left to right: a step comes after the one that left it pending,
    # and the numbering does not depend on which thread was faster.
    order = sorted(steps, key=lambda span: (span[0] - span[1], span[0]))
    places = {order[0]: 0}
    tables = []
    used = 1
    for span in order:
        nodes = steps[span][0].copy()
        root = places[span]
        for field in (PARENT, CHILD):
            local = nodes[:, field]
            nodes[:, field] = np.where(local == 0, root, local + used - 1)
        for i in np.flatnonzero(nodes[:, ATTRIBUTE] == PENDING):
            places[int(nodes[i, START]), int(nodes[i, END])] = used - 1 + int(i)
        tables.append((root, nodes))
        used += len(nodes) - 1
    joined = np.concatenate([tables[0][1][:1], *(nodes[1:] for _, nodes in tables)])
    for root, nodes in tables:
        for field in (ATTRIBUTE, CHILD, CHILDREN):
            joined[root, field] = nodes[0, field]
    first = steps[order[0]]
    low, high = (np.concatenate([first[i][:1], *(steps[span][i][1:] for span in order)]) for i in (1, 2))
    return joined, low, high
