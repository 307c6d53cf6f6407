"""Top-Down Refinement: single-dimensional global recoding for classification (TDR).

B. C. M. Fung, K. Wang, P. S. Yu: Anonymizing Classification Data for Privacy Preservation, TKDE 19(5), 2007. Top-Down
Specialization (the same authors, ICDE 2005) is the case without suppression.

From the most masked table on, each step performs the refinement with the best Score = InfoGain ÷ (AnonyLoss + 1)
among those that are valid (every requirement holds afterwards, each over its own set of quasi-identifiers) and
beneficial (:mod:`rothko.methods.refine.counts`), until none is left (Algorithm 1). A refinement replaces a value
wherever it stands, so every column is recoded by itself.

A step looks at the records that show the refined value, and at no others. InfoGain is known from counts by code. The
anonymity Ax(QID) after a refinement x is the smaller of A(QID) and the smallest child of x in any group; since groups
are only ever divided, that smallest child is a minimum that falls and is never taken back, and a refinement that is not
valid never becomes so again. The paper's TIPS and QITS are in :mod:`rothko.kernels.refine.refine`.

Where we deviate: a split must leave as many records on both sides as a group must have, since the best one of the
whole range may be of a handful of records at its end, and the range would stay as it is for good. Disclosing the last
but one suppressed value discloses the last, for which alone ⊥ would stand. ``reading: paper`` does neither.

TDS divides InfoGain by AnonyLoss, and takes it alone where nothing is lost: ``criterion: tds``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.errors import PolicyError
from rothko.methods.classes import ColumnClasses, Parts
from rothko.methods.layout import Rows, rules_of
from rothko.methods.letter import Reading, check_reading
from rothko.methods.method import Method, Progress, silent
from rothko.methods.refine.counts import Tally
from rothko.methods.refine.keys import codes_of, distinct, in_order, keys_of, share_distinct
from rothko.methods.refine.standing import (
    Criterion,
    Part,
    Performed,
    Problem,
    SetTable,
    Step,
    labels_asked,
)
from rothko.privacy.requirement import Requirement
from rothko.workload.tasks import Aggregate, Classify, Task

if TYPE_CHECKING:
    from rothko.kernels.rules import Rules

MANY = 0.7
"""Records are collapsed where fewer than this share of them are distinct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine(Method):
    """Options of Top-Down Refinement.

    >>> Refine(criterion="infogain").name
    'refine'
    """

    name: ClassVar[str] = "refine"
    by_counts: ClassVar[bool] = True
    takes: ClassVar[tuple[type[Task], ...]] = (Classify, Aggregate)
    keeps_sets: ClassVar[bool] = True
    merges: ClassVar[bool] = False

    criterion: Criterion = "score"
    """What the best refinement has most of: ``score``, InfoGain for the anonymity that it costs, ``infogain``, or
    ``tds``, the score of Top-Down Specialization."""
    reading: Reading = "rothko"
    """``paper``: the best split of an interval is chosen without regard to anonymity, and the last suppressed value
    stays so where disclosing it would not be beneficial."""

    def __post_init__(self) -> None:
        if self.criterion not in get_args(Criterion):
            raise PolicyError(f"{self.name}: criterion must be 'score', 'infogain' or 'tds', not {self.criterion!r}.")
        check_reading(self.name, self.reading)

    @property
    def recodes(self) -> bool:
        """Every column has a recoding of its own."""
        return True

    def refuses(self, task: Task) -> str:
        """Values are refined for the labels that they tell."""
        return (
            f"{self.name} makes tables for classification and cannot make them for {task.describe()}; "
            "use mondrian, or leave the task to measure."
        )

    def partition(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        *,
        workload: Sequence[Task] = (),
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
        room: int | None = None,
    ) -> ColumnClasses:
        """Refine the most masked table as far as the requirements allow; classes are what then shows the same.

        It takes one core, and draws nothing by chance.
        """
        self.check_workload(workload)
        found = refine(encoded, requirements, self, workload)
        progress(encoded.rows)
        return _classes(encoded, found)


@dataclass(frozen=True, slots=True)
class Refined:
    """The most refined table that was found."""

    parts: tuple[tuple[Part, ...], ...]
    """Of each line, in the order of their first codes."""
    rounds: tuple[Performed, ...] = field(repr=False)
    """The refinements, as they were performed together."""
    notes: tuple[str, ...]

    @classmethod
    def by(cls, problem: Problem, rounds: Sequence[Performed]) -> Refined:
        """What some refinements have led to."""
        return cls(problem.parts(rounds[-1].standing), tuple(rounds), problem.notes)

    def steps(self) -> Iterator[Step]:
        """The refinements in the order in which they were performed."""
        for one in self.rounds:
            yield from one.steps()

    def columns(self, lines: Sequence[Line]) -> tuple[Parts, ...]:
        """The recoding of each line, of no class yet."""
        return tuple(_parts(line, _in_order(line, parts)) for line, parts in zip(lines, self.parts, strict=True))


def refine(
    encoded: Encoded, requirements: Sequence[Requirement], method: Refine, workload: Sequence[Task] = ()
) -> Refined:
    """Algorithm 1 of the paper."""
    domains = {name: target.domain for name, target in encoded.targets.items()}
    tally = Tally.of(encoded, labels_asked(workload))
    problem = Problem.of(
        encoded.rows, encoded.lines, domains, tally, requirements, workload,
        criterion=method.criterion, reading=method.reading,
    )  # fmt: skip
    tables = [
        _table(encoded, lines, one.requirements) for one, lines in zip(problem.over, problem.members, strict=True)
    ]
    return Refined.by(problem, [problem.run(tables, problem.begin())])


def _table(encoded: Encoded, lines: Sequence[int], requirements: Sequence[Requirement]) -> SetTable:
    """The different records of a set, all in one group."""
    rows, rules = _collapsed(encoded, lines, requirements)
    # The first parts have the numbers of their lines.
    return SetTable(rows, rules, np.array([[0, len(rows[0])]], dtype=np.int64), np.array([lines], dtype=np.int32))


def _collapsed(
    encoded: Encoded, lines: Sequence[int], requirements: Sequence[Requirement]
) -> tuple[list[NDArray[np.int32]], Rules]:
    """The records that differ on some lines or in what rules look at, how many there are of each; and the rules."""
    columns = [encoded.codes[i] for i in lines]
    sizes = [encoded.lines[i].size for i in lines]
    rows = Rows(before=len(lines) + 1)
    rules = rules_of(encoded, requirements, rows.add)
    keys = keys_of(columns + rows, sizes + [int(row.max(initial=0)) + 1 for row in rows])
    if share_distinct(keys) > MANY:  # bringing them together would cost more than it saves
        return [*columns, np.ones(encoded.rows, dtype=np.int32), *rows], rules
    different, times = distinct(keys)
    codes = codes_of(different)
    return [*codes[: len(lines)], times.astype(np.int32), *codes[len(lines) :]], rules


def _classes(encoded: Encoded, found: Refined) -> ColumnClasses:
    """The classes: records that show the same on all lines, in the order of what they show."""
    parts = found.columns(encoded.lines)
    keys = keys_of(list(encoded.codes), [len(one.low) for one in parts], [one.of_code for one in parts])
    order, starts, different = in_order(keys)
    return ColumnClasses.showing(order, starts, parts, codes_of(different), notes=found.notes)


def _parts(line: Line, parts: Sequence[Part]) -> Parts:
    """The parts of a line, by code."""
    of_code = np.empty(line.size, dtype=np.int32)
    for number, part in enumerate(parts):
        of_code[part.codes if part.suppressed else slice(part.low, part.high + 1)] = number
    return Parts(
        of_code=of_code,
        low=np.array([part.low for part in parts], dtype=np.int32),
        high=np.array([part.high for part in parts], dtype=np.int32),
        sizes=np.bincount(of_code, minlength=len(parts)),
        suppressed=next((n for n, part in enumerate(parts) if part.suppressed), -1),
        of_class=np.empty(0, dtype=np.int32),
    )


def _in_order(line: Line, parts: Sequence[Part]) -> Sequence[Part]:
    """Parts of a nominal line in the natural order of labels: that of the line may be by a target, and would tell."""
    if line.kind is not Kind.NOMINAL:
        return parts
    rank = np.append(np.argsort(pc.sort_indices(line.texts).to_numpy()), line.size)
    return sorted(parts, key=lambda part: (part.suppressed, int(rank[part.low])))
