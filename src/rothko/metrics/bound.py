"""How little a release can lose at best: the cheapest box around every record that holds k records.

Whatever classes a method makes, the box of a record's class holds the record and at least k records, so it loses no
less than the cheapest such box. Their mean over all records bounds the GCP of every release by boxes from below. Boxes
of two records may not be had both, so the bound is in general not reached. It is found exactly for lines of hierarchies
and one ordered line beside them; several ordered lines, and sets of values, are bounded by the k-nearest record on
them, which is less. Other requirements than the number of records can only raise what is lost.

A fact of the original: it is for whoever may see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.methods.layout import fewest
from rothko.privacy.requirement import Requirement
from rothko.progress import count_threads, each
from rothko.release.loss import Bound

WORK = 1 << 30
"""Numbers that are looked at to find what is near, for all records together."""
MOST = 5_000
"""Records that are looked at, at most, where not all are."""
FEWEST = 200
EFFORT = 2_000_000
"""Tuples that may be looked at to find the cheapest box around one record."""
CHUNK = 16
"""Records that a thread takes at a time."""


class Layout(NamedTuple):
    """Lines as the kernel takes them, those of hierarchies first."""

    order: list[int]
    """Which line comes where."""
    spec: NDArray[np.int64]
    """(lines, 6): kind, size, code of the missing value, where places begin, where leaves begin, where codes begin."""
    weights: NDArray[np.float64]
    places: NDArray[np.float64]
    """Of ordered lines, from 0 to 1."""
    trees: NDArray[np.int64]
    """(nodes, 3): parent, first and last leaf."""
    leaves: NDArray[np.int64]
    """Leaf → node."""


def bound(
    encoded: Encoded,
    requirements: Sequence[Requirement],
    *,
    records: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Bound:
    """The least GCP that a release by boxes may have, from some records or from all.

    Parameters
    ----------
    records
        How many records to look at; by default as many as take some seconds, and all of a small table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rothko.data.encode import encode
    >>> from rothko.policy.policy import Policy
    >>> policy = Policy.quick(["age"], qi=["age"], k=2)
    >>> found = bound(encode(pa.table({"age": [20, 30, 60, 70]}), policy), policy.privacy)
    >>> round(found.gcp, 3), found.exact
    (0.2, 1.0)
    """
    from rothko.kernels.cheapest import cheapest_of

    k = fewest(requirements)
    layout = lay_out(encoded.lines)
    codes, tuple_of, counts = np.unique(
        encoded.codes[layout.order], axis=1, return_inverse=True, return_counts=True
    )  # fmt: skip
    if records is None:
        records = int(np.clip(WORK // max(codes.size, 1), FEWEST, MOST))
    some = records < encoded.rows
    if some:
        drawn = np.random.default_rng(seed).choice(encoded.rows, records, replace=False)
        chosen = np.sort(tuple_of[drawn])
        times = np.ones(len(chosen))
    else:
        chosen, times = np.arange(codes.shape[1]), counts.astype(np.float64)

    def found_by(part: NDArray[np.intp]) -> Any:
        return cheapest_of(part.astype(np.int64), codes, counts.astype(np.int64), k, *layout[1:], EFFORT)

    parts = [chosen[begin : begin + CHUNK] for begin in range(0, len(chosen), CHUNK)]
    found = each(found_by, parts, count_threads(threads))
    costs, exact = (np.concatenate([one[i] for one in found]) for i in range(2))
    mean = float(np.average(costs, weights=times))
    # Drawn without replacement: of all records there would be no error.
    left = 1 - len(chosen) / encoded.rows
    error = float(np.sqrt(left * costs.var(ddof=1) / len(costs))) if some and len(costs) > 1 else 0.0
    others = [line.kind for line in encoded.lines if line.kind is not Kind.TREE]
    share = float(np.average(exact, weights=times)) if others in ([], [Kind.ORDERED]) else 0.0
    return Bound(k, mean, error, int(times.sum()), share)


def lay_out(lines: Sequence[Line]) -> Layout:
    """Lines as the kernel takes them."""
    order = sorted(range(len(lines)), key=lambda i: (lines[i].kind is not Kind.TREE, lines[i].kind is not Kind.ORDERED))
    total = sum(line.weight for line in lines) or 1.0
    spec = np.zeros((len(lines), 6), dtype=np.int64)
    places, trees, leaves = [np.empty(0)], [np.empty((0, 3), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    place = node = leaf = code = 0
    for to, line in enumerate(lines[i] for i in order):
        spec[to] = line.kind, line.size, line.missing_code, place, leaf, code
        code += line.size
        if line.kind is Kind.ORDERED:
            places.append(np.append(line.places / line.span, np.zeros(int(line.missing))))
            place += line.size
        elif line.kind is Kind.TREE:
            tree = line.tree
            assert tree is not None
            trees.append(np.column_stack([np.where(tree.parent < 0, -1, tree.parent + node), tree.low, tree.high]))
            leaves.append(tree.leaf.astype(np.int64) + node)
            node, leaf = node + len(tree.parent), leaf + len(tree.leaf)
    weights = np.array([lines[i].weight / total for i in order])
    return Layout(order, spec, weights, np.concatenate(places), np.concatenate(trees), np.concatenate(leaves))
