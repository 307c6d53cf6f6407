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
but one suppressed value discloses the last, for which alone ⊥ would stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.errors import PolicyError
from rothko.methods.classes import ColumnClasses, Parts
from rothko.methods.layout import Rows, fewest, rules_of
from rothko.methods.method import Method, Progress, silent
from rothko.methods.refine.counts import columns_of, labels_of
from rothko.methods.refine.keys import STRIDE, codes_of, distinct, in_order, keys_of, share_distinct
from rothko.methods.refine.requirements import Over, sets_of
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import check_learnable
from rothko.workload.tasks import Aggregate, Classify, Task

if TYPE_CHECKING:
    from rothko.kernels.refine.state import Sets
    from rothko.kernels.rules import Rules

Criterion = Literal["score", "infogain"]
MANY = 0.7
"""Records are collapsed where fewer than this share of them are distinct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine(Method):
    """Options of Top-Down Refinement.

    >>> Refine(criterion="infogain").name
    'refine'
    """

    name: ClassVar[str] = "refine"
    takes: ClassVar[tuple[type[Task], ...]] = (Classify, Aggregate)
    keeps_sets: ClassVar[bool] = True
    merges: ClassVar[bool] = False

    criterion: Criterion = "score"
    """What the best refinement has most of: ``score``, InfoGain for the anonymity that it costs, or ``infogain``."""

    def __post_init__(self) -> None:
        if self.criterion not in get_args(Criterion):
            raise PolicyError(f"{self.name}: criterion must be 'score' or 'infogain', not {self.criterion!r}.")

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
    ) -> ColumnClasses:
        """Refine the most masked table as far as the requirements allow; classes are what then shows the same.

        It takes one core, and draws nothing by chance.
        """
        self.check_workload(workload)
        found = refine(encoded, requirements, self, workload)
        progress(encoded.rows)
        return _classes(encoded, found)


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
class Refined:
    """The most refined table that was found."""

    parts: tuple[tuple[Part, ...], ...]
    """Of each line, in the order of their first codes."""
    history: NDArray[np.int32] = field(repr=False)
    """All parts that there ever were; see :mod:`rothko.kernels.refine.state` for the columns of this and the next."""
    performed: NDArray[np.int32] = field(repr=False)
    notes: tuple[str, ...]

    def steps(self) -> Iterator[Step]:
        """The refinements in the order in which they were performed."""
        from rothko.kernels.refine.state import HIGH, LINE, LOW

        disclosed: dict[int, set[int]] = {}
        for part, value, child, children in self.performed.tolist():
            line, low, high = self.history[part, [LINE, LOW, HIGH]].tolist()
            if value < 0:
                yield Step(line, (low, high), tuple(self.history[child : child + children, LOW].tolist()))
                continue
            before = disclosed.setdefault(line, set())
            yield Step(line, tuple(code for code in range(low, high + 1) if code not in before), (value,))
            before.add(value)


def refine(
    encoded: Encoded, requirements: Sequence[Requirement], method: Refine, workload: Sequence[Task] = ()
) -> Refined:
    """Algorithm 1 of the paper."""
    from rothko.kernels.refine import refine as kernel
    from rothko.kernels.refine.state import BECOMES, GONE, HIGH, LINE, LOW, SUPPRESSED

    tasks = [task for task in workload if isinstance(task, Classify)]
    for task in tasks:
        check_learnable(task, encoded.targets[task.target].domain)
    over, notes = sets_of(requirements, [line.name for line in encoded.lines])
    sets = _sets_over(encoded, over)
    within = sets.place >= 0
    least = np.where(within, sets.least[:, None], 1).max(axis=0, initial=1)
    sizes = np.array([line.size for line in encoded.lines])
    # A step makes one part to several, and a part has the least number of records.
    most_parts = int((2 * np.minimum(sizes, np.maximum(encoded.rows // least, 1))).sum())
    history, performed, hidden, hiding = kernel.refine(
        columns_of(encoded, least), labels_of(encoded, tasks), sets, most_parts, method.criterion == "score"
    )
    parts: list[list[Part]] = [[] for _ in encoded.lines]
    at = _offsets(sizes)
    for row in history[history[:, BECOMES] != GONE]:
        i = int(row[LINE])
        suppressed = bool(row[SUPPRESSED])
        parts[i].append(Part(hidden[at[i] : at[i] + hiding[i]] if suppressed else row[[LOW, HIGH]], suppressed))
    free = [line.name for i, line in enumerate(encoded.lines) if not within[:, i].any()]
    if free:
        notes += (f"no requirement is about {', '.join(free)}: refined without regard to anonymity",)
    ordered = tuple(tuple(sorted(of_line, key=lambda part: part.low)) for of_line in parts)
    return Refined(ordered, history, performed, notes)


def _sets_over(encoded: Encoded, over: Sequence[Over]) -> Sets:
    """The distinct records of each set of quasi-identifiers, with what is required over it."""
    from rothko.kernels.refine.state import Sets
    from rothko.kernels.rules import FACTS, Rules

    tables, rules, facts = [], [], [np.empty(0)]
    place = np.full((len(over), len(encoded.lines)), -1, dtype=np.int64)
    members = place.copy()
    for s, one in enumerate(over):
        lines = [i for i, line in enumerate(encoded.lines) if line.name in one.names]
        members[s, : len(lines)], place[s, lines] = lines, np.arange(len(lines))
        table, own = _collapsed(encoded, lines, one.requirements)
        own.spec[:, FACTS] += sum(map(len, facts))
        tables.append(table)
        rules.append(own.spec)
        facts.append(own.facts)
    least = np.array([fewest(one.requirements) for one in over], dtype=np.int64)
    records = np.array([len(table[0]) for table in tables], dtype=np.int64)
    most_groups = np.minimum(records, np.maximum(encoded.rows // least, 1))
    return Sets(
        table=np.concatenate([np.empty(0, np.int32), *chain.from_iterable(tables)]),
        base=_offsets([sum(map(len, table)) for table in tables])[:-1],
        records=records,
        rows=np.array([len(table) for table in tables], dtype=np.int64),
        weighted=np.array(
            [t[len(one.names)].max(initial=1) > 1 for t, one in zip(tables, over, strict=True)], np.bool_
        ),
        widths=(members >= 0).sum(axis=1),
        members=members,
        place=place,
        least=least,
        groups_at=_offsets(most_groups),
        rules=Rules(np.concatenate([np.empty((0, 8), dtype=np.int64), *rules]), np.concatenate(facts)).asked,
        rules_at=_offsets([len(spec) for spec in rules]),
        anonymity=np.full(len(over), encoded.rows, dtype=np.int64),
    )


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


def _offsets(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of some things begins, and the end."""
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def _classes(encoded: Encoded, found: Refined) -> ColumnClasses:
    """The classes: records that show the same on all lines, in the order of what they show."""
    of_code = []
    ordered = [_in_order(line, parts) for line, parts in zip(encoded.lines, found.parts, strict=True)]
    for line, parts in zip(encoded.lines, ordered, strict=True):
        part_of = np.empty(line.size, dtype=np.int32)
        for number, part in enumerate(parts):
            part_of[part.codes if part.suppressed else slice(part.low, part.high + 1)] = number
        of_code.append(part_of)
    order, starts, different = in_order(keys_of(list(encoded.codes), [len(parts) for parts in ordered], of_code))
    shows = codes_of(different)
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
    low = np.empty((shows.shape[1], len(columns)), dtype=np.int32)
    high = np.empty_like(low)
    for begin in range(0, len(low), STRIDE):
        some = slice(begin, begin + STRIDE)
        for i, column in enumerate(columns):
            low[some, i], high[some, i] = column.low[shows[i, some]], column.high[shows[i, some]]
    return ColumnClasses(order, starts, low, high, columns, notes=found.notes)


def _in_order(line: Line, parts: Sequence[Part]) -> Sequence[Part]:
    """Parts of a nominal line in the natural order of labels: that of the line may be by a target, and would tell."""
    if line.kind is not Kind.NOMINAL:
        return parts
    rank = np.append(np.argsort(pc.sort_indices(line.texts).to_numpy()), line.size)
    return sorted(parts, key=lambda part: (part.suppressed, int(rank[part.low])))
