"""Shares of people: classes merged until what is asked of them holds in what they publish.

Where records have an owner, whatever asks how often a value occurs (entropy, recursive and frequency l-diversity,
alpha-k, t-closeness, variance) is about people, and people do not add up: kernels, which count as they go, keep to k
people and to the values that occur. What is about shares is asked of their classes afterwards, all at once. A class
that does not meet it is merged with its sisters under the cut that made it, where there is a tree, else with its
neighbour along the Hilbert curve; and again, until all do, as the whole table does. Shares of people are not monotone:
two classes that hold may not hold together. So it is asked of what is published, where classes that show the same
are one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.classes import Classes, Cuts, LocalClasses, TreeClasses
from rothko.methods.curve.curve import hilbert_order
from rothko.methods.unmet import violating
from rothko.policy.policy import Policy
from rothko.release.publish import alike, publish


def with_shares(encoded: Encoded, partition: Classes, policy: Policy, *, threads: int = 1) -> Classes:
    """The classes, merged where they do not meet what is asked of shares of people; themselves where nothing is."""
    asked = [r for r in policy.privacy if not r.counts_alike] if policy.owner is not None else []
    if not asked:
        return partition
    made, place = partition.classes, np.empty(0, dtype=np.int64)
    while True:
        shown = alike(publish(encoded, partition, policy.publish, workload=policy.workload, threads=threads))
        bad = np.any(violating(encoded, shown[partition.class_of()], int(shown.max()) + 1, asked), axis=0)
        if not bad.any():
            break
        if isinstance(partition, TreeClasses):
            partition = _collapsed(partition, bad[shown])
            continue
        if not len(place):
            place = np.empty(encoded.rows, dtype=np.int64)
            place[hilbert_order(encoded, threads=threads)] = np.arange(encoded.rows)
        partition = _joined(encoded, partition, shown, bad, place)
    if partition.classes == made:
        return partition
    why = " and ".join(requirement.describe() for requirement in asked)
    note = f"Of {made:,} classes {partition.classes:,} are left, merged until shares of people met {why}."
    return replace(partition, notes=(*partition.notes, note))


def _joined(
    encoded: Encoded, partition: Classes, shown: NDArray[np.int64], bad: NDArray[np.bool_], place: NDArray[np.int64]
) -> LocalClasses:
    """Every group that does not hold merged with the next one along the curve; those that show the same are one."""
    group = shown[partition.class_of()]
    first = np.full(len(bad), encoded.rows, dtype=np.int64)
    np.minimum.at(first, group, place)
    along = np.argsort(first)
    new, i, made = np.empty(len(bad), dtype=np.int64), 0, 0
    while i < len(along):
        pair = bad[along[i]] or (i + 2 == len(along) and bad[along[i + 1]])
        new[along[i : i + 1 + pair]] = made
        i, made = i + 1 + pair, made + 1
    if bad[along[-1]] and made > 1 and np.count_nonzero(new == made - 1) == 1:
        made -= 1
        new[along[-1]] = made - 1
    return replace(LocalClasses.of(encoded, new[group], made), notes=partition.notes)


def _collapsed(partition: TreeClasses, bad: NDArray[np.bool_]) -> TreeClasses:
    """The cuts undone that made the classes that do not hold."""
    cuts = partition.cuts
    nodes = len(cuts.attribute)
    parent = np.full(nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(cuts.attribute >= 0).tolist():
        parent[cuts.child[node] : cuts.child[node] + cuts.children[node]] = node
    undone = np.zeros(nodes, dtype=np.bool_)
    undone[parent[cuts.leaf[bad]]] = True
    top = np.full(nodes, -1, dtype=np.int64)  # the highest node above, or at, each whose cut is undone
    for node in range(nodes):
        above = top[parent[node]] if node else -1
        top[node] = above if above >= 0 else node if undone[node] else -1
    kept = np.append(True, top[parent[1:]] < 0)
    number = np.cumsum(kept) - 1
    attribute = np.where(top >= 0, -1, cuts.attribute)[kept].astype(np.int32)
    there = attribute >= 0
    child = np.where(there, number[np.where(there, cuts.child[kept], 0)], -1).astype(np.int32)
    of_class = np.where(top[cuts.leaf] >= 0, top[cuts.leaf], cuts.leaf)
    first = np.flatnonzero(np.append(True, of_class[1:] != of_class[:-1]))
    return TreeClasses(
        partition.order,
        np.append(partition.starts[first], partition.starts[-1]),
        np.minimum.reduceat(partition.low, first, axis=0),
        np.maximum.reduceat(partition.high, first, axis=0),
        Cuts(
            attribute,
            cuts.begins[kept],
            child,
            np.where(there, cuts.children[kept], 0).astype(np.int32),
            number[of_class[first]],
            cuts.sizes,
            cuts.root,
        ),
        notes=partition.notes,
    )
