"""Lines and requirements as the arrays that kernels take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import AddRow

if TYPE_CHECKING:
    from rothko.kernels.boxes import Lines
    from rothko.kernels.rules import Rules


def lay_out(given: Sequence[Line]) -> Lines:
    """The arrays of some lines."""
    from rothko.kernels.boxes import Lines

    spec = np.zeros((len(given), 6), dtype=np.int64)
    places, trees, leaves = [np.empty(0)], [np.empty((0, 5), dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for i, line in enumerate(given):
        offsets = [sum(map(len, parts)) for parts in (places, trees, leaves)]
        spec[i] = (line.kind, line.size, line.missing_code, *offsets)
        places.append(line.places)
        if line.tree is not None:
            t = line.tree
            trees.append(np.column_stack([t.parent, t.low, t.high, t.first_child, t.n_children]).astype(np.int32))
            leaves.append(t.leaf)
    scales = np.array([(line.weight, line.span) for line in given], dtype=np.float64).reshape(-1, 2)
    return Lines(spec, np.concatenate(places), scales, np.concatenate(trees), np.concatenate(leaves))


class Rows(list[NDArray[np.int32]]):
    """Rows of codes for a kernel; what several requirements or tasks look at is one row.

    >>> rows = Rows(before=3)
    >>> [rows.add(name, np.zeros(2, dtype=np.int32)) for name in ("disease", "pay", "disease")], len(rows)
    ([3, 4, 3], 2)
    """

    def __init__(self, given: Iterable[NDArray[np.int32]] = (), *, before: int = 0) -> None:
        super().__init__(given)
        self._before, self._place = before, dict[str, int]()

    def add(self, name: str, codes: NDArray[np.int32]) -> int:
        """The place of a row, which is appended where there is none of this name; ``before`` others precede all."""
        if name not in self._place:
            self._place[name] = self._before + len(self)
            self.append(codes)
        return self._place[name]


def fewest(requirements: Sequence[Requirement]) -> int:
    """The fewest records that a class can have under all requirements."""
    return max((1, *(r.least for r in requirements)))


def rules_of(encoded: Encoded, requirements: Sequence[Requirement], add_row: AddRow) -> Rules:
    """What is asked of sensitive values, and of people; a requirement with bins of its own gets a row of its own."""
    from rothko.kernels.rules import Rules

    rules: list[tuple[int, ...]] = []
    facts: list[NDArray[np.float64]] = [np.empty(0)]
    owner = None if encoded.owner is None else encoded.owner.domain.column
    for requirement in dict.fromkeys(part for one in requirements for part in one.parts(owner)):
        about = encoded.owner if requirement.owner is not None else encoded.sensitive.get(requirement.column or "")
        if about is None or (owner is not None and not requirement.counts_alike):
            continue  # shares of people are asked of classes: rothko.release.shares
        codes, domain = about
        rule = requirement.rule(domain)
        if rule is None:
            continue
        if rule.bins is None:
            row = add_row(domain.column, codes)
        else:
            row = add_row(f"bins of {requirement!r}", rule.bins[codes])
        rules.append((rule.kind, row, rule.size, *rule.ratio, rule.depth, rule.total, sum(map(len, facts))))
        facts.append(rule.facts)
    return Rules(np.array(rules, dtype=np.int64).reshape(-1, 8), np.concatenate(facts))
