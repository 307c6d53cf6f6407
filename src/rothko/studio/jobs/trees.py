"""The hierarchy of a column over the values that the table has: its tree, what a level of it costs, what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.data.source.csv import CsvOptions
from rothko.metrics.uniqueness import unique_share
from rothko.policy.column_hierarchy import Found, hierarchy_of
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.studio.jobs import Telling
from rothko.studio.jobs.looking import columns_of

SHOWN = 50
"""Values without a leaf that are shown."""
LISTED = 300
"""Values beside which something can be written."""


@dataclass(frozen=True, slots=True)
class Level:
    """All values of the column brought to one level of the tree."""

    labels: int
    """How many different ones are left."""
    lost: float
    """NCP: 0 where every value stays, 1 where all are one."""
    unique: float | None
    """The share of records that are unique by all quasi-identifiers then."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A tree over the values of a column; packed, for the server takes it in while it answers, and shows some of it."""

    labels: pa.Array
    """One per node, the root first; breadth first, as those of a hierarchy."""
    parents: NDArray[np.int32]
    records: NDArray[np.int64]
    """Below each node, and at it."""
    levels: tuple[Level, ...]
    """From the values themselves up to the root."""
    holes: tuple[tuple[str, int], ...]
    """Values that have no leaf, with how many records have each; the most frequent first."""
    lacking: int
    """How many values have none."""
    unused: int
    """How many leaves do not occur."""
    values: tuple[str, ...]
    """The first values in their order."""
    distinct: int

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree itself, unpacked."""
        return Hierarchy(tuple(self.labels.to_pylist()), self.parents)

    def place(self, label: str) -> int:
        """The node of a label; below 0 where there is none."""
        return int(pc.index(self.labels, label).as_py())

    def label(self, node: int) -> str:
        """The label of a node."""
        return str(self.labels[node].as_py())

    def below(self, node: int) -> range:
        """The children of a node, which lie side by side."""
        return range(*np.searchsorted(self.parents, np.array([node, node + 1], self.parents.dtype)).tolist())

    def groups(self, most: int) -> list[str]:
        """Labels that something stands below, or can: the root first."""
        above = self.parents[1:]
        nodes = above[np.flatnonzero(np.diff(above, prepend=-1))][:most]
        return list(dict.fromkeys(["*", *self.labels.take(pa.array(nodes)).to_pylist()]))


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column."""

    values: tuple[str, ...]
    """The first ones in their order, as text."""
    counts: tuple[int, ...]
    """How many records have each."""
    distinct: int


def values(telling: Telling, *, data: Any, policy: Policy, column: str, csv: CsvOptions | None = None) -> Values:
    """The values of a column, to write something beside each."""
    plain = policy.but(privacy=(KAnonymity(k=2),), workload=())  # which asks nothing of it
    found = hierarchy_of(data, column, plain, HierarchySpec("flat"), csv=csv)
    some = slice(0, LISTED)
    return Values(tuple(found.values[some].to_pylist()), tuple(found.counts[some].tolist()), len(found.values))


def hierarchy(telling: Telling, *, data: Any, policy: Policy, column: str, csv: CsvOptions | None = None) -> Seen:
    """Look at the hierarchy of a column; of one that is a line, at its values."""
    spec = policy.columns[column]
    found = hierarchy_of(data, column, policy, None if spec.hierarchy is not None else HierarchySpec("flat"), csv=csv)
    lacking = found.without_leaf.to_pylist()
    counts = dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True)) if lacking else {}
    holes = sorted(((value, counts[value]) for value in lacking), key=lambda one: (-one[1], one[0]))[:SHOWN]
    levels: tuple[Level, ...] = ()
    if spec.hierarchy is not None and not lacking:
        levels = tuple(_levels(found, data, policy, column, csv))
    return Seen(
        pa.array(found.hierarchy.labels, pa.string()),
        found.hierarchy.parents,
        found.records(),
        levels,
        tuple(holes),
        len(lacking),
        found.unused,
        tuple(found.values.slice(0, 400).to_pylist()),
        len(found.values),
    )


def _levels(found: Found, data: Any, policy: Policy, column: str, csv: CsvOptions | None) -> list[Level]:
    """What each level costs: by itself, and in how far people are told apart."""
    above = paths(found)
    every = int(found.counts.sum())
    columns = columns_of(data, policy, csv) if column in policy.quasi_identifiers else None
    levels = []
    for at in range(above.shape[1]):
        nodes, place, size = np.unique(above[:, at], return_inverse=True, return_counts=True)
        lost = (size[place] - 1) / max(len(found.values) - 1, 1)
        unique = None
        if columns is not None:
            mapped = np.concatenate([[0], place + 1]).astype(np.int32)
            matrix: Any = columns.with_column(column, mapped[columns[column]])
            unique = unique_share(matrix, matrix.sizes, range(len(matrix)))
        levels.append(Level(len(nodes), float(np.dot(lost, found.counts) / max(every, 1)), unique))
    return levels


def paths(found: Found) -> NDArray[np.int64]:
    """The node of each value at every level, the value itself first and the root last; short paths wait at the root."""
    rows = {row[0]: row for row in found.hierarchy.to_rows()}
    node = {label: at for at, label in enumerate(found.hierarchy.labels)}
    deep = max(map(len, rows.values()), default=1)
    table = np.zeros((len(found.values), deep), dtype=np.int64)
    for at, value in enumerate(found.values.to_pylist()):
        path = [node[label] for label in rows[value]]
        table[at, : len(path)] = path
    return table
