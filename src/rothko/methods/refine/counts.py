"""What refinements gain is known from counts by code (Fung, Wang, Yu, TKDE 2007, section 3): the counts of a table.

A *part* of a line is a set of codes that show the same. An ordered line begins as one interval, and an interval is
split in two where that gains most. A tree begins at its root, and a node goes to its children. A nominal line begins
with all values suppressed, and one value at a time is disclosed. Missing is a code as any other: the last of an
ordered line, a child of the root of a tree, a value that may be disclosed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain, Sensitive
from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.methods.layout import lay_out
from rothko.methods.refine.keys import STRIDE
from rothko.workload.criteria import logarithms
from rothko.workload.tasks import Classify

if TYPE_CHECKING:
    from rothko.kernels.refine.gains import Columns, Labels

LOGARITHMS = 1 << 22
"""Of so many counts the logarithm is looked up, and computed of larger ones."""


class Pairs(NamedTuple):
    """How many records have a code of a line and a class label: of the pairs that there are, in their order."""

    places: NDArray[np.int64]
    """Code · labels + label; the last label is that of records without one."""
    amounts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many records have each code of each line, by itself and with each class label. Tallies add up."""

    records: tuple[NDArray[np.int64], ...]
    """Of each line: by code."""
    labels: tuple[tuple[Pairs, ...], ...]
    """Of each line: of each task."""

    @classmethod
    def of(cls, encoded: Encoded, tasks: Sequence[Classify]) -> Tally:
        """Count some records."""
        return cls(
            tuple(_tally(codes, line.size) for line, codes in zip(encoded.lines, encoded.codes, strict=True)),
            tuple(
                tuple(_pairs(codes, line.size, encoded.targets[task.target]) for task in tasks)
                for line, codes in zip(encoded.lines, encoded.codes, strict=True)
            ),
        )

    def __add__(self, other: Tally) -> Tally:
        """Of some records and others."""
        return Tally(
            tuple(ours + theirs for ours, theirs in zip(self.records, other.records, strict=True)),
            tuple(
                tuple(_together(a, b) for a, b in zip(ours, theirs, strict=True))
                for ours, theirs in zip(self.labels, other.labels, strict=True)
            ),
        )

    def columns(self, lines: Sequence[Line], least: NDArray[np.int64], *, letter: bool) -> Columns:
        """The lines, how many records each code has, the fewest that a part can have, and how the paper is read."""
        from rothko.kernels.refine.gains import Columns

        laid_out = lay_out(lines)
        weights = laid_out.scales[:, 0].copy()
        laid_out.scales[:, 0] = 1.0
        at = np.append(0, np.cumsum(laid_out.spec[:, 1]))
        before = np.zeros(int(at[-1]) + len(lines), dtype=np.int64)
        for i, counts in enumerate(self.records):
            np.cumsum(counts, out=before[at[i] + i + 1 : at[i + 1] + i + 1])
        return Columns(lines=laid_out, weights=weights, at=at, before=before, least=least, letter=letter)

    def labelled(
        self, lines: Sequence[Line], tasks: Sequence[Classify], domains: Mapping[str, Domain], rows: int
    ) -> Labels:
        """How often each code of each line has each class label; records without one do not count."""
        from rothko.kernels.refine.gains import Labels

        most = sum(len(pairs.places) for of_line in self.labels for pairs in of_line)
        labels, amounts = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
        places = np.empty(sum(line.size + 1 for line in lines) * len(tasks), dtype=np.int64)
        at = np.zeros((len(lines), len(tasks)), dtype=np.int64)
        seen = np.zeros((len(lines), len(tasks)), dtype=np.bool_)
        entries, codes_so_far = 0, 0
        for i, line in enumerate(lines):
            for t, task in enumerate(tasks):
                count = domains[task.target].size
                pairs = self.labels[i][t]
                label = (pairs.places % count).astype(np.int32)
                there = label != count - 1
                found = pairs.places[there]
                end, codes_end = entries + len(found), codes_so_far + line.size + 1
                labels[entries:end], amounts[entries:end] = label[there], pairs.amounts[there]
                places[codes_so_far:codes_end] = np.searchsorted(found, np.arange(line.size + 1) * count) + entries
                at[i, t] = codes_so_far
                seen[i, t] = task.features is None or line.name in task.features
                entries, codes_so_far = end, codes_end
        return Labels(
            labels=labels[:entries],
            amounts=amounts[:entries],
            places=places,
            at=at,
            counts=np.array([domains[task.target].size - 1 for task in tasks], dtype=np.int64),
            seen=seen,
            logs=logarithms(min(rows, LOGARITHMS) if tasks else 0),
        )


def _pairs(codes: NDArray[np.int32], size: int, target: Sensitive) -> Pairs:
    labels = target.domain.size
    if size * labels <= 4 * len(codes) + 65_536:
        counts = _tally(codes, size, target.codes, labels)
        found = np.flatnonzero(counts)
        return Pairs(found, counts[found])
    return Pairs(*np.unique(codes.astype(np.int64) * labels + target.codes, return_counts=True))


def _together(ours: Pairs, theirs: Pairs) -> Pairs:
    places, number = np.unique(np.concatenate([ours.places, theirs.places]), return_inverse=True)
    amounts = np.zeros(len(places), dtype=np.int64)
    np.add.at(amounts, number, np.concatenate([ours.amounts, theirs.amounts]))
    return Pairs(places, amounts)


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
