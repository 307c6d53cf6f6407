"""How well a release serves the tasks of its workload: one result per task, in the order of the policy.

The definitions are in :mod:`rothko.metrics.prediction` and :mod:`rothko.metrics.queries`, the results in
:mod:`rothko.release.loss`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.domain import Domain, Sensitive
from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.methods.classes import Classes
from rothko.metrics.prediction import classification_metric, conditional_entropy, wmse
from rothko.metrics.published import Shown, shown_by
from rothko.metrics.queries import answer, imprecision, overlapping, relative_error, satisfying, true_answer, within
from rothko.metrics.venn import Venn
from rothko.policy.policy import Policy
from rothko.release.loss import AggregateLoss, Answer, ClassifyLoss, RegressLoss, SelectLoss
from rothko.release.publish import ANSWERED_BY, Published, mean_name, statistics_asked
from rothko.workload.boxes import boxes
from rothko.workload.relations import excludes, implies
from rothko.workload.tasks import Aggregate, Classify, Regress, Select, Task


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A release beside its original, as the tasks of a workload see it.

    Records are not matched with rows, which leave in another order: the original is asked by its codes, the release
    by its classes.
    """

    lines: tuple[Line, ...]
    codes: NDArray[np.int32]
    """(lines, records): the original."""
    classes: NDArray[np.int32]
    """The class of each released row."""
    targets: Mapping[str, Sensitive]
    """The columns that models predict, row by row of the release."""
    shown: Mapping[str, Shown]
    """Quasi-identifier → what each class shows of it."""
    keys: Mapping[str, NDArray[np.integer[Any]]]
    """Quasi-identifier → a number for what each class shows, the same for the same."""
    means: Mapping[str, NDArray[np.float64]]
    """Quasi-identifier → the mean that each class shows, NaN where it shows none."""
    sizes: NDArray[np.int64]
    """Records in each class."""
    times: NDArray[np.int64] | None = None
    """How often each row occurs, which is asked by models of labels alone; once where it is None."""

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        partition: Classes,
        classes: NDArray[np.int32],
        published: Mapping[str, Sequence[Published]],
        policy: Policy,
        times: NDArray[np.int64] | None = None,
    ) -> View:
        """The view of a release that is being made."""
        asked = statistics_asked(policy.workload)
        regions = partition.regions() if policy.publish == "region" else None
        shown = {}
        for i, line in enumerate(encoded.lines):
            box = partition.low[:, i], partition.high[:, i]
            region = None if regions is None else (regions[0][:, i], regions[1][:, i])
            shown[line.name] = shown_by(
                line, policy.publish, asked.get(line.name, ()), box, region, partition.members(i)
            )
        means = {
            name: column.by().to_numpy(zero_copy_only=False)
            for name, columns in published.items()
            for column in columns
            if column.name == mean_name(name) or (column.name == name and policy.publish == "mean")
            if pa.types.is_floating(column.values.type)
        }
        keys = {name: combined([column.of_class for column in columns]) for name, columns in published.items()}
        return cls(encoded.lines, encoded.codes, classes, encoded.targets, shown, keys, means, partition.sizes, times)

    def groups(self, features: Sequence[str] | None) -> NDArray[np.integer[Any]]:
        """The released rows by what a model sees of the quasi-identifiers; all of them where it is None."""
        if features is None:
            return self.classes
        seen = [key for name, key in self.keys.items() if name in features]
        return combined(seen)[self.classes] if seen else np.zeros_like(self.classes)


def combined(keys: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.int32]:
    """One number from 0 on for each combination of keys, in the order of their first occurrence.

    >>> combined([np.array([5, 5, 7]), np.array([1, 2, 1])]).tolist()
    [0, 1, 2]
    """
    found = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        pairs = found * (int(key.max(initial=0)) + 1) + key
        found = pc.dictionary_encode(pa.array(pairs)).indices.to_numpy().astype(np.int64)
    return found.astype(np.int32)


def selections_of(view: View, workload: Sequence[Task]) -> list[Selection]:
    """What each predicate of a workload selects, in the order of the policy."""
    return [Selection.of(view, task) for task in workload if isinstance(task, Select)]


def venn_of(view: View, selections: Sequence[Selection]) -> Venn | None:
    """What is needed to say which counts may be told of a release whose rows are the records, in their order."""
    if not selections:
        return None
    predicates = [(i, selection.task.predicate) for i, selection in enumerate(selections)]
    ordered = {line.name for line in view.lines if line.kind is Kind.ORDERED and line.order is None}
    numeric = {line.name for line in view.lines if line.name in ordered and not pa.types.is_string(line.values.type)}
    flat = {line.name for line in view.lines if line.kind is Kind.NOMINAL}
    return Venn.of(
        [selection.records for selection in selections],
        view.classes,
        [selection.may_cut for selection in selections],
        frozenset((i, j) for i, a in predicates for j, b in predicates if implies(a, b, numeric)),
        frozenset((i, j) for i, a in predicates for j, b in predicates if excludes(a, b, numeric, flat)),
    )


def entropy(counts: NDArray[np.int64]) -> float:
    """Of labels that occur so often, in bits.

    >>> entropy(np.array([1, 0, 3]))
    0.8112781244591328
    """
    found = counts[counts > 0]
    return float(np.sum(found * np.log2(found.sum() / found)) / found.sum()) if len(found) else 0.0


def variance(domain: Domain) -> float:
    """Of the numbers of a whole table."""
    numbers, counts = domain.deviations[:-1], domain.counts[:-1]
    records = int(counts.sum())
    if records == 0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        centred = numbers - float(np.dot(numbers, counts)) / records
        found = float(np.dot(centred**2, counts)) / records
    return found if math.isfinite(found) else math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a predicate selects."""

    task: Select
    records: NDArray[np.bool_]
    """Of the original: those that satisfy it."""
    classes: NDArray[np.bool_] | None
    """Of the release: those that overlap it. None where the release does not say where its classes lie."""
    why: str | None
    may_cut: NDArray[np.bool_]
    """Of the release: classes that overlap it and are not within it, by what they show."""

    @classmethod
    def of(cls, view: View, task: Select) -> Selection:
        """Ask a predicate of the original and of the release."""
        low, high = boxes(task.predicate, view.lines)
        sizes = [line.size for line in view.lines]
        records = satisfying(view.codes, sizes, low, high)
        shown = [view.shown[line.name] for line in view.lines]
        # A line whose classes do not say where they lie is not asked about: every one of its codes will do.
        first = np.stack([np.maximum(one.low, 0) for one in shown], axis=1)
        last = np.stack([np.where(one.low < 0, np.iinfo(np.int32).max, one.high) for one in shown], axis=1)
        members = {i: one.members for i, one in enumerate(shown) if one.members is not None}
        overlaps = overlapping(first, last, low, high, members)
        may_cut = overlaps & ~within(first, last, sizes, low, high)
        unknown = [name for name in task.predicate.columns if not view.shown[name].known]
        if unknown:
            why = f"{unknown[0]} is published as a mean, which does not tell where a class lies"
            return cls(task, records, None, why, may_cut)
        return cls(task, records, overlaps, None, may_cut)


def _statistic(view: View, name: str, function: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each class shows that a function is answered from; NaN where it shows nothing of it."""
    shown = view.shown[name]
    if ANSWERED_BY[function] == "range":
        end = shown.low if function == "min" else shown.high
        return np.where(shown.exact, np.append(values, np.nan)[np.where(shown.exact, end, -1)], np.nan)
    return view.means.get(name, np.full(len(shown.low), np.nan))


def classify_loss(view: View, task: Classify, selections: Sequence[Selection]) -> ClassifyLoss:
    """How well the classes tell a label."""
    codes, domain = view.targets[task.target]
    groups = view.groups(task.features)
    labels = np.where(codes == domain.size - 1, -1, codes)
    return ClassifyLoss(
        target=task.target,
        conditional_entropy=conditional_entropy(groups, labels, view.times),
        entropy=conditional_entropy(np.zeros_like(groups), labels, view.times),
        classification_metric=classification_metric(groups, labels, view.times),
        records=int(np.count_nonzero(labels >= 0) if view.times is None else view.times[labels >= 0].sum()),
    )


def add_classify(parts: Sequence[ClassifyLoss], domains: Mapping[str, Domain]) -> ClassifyLoss:
    """Of a table, from what its parts lose."""
    target, records = parts[0].target, [one.records for one in parts]
    counts = domains[target].counts[:-1]
    return ClassifyLoss(
        target=target,
        conditional_entropy=_mean([one.conditional_entropy for one in parts], records),
        entropy=entropy(counts),
        classification_metric=_mean([one.classification_metric for one in parts], records),
        records=int(counts.sum()),
    )


def regress_loss(view: View, task: Regress, selections: Sequence[Selection]) -> RegressLoss:
    """How well the classes tell a number."""
    codes, domain = view.targets[task.target]
    groups, numbers = view.groups(task.features), domain.deviations[codes]
    there = int(np.count_nonzero(~np.isnan(numbers)))
    return RegressLoss(task.target, wmse(groups, numbers), wmse(np.zeros_like(groups), numbers), there)


def add_regress(parts: Sequence[RegressLoss], domains: Mapping[str, Domain]) -> RegressLoss:
    """Of a table, from what its parts lose."""
    domain = domains[parts[0].target]
    error = _mean([one.wmse for one in parts], [one.records for one in parts])
    return RegressLoss(parts[0].target, error, variance(domain), int(domain.counts[:-1].sum()))


def _mean(values: Sequence[float], records: Sequence[int]) -> float:
    """Of parts with so many records each; one without any says 0 and counts for nothing."""
    return float(sum(v * n for v, n in zip(values, records, strict=True) if n) / max(sum(records), 1))


def select_loss(view: View, task: Select, selections: Sequence[Selection]) -> SelectLoss:
    """How precisely a predicate can be asked."""
    asked = next(one for one in selections if one.task is task)
    matching = int(np.count_nonzero(asked.records))
    if asked.classes is None:
        return SelectLoss(task.where, task.weight, None, matching, None, asked.why)
    returned = int(view.sizes[asked.classes].sum())
    return SelectLoss(task.where, task.weight, returned, matching, imprecision(view.sizes, asked.classes, matching))


def add_select(parts: Sequence[SelectLoss], domains: Mapping[str, Domain]) -> SelectLoss:
    """Of a table, from what its parts lose."""

    def total(of: str) -> int | None:
        values = [getattr(one, of) for one in parts]
        return None if None in values else sum(values)

    return replace(parts[0], returned=total("returned"), matching=total("matching"), imprecision=total("imprecision"))


def aggregate_loss(view: View, task: Aggregate, selections: Sequence[Selection]) -> AggregateLoss:
    """Each function of each column, over all records and over each selection."""
    answers = []
    for name in task.of:
        i = next(i for i, line in enumerate(view.lines) if line.name == name)
        values = view.lines[i].values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        statistics = {function: _statistic(view, name, function, values) for function in task.functions}
        absent = view.shown[name].absent
        for selection in (None, *selections):
            codes = view.codes[i] if selection is None else view.codes[i][selection.records]
            counts = np.bincount(codes, minlength=len(values))[: len(values)]
            picked = np.ones(len(view.sizes), dtype=np.bool_) if selection is None else selection.classes
            for function in task.functions:
                truth = true_answer(function, values, counts, len(codes))
                found: tuple[float | None, int] = (None, len(view.classes))
                if picked is not None:
                    found = answer(function, view.sizes[picked], statistics[function][picked], absent[picked])
                where = None if selection is None else selection.task.where
                answers.append(
                    Answer(function, name, where, truth, found[0], relative_error(truth, found[0]), found[1])
                )
    return AggregateLoss(tuple(answers))


def add_aggregate(parts: Sequence[AggregateLoss], domains: Mapping[str, Domain]) -> AggregateLoss:
    """Of a table, from what its parts lose; answers are left out, as they are in a certificate."""
    unanswered = [sum(one.unanswered for one in same) for same in zip(*(part.answers for part in parts), strict=True)]
    public = parts[0].public().answers
    return AggregateLoss(tuple(replace(one, unanswered=n) for one, n in zip(public, unanswered, strict=True)))
