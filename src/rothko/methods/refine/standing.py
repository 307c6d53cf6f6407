"""Algorithm 1 of Fung, Wang, Yu, TKDE 2007, from counts: how far a table is refined, and what it takes to go on.

Everything that decides a refinement is a count. What it gains hangs on the counts of one column
(:mod:`rothko.methods.refine.counts`). Whether it is valid, and what it costs of anonymity, hangs on how many records of
each group have what it tells apart: a table of the different records of every set, and how often each occurs, is all
that is looked at. It need not tell more apart than the refinements that are performed on it
(:mod:`rothko.methods.refine.foresight`): where one would need more, the refinement stops, and goes on with another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Kind, Line
from rothko.methods.layout import fewest
from rothko.methods.letter import Reading
from rothko.methods.refine.counts import Tally
from rothko.methods.refine.requirements import Over, sets_of
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import check_learnable
from rothko.workload.tasks import Classify, Task

if TYPE_CHECKING:
    from rothko.kernels.refine.gains import Columns, Labels
    from rothko.kernels.refine.state import Sets
    from rothko.kernels.rules import Rules

Criterion = Literal["score", "infogain", "tds"]


class Part(NamedTuple):
    """A masked value."""

    codes: NDArray[np.int32]
    """Its first and last code; all of its codes where it is suppressed values."""
    suppressed: bool

    @property
    def low(self) -> int:
        """The first code."""
        return int(self.codes[0])

    @property
    def high(self) -> int:
        """The last code."""
        return int(self.codes[-1])


class Step(NamedTuple):
    """A refinement that was performed."""

    line: int
    part: tuple[int, ...]
    """The codes of the refined part: first and last, or all that were suppressed."""
    children: tuple[int, ...]
    """The first code of each child; or the value that was disclosed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a table is refined."""

    parts: NDArray[np.int32]
    """A row each: line, first and last code, whether its values are suppressed, whether nothing can become of it."""
    hidden: NDArray[np.int32]
    """Line by line, as far as ``hiding`` says: the codes that are suppressed, in their order."""
    hiding: NDArray[np.int64]
    never: NDArray[np.bool_]
    """By code, line by line: values that can never be disclosed."""
    anonymity: NDArray[np.int64]
    """The records of the smallest group of each set."""

    @classmethod
    def begin(cls, lines: Sequence[Line], sets: int, rows: int) -> Standing:
        """The most masked table."""
        nominal = np.array([line.kind is Kind.NOMINAL and line.size > 1 for line in lines])
        sizes = np.array([line.size for line in lines])
        numbers = np.arange(len(lines))
        return cls(
            np.column_stack([numbers, 0 * numbers, sizes - 1, nominal, 0 * numbers]).astype(np.int32),
            np.concatenate([np.arange(size, dtype=np.int32) for size in sizes]),
            np.where(nominal, sizes, 0).astype(np.int64),
            np.zeros(int(sizes.sum()), dtype=np.bool_),
            np.full(sets, rows, dtype=np.int64),
        )

    def of_line(self, i: int, at: int) -> Iterator[tuple[int, Part]]:
        """The parts of a line, whose codes begin ``at``: their rows, and themselves."""
        for row in np.flatnonzero(self.parts[:, 0] == i).tolist():
            suppressed = bool(self.parts[row, 3])
            yield row, Part(self.hidden[at : at + self.hiding[i]] if suppressed else self.parts[row, 1:3], suppressed)

    def part_of(self, i: int, at: int, size: int) -> NDArray[np.int32]:
        """The row of the part of each code of a line, of so many codes."""
        found = np.empty(size, dtype=np.int32)
        for row, part in self.of_line(i, at):
            found[part.codes if part.suppressed else slice(part.low, part.high + 1)] = row
        return found


class SetTable(NamedTuple):
    """The different records of a set of quasi-identifiers, those of each group side by side."""

    rows: list[NDArray[np.int32]]
    """Codes on each of its lines, how many records there are of each, codes that rules look at."""
    rules: Rules
    spans: NDArray[np.int64]
    """Where each group begins and ends."""
    shows: NDArray[np.int32]
    """(groups, lines): the rows of its parts in :attr:`Standing.parts`."""


@dataclass(frozen=True, slots=True)
class Performed:
    """Some refinements that were performed, one after the other."""

    standing: Standing
    """How far the table is refined then."""
    finished: bool
    """Whether none is left; otherwise the tables do not tell enough to go on."""
    history: NDArray[np.int32] = field(repr=False)
    """All parts that there ever were; see :mod:`rothko.kernels.refine.state` for the columns of this and the next."""
    performed: NDArray[np.int32] = field(repr=False)
    before: Standing = field(repr=False)
    at: NDArray[np.int64] = field(repr=False)
    """Where the codes of each line begin."""

    def steps(self) -> Iterator[Step]:
        """The refinements in the order in which they were performed."""
        from rothko.kernels.refine.state import HIGH, LINE, LOW

        hidden = {
            i: set(self.before.hidden[self.at[i] : self.at[i] + count].tolist())
            for i, count in enumerate(self.before.hiding)
        }
        for part, value, child, children in self.performed.tolist():
            line, low, high = self.history[part, [LINE, LOW, HIGH]].tolist()
            if value < 0:
                yield Step(line, (low, high), tuple(self.history[child : child + children, LOW].tolist()))
                continue
            yield Step(line, tuple(sorted(hidden[line])), (value,))
            hidden[line].remove(value)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is asked of a table, and its counts by code."""

    rows: int
    lines: tuple[Line, ...]
    over: tuple[Over, ...]
    members: tuple[tuple[int, ...], ...]
    """Of each set: its lines."""
    columns: Columns
    labels: Labels
    criterion: Criterion
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        rows: int,
        lines: tuple[Line, ...],
        domains: Mapping[str, Domain],
        tally: Tally,
        requirements: Sequence[Requirement],
        workload: Sequence[Task],
        *,
        criterion: Criterion,
        reading: Reading,
    ) -> Problem:
        """The sets that count, with the counts of a whole table."""
        tasks = labels_asked(workload)
        for task in tasks:
            check_learnable(task, domains[task.target])
        over, notes = sets_of(requirements, [line.name for line in lines])
        members = tuple(tuple(i for i, line in enumerate(lines) if line.name in one.names) for one in over)
        least = np.ones(len(lines), dtype=np.int64)
        for one, held in zip(over, members, strict=True):
            least[list(held)] = np.maximum(least[list(held)], fewest(one.requirements))
        free = [line.name for i, line in enumerate(lines) if not any(i in held for held in members)]
        if free:
            notes += (f"no requirement is about {', '.join(free)}: refined without regard to anonymity",)
        columns = tally.columns(lines, least, letter=reading == "paper")
        labels = tally.labelled(lines, tasks, domains, rows)
        return cls(rows, lines, over, members, columns, labels, criterion, notes)

    def counts(self) -> tuple[NDArray[np.int64], ...]:
        """Of each line: how many records have each code."""
        at = self.columns.at.tolist()
        return tuple(
            np.diff(self.columns.before[begin + i : end + i + 1]) for i, (begin, end) in enumerate(pairwise(at))
        )

    def begin(self) -> Standing:
        """The most masked table."""
        return Standing.begin(self.lines, len(self.over), self.rows)

    def run(
        self, tables: Sequence[SetTable], standing: Standing, apart: NDArray[np.bool_] | None = None,
        steps: int | None = None,
    ) -> Performed:  # fmt: skip
        """Perform refinements as far as the tables of all sets tell what they leave.

        Parameters
        ----------
        apart
            By code, line by line: whether the tables tell records with it from those with codes below, or, of a nominal
            line, from all others. None: they have the very codes of the records.
        steps
            No more refinements than that.
        """
        from rothko.kernels.refine import refine as kernel
        from rothko.kernels.refine.state import BECOMES, GONE, HIGH, LINE, LOW, NOTHING, SUPPRESSED, Start

        sets, widest = self._sets(tables, standing), max((len(held) for held in self.members), default=1)
        shows = [np.pad(table.shows, ((0, 0), (0, widest - table.shows.shape[1]))) for table in tables]
        start = Start(
            parts=standing.parts,
            spans=np.concatenate([np.empty((0, 2), dtype=np.int64), *(table.spans for table in tables)]),
            shows=np.concatenate([np.empty((0, widest), dtype=np.int32), *shows]),
            groups_at=_offsets([len(table.spans) for table in tables]),
            hidden=standing.hidden,
            hiding=standing.hiding,
            never=standing.never,
            apart=np.ones(len(standing.never), dtype=np.bool_) if apart is None else apart,
        )
        sizes = np.array([line.size for line in self.lines])
        # A step makes one part to several, and a part has the least number of records; of a tree if groups have.
        trees = np.array([line.kind is Kind.TREE for line in self.lines])
        most_leaves = np.where(trees, sizes, np.minimum(sizes, np.maximum(self.rows // self.columns.least, 1)))
        most_parts = int(2 * most_leaves.sum())
        if steps is not None:
            children = max(2, int(self.columns.lines.tree[:, 4].max(initial=0)))
            most_parts = min(most_parts, len(standing.parts) + steps * children)
        history, performed, hidden, hiding, never, finished = kernel.refine(
            self.columns, self.labels, sets, start, most_parts, most_parts if steps is None else steps,
            get_args(Criterion).index(self.criterion),
        )  # fmt: skip
        left = history[history[:, BECOMES] != GONE]
        parts = np.column_stack([left[:, [LINE, LOW, HIGH, SUPPRESSED]], left[:, BECOMES] == NOTHING])
        # In the order of the memory of every other table of parts: for another one the kernel would be compiled again.
        # Tables of all codes: where nothing is suppressed they stay as they were, and each round would have its own.
        hidden, never = _kept(standing.hidden, hidden), _kept(standing.never, never)
        after = Standing(np.ascontiguousarray(parts, dtype=np.int32), hidden, hiding, never, sets.anonymity)
        return Performed(after, bool(finished), history, performed, standing, self.columns.at)

    def _sets(self, tables: Sequence[SetTable], standing: Standing) -> Sets:
        from rothko.kernels.refine.state import Sets
        from rothko.kernels.rules import FACTS, Rules

        place = np.full((len(self.over), len(self.lines)), -1, dtype=np.int64)
        members = place.copy()
        rules, facts = [], [np.empty(0)]
        for s, (held, table) in enumerate(zip(self.members, tables, strict=True)):
            members[s, : len(held)], place[s, list(held)] = held, np.arange(len(held))
            spec = table.rules.spec.copy()
            spec[:, FACTS] += sum(map(len, facts))
            rules.append(spec)
            facts.append(table.rules.facts)
        least = np.array([fewest(one.requirements) for one in self.over], dtype=np.int64)
        records = np.array([len(table.rows[0]) for table in tables], dtype=np.int64)
        # In a sample, groups that there are may have fewer records than they must; what they are divided in has not.
        groups = np.array([len(table.spans) for table in tables], dtype=np.int64)
        weighted = [table.rows[len(held)].max(initial=1) > 1 for held, table in zip(self.members, tables, strict=True)]
        return Sets(
            table=np.concatenate([np.empty(0, np.int32), *chain.from_iterable(table.rows for table in tables)]),
            base=_offsets([sum(map(len, table.rows)) for table in tables])[:-1],
            records=records,
            rows=np.array([len(table.rows) for table in tables], dtype=np.int64),
            weighted=np.array(weighted, dtype=np.bool_),
            widths=(members >= 0).sum(axis=1),
            members=members,
            place=place,
            least=least,
            groups_at=_offsets(np.minimum(records, groups + self.rows // least)),
            rules=Rules(np.concatenate([np.empty((0, 8), dtype=np.int64), *rules]), np.concatenate(facts)).asked,
            rules_at=_offsets([len(spec) for spec in rules]),
            anonymity=standing.anonymity.copy(),
        )

    def parts(self, standing: Standing) -> tuple[tuple[Part, ...], ...]:
        """The parts of each line, in the order of their first codes."""
        return tuple(
            tuple(sorted((part for _, part in standing.of_line(i, at)), key=lambda part: part.low))
            for i, at in enumerate(self.columns.at[:-1].tolist())
        )


def labels_asked(workload: Sequence[Task]) -> list[Classify]:
    """The tasks whose labels are told."""
    return [task for task in workload if isinstance(task, Classify)]


def _kept(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """What was before, where it is as it was."""
    return before if np.array_equal(before, after) else after


def _offsets(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of some things begins, and the end."""
    return np.append(0, np.cumsum(sizes)).astype(np.int64)
