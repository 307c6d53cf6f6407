"""The store of the Spark engine: records that stay on a cluster, and are asked by jobs.

The records are kept as codes (:mod:`rothko.engines.spark.records`). A part of them is known by the way that leads to it
(a trail of routes), and a job that is about it leaves the others out. A leaf is only taken note of: when the tree is
grown, all leaves are finished at once, after one shuffle (:mod:`rothko.release.spark`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.engines.crowd import Spans, Zone, collect
from rothko.engines.frequency import Frequencies, Wanted
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.spark.draw import Draw, Drawn
from rothko.engines.spark.records import Records
from rothko.engines.store import Job
from rothko.engines.tree import Route, Tree
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent

CHUNK = 1 << 18
"""Numbers of a frequency group that are added up together; others are, elsewhere, at the same time."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the tree whose records stay where they lie."""

    node: int
    rows: int
    whole: bool
    """Whether it is one class: no allowable cut divides it, and an executor cannot hold it."""


@dataclass(frozen=True, slots=True)
class Way:
    """The records of a part: those that every route leads somewhere."""

    routes: tuple[Route, ...] = ()

    def coded(self, coded: Coded) -> Coded:
        """Those among some records."""
        if not self.routes:
            return coded
        inside = np.ones(coded.rows, dtype=np.bool_)
        for route in self.routes:
            inside &= route(coded) >= 0
        return coded.take(np.flatnonzero(inside))

    def over(self, records: Iterable[Coded]) -> Iterator[Coded]:
        """Those among many records, some at a time."""
        return map(self.coded, records)


@dataclass(frozen=True, slots=True)
class SparkStore:
    """Records of a frame, or of one or several leaves of a tree over it."""

    job: Job
    records: Records
    rows: int
    tuples: int
    """Records that an executor can hold while classes are made of them."""
    way: Way = field(default_factory=Way)
    last: tuple[Tree, tuple[int, ...]] | None = None
    """The tree by which the records were last split, and the leaves of it that they are."""
    progress: Progress = silent

    def sample(self, size: int, seed: int) -> Coded:
        """A simple random sample without replacement, in one job."""
        self.progress("sample", 0, 1)
        found = self.records.gather(
            partial(_drawn, self.way, min(size, self.rows), self.rows, seed),
            lambda _, drawn: Drawn.together(drawn, size),
        )
        self.progress("sample", 1, 1)
        return _from_table(self.job.outline, found[0].table)

    def count(self, tree: Tree, nodes: Sequence[int], wanted: Wanted) -> list[FrequencyGroup]:
        """The frequency groups of some nodes, in one job."""
        self.progress("count", 0, 1)
        low, high = tree.regions(nodes)
        route = tree.route({node: i for i, node in enumerate(nodes)})
        sums = self.records.gather(
            partial(_counted, self.way, route, low, high, wanted), lambda _, found: reduce(np.add, found)
        )
        counted = Frequencies(low, high, wanted)
        counted.restore(
            np.concatenate([sums[i] for i in sorted(sums) if i >= 0]),
            np.concatenate([np.empty(0), *(sums[i] for i in sorted(sums, reverse=True) if i < 0)]),
        )
        self.progress("count", 1, 1)
        return counted.groups()

    def people(
        self, tree: Tree, nodes: Sequence[int], owner: str, wanted: Sequence[Sequence[Spans]]
    ) -> list[list[Zone]]:
        """Who has some codes of each line in each of some nodes, in one job."""
        route = tree.route({node: i for i, node in enumerate(nodes)})
        found = self.records.gather(partial(_people, self.way, route, owner, wanted), _zones_together)
        return list(found[0])

    def split(self, tree: Tree, leaves: Sequence[int], wanted: Wanted | None) -> tuple[list[SparkStore], Statistics]:
        """Count exactly what is wanted of each leaf, in one job; the records stay."""
        stats = tree.counted(leaves) if wanted is None else self._statistics(tree, leaves, wanted)
        stores = [
            self._at(tree, (leaf,), rows=int(rows)) for leaf, rows in zip(leaves, stats.size.tolist(), strict=True)
        ]
        return stores, stats

    def _statistics(self, tree: Tree, leaves: Sequence[int], wanted: Wanted) -> Statistics:
        self.progress("repartition", 0, 1)
        route = tree.route({leaf: i for i, leaf in enumerate(leaves)})
        found = self.records.gather(
            partial(_statistics, self.way, route, len(leaves), wanted),
            lambda _, some: reduce(lambda a, b: a + b, some),
        )
        self.progress("repartition", 1, 1)
        stats: Statistics = found[0]
        return replace(stats, domains=self.job.outline.domains)

    def join(self, others: Sequence[SparkStore]) -> SparkStore:
        """The records of several leaves of one split."""
        assert self.last is not None
        tree, leaves = self.last
        for other in others:
            assert other.last is not None
            leaves += other.last[1]
        outer = replace(self, way=replace(self.way, routes=self.way.routes[:-1]))
        return outer._at(tree, leaves, rows=self.rows + sum(other.rows for other in others))

    def _at(self, tree: Tree, leaves: tuple[int, ...], *, rows: int) -> SparkStore:
        route = tree.route(dict.fromkeys(leaves, 0))
        return replace(self, way=replace(self.way, routes=(*self.way.routes, route)), rows=rows, last=(tree, leaves))

    def finish(self, tree: Tree, node: int) -> Leaf:
        """Take note of a leaf."""
        return Leaf(node, self.rows, self.rows > self.tuples)

    def remove(self) -> None:
        """Nothing: the records are given up together."""


def _drawn(way: Way, size: int, rows: int, seed: int, records: Iterator[Coded]) -> Iterator[tuple[int, Drawn]]:
    draw = Draw(size, rows, seed)
    for coded in way.over(records):
        draw.add(_as_table(coded), lambda some: some)
    result = draw.result()
    if result is not None:
        yield 0, result


def _as_table(coded: Coded) -> pa.Table:
    """Codes of some records as columns: of their lines by number, of domains by name behind a letter."""
    lines = {str(i): codes for i, codes in enumerate(coded.codes)}
    return pa.table({**lines, **{f"v{name}": codes for name, codes in coded.values.items()}})


def _from_table(outline: Outline, table: pa.Table) -> Coded:
    codes = np.stack([table[str(i)].to_numpy() for i in range(len(outline.lines))])
    return Coded(codes, {name: table[f"v{name}"].to_numpy() for name in outline.domains}, pa.table({}))


def _counted(
    way: Way,
    route: Route,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    wanted: Wanted,
    records: Iterator[Coded],
) -> Iterator[tuple[int, NDArray[Any]]]:
    counted = Frequencies(low, high, wanted)
    for coded in way.over(records):
        counted.add(coded, route(coded))
    whole, others = counted.sums()
    for i, begin in enumerate(range(0, len(whole), CHUNK)):
        yield i, whole[begin : begin + CHUNK]
    for i, begin in enumerate(range(0, len(others), CHUNK)):
        yield -1 - i, others[begin : begin + CHUNK]


def _people(
    way: Way, route: Route, owner: str, wanted: Sequence[Sequence[Spans]], records: Iterator[Coded]
) -> Iterable[tuple[int, list[list[Zone]]]]:
    return [(0, collect(way.over(records), route, owner, wanted))]


def _zones_together(_: int, found: list[list[list[Zone]]]) -> list[list[Zone]]:
    return [
        [reduce(lambda a, b: a | b, zones) for zones in zip(*lines, strict=True)] for lines in zip(*found, strict=True)
    ]


def _statistics(
    way: Way, route: Route, leaves: int, wanted: Wanted, records: Iterator[Coded]
) -> Iterator[tuple[int, Statistics]]:
    total: Statistics | None = None
    for coded in way.over(records):
        # What the domains are the driver knows; sums are all that travels.
        stats = wanted.statistics(route(coded), leaves, coded, {})
        total = stats if total is None else total + stats
    if total is not None:
        yield 0, total
