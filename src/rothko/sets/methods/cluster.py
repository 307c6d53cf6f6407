"""set-cluster and set-iterative: classes of near records, from the bottom up.

Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), chapter IV.

set-cluster is Algorithm 4. A class begins with a record far from where the last one began, and takes the record that
leaves most utility to what all share, until it has k. The fewer than k that are left join the class that gains most,
or loses least.

set-iterative is Algorithm 5. Classes begin with n/k random records, and every other one joins a class. Those below k
are dissolved and their records join others. Then the worst classes are dissolved and begun anew, first many of them,
then fewer, for as long as the utility rises.

``search`` says which records are looked at: ``all`` of them, a ``random`` sample, or by ``lsh``
(:mod:`rothko.sets.methods.lsh`) those that fall into the same buckets as a ``query``. The sample is a new one for each
record that joins (line 8). The thesis does not say whose buckets are asked: those of the record that a class began with
(``first``) or those of what it shares so far (``shared``).

Where we leave the thesis, which ``reading: paper`` does not, or where it leaves something open:

- No more than c · ln n records are taken from the buckets, where some are very full: as many of each. What the buckets
  do not fill is filled with random ones: towards the end most records of the buckets are in classes.
- Distance is the utility of all that only one of two records has. Of records that leave a class the same the one with
  the least utility of its own is taken, as it has least to lose.
- The last records look at all classes: together that is no more than one look at each record.
- A record joins the class for which |class| · u(what it shares) rises most. The thesis says that u(class ∪ record) is
  to be high, which would draw all records to the class that is worth most already.
- Worst are the classes whose records publish least utility, as the thesis's text has it; its pseudocode says those of
  the highest distance within, which are the classes of large records. On 5,000 long-tail records with k = 10 the first
  keeps 0.101 of the utility, the second 0.073.
- Each fraction begins with the best classes so far, rather than with the last.
- In set-iterative a record finds classes through the records of its own buckets that are in one, 4 c · ln n at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rothko.methods.letter import Reading, check_reading
from rothko.privacy.requirement import whole_number
from rothko.progress import watched
from rothko.sets.methods.lsh import (
    CANDIDATES,
    FULL,
    TABLES,
    count_candidates,
    count_of_bucket,
    one_bucket,
    preprocess,
    without_tables,
)
from rothko.sets.methods.method import Progress, SetMethod, one_of
from rothko.sets.records import Records

if TYPE_CHECKING:
    from rothko.kernels.sets.lsh import Tables

PARTS = 16
"""Loose records join classes in so many parts, after each of which progress is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCluster(SetMethod):
    """Options of set-cluster.

    >>> SetCluster(search="random").name
    'set-cluster'
    """

    name: ClassVar[str] = "set-cluster"

    search: Literal["all", "random", "lsh"] = "lsh"
    """Which records are looked at for the nearest one."""
    query: Literal["first", "shared"] = "first"
    """Whose buckets lsh looks into: those of the record that a class began with, or of what it shares so far."""
    tables: int = TABLES
    """Hash tables of lsh."""
    candidates: int = CANDIDATES
    """A sample has so many times ln n records."""
    reading: Reading = "rothko"
    """Ours, or the thesis to the letter where we leave it."""

    def __post_init__(self) -> None:
        check_reading(self.name, self.reading)
        one_of(self.name, "search", self.search, ("all", "random", "lsh"))
        one_of(self.name, "query", self.query, ("first", "shared"))
        whole_number(self.name, "tables", self.tables, least=1)
        whole_number(self.name, "candidates", self.candidates, least=1)

    def group(self, records: Records, k: int, *, seed: int, threads: int, progress: Progress) -> NDArray[np.int32]:
        """Cluster the records (Algorithm 4)."""
        from rothko.kernels.sets.cluster import cluster
        from rothko.kernels.sets.records import by_item

        random = np.random.default_rng(seed)
        exact, thesis, n = self.search == "all", self.reading == "paper", records.count
        tables = one_bucket(records) if exact else _tables(records, random, self)
        sample, left = count_candidates(n, self.candidates), tables.sizes[:1]  # of the first table, if there is one
        most = n if thesis else count_of_bucket(sample, self.tables)

        def done() -> int:
            return n - int(left.sum()) if len(left) else 0

        classes: NDArray[np.int32]
        with watched(done, progress):
            classes, _ = cluster(
                records.starts, records.items, records.utility, k, exact, self.query == "shared", thesis, sample, most,
                *by_item(records.starts, records.items, records.size), tables, _state(random),
            )  # fmt: skip
        if not len(left):
            progress(n)
        return classes


@dataclass(frozen=True, slots=True, kw_only=True)
class SetIterative(SetMethod):
    """Options of set-iterative.

    >>> SetIterative(rounds=8).search
    'lsh'
    """

    name: ClassVar[str] = "set-iterative"

    search: Literal["all", "lsh"] = "lsh"
    """Which classes are looked at for the best one."""
    rounds: int = 4
    """The thesis's l: with 4, at first three quarters of the classes are dissolved, then a half, then a quarter."""
    tables: int = TABLES
    """Hash tables of lsh."""
    candidates: int = CANDIDATES
    """A sample has so many times ln n classes."""
    reading: Reading = "rothko"
    """Ours, or the thesis to the letter where we leave it."""

    def __post_init__(self) -> None:
        check_reading(self.name, self.reading)
        one_of(self.name, "search", self.search, ("all", "lsh"))
        whole_number(self.name, "rounds", self.rounds, least=2)
        whole_number(self.name, "tables", self.tables, least=1)
        whole_number(self.name, "candidates", self.candidates, least=1)

    def group(self, records: Records, k: int, *, seed: int, threads: int, progress: Progress) -> NDArray[np.int32]:
        """Cluster the records again and again (Algorithm 5)."""
        random = np.random.default_rng(seed)
        thesis = self.reading == "paper"
        made = _Classes(records, k, random, self)
        best, highest, before = made.of, -1.0, -1.0
        untold = records.count
        for parts in range(self.rounds - 1, 0, -1):
            after = records.count * (parts - 1) // (self.rounds - 1)
            while True:
                # How many passes there will be is not known: each counts for half of what is left of its fraction.
                step = (untold - after) // 2
                untold -= step
                made.dissolve(made.worst(parts / self.rounds))
                made.begin()
                made.join(step, progress)
                made.dissolve(made.small())
                made.join()
                total, rises = made.total, made.total > before
                if total > highest:
                    best, highest = made.of.copy(), total
                before = total
                if not rises:
                    break
            if not thesis:
                made.restore(best)
                before = highest
            progress(untold - after)
            untold = after
        return best


class _Classes:
    """Classes on their way: which one each record is in (-1: in none), and what the records of each share."""

    def __init__(self, records: Records, k: int, random: np.random.Generator, asked: SetIterative) -> None:
        self.records, self.k, self.exact, self.thesis = records, k, asked.search == "all", asked.reading == "paper"
        self.tables = _tables(records, random, asked)
        self.random, self.state = random, _state(random)
        self.sample = count_candidates(records.count, asked.candidates)
        self.most = records.count if self.thesis else count_of_bucket(FULL * self.sample, max(1, len(self.tables.keys)))
        self.restore(np.full(records.count, -1, dtype=np.int32))

    def restore(self, of: NDArray[np.int32]) -> None:
        """Take classes as they are given, numbered without gaps."""
        from rothko.kernels.sets.records import shared

        self.of = of.copy()
        count = int(of.max(initial=-1)) + 1
        within = np.flatnonzero(of >= 0)
        order = within[np.argsort(of[within], kind="stable")]
        self.size = np.bincount(of[within], minlength=count).astype(np.int64)
        bounds = np.concatenate(([0], np.cumsum(self.size)))
        starts, self.held = shared(order, bounds, self.records.starts, self.records.items, self.records.size)
        self.at, self.length = starts[:-1].copy(), np.diff(starts)
        owner = np.repeat(np.arange(count), self.length)
        self.worth = np.bincount(owner, weights=self.records.utility[self.held], minlength=count).astype(np.float64)

    @property
    def total(self) -> float:
        """The utility that is published."""
        return float(self.size @ self.worth)

    def worst(self, fraction: float) -> NDArray[np.bool_]:
        """Which classes have the lowest utility for a record, or the highest distance: a fraction of them."""
        chosen = np.zeros(len(self.size), dtype=np.bool_)
        good = -self.distance() if self.thesis else self.worth
        chosen[np.argsort(good, kind="stable")[: round(fraction * len(self.size))]] = True
        return chosen

    def distance(self) -> NDArray[np.float64]:
        """The mean distance of two records within each class, where all records are in one."""
        from rothko.kernels.sets.cluster import distances

        order, bounds = np.argsort(self.of, kind="stable"), np.concatenate(([0], np.cumsum(self.size)))
        apart: NDArray[np.float64] = distances(
            self.records.starts, self.records.items, self.records.utility, order, bounds
        )
        return apart

    def small(self) -> NDArray[np.bool_]:
        """Which classes have fewer than k records; not the largest, so that one is left."""
        chosen: NDArray[np.bool_] = self.size < self.k
        chosen[np.argmax(self.size)] = False
        return chosen

    def dissolve(self, chosen: NDArray[np.bool_]) -> None:
        """Dissolve classes: their records are in none."""
        if chosen.any():
            number = np.where(chosen, -1, np.cumsum(~chosen) - 1).astype(np.int32)
            self.restore(np.append(number, np.int32(-1))[self.of])

    def begin(self) -> None:
        """Begin classes with random records, until there are n/k or no loose record is left."""
        loose = self.random.permutation(np.flatnonzero(self.of < 0))
        new = loose[: max(0, self.records.count // self.k - len(self.size))]
        of = self.of.copy()
        of[new] = np.arange(len(self.size), len(self.size) + len(new), dtype=np.int32)
        self.restore(of)

    def join(self, step: int = 0, progress: Progress = lambda _: None) -> None:
        """Send all loose records to classes, in random order; together that counts as a step of progress."""
        from rothko.kernels.sets.cluster import join_all

        loose = self.random.permutation(np.flatnonzero(self.of < 0))
        for i, part in enumerate(np.array_split(loose, PARTS)):
            join_all(
                self.records.starts, self.records.items, self.records.utility, part, self.of, self.size, self.at,
                self.length, self.held, self.worth, self.exact, self.thesis, self.sample, self.most, self.tables,
                self.state,
            )  # fmt: skip
            progress(step * (i + 1) // PARTS - step * i // PARTS)


def _tables(records: Records, random: np.random.Generator, asked: SetCluster | SetIterative) -> Tables:
    """Hash tables where they are asked for."""
    if asked.search == "lsh":
        every = asked.reading == "paper"
        return preprocess(records, random, tables=asked.tables, candidates=asked.candidates, every=every)
    return without_tables(records)


def _state(random: np.random.Generator) -> NDArray[np.uint64]:
    """Where the random numbers of a kernel begin."""
    return random.integers(0, 2**63, 1, dtype=np.uint64)
