"""What Rothko-T and Rothko-S have in common: the job, and finishing a part that fits in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from rothko.data.survey.coded import Coded, Outline, Records
from rothko.engines.chooser import Chooser, exactly
from rothko.engines.disk.spill import Spill
from rothko.engines.disk.spilled import Spilled
from rothko.engines.frequency import Wanted
from rothko.engines.part import LargeClass, Part
from rothko.engines.plan import Budget
from rothko.engines.tree import Tree
from rothko.errors import PolicyError
from rothko.methods.classes import TreeClasses
from rothko.methods.mondrian.mondrian import Mondrian
from rothko.privacy.requirement import Requirement
from rothko.progress import Progress, silent
from rothko.workload.criteria import criteria
from rothko.workload.tasks import Task, models


@dataclass(slots=True)
class Counters:
    """What a run did, for the certificate."""

    passes: int = 0
    """Passes over the source."""
    repartitions: int = 0
    """How often records were written to disk, at most."""
    sampled: int = 0
    """Records of the first sample."""
    grown: int = 0
    """Nodes that were cut in samples."""
    pruned: int = 0
    """Nodes that were undone."""
    finished: int = 0
    """Records in finished parts."""
    handed_over: int = 0
    """Parts that Rothko-S left to Rothko-T."""


@dataclass(frozen=True, slots=True)
class Job:
    """A table that does not fit in memory, and what is asked of it."""

    outline: Outline
    requirements: tuple[Requirement, ...]
    method: Mondrian
    workload: tuple[Task, ...]
    budget: Budget
    spill: Spill
    threads: int = 1
    seed: int = 0
    progress: Progress = silent
    counters: Counters = field(default_factory=Counters)

    def chooser(self) -> tuple[Chooser, Wanted]:
        """What chooses cuts by definition, and what it needs to know."""
        if self.method.relaxed:
            raise PolicyError(
                "relaxed Mondrian parts equal values by the order of records, which only the engine memory knows; "
                "set relaxed: false, or engine: memory."
            )
        names = {line.name for line in self.outline.lines}
        for task in models(self.workload):
            beyond = [name for name in task.features or () if name not in names]
            if beyond:
                raise PolicyError(
                    f"{task.describe()}: the feature {beyond[0]!r} is no quasi-identifier, and only the engine memory "
                    "looks at others; leave it out, or set engine: memory."
                )
        found = criteria(
            self.outline.encoded(self.outline.nobody()),
            self.workload,
            lambda *_: 0,
            minimum_gain=self.method.minimum_gain,
        )
        targets = tuple(task.target for task in models(self.workload))
        least = max(1, *(r.least for r in self.requirements)) if self.requirements else 1
        wanted = Wanted.by(self.outline.domains, self.requirements, found, targets)
        chooser = Chooser(
            lines=self.outline.lines,
            domains=self.outline.domains,
            criteria=found,
            targets=targets,
            least=least,
            allowed=exactly(self.requirements),
            checks=any(r.column is not None for r in self.requirements),
        )
        return chooser, wanted

    def finish(self, coded: Coded, tree: Tree, node: int) -> Part:
        """Go on in memory with the records of a leaf."""
        encoded = self.outline.encoded(coded)
        partition = self.method.partition(
            encoded, self.requirements, workload=self.workload, phase=tree.phase[node], threads=self.threads
        )
        assert isinstance(partition, TreeClasses)
        return Part(encoded, partition.within(tree.low[node], tree.high[node]), coded.kept, node)

    def large(self, records: Records, tree: Tree, node: int) -> LargeClass:
        """A leaf that no cut divides and that does not fit in memory."""
        return LargeClass(
            self.outline, records.rows, partial(self.batches, records, "load"), self.budget.tuples, node,
            tree.low[node], tree.high[node],
        )  # fmt: skip

    def batches(self, records: Records, stage: str) -> Iterator[Coded]:
        """One pass over records; those over the source are told, for they are the same for all records."""
        if isinstance(records, Spilled | Joined) or stage == "load":
            self.counters.passes += not isinstance(records, Spilled | Joined)
            yield from records.batches()
            return
        self.counters.passes += 1
        done = 0
        self.progress(stage, 0, records.rows)
        for coded in records.batches():
            yield coded
            done += coded.rows
            self.progress(stage, done, records.rows)

    def finished(self, part: Part | LargeClass) -> Iterator[Part | LargeClass]:
        """Hand on a part, and tell how many of all records are in finished ones once it was taken."""
        rows = part.rows
        yield part
        self.counters.finished += rows
        self.progress("load", self.counters.finished, self.outline.rows)


@dataclass(frozen=True, slots=True)
class Joined:
    """The records of several spilled parts."""

    parts: tuple[Spilled, ...]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(part.rows for part in self.parts)

    def batches(self) -> Iterator[Coded]:
        """One pass over the records."""
        for part in self.parts:
            yield from part.batches()

    def load(self) -> Coded:
        """All records."""
        return gathered(self.batches())

    def remove(self) -> None:
        """Delete the files."""
        for part in self.parts:
            part.remove()


def gathered(batches: Iterator[Coded]) -> Coded:
    """Batches in one piece."""
    some = list(batches)
    return Coded(
        np.concatenate([coded.codes for coded in some], axis=1),
        {name: np.concatenate([coded.values[name] for coded in some]) for name in some[0].values},
        pa.concat_tables([coded.kept for coded in some]),
    )


def remove(records: Records) -> None:
    """Delete what was spilled and is not needed any more; a source stays."""
    if isinstance(records, Spilled | Joined):
        records.remove()
