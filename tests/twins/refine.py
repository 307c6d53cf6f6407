"""Plain twin of Top-Down Refinement: Algorithm 1 of Fung, Wang, Yu, TKDE 2007, as the paper tells it.

Everything is computed anew in every step, from all records. A masked value is a frozenset of codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rothko.data.line import Kind, Line
from rothko.privacy import Requirement
from tests.twins import mondrian as plain

Part = frozenset[int]


class Suppressed(Part):
    """The suppressed values of a column, where the paper is read to the letter: it may be a single one."""


Required = tuple[tuple[int, ...], Sequence[Requirement]]
"""A set of lines, and what is asked over it."""


class Found(NamedTuple):
    """A refinement: the part of a line, and what it becomes."""

    line: int
    part: tuple[int, ...]
    children: tuple[Part, ...]
    order: int
    """The code that decides between equal scores."""


@dataclass(frozen=True)
class Problem:
    """A table and what is asked of it."""

    lines: Sequence[Line]
    records: Sequence[plain.Record]
    required: Sequence[Required]
    sensitive: Mapping[str, list[Any]]
    labels: Sequence[Sequence[int | None]]
    """Class labels, record by record."""
    criterion: str = "score"
    reading: str = "rothko"

    @property
    def letter(self) -> bool:
        """Whether a last suppressed value is a candidate of its own: the paper speaks of tables with labels alone."""
        return self.reading == "paper" and len(self.labels) > 0

    def run(self) -> tuple[list[Found], list[set[Part]]]:
        """The refinements in their order, and the parts at the end."""
        masks = [self.most_masked(line) for line in self.lines]
        steps = []
        while open_ := list(self.candidates(masks)):
            best = max(open_, key=lambda one: (self.score(one, masks), -one.line, -one.order))
            steps.append(best)
            masks = self.after(best, masks)
        return steps, masks

    def most_masked(self, line: Line) -> set[Part]:
        whole = frozenset(range(line.size))
        return {Suppressed(whole) if self.letter and line.kind is Kind.NOMINAL and line.size > 1 else whole}

    def candidates(self, masks: list[set[Part]]) -> Iterator[Found]:
        """Valid and beneficial refinements."""
        for a in range(len(self.lines)):
            for part in masks[a]:
                yield from (one for one in self.refinements(a, part) if self.beneficial(one) and self.valid(one, masks))

    def refinements(self, a: int, part: Part) -> Iterator[Found]:
        line = self.lines[a]
        if isinstance(part, Suppressed):
            for value in sorted(part):
                rest = (Suppressed(part - {value}),) if len(part) > 1 else ()
                yield Found(a, tuple(sorted(part)), (*rest, frozenset([value])), value)
            return
        if len(part) == 1:
            return
        if line.kind is Kind.NOMINAL:
            for value in sorted(part):
                yield Found(a, tuple(sorted(part)), (part - {value}, frozenset([value])), value)
            return
        ends = (min(part), max(part))
        if line.kind is Kind.TREE:
            cut = plain.tree_cut(line, {code: code for code in part})
            children = tuple(frozenset(below.records) for below in cut)
            yield Found(a, ends, children, min(part))
            return
        best = None
        for cut_at in range(ends[0] + 1, ends[1] + 1):
            left, right = (frozenset(range(*span)) for span in ((ends[0], cut_at), (cut_at, ends[1] + 1)))
            sizes = [len(self.within(a, side)) for side in (left, right)]
            if min(sizes) < (1 if self.reading == "paper" else self.least(a)):
                continue
            split = Found(a, ends, (left, right), ends[0])
            rank = (self.gain(split), -max(sizes), -cut_at)
            if best is None or rank > best[0]:
                best = rank, split
        if best is not None:
            yield best[1]

    def least(self, a: int) -> int:
        """The fewest records that a group over any set with the line can have."""
        return max((r.least for lines, asked in self.required if a in lines for r in asked), default=1)

    def within(self, a: int, part: Part) -> list[int]:
        return [i for i, record in enumerate(self.records) if record[a] in part]

    def beneficial(self, one: Found) -> bool:
        if not self.labels:
            return self.gain(one) > 0
        refined = [i for i in range(len(self.records)) if any(self.records[i][one.line] in c for c in one.children)]
        return any(len({label[i] for i in refined} - {None}) > 1 for label in self.labels)

    def valid(self, one: Found, masks: list[set[Part]]) -> bool:
        after = self.after(one, masks)
        return all(
            plain.satisfies(requirement, group, dict(self.sensitive))
            for lines, asked in self.required
            for group in self.groups(lines, after)
            for requirement in asked
        )

    def after(self, one: Found, masks: list[set[Part]]) -> list[set[Part]]:
        whole = frozenset().union(*one.children)
        return [(m - {whole}) | set(one.children) if a == one.line else m for a, m in enumerate(masks)]

    def groups(self, lines: Sequence[int], masks: list[set[Part]]) -> list[list[int]]:
        """Records by what they show on some lines."""
        shown: dict[Any, list[int]] = {}
        for i, record in enumerate(self.records):
            key = tuple(next(part for part in masks[a] if record[a] in part) for a in lines)
            shown.setdefault(key, []).append(i)
        return list(shown.values())

    def score(self, one: Found, masks: list[set[Part]]) -> float:
        if self.criterion == "infogain":
            return self.gain(one)
        lost = self.lost(one, masks)
        if self.criterion == "tds":
            return self.gain(one) / lost if lost else self.gain(one)
        return self.gain(one) / (lost + 1)

    def lost(self, one: Found, masks: list[set[Part]]) -> float:
        """AnonyLoss."""
        after = self.after(one, masks)
        losses = [
            min(map(len, self.groups(lines, masks))) - min(map(len, self.groups(lines, after)))
            for lines, _ in self.required
            if one.line in lines
        ]
        return sum(losses) / max(len(losses), 1)

    def gain(self, one: Found) -> float:
        """InfoGain of all labels; NCP saved for each record of the table where there is no label."""
        parts = [self.within(one.line, part) for part in one.children]
        whole = [i for part in parts for i in part]
        if not self.labels:
            line = self.lines[one.line]
            before = self.certainty(line, frozenset().union(*one.children)) * len(whole)
            after = sum(self.certainty(line, c) * len(p) for c, p in zip(one.children, parts, strict=True))
            return float(line.weight) * (before - after) / (len(self.records) * 2.0**24)
        gain = 0.0
        for label in self.labels:
            n = sum(label[i] is not None for i in whole)
            fall = _entropy(label, whole) - sum(_entropy(label, part) for part in parts)
            gain += max(fall, 0) / (n * 2.0**24) if n else 0.0
        return gain

    def certainty(self, line: Line, part: Part) -> int:
        if line.kind is Kind.NOMINAL:
            missing = plain.missing_code(line)
            share = 0.0 if len(part) == 1 else 1.0 if missing in part else len(part) / line.size
            return round(share * 2**24)
        return round(float(plain.width(line, set(part))) * 2**24)


def _entropy(label: Sequence[int | None], numbers: Sequence[int]) -> int:
    """Entropy of a label times records, in multiples of 2^−24."""
    counts = Counter(label[i] for i in numbers if label[i] is not None)
    return plain.logarithm(sum(counts.values())) - sum(map(plain.logarithm, counts.values()))
