"""What an engine brings: a store, which holds records and is asked, and the job that is sent to where they lie.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5: everything that decides a cut is a sum, so a driver grows the top
of the tree without the records. It needs four verbs. The first pass over a table *surveys* it: its lines and domains,
a sample, and the store of all records (:func:`rothko.data.survey.survey.survey` for files). A store then *counts*
frequency groups, *splits* itself by the leaves of a tree, and *finishes* a leaf where its records lie.
:mod:`rothko.engines.driver` does the rest, for every engine alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.engines.chooser import Chooser, exactly
from rothko.engines.crowd import Crowd, Spans, Zone, people_asked
from rothko.engines.frequency import Wanted
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.part import Part
from rothko.engines.tree import Tree
from rothko.methods.classes import TreeClasses
from rothko.methods.layout import fewest
from rothko.methods.mondrian.mondrian import Mondrian
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics
from rothko.workload.criteria import criteria
from rothko.workload.tasks import Task, models


class Finished(Protocol):
    """What a leaf has become: a part that is handed on, or word of one that stays where it lies."""

    @property
    def rows(self) -> int:
        """Number of records."""
        ...


Done = TypeVar("Done", bound=Finished, covariant=True)


class Store(Protocol[Done]):
    """Some records of a table, wherever they lie: all of them, or those of one leaf of the top of the tree.

    To write an engine is to write one of these. All records are codes on the lines of the job's outline, and nothing
    but samples, sums and finished parts comes to the driver. The order of the records is the store's own; what it
    answers must not depend on how they are spread over files or machines.
    """

    @property
    def rows(self) -> int:
        """Number of records, known exactly."""
        ...

    def sample(self, size: int, seed: int) -> Coded:
        """A simple random sample of so many records without replacement, or all of them; the same for the same seed.

        Rothko-S asks for it where a part is too large still; the first sample comes from the survey.
        """
        ...

    def count(self, tree: Tree, nodes: Sequence[int], wanted: Wanted) -> list[FrequencyGroup]:
        """The frequency group of each of some nodes, in one pass over the records: exact sums.

        ``tree`` is rooted at the records of this store; its :meth:`~rothko.engines.tree.Tree.route` sends a record to
        its node. :func:`rothko.engines.frequency.count` counts batches of codes, and its sums add up over machines.
        """
        ...

    def people(
        self, tree: Tree, nodes: Sequence[int], owner: str, wanted: Sequence[Sequence[Spans]]
    ) -> list[list[Zone]]:
        """Who has some codes of each line in each of some nodes, in one pass: by :func:`rothko.engines.crowd.collect`.

        Asked where people are counted and the number of records does not tell enough of them.
        """
        ...

    def split(self, tree: Tree, leaves: Sequence[int], wanted: Wanted | None) -> tuple[list[Self], Statistics]:
        """A store for each of the leaves, which together have every record, and the exact sums of each leaf.

        The sums are those of :meth:`~rothko.engines.frequency.Wanted.statistics`, row by row in the order of the
        leaves. Where nothing is wanted the tree knows how many records each leaf has
        (:meth:`~rothko.engines.tree.Tree.counted`). The records have moved on: this store is not asked again.
        """
        ...

    def join(self, others: Sequence[Self]) -> Self:
        """The records of this store and others of the same split, where the cuts between them were undone."""
        ...

    def finish(self, tree: Tree, node: int) -> Done:
        """What the records become as the leaf ``node`` of the whole tree, made where they lie: by :meth:`Job.finish`.

        Where they do not fit in memory they are one class, and go through it a batch at a time. A store whose records
        lie elsewhere may only take note of the leaf, and have all of them finished at once when the tree is grown.
        """
        ...

    def remove(self) -> None:
        """Give up the records; nobody needs them any more. Nothing happens the second time."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked of a table. Plain data: it can be sent to where the records lie."""

    outline: Outline
    requirements: tuple[Requirement, ...]
    method: Mondrian
    workload: tuple[Task, ...]
    seed: int = 0
    threads: int = 1

    def chooser(self) -> tuple[Chooser, Wanted]:
        """What chooses cuts by definition, and what it needs to know."""
        nobody = self.outline.encoded(self.outline.nobody())
        found = criteria(nobody, self.workload, lambda *_: 0, minimum_gain=self.method.minimum_gain)
        targets = tuple(task.target for task in models(self.workload))
        chooser = Chooser(
            lines=self.outline.lines,
            domains=self.outline.domains,
            criteria=found,
            targets=targets,
            least=fewest(self.requirements),
            allowed=exactly(self.requirements),
            checks=any(r.column is not None or r.owner is not None for r in self.requirements),
            crowd=self.crowd(),
            letter=self.method.by_the_letter,
        )
        wanted = Wanted.by(self.outline.domains, self.requirements, found, targets, owner=self.outline.owner)
        return chooser, wanted

    def crowd(self, among: NDArray[np.int32] | None = None) -> Crowd | None:
        """The people of the table, or among some records of theirs, where people are counted."""
        owner = self.outline.owner
        if owner is None:
            return None
        counts = self.outline.domains[owner].counts if among is None else np.bincount(among)
        return Crowd.of(owner, counts, people_asked(self.requirements, owner))

    def finish(self, coded: Coded, tree: Tree, node: int) -> Part:
        """Go on in memory with the records of a leaf."""
        encoded = self.outline.encoded(coded)
        partition = self.method.partition(
            encoded,
            self.requirements,
            workload=self.workload,
            phase=tree.phase[node],
            region=(tree.low[node], tree.high[node]),
            threads=self.threads,
        )
        assert isinstance(partition, TreeClasses)
        return Part(encoded, partition.within(tree.low[node], tree.high[node]), coded.kept, node)
