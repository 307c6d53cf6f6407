"""The loss of classes and for a workload, of a table or from its parts, by :mod:`rothko.metrics.registry`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Line
from rothko.methods.classes import penalties
from rothko.metrics.grouping import Grouping
from rothko.metrics.literature import Entries, Values
from rothko.metrics.registry import METRICS, OF_CLASSES, OF_PUBLISHED, Metric
from rothko.metrics.workload import Selection, View, selections_of
from rothko.release.loss import Loss, Score, TaskLoss
from rothko.workload.tasks import Task


def loss(
    lines: Sequence[Line],
    widths: NDArray[np.float64],
    sizes: NDArray[np.integer],
    shown: NDArray[np.integer] | None = None,
    *,
    left_out: int = 0,
) -> Loss:
    """The loss of classes.

    Parameters
    ----------
    widths
        (classes, lines): the NCP of each class on each line.
    sizes
        Records in each class.
    shown
        A number from 0 on for what each class publishes, the same for the same: to a reader these are one class. None
        where no two publish the same.
    left_out
        Records that are in no class, because they do not leave: they lose everything.
    """
    alike = sizes if shown is None else np.bincount(shown, weights=sizes).astype(np.int64)
    telling = [i for i, line in enumerate(lines) if line.size > 1]
    silent = (widths[:, telling] == 1).all(axis=1) & bool(telling)
    everybody = np.append(sizes, left_out), np.vstack([widths, np.ones(len(lines))])
    penalty = penalties(lines, everybody[1], everybody[0])
    return _measured(Grouping(*penalty, alike, int(sizes[silent].sum()) + left_out))


def recounted(lost: Loss, sizes: Mapping[int, int]) -> Loss:
    """The same loss with other classes: how many there are of each size.

    Parts of a table may have classes that publish the same, and are one class of the release.

    >>> import pyarrow as pa
    >>> from rothko.data.line import Kind
    >>> line = Line("age", Kind.ORDERED, pa.array([20, 30]), np.array([0.0, 10.0]), missing=False)
    >>> recounted(loss([line], np.array([[0.5], [0.5]]), np.array([3, 1])), {4: 1}).classes
    1
    """
    found = Grouping(lost.ncp, lost.gcp, np.repeat([*sizes], [*sizes.values()]), lost.suppressed)
    return replace(lost, **{name: metric.compute(found) for name, metric in OF_CLASSES.items()})


def loss_of_groups(names: Sequence[str], sizes: NDArray[np.integer]) -> Loss:
    """The loss of groups with exact quasi-identifiers: no NCP, what is lost is the link to the sensitive value."""
    return _measured(Grouping(dict.fromkeys(names, np.nan), np.nan, sizes))


def _measured(classes: Grouping) -> Loss:
    return Loss(**{name: metric.compute(classes) for name, metric in OF_CLASSES.items()})


def combine(losses: Sequence[Loss], rows: Sequence[int]) -> Loss:
    """The loss of a table from those of its parts, of so many records each: the same but for rounding.

    What is lost for the workload is left out; see :func:`combine_tasks`.

    >>> import pyarrow as pa
    >>> from rothko.data.line import Kind
    >>> line = Line("age", Kind.ORDERED, pa.array([20, 30]), np.array([0.0, 10.0]), missing=False)
    >>> parts = [loss([line], np.array([[0.5]]), np.array([3])), loss([line], np.array([[0.1]]), np.array([1]))]
    >>> combine(parts, [3, 1]).gcp, combine(parts, [3, 1]).class_sizes
    (0.4, {'1': 1, '2-3': 1})
    """
    return Loss(
        **{name: _added(metric, [getattr(one, name) for one in losses], rows) for name, metric in OF_CLASSES.items()}
    )


def workload_loss(
    view: View, workload: Sequence[Task], selections: Sequence[Selection] | None = None
) -> tuple[TaskLoss, ...]:
    """What a release lost for each task; what its predicates select need not be found again where it is given."""
    asked = selections_of(view, workload) if selections is None else selections
    return tuple(METRICS[task.name].compute(view, task, asked) for task in workload)


def combine_tasks(parts: Sequence[Sequence[TaskLoss]], domains: Mapping[str, Domain]) -> tuple[TaskLoss, ...]:
    """What a table lost for each task, from what its parts did: the same but for rounding.

    Answers of aggregates are left out, as they are in a certificate. A model that looks at some of the
    quasi-identifiers sees groups that go across parts, which :mod:`rothko.metrics.seen` counts.

    Parameters
    ----------
    domains
        The targets of models, with counts over the whole table.
    """
    return tuple(_added(METRICS[tasks[0].task], tasks, domains) for tasks in zip(*parts, strict=True))


def _added(metric: Metric, parts: Sequence[Any], others: Any) -> Any:
    assert metric.add is not None
    return metric.add(parts, others)


def values_of(entries: Entries) -> dict[str, Values]:
    """Name → what a metric of what is published says."""
    return {name: metric.compute(entries) for name, metric in OF_PUBLISHED.items()}


def scores(values: Mapping[str, Values]) -> tuple[Score, ...]:
    """The metrics of what is published, as they are told."""
    return tuple(
        Score(name, **values[name]._asdict(), reference=metric.reference, direction=metric.direction)
        for name, metric in OF_PUBLISHED.items()
    )
