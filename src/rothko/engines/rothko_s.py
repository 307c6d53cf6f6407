"""Rothko-S: the sampling algorithm for data larger than memory.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.2. Three phases. *Growth*: the tree is grown from a simple
random sample that fits in memory; a cut is made where the sample gives confidence that every part meets the
requirements in the whole (section 5.2.1). *Repartitioning*: the records are split by the leaves, and what the
requirements are about is counted exactly. *Pruning*: where a node violates a requirement, the subtree under its parent
is merged. Then each part by itself, from the start; one that fits in memory is loaded and cut there, exactly.

Growth ends where a part is expected to fit in memory: the rest is cut exactly then. In the paper it goes on until the
sample gives confidence in no cut: ``grow: confidence``. Where no cut can be made with
confidence, or all were undone, Rothko-T goes on with that part, so the result is always minimal (the paper's footnote
15).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded
from rothko.engines.candidates import Allowed, Cut
from rothko.engines.chooser import Chooser, exactly
from rothko.engines.driver import Counters, Driver
from rothko.engines.frequency import Wanted, count, sizes
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.options import RothkoS
from rothko.engines.rothko_t import Exhaustive
from rothko.engines.store import Job, Store
from rothko.engines.tree import Tree
from rothko.methods.mondrian.problem import Region
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics


class Sample:
    """Counts a sample, and cuts where it gives confidence: optimistically, as far as the options say.

    Parameters
    ----------
    population
        How many records the sample was drawn from.
    fits
        How many records fit in memory.
    frequency
        Bytes for frequency groups; where those of a level take more they are counted in turn.
    """

    def __init__(
        self,
        sample: Coded,
        population: int,
        job: Job,
        by: tuple[Chooser, Wanted],
        options: RothkoS,
        *,
        fits: int,
        frequency: int,
        counters: Counters,
    ) -> None:
        self.enough = options.enough(fits)
        self._counters = counters
        chooser, self._wanted = by
        self._sample, self._population, self._threads, self._frequency = sample, population, job.threads, frequency
        # The sample has few of the values of a long line: counters are kept for those.
        self._held = [np.unique(codes) for codes in sample.codes]
        ranks = np.empty_like(sample.codes)
        for out, values, codes in zip(ranks, self._held, sample.codes, strict=True):
            out[:] = np.searchsorted(values, codes)
        self._ranked = Coded(ranks, sample.values, sample.kept)
        self._chooser = replace(
            chooser,
            allowed=confident(job.requirements, options, sample.rows, population),
            crowd=None if job.outline.owner is None else job.crowd(sample.values[job.outline.owner]),
            least=fewest(job.requirements, options, sample.rows, population),
            checks=True,
        )

    def fits(self, top: Tree, nodes: Sequence[int]) -> bool:
        """Always: they are counted in turn."""
        return True

    def groups(self, top: Tree, nodes: Sequence[int]) -> Iterable[tuple[int, FrequencyGroup]]:
        """The nodes with the frequency groups of their records in the sample."""
        low, high = _among(self._held, top, nodes)
        for some in _in_turn(sizes(self._wanted, low, high), self._frequency):
            turn = [nodes[i] for i in some]
            place = partial(_fixed, top.route({n: i for i, n in enumerate(turn)})(self._sample))
            groups = count([self._ranked], place, low[some], high[some], self._wanted, threads=self._threads)
            for node, group in zip(turn, groups, strict=True):
                yield (
                    node,
                    [
                        replace(one, codes=self._held[a][one.first : one.first + len(one.counts)])
                        for a, one in enumerate(group)
                    ],
                )

    def choose(self, group: FrequencyGroup, phase: int, region: Region) -> Cut | None:
        """The best cut of which the sample gives confidence that it is allowable, with the expected records."""
        cut = self._chooser.choose(group, phase, region)
        if cut is None:
            return None
        self._counters.grown += 1
        expected = tuple(round(size * self._population / self._sample.rows) for size in cut.sizes)
        return replace(cut, sizes=expected)


class Sampling:
    """The growth of Rothko-S.

    Parameters
    ----------
    first
        A sample of all records, which the survey has drawn; others are drawn in passes of their own.
    """

    def __init__(self, driver: Driver, options: RothkoS, first: Coded | None = None) -> None:
        self.otherwise = Exhaustive(driver)
        self._driver, self._options = driver, options
        self._by = driver.job.chooser()
        self._first = [] if first is None else [first]

    @property
    def wanted(self) -> Wanted:
        """What the requirements are about, and targets."""
        return self._by[1]

    def counter(self, store: Store[Any], top: Tree) -> Sample:
        """A sample that fits in memory."""
        job, counters = self._driver.job, self._driver.counters
        # Not held beyond its use: it takes as much memory as a part.
        sample = self._first.pop() if self._first else store.sample(min(store.rows, self._driver.tuples), job.seed)
        counters.sampled = counters.sampled or sample.rows
        return Sample(
            sample,
            store.rows,
            job,
            self._by,
            self._options,
            fits=self._driver.tuples,
            frequency=self._driver.frequency,
            counters=counters,
        )

    def settle(self, top: Tree, leaves: Sequence[int], stats: Statistics) -> dict[int, list[int]]:
        """Prune."""
        left, undone = prune(self._driver.job.requirements, top, leaves, stats)
        self._driver.counters.pruned += undone
        return left


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


def confident(requirements: Sequence[Requirement], options: RothkoS, sample: int, population: int) -> Allowed:
    """Allowable with confidence: the tests of section 5.2.1, corrected for the number of parts."""

    def allowed(stats: Statistics, parts: int) -> NDArray[np.bool_]:
        held = np.ones(len(stats.size), dtype=np.bool_)
        for requirement in requirements:
            held &= requirement.confident(
                stats, sample=sample, population=population, parts=parts, alpha=options.alpha, test=options.test
            )
        return held

    return allowed


def fewest(requirements: Sequence[Requirement], options: RothkoS, sample: int, population: int) -> int:
    """The fewest records of a sample that a part must have, by the requirements on the number of records alone."""
    allowed = confident([r for r in requirements if r.column is None], options, sample, population)
    low, high = 1, sample
    while low < high:
        middle = (low + high) // 2
        # So many records are of no more people.
        enough = bool(allowed(Statistics(np.array([middle]), {}, {}, {}, np.array([middle])), 2)[0])
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def prune(
    requirements: Sequence[Requirement], top: Tree, leaves: Sequence[int], exact: Statistics
) -> tuple[dict[int, list[int]], int]:
    """Undo the cuts of which a part violates a requirement, by the exact sums of the leaves.

    Returns each leaf that is left → the leaves that it was, and how many cuts were undone (the paper's Fig. 24).
    """
    allowed = exactly(requirements)
    stats = {leaf: exact.row(i) for i, leaf in enumerate(leaves)}
    under = {leaf: [leaf] for leaf in leaves}
    waiting = [leaf for leaf in leaves if not allowed(stats[leaf], 1)[0]]
    undone = 0
    while waiting:
        leaf = waiting.pop()
        if leaf not in under or leaf == 0:
            continue
        parent = top.parent[leaf]
        below = top.leaves(parent)
        total = stats[below[0]]
        for other in below[1:]:
            total = total + stats[other]
        under[parent] = [old for other in below for old in under.pop(other)]
        stats[parent] = total
        undone += top.undo(parent)
        if not allowed(total, 1)[0]:
            waiting.append(parent)
    for leaf in under:
        top.rows[leaf] = int(stats[leaf].size[0])
    return {leaf: under[leaf] for leaf in top.leaves()}, undone
