"""What a release on a cluster lost: the original is counted by its codes, the release by its classes, where they lie.

Neither rows nor classes come to the driver. Of the original it sees each value of a quasi-identifier and how many
records have it, of the release what all classes lose together: every metric of classes adds up
(:mod:`rothko.metrics.registry`). Answers of aggregates are left out, as they are in a certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Kind, Line
from rothko.data.schema import columns_read
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.source.spark import is_frame, open_spark
from rothko.data.source.spark_errors import understood
from rothko.data.source.written import Written
from rothko.data.survey.coder import Coder
from rothko.engines.plan import budget
from rothko.engines.spark.cluster import Batches, Cluster, Held, Opened
from rothko.engines.spark.input_rows import rows_of
from rothko.engines.spark.read import open_by_spark
from rothko.engines.spark.run import TASK
from rothko.engines.spark.session import session_of
from rothko.engines.spark.survey import survey
from rothko.errors import InputError, PolicyError, nearest
from rothko.metrics.literature import Entries, Values
from rothko.metrics.loss import combine, combine_tasks, loss, scores, values_of, workload_loss
from rothko.metrics.pair import group_rows, read_classes, view_of
from rothko.metrics.published import shown_alone
from rothko.metrics.queries import satisfying
from rothko.metrics.registry import OF_PUBLISHED
from rothko.policy.opened import written_by
from rothko.policy.policy import Policy
from rothko.release.check import published_in
from rothko.release.formulas import unescaped
from rothko.release.loss import Loss, SelectLoss, TaskLoss
from rothko.release.publish import check_statistics, statistics_asked
from rothko.release.rows import columns_of
from rothko.release.spark.check import count_rows
from rothko.release.spark.release import SpreadRelease
from rothko.release.stored import HeldRelease
from rothko.workload.boxes import boxes
from rothko.workload.tasks import Regress, Select, models

Codes = NDArray[np.int64]


def measure_on(original: Source, release: Any, policy: Policy, cluster: Cluster | None = None) -> Loss:
    """What a release lost whose original Spark has.

    Parameters
    ----------
    release
        A release, a frame, or what else can be opened, which is then sent to the cluster.
    """
    for task in models(policy.workload):
        if task.features is not None:
            raise PolicyError(
                f"{task.describe()}: models of some quasi-identifiers are not measured on a cluster; leave out its "
                "features, or measure tables that are here."
            )
    cluster = cluster or Cluster(session_of(original.frame))
    cluster.check()
    lines, counts, domains, asked = _counted(cluster, original, policy)
    check_statistics(lines, statistics_asked(policy.workload))
    shown = _opened(cluster, release)
    columns = {name: published_in(name, shown.names, shown.label, policy) for name in policy.quasi_identifiers}
    targets = tuple(dict.fromkeys(task.target for task in models(policy.workload)))
    for name in targets:
        if name not in shown.names:
            raise PolicyError(f"workload: {shown.label} has no column {name!r}; {nearest(name, shown.names)}")
    released = Released(policy, lines, tuple(counts), columns, targets, domains)
    names = [column for some in columns.values() for column in some]
    tokens = dict.fromkeys(names, ()) | dict.fromkeys(targets, policy.missing)
    rows = rows_of(cluster, shown, list(tokens), Written())
    place = {name: f"c{i}" for i, name in enumerate(tokens)}
    opened = partial(_unescaped, rows.opened) if shown.text else rows.opened
    with closing(Held(count_rows(cluster, rows, shown.frame, tokens, (), place, opened))) as held:
        found = released.lost(cluster, held.frame.repartition(*(place[name] for name in names)))
    total = int(counts[0].sum())
    if found is None or found.rows != total:
        raise InputError(
            f"{original.label} has {total} records and {shown.label} {0 if found is None else found.rows}; on a "
            "cluster measure compares a table with a release of all its records."
        )
    return replace(found.lost, survey=scores(found.values), workload=_with_original(found.tasks, asked))


def _opened(cluster: Cluster, release: Any) -> Source:
    """A release as Spark has it."""
    if isinstance(release, SpreadRelease) or is_frame(release):
        return open_spark(release.table if isinstance(release, SpreadRelease) else release, label="the release")
    if isinstance(release, str) or hasattr(release, "__fspath__"):
        return open_by_spark(cluster.session, release)
    table = release.arrow if isinstance(release, HeldRelease) else open_source(release).read()
    with understood():
        return open_spark(cluster.session.createDataFrame(table), label="the release")


def _unescaped(opened: Opened, batches: Batches) -> Iterator[pa.Table]:
    """Cells of a text file, as they were before they were written."""
    for table in opened(batches):
        yield pa.table({name: unescaped(column) for name, column in columns_of(table)})


def _with_original(tasks: Sequence[TaskLoss], matching: Sequence[int]) -> tuple[TaskLoss, ...]:
    """What classes lose for each task, with how many records of the original satisfy each predicate."""
    asked = iter(matching)

    def told(task: TaskLoss) -> TaskLoss:
        if not isinstance(task, SelectLoss):
            return task
        found = next(asked)
        return replace(
            task, matching=found, imprecision=None if task.returned is None else task.returned - found
        )  # fmt: skip

    return tuple(map(told, tasks))


# ── the original


def _counted(
    cluster: Cluster, source: Source, policy: Policy
) -> tuple[tuple[Line, ...], list[Codes], Mapping[str, Domain], list[int]]:
    """Lines, how many records have each of their codes, domains, and how many records satisfy each predicate."""
    for name in (*policy.quasi_identifiers, *policy.sensitive, *policy.modelled):
        if name not in source.names:
            raise PolicyError(f"columns.{name}: {source.label} has no such column; {nearest(name, source.names)}")
    rows = rows_of(
        cluster, source, columns_read(source.names, policy), written_by(policy)
    )  # fmt: skip
    memory = budget(TASK, row_bytes=4 * len(policy.columns)).frequency
    found = survey(cluster, rows, source.label, policy, text=source.text, seed=0, memory=memory, sample=0)
    outline, coder, _ = found.settled
    for line in outline.lines:
        if line.upper is not None:
            raise InputError(
                f"Column {line.name!r} has more distinct values than the driver holds, and what is published of it "
                "cannot be read beside them; the certificate of the release says what was lost."
            )
    queries = [boxes(task.predicate, outline.lines) for task in policy.workload if isinstance(task, Select)]
    sizes = [line.size for line in outline.lines]
    summed = cluster.gather(rows.frame, partial(_codes_of, coder, sizes, queries), _added, rows.opened)
    *counts, matching = summed[0]
    return outline.lines, counts, outline.domains, matching.tolist()


def _codes_of(
    coder: Coder, sizes: Sequence[int], queries: Sequence[Any], tables: Iterator[pa.Table]
) -> Iterator[tuple[int, list[Codes]]]:
    """How many records of a partition have each code of every line, and how many satisfy each predicate."""
    total = [np.zeros(size, dtype=np.int64) for size in (*sizes, len(queries))]
    for table in tables:
        codes = replace(coder, kept=()).code(table).codes
        found = [np.bincount(some, minlength=size) for some, size in zip(codes, sizes, strict=True)]
        found.append(np.array([np.count_nonzero(satisfying(codes, sizes, *query)) for query in queries], np.int64))
        for sums, some in zip(total, found, strict=True):
            sums += some
    yield 0, total


def _added(_: int, parts: list[list[Codes]]) -> list[Codes]:
    return [np.sum(some, axis=0) for some in zip(*parts, strict=True)]


# ── the release


class Lost(NamedTuple):
    """What some classes lose."""

    rows: int
    lost: Loss
    values: dict[str, Values]
    tasks: tuple[TaskLoss, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """What tasks must know to measure classes: plain data, sent to them."""

    policy: Policy
    lines: tuple[Line, ...]
    counts: tuple[Codes, ...]
    """Of each line: how many records of the original have each code."""
    columns: Mapping[str, Sequence[str]]
    """Quasi-identifier → the columns that show it."""
    targets: tuple[str, ...]
    domains: Mapping[str, Domain]

    def lost(self, cluster: Cluster, rows: Any) -> Lost | None:
        """What a release loses, whose different rows are counted, those of a class in one partition.

        None of a release without rows.
        """
        found = cluster.gather(rows, partial(_alone, self), _either) if self._sets else {}
        alone = found.get(0, {})
        found = cluster.gather(rows, partial(_lost, self, alone), partial(_together, self.domains))
        total: Lost | None = found.get(0)
        return total

    @property
    def _sets(self) -> list[Line]:
        """Lines on which one label may stand for all that no other one shows."""
        return [line for line in self.lines if line.kind is Kind.NOMINAL and line.name in self.columns[line.name]]

    def table(self, tables: Iterator[pa.Table]) -> tuple[pa.Table, Codes] | None:
        """The rows of a partition under their names, and how often each is there."""
        held = list(tables)
        if not held:
            return None
        table = pa.concat_tables(held).combine_chunks()
        names = [*(column for some in self.columns.values() for column in some), *self.targets]
        return table.drop_columns(["times"]).rename_columns(names), table["times"].to_numpy()


def _alone(released: Released, tables: Iterator[pa.Table]) -> Iterator[tuple[int, dict[str, NDArray[np.bool_]]]]:
    """Which codes labels show by themselves."""
    rows = released.table(tables)
    if rows is not None:
        labels = {line.name: rows[0][line.name].unique() for line in released._sets}
        yield (
            0,
            {
                line.name: shown_alone(line, labels[line.name].drop_null(), missing=labels[line.name].null_count > 0)
                for line in released._sets
            },
        )


def _either(_: int, parts: list[dict[str, NDArray[np.bool_]]]) -> dict[str, NDArray[np.bool_]]:
    return {name: np.logical_or.reduce([part[name] for part in parts]) for name in parts[0]}


def _lost(
    released: Released, alone: Mapping[str, NDArray[np.bool_]], tables: Iterator[pa.Table]
) -> Iterator[tuple[int, Lost]]:
    """What the classes of a partition lose."""
    rows = released.table(tables)
    if rows is None:
        return
    table, times = rows
    policy, lines = released.policy, released.lines
    if any(isinstance(task, Regress) for task in policy.workload):  # numbers are asked one by one
        table, times = (
            table.take(pa.array(np.repeat(np.arange(len(times)), times))),
            np.ones(int(times.sum()), np.int64),
        )
    found = group_rows(table, released.columns, released.targets, times=times)
    shown, widths = read_classes(found, lines, released.columns, policy.publish, alone)
    nobody = np.empty((len(lines), 0), dtype=np.int32)
    view = view_of(lines, nobody, released.columns, found, shown, policy, times)
    entries = Entries.showing(lines, shown, widths, found.sizes, released.counts)
    tasks = workload_loss(view, policy.workload)
    yield 0, Lost(int(times.sum()), loss(lines, widths, found.sizes), values_of(entries), tasks)


def _together(domains: Mapping[str, Domain], _: int, parts: list[Lost]) -> Lost:
    rows = [part.rows for part in parts]
    values = {}
    for name, metric in OF_PUBLISHED.items():
        assert metric.add is not None
        values[name] = metric.add([part.values[name] for part in parts], rows)
    tasks = combine_tasks([part.tasks for part in parts], domains)
    return Lost(sum(rows), combine([part.lost for part in parts], rows), values, tasks)
