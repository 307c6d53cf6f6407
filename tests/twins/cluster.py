"""Plain twins of clustering and of its boxes in whole numbers: slow, readable, sharing no code with the kernels.

A tuple is a record's codes, one for each line; which class it is in, and how many records it has, is told beside it.
NCP is in whole numbers, as the kernels have it, so that ties are ties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rothko.data.line import Kind, Line
from rothko.privacy import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    FrequencyLDiversity,
    PAlpha,
    PSensitive,
    RecursiveLDiversity,
    Requirement,
    TCloseness,
)
from tests.twins import mondrian as plain
from tests.twins.mondrian import Record, lowest_common_node, missing_code, path

WHOLE = 2**24

Group = list[tuple[int, int]]
"""Tuples, and how many records of each."""


# ── boxes ────────────────────────────────────────────────────────────────────────────────────────


class Boxes:
    """NCP of sets of tuples in whole numbers."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        weights = sum(line.weight for line in lines)
        self.full = [round(WHOLE * line.weight / weights) for line in lines]

    def width(self, a: int, codes: set[int]) -> int:
        """NCP of some codes of a line: a range, a node, a set."""
        line, full = self.lines[a], self.full[a]
        size = len(line.values) + line.missing
        if len(codes) == 1:
            return 0
        if missing_code(line) in codes:
            return full
        if line.kind is Kind.ORDERED:
            return self.place(a, max(codes)) - self.place(a, min(codes))
        if line.kind is Kind.NOMINAL:
            return len(codes) * (full // size)
        return self.node_width(a, lowest_common_node(line, codes))

    def place(self, a: int, code: int) -> int:
        """Where a value lies on an ordered line."""
        line = self.lines[a]
        return int(np.rint(line.places[code] / line.span * self.full[a]))

    def leaves(self, a: int, node: int) -> set[int]:
        """The codes under a node."""
        line = self.lines[a]
        return {code for code in range(len(line.values) + line.missing) if node in path(line, code)}

    def node_width(self, a: int, node: int) -> int:
        """NCP of a node: its leaves ÷ all leaves, nothing for one."""
        line, leaves = self.lines[a], len(self.leaves(a, node))
        return 0 if leaves == 1 else round(self.full[a] * leaves / (len(line.values) + line.missing))

    def ncp(self, tuples: Sequence[Record]) -> int:
        """NCP of the smallest box around some tuples."""
        return sum(self.width(a, {t[a] for t in tuples}) for a in range(len(self.lines)))

    def loss(self, tuples: Sequence[Record], groups: Sequence[Group]) -> int:
        """Σ size · NCP."""
        return sum(sum(n for _, n in group) * self.ncp([tuples[t] for t, _ in group]) for group in groups)


# ── requirements ─────────────────────────────────────────────────────────────────────────────────


def helps(requirement: Requirement, value: Any, values: Sequence[Any], column: Sequence[Any]) -> bool | None:
    """Whether one more record with this value brings some records nearer to a requirement; None where it is open."""
    counts, n = Counter(values), len(values)
    match requirement:
        case DistinctLDiversity() | PSensitive():
            return value not in counts
        case PAlpha():
            return not plain.categories(requirement, [value]) & plain.categories(requirement, values)
        case FrequencyLDiversity() | AlphaK() | RecursiveLDiversity():
            return counts[value] < max(counts.values())
        case EntropyLDiversity():
            # log c below its mean over the records; on the bound it is a matter of rounding.
            one, all_ = counts[value] ** n, np.prod([c**c for c in counts.values()], dtype=object)
            return None if one == all_ else one < all_
        case TCloseness():
            return counts[value] * len(column) < Counter(column)[value] * n
        case _:  # moments: farther from the mean than the others are
            held = [x for x in values if x is not None]
            if value is None:
                return False
            mean, count = plain.as_fraction(sum(held)) / max(len(held), 1), max(len(held), 1)
            return (value - mean) ** 2 * count >= plain.spread(values)


class Rules:
    """What is asked of the sensitive values of a class."""

    def __init__(self, requirements: Sequence[Requirement], rows: Sequence[dict[str, Any]]) -> None:
        """``rows`` has the sensitive values of each tuple; all records of the table are counted by ``columns``."""
        self.requirements = list(requirements)
        self.rows = rows
        self.columns: dict[str, list[Any]] = {}

    def values(self, requirement: Requirement, group: Group) -> list[Any]:
        return [self.rows[t][str(requirement.column)] for t, amount in group for _ in range(amount)]

    def lacking(self, group: Group) -> Requirement | None:
        """The first that does not hold, sizes left aside."""
        for requirement in self.requirements:
            column = self.columns[str(requirement.column)]
            held = self.values(requirement, group)
            sensitive = {str(requirement.column): [*held, *column]}
            twice = list(range(len(held))) * (8 if isinstance(requirement, (AlphaK, PSensitive)) else 1)
            if isinstance(requirement, TCloseness):
                if plain.distance(requirement, held, column) > plain.as_fraction(requirement.t):
                    return requirement
            elif not plain.satisfies(requirement, twice, sensitive):
                return requirement
        return None

    def helps(self, requirement: Requirement, t: int, group: Group) -> bool | None:
        column = str(requirement.column)
        return helps(requirement, self.rows[t][column], self.values(requirement, group), self.columns[column])


# ── grouping ─────────────────────────────────────────────────────────────────────────────────────


def group(
    boxes: Boxes, tuples: Sequence[Record], counts: Sequence[int], k: int, rules: Rules, *, partly: bool, lifting: bool
) -> tuple[list[Group], Group]:
    """Classes, and what is in none."""
    left = dict(enumerate(counts))
    classes: list[Group] = []
    while sum(left.values()) >= k:
        start = max(left, key=lambda t: (left[t], -t))
        if rules.requirements or left[start] < k:
            found = grown(boxes, tuples, left, start, k, rules, partly)
            if found is None:
                break
            lifted = lift(boxes, tuples, left, start, k) if lifting else None
            if lifted is not None and rules.lacking([(t, left[t]) for t in lifted]) is None:
                wide = boxes.ncp([tuples[t] for t, _ in found])
                if boxes.ncp([tuples[t] for t in lifted]) < wide:
                    found = [(t, left[t]) for t in lifted]
        else:
            found = [(start, left[start])]
        classes.append(found)
        for t, amount in found:
            left[t] -= amount
        left = {t: amount for t, amount in left.items() if amount}
    if rules.requirements or not classes:
        return classes, list(left.items())

    def rise(group: Group, t: int) -> int:
        return boxes.loss(tuples, [[*group, (t, left[t])]]) - boxes.loss(tuples, [group])

    for t, amount in left.items():
        min(classes, key=lambda one: rise(one, t)).append((t, amount))
    return classes, []


def grown(
    boxes: Boxes, tuples: Sequence[Record], left: dict[int, int], start: int, k: int, rules: Rules, partly: bool
) -> Group | None:
    """Greedy: from one tuple on, always the one that raises NCP least, the first of several; None where it ends early.

    While a requirement lacks, one record at a time, and only those that help.
    """
    found: Group = []
    rest = dict(left)
    lacks: Requirement | None = None
    t = start
    while True:
        have = sum(amount for _, amount in found)
        amount = rest[t]
        if rules.requirements and (lacks is not None or not found):
            amount = 1
        elif partly and have + amount > k:
            amount = max(k - have, 1)
        found.append((t, amount))
        rest[t] -= amount
        lacks = rules.lacking(found)
        if have + amount >= k and lacks is None:
            return found
        members = [tuples[i] for i, _ in found]
        able = [i for i in rest if rest[i] > 0 and (lacks is None or rules.helps(lacks, i, found))]
        if not able:
            return None
        t = min(able, key=lambda i: (boxes.ncp([*members, tuples[i]]), i))


def lift(boxes: Boxes, tuples: Sequence[Record], left: dict[int, int], start: int, k: int) -> list[int] | None:
    """Lifting: raise a box on one line at a time, where that brings most records for its NCP, until it holds k."""
    lines = boxes.lines
    inside: list[set[int]] = []  # the codes that the box takes, on each line
    node: list[int] = []
    for a, line in enumerate(lines):
        code = tuples[start][a]
        top = path(line, code)[0] if line.kind is Kind.TREE else -1
        node.append(top)
        inside.append(boxes.leaves(a, top) if top >= 0 else {code})

    def steps(a: int, outside: dict[int, int]) -> list[tuple[int, float, set[int], int]]:
        """Ways to raise the box on a line: records, what it costs, codes, node; in the order in which ties are won."""
        line = lines[a]
        if line.kind is Kind.TREE:
            above = path(line, tuples[start][a])
            ways = []
            for top in above[above.index(node[a]) + 1 :]:
                codes = boxes.leaves(a, top)
                brought = sum(left[t] for t in outside if tuples[t][a] in codes)
                ways.append((brought, boxes.node_width(a, top) - boxes.node_width(a, node[a]), codes, top))
            return ways
        absent = missing_code(line)
        if tuples[start][a] == absent:
            return []
        there = [t for t in outside if tuples[t][a] != absent]
        if line.kind is Kind.NOMINAL:
            more = boxes.width(a, inside[a]) if len(inside[a]) > 1 else 0
            unit = (len(inside[a]) + 1) * (boxes.full[a] // (len(line.values) + line.missing)) - more
            ways = []
            for t in there:
                brought = sum(left[i] for i in there if tuples[i][a] == tuples[t][a])
                ways.append((brought, unit, inside[a] | {tuples[t][a]}, -1))
            return ways
        low, high = min(inside[a]), max(inside[a])
        ways = []
        for t in sorted(there, key=lambda t: (boxes.place(a, tuples[t][a]), t)):
            code = tuples[t][a]
            if code > high:
                brought = sum(left[i] for i in there if high < tuples[i][a] <= code)
                ways.append((brought, boxes.place(a, code) - boxes.place(a, high), set(range(low, code + 1)), -1))
        for t in sorted(there, key=lambda t: (-boxes.place(a, tuples[t][a]), t)):
            code = tuples[t][a]
            if code < low:
                brought = sum(left[i] for i in there if code <= tuples[i][a] < low)
                ways.append((brought, boxes.place(a, low) - boxes.place(a, code), set(range(code, high + 1)), -1))
        return ways

    while True:
        out = {t: [a for a in range(len(lines)) if tuples[t][a] not in inside[a]] for t in left}
        held = [t for t in left if not out[t]]
        need = k - sum(left[t] for t in held)
        if need <= 0:
            return held
        best: tuple[float, Callable[[], None]] | None = None
        for a in range(len(lines)):
            outside = {t: left[t] for t in left if out[t] == [a]}
            for brought, cost, codes, top in steps(a, outside):
                score = min(brought, need) / max(cost, 1)
                if score > (best[0] if best else 0.0):

                    def step(a: int = a, codes: set[int] = codes, top: int = top) -> None:
                        inside[a], node[a] = codes, top

                    best = score, step
        if best is None:
            return None
        best[1]()
