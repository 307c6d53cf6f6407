"""set-mondrian: top-down partitioning of sets (Podgursky, "Practical k-Anonymity on Large Datasets", Algorithm 3).

A node is cut into the records with an item and those without it, as long as both parts have at least k. Which item:

- ``even`` (MOND_EVEN there): the most frequent one that is allowed;
- ``entropy`` (MOND_ENTROPY): the one whose parts have the lowest entropy, Σ over items, each part weighted by its
  records;
- ``utility``, our own answer to the thesis's future work: what an item with frequency p and utility u in the node earns
  for each bit of the cut, u p / h(p). Classes of k records are log2(n / k) bits below the root however they are cut,
  so bits are what there is to spend. (u p alone kept 1 % less on the synthetic data.)

``utility`` then goes on where the tree stops. In turns, records leave for the most valuable published set that they
contain, as long as their class keeps k or is better dissolved, and classes are closed and split back as in the second
phase of set-two-phase. Every step publishes more than before. This is done within parts of the tree of at most
131,072 records, so that the time grows with the records.

With k = 2 classes are pairs, which a tree hardly finds. There a part is also paired by set-cluster with LSH, always by
the same hash functions, and what keeps more is taken (on the synthetic data, 0.381 of the utility and not 0.326).

Where the thesis is silent: of items that score alike the first in the order of the texts is taken, for ``utility`` the
first in the order of utility × frequency. Of records that would gain alike by leaving, which of them goes first is
settled by what they hold: the classes do not hang on the order of the records.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.errors import PolicyError
from rothko.progress import each
from rothko.sets.methods.cluster import SetCluster
from rothko.sets.methods.method import Progress, SetMethod, one_of
from rothko.sets.records import Common, Records, set_keys

CRITERIA = ("even", "entropy", "utility")
PART = 1 << 17
"""Parts of the tree of at most so many records are taken up by themselves, copied side by side."""
ROUNDS = 10
"""Turns of leaving and splitting back, at most."""
ENOUGH = 1e-4
"""A turn that gains a smaller share than this is the last."""
DENSE = 12
"""Records that have more than one of so many items are also held as bits."""
NO_BITS = np.empty((0, 0), dtype=np.uint64)
PAIRS = 2
"""The k at which classes are pairs."""
MOST_PAIRS = 1 << 29
"""Pairs of items that ``entropy`` may count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMondrian(SetMethod):
    """Options of set-mondrian.

    >>> SetMondrian(criterion="even").criterion
    'even'
    """

    name: ClassVar[str] = "set-mondrian"

    criterion: str = "utility"
    """even, entropy or utility."""

    def __post_init__(self) -> None:
        one_of(self.name, "criterion", self.criterion, CRITERIA)

    def group(self, records: Records, k: int, *, seed: int, threads: int, progress: Progress) -> NDArray[np.int32]:
        """The class of each record; nothing is random."""
        frequencies = records.frequencies()
        self.refuse_wide(records.size, int((frequencies >= k).sum()))
        ranks = self.ranks(records.utility, frequencies)
        return self.within(records, k, ranks, part=PART, threads=threads, progress=progress)

    def refuse_wide(self, size: int, allowed: int) -> None:
        """Refuse so many items, of which so many may cut, where pairs of them cannot be counted."""
        if self.criterion == "entropy" and allowed * size > MOST_PAIRS:
            raise PolicyError(
                f"set-mondrian: entropy counts pairs of items, and there are {size:,}; use the criterion even or "
                "utility."
            )

    def ranks(self, utility: NDArray[np.float64], frequencies: NDArray[np.int64]) -> NDArray[np.int32]:
        """The numbers by which items are known in a part: the trie of sets is smaller with what most have first."""
        ranks = np.arange(len(utility), dtype=np.int32)
        if self.criterion == "utility":
            ranks[np.argsort(-utility * frequencies, kind="stable")] = np.arange(len(utility), dtype=np.int32)
        return ranks

    def within(
        self,
        records: Records,
        k: int,
        ranks: NDArray[np.int32],
        *,
        part: int,
        threads: int = 1,
        progress: Progress = lambda _: None,
    ) -> NDArray[np.int32]:
        """The class of each record of a node of the tree, or of all records.

        Parameters
        ----------
        ranks
            Those of the items among all records.
        part
            Parts of at most so many records are taken up by themselves.
        """
        from rothko.kernels.sets.mondrian import grow

        criterion = CRITERIA.index(self.criterion)
        order = np.arange(records.count, dtype=np.int32)
        bits = _bits(records.starts, records.items, records.size) if records.count > part else NO_BITS
        parts = grow(order, 0, records.count, records.starts, records.items, bits, records.utility, k, criterion, part)
        worth = np.empty(records.size)
        worth[ranks] = records.utility
        class_of = np.empty(records.count, dtype=np.int32)

        def finish(i: int) -> int:
            """Number the classes of a part from 0; returns how many there are."""
            mine = order[parts[i] : parts[i + 1]]
            found = _finish(mine, records, ranks, worth, k, criterion)
            class_of[mine] = found
            progress(len(mine))
            return int(found.max()) + 1

        made = each(finish, range(len(parts) - 1), threads)
        before = np.cumsum([0, *made])
        for i in range(1, len(parts) - 1):
            class_of[order[parts[i] : parts[i + 1]]] += np.int32(before[i])
        return class_of


def _bits(starts: NDArray[np.int64], items: NDArray[np.int32], size: int) -> NDArray[np.uint64]:
    """Records as bits where they are dense; otherwise none."""
    from rothko.kernels.sets.mondrian import as_bits

    if len(items) * DENSE < (len(starts) - 1) * size:
        return NO_BITS
    bits: NDArray[np.uint64] = as_bits(starts, items, size)
    return bits


def _finish(
    mine: NDArray[np.int32],
    records: Records,
    ranks: NDArray[np.int32],
    worth: NDArray[np.float64],
    k: int,
    criterion: int,
) -> NDArray[np.int32]:
    """Cut a part of the tree until no item may cut it, and for ``utility`` go on from there.

    For that, records stand in an order that only what they hold decides; ``mine`` is put in it.
    """
    from rothko.kernels.sets.mondrian import UTILITY, grow
    from rothko.kernels.sets.records import spread, tidy

    starts, items = spread(mine, records.starts, records.items)
    if criterion == UTILITY:
        keys = set_keys(starts, items, len(worth))
        by_content = np.lexsort((keys[:, 1], keys[:, 0])).astype(np.int32)
        mine[:] = mine[by_content]
        starts, items = spread(by_content, starts, items)
        items = ranks[items]
        tidy(starts, items)
    order = np.arange(len(mine), dtype=np.int32)
    bounds = grow(order, 0, len(mine), starts, items, _bits(starts, items, len(worth)), worth, k, criterion, 0)
    class_of = np.empty(len(mine), dtype=np.int32)
    class_of[order] = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
    if criterion != UTILITY:
        return class_of
    found = improve(starts, items, worth, class_of, k)

    def utility(classes: NDArray[np.int32]) -> float:
        sets = Common.of(classes, starts, items, len(worth))
        return float(_values(sets, worth) @ sets.sizes)

    if k == PAIRS <= len(mine):
        part = Records(starts, items, records.names, worth)
        pairs = SetCluster(search="lsh").group(part, k, seed=0, threads=1, progress=lambda _: None)
        found = max(found, pairs, key=utility)
    return found


def _values(sets: Common, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """The utility of what each class publishes."""
    summed = np.add.reduceat(np.append(worth[sets.items], 0.0), sets.starts[:-1])
    return np.asarray(summed * (np.diff(sets.starts) > 0))


def improve(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    worth: NDArray[np.float64],
    class_of: NDArray[np.int32],
    k: int,
) -> NDArray[np.int32]:
    """Classes that publish at least as much: records leave for better sets, classes are closed and split back."""
    from rothko.kernels.sets import reassign
    from rothko.kernels.sets.two_phase import class_numbers, split_back

    marks = item_marks(len(worth))
    room = max(len(class_of) // k, 1)
    for _ in range(ROUNDS):
        sets = Common.of(class_of, starts, items, len(worth))
        value = _values(sets, worth)
        trie = reassign.plant(sets.starts, sets.items, _lexicographic(sets.starts, sets.items), worth)
        found, worth_there = reassign.most_valuable(starts, items, len(worth), class_of, *trie)
        turn = np.argsort(value, kind="stable")
        class_of, _ = reassign.settle(sets.order, sets.bounds, value, found, worth_there, k, turn)
        lists = reassign.as_lists(class_of, max(room, len(sets.sizes)))
        split_back(*lists, starts, items, worth, marks, k, True)
        first, following, _, size = lists
        class_of, kept = class_numbers(first, following, size, starts, items, worth)
        if kept <= (1 + ENOUGH) * float(value @ sets.sizes):
            break
    return class_of


def item_marks(size: int) -> NDArray[np.uint64]:
    """A random number for each item, by whose sums sets are known; always the same ones."""
    return np.random.default_rng(0).integers(1 << 63, size=size, dtype=np.uint64)


def _lexicographic(starts: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.int64]:
    """The sets in the order of their items."""
    sets = [tuple(items[begin:end].tolist()) for begin, end in itertools.pairwise(starts)]
    return np.array(sorted(range(len(sets)), key=sets.__getitem__), dtype=np.int64)
