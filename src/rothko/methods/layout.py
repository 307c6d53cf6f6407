"""Lines and requirements as the arrays that kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import AddRow


class Layout(NamedTuple):
    """Lines; see :func:`rothko.kernels.mondrian.grow.grow`, and :func:`rothko.kernels.mondrian.median.width_of` for
    their NCP.
    """

    lines: NDArray[np.int64]
    """(lines, 6): kind, number of codes, missing code or -1, offset into ``places``, into ``tree``, into ``leaf``."""
    places: NDArray[np.float64]
    """How far each code of an ordered line lies from the first."""
    scales: NDArray[np.float64]
    """(lines, 2): weight, and how far the last code lies from the first."""
    tree: NDArray[np.int32]
    """(nodes, 5) of all hierarchies: parent, first code, last code, first child, children."""
    leaf: NDArray[np.int32]
    """The node of each leaf of all hierarchies."""


def lay_out(given: Sequence[Line]) -> Layout:
    """The arrays of some lines."""
    lines = np.zeros((len(given), 6), dtype=np.int64)
    places, trees, leaves = [np.empty(0)], [np.empty((0, 5), dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for i, line in enumerate(given):
        offsets = [sum(map(len, parts)) for parts in (places, trees, leaves)]
        lines[i] = (line.kind, line.size, line.missing_code, *offsets)
        places.append(line.places)
        if line.tree is not None:
            t = line.tree
            trees.append(np.column_stack([t.parent, t.low, t.high, t.first_child, t.n_children]).astype(np.int32))
            leaves.append(t.leaf)
    scales = np.array([(line.weight, line.span) for line in given], dtype=np.float64).reshape(-1, 2)
    return Layout(lines, np.concatenate(places), scales, np.concatenate(trees), np.concatenate(leaves))


def fewest(requirements: Sequence[Requirement]) -> int:
    """The fewest records that a class can have under all requirements."""
    return max((1, *(r.least for r in requirements)))


def rules_of(
    encoded: Encoded, requirements: Sequence[Requirement], add_row: AddRow
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """What is asked of sensitive values as rules, and their numbers one after the other.

    See :mod:`rothko.kernels.rules`. A requirement with bins of its own gets a row of its own.
    """
    rules: list[tuple[int, ...]] = []
    facts: list[NDArray[np.float64]] = [np.empty(0)]
    for requirement in requirements:
        if requirement.column is None:
            continue
        codes, domain = encoded.sensitive[requirement.column]
        rule = requirement.rule(domain)
        if rule is None:
            continue
        if rule.bins is None:
            row = add_row(requirement.column, codes)
        else:
            row = add_row(f"bins of {requirement!r}", rule.bins[codes])
        rules.append((rule.kind, row, rule.size, *rule.ratio, rule.depth, rule.total, sum(map(len, facts))))
        facts.append(rule.facts)
    return np.array(rules, dtype=np.int64).reshape(-1, 8), np.concatenate(facts)
