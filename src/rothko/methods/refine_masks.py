"""What may become of a masked value: its children, and what they would gain (Fung, Wang, Yu, TKDE 2007, section 3).

A *part* of a line is a set of codes that show the same. An ordered line begins as one interval, and an interval is
split in two where that gains most. A tree begins at its root, and a node goes to its children. A nominal line begins
with all values suppressed, and one value at a time is disclosed. Missing is a code as any other: the last of an
ordered line, a child of the root of a tree, a value that may be disclosed.

What a refinement gains depends on the part and its children alone, and not on what the other lines show. So it is taken
from counts by code and class label, which are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.privacy.statistics import Sensitive
from rothko.workload.criteria import logarithms
from rothko.workload.tasks import Classify

SCALE = 2.0**24
"""NCP is counted in multiples of one over this."""


class Part(NamedTuple):
    """A masked value."""

    line: int
    codes: NDArray[np.int32]
    """Its first and last code; all of its codes where it is suppressed values."""
    suppressed: bool

    @property
    def low(self) -> int:
        """The first code."""
        return int(self.codes[0])

    @property
    def high(self) -> int:
        """The last code."""
        return int(self.codes[-1])


class Refinement(NamedTuple):
    """What can be done to a part: go to its children, or disclose one of some values."""

    begins: NDArray[np.int64]
    """The first code of each child; or the values that may be disclosed."""
    gains: NDArray[np.float64]
    """What is gained: one number, or one for each value."""


@dataclass(frozen=True, slots=True)
class Label:
    """A class label on one line: how often each code has it, code by code."""

    labels: NDArray[np.int32]
    amounts: NDArray[np.int64]
    places: NDArray[np.int64]
    """Where the labels of each code begin, and their number at the end."""
    count: int
    """How many labels there are."""
    seen: bool
    """Whether the model looks at this line."""

    @property
    def by_code(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """The arrays as the kernels take them."""
        return self.labels, self.amounts, self.places

    @classmethod
    def of(cls, codes: NDArray[np.int32], size: int, target: Sensitive, *, seen: bool) -> Label:
        """Count labels by code; a record without a label does not count."""
        labels = target.domain.size
        pairs = codes.astype(np.int64) * labels + target.codes
        if size * labels <= 4 * len(codes) + 65_536:
            counts = np.bincount(pairs, minlength=size * labels)
            found = np.flatnonzero(counts)
            amounts = counts[found]
        else:
            found, amounts = np.unique(pairs, return_counts=True)
        there = found % labels != labels - 1
        found, amounts = found[there], amounts[there]
        places = np.searchsorted(found, np.arange(size + 1) * labels)
        return cls((found % labels).astype(np.int32), amounts, places, labels - 1, seen)


@dataclass(frozen=True, slots=True)
class Masks:
    """The lines of a table with what their refinements gain."""

    lines: tuple[Line, ...]
    records: tuple[NDArray[np.int64], ...]
    """Of each line: how many records have a code below each."""
    labels: tuple[tuple[Label, ...], ...]
    """Of each line: the class labels; empty where there is no label, and certainty is what counts."""
    least: NDArray[np.int64]
    """Of each line: the fewest records that a child can have."""
    logs: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, encoded: Encoded, tasks: Sequence[Classify], least: Sequence[int]) -> Masks:
        """Count a table."""
        records, labels = [], []
        for line, codes in zip(encoded.lines, encoded.codes, strict=True):
            records.append(np.append(0, np.cumsum(np.bincount(codes, minlength=line.size))))
            labels.append(
                tuple(
                    Label.of(
                        codes,
                        line.size,
                        encoded.targets[task.target],
                        seen=task.features is None or line.name in task.features,
                    )
                    for task in tasks
                )
            )
        logs = logarithms(encoded.rows if tasks else 0)
        return cls(encoded.lines, tuple(records), tuple(labels), np.array(least, dtype=np.int64), logs)

    def whole(self, i: int) -> Part:
        """A line at its most masked."""
        line = self.lines[i]
        if line.kind is Kind.NOMINAL and line.size > 1:
            return Part(i, np.arange(line.size, dtype=np.int32), suppressed=True)
        return Part(i, np.array([0, line.size - 1], dtype=np.int32), suppressed=False)

    def refinement(self, part: Part) -> Refinement | None:
        """What can be done to a part; None where that is nothing, or would not be beneficial.

        Beneficial: the records of the part have more than one class label (where there is no label: certainty is
        gained).
        """
        if part.low == part.high:
            return None
        if part.suppressed:
            found = self._disclose(part)
        elif self.lines[part.line].kind is Kind.TREE:
            found = self._specialise(part)
        else:
            found = self._split(part)
        if found is None or self.labels[part.line]:
            return found
        return found if found.gains.max(initial=0.0) > 0 else None

    def _split(self, part: Part) -> Refinement | None:
        """An interval in two, where that gains most; of equal ones the more even, then the lower.

        Only places that leave enough records on both sides: no other split can ever be valid.
        """
        from rothko.kernels.refine import choose_cut, split_gains

        i, low, high = part.line, part.low, part.high
        records = self.records[i]
        least = max(int(self.least[i]), 1)
        if records[high + 1] - records[low] < 2 * least:
            return None
        gains = np.zeros(high - low)
        if self.labels[i]:
            most = 0
            for label in self.labels[i]:
                unseen = np.zeros(high - low) if not label.seen else gains
                whole, side = np.empty((2, label.count), dtype=np.int64)
                most = max(most, split_gains(*label.by_code, low, high, self.logs, whole, side, unseen))
            if most < 2:
                return None
        else:
            cuts = np.arange(low + 1, high + 1)
            ends = np.full((2, len(cuts)), [[low], [high]])
            gains = self._saved(part, np.stack([ends[0], cuts]), np.stack([cuts - 1, ends[1]]))
        cut, gain = choose_cut(gains, records, low, high, least)
        return None if cut < 0 else Refinement(np.array([low, cut]), np.array([gain]))

    def _specialise(self, part: Part) -> Refinement | None:
        """The children of a node; a node with one child is passed without a step."""
        from rothko.kernels.refine import children_gain

        i = part.line
        tree = self.lines[i].tree
        assert tree is not None
        node = int(tree.lowest(part.low, part.high))
        children = slice(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
        low, high = tree.low[children].astype(np.int64), tree.high[children].astype(np.int64)
        if not self.labels[i]:
            return Refinement(low, self._saved(part, low[:, None], high[:, None]))
        gain, most = 0.0, 0
        ends = np.append(part.low - 1, high)
        for label in self.labels[i]:
            whole, side = np.empty((2, label.count), dtype=np.int64)
            found, there = children_gain(*label.by_code, ends, self.logs, whole, side)
            gain += found if label.seen else 0.0
            most = max(most, there)
        return Refinement(low, np.array([gain])) if most > 1 else None

    def _disclose(self, part: Part) -> Refinement | None:
        """One of the suppressed values by itself."""
        from rothko.kernels.refine import value_gains

        i = part.line
        gains = np.zeros(len(part.codes))
        if not self.labels[i]:
            gains = self._certainty(part)
        else:
            most = 0
            for label in self.labels[i]:
                unseen = np.zeros(len(gains)) if not label.seen else gains
                whole = np.empty(label.count, dtype=np.int64)
                most = max(most, value_gains(*label.by_code, part.codes, self.logs, whole, unseen))
            if most < 2:
                return None
        return Refinement(part.codes.astype(np.int64), gains)

    def _saved(self, part: Part, low: NDArray[np.integer], high: NDArray[np.integer]) -> NDArray[np.float64]:
        """NCP that the children ``low … high`` (children, cuts) save, for each record of the table."""
        line, records = self.lines[part.line], self.records[part.line]
        before = whole(line.width(part.codes[:1], part.codes[-1:]))[0] * (records[part.high + 1] - records[part.low])
        width = whole(line.width(low.ravel(), high.ravel())).reshape(low.shape)
        after = (width * (records[high + 1] - records[low])).sum(axis=0)
        return np.asarray(line.weight * (before - after) / (int(records[-1]) * SCALE))

    def _certainty(self, part: Part) -> NDArray[np.float64]:
        """The same for every value that may be disclosed."""
        line, counts = self.lines[part.line], np.diff(self.records[part.line])[part.codes]
        total = int(counts.sum())
        mixed = part.codes[-1] == line.missing_code
        without = np.full(len(counts), _suppressed(line, len(counts) - 1, missing=mixed))
        if mixed:
            without[-1] = _suppressed(line, len(counts) - 1, missing=False)
        before = whole(_suppressed(line, len(counts), missing=mixed)) * total
        after = (total - counts) * whole(without)
        return np.asarray(line.weight * (before - after) / (int(self.records[part.line][-1]) * SCALE))


def whole(width: NDArray[np.float64] | float) -> NDArray[np.int64]:
    """NCP in whole numbers, so that sums do not depend on their order, and ties are ties."""
    return np.rint(np.asarray(width) * SCALE).astype(np.int64)


def _suppressed(line: Line, count: int, *, missing: bool) -> float:
    """NCP of so many suppressed values: their number ÷ all values, 0 for one, 1 where missing is among others."""
    return 0.0 if count <= 1 else 1.0 if missing else count / line.size
