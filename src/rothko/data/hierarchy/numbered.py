"""The part of a hierarchy that occurs in the data, as arrays: every node owns a contiguous interval of leaf codes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

ROOT = "*"
"""The label of every root: the value that says nothing."""
Ints = NDArray[np.int32]
Nodes = tuple[tuple[str, ...], Ints]
"""The label and the parent of each node, breadth first."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The part of a hierarchy that occurs in the data, as arrays for the kernels.

    Nodes are breadth first, so the children of a node are contiguous and in line order. Where the
    column has missing values, these are the last leaf, directly under the root.
    """

    labels: pa.Array
    """Text of each node; null for the missing value."""
    parent: Ints
    """Parent of each node, −1 for the root, which is node 0."""
    low: Ints
    """First leaf code under each node."""
    high: Ints
    """Last leaf code under each node, inclusive; −1 for the root of a tree without leaves."""
    first_child: Ints
    """First child of each node, 0 for leaves."""
    n_children: Ints
    """Number of children of each node, 0 for leaves."""
    leaf: Ints
    """Node of each leaf code."""
    leaves: pa.Array
    """The values in line order, without the missing one."""

    def lowest(self, low: ArrayLike, high: ArrayLike) -> Ints:
        """Find, for each pair, the lowest node whose interval covers the codes from `low` to `high`.

        Parameters
        ----------
        low, high
            First and last leaf codes, both inclusive, of the same shape.

        Examples
        --------
        >>> labels = pa.array(["*", "EU", "Asia", "FR", "DE", "JP"])
        >>> tree = grow(labels, np.array([-1, 0, 0, 1, 1, 2]))
        >>> tree.labels.take(tree.lowest([0, 0, 1], [0, 1, 2])).to_pylist()
        ['FR', 'EU', '*']
        """
        node: Ints = np.asarray(self.leaf[np.asarray(low, dtype=np.intp)])
        last = np.asarray(high)
        climbing = np.flatnonzero(self.high[node] < last)
        while climbing.size:
            node.flat[climbing] = self.parent[node.flat[climbing]]
            climbing = climbing[self.high[node.flat[climbing]] < last.flat[climbing]]
        return node


def grow(labels: pa.Array, parents: NDArray[np.integer]) -> Tree:
    """Work out children and intervals of nodes that are breadth first."""
    n_nodes = len(parents)
    n_children = np.bincount(parents[1:], minlength=n_nodes)
    end = 1 + np.cumsum(n_children)  # of the children of each node
    is_leaf = n_children == 0
    is_leaf[0] = False
    depths = [0, 1]  # where each depth begins
    while depths[-1] < n_nodes:
        depths.append(int(end[depths[-1] - 1]))
    below = [slice(a, b) for a, b in itertools.pairwise(depths[1:])]
    size = is_leaf.astype(np.int64)
    for nodes in reversed(below):
        above = parents[nodes]
        size[above[0] : above[-1] + 1] += np.bincount(
            above - above[0], weights=size[nodes], minlength=above[-1] + 1 - above[0]
        ).astype(np.int64)
    low = np.zeros(n_nodes, dtype=np.int64)
    for nodes in below:
        above = parents[nodes]
        before = np.cumsum(size[nodes]) - size[nodes]
        first = end[above] - n_children[above] - nodes.start
        low[nodes] = low[above] + before - before[first]
    leaf = np.empty(size[0], dtype=np.int32)
    leaf[low[is_leaf]] = np.flatnonzero(is_leaf)
    return Tree(
        labels=labels,
        parent=parents.astype(np.int32),
        low=low.astype(np.int32),
        high=(low + size - 1).astype(np.int32),
        first_child=np.where(n_children > 0, end - n_children, 0).astype(np.int32),
        n_children=n_children.astype(np.int32),
        leaf=leaf,
        leaves=labels.take(pa.array(leaf)).drop_null(),
    )
