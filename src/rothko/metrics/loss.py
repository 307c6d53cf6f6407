"""Information loss of a partition.

NCP and GCP: Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, section 2.1; with weights that sum to 1, so
that one class over everything gives 1 and exact data gives 0. Discernibility: Bayardo and Agrawal,
ICDE 2005. Average class size: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, here plainly records ÷ classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.line import Line

if TYPE_CHECKING:
    from rothko.metrics.workload import TaskLoss


@dataclass(frozen=True, slots=True)
class Loss:
    """What a release lost."""

    gcp: float
    """Global certainty penalty, 0 (exact) … 1 (nothing is said); NaN where a mean is all that a column shows."""
    ncp: dict[str, float]
    """The same for each quasi-identifier by itself, without weights."""
    classes: int
    average_class_size: float
    discernibility: int
    """Σ over classes of their size squared: each record is indistinguishable from that many."""
    smallest_class: int
    largest_class: int
    class_sizes: dict[str, int]
    """How many classes there are of each size, in ranges that double."""
    workload: tuple[TaskLoss, ...] = ()
    """What was lost for each task of the workload."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it stands in a certificate."""
        return {
            "gcp": _rounded(self.gcp),
            "ncp": {name: _rounded(value) for name, value in self.ncp.items()},
            "classes": self.classes,
            "average_class_size": round(self.average_class_size, 3),
            "discernibility": self.discernibility,
            "smallest_class": self.smallest_class,
            "largest_class": self.largest_class,
            "class_sizes": self.class_sizes,
            "workload": [task.to_dict() for task in self.workload],
        }


def box_widths(lines: Sequence[Line], low: NDArray[np.integer], high: NDArray[np.integer]) -> NDArray[np.float64]:
    """(classes, lines): the NCP of classes given as boxes of codes."""
    return np.stack([line.width(low[:, i], high[:, i]) for i, line in enumerate(lines)], axis=1)


def loss(lines: Sequence[Line], widths: NDArray[np.float64], sizes: NDArray[np.integer]) -> Loss:
    """The loss of a partition.

    Parameters
    ----------
    widths
        (classes, lines): the NCP of each class on each line.
    sizes
        Records in each class.
    """
    rows = int(sizes.sum())
    weight = np.array([line.weight for line in lines])
    ncp = {line.name: float(np.dot(widths[:, i], sizes) / rows) for i, line in enumerate(lines)}
    return Loss(
        gcp=float(np.dot(list(ncp.values()), weight / weight.sum())),
        ncp=ncp,
        classes=len(sizes),
        average_class_size=rows / len(sizes),
        discernibility=int(np.sum(sizes.astype(np.int64) ** 2)),
        smallest_class=int(sizes.min()),
        largest_class=int(sizes.max()),
        class_sizes=_histogram(sizes),
    )


def _rounded(penalty: float) -> float | None:
    """A penalty as JSON has it, which knows no NaN."""
    return None if np.isnan(penalty) else round(penalty, 6)


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
