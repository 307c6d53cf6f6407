"""The top of set-mondrian over records on a cluster.

Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), Algorithm 3. What chooses an item is counts of
items, and for ``entropy`` of pairs of items: sums, which tasks find in their records. One job counts the nodes of a
level, of two parts the smaller one; the larger is what is left of the node. The driver chooses as the compiled loop
does that has the records (:mod:`rothko.kernels.sets.counted`), so the cuts are the same. Nodes are cut until a task can
hold their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.errors import InputError
from rothko.mistakes import said
from rothko.progress import Progress
from rothko.sets.methods.mondrian import CRITERIA, SetMondrian
from rothko.sets.spark.packed import PackedSets
from rothko.sets.spark.survey import Coded, Items

CHUNK = 1 << 18
"""Counts of pairs that are added up together; others are, elsewhere, at the same time."""
ALIKE = 1 - 1e-12
"""Entropies that differ by less than this share are the same, as they are to the compiled loop."""


@dataclass(frozen=True, slots=True)
class Top:
    """The top of a tree: plain data, sent to tasks."""

    item: NDArray[np.int32]
    """The item that cuts each node, -1 where none does."""
    below: NDArray[np.int32]
    """The part with the item; that without it is one further."""

    def nodes(self, coded: Coded) -> NDArray[np.int32]:
        """The node in which each record ends."""
        from rothko.kernels.sets.counted import find_nodes

        found: NDArray[np.int32] = find_nodes(*coded, self.item, self.below)
        return found

    def groups(self, coded: Coded, nodes: Sequence[int]) -> NDArray[np.int32]:
        """Which of some nodes each record is in, -1 for none of them."""
        place = np.full(len(self.item), -1, dtype=np.int32)
        place[list(nodes)] = np.arange(len(nodes), dtype=np.int32)
        return place[self.nodes(coded)]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the records that may be cut further."""

    number: int
    rows: int
    allowed: NDArray[np.int32]
    """The items that may cut it, and perhaps others, rising."""
    having: NDArray[np.int64]
    """How many of its records have each."""
    seen: NDArray[np.int64] | None
    """The same of all items, where pairs are counted."""


class Leaf(NamedTuple):
    """A part of the records that is not cut by counts."""

    node: int
    rows: int
    whole: NDArray[np.int32] | None
    """The items that all its records have, where it is one class and no task can hold it."""


@dataclass(frozen=True, slots=True)
class Grown:
    """The top of a tree, and its leaves in an order that the cuts fix."""

    top: Top
    leaves: tuple[Leaf, ...]


@dataclass(slots=True)
class Growth:
    """Grows the top of a tree.

    Parameters
    ----------
    fits
        Records that a task can hold while classes are made of them.
    counts
        Counts that a task, or the driver, can hold.
    """

    records: PackedSets
    items: Items
    method: SetMondrian
    k: int
    rows: int
    fits: int
    counts: int
    progress: Progress
    _item: list[int] = field(default_factory=lambda: [-1])
    _below: list[int] = field(default_factory=lambda: [-1])

    def grow(self, frequencies: NDArray[np.int64]) -> Grown:
        """Cut until every leaf fits in a task, or no item may cut it."""
        waiting = [self._node(0, self.rows, np.arange(self.items.size, dtype=np.int32), frequencies, frequencies)]
        small, whole = dict[int, int](), dict[int, int]()
        while waiting:
            # The last ones first: so those that wait are few.
            some = waiting[-max(self.counts // max(self.items.size, 1), 1) :]
            del waiting[len(waiting) - len(some) :]
            large = [node for node in some if node.rows > self.fits]
            small |= {node.number: node.rows for node in some if node.rows <= self.fits}
            cuts = self._cuts(large)
            whole |= {node.number: node.rows for node in large if node.number not in cuts}
            waiting += self._parted([node for node in large if node.number in cuts], cuts)
        return Grown(self._top(), tuple(self._leaves(small, whole)))

    def _top(self) -> Top:
        return Top(np.array(self._item, dtype=np.int32), np.array(self._below, dtype=np.int32))

    def _node(
        self,
        number: int,
        rows: int,
        items: NDArray[np.int32],
        having: NDArray[np.int64],
        seen: NDArray[np.int64] | None,
    ) -> Node:
        """A node with the items that may cut it and no others: what may not cut it may not cut its parts."""
        there = (having >= self.k) & (rows - having >= self.k)
        return Node(number, rows, items[there], having[there], seen if self.method.criterion == "entropy" else None)

    def _cuts(self, nodes: Sequence[Node]) -> dict[int, int]:
        """The best item for each node that may be cut."""
        from rothko.kernels.sets.counted import choose_cut

        best = {}
        for node in nodes:
            allowed, having = node.allowed.copy(), node.having.copy()
            kept, place = choose_cut(
                allowed, having, node.rows, self.k, self.items.utility, CRITERIA.index(self.method.criterion)
            )
            assert kept == len(node.allowed), "an item that may not cut was kept"
            if place >= 0:
                best[node.number] = int(allowed[place])
        if self.method.criterion == "entropy":
            return self._least_entropy([node for node in nodes if node.number in best])
        return best

    def _parted(self, nodes: Sequence[Node], cuts: dict[int, int]) -> list[Node]:
        """The parts of some nodes, of which one job counts the smaller ones."""
        if not nodes:
            return []
        rows: dict[int, int] = {}
        for node in nodes:
            item = cuts[node.number]
            with_it = int(node.having[np.searchsorted(node.allowed, item)])
            below = len(self._item)
            self._item[node.number], self._below[node.number] = item, below
            self._item += [-1, -1]
            self._below += [-1, -1]
            rows |= {below: with_it, below + 1: node.rows - with_it}
        pairs = [(self._below[node.number], self._below[node.number] + 1) for node in nodes]
        smaller = [min(pair, key=rows.__getitem__) for pair in pairs]
        counted = self.count(smaller)
        parts = []
        for node, pair, counts in zip(nodes, pairs, counted, strict=True):
            few = counts[node.allowed]
            of_smaller = (few, counts if node.seen is not None else None)
            of_larger = (node.having - few, None if node.seen is None else node.seen - counts)
            for number in pair:
                sums = of_smaller if number in smaller else of_larger
                parts.append(self._node(number, rows[number], node.allowed, *sums))
        return parts

    def count(self, nodes: Sequence[int]) -> list[NDArray[np.int64]]:
        """How many records of each of some nodes have each item, in one job."""
        self.progress("count", 0, 1)
        found = self.records.gather(
            partial(_counted, self.items.size, self._top(), nodes), lambda _, some: reduce(np.add, some)
        )
        self.progress("count", 1, 1)
        return [found[i] for i in range(len(nodes))]

    def _least_entropy(self, nodes: Sequence[Node]) -> dict[int, int]:
        """The item of each node whose parts have the lowest entropy, in one job, or several where pairs are many."""
        best: dict[int, int] = {}
        room = max(self.counts // max(self.items.size, 1), 1)
        while nodes:
            ends = np.cumsum([len(node.allowed) for node in nodes])
            taken = int(np.searchsorted(ends, room, side="right"))
            if taken == 0:
                raise InputError(
                    f"entropy counts pairs of items, and {int(ends[0]):,} times {self.items.size:,} of them are more "
                    f"than a task can hold; raise {said('--memory')}, or use the criterion even or utility."
                )
            some, nodes = nodes[:taken], nodes[taken:]
            totals = self._entropies(some)
            for node, mine in zip(some, np.split(totals, ends[: taken - 1]), strict=True):
                place, least = -1, np.inf
                for x, total in enumerate(mine.tolist()):
                    if total < least * ALIKE:
                        place, least = x, total
                best[node.number] = int(node.allowed[place])
        return best

    def _entropies(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        """Of each node and each item that may cut it the entropy of the parts, in one job."""
        self.progress("count", 0, 1)
        pairs = Pairs.of(nodes, self.items.size)
        numbers = [node.number for node in nodes]
        found = self.records.gather(partial(_paired, self._top(), numbers, pairs), pairs.entropies)
        self.progress("count", 1, 1)
        return np.concatenate([found[i] for i in range(len(found))])

    def _leaves(self, small: dict[int, int], whole: dict[int, int]) -> Iterator[Leaf]:
        large = list(whole)
        each = max(self.counts // max(self.items.size, 1), 1)
        shared = {}
        for begin in range(0, len(large), each):
            some = large[begin : begin + each]
            for node, counts in zip(some, self.count(some), strict=True):
                shared[node] = np.flatnonzero(counts == whole[node]).astype(np.int32)
        for node in sorted({*small, *whole}):
            yield Leaf(node, small.get(node) or whole[node], shared.get(node))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Which pairs of items are counted: a row for each item that may cut a node."""

    place: NDArray[np.int32]
    """Node and item → row, -1 where there is none."""
    node: NDArray[np.int32]
    having: NDArray[np.int64]
    """Of each row: its node, and how many records of that have its item."""
    rows: NDArray[np.int64]
    seen: NDArray[np.int64]
    """Of each node: its records, and how many of them have each item."""

    @classmethod
    def of(cls, nodes: Sequence[Node], size: int) -> Pairs:
        """Those of some nodes."""
        lengths = [len(node.allowed) for node in nodes]
        owner = np.repeat(np.arange(len(nodes), dtype=np.int32), lengths)
        place = np.full((len(nodes), size), -1, dtype=np.int32)
        place[owner, np.concatenate([node.allowed for node in nodes])] = np.arange(len(owner), dtype=np.int32)
        having = np.concatenate([node.having for node in nodes])
        seen = np.stack([node.seen for node in nodes if node.seen is not None])
        return cls(place, owner, having, np.array([node.rows for node in nodes]), seen)

    @property
    def step(self) -> int:
        """Rows that are added up together."""
        size: int = self.place.shape[1]
        return max(CHUNK // max(size, 1), 1)

    def entropies(self, slot: int, found: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Of some rows, as they were counted in all partitions: the entropy of the parts that each item makes."""
        from rothko.kernels.sets.counted import entropy_of_parts

        summed: NDArray[np.int64] = reduce(np.add, found)
        begin = slot * self.step
        totals = [
            entropy_of_parts(row, self.seen[node], self.rows[node], having)
            for row, node, having in zip(summed, self.node[begin:], self.having[begin:], strict=False)
        ]
        return np.array(totals)


def _counted(
    size: int, top: Top, nodes: Sequence[int], records: Iterator[Coded]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    from rothko.kernels.sets.counted import count_groups

    counts = np.zeros((len(nodes), size), dtype=np.int64)
    for coded in records:
        count_groups(*coded, top.groups(coded, nodes), counts)
    yield from enumerate(counts)


def _paired(
    top: Top, nodes: Sequence[int], pairs: Pairs, records: Iterator[Coded]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    from rothko.kernels.sets.counted import count_pairs

    counts = np.zeros((len(pairs.node), pairs.place.shape[1]), dtype=np.int64)
    for coded in records:
        count_pairs(*coded, top.groups(coded, nodes), pairs.place, counts)
    for slot, begin in enumerate(range(0, len(counts), pairs.step)):
        yield slot, counts[begin : begin + pairs.step]
