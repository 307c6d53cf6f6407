"""The distinct tuples of a table along the Hilbert curve, as the kernels of clustering take them.

Records that agree in all quasi-identifiers, and in what requirements ask of sensitive values, are one tuple: which of
them goes to which class is all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.curve import hilbert_order
from rothko.methods.layout import Rows, fewest, rules_of
from rothko.privacy.requirement import Requirement

if TYPE_CHECKING:
    from rothko.kernels.cluster.hull import WholeLines
    from rothko.kernels.rules import Rules

WHOLE = 1 << 24
"""NCP in whole numbers: that of all lines together."""
LARGEST_TABLE = 1 << 20
"""How large a table of the nodes of a hierarchy by its leaves may be."""


COLUMNS = ("kind", "full", "missing", "size", "begin", "unit", "table", "node", "nodes")
"""What :mod:`rothko.kernels.cluster.hull` is told of each line."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Classes of tuples: so many records of a tuple in a class."""

    tuples: NDArray[np.int64]
    classes: NDArray[np.int64]
    """The class of each entry; -1 where it is in none."""
    amounts: NDArray[np.int64]
    count: int
    """How many classes there are."""

    @classmethod
    def none(cls) -> Entries:
        """No classes."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, 0)

    def where(self, kept: NDArray[np.bool_]) -> Entries:
        """Some of the entries, of the same classes."""
        return Entries(self.tuples[kept], self.classes[kept], self.amounts[kept], self.count)

    def between(self, begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Tuples, classes and amounts of some entries."""
        return self.tuples[begin:end], self.classes[begin:end], self.amounts[begin:end]


@dataclass(frozen=True, slots=True)
class Tuples:
    """The distinct tuples of a table, in the order of the Hilbert curve."""

    encoded: Encoded
    lines: WholeLines
    x: NDArray[np.int32]
    """(lines, tuples): places in whole numbers on ordered lines, codes on others."""
    values: NDArray[np.int32]
    """(columns, tuples): what rules look at."""
    rules: Rules
    k: int
    """The fewest records that a class can have."""
    records: NDArray[np.int32]
    """The records, tuple by tuple."""
    starts: NDArray[np.int64]
    """Where the records of each tuple begin, and their number at the end."""

    @classmethod
    def of(cls, encoded: Encoded, requirements: Sequence[Requirement], *, threads: int) -> Tuples:
        """The tuples of a table."""
        rows = Rows()
        rules = rules_of(encoded, requirements, rows.add)
        order = hilbert_order(encoded, threads=threads)
        codes = encoded.codes[:, order]
        new = np.append(True, (codes[:, 1:] != codes[:, :-1]).any(axis=0))
        if rows:
            within = np.lexsort((*(row[order] for row in rows), np.cumsum(new)))
            order = order[within]
            for row in rows:
                held = row[order]
                new[1:] |= held[1:] != held[:-1]
        first = np.flatnonzero(new)
        lines, x = lay_out_whole(encoded.lines, codes[:, first])
        values = np.stack([row[order[first]] for row in rows]) if rows else np.empty((0, len(first)), dtype=np.int32)
        starts = np.append(first, len(order)).astype(np.int64)
        return cls(encoded, lines, x, values, rules, fewest(requirements), order, starts)

    @property
    def count(self) -> int:
        """How many tuples there are."""
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """The records of each tuple."""
        return np.diff(self.starts)

    def entries(self, partition: LocalClasses) -> Entries:
        """The classes of a partition as entries."""
        tuple_of = np.empty(len(self.records), dtype=np.int64)
        tuple_of[self.records] = np.repeat(np.arange(self.count), self.counts)
        pairs, amounts = np.unique(partition.class_of().astype(np.int64) << 32 | tuple_of, return_counts=True)
        return Entries(pairs & 0xFFFFFFFF, pairs >> 32, amounts, partition.classes)

    def partition(self, entries: Entries, *, notes: tuple[str, ...] = ()) -> LocalClasses:
        """The classes as records: an entry takes the next ones of its tuple."""
        from rothko.kernels.order import arrange

        order, _ = arrange(entries.tuples.astype(np.int32), self.count)
        class_of = np.empty(len(self.records), dtype=np.int64)
        class_of[self.records] = np.repeat(entries.classes[order], entries.amounts[order])
        return replace(LocalClasses.of(self.encoded, class_of, entries.count), notes=notes)


def lay_out_whole(given: Sequence[Line], codes: NDArray[np.int32]) -> tuple[WholeLines, NDArray[np.int32]]:
    """Lines in whole numbers, and the places of some codes on them."""
    from rothko.kernels.cluster.hull import WholeLines

    spec = np.zeros((len(given), len(COLUMNS)), dtype=np.int32)
    trees: list[NDArray[np.generic]] = [np.empty((0, 4))]
    leaves: list[NDArray[np.generic]] = [np.empty(0)]
    tables: list[NDArray[np.generic]] = [np.empty(0)]
    x = codes.copy()
    weights = sum(line.weight for line in given) or 1.0
    words = nodes = leaf = entry = 0
    for a, line in enumerate(given):
        full = round(WHOLE * line.weight / weights)
        about = {"kind": int(line.kind), "full": full, "missing": -1, "size": line.size, "table": -1}
        if line.kind is Kind.ORDERED:
            places = np.rint(line.places / line.span * full).astype(np.int32)
            x[a] = np.append(places, np.int32(-1))[codes[a]]
        elif line.kind is Kind.NOMINAL:
            about |= {"missing": line.missing_code, "begin": words, "unit": full // line.size}
            words += -(-line.size // 64)
        else:
            tree = line.tree
            assert tree is not None
            # 1.0: in floating point, since whole numbers of 32 bits would overflow.
            wide = np.where(tree.low == tree.high, 0, np.rint(full * (tree.high - tree.low + 1.0) / line.size))
            about |= {"begin": leaf, "node": nodes, "nodes": len(tree.parent)}
            trees.append(
                np.column_stack([np.where(tree.parent < 0, -1, tree.parent + nodes), tree.low, tree.high, wide])
            )
            leaves.append(tree.leaf + nodes)
            if len(tree.parent) * line.size <= LARGEST_TABLE:
                about["table"] = entry
                tables.append(_joined(line, wide))
                entry += len(tree.parent) * line.size
            leaf, nodes = leaf + len(tree.leaf), nodes + len(tree.parent)
        spec[a] = [about.get(column, 0) for column in COLUMNS]
    return (
        WholeLines(
            spec,
            np.concatenate(trees).astype(np.int32),
            np.concatenate(leaves).astype(np.int32),
            np.concatenate(tables).astype(np.int32),
            words,
        ),
        x,
    )


def _joined(line: Line, wide: NDArray[np.float64]) -> NDArray[np.float64]:
    """What joining makes of NCP: for each leaf, that of the lowest node over it and each node."""
    tree = line.tree
    assert tree is not None
    codes = np.arange(line.size)[:, None]
    node = np.broadcast_to(np.arange(len(tree.parent)), (line.size, len(tree.parent))).copy()
    outside = (codes < tree.low[node]) | (codes > tree.high[node])
    while outside.any():
        node[outside] = tree.parent[node[outside]]
        outside = (codes < tree.low[node]) | (codes > tree.high[node])
    return np.asarray(wide[node]).ravel()
