"""Trees edited by hand: group, rename, move, ungroup. Every label has one place in a tree, so labels name nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.errors import HierarchyError

ROOT = "*"


class Branches:
    """A tree as what stands below each label, to be changed."""

    def __init__(self, tree: Hierarchy) -> None:
        self.below: dict[str, list[str]] = {label: [] for label in tree.labels}
        self.above: dict[str, str] = {}
        for label, parent in zip(tree.labels[1:], tree.parents[1:].tolist(), strict=True):
            self.below[tree.labels[parent]].append(label)
            self.above[label] = tree.labels[parent]
        self.leaves = {label for label, below in self.below.items() if not below}

    def know(self, labels: Iterable[str]) -> None:
        """Refuse labels that are not there; the tree may have changed in another tab."""
        if any(label not in self.below for label in labels):
            raise HierarchyError("The tree has changed since this page was made; look at it again.")

    def path(self, label: str) -> list[str]:
        """What stands above a label, the root last."""
        found = []
        while label != ROOT:
            label = self.above[label]
            found.append(label)
        return found

    def tree(self) -> Hierarchy:
        """The tree as it is now; groups of which nothing is left are gone."""
        self._drop_empty()
        return Hierarchy.from_nested({ROOT: self._nested(ROOT)}, where="the hierarchy")

    def _drop_empty(self) -> None:
        while empty := [
            one for one, below in self.below.items() if not below and one not in self.leaves and one != ROOT
        ]:
            for one in empty:
                self.below[self.above.pop(one)].remove(one)
                del self.below[one]

    def _nested(self, label: str) -> list[Any]:
        return [child if not self.below[child] else {child: self._nested(child)} for child in self.below[label]]


def grouped(tree: Hierarchy, labels: Sequence[str], name: str) -> Hierarchy:
    """Some nodes under a new one, where the first of them stood.

    >>> grouped(Hierarchy.flat(["a", "b", "c"]), ["a", "b"], "ab").to_rows()
    [['a', 'ab', '*'], ['b', 'ab', '*'], ['c', '*']]
    """
    branches = Branches(tree)
    branches.know(labels)
    if not labels or ROOT in labels:
        raise HierarchyError("Choose values or groups to put together first; the root holds all of them already.")
    _free(branches, name)
    # Of a group and something below it, the group is meant.
    top = [label for label in labels if not set(branches.path(label)) & set(labels)]
    parent = branches.above[top[0]]
    at = branches.below[parent].index(top[0])
    branches.below[parent].insert(at, name)
    branches.above[name], branches.below[name] = parent, []
    for label in top:
        branches.below[branches.above[label]].remove(label)
        branches.below[name].append(label)
        branches.above[label] = name
    return branches.tree()


def renamed(tree: Hierarchy, label: str, name: str) -> Hierarchy:
    """A group under another name; values are those of the table, and keep theirs.

    >>> renamed(Hierarchy.from_nested({"ab": ["a", "b"]}), "ab", "first").to_rows()[0]
    ['a', 'first', '*']
    """
    branches = Branches(tree)
    branches.know([label])
    if label in branches.leaves or label == ROOT:
        raise HierarchyError("Only groups can be renamed: a value is what the table has, and the root is always *.")
    _free(branches, name)
    labels = tuple(name if one == label else one for one in tree.labels)
    return Hierarchy(labels, tree.parents)


def moved(tree: Hierarchy, labels: Sequence[str], under: str) -> Hierarchy:
    """Nodes below another one, behind those that are there.

    >>> moved(Hierarchy.from_nested({"ab": ["a", "b"], "cd": ["c", "d"]}), ["b"], "cd").to_nested()
    {'ab': ['a'], 'cd': ['c', 'd', 'b']}
    """
    branches = Branches(tree)
    branches.know([*labels, under])
    if under in branches.leaves:
        raise HierarchyError("Nothing can stand below a value; choose a group, or the root.")
    for label in labels:
        if label in (ROOT, under, *branches.path(under)):
            raise HierarchyError("A group cannot be moved below itself.")
        branches.below[branches.above[label]].remove(label)
        branches.below[under].append(label)
        branches.above[label] = under
    return branches.tree()


def ungrouped(tree: Hierarchy, labels: Sequence[str]) -> Hierarchy:
    """What stood in groups, in their place.

    >>> ungrouped(Hierarchy.from_nested({"ab": ["a", "b"], "cd": ["c"]}), ["ab"]).to_nested()
    ['a', 'b', {'cd': ['c']}]
    """
    branches = Branches(tree)
    branches.know(labels)
    for label in labels:
        if label in branches.leaves or label == ROOT:
            raise HierarchyError("Only groups can be taken apart.")
        parent = branches.above.pop(label)
        at = branches.below[parent].index(label)
        branches.below[parent][at : at + 1] = branches.below[label]
        for child in branches.below.pop(label):
            branches.above[child] = parent
    return branches.tree()


def filled(tree: Hierarchy, values: Sequence[str], under: str) -> Hierarchy:
    """The tree with leaves for values that have none.

    >>> filled(Hierarchy.from_nested({"ab": ["a", "b"]}), ["c"], "*").to_nested()
    [{'ab': ['a', 'b']}, 'c']
    """
    branches = Branches(tree)
    branches.know([under])
    if under in branches.leaves:
        raise HierarchyError("Nothing can stand below a value; choose a group, or the root.")
    for value in values:
        if value in branches.below:
            raise HierarchyError("A value that has no leaf is the name of a group; rename the group first.")
        branches.below[value], branches.above[value] = [], under
        branches.below[under].append(value)
        branches.leaves.add(value)
    return branches.tree()


def _free(branches: Branches, name: str) -> None:
    if not name:
        raise HierarchyError("Write a name for the group.")
    if name in branches.below:
        raise HierarchyError(f"There is something called {name!r} in the tree already; every label has one place.")
