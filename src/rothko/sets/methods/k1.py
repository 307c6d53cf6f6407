"""set-k1: for each record a set of its items that at least k original records contain.

(k,1)-anonymity (Gionis, Mazza, Tassa, ICDE 2008), as in Podgursky, "Practical k-Anonymity on Large Datasets"
(Vanderbilt, 2011), chapters II to IV: the published record may be that of any of k people. The adversary may know all
original records, but not what was published for the others; certificates say so.

``all`` and ``lsh`` are Algorithm 9: around each record k − 1 others are gathered, one after the other, by the utility
that all share; among all records, or among those in the buckets of the record or of what is shared so far, as in
:mod:`rothko.sets.methods.cluster`. Nothing is used up here, so what was looked at once can be asked again: as long as
somebody has all that is shared, they are taken without a new look. Else up to 4 c · ln n records of the buckets join
the pool, filled to c · ln n with random ones, and of all who are in it the one that shares most is taken. So there are
no more looks than items in the record, however large k is.

With ``reading: paper`` the buckets are asked anew for each record that joins, and candidates are those who are
in them alone; where they have nobody left, a random sample.

``topdown`` is ours, what the thesis leaves to future work. A set grows item by item while at least k records contain
it. By an item of which a share p of the supporting records have, log(1/p) is spent of the log(n/k) that there is to
spend, so the item with the most utility for log(1/p) is next, as in a knapsack. Records take the same steps for as
long as they have the same best item, which makes a tree; unlike Mondrian's, a record without the item costs the others
nothing, as supporting records need not take the same steps. No node looks at more supporting records than RATIO for
each record that is to be published there, or CAP; so time grows as n log n. Where CAP or fewer are left, each set is
grown by itself, with a row of bits for each item. A record that gets more from the class in which set-mondrian puts it
publishes what that class shares; so no less is kept than with set-mondrian.

What is drawn at random: all that is compared counts up to ``noise`` more, by the seed. Another seed draws other sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rothko.methods.letter import Reading, check_reading
from rothko.privacy.requirement import number, whole_number
from rothko.progress import each
from rothko.sets.methods.lsh import (
    CANDIDATES,
    FULL,
    TABLES,
    count_candidates,
    count_of_bucket,
    preprocess,
    without_tables,
)
from rothko.sets.methods.method import Progress, SetK1Method, one_of
from rothko.sets.records import Common, Records

RATIO = 4
"""Supporting records that a node of topdown looks at, for each record that is published there."""
CAP = 8192
"""Supporting records with which each set is grown by itself."""
ROOM = 16
"""There are at least so many times k supporting records to look at: fewer would leave too little to choose from."""
WORDS = 4
"""Of 64 bits, in the signature of a record, which tells what it may share at most."""
PARTS = 64
"""Into how many parts the records are divided for threads; always the same, so that threads change nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetK1(SetK1Method):
    """Options of set-k1.

    >>> SetK1(search="lsh").name
    'set-k1'
    """

    name: ClassVar[str] = "set-k1"

    search: Literal["topdown", "lsh", "all"] = "topdown"
    """How sets are found: top down, or around each record among a sample or all records."""
    noise: float = 0.5
    """Up to which part more things count, at random, when they are compared."""
    query: Literal["first", "shared"] = "first"
    """Whose buckets lsh looks into: those of the record, or of what is shared so far."""
    tables: int = TABLES
    """Hash tables of lsh."""
    candidates: int = CANDIDATES
    """A sample of lsh has so many times ln n records."""
    reading: Reading = "rothko"
    """Ours, or for lsh the thesis to the letter where we leave it."""

    def __post_init__(self) -> None:
        check_reading(self.name, self.reading)
        one_of(self.name, "search", self.search, ("topdown", "lsh", "all"))
        one_of(self.name, "query", self.query, ("first", "shared"))
        number(self.name, "noise", self.noise, least=0)
        whole_number(self.name, "tables", self.tables, least=1)
        whole_number(self.name, "candidates", self.candidates, least=1)

    def publish(
        self, records: Records, k: int, seed: int, *, threads: int = 1, progress: Progress = lambda _: None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The published sets in the order of the records, as CSR."""
        chosen = np.zeros(len(records.items), dtype=np.bool_)
        random = np.random.default_rng(seed)
        if self.search == "topdown":
            _descend(records, k, float(self.noise), random, threads, progress, chosen)
            _keep_mondrian(records, k, seed, threads, chosen)
        else:
            self._gather(records, k, random, threads, progress, chosen)
        counts = np.concatenate(([0], np.cumsum(chosen)))
        return counts[records.starts], records.items[chosen]

    def _gather(
        self, records: Records, k: int, random: np.random.Generator, threads: int, progress: Progress,
        chosen: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """Algorithm 9."""
        from rothko.kernels.sets.k1 import gather_anew, gather_k, sign
        from rothko.kernels.sets.records import by_item

        exact, thesis, by_shared = self.search == "all", self.reading == "paper", self.query == "shared"
        tables = (
            without_tables(records)
            if exact
            else preprocess(records, random, tables=self.tables, candidates=self.candidates, every=thesis)
        )
        holders = by_item(records.starts, records.items, records.size)
        bit_of = _bits(records.frequencies())
        signatures = sign(records.starts, records.items, bit_of, 0 if exact else WORDS)
        sample, seed = count_candidates(records.count, self.candidates), _seed(random)

        def work(part: NDArray[np.int64]) -> None:
            if not len(part):
                return
            if thesis and not exact:
                gather_anew(
                    records.starts, records.items, records.utility, k, part[0], part[-1] + 1, by_shared, sample,
                    float(self.noise), tables, bit_of, signatures, seed, chosen,
                )  # fmt: skip
            else:
                gather_k(
                    records.starts, records.items, records.utility, k, part[0], part[-1] + 1, exact, by_shared, sample,
                    count_of_bucket(FULL * sample, self.tables), float(self.noise), *holders, tables, bit_of,
                    signatures, seed, chosen,
                )  # fmt: skip
            progress(len(part))

        each(work, np.array_split(np.arange(records.count), PARTS), threads)


def _descend(
    records: Records, k: int, noise: float, random: np.random.Generator, threads: int, progress: Progress,
    chosen: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Grow the sets top down: the first item of each, then each subtree by itself."""
    from rothko.kernels.sets.k1 import branch, descend
    from rothko.kernels.sets.records import by_item

    starts, items, n = records.starts, records.items, records.count
    positive = records.utility[records.utility > 0]
    # Items without utility come last, but they come.
    worth = np.maximum(records.utility, positive.min(initial=1.0) * 1e-6)
    holders = by_item(starts, items, records.size)
    cap, seed = max(CAP, ROOM * k), _seed(random)
    parts: list[tuple[list[int], list[NDArray[np.int32]]]]
    if n <= cap:
        parts = [([-1], [part.astype(np.int32)]) for part in np.array_split(np.arange(n), PARTS) if len(part)]
    else:
        group = np.arange(n, dtype=np.int32)
        first = branch(starts, items, worth, k, group, n, np.diff(holders[0]), noise, seed, np.uint64(0), chosen)
        some, begins = np.unique(first, return_index=True)
        trees = [
            (int(root), records_of)
            for root, records_of in zip(some, np.split(group, begins[1:]), strict=True)
            if root >= 0
        ]
        parts = [([root for root, _ in trees[i::PARTS]], [part for _, part in trees[i::PARTS]]) for i in range(PARTS)]
        progress(n - sum(len(part) for _, part in trees))

    def work(part: tuple[list[int], list[NDArray[np.int32]]]) -> None:
        roots, groups = part
        if roots:
            bounds = np.cumsum([0, *map(len, groups)])
            descend(
                starts, items, worth, k, np.array(roots, dtype=np.int64), bounds, np.concatenate(groups), *holders,
                RATIO, cap, noise, seed, chosen,
            )  # fmt: skip
            progress(int(bounds[-1]))

    each(work, parts, threads)


def _keep_mondrian(records: Records, k: int, seed: int, threads: int, chosen: NDArray[np.bool_]) -> None:
    """Publish what a class of set-mondrian shares wherever that has more utility."""
    from rothko.kernels.sets.k1 import mark_shared
    from rothko.sets.methods.mondrian import SetMondrian

    classes = SetMondrian().group(records, k, seed=seed, threads=threads, progress=lambda _: None)
    common = Common.of(classes, records.starts, records.items, records.size)
    mark_shared(records.starts, records.items, records.utility, classes, common.starts, common.items, chosen)


def _bits(frequencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bit of each item in signatures: frequent items have one of their own, the others share those of a word."""
    rank = np.argsort(np.argsort(-frequencies, kind="stable"))
    own = 64 * (WORDS - 1)
    return np.where(rank < own, rank, own + rank % 64)


def _seed(random: np.random.Generator) -> np.uint64:
    return random.integers(0, 2**63, dtype=np.uint64)
