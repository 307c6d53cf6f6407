"""The first look at a table on a cluster: the values of its columns, a sample, how long its records are.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5. What is found in each partition is brought together on the cluster;
the driver gets each value once, with how many records have it. A column that has more values than the driver
should hold is laid on a grid, as on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from rothko.data.schema import Schema, written_as_text
from rothko.data.survey.coded import Coded
from rothko.data.survey.distinct import Distinct
from rothko.data.survey.settle import Found, SecondLook, Settled, check_grids, counted, make_room, settle
from rothko.data.typed import typed_column
from rothko.engines.spark.cluster import Cluster
from rothko.engines.spark.draw import Draw, Drawn
from rothko.engines.spark.input_rows import Rows
from rothko.errors import InputError

GRID = 100_000
"""Records by which grids are laid, where there is no other sample."""
ROWS, SAMPLE = -1, -2
"""Slots of what is found beside the values of columns, which have the numbers of these."""


class Size(NamedTuple):
    """How much there is of some records."""

    rows: int
    bytes: int
    """Of the columns that are released as they are."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What the first look has found."""

    settled: Settled
    sample: Coded | None
    size: Size
    kept: pa.Schema
    """The columns that are released as they are."""


def survey(
    cluster: Cluster,
    rows: Rows,
    label: str,
    policy: Schema,
    *,
    text: bool,
    sample: int,
    seed: int,
    memory: int,
) -> Surveyed:
    """Go through the records of a table and learn what it holds.

    Parameters
    ----------
    rows
        With the columns that are read.
    text
        Whether its columns have no types, but those that are read as text anyway.
    sample
        How many records the sample has; none where it is 0, and no column needs a grid.
    memory
        The most bytes that the distinct values of all columns may take together on the driver.
    """
    names = counted(policy)
    frame, opened = rows.frame, rows.opened
    schema = rows.schema()
    kinds = {field.name: field.type for field in schema}
    for name in names:
        typed_column(name, pa.chunked_array([], kinds[name]), policy)
    count = rows.count()
    if count == 0:
        raise InputError(f"{label} has columns but no records.")
    kept = [name for name in rows.columns if name in policy.sensitive + policy.kept]
    found = cluster.gather(
        frame, partial(_look, names, kept, memory // 2, sample, count, seed), partial(_together, memory // 2, sample),
        opened,
    )  # fmt: skip
    size: Size = found.pop(ROWS)
    drawn: Drawn | None = found.pop(SAMPLE, None)
    distinct = {name: found[i] for i, name in enumerate(names)}
    make_room(distinct, memory)
    check_grids(distinct, kinds, policy)
    if drawn is None and any(one.full for one in distinct.values()):
        drawn = cluster.gather(
            frame, partial(_drawn, names, GRID, count, seed), lambda _, some: Drawn.together(some, GRID), opened
        )[0]
    guess = set(policy.quasi_identifiers) - written_as_text(policy) if text else set()
    settled = settle(
        rows.columns, label, policy, distinct, None if drawn is None else drawn.table, size.rows,
        partial(_second_look, cluster, rows), guess=guess,
    )  # fmt: skip
    first = replace(settled.coder, kept=()).code(drawn.table) if drawn is not None and sample else None
    return Surveyed(settled, first, size, pa.schema([schema.field(name) for name in settled.coder.kept]))


def _look(
    names: Sequence[str], kept: Sequence[str], limit: int, sample: int, rows: int, seed: int, tables: Iterator[pa.Table]
) -> Iterator[tuple[int, Any]]:
    """The values of each column in a partition, some of its records, and how many they are."""
    found = [Distinct(limit) for _ in names]
    draw = Draw(sample, rows, seed) if sample else None
    count = size = 0
    for table in tables:
        for name, distinct in zip(names, found, strict=True):
            distinct.add(table[name])
        count += table.num_rows
        size += table.select(list(kept)).nbytes if kept else 0
        if draw is not None:
            draw.add(table, partial(_only, names))
    if count:
        for i, distinct in enumerate(found):
            distinct.finish()
            yield i, distinct
        yield ROWS, Size(count, size)
        if draw is not None:
            yield SAMPLE, draw.result()


def _drawn(
    names: Sequence[str], sample: int, rows: int, seed: int, tables: Iterator[pa.Table]
) -> Iterator[tuple[int, Drawn]]:
    """Some records of a partition."""
    draw = Draw(sample, rows, seed)
    for table in tables:
        draw.add(table, partial(_only, names))
    found = draw.result()
    if found is not None:
        yield 0, found


def _only(names: Sequence[str], table: pa.Table) -> pa.Table:
    return table.select(list(dict.fromkeys(names)))


def _together(limit: int, sample: int, slot: int, found: list[Any]) -> Any:
    if slot == ROWS:
        return Size(sum(one.rows for one in found), sum(one.bytes for one in found))
    if slot == SAMPLE:
        return Drawn.together(found, sample)
    total = Distinct(limit)
    for one in found:
        total.take_in(one)
    total.finish()
    return total


def _second_look(cluster: Cluster, rows: Rows, look: SecondLook) -> None:
    some = rows.only(look.columns(rows.columns))

    def together(_: int, found: list[Found]) -> Found:
        for one in found:
            look.take_in(one)
        return look.found

    found = cluster.gather(some.frame, partial(_found_by, look), together, some.opened)
    look.take_in(found[0])


def _found_by(look: SecondLook, tables: Iterator[pa.Table]) -> Iterable[tuple[int, Found]]:
    look.over(tables)
    return [(0, look.found)]
