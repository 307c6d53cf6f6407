"""cluster: the least loss, by greedy clustering, lifting and repair.

Ours, from ideas of others: greedy clustering of records by NCP (Byun, Kamra, Bertino, Li, DASFAA 2007), blocks of
records that lie together on the Hilbert curve (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007), boxes that are lifted
along hierarchies until enough records lie in them, and classes that are taken apart and built again.

There are two starts. *Growing*: a class begins with the tuple of most records and takes the nearest ones, or is
lifted, whichever is cheaper (:mod:`rothko.kernels.cluster.greedy`); small tables are one block, large ones are cut into
blocks along the curve, so that time grows as the records do. *Peeling*: the cheapest generalization first
(:mod:`rothko.methods.cluster.peel`). Records and classes of both are moved and made anew
(:mod:`rothko.methods.cluster.repair`), and the better one is repaired further (:mod:`rothko.methods.cluster.search`).

Values that are spread evenly are grouped better by cutting than by growing: where Median Mondrian loses far less than
the clusters, its classes are repaired in their place. So are groups along the Hilbert curve where a requirement is so
hard to meet that many records end in one class.

All requirements are built in: while one lacks, a class takes only records that bring it nearer. Records that are left
in a block go to the blocks of a second round, of four times the size, and so on; the last ones join classes that
hold with them, or make classes merge.

For a model of a workload lines weigh what they tell about its target (:mod:`rothko.methods.cluster.weights`); nothing
else is different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.errors import PolicyError
from rothko.methods.classes import Classes, LocalClasses
from rothko.methods.cluster.peel import peeled
from rothko.methods.cluster.repair import Effort, Halves, cut_evenly, joined, repaired, settled
from rothko.methods.cluster.room import Room
from rothko.methods.cluster.search import EFFORTS, Plan, Start, searched
from rothko.methods.cluster.tuples import Entries, Tuples
from rothko.methods.cluster.weights import weighed
from rothko.methods.curve.curve import HilbertMapping, Mapping
from rothko.methods.curve.hilbert import Hilbert
from rothko.methods.curve.segments import Segment
from rothko.methods.method import LocalMethod, Progress, flag, silent
from rothko.methods.mondrian.mondrian import Mondrian
from rothko.privacy.requirement import Requirement, number, whole_number
from rothko.progress import Ending, each, ending
from rothko.workload.tasks import Aggregate, Model, Task

LEAST_BLOCK = 1_000
CLASSES_IN_BLOCK = 20
"""How many classes a block has room for at least, where its size is chosen here."""
WHOLE = 3_000_000_000
"""A table is clustered as a whole while tuples times tuples times lines are no more: about two seconds."""
WORK = 300_000_000
"""The same for tuples times tuples of a block, of larger tables."""
FAR_LESS = 0.85
"""Repair gains more on clusters than on classes that were cut: these must lose less than so much of what those do."""
REMAINS = 50
"""A class of so many times k records is what no other could take, and costs all of them: where a requirement is so hard
to meet, groups along the curve are taken as soon as they lose less."""
LARGE_K = 10
"""From this k on lifting is tried: below it gains less than its time."""
KEPT = 1_000_000_000
"""Bytes of boxes, and of the levels of all lines, where there are as many as a search takes."""
INTERRUPTED = "The search for classes was ended by hand; these are the best that it had found."


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(LocalMethod):
    """Options of cluster.

    >>> Cluster(block=2000).name
    'cluster'
    """

    name: ClassVar[str] = "cluster"
    takes: ClassVar[tuple[type[Task], ...]] = (Aggregate, Model)
    in_segments: ClassVar[Literal["exactly", "nearly", "no"]] = "nearly"

    repair: bool = True
    """Move records, dissolve classes and cluster the worst anew."""
    block: int | Literal["auto"] = "auto"
    """Records that are clustered together: time grows with it, loss falls. The whole table while that takes seconds."""
    effort: Literal["fast", "default", "thorough"] | None = None
    """How long to search; None is default. Fast grows classes and repairs them for a few seconds."""
    seconds: float | None = None
    """How long to search, by the clock: what comes of it hangs on the machine."""

    def __post_init__(self) -> None:
        flag(self.name, "repair", self.repair)
        if self.effort not in (None, *EFFORTS):
            raise PolicyError(f"{self.name}: effort must be fast, default or thorough, not {self.effort!r}.")
        if self.seconds is not None:
            number(self.name, "seconds", self.seconds, above=0)
        given = [name for name in ("effort", "seconds") if getattr(self, name) is not None]
        if len(given) == 2:
            raise PolicyError(f"{self.name}: effort and seconds both say how long to search; give one of them.")
        if given and not self.repair:
            raise PolicyError(f"{self.name}: without repair nothing is searched; leave out {given[0]} or repair.")
        if self.block != "auto":
            whole_number(self.name, "block", self.block, least=2)

    def partition(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        *,
        workload: Sequence[Task] = (),
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
        room: int | None = None,
    ) -> LocalClasses:
        """Cluster the records, and repair what came of it; for a model, by what lines tell about its target."""
        encoded = weighed(encoded, workload)
        tuples = Tuples.of(encoded, requirements, threads=threads)
        if not self.repair:
            return self._grouped(tuples, requirements, seed, threads, progress)
        if self.effort == "fast":
            shown = Halves(encoded.rows, progress)
            found = self._grouped(tuples, requirements, seed, threads, shown.made)
            return repaired(tuples, found, seed=seed, threads=threads, shown=shown)
        plan = Plan.for_table(tuples, self.effort or "default", self.seconds, Room(room))

        def grown(threads: int) -> Entries:
            return tuples.entries(self._grouped(tuples, requirements, seed, threads, silent))

        with ending(self.seconds) as over:

            def generalized(threads: int) -> Entries | None:
                return self._generalized(tuples, plan, seed, threads, over)

            fast = Effort.for_table(tuples)
            # Prices make all classes anew: before them records are moved, and no more.
            first = replace(plan.repair, steps=0) if plan.rounds else plan.repair
            starts = (Start(grown, [fast] * fast.passes), Start(generalized, [first]))
            found = searched(tuples, starts, plan, over, seed=seed, threads=threads, progress=progress)
        return replace(found, notes=(*found.notes, *((INTERRUPTED,) if over.asked else ())))

    @property
    def keeps(self) -> int:
        """What boxes and levels take where there are as many as are looked at; nothing where no search follows."""
        return KEPT if self.repair and self.effort != "fast" else 0

    def weighed(self, sample: Encoded, workload: Sequence[Task]) -> tuple[Line, ...]:
        """By what each line tells about the targets of models."""
        return weighed(sample, workload).lines

    def mapping(self, sample: Encoded, *, seed: int, threads: int) -> HilbertMapping:
        """The Hilbert curve, along which blocks are cut, too."""
        return HilbertMapping()

    def within(
        self,
        encoded: Encoded,
        mapping: Mapping,
        requirements: Sequence[Requirement],
        *,
        segments: Sequence[Segment],
        seed: int,
        threads: int = 1,
        room: int | None = None,
    ) -> LocalClasses:
        """The clusters of the records of a segment; one, where they are all alike and too many."""
        [segment] = segments
        if segment.alike:
            return LocalClasses.of(encoded, np.zeros(encoded.rows, dtype=np.int64), 1)
        return self.partition(encoded, requirements, seed=seed, threads=threads, room=room)

    def _grouped(
        self, tuples: Tuples, requirements: Sequence[Requirement], seed: int, threads: int, progress: Progress
    ) -> LocalClasses:
        """The clusters, or what Mondrian cuts or the curve groups where that loses far less."""
        encoded = tuples.encoded
        clustered = tuples.partition(_clustered(tuples, self._size(tuples), seed, threads, progress))
        cut: Classes = Mondrian().partition(encoded, requirements, threads=threads)
        share = FAR_LESS
        if clustered.sizes.max(initial=0) > REMAINS * tuples.k:
            grouped = Hilbert().partition(encoded, requirements, threads=threads)
            cut, share = min(cut, grouped, key=lambda one: one.gcp(encoded.lines)), 1.0
        if cut.gcp(encoded.lines) >= share * clustered.gcp(encoded.lines):
            return clustered
        return LocalClasses.of(encoded, cut.class_of(), cut.classes)

    def _generalized(self, tuples: Tuples, plan: Plan, seed: int, threads: int, over: Ending) -> Entries | None:
        """The cheapest generalization first; records that none could serve are clustered."""
        found = peeled(tuples, patience=plan.patience, over=over, room=plan.room)
        if found is None:
            return None
        loose = found.classes < 0
        if not loose.any():
            return found
        left = np.bincount(found.tuples[loose], weights=found.amounts[loose], minlength=tuples.count).astype(np.int64)
        return _clustered(tuples, self._size(tuples), seed, threads, silent, left=left, done=found.where(~loose))

    def _size(self, tuples: Tuples) -> int:
        """Records of a block."""
        rows, work = len(tuples.records), tuples.count * len(tuples.encoded.lines)
        if self.block != "auto":
            return max(self.block, 2 * tuples.k)
        if work * tuples.count <= WHOLE:
            return rows
        return max(LEAST_BLOCK, CLASSES_IN_BLOCK * tuples.k, WORK * rows // (work * tuples.count))


def _clustered(
    tuples: Tuples,
    block: int,
    seed: int,
    threads: int,
    progress: Progress,
    *,
    left: NDArray[np.int64] | None = None,
    done: Entries | None = None,
) -> Entries:
    """Classes of all tuples, or of what is left of them beside classes that are done."""
    left, done = tuples.counts if left is None else left, done or Entries.none()
    while True:
        there = np.flatnonzero(left)
        parts = _cluster_blocks(tuples, there, left[there], block, seed, threads, progress)
        found = joined([done, parts])
        loose = found.classes < 0
        remaining = int(found.amounts[loose].sum())
        whole = block >= int(left.sum())
        if whole or remaining == 0:
            break
        left = np.bincount(found.tuples[loose], weights=found.amounts[loose], minlength=tuples.count).astype(np.int64)
        done = found.where(~loose)
        block *= 4
    if remaining:
        found = settled(tuples, found, threads=threads)
        progress(remaining)
    return found


def _cluster_blocks(
    tuples: Tuples,
    there: NDArray[np.int64],
    counts: NDArray[np.int64],
    block: int,
    seed: int,
    threads: int,
    progress: Progress,
) -> Entries:
    """Classes of some tuples with so many records, block by block along the curve; what is left over is in none."""
    from rothko.kernels.cluster.greedy import LIFTING, group_block

    way = LIFTING if tuples.k >= LARGE_K else 0
    blocks = list(pairwise([0, *cut_evenly(np.cumsum(counts), block).tolist()]))
    shuffled = np.random.default_rng(seed).permutation(len(there))

    def work(span: tuple[int, int]) -> Entries:
        # Ties go to the first tuple; along the curve that would eat it up from one end.
        some = np.arange(*span)[np.argsort(shuffled[slice(*span)])]
        held = there[some]
        found = group_block(
            tuples.lines, tuples.x.take(held, axis=1), counts[some], tuples.values.take(held, axis=1), tuples.k,
            tuples.rules.asked, way, np.uint64(0),
        )  # fmt: skip
        entries = Entries(held[found[0]], *found[1:])
        progress(int(entries.amounts[entries.classes >= 0].sum()))
        return entries

    return joined(each(work, blocks, threads))
