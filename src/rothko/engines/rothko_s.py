"""Rothko-S: the sampling algorithm for data larger than memory.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.2. Three phases. *Growth*: the tree is grown from a simple
random sample that fits in memory; a cut is made where the sample gives confidence that every part meets the
requirements in the whole (section 5.2.1). *Repartitioning*: the records are written to one file per leaf, and what the
requirements are about is counted exactly. *Pruning*: where a node violates a requirement, the subtree under its parent
is merged. Then each part by itself, from the start; one that fits in memory is loaded and cut there, exactly.

Growth ends where a part is expected to fit in memory: the rest is cut exactly then. Where no cut can be made with
confidence, or all were undone, Rothko-T goes on with that part, so the result is always minimal (the paper's footnote
15).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Records
from rothko.engines.chooser import Allowed, Chooser, exactly
from rothko.engines.disk.spilled import Spilled
from rothko.engines.disk.trim import give_back
from rothko.engines.driver import Job, Joined, gathered, remove
from rothko.engines.frequency import Wanted, count, sizes
from rothko.engines.options import RothkoS
from rothko.engines.part import LargeClass, Part
from rothko.engines.rothko_t import rothko_t
from rothko.engines.tree import Tree
from rothko.privacy.statistics import Statistics

ROOM = 2
"""Growth ends where a part is expected to have at most one of this many of the records that fit in memory."""


def rothko_s(
    job: Job, options: RothkoS, records: Records, tree: Tree, node: int = 0, *, sample: Coded | None = None
) -> Iterator[Part | LargeClass]:
    """The finished parts of the records of a leaf of the tree, which grows on the way.

    Parameters
    ----------
    sample
        A simple random sample of the records; drawn in a pass of its own where it is None.
    """
    chooser, wanted = job.chooser()
    parts = _descend(job, options, chooser, wanted, records, sample, tree, node, 1)
    del sample  # it takes as much memory as a part
    yield from parts


def _descend(
    job: Job,
    options: RothkoS,
    chooser: Chooser,
    wanted: Wanted,
    records: Records,
    sample: Coded | None,
    tree: Tree,
    node: int,
    depth: int,
) -> Iterator[Part | LargeClass]:
    if records.rows <= job.budget.tuples:
        coded = gathered(job.batches(records, "load"))
        remove(records)
        yield from job.finished(job.finish(coded, tree, node))
        return
    if sample is None:
        sample = draw(job, records)
    if not job.counters.sampled:
        job.counters.sampled = sample.rows
    top = Tree(tree.low[node], tree.high[node], tree.phase[node], records.rows)
    grow(job, options, chooser, wanted, sample, top, enough=job.budget.tuples // ROOM)
    del sample
    give_back()
    leaves = top.leaves()
    if len(leaves) == 1:
        job.counters.handed_over += 1
        yield from rothko_t(job, records, tree, node)
        return
    job.counters.repartitions = max(job.counters.repartitions, depth)
    parts = repartition(job, wanted, records, top, leaves)
    give_back()
    merged = prune(job, top, leaves, [stats for _, stats in parts])
    files = {leaf: spilled for leaf, (spilled, _) in zip(leaves, parts, strict=True)}
    remove(records)
    if len(merged) == 1:
        job.counters.handed_over += 1
        yield from rothko_t(job, Joined(tuple(files.values())), tree, node)
        return
    here = tree.graft(node, top)
    for leaf, under in merged.items():
        part = Joined(tuple(files[old] for old in under))
        yield from _descend(job, options, chooser, wanted, part, None, tree, here[leaf], depth + 1)


def draw(job: Job, records: Records) -> Coded:
    """A simple random sample without replacement, in one pass."""
    size = min(records.rows, job.budget.tuples)
    random = np.random.default_rng([job.seed, records.rows])
    chosen = np.sort(random.choice(records.rows, size, replace=False, shuffle=False))
    begin, some = 0, []
    for coded in job.batches(records, "sample"):
        ends = np.searchsorted(chosen, [begin, begin + coded.rows])
        some.append(coded.take(chosen[ends[0] : ends[1]] - begin))
        begin += coded.rows
    return gathered(iter(some))


def grow(
    job: Job, options: RothkoS, chooser: Chooser, wanted: Wanted, sample: Coded, top: Tree, *, enough: int
) -> None:
    """Cut optimistically while the sample gives confidence, down to nodes of ``enough`` records."""
    # The sample has few of the values of a long line: counters are kept for those.
    held = [np.unique(codes) for codes in sample.codes]
    ranks = np.empty_like(sample.codes)
    for out, values, codes in zip(ranks, held, sample.codes, strict=True):
        out[:] = np.searchsorted(values, codes)
    ranked = Coded(ranks, sample.values, sample.kept)
    population = top.rows[0]
    unsure = replace(
        chooser,
        allowed=confident(job, options, sample.rows, population),
        least=fewest(job, options, sample.rows, population),
        checks=True,
    )
    active = [0]
    while active:
        low, high = _among(held, top, active)
        below: list[int] = []
        for some in _in_turn(sizes(wanted, low, high), job.budget.frequency):
            nodes = [active[i] for i in some]
            place = partial(_fixed, top.route({n: i for i, n in enumerate(nodes)})(sample))
            groups = count(
                [ranked], place, low[some], high[some], chooser.lines, wanted,
                threads=job.threads,
            )  # fmt: skip
            for n, group in zip(nodes, groups, strict=True):
                named = [
                    replace(one, codes=held[a][one.first : one.first + len(one.counts)]) for a, one in enumerate(group)
                ]
                cut = unsure.choose(named, top.phase[n])
                if cut is not None:
                    job.counters.grown += 1
                    expected = tuple(round(size * population / sample.rows) for size in cut.sizes)
                    below += [p for p in top.cut(n, replace(cut, sizes=expected)) if top.rows[p] > enough]
        active = below


def _fixed(place: NDArray[np.int32], _: Coded) -> NDArray[np.int32]:
    return place


def _among(
    held: Sequence[NDArray[np.int32]], top: Tree, nodes: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The regions of some nodes among the values that a sample has."""
    low = [[np.searchsorted(values, top.low[n][a]) for a, values in enumerate(held)] for n in nodes]
    high = [[np.searchsorted(values, top.high[n][a], side="right") - 1 for a, values in enumerate(held)] for n in nodes]
    return np.array(low, dtype=np.int32), np.array(high, dtype=np.int32)


def _in_turn(needed: NDArray[np.int64], limit: int) -> Iterator[NDArray[np.int64]]:
    """Numbers 0, 1, … in groups that need no more than the limit together, each at least one."""
    turn = np.zeros(len(needed), dtype=np.int64)
    used = at = 0
    for i, size in enumerate(needed.tolist()):
        if used and used + size > limit:
            at, used = at + 1, 0
        turn[i], used = at, used + size
    for t in range(at + 1):
        yield np.flatnonzero(turn == t)


def confident(job: Job, options: RothkoS, sample: int, population: int) -> Allowed:
    """Allowable with confidence: the tests of section 5.2.1, corrected for the number of parts."""

    def allowed(stats: Statistics, parts: int) -> NDArray[np.bool_]:
        held = np.ones(len(stats.size), dtype=np.bool_)
        for requirement in job.requirements:
            held &= requirement.confident(
                stats, sample=sample, population=population, parts=parts, alpha=options.alpha, test=options.test
            )
        return held

    return allowed


def fewest(job: Job, options: RothkoS, sample: int, population: int) -> int:
    """The fewest records of a sample that a part must have, by the requirements on the number of records alone."""
    counts = [r for r in job.requirements if r.column is None]
    low, high = 1, sample
    while low < high:
        middle = (low + high) // 2
        stats = Statistics(np.array([middle]), {}, {}, {})
        enough = all(
            bool(
                r.confident(
                    stats, sample=sample, population=population, parts=2, alpha=options.alpha, test=options.test
                )[0]
            )
            for r in counts
        )
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def repartition(
    job: Job, wanted: Wanted, records: Records, top: Tree, leaves: Sequence[int]
) -> list[tuple[Spilled, Statistics]]:
    """Write the records to one file per leaf, and count exactly what the requirements are about."""
    writer = job.spill.writer(job.outline, parts=len(leaves), memory=job.budget.buffers)
    route = top.route({leaf: i for i, leaf in enumerate(leaves)})
    total: Statistics | None = None
    for coded in job.batches(records, "repartition"):
        place = route(coded)
        stats = wanted.statistics(place, len(leaves), coded, job.outline.domains)
        total = stats if total is None else total + stats
        writer.write(place, coded)
    assert total is not None
    return [(spilled, _row(total, i)) for i, spilled in enumerate(writer.close())]


def prune(job: Job, top: Tree, leaves: Sequence[int], found: Sequence[Statistics]) -> dict[int, list[int]]:
    """Undo the cuts of which a part violates a requirement; returns each leaf that is left → the leaves it was."""
    allowed = exactly(job.requirements)
    stats = dict(zip(leaves, found, strict=True))
    under = {leaf: [leaf] for leaf in leaves}
    waiting = [leaf for leaf in leaves if not allowed(stats[leaf], 1)[0]]
    while waiting:
        leaf = waiting.pop()
        if leaf not in under or leaf == 0:
            continue
        parent = top.parent[leaf]
        below = top.leaves(parent)
        job.counters.pruned += len(below)
        total = stats[below[0]]
        for other in below[1:]:
            total = total + stats[other]
        under[parent] = [old for other in below for old in under.pop(other)]
        stats[parent] = total
        top.undo(parent)
        if not allowed(total, 1)[0]:
            waiting.append(parent)
    for leaf in under:
        top.rows[leaf] = int(stats[leaf].size[0])
    return {leaf: under[leaf] for leaf in top.leaves()}


def _row(stats: Statistics, i: int) -> Statistics:
    return Statistics(
        stats.size[i : i + 1],
        stats.domains,
        {name: h[i : i + 1] for name, h in stats.histograms.items()},
        {name: m[i : i + 1] for name, m in stats.moments.items()},
    )
