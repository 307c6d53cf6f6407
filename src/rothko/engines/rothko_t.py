"""Rothko-T: the exhaustive algorithm for data larger than memory.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1. The top of the tree is grown level by level: a pass over
the records counts the frequency groups of all nodes that are still too large for memory, and cuts are chosen from them.
When those of the next level no longer fit in their share of memory, the records are written to one file per leaf, and
each is gone on with by itself. A leaf that fits in memory is loaded and cut there; one that does not, and that no
allowable cut divides, is a class by itself and stays on disk. The classes are those that the memory engine makes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rothko.data.survey.coded import Records
from rothko.engines.chooser import Chooser
from rothko.engines.disk.spilled import Spilled
from rothko.engines.disk.trim import give_back
from rothko.engines.driver import Job, gathered, remove
from rothko.engines.frequency import Wanted, count, sizes
from rothko.engines.part import LargeClass, Part
from rothko.engines.tree import Tree
from rothko.errors import InputError


def rothko_t(job: Job, records: Records, tree: Tree, node: int = 0) -> Iterator[Part | LargeClass]:
    """The finished parts of the records of a leaf of the tree, which grows on the way."""
    chooser, wanted = job.chooser()
    yield from _descend(job, chooser, wanted, records, tree, node, 1)


def _descend(
    job: Job, chooser: Chooser, wanted: Wanted, records: Records, tree: Tree, node: int, depth: int
) -> Iterator[Part | LargeClass]:
    top = Tree(tree.low[node], tree.high[node], tree.phase[node], records.rows)
    large = _grow(job, chooser, wanted, records, top)
    give_back()
    leaves = top.leaves()
    if len(leaves) == 1:
        yield from _finish(job, records, tree, node)
        return
    job.counters.repartitions = max(job.counters.repartitions, depth)
    writer = job.spill.writer(job.outline, parts=len(leaves), memory=job.budget.buffers)
    route = top.route({leaf: i for i, leaf in enumerate(leaves)})
    for coded in job.batches(records, "repartition"):
        writer.write(route(coded), coded)
    parts = writer.close()
    remove(records)
    give_back()
    here = tree.graft(node, top)
    for leaf, part in zip(leaves, parts, strict=True):
        if leaf in large:
            yield from _descend(job, chooser, wanted, part, tree, here[leaf], depth + 1)
        else:
            yield from _finish(job, part, tree, here[leaf])


def _finish(job: Job, records: Records, tree: Tree, node: int) -> Iterator[Part | LargeClass]:
    """A leaf that fits in memory, or that no cut divides; its records are removed when they are not needed any more."""
    if records.rows > job.budget.tuples:
        yield from job.finished(job.large(records, tree, node))
        remove(records)
        return
    coded = records.load() if isinstance(records, Spilled) else gathered(job.batches(records, "load"))
    remove(records)
    part = job.finish(coded, tree, node)
    del coded
    yield from job.finished(part)


def _grow(job: Job, chooser: Chooser, wanted: Wanted, records: Records, top: Tree) -> set[int]:
    """Grow the tree breadth-first while frequency groups fit; returns the leaves that are still to be cut."""
    active = [0] if records.rows > job.budget.tuples else []
    while active:
        low, high = (np.stack([corner[n] for n in active]) for corner in (top.low, top.high))
        needed = int(sizes(wanted, low, high).sum())
        if needed > job.budget.frequency:
            if active == [0]:
                raise InputError(
                    f"Counting the values of the table takes {needed / 1e6:,.0f} MB, and the memory limit leaves "
                    f"{job.budget.frequency / 1e6:,.0f} MB for it; raise --memory, or use engine: rothko-s."
                )
            return set(active)
        groups = count(
            job.batches(records, "count"), top.route({n: i for i, n in enumerate(active)}), low, high,
            job.outline.lines, wanted, threads=job.threads,
        )  # fmt: skip
        below = []
        for n, group in zip(active, groups, strict=True):
            cut = chooser.choose(group, top.phase[n])
            if cut is not None:
                below += [part for part in top.cut(n, cut) if top.rows[part] > job.budget.tuples]
        active = below
    return set()
