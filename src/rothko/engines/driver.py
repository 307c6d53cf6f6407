"""The driver: grows the top of a tree over a store, and hands its leaves to where their records lie.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5. One loop serves Rothko-T and Rothko-S. A *counter* gives it the
frequency groups of nodes, of all records (:mod:`rothko.engines.rothko_t`) or of a sample with a test
(:mod:`rothko.engines.rothko_s`), and cuts are chosen from these level by level. Then the store splits by the leaves,
and each is gone on with by itself; one that fits in memory is finished there, exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from rothko.engines.candidates import Cut
from rothko.engines.frequency import Wanted
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.store import Finished, Job, Store
from rothko.engines.tree import Tree
from rothko.methods.mondrian.problem import Region
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent

Done = TypeVar("Done", bound=Finished)


@dataclass(slots=True)
class Counters:
    """What a run did, for the certificate."""

    repartitions: int = 0
    """How often records were split by leaves, at most."""
    sampled: int = 0
    """Records of the first sample."""
    grown: int = 0
    """Nodes that were cut in samples."""
    pruned: int = 0
    """Cuts that were undone."""
    finished: int = 0
    """Records in finished parts."""
    handed_over: int = 0
    """Parts that Rothko-S left to Rothko-T."""


class Counter(Protocol):
    """Counts the frequency groups of nodes, and chooses their cuts."""

    @property
    def enough(self) -> int:
        """Nodes of no more records are not cut: what follows is done in memory."""
        ...

    def fits(self, top: Tree, nodes: Sequence[int]) -> bool:
        """Whether there is room to count the nodes of a level; where there is not, growth ends for now."""
        ...

    def groups(self, top: Tree, nodes: Sequence[int]) -> Iterable[tuple[int, FrequencyGroup]]:
        """The nodes with their frequency groups."""
        ...

    def choose(self, group: FrequencyGroup, phase: int, region: Region) -> Cut | None:
        """The best cut of a node that is allowable, with the records of its parts; None where there is none."""
        ...


class Growth(Protocol):
    """What differs between Rothko-T and Rothko-S."""

    @property
    def wanted(self) -> Wanted | None:
        """What is added up exactly when the records are split; None where all that matters was counted before."""
        ...

    @property
    def otherwise(self) -> Growth | None:
        """Who goes on with records that were not divided; None: no allowable cut divides them, they are one class."""
        ...

    def counter(self, store: Store[Any], top: Tree) -> Counter:
        """What counts the records of a store, to grow a tree over them."""
        ...

    def settle(self, top: Tree, leaves: Sequence[int], stats: Statistics) -> dict[int, list[int]]:
        """Undo what the exact sums do not bear out; returns each leaf that is left → the leaves that it was."""
        ...


def grow(top: Tree, counter: Counter) -> set[int]:
    """Cut breadth-first while there is room to count; returns the leaves for which no cut was found."""
    active, uncut = [0], set[int]()
    while active and counter.fits(top, active):
        below: list[int] = []
        for node, group in counter.groups(top, active):
            cut = counter.choose(group, top.phase[node], (top.low[node], top.high[node]))
            if cut is None:
                uncut.add(node)
            else:
                below += [part for part in top.cut(node, cut) if top.rows[part] > counter.enough]
        active = below
    return uncut


@dataclass(frozen=True, slots=True)
class Driver:
    """Takes a table apart, under limits."""

    job: Job
    tuples: int
    """Records that fit in memory while classes are made of them (TM)."""
    frequency: int
    """Bytes for frequency groups."""
    progress: Progress = silent
    counters: Counters = field(default_factory=Counters)

    def parts(self, growth: Growth, store: Store[Done], tree: Tree, node: int = 0, *, depth: int = 1) -> Iterator[Done]:
        """The finished parts of the records of a leaf of the tree, which grows on the way."""
        if store.rows <= self.tuples:
            yield from self._finished(store, tree, node)
            return
        top = Tree(tree.low[node], tree.high[node], tree.phase[node], store.rows)
        uncut = grow(top, growth.counter(store, top))
        leaves = top.leaves()
        if len(leaves) == 1:
            yield from self._undivided(growth, store, tree, node)
            return
        self.counters.repartitions = max(self.counters.repartitions, depth)
        stores, stats = store.split(top, leaves, growth.wanted)
        left = growth.settle(top, leaves, stats)
        of = dict(zip(leaves, stores, strict=True))
        if len(left) == 1:
            yield from self._undivided(growth, stores[0].join(stores[1:]), tree, node)
            return
        here = tree.graft(node, top)
        for leaf, under in left.items():
            part = of[under[0]].join([of[old] for old in under[1:]])
            if leaf in uncut and growth.otherwise is None:
                yield from self._finished(part, tree, here[leaf])
            else:
                yield from self.parts(growth, part, tree, here[leaf], depth=depth + 1)

    def _undivided(self, growth: Growth, store: Store[Done], tree: Tree, node: int) -> Iterator[Done]:
        """Records that a growth has not divided."""
        if growth.otherwise is None:
            yield from self._finished(store, tree, node)
        else:
            self.counters.handed_over += 1
            yield from self.parts(growth.otherwise, store, tree, node)

    def _finished(self, store: Store[Done], tree: Tree, node: int) -> Iterator[Done]:
        """Hand on a part, and tell how many of all records are in finished ones once it was taken."""
        part = store.finish(tree, node)
        rows = part.rows
        yield part
        del part
        store.remove()
        self.counters.finished += rows
        self.progress("load", self.counters.finished, self.job.outline.rows)
