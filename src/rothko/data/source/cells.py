"""Cells of a sheet as columns: numbers, dates or truth values where all cells are such, else text.

A cell says itself what it holds, so nothing is guessed: 02139 in a text cell stays text, and a number is the very
double that the file has. A column whose cells are of several kinds is text, each cell as it would be released.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.line import as_text

NUMBER, DATE, TIMESTAMP, TRUTH, TEXT = "number", "date", "timestamp", "true or false", "text"
KINDS: dict[type, str] = {
    float: NUMBER,
    int: NUMBER,
    bool: TRUTH,
    dt.date: DATE,
    dt.datetime: TIMESTAMP,
    str: TEXT,
    dt.time: TEXT,
    dt.timedelta: TEXT,
}
TYPES = {
    NUMBER: pa.float64(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us"),
    TRUTH: pa.bool_(),
    TEXT: pa.string(),
}
WHOLE = float(1 << 53)
"""Up to here, a double that is whole is one whole number only."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a sheet, as far as it was read."""

    values: pa.Array
    """Of one kind; null for an empty cell."""
    counts: dict[str, int]
    """Kind of cells → how many there are."""


def column_of(cells: Sequence[Any]) -> Column:
    """Some cells as a column; an empty text is an empty cell, for the reader does not tell them apart.

    >>> column_of([1.0, "x", ""]).values.to_pylist(), column_of([2.0, 3.5]).values.to_pylist()
    (['1', 'x', None], [2.0, 3.5])
    """
    types = set(map(type, cells))
    if str in types and "" in (cells if types == {str} else [cell for cell in cells if type(cell) is str]):
        cells = [None if cell == "" else cell for cell in cells]
        types = set(map(type, cells))
    types.discard(type(None))
    kinds = {KINDS[kind] for kind in types}
    if len(kinds) <= 1 and types <= {float, int, bool, dt.date, dt.datetime, str}:
        kind = next(iter(kinds), TEXT)
        values = pa.array(cells, TYPES[kind])
        there = len(values) - values.null_count
        return Column(values, {kind: there} if there else {})
    counts: dict[str, int] = {}
    for one in types:
        counts[KINDS[one]] = counts.get(KINDS[one], 0) + sum(type(cell) is one for cell in cells)
    if kinds == {DATE, TIMESTAMP}:
        return Column(pa.array([_at_midnight(cell) for cell in cells], TYPES[TIMESTAMP]), counts)
    return Column(_texts(cells, types), counts)


def together(parts: Sequence[Column]) -> Column:
    """Columns one below the other."""
    counts: dict[str, int] = {}
    for part in parts:
        for kind, count in part.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    kinds = set(counts)
    if len(kinds) <= 1:
        kind = TYPES[next(iter(kinds), TEXT)]
        arrays = [part.values if part.counts else pa.nulls(len(part.values), kind) for part in parts]
        values = pa.concat_arrays(arrays) if arrays else pa.array([], kind)
    elif kinds == {DATE, TIMESTAMP}:
        values = pa.concat_arrays([part.values.cast(TYPES[TIMESTAMP]) for part in parts])
    else:
        values = pa.concat_arrays([released(part.values) for part in parts])
    return Column(_whole(values), counts)


def _whole(values: pa.Array) -> pa.Array:
    """Numbers that are all whole as such."""
    if not pa.types.is_floating(values.type) or len(values) == values.null_count:
        return values
    numbers = values.to_numpy(zero_copy_only=False)
    present = numbers[~np.isnan(numbers)]
    whole = bool((np.floor(present) == present).all() and (np.abs(present) < WHOLE).all())
    return values.cast(pa.int64()) if whole else values


def released(values: pa.Array) -> pa.Array:
    """Cells as the texts that are released for them; a number that is whole has no point."""
    if pa.types.is_timestamp(values.type):
        seconds = values.cast(pa.timestamp("s"), safe=False)
        return as_text(seconds if seconds.cast(values.type).equals(values) else values)
    if not pa.types.is_floating(values.type):
        return as_text(values)
    small = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), WHOLE))
    whole = pc.if_else(small, values, pa.scalar(None, values.type)).cast(pa.int64())
    return pc.coalesce(whole.cast(pa.string()), as_text(values))


def _texts(cells: Sequence[Any], types: Iterable[type]) -> pa.Array:
    """Cells of several kinds as texts, kind by kind."""
    found: list[str | None] = [None] * len(cells)
    for one in types:
        places = [i for i, cell in enumerate(cells) if type(cell) is one]
        held = [cells[i] for i in places]
        kind = KINDS[one]
        if one is dt.time:
            texts = [cell.isoformat() for cell in held]
        elif one is dt.timedelta:
            texts = [_hours(cell) for cell in held]
        elif one is dt.datetime:
            texts = [cell.isoformat(" ") for cell in held]
        else:
            texts = released(pa.array(held, TYPES[kind])).to_pylist()
        for i, text in zip(places, texts, strict=True):
            found[i] = text
    return pa.array(found, pa.string())


def _hours(span: dt.timedelta) -> str:
    """A span of time in hours, minutes and seconds, as a sheet shows it.

    >>> _hours(dt.timedelta(days=1, hours=6))
    '30:00:00'
    """
    seconds, rest = divmod(abs(span) // dt.timedelta(microseconds=1), 1_000_000)
    minutes, second = divmod(seconds, 60)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if span < dt.timedelta(0) else ''}{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}{fraction}"


def _at_midnight(cell: Any) -> Any:
    return dt.datetime.combine(cell, dt.time()) if type(cell) is dt.date else cell
