"""The first pass over a table that is never whole in memory: its lines, its domains, a sample.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.

Later passes give every record as codes on these lines, the same codes that :func:`rothko.data.encode.encode` gives for
the whole table. For that, the distinct values of each column must fit in memory; numbers and dates that do not become a
grid (:mod:`rothko.data.survey.grid`). What follows from the values is in :mod:`rothko.data.survey.settle`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rothko.data.schema import Schema, columns_read, left_as_text
from rothko.data.source.source import PIECE_ROWS, Source
from rothko.data.survey.coded import Coded, Outline
from rothko.data.survey.coder import Coder, SideBySide, side_by_side
from rothko.data.survey.distinct import Distinct
from rothko.data.survey.reservoir import Reservoir
from rothko.data.survey.settle import check_grids, counted, make_room, settle
from rothko.data.typed import typed_column
from rothko.progress import Progress, silent
from rothko.trim import give_back

LOOK = 1 << 18
"""Records after which it is decided whether the values of a column are too many."""


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
    _coder: Coder

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
                yield self._coder.code(table, run)
        if seen != self.rows:
            raise self._coder.changed()


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
    with side_by_side(threads) as run:
        reservoir = Reservoir(sample, seed)
        found = _first_look(read, counted(policy), policy, reservoir, memory, run, progress)
        sampled = reservoir.result()
        give_back()  # what was read
        known = settle(
            source.names, source.label, policy, found, sampled, reservoir.seen,
            lambda look: look.over(read.watched("survey", progress, look.columns(read.names)), run),
        )  # fmt: skip
        coded = known.coder.code(sampled, run)
    return Survey(known.outline, coded, Stream(reservoir.seen, read, known.coder), known.notes)


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
            make_room(found, memory, decide=some.num_rows == step)
        reservoir.add(table)
        check_grids(found, kinds, policy)
    for distinct in found.values():
        distinct.finish()
    make_room(found, memory)
    check_grids(found, kinds, policy)
    return found
