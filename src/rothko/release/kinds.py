"""Types of columns that are released as they are, and what each format makes of them.

A value leaves exactly, or the run is refused with the name of the column and its type: unions, which no file gets, and
what a format has no type for (:mod:`rothko.release.formats.table`). A text file has texts: those that
:func:`cell_texts` writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.line import as_text
from rothko.errors import InputError

PER_SECOND = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Digits after the point of a number of seconds, by unit."""


def refuse_unions(fields: pa.Schema) -> None:
    """Refuse columns whose values have no one type: what else such an array holds cannot be told from its values."""
    for field in fields:
        if any(pa.types.is_union(kind) for kind in within(field.type)):
            raise InputError(
                f"Column {field.name!r} holds {field.type}, whose values have no one type; turn it into text, or drop "
                "it."
            )


def restored(table: pa.Table, kinds: dict[str, pa.DataType]) -> pa.Table:
    """A table that was read back from a private Parquet file, with the types that its columns had before."""
    for name, kind in kinds.items():
        column = table[name]
        if column.type != kind and not pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
            table = table.set_column(table.column_names.index(name), name, column.cast(kind))
    return table


def cell_texts(values: pa.Array) -> pa.Array:
    """Values as the cells of a text file; null stays null.

    Numbers with all their digits; times as ISO 8601 writes them, with the offset of their zone; durations in seconds;
    bytes in hexadecimal digits; lists and structs as JSON, a map as a list of pairs.

    >>> cell_texts(pa.array([[1, None], [], None])).to_pylist()
    ['[1, null]', '[]', None]
    >>> cell_texts(pa.array([1500, -1], pa.duration("ms"))).to_pylist(), cell_texts(pa.array([b"ab"])).to_pylist()
    (['1.500', '-0.001'], ['6162'])
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return cell_texts(values.dictionary).take(values.indices)
    if pa.types.is_run_end_encoded(kind):
        return cell_texts(pc.run_end_decode(values))
    if pa.types.is_float16(kind):
        return as_text(values.cast(pa.float32()))
    write = _writer(kind)
    if write is None:
        return as_text(values)
    return pa.array([write(value) if value.is_valid else None for value in values], pa.large_string())


def within(kind: pa.DataType) -> Iterable[pa.DataType]:
    """A type and those that it is made of."""
    yield kind
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        yield from within(kind.value_type)
    for i in range(kind.num_fields if pa.types.is_nested(kind) else 0):
        yield from within(kind.field(i).type)


def _writer(kind: pa.DataType) -> Callable[[pa.Scalar], str] | None:
    """How a value is written where Arrow has no text for it; None where it has."""
    types = pa.types
    if types.is_duration(kind):
        return lambda value: _fixed(value.value, PER_SECOND[kind.unit])
    if types.is_interval(kind):
        return lambda value: _period(value.as_py())
    bytes_ = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if bytes_ or types.is_binary_view(kind):
        return lambda value: str(value.as_py().hex())
    return _json if types.is_nested(kind) else None


def _json(value: pa.Scalar) -> str:
    """A value as JSON: numbers as numbers, what JSON has no word for as text."""
    kind = value.type
    if not value.is_valid:
        return "null"
    if pa.types.is_struct(kind):
        inner = (f"{json.dumps(kind.field(i).name, ensure_ascii=False)}: {_json(value[i])}" for i in range(len(value)))
        return "{" + ", ".join(inner) + "}"
    if pa.types.is_map(kind):
        return "[" + ", ".join(f"[{_json(pair[0])}, {_json(pair[1])}]" for pair in value.values) + "]"
    if pa.types.is_nested(kind):
        return "[" + ", ".join(_json(one) for one in value.values) + "]"
    if pa.types.is_dictionary(kind):
        return _json(value.value)
    plain = pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if plain or (pa.types.is_floating(kind) and math.isfinite(value.as_py())):
        return str(cell_texts(pa.array([value.as_py()], kind))[0].as_py())
    return json.dumps(cell_texts(pa.array([value], kind))[0].as_py(), ensure_ascii=False)


def _fixed(count: int, digits: int) -> str:
    """A whole number of parts, as a number with so many digits after the point."""
    if digits == 0:
        return str(count)
    whole, part = divmod(abs(count), 10**digits)
    return f"{'-' if count < 0 else ''}{whole}.{part:0{digits}}"


def _period(period: Any) -> str:
    """Months, days and nanoseconds as ISO 8601 writes a period; each has its own sign."""
    months, days, nanoseconds = period
    return f"P{months}M{days}DT{_fixed(nanoseconds, 9)}S"
