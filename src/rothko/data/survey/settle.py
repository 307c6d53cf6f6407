"""What the values of a table make of it: its lines and domains, and the lookups of its codes.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5. A first look has collected the distinct values of each column that
is counted, wherever the records lie, and a sample. From these follows everything else, but for two things, which take a
second look over the columns that they are about: the order of nominal labels by the mean of a target, and what lies in
the cells of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.encode import Codes, Means, guide_of, make_line, rank, refuse_nobody, takes_guide
from rothko.data.line import Line
from rothko.data.schema import Schema
from rothko.data.source.guess import typed_text
from rothko.data.survey.coded import Outline
from rothko.data.survey.coder import Coder, SideBySide
from rothko.data.survey.distinct import Distinct
from rothko.data.survey.grid import Cells, Grid, check_grid
from rothko.data.survey.lookup import Lookup, make_lookup
from rothko.data.typed import typed_column
from rothko.errors import VerificationError


class Settled(NamedTuple):
    """What is known of a table once its values were looked at."""

    outline: Outline
    coder: Coder
    notes: tuple[str, ...]
    """What a person should know: columns whose values did not fit."""


def counted(policy: Schema) -> tuple[str, ...]:
    """The columns whose values are collected: quasi-identifiers, and what :func:`in_domains` says."""
    return (*policy.quasi_identifiers, *in_domains(policy))


def in_domains(policy: Schema) -> tuple[str, ...]:
    """Sensitive columns, targets of models, and whose a record is, each once."""
    owner = () if policy.owner is None else (policy.owner,)
    return tuple(dict.fromkeys((*policy.sensitive, *targets(policy), *owner)))


def targets(policy: Schema) -> tuple[str, ...]:
    """What models predict, each once."""
    return tuple(dict.fromkeys(task.target for task in policy.models))


def settle(
    names: Sequence[str],
    label: str,
    policy: Schema,
    found: Mapping[str, Distinct],
    sampled: pa.Table | None,
    rows: int,
    look: Callable[[SecondLook], None],
    *,
    guess: Collection[str] = (),
) -> Settled:
    """Make lines, domains and lookups of what a first look has found.

    Parameters
    ----------
    names, label
        The columns of the table, and what messages call it.
    found
        Of every column that is counted its values, or that there are too many of them.
    sampled
        Some records, by which grids are laid; None where no column needs one.
    look
        Takes a second look, where one is needed: has all records added to it.
    guess
        Columns of text whose type is yet to be told from all of their values.
    """
    ranked = {
        name: Ranked.of(name, distinct, policy, guess=name in guess)
        for name, distinct in found.items()
        if not distinct.full
    }
    grids: dict[str, Grid] = {}
    for name in policy.quasi_identifiers:
        if name not in ranked:
            assert sampled is not None
            grids[name] = Grid(name, sampled[name], policy)
    domains = {name: ranked[name].domain(name) for name in in_domains(policy)}
    if policy.owner is not None:
        refuse_nobody(policy.owner, int(domains[policy.owner].counts[-1]), rows)
    places = {name: ranked[name].lookup(None, len(ranked[name].values)) for name in domains}
    second = SecondLook.of(policy, grids, ranked, domains, places)
    if second.asked:
        look(second)
    on_lines = [
        grids[name].line() if name in grids else ranked[name].line(name, policy, second.means.get(name))
        for name in policy.quasi_identifiers
    ]
    lines = tuple(line for line, _ in on_lines)
    kept = tuple(name for name in names if name in policy.sensitive + policy.kept)
    lookups = dict(zip(policy.quasi_identifiers, (one for _, one in on_lines), strict=True))
    notes = tuple(
        f"Column {line.name!r} has more distinct values than memory holds; it is cut between {line.size:,} cells."
        for line in lines
        if line.upper is not None
    )
    outline = Outline(rows, lines, domains, policy.sensitive, targets(policy), policy.owner)
    return Settled(outline, Coder(label, kept, lookups, places), notes)


def make_room(found: Mapping[str, Distinct], memory: int, *, decide: bool = True) -> None:
    """Bring values together where they might take too much; where they do, the column with the most goes without.

    That is decided after fixed numbers of records, by what these hold: which columns go without does not depend on how
    many records are read at a time.
    """
    if sum(distinct.most_bytes for distinct in found.values()) <= memory:
        return
    for distinct in found.values():
        distinct.merge()
    while decide and sum(distinct.bytes for distinct in found.values()) > memory:
        max(found.values(), key=lambda distinct: distinct.bytes).give_up()


def check_grids(found: Mapping[str, Distinct], kinds: Mapping[str, pa.DataType], policy: Schema) -> None:
    """Refuse columns whose values are too many, and that cannot be laid on a grid."""
    for name, distinct in found.items():
        if distinct.full:
            check_grid(name, kinds[name], policy)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The distinct values of a column: as the source stores them, and as they are typed and sorted."""

    stored: pa.Array
    ranks: Codes
    """Of each stored value the place among the typed ones; -1 where it stands for a missing one."""
    values: pa.Array
    counts: NDArray[np.int64]
    """How many records have each of the typed values; missing last."""

    @classmethod
    def of(cls, name: str, found: Distinct, policy: Schema, *, guess: bool = False) -> Ranked:
        """What a column holds; where it is text, and ``guess`` is said, it is read as what all of it looks like."""
        stored = pa.chunked_array([found.values])
        column = typed_column(name, typed_text(stored) if guess else stored, policy)
        ranks = np.empty(len(found.values), dtype=np.int32)
        values = rank(column, ranks)
        counts = np.zeros(len(values) + 1, dtype=np.int64)
        np.add.at(counts, ranks, found.counts)  # -1 is the last
        counts[-1] += found.nulls
        return cls(found.values, ranks, values, counts)

    def domain(self, name: str) -> Domain:
        """The column as a sensitive one, or a target."""
        return Domain(name, self.values, self.counts)

    def line(self, name: str, policy: Schema, means: Means | None) -> tuple[Line, Lookup]:
        """The column as a quasi-identifier, and the lookup of its codes."""
        spec, missing = policy.columns[name], bool(self.counts[-1])
        line, where = make_line(name, self.values, spec, missing=missing, counts=self.counts[:-1], means=means)
        look = self.lookup(where, line.missing_code)
        self._check(line, look)
        return line, look

    def _check(self, line: Line, look: Lookup) -> None:
        """Refuse codes that do not stand for the values that they are looked up for: every value there is, once."""
        codes = np.empty(len(self.stored), dtype=np.int32)
        look(pa.chunked_array([self.stored]), codes)
        found = line.values.take(pa.array(codes, mask=codes == line.missing_code))
        if not found.equals(self.values.take(pa.array(self.ranks, mask=self.ranks < 0))):
            raise VerificationError(
                f"Verification failed: codes of column {line.name!r} do not stand for its values; nothing was "
                "released. Please report this."
            )

    def lookup(self, where: Codes | None, missing: int) -> Lookup:
        """From stored values to codes, given that of each typed one (None: its place)."""
        of_rank = np.append(np.arange(len(self.values), dtype=np.int32) if where is None else where, np.int32(missing))
        return make_lookup(self.stored, of_rank[self.ranks], missing)


class Found(NamedTuple):
    """What a second look has found."""

    cells: dict[str, Cells]
    means: dict[str, Means]


@dataclass(frozen=True, slots=True)
class SecondLook:
    """What is found out of records when the values of their columns are known.

    It can be sent to where records lie; what was found of some of them adds up (:meth:`take_in`).
    """

    grids: dict[str, Grid]
    """Whose cells are filled."""
    means: dict[str, Means]
    """Of labels that a target puts in order: how many records have each, and the sum of the target."""
    guide: Guide | None

    @classmethod
    def of(
        cls,
        policy: Schema,
        grids: dict[str, Grid],
        ranked: Mapping[str, Ranked],
        domains: Mapping[str, Domain],
        places: Mapping[str, Lookup],
    ) -> SecondLook:
        """What is to be found out, with nothing found yet."""
        if not policy.models:
            return cls(grids, {}, None)
        means: dict[str, Means] = {}
        looks: dict[str, Lookup] = {}
        for name in policy.quasi_identifiers:
            if name in ranked and takes_guide(ranked[name].values, policy.columns[name]):
                size = len(ranked[name].values)
                means[name] = Means(np.zeros(size, dtype=np.int64), np.zeros(size))
                looks[name] = ranked[name].lookup(None, -1)
        first = policy.models[0]
        guide = Guide(first.target, places[first.target], guide_of(first, domains[first.target]), looks)
        return cls(grids, means, guide if means else None)

    @property
    def asked(self) -> set[str]:
        """The columns that are looked at; none where there is nothing to find out."""
        return {*self.grids, *self.means, *(() if self.guide is None else (self.guide.target,))}

    def columns(self, names: Sequence[str]) -> list[str]:
        """The same, in the order of the table."""
        return [name for name in names if name in self.asked]

    def over(self, tables: Iterable[pa.Table], run: SideBySide = map) -> None:
        """Go through records in their order."""
        for table in tables:

            def fill(name: str, table: pa.Table = table) -> None:
                self.grids[name].add(table[name])

            for _ in run(fill, self.grids):
                pass
            if self.guide is not None:
                self.guide.add(table, self.means)

    @property
    def found(self) -> Found:
        """What was found so far: plain data."""
        return Found({name: grid.found for name, grid in self.grids.items()}, self.means)

    def take_in(self, other: Found) -> None:
        """Add what was found of other records."""
        for name, grid in self.grids.items():
            grid.take_in(other.cells[name])
        for name, sums in self.means.items():
            for mine, theirs in zip(sums, other.means[name], strict=True):
                np.add(mine, theirs, out=mine)


@dataclass(frozen=True, slots=True)
class Guide:
    """A target whose mean puts labels in order."""

    target: str
    look: Lookup
    numbers: NDArray[np.float64]
    """By the code of the target; see :func:`rothko.data.encode.guide_of`."""
    labels: dict[str, Lookup]
    """The columns of the labels."""

    def add(self, table: pa.Table, means: Mapping[str, Means]) -> None:
        """Add more records to the sums of their labels: one by one in their order, as for the whole table."""
        from rothko.kernels.lookup import add_up

        targets, codes = np.empty((2, table.num_rows), dtype=np.int32)
        self.look(table[self.target], targets)
        for name, sums in means.items():
            self.labels[name](table[name], codes)
            add_up(codes, targets, self.numbers, *sums)
