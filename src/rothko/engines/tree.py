"""The top of a tree of cuts, grown by a driver without the records (LeFevre et al., TODS 2008, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rothko.data.line import Line
from rothko.data.survey.coded import Coded
from rothko.engines.candidates import Cut
from rothko.methods.classes import Cuts
from rothko.privacy.statistics import Statistics


class Tree:
    """Nodes with their regions; parents come before children, the parts of a cut side by side."""

    def __init__(self, low: NDArray[np.int32], high: NDArray[np.int32], phase: int, rows: int) -> None:
        self.attribute = [-1]
        self.begins = [0]
        self.child = [-1]
        self.children = [0]
        self.phase = [phase]
        self.rows = [rows]
        """Records in each node."""
        self.parent = [-1]
        self.low = [low]
        self.high = [high]

    @classmethod
    def over(cls, lines: tuple[Line, ...], phase: int, rows: int) -> Tree:
        """A tree of one node, the whole table."""
        high = np.array([line.size - 1 for line in lines], dtype=np.int32)
        return cls(np.zeros_like(high), high, phase, rows)

    def cut(self, node: int, cut: Cut) -> range:
        """Cut a node; returns its parts."""
        a, first = cut.line, len(self.attribute)
        parts = range(first, first + len(cut.begins))
        self.attribute[node], self.child[node], self.children[node] = a, first, len(parts)
        edges = [int(self.low[node][a]), *cut.begins[1:], int(self.high[node][a]) + 1]
        for i in range(len(parts)):
            low, high = self.low[node].copy(), self.high[node].copy()
            low[a], high[a] = edges[i], edges[i + 1] - 1
            self.attribute.append(-1)
            self.begins.append(cut.begins[i])
            self.child.append(-1)
            self.children.append(0)
            self.phase.append(cut.phase)
            self.rows.append(cut.sizes[i])
            self.parent.append(node)
            self.low.append(low)
            self.high.append(high)
        return parts

    def undo(self, node: int) -> int:
        """Take the cut of a node back, and all below it: how many. What was below is out of reach from then on."""
        if self.attribute[node] < 0:
            return 0
        undone = 1 + sum(self.undo(part) for part in self.parts(node))
        self.attribute[node], self.child[node], self.children[node] = -1, -1, 0
        return undone

    def leaves(self, node: int = 0) -> list[int]:
        """The leaves under a node, from left to right."""
        if self.attribute[node] < 0:
            return [node]
        return [leaf for part in self.parts(node) for leaf in self.leaves(part)]

    def parts(self, node: int) -> range:
        """The parts of a node."""
        return range(self.child[node], self.child[node] + self.children[node])

    def regions(self, nodes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The regions of some nodes: (nodes, lines) first codes, and last codes."""
        return np.stack([self.low[n] for n in nodes]), np.stack([self.high[n] for n in nodes])

    def counted(self, nodes: Sequence[int]) -> Statistics:
        """How many records some nodes have, where all were counted."""
        return Statistics(np.array([self.rows[node] for node in nodes], dtype=np.int64), {}, {}, {})

    def route(self, nodes: dict[int, int]) -> Route:
        """Where records go: the number that each leaf has in ``nodes``, -1 for those that it does not name."""
        return Route(self, nodes)

    def graft(self, node: int, other: Tree, at: int = 0) -> dict[int, int]:
        """Take over what another tree has under a node, in place of a leaf; returns the other's leaves → those here."""
        if other.attribute[at] < 0:
            self.phase[node] = other.phase[at]
            return {at: node}
        parts = other.parts(at)
        here = self.cut(
            node,
            Cut(
                other.attribute[at],
                tuple(other.begins[p] for p in parts),
                tuple(other.rows[p] for p in parts),
                other.phase[parts[0]],
            ),
        )
        return {
            leaf: at_here for p, h in zip(parts, here, strict=True) for leaf, at_here in self.graft(h, other, p).items()
        }

    def cuts(self, lines: tuple[Line, ...]) -> Cuts:
        """The tree as arrays."""
        attribute = np.array(self.attribute, dtype=np.int32)
        return Cuts(
            attribute=attribute,
            begins=np.array(self.begins, dtype=np.int32),
            child=np.array(self.child, dtype=np.int32),
            children=np.array(self.children, dtype=np.int32),
            leaf=np.flatnonzero(attribute < 0),
            sizes=np.array([line.size for line in lines], dtype=np.int32),
        )


class Route:
    """Sends records down a tree."""

    def __init__(self, tree: Tree, nodes: dict[int, int]) -> None:
        self._arrays = tuple(
            np.array(column, dtype=np.int32) for column in (tree.attribute, tree.begins, tree.child, tree.children)
        )
        self._leaf = np.full(len(tree.attribute), -1, dtype=np.int32)
        for node, number in nodes.items():
            self._leaf[node] = number

    def __call__(self, coded: Coded) -> NDArray[np.int32]:
        """The number of each record's leaf."""
        from rothko.kernels.mondrian.descend import descend

        out = np.empty(coded.rows, dtype=np.int32)
        descend(coded.codes, *self._arrays, self._leaf, out)
        return out
