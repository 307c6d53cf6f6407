"""The first pass over a table that is never whole in memory: its lines, its domains, a sample.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.

Later passes give every record as codes on these lines, the same codes that :func:`rothko.data.encode.encode` gives for
the whole table. For that, the distinct values of each column must fit in memory; numbers and dates that do not become a
grid (:mod:`rothko.data.survey.grid`).

Two things need what the first pass has found, and take a second over the columns that they are about: the order of
nominal labels by the mean of a target, and what lies in the cells of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.encode import Codes, Means, guide_of, make_line, rank, refuse_nobody, takes_guide
from rothko.data.line import Line
from rothko.data.schema import Schema, columns_read, left_as_text
from rothko.data.source.source import PIECE_ROWS, Source
from rothko.data.survey.coded import Coded, Outline
from rothko.data.survey.distinct import Distinct
from rothko.data.survey.grid import Grid, check_grid
from rothko.data.survey.lookup import Lookup, make_lookup
from rothko.data.survey.reservoir import Reservoir
from rothko.data.typed import typed_column
from rothko.errors import InputError, VerificationError
from rothko.progress import Progress, silent

LOOK = 1 << 18
"""Records after which it is decided whether the values of a column are too many."""
SideBySide = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Survey:
    """What the first pass over a source has found."""

    outline: Outline
    sample: Coded
    """A simple random sample of the records, in their order."""
    stream: Stream
    """All records, for later passes."""
    notes: tuple[str, ...]
    """What a person should know: columns whose values did not fit."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The records of a source as codes, read anew in every pass."""

    rows: int
    _read: _Reading
    _kept: tuple[str, ...]
    _lines: dict[str, Lookup]
    """By quasi-identifier, in the order of the policy."""
    _domains: dict[str, Lookup]

    @property
    def bytes(self) -> int:
        """How much a pass reads, at most."""
        return self._read.source.bytes

    def batches(self) -> Iterator[Coded]:
        """One pass over the records, in the order of the source."""
        seen = 0
        with side_by_side(self._read.threads) as run:
            for table in self._read.batches():
                seen += table.num_rows
                yield self.code(table, run)
        if seen != self.rows:
            raise self._changed()

    def code(self, table: pa.Table, run: SideBySide = map) -> Coded:
        """Some records of the source as codes."""
        codes = np.empty((len(self._lines), table.num_rows), dtype=np.int32)
        values = {name: np.empty(table.num_rows, dtype=np.int32) for name in self._domains}
        on_lines = [(name, look, out) for (name, look), out in zip(self._lines.items(), codes, strict=True)]
        in_domains = [(name, look, values[name]) for name, look in self._domains.items()]

        def look_up(job: tuple[str, Lookup, Codes]) -> bool:
            name, look, out = job
            look(table[name], out)
            return bool(out.min(initial=0) >= 0)

        if not all(run(look_up, [*on_lines, *in_domains])):
            raise self._changed()
        return Coded(codes, values, table.select(list(self._kept)))

    def _changed(self) -> InputError:
        return InputError(f"{self._read.source.label} has changed while it was read; start again.")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is read of a source, and how."""

    source: Source
    names: tuple[str, ...]
    as_text: frozenset[str]
    threads: int
    rows: int

    @classmethod
    def of(cls, source: Source, policy: Schema, threads: int, rows: int) -> _Reading:
        names = columns_read(source.names, policy)
        return cls(source, names, frozenset(left_as_text(policy)), threads, rows)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """One pass over the columns, or some of them."""
        asked = self.names if names is None else names
        return self.source.batches(asked, as_text=self.as_text, rows=self.rows, threads=self.threads)

    def watched(self, stage: str, progress: Progress, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The same, telling how far it has come where the number of records is known."""
        done, total = 0, self.source.rows
        progress(stage, 0, total or 1)
        for table in self.batches(names):
            yield table
            done += table.num_rows
            if total is not None:
                progress(stage, done, total)
        if total is None:
            progress(stage, 1, 1)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The distinct values of a column: as the source stores them, and as they are typed and sorted."""

    stored: pa.Array
    ranks: Codes
    """Of each stored value the place among the typed ones; -1 where it stands for a missing one."""
    values: pa.Array
    counts: NDArray[np.int64]
    """How many records have each of the typed values; missing last."""

    @classmethod
    def of(cls, name: str, found: Distinct, policy: Schema) -> _Ranked:
        column = typed_column(name, pa.chunked_array([found.values]), policy)
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


def survey(
    source: Source,
    policy: Schema,
    *,
    sample: int,
    seed: int,
    memory: int,
    threads: int = 1,
    progress: Progress = silent,
    rows: int = PIECE_ROWS,
) -> Survey:
    """Go through a source and learn what it holds.

    Parameters
    ----------
    sample
        How many records the sample has; all where there are fewer.
    seed
        The same seed gives the same sample, however the records come.
    memory
        The most bytes that the distinct values of all columns may take together, one column at most half of it;
        where they take more, the column with the most goes without.
    rows
        How many records are read at a time, about.

    Examples
    --------
    >>> from rothko.data.source.open import open_source
    >>> people = open_source({"age": [23, 27, 31, 23], "disease": ["flu", "cold", "flu", "flu"]})
    >>> from rothko import Policy
    >>> policy = Policy.quick(people.names, qi=["age"], sensitive=["disease"], k=2)
    >>> found = survey(people, policy, sample=2, seed=0, memory=1_000_000)
    >>> found.outline.rows, found.sample.rows, [coded.codes[0].tolist() for coded in found.stream.batches()]
    (4, 2, [[0, 1, 2, 0]])
    """
    read = _Reading.of(source, policy, threads, rows)
    tasks = policy.models
    targets = tuple(dict.fromkeys(task.target for task in tasks))
    owner = () if policy.owner is None else (policy.owner,)
    released = tuple(dict.fromkeys((*policy.sensitive, *targets, *owner)))
    with side_by_side(threads) as run:
        reservoir = Reservoir(sample, seed)
        counted = (*policy.quasi_identifiers, *released)
        found = _first_look(read, counted, policy, reservoir, memory, run, progress)
        sampled = reservoir.result()
        ranked = {name: _Ranked.of(name, distinct, policy) for name, distinct in found.items() if not distinct.full}
        del found
        grids = {name: Grid(name, sampled[name], policy) for name in policy.quasi_identifiers if name not in ranked}
        domains = {name: ranked[name].domain(name) for name in released}
        for name in owner:
            refuse_nobody(name, int(domains[name].counts[-1]), reservoir.seen)
        places = {name: ranked[name].lookup(None, len(ranked[name].values)) for name in released}
        means: dict[str, Means] = {}
        if tasks:
            guide = _Guide(tasks[0].target, places[tasks[0].target], guide_of(tasks[0], domains[tasks[0].target]))
            means = _second_look(read, grids, ranked, guide, policy, run, progress)
        elif grids:
            _second_look(read, grids, ranked, None, policy, run, progress)
        on_lines = [
            grids[name].line() if name in grids else ranked[name].line(name, policy, means.get(name))
            for name in policy.quasi_identifiers
        ]
        del ranked  # lines and lookups have what is needed of it
        lines = tuple(line for line, _ in on_lines)
        outline = Outline(reservoir.seen, lines, domains, policy.sensitive, targets, policy.owner)
        kept = tuple(name for name in source.names if name in policy.sensitive + policy.kept)
        lookups = dict(zip(policy.quasi_identifiers, (look for _, look in on_lines), strict=True))
        stream = Stream(reservoir.seen, read, kept, lookups, places)
        coded = stream.code(sampled, run)
    notes = tuple(
        f"Column {line.name!r} has more distinct values than memory holds; it is cut between {line.size:,} cells."
        for line in outline.lines
        if line.upper is not None
    )
    return Survey(outline, coded, stream, notes)


def _first_look(
    read: _Reading,
    counted: Sequence[str],
    policy: Schema,
    reservoir: Reservoir,
    memory: int,
    run: SideBySide,
    progress: Progress,
) -> dict[str, Distinct]:
    """Collect the distinct values and the sample; refuse what cannot be encoded as soon as it is seen."""
    found = {name: Distinct(memory // 2) for name in counted}
    for table in read.watched("survey", progress):
        if reservoir.seen == 0:
            kinds = {name: table[name].type for name in counted}
            for name in counted:
                typed_column(name, table[name].slice(0, 0), policy)
        begin = 0
        while begin < table.num_rows:
            step = LOOK - (reservoir.seen + begin) % LOOK
            some = table.slice(begin, step)

            def collect(name: str, some: pa.Table = some) -> None:
                found[name].add(some[name])

            for _ in run(collect, counted):
                pass
            begin += some.num_rows
            _make_room(found, memory, decide=some.num_rows == step)
        reservoir.add(table)
        _check_grids(found, kinds, policy)
    for distinct in found.values():
        distinct.finish()
    _make_room(found, memory)
    _check_grids(found, kinds, policy)
    return found


def _make_room(found: Mapping[str, Distinct], memory: int, *, decide: bool = True) -> None:
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


def _check_grids(found: Mapping[str, Distinct], kinds: Mapping[str, pa.DataType], policy: Schema) -> None:
    for name, distinct in found.items():
        if distinct.full:
            check_grid(name, kinds[name], policy)


def _second_look(
    read: _Reading,
    grids: Mapping[str, Grid],
    ranked: Mapping[str, _Ranked],
    guide: _Guide | None,
    policy: Schema,
    run: SideBySide,
    progress: Progress,
) -> dict[str, Means]:
    """Fill the cells of grids, and add up the target for the labels that it puts in order; nothing is read for none."""
    means: dict[str, Means] = {}
    looks: dict[str, Lookup] = {}
    if guide is not None:
        for name in policy.quasi_identifiers:
            if name in ranked and takes_guide(ranked[name].values, policy.columns[name]):
                size = len(ranked[name].values)
                means[name] = Means(np.zeros(size, dtype=np.int64), np.zeros(size))
                looks[name] = ranked[name].lookup(None, -1)
    asked = {*grids, *means, *((guide.target,) if guide is not None and means else ())}
    if not asked:
        return means
    for table in read.watched("survey", progress, [name for name in read.names if name in asked]):

        def fill(name: str, table: pa.Table = table) -> None:
            grids[name].add(table[name])

        for _ in run(fill, grids):
            pass
        if guide is not None and means:
            guide.add(table, looks, means)
    return means


@dataclass(frozen=True, slots=True)
class _Guide:
    """A target whose mean puts labels in order."""

    target: str
    look: Lookup
    numbers: NDArray[np.float64]
    """By the code of the target; see :func:`rothko.data.encode.guide_of`."""

    def add(self, table: pa.Table, looks: Mapping[str, Lookup], means: Mapping[str, Means]) -> None:
        """Add more records to the sums of their labels: one by one in their order, as for the whole table."""
        from rothko.kernels.lookup import add_up

        targets, codes = np.empty((2, table.num_rows), dtype=np.int32)
        self.look(table[self.target], targets)
        for name, sums in means.items():
            looks[name](table[name], codes)
            add_up(codes, targets, self.numbers, *sums)


@contextmanager
def side_by_side(threads: int) -> Iterator[SideBySide]:
    """A way to do some work on each of some things, kept for all batches of a pass."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map
