"""Measure a release against its original, from what it publishes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.data.source.spark import is_frame
from rothko.engines.plan import check_engine
from rothko.errors import InputError
from rothko.methods.anatomy import refuse
from rothko.metrics.literature import Entries
from rothko.metrics.loss import loss, scores, values_of, workload_loss
from rothko.metrics.pair import Pair, brought, read_pair, view_of
from rothko.metrics.registry import METRICS
from rothko.policy.draft import as_policy
from rothko.policy.opened import opened, where_it_lies
from rothko.release.loss import Bound, Loss, TaskLoss
from rothko.release.publish import check_statistics, statistics_asked


def measure(
    original: Any,
    release: Any,
    policy: Any = None,
    *,
    bound: bool = False,
    seed: int = 0,
    engine: str | None = None,
    spark_master: str | None = None,
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
    engine
        ``"spark"`` has Spark read the original where it is a path, as a policy with that engine does. What Spark has, a
        DataFrame too, is measured where it lies.

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
    check_engine(engine or "auto")
    asked = brought(release, policy)
    if asked is not None:
        asked = as_policy(asked)
        refuse(asked.method, "measure")
        if isinstance(original, str | Path | list | tuple):
            original = where_it_lies(original, asked, engine, spark_master=spark_master, csv=csv)
        if is_frame(original) or (isinstance(original, Source) and original.frame is not None):
            from rothko.metrics.on_spark import measure_on

            if bound:
                raise InputError(
                    "bound looks at all records at once, which are on a cluster; leave it out, or measure a sample of "
                    "them that is here."
                )
            return measure_on(opened(original, asked), release, asked)
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
    return replace(lost, survey=scores(values_of(Entries.of(pair))), workload=tasks)


def tasks_of(pair: Pair) -> tuple[TaskLoss, ...]:
    """How well the release serves each task of its workload."""
    workload = pair.policy.workload
    check_statistics(pair.lines, statistics_asked(workload))
    if not workload:
        return ()
    view = view_of(pair.lines, pair.encoded.codes, pair.columns, pair.found, pair.shown, pair.policy)
    return workload_loss(view, workload)
