"""The recoding of a tree that is never whole in memory: written branch by branch, joined to the top at the end.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1.2: at the end of each branch its rules go to disk, so that memory
holds no more than the part of the tree that still grows. They write a rule per leaf, which repeats the path from the
root; here the nodes of the branch are written, which say it once and are what a recoding is made of. At which parts of
a line they begin is known when all cuts are: until then they begin at codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko import json_text
from rothko.data.line import Line
from rothko.engines.growing import TableFile, Tables
from rothko.methods.classes import Cuts
from rothko.policy.policy import Policy
from rothko.release.names import large_files
from rothko.release.publish import Published
from rothko.release.recoding import document, recoding
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.checks import TREE
from rothko.release.recoding.recoding import Recoding, begin_at, by_class
from rothko.release.rows import decoded
from rothko.release.write import Content

Ints = NDArray[np.int32]
NODES = pa.schema([(name, pa.int32()) for name in (*TREE, "line")])
"""As in a recoding; ``line`` is the one on which the node begins at a code, -1 for a first part."""


class Branches:
    """The branches of a tree of cuts, and what their classes publish."""

    def __init__(self, lines: Sequence[Line], policy: Policy, tables: Tables) -> None:
        self.classes = 0
        """How many there are so far."""
        self._lines, self._policy, self._tables = lines, policy, tables
        self._cut = [np.zeros(line.size, dtype=np.bool_) for line in lines]
        self._nodes = tables.table(NODES)
        self._shown: TableFile | None = None
        self._roots: dict[int, tuple[int, int, int, int]] = {}
        self._published: dict[str, list[dict[str, str]]] = {}

    def add(self, leaf: int, cuts: Cuts, published: Mapping[str, Sequence[Published]]) -> None:
        """Append the branch that hangs from a leaf of the top, and what each of its classes publishes."""
        line = self._note_cuts(cuts)
        classes = np.full(len(line), -1, dtype=np.int32)
        classes[cuts.leaf] = self.classes + np.arange(len(cuts.leaf), dtype=np.int32)
        # The root takes the place of the leaf that it hangs from; the others come after all that is there already.
        child = np.where(cuts.attribute >= 0, cuts.child + (self._nodes.rows - 1), 0).astype(np.int32)
        columns = cuts.attribute, cuts.begins, child, cuts.children, classes, line
        self._roots[leaf] = (int(cuts.attribute[0]), int(child[0]), int(cuts.children[0]), int(classes[0]))
        self._nodes.write(pa.table([column[1:] for column in columns], schema=NODES))
        self.classes += len(cuts.leaf)
        shown = decoded(pa.table({c.name: c.by() for listed in published.values() for c in listed}))
        if self._shown is None:
            self._shown = self._tables.table(shown.schema)
            self._schema = shown.schema
            self._published = {
                name: [{"column": c.name, "type": str(c.values.type)} for c in listed]
                for name, listed in published.items()
            }
        self._shown.write(shown)

    def _note_cuts(self, cuts: Cuts) -> Ints:
        """Take note of the codes at which nodes begin; the line of each such node, -1 for the others."""
        nodes, lines = begin_at(cuts)
        line = np.full(len(cuts.attribute), -1, dtype=np.int32)
        line[nodes] = lines
        for i, cut in enumerate(self._cut):
            cut[cuts.begins[nodes[lines == i]]] = True
        return line

    def files(self, path: Path, top: Cuts) -> dict[Path, Content]:
        """What the recoding consists of: path → JSON text, or a table (a stream of batches where it is large).

        Parameters
        ----------
        top
            The top of the tree; what is not reached from its root is left out.
        """
        top, old = _reachable(top)
        line = self._note_cuts(top)
        attributes = [
            Attribute.of(one, np.flatnonzero(cut), self._policy.columns[one.name])
            for one, cut in zip(self._lines, self._cut, strict=True)
        ]
        if self.classes <= recoding.LARGE:
            return self._whole(attributes, top, line, old).files(path)
        nodes, shown = large_files(path)
        head = document.head(self._policy, self.classes, attributes)
        head["tree"] = nodes.name
        head["published"] = {
            name: [column | {"file": shown.name} for column in columns] for name, columns in self._published.items()
        }
        schema = pa.schema([NODES.field(name) for name in TREE])
        return {
            path: json_text.dump(head, indent=None),
            nodes: pa.RecordBatchReader.from_batches(schema, self._joined(top, line, old)),
            shown: pa.RecordBatchReader.from_batches(self._schema, self._shown_batches()),
        }

    def _whole(self, attributes: Sequence[Attribute], top: Cuts, line: Ints, old: NDArray[np.int64]) -> Recoding:
        """The recoding in memory, where it is small."""
        tree = pa.Table.from_batches(list(self._joined(top, line, old)))
        shown = pa.Table.from_batches(list(self._shown_batches()), self._schema)
        published = {
            name: tuple(by_class(column["column"], shown[column["column"]]) for column in columns)
            for name, columns in self._published.items()
        }
        return Recoding(self._policy, tuple(attributes), {name: tree[name].to_numpy() for name in TREE}, published)

    def _joined(self, top: Cuts, line: Ints, old: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """The nodes of the whole tree: the top with the roots of the branches in it, then the rest of each branch."""
        count = len(top.attribute)
        arrays = {name: getattr(top, name).copy() for name in TREE[:-1]} | {"leaf": np.full(count, -1, dtype=np.int32)}
        for node in np.flatnonzero(top.attribute < 0):
            attribute, child, children, class_ = self._roots[int(old[node])]
            arrays["attribute"][node], arrays["children"][node], arrays["leaf"][node] = attribute, children, class_
            arrays["child"][node] = child + count if attribute >= 0 else 0
        part = [np.cumsum(cut, dtype=np.int32) for cut in self._cut]
        yield _batch(arrays, line, part)
        for table in self._nodes.batches():
            some = {name: table[name].to_numpy().copy() for name in TREE}
            some["child"] = np.where(some["attribute"] >= 0, some["child"] + count, 0).astype(np.int32)
            yield _batch(some, table["line"].to_numpy(), part)

    def _shown_batches(self) -> Iterator[pa.RecordBatch]:
        assert self._shown is not None
        for table in self._shown.batches():
            yield from table.to_batches()


def _batch(tree: dict[str, Ints], line: Ints, part: Sequence[Ints]) -> pa.RecordBatch:
    """Nodes with the part of the line at which each begins, in place of the code."""
    begins = np.zeros(len(line), dtype=np.int32)
    for i, parts in enumerate(part):
        nodes = line == i
        begins[nodes] = parts[tree["begins"][nodes]]
    return pa.record_batch([pa.array((tree | {"begins": begins})[name]) for name in TREE], names=list(TREE))


def _reachable(top: Cuts) -> tuple[Cuts, NDArray[np.int64]]:
    """The nodes under the root of a tree, numbered anew (cuts that were undone left others); the old number of each."""
    reached = np.zeros(len(top.attribute), dtype=np.bool_)
    reached[0] = True
    for node in np.flatnonzero(top.attribute >= 0):
        if reached[node]:
            reached[top.child[node] : top.child[node] + top.children[node]] = True
    old = np.flatnonzero(reached)
    number = np.cumsum(reached, dtype=np.int32) - 1
    attribute = top.attribute[old]
    return (
        Cuts(
            attribute=attribute,
            begins=top.begins[old],
            child=np.where(attribute >= 0, number[top.child[old]], 0).astype(np.int32),
            children=top.children[old],
            leaf=np.flatnonzero(attribute < 0),
            sizes=top.sizes,
        ),
        old,
    )
