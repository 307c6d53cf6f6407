"""What a method returns: the classes, each a box on the lines, and the tree of cuts where there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


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
    root: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
    """The region of the root, its first and last code on every line, where it is a branch of a larger tree."""

    def within(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> Cuts:
        """The same cuts as a branch of a larger tree, of whose lines its root has the codes ``low`` to ``high``."""
        return replace(self, root=(low, high))

    def regions(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The region of each class: (classes, lines) first codes, and last codes."""
        from rothko.kernels.nodes import regions

        root = (np.zeros_like(self.sizes), self.sizes - 1) if self.root is None else self.root
        low, high = regions(self.attribute, self.begins, self.child, self.children, *root)
        return low[self.leaf], high[self.leaf]


@dataclass(frozen=True, slots=True)
class Partition:
    """Records grouped into classes; every record is in exactly one."""

    order: NDArray[np.int32]
    """The records, class by class."""
    starts: NDArray[np.int64]
    """Where each class begins in :attr:`order`, and its length at the end: classes + 1 numbers."""
    low: NDArray[np.int32]
    """(classes, lines): the smallest code in the class."""
    high: NDArray[np.int32]
    """(classes, lines): the largest code in the class."""
    cuts: Cuts | None = None
    """The tree of cuts; None for a local recoding."""

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
