"""What refinements gain is known from counts by code (Fung, Wang, Yu, TKDE 2007, section 3): the counts of a table.

A *part* of a line is a set of codes that show the same. An ordered line begins as one interval, and an interval is
split in two where that gains most. A tree begins at its root, and a node goes to its children. A nominal line begins
with all values suppressed, and one value at a time is disclosed. Missing is a code as any other: the last of an
ordered line, a child of the root of a tree, a value that may be disclosed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Sensitive
from rothko.data.encode import Encoded
from rothko.methods.layout import lay_out
from rothko.methods.refine.keys import STRIDE
from rothko.workload.criteria import logarithms
from rothko.workload.tasks import Classify

if TYPE_CHECKING:
    from rothko.kernels.refine.gains import Columns, Labels


def columns_of(encoded: Encoded, least: NDArray[np.int64]) -> Columns:
    """The lines of a table, how many records each code has, and the fewest that a part can have."""
    from rothko.kernels.refine.gains import Columns

    lines = lay_out(encoded.lines)
    weights = lines.scales[:, 0].copy()
    lines.scales[:, 0] = 1.0
    before = [
        np.append(0, np.cumsum(_tally(codes, line.size)))
        for line, codes in zip(encoded.lines, encoded.codes, strict=True)
    ]
    return Columns(
        lines=lines,
        weights=weights,
        at=np.append(0, np.cumsum(lines.spec[:, 1])),
        before=np.concatenate(before).astype(np.int64),
        least=least,
    )


def labels_of(encoded: Encoded, tasks: Sequence[Classify]) -> Labels:
    """How often each code of each line has each class label."""
    from rothko.kernels.refine.gains import Labels

    labels: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32)]
    amounts: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    places: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    at = np.zeros((len(encoded.lines), len(tasks)), dtype=np.int64)
    seen = np.zeros((len(encoded.lines), len(tasks)), dtype=np.bool_)
    entries, codes_so_far = 0, 0
    for i, (line, codes) in enumerate(zip(encoded.lines, encoded.codes, strict=True)):
        for t, task in enumerate(tasks):
            found, counts, begins = _by_code(codes, line.size, encoded.targets[task.target])
            labels.append(found)
            amounts.append(counts)
            places.append(begins + entries)
            at[i, t] = codes_so_far
            seen[i, t] = task.features is None or line.name in task.features
            entries += len(found)
            codes_so_far += len(begins)
    return Labels(
        labels=np.concatenate(labels),
        amounts=np.concatenate(amounts),
        places=np.concatenate(places),
        at=at,
        counts=np.array([encoded.targets[task.target].domain.size - 1 for task in tasks], dtype=np.int64),
        seen=seen,
        logs=logarithms(encoded.rows if tasks else 0),
    )


def _by_code(
    codes: NDArray[np.int32], size: int, target: Sensitive
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """The labels of each code, how many records have them, and where the labels of each code begin, with the end.

    The last label is that of records without one, which do not count.
    """
    labels = target.domain.size
    if size * labels <= 4 * len(codes) + 65_536:
        counts = _tally(codes, size, target.codes, labels)
        found = np.flatnonzero(counts)
        amounts = counts[found]
    else:
        found, amounts = np.unique(codes.astype(np.int64) * labels + target.codes, return_counts=True)
    there = found % labels != labels - 1
    found, amounts = found[there], amounts[there]
    return (found % labels).astype(np.int32), amounts, np.searchsorted(found, np.arange(size + 1) * labels)


def _tally(
    codes: NDArray[np.int32], size: int, labels: NDArray[np.int32] | None = None, count: int = 1
) -> NDArray[np.int64]:
    """How many records have each code, or each pair of a code and a label; as many at a time as stay in the cache."""
    counts = np.zeros(size * count, dtype=np.int64)
    stride = max(STRIDE, len(counts))
    for begin in range(0, len(codes), stride):
        some = codes[begin : begin + stride]
        pairs = some if labels is None else some.astype(np.int64) * count + labels[begin : begin + stride]
        counts += np.bincount(pairs, minlength=len(counts))
    return counts
