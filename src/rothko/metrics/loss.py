"""Information loss of a partition.

NCP and GCP: Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, section 2.1; with weights that sum to 1, so
that one class over everything gives 1 and exact data gives 0. Discernibility: Bayardo and Agrawal,
ICDE 2005. Average class size: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, here plainly records ÷ classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rothko.data.line import Line
from rothko.methods.classes import penalties
from rothko.release.loss import Loss


def loss(lines: Sequence[Line], widths: NDArray[np.float64], sizes: NDArray[np.integer]) -> Loss:
    """The loss of a partition.

    Parameters
    ----------
    widths
        (classes, lines): the NCP of each class on each line.
    sizes
        Records in each class.
    """
    ncp, gcp = penalties(lines, widths, sizes)
    return _with_sizes(gcp, ncp, sizes)


def loss_of_groups(names: Sequence[str], sizes: NDArray[np.integer]) -> Loss:
    """The loss of groups with exact quasi-identifiers: no NCP, what is lost is the link to the sensitive value."""
    return _with_sizes(np.nan, dict.fromkeys(names, np.nan), sizes)


def _with_sizes(gcp: float, ncp: dict[str, float], sizes: NDArray[np.integer]) -> Loss:
    return Loss(
        gcp=gcp,
        ncp=ncp,
        classes=len(sizes),
        average_class_size=int(sizes.sum()) / len(sizes),
        discernibility=int(np.sum(sizes.astype(np.int64) ** 2)),
        smallest_class=int(sizes.min()),
        largest_class=int(sizes.max()),
        class_sizes=_histogram(sizes),
    )


def combine(losses: Sequence[Loss], rows: Sequence[int]) -> Loss:
    """The loss of a table from those of its parts, of so many records each: the same but for rounding.

    What is lost for the workload is left out; see :func:`rothko.metrics.workload.combine_tasks`.

    >>> from rothko.data.line import Kind
    >>> line = Line("age", Kind.ORDERED, None, np.array([0.0, 10.0]), missing=False)
    >>> parts = [loss([line], np.array([[0.5]]), np.array([3])), loss([line], np.array([[0.1]]), np.array([1]))]
    >>> combine(parts, [3, 1]).gcp, combine(parts, [3, 1]).class_sizes
    (0.4, {'1': 1, '2-3': 1})
    """
    share = np.array(rows) / sum(rows)
    classes = sum(one.classes for one in losses)
    sizes = Counter[str]()
    for one in losses:
        sizes.update(one.class_sizes)
    return Loss(
        gcp=float(np.dot([one.gcp for one in losses], share)),
        ncp={name: float(np.dot([one.ncp[name] for one in losses], share)) for name in losses[0].ncp},
        classes=classes,
        average_class_size=sum(rows) / classes,
        discernibility=sum(one.discernibility for one in losses),
        smallest_class=min(one.smallest_class for one in losses),
        largest_class=max(one.largest_class for one in losses),
        class_sizes=dict(sorted(sizes.items(), key=lambda item: int(item[0].partition("-")[0]))),
    )


def _histogram(sizes: NDArray[np.integer]) -> dict[str, int]:
    """Classes by size, in ranges that double: 1, 2-3, 4-7 and so on.

    >>> _histogram(np.array([1, 5, 6, 9]))
    {'1': 1, '4-7': 2, '8-15': 1}
    """
    octave = np.floor(np.log2(sizes)).astype(np.int64)
    found, counts = np.unique(octave, return_counts=True)
    return {
        ("1" if o == 0 else f"{2**o}-{2 ** (o + 1) - 1}"): int(c) for o, c in zip(found.tolist(), counts, strict=True)
    }
