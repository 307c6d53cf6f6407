"""What a release loses, whole or from its parts: as much of it as may stand in a certificate.

A table that does not fit in memory leaves part by part, and what its parts lose adds up. Three things do not add up
like the rest: models that look at some of the quasi-identifiers, to whom classes of different parts may be one group
(:mod:`rothko.metrics.seen`); which counts of predicates may be told (:mod:`rothko.metrics.venn`); and a class that is
larger than memory, whose batches are no classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Outline
from rothko.engines.growing import Tables
from rothko.engines.part import LargeClass
from rothko.methods.classes import Classes
from rothko.metrics.loss import combine, combine_tasks, loss, workload_loss
from rothko.metrics.seen import Seen
from rothko.metrics.venn import Venn, total
from rothko.metrics.workload import View, entropy, selections_of, variance, venn_of
from rothko.policy.policy import Policy
from rothko.release.large_class import Sums
from rothko.release.loss import ClassifyLoss, Loss, RegressLoss, SelectLoss, TaskLoss
from rothko.release.measured import Shown
from rothko.release.publish import alike
from rothko.workload.tasks import Aggregate, Classify, Model


class Lost(NamedTuple):
    """What some classes lose, more of it than may stand in a certificate."""

    loss: Loss
    venn: Venn | None = None
    """How the predicates of the workload divide the classes: says which of their counts may leave, and stays here."""

    @classmethod
    def by(
        cls, encoded: Encoded, partition: Classes, classes: NDArray[np.int32], published: Shown, policy: Policy,
        times: NDArray[np.int64] | None = None,
    ) -> Lost:  # fmt: skip
        """Measure some classes: their records, the class of each, what classes show; how often each record occurs."""
        lost = loss(encoded.lines, partition.widths(encoded.lines), partition.sizes, alike(published))
        if not policy.workload:
            return cls(lost)
        view = View.of(encoded, partition, classes, published, policy, times)
        selections = selections_of(view, policy.workload)
        tasks = workload_loss(view, policy.workload, selections)
        return cls(replace(lost, workload=tasks), venn_of(view, selections))

    @staticmethod
    def with_suppressed(
        encoded: Encoded, partition: Classes, sizes: NDArray[np.int64], published: Shown, left_out: int
    ) -> Loss:
        """What is lost where records are suppressed, by a class more than the partition has, or by being left out."""
        widths = partition.widths(encoded.lines)
        silent = np.ones((len(sizes) - partition.classes, len(encoded.lines)))
        return loss(encoded.lines, np.vstack([widths, silent]), sizes, alike(published), left_out=left_out)

    def public(self) -> Loss:
        """What of it may go with the release."""
        told = iter([] if self.venn is None else self.venn.tellable(self.loss.smallest_class))
        tasks = (task.public(tell=isinstance(task, SelectLoss) and next(told)) for task in self.loss.workload)
        return replace(self.loss, workload=tuple(tasks))


Measured = tuple[list[int], list[Lost], dict[int, tuple[Sums, list[Lost]]]]
"""Records of some parts, what each loses, and the pieces of classes that are in several parts."""


class LossMeter:
    """Adds up what the parts of a release lose (:class:`rothko.release.measured.Meter`)."""

    def __init__(
        self, policy: Policy, outline: Outline, tables: Tables, *, threads: int = 1, memory: int | None = None
    ) -> None:
        self._policy, self._outline, self._folder = policy, outline, tables.folder
        self._threads, self._memory = threads, memory
        self._lost: list[Lost] = []
        self._rows: list[int] = []
        self._pieces: dict[int, tuple[Sums, list[Lost]]] = {}
        """Leaf that is one class, of which some records were taken in → what is known of it, and what these lose."""
        self._seen = {
            i: Seen(task, outline.domains[task.target], tables)
            for i, task in enumerate(policy.workload)
            if isinstance(task, Model) and task.features is not None
        }

    def add(self, encoded: Encoded, partition: Classes, classes: NDArray[np.int32], published: Shown) -> None:
        """Take in some classes: their records, the class of each, and what the classes show."""
        self._rows.append(encoded.rows)
        self._lost.append(self._measured(encoded, partition, classes, published))

    def add_counted(self, encoded: Encoded, partition: Classes, times: NDArray[np.int64], published: Shown) -> None:
        """Take in some classes by their different records, class by class, and how often each occurs."""
        assert all(isinstance(task, Classify | Aggregate) for task in self._policy.workload), "others look at records"
        classes = np.repeat(np.arange(partition.classes, dtype=np.int32), partition.sizes)
        ends = np.append(0, np.cumsum(times))[partition.starts]
        self._rows.append(int(ends[-1]))
        self._lost.append(Lost.by(encoded, replace(partition, starts=ends), classes, published, self._policy, times))

    def add_class(self, part: LargeClass, sums: Sums, published: Shown) -> None:
        """Take in a class whose records do not fit in memory."""
        self._add_whole(sums, self._in_batches(part, sums, published))

    def add_piece(self, part: LargeClass, sums: Sums, published: Shown) -> None:
        """Take in some records of such a class, the others of which are elsewhere."""
        self._pieces.setdefault(part.leaf, (sums, []))[1].extend(self._in_batches(part, sums, published))

    def _in_batches(self, part: LargeClass, sums: Sums, published: Shown) -> list[Lost]:
        """What is lost for the workload by some records of a class at a time."""
        some = []
        for coded in part.batches() if self._policy.workload else ():
            encoded, partition = sums.box_of(part, coded)
            some.append(self._measured(encoded, partition, np.zeros(coded.rows, dtype=np.int32), published))
        return some

    def _add_whole(self, sums: Sums, some: Sequence[Lost]) -> None:
        lines = self._outline.lines
        widths = [line.width(sums.low[i : i + 1], sums.high[i : i + 1]) for i, line in enumerate(lines)]
        lost = loss(lines, np.stack(widths, axis=1), np.array([sums.rows]))
        venn = total(one.venn for one in some)
        self._rows.append(sums.rows)
        self._lost.append(
            Lost(replace(lost, workload=self._tasks(sums, some)), None if venn is None else venn.as_one_class())
        )

    def measured(self) -> Measured:
        """What was taken in so far, as plain data."""
        if len(self._lost) > 1:
            lost = combine([one.loss for one in self._lost], self._rows)
            venn = total(one.venn for one in self._lost)
            self._lost = [Lost(replace(lost, workload=self._combined(self._lost)), venn)]
            self._rows = [sum(self._rows)]
        return self._rows, self._lost, self._pieces

    def take_in(self, measured: Measured) -> None:
        """Add what another meter has measured."""
        rows, lost, pieces = measured
        self._rows.extend(rows)
        self._lost.extend(lost)
        for leaf, (sums, some) in pieces.items():
            self._pieces.setdefault(leaf, (sums, []))[1].extend(some)

    def finish(self) -> Loss:
        """What all parts lost together, as it may go with the release."""
        for sums, some in self._pieces.values():
            self._add_whole(sums, some)
        self._pieces = {}
        tasks = list(self._combined(self._lost))
        for i, seen in self._seen.items():
            tasks[i] = seen.loss(threads=self._threads, memory=self._memory, spill=self._folder)
        lost = combine([one.loss for one in self._lost], self._rows)
        return Lost(replace(lost, workload=tuple(tasks)), total(one.venn for one in self._lost)).public()

    def _measured(self, encoded: Encoded, partition: Classes, classes: NDArray[np.int32], published: Shown) -> Lost:
        for seen in self._seen.values():
            seen.add(encoded.targets[seen.target].codes, classes, published)
        return Lost.by(encoded, partition, classes, published, self._policy)

    def _combined(self, parts: Sequence[Lost]) -> tuple[TaskLoss, ...]:
        return combine_tasks([one.loss.workload for one in parts], self._outline.domains)

    def _tasks(self, sums: Sums, batches: Sequence[Lost]) -> tuple[TaskLoss, ...]:
        """What a class loses for each task, from what its batches do: for a model they do not add up, its labels do."""
        return tuple(
            self._model(task, sums.targets[task.target]) if isinstance(task, Model) else added
            for task, added in zip(self._policy.workload, self._combined(batches), strict=True)
        )

    def _model(self, task: Model, counts: NDArray[np.int64]) -> TaskLoss:
        there = int(counts[:-1].sum())
        if isinstance(task, Classify):
            bits, others = entropy(counts[:-1]), there - int(counts[:-1].max(initial=0))
            return ClassifyLoss(task.target, bits, bits, others / max(there, 1), there)
        spread = variance(replace(self._outline.domains[task.target], counts=counts))
        return RegressLoss(task.target, spread, spread, there)
