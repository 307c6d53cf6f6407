"""Measure a release against its original, from what it publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import counted
from rothko.data.line import Line
from rothko.data.source.csv import CsvOptions
from rothko.methods.anatomy import refuse
from rothko.metrics.literature import Entries
from rothko.metrics.loss import loss, workload_loss
from rothko.metrics.pair import Pair, brought, read_pair
from rothko.metrics.registry import METRICS
from rothko.metrics.workload import View
from rothko.policy.draft import as_policy
from rothko.policy.policy import Policy
from rothko.release.loss import Bound, Loss, Score, TaskLoss
from rothko.release.publish import check_statistics, mean_name, statistics_asked
from rothko.workload.tasks import models


def measure(
    original: Any,
    release: Any,
    policy: Any = None,
    *,
    bound: bool = False,
    seed: int = 0,
    threads: int | None = None,
    csv: CsvOptions | None = None,
) -> Loss:
    """What a release lost, read back from what it publishes.

    Parameters
    ----------
    original
        The table that was released.
    release
        A :class:`~rothko.release.release.Release`, or any table that publishes values, ranges, sets or tree labels.
    policy
        Roles, hierarchies, weights and the workload; a Release brings its own.
    bound
        Also find how little any release could lose; see :mod:`rothko.metrics.bound`.
    seed
        Of the records that are looked at for that, where they are not all.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [20, 30, 40, 60]}
    >>> release = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}
    >>> rk.measure(people, release, rk.Policy.quick(people, qi=["age"], k=2)).gcp
    0.375

    And by the other metrics of the literature, each with what exact data and one class for all would give:

    >>> metric = rk.measure(people, release, rk.Policy.quick(people, qi=["age"], k=2)).survey[1]
    >>> metric.name, metric.value, metric.exact, metric.one_class
    ('ambiguity_metric', 2.0, 1.0, 4.0)

    With a workload it also answers its queries:

    >>> policy = rk.Policy.quick(people, qi=["age"], k=2).but(workload=[{"aggregate": {"of": "age"}}])
    >>> [task] = rk.measure(people, rk.anonymize(people, policy)).workload
    >>> [(one.function, one.truth, one.answer) for one in task.answers][1:3]
    [('sum', 150.0, 150.0), ('avg', 37.5, 37.5)]
    """
    asked = brought(release, policy)
    if asked is not None:
        refuse(as_policy(asked).method, "measure")
    pair = read_pair(original, release, policy, threads=threads, csv=csv)
    lost = loss_of(pair)
    return replace(lost, bound=bound_of(pair, seed=seed, threads=threads)) if bound else lost


def bound_of(pair: Pair, *, seed: int = 0, threads: int | None = None) -> Bound:
    """How little any release of the original could lose."""
    found: Bound = METRICS["bound"].compute(pair.encoded, pair.policy.privacy, seed=seed, threads=threads)
    return found


def loss_of(pair: Pair) -> Loss:
    """What a release lost, once it is read beside its original."""
    tasks = tasks_of(pair)
    lost = loss(pair.lines, pair.widths, pair.sizes, left_out=pair.left_out)
    return replace(lost, survey=_scores(pair), workload=tasks)


def tasks_of(pair: Pair) -> tuple[TaskLoss, ...]:
    """How well the release serves each task of its workload."""
    workload = pair.policy.workload
    check_statistics(pair.lines, statistics_asked(workload))
    if not workload:
        return ()
    view = View(
        lines=pair.lines,
        codes=pair.encoded.codes,
        classes=pair.classes,
        targets={task.target: counted(task.target, pair.others[task.target]) for task in models(workload)},
        shown=pair.shown,
        keys=pair.keys,
        means=_means(pair.lines, pair.columns, pair.one_each, pair.policy),
        sizes=pair.sizes,
    )
    return workload_loss(view, workload)


def _scores(pair: Pair) -> tuple[Score, ...]:
    """The metrics of what is published."""
    entries = Entries.of(pair)
    asked = [metric for metric in METRICS.values() if metric.needs == "published"]
    return tuple(
        Score(one.name, **one.compute(entries)._asdict(), reference=one.reference, direction=one.direction)
        for one in asked
    )


def _means(
    lines: Sequence[Line], columns: Mapping[str, Sequence[str]], table: pa.Table, policy: Policy
) -> dict[str, NDArray[np.float64]]:
    """Quasi-identifier → the mean that each class shows, where it shows one."""
    asked, means = statistics_asked(policy.workload), {}
    for line in lines:
        beside = mean_name(line.name)
        column = beside if beside in columns[line.name] else line.name if policy.publish == "mean" else None
        if column is not None and line.name in asked:
            codes, domain = counted(column, table[column])
            means[line.name] = domain.numbers[codes]
    return means
