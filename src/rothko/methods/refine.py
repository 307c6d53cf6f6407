"""Top-Down Refinement: single-dimensional global recoding for classification (TDR).

B. C. M. Fung, K. Wang, P. S. Yu: Anonymizing Classification Data for Privacy Preservation, TKDE 19(5), 2007. Top-Down
Specialization (the same authors, ICDE 2005) is the case without suppression.

From the most masked table on, each step performs the refinement with the best Score = InfoGain ÷ (AnonyLoss + 1)
among those that are valid (every requirement holds afterwards, each over its own set of quasi-identifiers) and
beneficial (:mod:`rothko.methods.refine_masks`), until none is left (Algorithm 1). A refinement replaces a value
wherever it stands, so every column is recoded by itself.

A step looks at the records that show the refined value, and at no others. InfoGain is known from counts by code. The
anonymity Ax(QID) after a refinement x is the smaller of A(QID) and the smallest child of x in any group; since groups
are only ever divided, that smallest child is a minimum that falls and is never taken back, and a refinement that is not
valid never becomes so again. See :mod:`rothko.kernels.refine` for what the paper's TIPS and QITS are here.

Where we deviate: a split must leave as many records on both sides as a group must have, since the best one of the
whole range may be of a handful of records at its end, and the range would stay as it is for good. Disclosing the last
but one suppressed value discloses the last, for which alone ⊥ would stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.errors import PolicyError
from rothko.methods.layout import fewest, rules_of
from rothko.methods.method import Method
from rothko.methods.partition import Partition, Parts
from rothko.methods.refine_masks import Masks, Part, Refinement
from rothko.methods.refine_requirements import Over, sets_of
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import check_learnable
from rothko.workload.tasks import Aggregate, Classify, Task

Criterion = Literal["score", "infogain"]
LARGEST = np.iinfo(np.int64).max
MANY = 0.7
"""Records are collapsed where fewer than this share of them are distinct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine(Method):
    """Options of Top-Down Refinement.

    >>> Refine(criterion="infogain").name
    'refine'
    """

    name: ClassVar[str] = "refine"

    criterion: Criterion = "score"
    """What the best refinement has most of: ``score``, InfoGain for the anonymity that it costs, or ``infogain``."""

    def __post_init__(self) -> None:
        if self.criterion not in get_args(Criterion):
            raise PolicyError(f"{self.name}: criterion must be 'score' or 'infogain', not {self.criterion!r}.")

    @property
    def local(self) -> bool:
        """Every column has a recoding of its own."""
        return False

    def refuse(self, workload: Sequence[Task]) -> None:
        """Refuse tasks that values cannot be refined for."""
        for task in workload:
            if not isinstance(task, Classify | Aggregate):
                raise PolicyError(
                    f"{self.name} makes tables for classification and cannot make them for {task.describe()}; "
                    "use mondrian, or leave the task to measure."
                )

    def partition(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        *,
        workload: Sequence[Task] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> Partition:
        """Refine the most masked table as far as the requirements allow; classes are what then shows the same.

        The whole table, as one class, is known to satisfy them.
        """
        self.refuse(workload)
        found = refine(encoded, requirements, self, workload)
        progress(encoded.rows)
        return _classes(encoded, found)


class Step(NamedTuple):
    """A refinement that was performed."""

    line: int
    part: tuple[int, ...]
    """The codes of the refined part: first and last, or all that were suppressed."""
    children: tuple[int, ...]
    """The first code of each child; or the value that was disclosed."""


@dataclass(frozen=True, slots=True)
class Refined:
    """The most refined table that was found."""

    parts: tuple[tuple[Part, ...], ...]
    """Of each line, in the order of their first codes."""
    steps: tuple[Step, ...]
    notes: tuple[str, ...]


def refine(
    encoded: Encoded, requirements: Sequence[Requirement], method: Refine, workload: Sequence[Task] = ()
) -> Refined:
    """Algorithm 1 of the paper."""
    tasks = [task for task in workload if isinstance(task, Classify)]
    for task in tasks:
        check_learnable(task, encoded.targets[task.target].domain)
    sets, notes = sets_of(requirements, [line.name for line in encoded.lines])
    tables = [Groups.of(encoded, one) for one in sets]
    least = [max((t.least for t in tables if i in t.lines), default=1) for i in range(len(encoded.lines))]
    state = _State(Masks.of(encoded, tasks, least), tables, method.criterion == "score")
    steps = []
    while (best := state.best()) is not None:
        steps.append(state.perform(best))
    free = [line.name for i, line in enumerate(encoded.lines) if not any(i in table.lines for table in tables)]
    if free:
        notes += (f"no requirement is about {', '.join(free)}: refined without regard to anonymity",)
    return Refined(state.final(), tuple(steps), notes)


@dataclass(slots=True, eq=False)
class Groups:
    """The distinct records of a set of quasi-identifiers, arranged by what they show."""

    lines: tuple[int, ...]
    least: int
    """The fewest records that a group can have."""
    table: NDArray[np.int32]
    spans: NDArray[np.int64]
    parts: NDArray[np.int32]
    """(lines, groups): what each group shows."""
    count: int
    rules: NDArray[np.int64]
    facts: NDArray[np.float64]
    anonymity: int
    """The records of the smallest group, A(QID)."""

    @classmethod
    def of(cls, encoded: Encoded, over: Over) -> Groups:
        """Collapse the records of a table that are alike on these quasi-identifiers."""
        lines = tuple(i for i, line in enumerate(encoded.lines) if line.name in over.names)
        columns = [encoded.codes[i] for i in lines]
        sizes = [encoded.lines[i].size for i in lines]
        rows: list[NDArray[np.int32]] = []
        place: dict[str, int] = {}

        def add_row(name: str, codes: NDArray[np.int32]) -> int:
            if name not in place:
                place[name] = len(lines) + 1 + len(rows)
                rows.append(codes)
            return place[name]

        rules, facts = rules_of(encoded, over.requirements, add_row)
        numbers, first = distinct(columns + rows, sizes + [int(row.max(initial=0)) + 1 for row in rows])
        if len(first) > MANY * encoded.rows:  # bringing them together would cost more than it saves
            weights = np.ones(encoded.rows, dtype=np.int32)
            table = np.stack([*columns, weights, *rows])
        else:
            weights = np.bincount(numbers, minlength=len(first)).astype(np.int32)
            table = np.stack([*(column[first] for column in columns), weights, *(row[first] for row in rows)])
        spans = np.array([[0, table.shape[1]]], dtype=np.int64)
        parts = np.zeros((len(lines), 1), dtype=np.int32)
        return cls(lines, fewest(over.requirements), table, spans, parts, 1, rules, facts, encoded.rows)

    def make_room(self, more: int) -> None:
        """Room for more groups."""
        needed = self.count + more
        if needed > len(self.spans):
            extra = max(needed, 2 * len(self.spans)) - len(self.spans)
            self.spans = np.concatenate([self.spans, np.zeros((extra, 2), dtype=np.int64)])
            self.parts = np.concatenate([self.parts, np.zeros((len(self.lines), extra), dtype=np.int32)], axis=1)


def distinct(columns: Sequence[NDArray[np.int32]], sizes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct records of some columns, whose codes are below ``sizes``; and where each comes first.

    >>> columns = [np.array([0, 1, 0], dtype=np.int32), np.array([2, 2, 2], dtype=np.int32)]
    >>> [found.tolist() for found in distinct(columns, [2, 3])]
    [[0, 1, 0], [0, 1]]
    """
    from rothko.kernels.refine import number

    keys = np.zeros(len(columns[0]), dtype=np.uint64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size >= 2**63:
            numbers, first = number(keys)
            keys, span = numbers.astype(np.uint64), len(first)
        keys *= np.uint64(size)
        keys += column.view(np.uint32)
        span *= size
    numbers, first = number(keys)
    return numbers, first


class _State:
    """The masked table and its candidates, while it is refined.

    A candidate is a refinement of a part, or a value of a part that may be disclosed.
    """

    def __init__(self, masks: Masks, tables: Sequence[Groups], scored: bool) -> None:
        self.masks, self.tables, self.scored = masks, tables, scored
        sizes = [line.size for line in masks.lines]
        self.at = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self.slot = np.zeros(self.at[-1], dtype=np.int32)
        self.parts: list[Part | None] = []
        self.within = np.array([[i in table.lines for table in tables] for i in range(len(sizes))], dtype=np.int64)
        self.kind, self.first, self.slots, self.left, self.cut = (np.zeros(64, dtype=np.int32) for _ in range(5))
        self.used = self.most_slots = 0
        self.line, self.code, self.part_of = (np.zeros(64, dtype=np.int32) for _ in range(3))
        self.gain = np.zeros(64)
        self.dead = np.ones(64, dtype=np.uint8)
        self.fewest = np.full((len(tables), 64), LARGEST, dtype=np.int64)
        self.open = np.zeros(64, dtype=np.int64)
        self.opened = 0
        self.begins: dict[int, NDArray[np.int64]] = {}
        self.never = [np.zeros(size, dtype=np.bool_) for size in sizes]
        self.counts = np.zeros(64, dtype=np.int64)
        self.histograms, self.sums = np.zeros((1, 1), dtype=np.int64), np.zeros((1, 3))
        longest = max((table.table.shape[1] for table in tables), default=0)
        self.spare = np.empty(longest, dtype=np.int32)
        added = [self._add(masks.whole(i)) for i in range(len(sizes))]
        for table in tables:
            table.parts[:, 0] = [added[i] for i in table.lines]
            self._look(table, np.zeros(1, dtype=np.int64))

    def best(self) -> int | None:
        """The candidate to perform, Line 4; None where none is left.

        Equal scores: the quasi-identifier that comes first, then the lower code.
        """
        from rothko.kernels.refine import choose

        anonymity = np.array([table.anonymity for table in self.tables], dtype=np.int64)
        best, self.opened = choose(
            self.open, self.opened, self.dead, self.gain, self.line, self.code, self.fewest, self.within, anonymity,
            self.scored, self.part_of, self.kind, self.left,
        )  # fmt: skip
        return None if best < 0 else int(best)

    def perform(self, best: int) -> Step:
        """Perform a refinement, Line 5, and update what it changes, Line 6."""
        from rothko.kernels.refine import DISCLOSE, perform

        old = int(self.part_of[best])
        part, i = self.parts[old], int(self.line[best])
        assert part is not None
        many = int(self.slots[old])
        child_of = np.arange(many, dtype=np.int32)
        if self.kind[old] == DISCLOSE:
            value = int(self.code[best])
            rest = part.codes[part.codes != value]
            alone = np.array([value], dtype=np.int32)
            children = [Part(i, rest, suppressed=len(rest) > 1), Part(i, alone, suppressed=False)]
            child_of = np.zeros(many, dtype=np.int32)
            child_of[best - self.first[old] + 1] = 1
            step = Step(i, tuple(part.codes.tolist()), (value,))
        else:
            begins = self.begins[old]
            ends = np.append(begins[1:] - 1, part.high)
            children = [
                Part(i, np.array(span, dtype=np.int32), suppressed=False) for span in zip(begins, ends, strict=True)
            ]
            step = Step(i, (part.low, part.high), tuple(begins.tolist()))
        new = np.arange(len(self.parts), len(self.parts) + len(children), dtype=np.int32)
        touched = {}
        for s, table in enumerate(self.tables):
            if i in table.lines:
                a = table.lines.index(i)
                showing = int(np.count_nonzero(table.parts[a, : table.count] == old))
                table.make_room(showing * (len(children) - 1) + 1)
                table.count, touched[s] = perform(
                    table.table, table.spans, table.parts, table.count, a, old, int(self.cut[old]), self.slot,
                    self.at[i], child_of, new, self.kind, self.spare,
                )  # fmt: skip
                table.anonymity = min(table.anonymity, int(self.fewest[s, best]))
        self._retire(old)
        for child in children:
            self._add(child)
        for s, groups in touched.items():
            self._look(self.tables[s], groups)
        return step

    def final(self) -> tuple[tuple[Part, ...], ...]:
        """The parts of each line, in the order of their first codes."""
        found: list[list[Part]] = [[] for _ in self.masks.lines]
        for part in self.parts:
            if part is not None:
                found[part.line].append(part)
        return tuple(tuple(sorted(parts, key=lambda part: part.low)) for parts in found)

    def _add(self, part: Part) -> int:
        """A new part, with its candidates."""
        from rothko.kernels.refine import DISCLOSE, NOTHING, SPLIT

        number = len(self.parts)
        self.parts.append(part)
        if number == len(self.kind):
            self.kind, self.first, self.slots, self.left, self.cut = (
                np.concatenate([held, np.zeros_like(held)])
                for held in (self.kind, self.first, self.slots, self.left, self.cut)
            )
        self.kind[number], self.cut[number] = NOTHING, -1
        found = self.masks.refinement(part)
        if found is None:
            return number
        at = self.at[part.line]
        if part.suppressed:
            records = np.diff(self.masks.records[part.line])[part.codes]
            enough = np.minimum(records, records.sum() - records) >= self.masks.least[part.line]
            able = np.flatnonzero(enough & ~self.never[part.line][part.codes])
            if not len(able):
                return number
            self.slot[at + part.codes] = 0
            self.slot[at + part.codes[able]] = np.arange(1, len(able) + 1)
            found = Refinement(found.begins[able], found.gains[able])
            self.kind[number], self.slots[number] = DISCLOSE, len(able) + 1
        else:
            if len(found.begins) == 2:
                self.cut[number] = found.begins[1]
            else:
                sizes = np.diff(np.append(found.begins, part.high + 1))
                self.slot[at + part.low : at + part.high + 1] = np.repeat(np.arange(len(sizes)), sizes)
            self.kind[number], self.slots[number] = SPLIT, len(found.begins)
            self.begins[number] = found.begins
        self._open(number, part, found)
        return number

    def _open(self, number: int, part: Part, found: Refinement) -> None:
        """Enter the candidates of a part."""
        count = len(found.gains)
        end = self.used + count
        if end > len(self.gain):
            more = max(end, 2 * len(self.gain)) - len(self.gain)
            self.line, self.code, self.part_of = (
                np.concatenate([held, np.zeros(more, dtype=np.int32)]) for held in (self.line, self.code, self.part_of)
            )
            self.gain = np.concatenate([self.gain, np.zeros(more)])
            self.open = np.concatenate([self.open, np.zeros(more, dtype=np.int64)])
            self.dead = np.concatenate([self.dead, np.ones(more, dtype=np.uint8)])
            room = np.full((len(self.tables), more), LARGEST, dtype=np.int64)
            self.fewest = np.concatenate([self.fewest, room], axis=1)
        new = slice(self.used, end)
        self.first[number] = self.used
        self.most_slots = max(self.most_slots, int(self.slots[number]))
        self.line[new], self.part_of[new] = part.line, number
        self.code[new] = found.begins if part.suppressed else part.low
        self.gain[new], self.dead[new] = found.gains, 0
        self.left[number] = count
        self.open[self.opened : self.opened + count] = np.arange(self.used, end)
        self.opened += count
        self.used = end

    def _retire(self, number: int) -> None:
        """Take a part away that was refined; values that could not be disclosed never will be."""
        from rothko.kernels.refine import DISCLOSE

        part = self.parts[number]
        assert part is not None
        self.parts[number] = None
        first = self.first[number]
        last = first + (self.slots[number] - 1 if self.kind[number] == DISCLOSE else 1)
        if part.suppressed:
            values = self.code[first:last]
            self.never[part.line][values[self.dead[first:last] == 1]] = True
        self.dead[first:last] = 1
        self.begins.pop(number, None)

    def _look(self, table: Groups, touched: NDArray[np.int64]) -> None:
        """Count what refinements would leave of some groups."""
        from rothko.kernels.refine import look

        most = self.most_slots + 3
        if most > len(self.counts):
            self.counts = np.zeros(2 * most, dtype=np.int64)
        width = int(table.rules[:, 2].max(initial=1)) if len(table.rules) else 1
        if len(table.rules) and (most > self.histograms.shape[0] or width > self.histograms.shape[1]):
            shape = max(most, self.histograms.shape[0]), max(width, self.histograms.shape[1])
            self.histograms, self.sums = np.zeros(shape, dtype=np.int64), np.zeros((shape[0], 3))
        fewest_ = self.fewest[self.tables.index(table)]
        look(
            table.table, table.spans, table.parts, touched, self.slot, self.at[list(table.lines)], self.cut, self.kind,
            self.first, self.slots, self.dead, fewest_, table.least, table.rules, table.facts, self.counts,
            self.histograms, self.sums,
        )  # fmt: skip


def _classes(encoded: Encoded, found: Refined) -> Partition:
    """The classes: records that show the same on all lines, in the order of what they show."""
    from rothko.kernels.refine import arrange

    of_code = []
    ordered = [_in_order(line, parts) for line, parts in zip(encoded.lines, found.parts, strict=True)]
    for line, parts in zip(encoded.lines, ordered, strict=True):
        part_of = np.empty(line.size, dtype=np.int32)
        for number, part in enumerate(parts):
            part_of[part.codes if part.suppressed else slice(part.low, part.high + 1)] = number
        of_code.append(part_of)
    shown = [part_of[codes] for part_of, codes in zip(of_code, encoded.codes, strict=True)]
    numbers, first = distinct(shown, [len(parts) for parts in ordered])
    shows = np.stack([column[first] for column in shown])
    ranked = _ranked(shows)
    place = np.empty(len(ranked), dtype=np.int32)
    place[ranked] = np.arange(len(ranked), dtype=np.int32)
    shows = shows[:, ranked]
    order, starts = arrange(place[numbers], len(ranked))
    columns = tuple(
        Parts(
            of_code=part_of,
            low=np.array([part.low for part in parts], dtype=np.int32),
            high=np.array([part.high for part in parts], dtype=np.int32),
            sizes=np.bincount(part_of, minlength=len(parts)),
            suppressed=next((n for n, part in enumerate(parts) if part.suppressed), -1),
            of_class=shows[i],
        )
        for i, (part_of, parts) in enumerate(zip(of_code, ordered, strict=True))
    )
    low = np.stack([column.low[column.of_class] for column in columns], axis=1)
    high = np.stack([column.high[column.of_class] for column in columns], axis=1)
    return Partition(order, starts, low, high, parts=columns, notes=found.notes)


def _ranked(shows: NDArray[np.int32]) -> NDArray[np.int64]:
    """The columns of a matrix in the order of what they hold, from the first row on; by one key where that fits."""
    sizes = shows.max(axis=1).astype(np.int64) + 1
    if math.prod(sizes.tolist()) >= 2**63:
        return np.lexsort(shows[::-1])
    keys = np.zeros(shows.shape[1], dtype=np.int64)
    for row, size in zip(shows, sizes, strict=True):
        keys = keys * size + row
    return np.argsort(keys)


def _in_order(line: Line, parts: Sequence[Part]) -> Sequence[Part]:
    """Parts of a nominal line in the natural order of labels: that of the line may be by a target, and would tell."""
    if line.kind is not Kind.NOMINAL:
        return parts
    rank = np.append(np.argsort(pc.sort_indices(line.texts).to_numpy()), line.size)
    return sorted(parts, key=lambda part: (part.suppressed, int(rank[part.low])))
