"""How much must be told apart to go on refining: cells of each line, and the different records of a set in cells.

A record of a set is as good as any other that lies in the same cells, until a refinement tells them apart. Which codes
a refinement tells apart is known from counts of one column (:mod:`rothko.kernels.refine.ahead`), so cells can be laid
as many refinements ahead as there is room for the records that are different then. Groups that nothing can become of
are left out: their records are never looked at again.

How many are different, and which refinements are to come, a sample is asked. It decides how far one looks ahead, and
so how often records are counted; never what is refined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Sensitive
from rothko.data.encode import Encoded
from rothko.data.line import Kind
from rothko.data.survey.coded import Outline
from rothko.methods.layout import Rows, fewest, rules_of
from rothko.methods.refine.keys import Keys, codes_of, distinct, in_order, keys_of
from rothko.methods.refine.requirements import Over
from rothko.methods.refine.standing import Performed, Problem, SetTable, Standing
from rothko.privacy.kanonymity import KAnonymity

FAR = np.iinfo(np.int32).max
"""Refinements ahead: all that can ever be."""
NEARER = (4, 2, 1)
"""How many refinements one looks ahead beyond those that a sample foretells, if there is room."""
SAFE = 0.75
"""Share of the room that a guess may take up: one that proves too low costs a pass for nothing."""
FORETOLD = (16, 256)
"""Refinements that a sample is asked for, and asked again where there is room for all of them: few fit after one pass,
or one can look several levels further."""
HOPES = 2
"""How often in a row the lower of two guesses may prove too low, before it is given up for good."""
SIGMAS = 4
"""By how many standard deviations a group of the sample may have fewer records than it must."""
MOST_TIMES = np.iinfo(np.int32).max
"""How often a record of a table can occur; one that occurs more often is there several times."""


@dataclass(frozen=True, slots=True)
class Cells:
    """What is told apart on every line."""

    apart: NDArray[np.bool_]
    """By code, line by line; see :meth:`rothko.methods.refine.standing.Problem.run`."""
    of_code: tuple[NDArray[np.int32], ...]
    """Of each line: the cell of each code."""
    first: tuple[NDArray[np.int32], ...]
    """Of each line: a code of each cell, which stands for all of them."""
    live: tuple[NDArray[np.bool_], ...]
    """Of each line: whether something can still become of the part that a cell lies in."""

    @classmethod
    def ahead(
        cls, problem: Problem, depths: NDArray[np.int32], standing: Standing, levels: int,
        parts: NDArray[np.int32] | None = None,
    ) -> Cells:  # fmt: skip
        """The cells that so many refinements of every part tell apart.

        Parameters
        ----------
        depths
            See :func:`depths_of`.
        parts
            What the parts have become meanwhile, where one looks ahead from there; as in ``standing``.
        """
        from rothko.kernels.refine.ahead import look_ahead

        at = problem.columns.at
        apart = np.zeros(int(at[-1]), dtype=np.bool_)
        look_ahead(
            problem.columns, problem.labels, depths, standing.parts if parts is None else parts, standing.hidden,
            standing.hiding, standing.never, levels, apart,
        )  # fmt: skip
        of_code, first, live = [], [], []
        for i, line in enumerate(problem.lines):
            marked = apart[at[i] : at[i + 1]]
            if line.kind is Kind.NOMINAL:
                rest = np.flatnonzero(~marked)
                codes = np.append(np.flatnonzero(marked), rest[:1]).astype(np.int32)
                cells = np.full(line.size, len(codes) - 1, dtype=np.int32)
                cells[codes] = np.arange(len(codes), dtype=np.int32)
            else:
                codes = np.flatnonzero(marked).astype(np.int32)
                cells = np.cumsum(marked, dtype=np.int32) - np.int32(1)
            of_code.append(cells)
            first.append(codes)
            live.append(standing.parts[standing.part_of(i, int(at[i]), line.size)[codes], 4] == 0)
        for i in range(len(problem.lines)):
            if not any(i in held for held in problem.members):
                apart[at[i] : at[i + 1]] = True  # it is in no table, and nothing of it need be told
        return cls(apart, tuple(of_code), tuple(first), tuple(live))

    def asked(self, problem: Problem, outline: Outline) -> tuple[Asked, ...]:
        """What is counted of every set."""
        return tuple(
            Asked(
                one, held, tuple(self.of_code[i] for i in held), tuple(len(self.first[i]) for i in held),
                tuple(self.live[i][self.of_code[i]] for i in held), _values_of(outline, one),
            )
            for one, held in zip(problem.over, problem.members, strict=True)
        )  # fmt: skip


def depths_of(problem: Problem) -> NDArray[np.int32]:
    """By code, line by line: how many refinements it takes to tell it from those below; 0 where none does."""
    from rothko.kernels.refine.ahead import refinement_depths

    depths = np.zeros(int(problem.columns.at[-1]), dtype=np.int32)
    refinement_depths(problem.columns, problem.labels, depths)
    return depths


def _values_of(outline: Outline, over: Over) -> tuple[int, ...]:
    """Below what the codes are that the rules of a set look at."""
    everything = {n: Sensitive(np.arange(d.size, dtype=np.int32), d) for n, d in outline.domains.items()}
    nobody = replace(
        outline.encoded(outline.nobody()), sensitive={name: everything[name] for name in outline.sensitive}
    )
    rows = Rows()
    rules_of(nobody, over.requirements, rows.add)
    return tuple(int(row.max()) + 1 for row in rows)


class Counted(NamedTuple):
    """The different records of a set in cells, and how many there are of each."""

    words: NDArray[np.uint64]
    """(words, records): keys, see :mod:`rothko.methods.refine.keys`."""
    times: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is counted of a set. Plain data: it can be sent to where the records lie."""

    over: Over
    lines: tuple[int, ...]
    cells: tuple[NDArray[np.int32], ...]
    """Of each of its lines: the cell of each code."""
    sizes: tuple[int, ...]
    """How many cells each has."""
    live: tuple[NDArray[np.bool_], ...]
    """Of each of its lines: whether something can become of the part of each code."""
    values: tuple[int, ...]
    """Below what the codes are that rules look at."""

    def keys(self, encoded: Encoded) -> Keys:
        """The keys of those of some records that something can become of."""
        live = np.zeros(encoded.rows, dtype=np.bool_)
        for i, alive in zip(self.lines, self.live, strict=True):
            live |= alive[encoded.codes[i]]
        places = slice(None) if live.all() else np.flatnonzero(live)
        rows = Rows()
        rules_of(encoded, self.over.requirements, rows.add)
        columns = [cells[encoded.codes[i][places]] for i, cells in zip(self.lines, self.cells, strict=True)]
        return keys_of([*columns, *(row[places] for row in rows)], [*self.sizes, *self.values])

    @property
    def words(self) -> int:
        """How many words a key has."""
        return len(self._nobody().sizes)

    def count(self, encoded: Encoded) -> Counted:
        """The different records among some, and how many there are of each."""
        keys = self.keys(encoded)
        if not keys.words.shape[1]:
            return Counted(keys.words, np.empty(0, dtype=np.int64))
        different, times = distinct(keys)
        return Counted(different.words, times)

    def table(self, problem: Problem, outline: Outline, standing: Standing, cells: Cells, counted: Counted) -> SetTable:
        """What was counted as a table, by the groups that there are."""
        times = counted.times
        again = -(-times // MOST_TIMES)
        if again.max(initial=1) > 1:
            number = np.repeat(np.arange(len(times)), again)
            places = np.arange(len(number)) - np.repeat(np.cumsum(again) - again, again)
            counted = Counted(
                counted.words[:, number], np.minimum(times[number] - places * MOST_TIMES, MOST_TIMES).astype(np.int64)
            )
        codes = codes_of(Keys(counted.words, self._nobody().sizes))
        width = len(self.lines)
        at = problem.columns.at
        numbers = [np.flatnonzero(standing.parts[:, 0] == i).astype(np.int32) for i in self.lines]
        shown = []  # by cell: there may be many more codes
        for i, rows in zip(self.lines, numbers, strict=True):
            parts = standing.part_of(i, int(at[i]), problem.lines[i].size)[cells.first[i]]
            shown.append(np.searchsorted(rows, parts).astype(np.int32))
        order, starts, different = in_order(keys_of(list(codes[:width]), [len(rows) for rows in numbers], shown))
        shows = [rows[parts] for rows, parts in zip(numbers, codes_of(different), strict=True)]
        rules = rules_of(outline.encoded(outline.nobody()), self.over.requirements, Rows(before=width + 1).add)
        spans = np.column_stack([starts[:-1], starts[1:]])
        columns = [cells.first[i][row[order]] for i, row in zip(self.lines, codes[:width], strict=True)]
        columns += [counted.times[order].astype(np.int32), *(row[order] for row in codes[width:])]
        return SetTable(columns, rules, spans, np.stack(shows, axis=1))

    def _nobody(self) -> Keys:
        nothing = np.empty(0, dtype=np.int32)
        return keys_of([nothing for _ in (*self.sizes, *self.values)], [*self.sizes, *self.values])


@dataclass(slots=True)
class Foresight:
    """What a sample tells of a table: how its refinement might go on, and how many records are different."""

    problem: Problem
    outline: Outline
    sample: Encoded
    depths: NDArray[np.int32]
    hopeful: bool = True
    """Whether the lower of two guesses is believed."""
    scale: float = 1.0
    """How many records were different for each one that was guessed, when they were counted last."""

    @classmethod
    def of(cls, problem: Problem, outline: Outline, sample: Encoded) -> Foresight:
        """All that can ever be told apart is found out once."""
        return cls(problem, outline, sample, depths_of(problem))

    def nearer_and_nearer(self, standing: Standing, most: int) -> Iterator[Cells]:
        """Cells in which the records of all sets might be no more than ``most`` different ones, from the finest on.

        Those that come later have fewer; the last look one refinement ahead.
        """
        every, room, failed = self._ahead(standing, FAR), SAFE * most, 0
        if self.different(every) <= room:
            yield every
            room, failed = room / 2, 1
        foretold = self._foretold(standing, every, room)
        del every
        least = self._ahead(standing, 1).apart
        while True:
            cells = self._within(standing, foretold, room)
            if cells is None:
                break
            yield cells
            if np.array_equal(cells.apart, least):
                return
            room = min(room, self.different(cells)) / 2
            failed += 1
            if self.hopeful and failed == HOPES:
                self.hopeful, self.scale = False, 1.0
        yield self._ahead(standing, 1)

    def learn(self, cells: Cells, counted: int) -> None:
        """Take notice of how many different records there were in some cells."""
        self.scale *= max(counted, 1) / max(self.different(cells), 1)

    def _foretold(self, standing: Standing, every: Cells, room: float) -> Performed:
        """The refinements that a sample foretells: as many as there might be room for."""
        foretold = self._run(standing, every, FORETOLD[0])
        for steps in FORETOLD[1:]:
            done = len(foretold.performed)
            if foretold.finished or self.different(self._ahead(standing, 1, _after(standing, foretold, done))) > room:
                break
            foretold = self._run(standing, every, steps)
        return foretold

    def _within(self, standing: Standing, foretold: Performed, room: float) -> Cells | None:
        """Cells for as many of the refinements that are foretold as there is room for, and for more where there is."""
        steps = len(foretold.performed)
        if not steps:
            return None
        for levels in NEARER:
            cells = self._ahead(standing, levels, _after(standing, foretold, steps))
            if self.different(cells) <= room:
                return cells
        low, high, found = 0, steps, None
        while high - low > 1:
            middle = (low + high) // 2
            cells = self._ahead(standing, 1, _after(standing, foretold, middle))
            if self.different(cells) <= room:
                low, found = middle, cells
            else:
                high = middle
        return found

    def _ahead(self, standing: Standing, levels: int, parts: NDArray[np.int32] | None = None) -> Cells:
        return Cells.ahead(self.problem, self.depths, standing, levels, parts)

    def different(self, cells: Cells) -> float:
        """About how many records are different in all sets together."""
        return self.scale * sum(self._different(asked) for asked in cells.asked(self.problem, self.outline))

    def _different(self, asked: Asked) -> float:
        """Chao's guess (1984), which is for records that are all about as rare, while nothing speaks against it.

        It is far too low where some are seen often and very many others hardly ever: GEE (Charikar, Chaudhuri, Motwani,
        Narasayya, PODS 2000) is for those, and many times too high for the former. A guess that is too low costs a pass
        that ends as soon as there is no room, most often early; after some the larger of the two is believed.
        """
        times = asked.count(self.sample).times
        share = self.sample.rows / self.problem.rows
        once, twice = (int(np.count_nonzero(times == n)) for n in (1, 2))
        often = len(times) - once
        most = min(once / share + often, self.problem.rows)
        chao = min(len(times) + once * (once - 1) / (2 * (twice + 1)), most)
        return chao if self.hopeful else max(once / math.sqrt(share) + often, chao)

    def _run(self, standing: Standing, every: Cells, steps: int) -> Performed:
        """Refine the sample as if each of its records stood for many; of requirements only the fewest records count.

        A group may have fewer than it must, by as many as chance takes from it: otherwise the smallest of very many
        would end it all.
        """
        weight = max(1, self.problem.rows // self.sample.rows)
        over = []
        for one in self.problem.over:
            least = fewest(one.requirements)
            lenient = math.ceil(least - SIGMAS * math.sqrt(least * weight))
            over.append(Over(one.names, (KAnonymity(k=lenient),) if lenient > 1 else ()))
        problem = replace(self.problem, over=tuple(over))
        tables = []
        for asked in every.asked(problem, self.outline):
            counted = asked.count(self.sample)
            counted = Counted(counted.words, counted.times * weight)
            tables.append(asked.table(problem, self.outline, standing, every, counted))
        return problem.run(tables, standing, every.apart, steps)


def _after(standing: Standing, foretold: Performed, steps: int) -> NDArray[np.int32]:
    """The parts after some of the refinements that are foretold; what is suppressed is told apart as it is."""
    from rothko.kernels.refine.state import HIGH, LINE, LOW, STEP_CHILD, STEP_CHILDREN, STEP_PART, STEP_VALUE

    some = foretold.performed[:steps]
    split = some[some[:, STEP_VALUE] < 0]
    there = np.zeros(len(foretold.history), dtype=np.bool_)
    for _, _, child, children in split[:, [STEP_PART, STEP_VALUE, STEP_CHILD, STEP_CHILDREN]].tolist():
        there[child : child + children] = True
    there[split[:, STEP_PART]] = False
    gone = split[split[:, STEP_PART] < len(standing.parts), STEP_PART]
    new = foretold.history[there][:, [LINE, LOW, HIGH]]
    kept = np.delete(standing.parts, gone, axis=0)
    # In one order of memory, as everywhere: for another one the kernel would be compiled in the middle of a run.
    return np.concatenate([kept, np.pad(new, ((0, 0), (0, 2)))]).astype(np.int32, order="C")
