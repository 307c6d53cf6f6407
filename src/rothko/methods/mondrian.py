"""Mondrian: greedy multidimensional partitioning (LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 2.2).

Choose the allowable attribute with the widest normalised range, cut it (numbers and sets at the
median, hierarchies into the children of the current node), repeat in every part until no allowable
cut is left. The loop itself is :mod:`rothko.kernels.mondrian`; here are its options and the arrays
that it works on.

Where the papers are silent: ties between attributes go to the first in the policy; a cut beside the
median that falls in a run of equal values moves to the nearer end of the run, the lower one when
both are as near; missing values are split from present ones first, where that is allowable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.privacy.requirement import Requirement


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian:
    """Options of Mondrian.

    >>> Mondrian(relaxed=True).name
    'mondrian'
    """

    name: ClassVar[str] = "mondrian"

    relaxed: bool = False
    """Split equal values between the two sides of a cut (a local recoding: there is no φ)."""

    def __post_init__(self) -> None:
        if not isinstance(self.relaxed, bool):
            raise PolicyError(f"mondrian: relaxed must be true or false, not {self.relaxed!r}.")


@dataclass(frozen=True, slots=True)
class Problem:
    """The arrays that the kernel takes beside the table; see :func:`rothko.kernels.mondrian.grow`."""

    lines: NDArray[np.int64]
    places: NDArray[np.float64]
    scales: NDArray[np.float64]
    tree: NDArray[np.int32]
    leaf: NDArray[np.int32]
    least: int
    rules: NDArray[np.int64]
    facts: NDArray[np.float64]
    relaxed: bool

    def arguments(self) -> tuple[Any, ...]:
        """The arrays in the order in which the kernel takes them."""
        return (
            self.lines, self.places, self.scales, self.tree, self.leaf, self.least, self.rules, self.facts,
            self.relaxed,
        )  # fmt: skip


def problem(
    encoded: Encoded, requirements: Sequence[Requirement], method: Mondrian
) -> tuple[Problem, NDArray[np.int32]]:
    """Lay out lines and requirements for the kernel, with the table that it reorders.

    The table has a row per column: codes, record numbers, and the sensitive codes that a rule needs.
    """
    lines = np.zeros((len(encoded.lines), 6), dtype=np.int64)
    places, trees, leaves = [np.empty(0)], [np.empty((0, 5), dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for i, line in enumerate(encoded.lines):
        offsets = [sum(map(len, parts)) for parts in (places, trees, leaves)]
        lines[i] = (line.kind, line.size, line.missing_code, *offsets)
        places.append(line.places)
        if line.tree is not None:
            t = line.tree
            trees.append(np.column_stack([t.parent, t.low, t.high, t.first_child, t.n_children]).astype(np.int32))
            leaves.append(t.leaf)
    rows: list[NDArray[np.int32]] = []
    rules, facts = _rules(encoded, requirements, len(lines) + 1, rows)
    table = np.empty((len(lines) + 1 + len(rows), encoded.rows), dtype=np.int32)
    table[: len(lines)] = encoded.codes
    table[len(lines)] = np.arange(encoded.rows, dtype=np.int32)
    for j, row in enumerate(rows):
        table[len(lines) + 1 + j] = row
    return Problem(
        lines=lines,
        places=np.concatenate(places),
        scales=np.array([(line.weight, line.span) for line in encoded.lines], dtype=np.float64),
        tree=np.concatenate(trees),
        leaf=np.concatenate(leaves),
        least=max(1, *(r.least for r in requirements)) if requirements else 1,
        rules=rules,
        facts=facts,
        relaxed=method.relaxed,
    ), table


def _rules(
    encoded: Encoded, requirements: Sequence[Requirement], first: int, rows: list[NDArray[np.int32]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The rules, their numbers one after the other, and into ``rows`` the codes that they are about.

    Requirements about the same column share a row, unless one of them has bins of its own.
    """
    rules: list[tuple[int, ...]] = []
    facts: list[NDArray[np.float64]] = [np.empty(0)]
    place: dict[tuple[str, bytes], int] = {}
    for requirement in requirements:
        if requirement.column is None:
            continue
        codes, domain = encoded.sensitive[requirement.column]
        rule = requirement.rule(domain)
        if rule is None:
            continue
        key = requirement.column, b"" if rule.bins is None else rule.bins.tobytes()
        if key not in place:
            place[key] = first + len(rows)
            rows.append(codes if rule.bins is None else rule.bins[codes])
        rules.append((rule.kind, place[key], rule.size, *rule.ratio, rule.depth, rule.total, sum(map(len, facts))))
        facts.append(rule.facts)
    return np.array(rules, dtype=np.int64).reshape(-1, 8), np.concatenate(facts)
