"""The other loss metrics that surveys of anonymization list, from what a release publishes.

NCP, GCP, discernibility and class size are in :mod:`rothko.metrics.grouping`, the classification metric in
:mod:`rothko.metrics.prediction`. Here, all of them lower for the better:

- loss metric: Iyengar, *Transforming Data to Satisfy Privacy Constraints*, KDD 2002;
- ambiguity metric: Nergiz and Clifton, *Thoughts on k-Anonymization*, DKE 63(3), 2007;
- entropy and monotone entropy: Gionis and Tassa, *k-Anonymization with Minimal Loss of Information*, TKDE 21(2), 2009;
- cluster diameter: Byun, Kamra, Bertino, Li, *Efficient k-Anonymization Using Clustering Techniques*, DASFAA 2007;
- suppressed entries: Meyerson and Williams, *On the Complexity of Optimal k-Anonymity*, PODS 2004;
- hierarchy distance: Samarati, *Protecting Respondents' Identities in Microdata Release*, TKDE 13(6), 2001.

The number of values that an entry stands for is that of the values which occur in the original: of a tree label its
leaves, of a range the values in it, of a set its size. Gionis and Tassa's non-uniform entropy is not here: it asks for
the value that each released row had, and a release does not tell which row was whose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.hierarchy.numbered import Tree
from rothko.data.line import Kind, Line
from rothko.metrics.extent import Extent
from rothko.metrics.pair import Pair
from rothko.metrics.published import Shown

Floats = NDArray[np.float64]


class Cells(NamedTuple):
    """What the classes show of one quasi-identifier, as metrics ask for it."""

    line: Line
    shown: Shown
    extent: Extent
    width: Floats
    """NCP of each class."""
    counts: NDArray[np.int64]
    """How often the original has each code."""

    @property
    def varies(self) -> bool:
        """Whether there is anything to lose."""
        return self.line.size > 1


class Cost(NamedTuple):
    """What a metric says of one quasi-identifier."""

    of_class: Floats
    """For an entry of each class."""
    one_class: float
    """For an entry of the one class over the whole table."""


class Entries(NamedTuple):
    """All entries of a release."""

    names: list[str]
    """The quasi-identifiers."""
    cells: list[Cells | None]
    """What is shown of each; None where that is a mean and nothing else."""
    sizes: NDArray[np.int64]
    """Records in each class."""

    @classmethod
    def of(cls, pair: Pair) -> Entries:
        """Those of a release that is read beside its original."""
        codes = zip(pair.lines, pair.encoded.codes, strict=True)
        counts = [np.bincount(some, minlength=line.size) for line, some in codes]
        return cls.showing(pair.lines, pair.shown, pair.widths, pair.sizes, counts)

    @classmethod
    def showing(
        cls,
        lines: Sequence[Line],
        shown: Mapping[str, Shown],
        widths: Floats,
        sizes: NDArray[np.int64],
        counts: Sequence[NDArray[np.int64]],
    ) -> Entries:
        """Those of some classes, given how often the original has each code of a line."""
        cells: list[Cells | None] = []
        for i, line in enumerate(lines):
            some = shown[line.name]
            extent = Extent.of(some, line.size)
            cells.append(None if extent is None else Cells(line, some, extent, widths[:, i], counts[i]))
        return cls([line.name for line in lines], cells, sizes)


class Values(NamedTuple):
    """What a metric says of a release, of exact data, of one class for all, and of each quasi-identifier."""

    value: float
    exact: float
    one_class: float
    columns: dict[str, float]


def add_means(parts: Sequence[Values], rows: Sequence[int]) -> Values:
    """Of a release whose classes were asked in parts of so many records each: a mean over the records."""
    share = np.array(rows) / sum(rows)
    return _added(parts, share)


def add_entries(parts: Sequence[Values], rows: Sequence[int]) -> Values:
    """The same of a number of entries."""
    return _added(parts, np.ones(len(parts)))


def _added(parts: Sequence[Values], weights: Floats) -> Values:
    def total(values: Sequence[float]) -> float:
        return float(np.dot(values, weights))

    columns = {name: total([one.columns[name] for one in parts]) for name in parts[0].columns}
    value, one_class = total([one.value for one in parts]), total([one.one_class for one in parts])
    return Values(value, parts[0].exact, one_class, columns)


def summed(cost: Callable[[Cells], Cost], *, mean: bool = False, entries: bool = False) -> Callable[[Entries], Values]:
    """A metric that adds up over columns and records: a mean over the records, or a number of entries.

    Parameters
    ----------
    mean
        Over the columns, too.
    entries
        Count entries.
    """

    def compute(found: Entries) -> Values:
        rows, divisor = int(found.sizes.sum()), len(found.names) if mean else 1
        records = 1 if entries else rows
        columns, one_class = {}, 0.0
        for column, some in zip(found.names, found.cells, strict=True):
            if some is None:
                columns[column] = one_class = math.nan
                continue
            of_class, whole = cost(some)
            columns[column] = float(np.dot(of_class, found.sizes)) / records
            one_class += whole * rows / records
        return Values(sum(columns.values()) / divisor, 0.0, one_class / divisor, columns)

    return compute


def ambiguity(found: Entries) -> Values:
    """AM: how many tuples a record may stand for, on average: the product over the columns of its values."""
    sizes = found.sizes
    stands_for = [None if some is None else some.extent.count.astype(np.float64) for some in found.cells]
    columns = {
        name: math.nan if count is None else float(np.dot(count, sizes) / sizes.sum())
        for name, count in zip(found.names, stands_for, strict=True)
    }
    tuples, whole = np.ones(len(sizes)), 1.0
    with np.errstate(over="ignore"):
        for count, some in zip(stands_for, found.cells, strict=True):
            tuples = tuples * (math.nan if count is None else count)
            whole *= math.nan if some is None else some.line.size
        value = float(np.dot(tuples, sizes)) / int(sizes.sum())
    return Values(value, 1.0, whole, columns)


def loss_metric(some: Cells) -> Cost:
    """LM: of categories (values stood for − 1) ÷ (all values − 1), of numbers range ÷ range of the table."""
    if some.line.kind is Kind.ORDERED or not some.varies:
        return Cost(some.width, float(some.varies))
    return Cost((np.maximum(some.extent.count, 1) - 1) / (some.line.size - 1), 1.0)


def entropy(some: Cells) -> Cost:
    """H(X | B): the entropy of the column's values, as often as the table has them, within what is shown, in bits."""
    return Cost(_conditional(some)[1], _whole_entropy(some))


def monotone_entropy(some: Cells) -> Cost:
    """Pr(B) · H(X | B), which a wider B never lowers."""
    records, bits = _conditional(some)
    return Cost(records / some.counts.sum() * bits, _whole_entropy(some))


def _conditional(some: Cells) -> tuple[NDArray[np.int64], Floats]:
    """For each class, how many records of the table have a value that it shows, and the entropy of these."""
    records = some.extent.total(some.counts)
    # log N − Σ n log n ÷ N: sums over a run of codes are differences of two sums from the first code on.
    weighed = some.extent.total(_n_log_n(some.counts))
    several = some.extent.count > 1
    within = np.where(several, records, 1)
    return records, np.where(several, np.maximum(np.log2(within) - weighed / within, 0.0), 0.0)


def _whole_entropy(some: Cells) -> float:
    records = int(some.counts.sum())
    return max(math.log2(records) - float(_n_log_n(some.counts).sum()) / records, 0.0) if some.varies else 0.0


def _n_log_n(counts: NDArray[np.int64]) -> Floats:
    return np.asarray(counts * np.log2(np.maximum(counts, 1)))


def diameter(some: Cells) -> Cost:
    """How far apart two records of a class may lie: range ÷ range, or height of the lowest common node ÷ of the tree.

    A column without a hierarchy is a tree of one level.
    """
    if some.line.kind is Kind.ORDERED:
        return Cost(some.width, float(some.varies))
    height, whole = _climbed(some)
    return Cost(height / max(whole, 1), float(some.varies))


def suppressed(some: Cells) -> Cost:
    """Entries that say nothing: ``*``, or whatever else stands for all values of the column."""
    whole = (some.extent.count == some.line.size) & some.varies
    return Cost(whole.astype(np.float64), float(some.varies))


def hierarchy_distance(some: Cells) -> Cost:
    """Levels that were climbed in the hierarchy; one for whatever is not exact in a column that has none."""
    height, whole = _climbed(some)
    return Cost(height.astype(np.float64), float(whole))


def _climbed(some: Cells) -> tuple[NDArray[np.int64], int]:
    """The height of the lowest node over what each class shows, and over all values."""
    tree = some.line.tree
    if some.line.kind is not Kind.TREE or tree is None:
        return (some.extent.count > 1).astype(np.int64), int(some.varies)
    height = _heights(tree)
    nodes = tree.lowest(some.shown.low, some.shown.high)
    return height[nodes], int(height[tree.lowest(np.array([0]), np.array([some.line.size - 1]))][0])


def _heights(tree: Tree) -> NDArray[np.int64]:
    """How many levels lie under each node, at most.

    >>> from rothko.data.hierarchy.hierarchy import Hierarchy
    >>> _heights(Hierarchy.from_nested({"EU": ["FR", "DE"], "JP": None})._whole()).tolist()
    [2, 1, 0, 0, 0]
    """
    height = np.zeros(len(tree.parent), dtype=np.int64)
    level = tree.leaf.astype(np.int64)
    climbed = 0
    while len(level := np.unique(tree.parent[level][tree.parent[level] >= 0])):
        climbed += 1
        height[level] = climbed  # the last to be written is the longest way down
    return height
