"""The store of the engines on disk: a source that is read anew in every pass, or parts of it in a private folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from rothko.data.survey.coded import Coded, Records
from rothko.engines.crowd import Spans, Zone, collect
from rothko.engines.disk.spill import Spill
from rothko.engines.disk.spilled import Spilled
from rothko.engines.frequency import Wanted, count
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.part import LargeClass, Part
from rothko.engines.store import Job
from rothko.engines.tree import Tree
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent
from rothko.trim import give_back


@dataclass(frozen=True, slots=True)
class DiskStore:
    """Records of a source, or of one or several files that were spilled."""

    job: Job
    spill: Spill
    tuples: int
    """Records that fit in memory while classes are made of them."""
    buffers: int
    """Bytes for records on their way to disk."""
    records: Records | None = None
    """The source; None where the records lie in files."""
    files: tuple[Spilled, ...] = ()
    progress: Progress = silent

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(file.rows for file in self.files) if self.records is None else self.records.rows

    def sample(self, size: int, seed: int) -> Coded:
        """A simple random sample without replacement, in one pass."""
        random = np.random.default_rng([seed, self.rows])
        chosen = np.sort(random.choice(self.rows, min(size, self.rows), replace=False, shuffle=False))
        begin, some = 0, []
        for coded in self._pass("sample"):
            ends = np.searchsorted(chosen, [begin, begin + coded.rows])
            some.append(coded.take(chosen[ends[0] : ends[1]] - begin))
            begin += coded.rows
        return gathered(some)

    def count(self, tree: Tree, nodes: Sequence[int], wanted: Wanted) -> list[FrequencyGroup]:
        """The frequency groups of some nodes, in one pass."""
        route = tree.route({node: i for i, node in enumerate(nodes)})
        low, high = tree.regions(nodes)
        return count(self._pass("count"), route, low, high, wanted, threads=self.job.threads)

    def people(
        self, tree: Tree, nodes: Sequence[int], owner: str, wanted: Sequence[Sequence[Spans]]
    ) -> list[list[Zone]]:
        """Who has some codes of each line in each of some nodes, in one pass."""
        return collect(self._pass("count"), tree.route({node: i for i, node in enumerate(nodes)}), owner, wanted)

    def split(self, tree: Tree, leaves: Sequence[int], wanted: Wanted | None) -> tuple[list[DiskStore], Statistics]:
        """Write the records to one file per leaf, and count exactly what is wanted."""
        give_back()  # what growth has taken
        writer = self.spill.writer(self.job.outline, parts=len(leaves), memory=self.buffers)
        route = tree.route({leaf: i for i, leaf in enumerate(leaves)})
        total: Statistics | None = None
        for coded in self._pass("repartition"):
            place = route(coded)
            if wanted is not None:
                stats = wanted.statistics(place, len(leaves), coded, self.job.outline.domains)
                total = stats if total is None else total + stats
            writer.write(place, coded)
        stores = [replace(self, records=None, files=(file,)) for file in writer.close()]
        self.remove()
        give_back()
        return stores, total or tree.counted(leaves)

    def join(self, others: Sequence[DiskStore]) -> DiskStore:
        """The records of several files."""
        return replace(self, files=(*self.files, *(file for other in others for file in other.files)))

    def finish(self, tree: Tree, node: int) -> Part | LargeClass:
        """Load the records and go on in memory; where they do not fit there, they are one class."""
        if self.rows > self.tuples:
            give_back()
            low, high = tree.low[node], tree.high[node]
            return LargeClass(self.job.outline, self.rows, partial(self._pass, "load"), self.tuples, node, low, high)
        coded = self.files[0].load() if len(self.files) == 1 else gathered(list(self._pass("load")))
        self.remove()
        return self.job.finish(coded, tree, node)

    def remove(self) -> None:
        """Delete the files; a source stays."""
        for file in self.files:
            file.remove()

    def _pass(self, stage: str) -> Iterator[Coded]:
        """One pass over the records; those over the source are told, for they are the same for all records."""
        if self.records is None:
            for file in self.files:
                yield from file.batches()
        elif stage == "load":
            yield from self.records.batches()
        else:
            yield from passing(self.records, stage, self.progress)


def passing(records: Records, stage: str, progress: Progress) -> Iterator[Coded]:
    """One pass over a source, which is told."""
    done = 0
    progress(stage, 0, records.rows)
    for coded in records.batches():
        yield coded
        done += coded.rows
        progress(stage, done, records.rows)


def gathered(some: Sequence[Coded]) -> Coded:
    """Batches in one piece."""
    return Coded(
        np.concatenate([coded.codes for coded in some], axis=1),
        {name: np.concatenate([coded.values[name] for coded in some]) for name in some[0].values},
        pa.concat_tables([coded.kept for coded in some]),
    )
