"""What a method returns: the classes, each a box on the lines, and what recoding is behind them.

:class:`TreeClasses` have a tree of cuts, :class:`ColumnClasses` the parts of every line, :class:`LocalClasses` nothing
but the records themselves. Each answers for its boxes, regions and widths, and for what it shows on a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line

Ends = tuple[NDArray[np.int32], NDArray[np.int32]]
"""First and last codes."""
STRIDE = 1 << 15
"""Classes that are gone through at a time: they stay in the cache."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The tree of cuts behind a global recoding, parents before children, the parts of a cut side by side."""

    attribute: NDArray[np.int32]
    """The line that a node is cut on, -1 for a leaf."""
    begins: NDArray[np.int32]
    """The code at which the node begins on the line that its parent is cut on."""
    child: NDArray[np.int32]
    """The first part of the node."""
    children: NDArray[np.int32]
    """How many parts it has."""
    leaf: NDArray[np.int64]
    """The node of each class."""
    sizes: NDArray[np.int32]
    """How many codes each line has."""
    root: Ends | None = None
    """The region of the root, its first and last code on every line, where it is a branch of a larger tree."""

    def regions(self) -> Ends:
        """The region of each class: (classes, lines) first codes, and last codes."""
        from rothko.kernels.mondrian.nodes import regions

        root = (np.zeros_like(self.sizes), self.sizes - 1) if self.root is None else self.root
        low, high = regions(self.attribute, self.begins, self.child, self.children, *root)
        return low[self.leaf], high[self.leaf]


@dataclass(frozen=True, slots=True)
class Members:
    """Which codes of one line each class has, where its box would say more than that."""

    starts: NDArray[np.int64]
    """Where the codes of each class begin, and their number at the end: classes + 1 numbers."""
    codes: NDArray[np.int32]
    """The codes, class by class, rising within each."""

    @classmethod
    def of(cls, owner: NDArray[np.integer], codes: NDArray[np.integer], classes: int) -> Members:
        """The distinct codes of each class, from some codes and the class of each.

        >>> found = Members.of(np.array([0, 1, 0, 0]), np.array([5, 2, 3, 5]), classes=2)
        >>> found.starts.tolist(), found.codes.tolist()
        ([0, 2, 3], [3, 5, 2])
        """
        pairs = np.unique(owner.astype(np.int64) << 32 | codes)
        starts = np.searchsorted(pairs >> 32, np.arange(classes + 1))
        return cls(starts.astype(np.int64), (pairs & 0xFFFFFFFF).astype(np.int32))

    @classmethod
    def joined(cls, parts: Sequence[Members]) -> Members:
        """Those of several parts of a table, one after the other.

        >>> one = Members(np.array([0, 2]), np.array([3, 5]))
        >>> Members.joined([one, one]).starts.tolist()
        [0, 2, 4]
        """
        ends = np.cumsum([0, *(len(part.codes) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
        return cls(np.concatenate([*starts, ends[-1:]]), np.concatenate([part.codes for part in parts]))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many codes each class has."""
        return np.diff(self.starts)

    def take(self, places: NDArray[np.integer]) -> Members:
        """The codes of some classes, in the order of these.

        >>> Members(np.array([0, 2, 3]), np.array([3, 5, 2])).take(np.array([1, 0])).codes.tolist()
        [2, 3, 5]
        """
        sizes = self.sizes[places]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        return Members(starts, self.codes[np.repeat(self.starts[places], sizes) + within])


@dataclass(frozen=True, slots=True)
class Parts:
    """One line of a recoding that treats every line by itself: the parts that its codes are divided into."""

    of_code: NDArray[np.int32]
    """The part of each code."""
    low: NDArray[np.int32]
    """The first code of each part."""
    high: NDArray[np.int32]
    """The last code of each part, which has all codes in between unless its values are suppressed."""
    sizes: NDArray[np.int64]
    """How many codes each part has."""
    suppressed: int
    """The part of the suppressed values; -1 where there is none."""
    of_class: NDArray[np.int32]
    """The part of each class."""

    def widths(self, line: Line) -> NDArray[np.float64]:
        """The NCP of each part; several suppressed values count as the set of them."""
        width = line.width(self.low, self.high)
        if self.suppressed >= 0 and self.sizes[self.suppressed] > 1:
            mixed = line.missing and self.high[self.suppressed] == line.missing_code
            width[self.suppressed] = 1.0 if mixed else self.sizes[self.suppressed] / line.size
        return width


@dataclass(frozen=True, slots=True)
class Classes:
    """Records grouped into classes; every record is in exactly one. What is behind them, a subclass says."""

    order: NDArray[np.int32]
    """The records, class by class."""
    starts: NDArray[np.int64]
    """Where each class begins in :attr:`order`, and its length at the end: classes + 1 numbers."""
    low: NDArray[np.int32]
    """(classes, lines): the smallest code in the class."""
    high: NDArray[np.int32]
    """(classes, lines): the largest code in the class."""
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    """What a reader of the certificate should know of how the classes came about."""

    by_column: ClassVar[bool] = False
    """Whether every line is recoded by itself, so that the same value shows the same in every class."""

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records in each class."""
        return np.diff(self.starts)

    def class_of(self) -> NDArray[np.int32]:
        """The class of each record."""
        classes = np.empty(len(self.order), dtype=np.int32)
        classes[self.order] = np.repeat(np.arange(self.classes, dtype=np.int32), self.sizes)
        return classes

    def regions(self) -> Ends:
        """The region of each class, (classes, lines) first and last codes; its box where there is no other."""
        return self.low, self.high

    def members(self, i: int) -> Members | None:
        """The values of each class on a line, where it publishes these rather than its box."""
        return None

    def ends(self, i: int) -> Ends:
        """First and last code of each interval that is shown on a line: that of each class."""
        return self.low[:, i], self.high[:, i]

    def shown(self, i: int, intervals: NDArray[np.int32]) -> NDArray[np.int32]:
        """What each class shows on a line, given what each interval does."""
        return intervals

    def gathered(self, i: int, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The records by the interval that they are in on a line, and where each begins, given their codes there."""
        return self.order, self.starts

    def width(self, i: int, line: Line) -> NDArray[np.float64]:
        """The NCP of each class on a line."""
        return line.width(self.low[:, i], self.high[:, i])

    def widths(self, lines: Sequence[Line]) -> NDArray[np.float64]:
        """(classes, lines): the NCP of each class on each line."""
        return np.stack([self.width(i, line) for i, line in enumerate(lines)], axis=1)

    def gcp(self, lines: Sequence[Line]) -> float:
        """The global certainty penalty."""
        return penalties(lines, self.widths(lines), self.sizes)[1]


@dataclass(frozen=True, slots=True)
class TreeClasses(Classes):
    """Classes with a tree of cuts behind them, and so a global recoding: each has a region around its box."""

    cuts: Cuts

    def regions(self) -> Ends:
        """The region of each class, (classes, lines) first and last codes."""
        return self.cuts.regions()

    def within(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> TreeClasses:
        """The same classes as those of a branch of a larger tree, whose root has the codes ``low`` to ``high``."""
        return replace(self, cuts=replace(self.cuts, root=(low, high)))


@dataclass(frozen=True, slots=True)
class LocalClasses(Classes):
    """Classes of a local recoding: equal records may be in different ones, and nothing places a new record."""

    sets: Mapping[int, Members] = field(default_factory=dict)
    """Nominal lines: the values of each class, which it publishes rather than its box."""

    @classmethod
    def of(cls, encoded: Encoded, class_of: NDArray[np.integer], classes: int) -> LocalClasses:
        """The classes, given that of each record; none is empty.

        >>> line = Line("age", Kind.ORDERED, None, np.array([0.0, 10.0, 20.0]), missing=False)
        >>> encoded = Encoded((line,), np.array([[0, 2, 1]], dtype=np.int32), {})
        >>> found = LocalClasses.of(encoded, np.array([1, 0, 1]), 2)
        >>> found.order.tolist(), found.starts.tolist(), found.low.tolist(), found.high.tolist()
        ([1, 0, 2], [0, 1, 3], [[2], [0]], [[2], [1]])
        """
        from rothko.kernels.order import arrange

        order, starts = arrange(class_of.astype(np.int32), classes)
        low, high = (np.empty((classes, len(encoded.lines)), dtype=np.int32) for _ in range(2))
        sets = {}
        for i, line in enumerate(encoded.lines):
            codes = encoded.codes[i][order]
            low[:, i] = np.minimum.reduceat(codes, starts[:-1])
            high[:, i] = np.maximum.reduceat(codes, starts[:-1])
            if line.kind is Kind.NOMINAL:
                sets[i] = Members.of(class_of, encoded.codes[i], classes)
        return cls(order, starts, low, high, sets)

    @classmethod
    def joined(cls, parts: Sequence[LocalClasses]) -> LocalClasses:
        """The classes of several parts of a table, one after the other."""
        ends = np.cumsum([0, *(len(part.order) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
        return cls(
            np.concatenate([part.order for part in parts]),
            np.concatenate([*starts, ends[-1:]]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            {i: Members.joined([part.sets[i] for part in parts]) for i in parts[0].sets},
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    def members(self, i: int) -> Members | None:
        """The values of each class on a line, where it publishes these rather than its box."""
        return self.sets.get(i)

    def width(self, i: int, line: Line) -> NDArray[np.float64]:
        """The NCP of each class on a line; sets by how many values they have."""
        if i not in self.sets:
            return line.width(self.low[:, i], self.high[:, i])
        size = self.sets[i].sizes
        mixed = (self.high[:, i] == line.missing_code) & (size > 1)
        return np.where(mixed, 1.0, np.where(size > 1, size / line.size, 0.0))


@dataclass(frozen=True, slots=True)
class ColumnClasses(Classes):
    """Classes of a recoding that treats every line by itself: the records that show the same on all lines."""

    parts: tuple[Parts, ...]
    """Of each line."""

    by_column: ClassVar[bool] = True

    @classmethod
    def showing(
        cls,
        order: NDArray[np.int32],
        starts: NDArray[np.int64],
        parts: Sequence[Parts],
        shows: NDArray[np.int32],
        *,
        notes: tuple[str, ...] = (),
    ) -> ColumnClasses:
        """The classes of records in their order, given what each shows: (lines, classes) parts."""
        low = np.empty((shows.shape[1], len(parts)), dtype=np.int32)
        high = np.empty_like(low)
        for begin in range(0, len(low), STRIDE):
            some = slice(begin, begin + STRIDE)
            for i, one in enumerate(parts):
                low[some, i], high[some, i] = one.low[shows[i, some]], one.high[shows[i, some]]
        shown = tuple(replace(one, of_class=shows[i]) for i, one in enumerate(parts))
        return cls(order, starts, low, high, shown, notes=notes)

    def ends(self, i: int) -> Ends:
        """First and last code of each part of a line."""
        return self.parts[i].low, self.parts[i].high

    def shown(self, i: int, intervals: NDArray[np.int32]) -> NDArray[np.int32]:
        """What each class shows on a line, given what each part does."""
        return intervals[self.parts[i].of_class]

    def gathered(self, i: int, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The records by the part that they are in on a line, and where each begins, given their codes there."""
        from rothko.kernels.order import arrange

        order, starts = arrange(self.parts[i].of_code[codes], len(self.parts[i].low))
        return order, starts

    def width(self, i: int, line: Line) -> NDArray[np.float64]:
        """The NCP of each class on a line: that of its part."""
        return self.parts[i].widths(line)[self.parts[i].of_class]


def penalties(
    lines: Sequence[Line], widths: NDArray[np.float64], sizes: NDArray[np.integer]
) -> tuple[dict[str, float], float]:
    """The NCP of each line over all records, and the GCP, from the NCP of classes (classes, lines) and their sizes.

    Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, section 2.1, with weights that sum to 1.
    """
    rows = int(sizes.sum())
    weight = np.array([line.weight for line in lines])
    # Not np.dot: its threads spin while they wait for more long vectors, and wait longer than they work.
    ncp = {line.name: float((widths[:, i] * sizes).sum() / rows) for i, line in enumerate(lines)}
    return ncp, float(np.dot(list(ncp.values()), weight / weight.sum()))
