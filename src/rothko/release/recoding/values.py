"""Values and types as the JSON of a recoding has them."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from rothko.data.line import as_text
from rothko.release.recoding.checks import listed, text


def to_json(values: pa.Array) -> list[Any]:
    """Numbers as numbers, everything else as text; and so are numbers that JSON does not have.

    >>> to_json(pa.array([-math.inf, 0.5]))
    ['-inf', 0.5]
    """
    plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_string(values.type)
    found: list[Any] = (values if plain else as_text(values)).to_pylist()
    if pa.types.is_floating(values.type):
        return [one if one is None or math.isfinite(one) else str(one) for one in found]
    return found


def from_json(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The reverse of :func:`to_json`."""
    if pa.types.is_floating(kind):
        return pa.array([float(one) if one in ("inf", "-inf", "nan") else one for one in listed(values)], kind)
    listed(values)
    if pa.types.is_integer(kind) or pa.types.is_string(kind):
        return pa.array(values, kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if v is None else v == "true" for v in values], kind)
    if pa.types.is_time(kind):  # Arrow reads no times of day, but those of a day
        return (
            pa.array([None if v is None else f"1970-01-01 {v}" for v in values])
            .cast(pa.timestamp(kind.unit))
            .cast(kind)
        )
    return pa.array(values, pa.string()).cast(kind)


def type_of(name: str) -> pa.DataType:
    """An Arrow type from its own name.

    >>> type_of("timestamp[us, tz=UTC]"), type_of("decimal128(5, 2)"), type_of("date32[day]")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(5, 2)), DataType(date32[day]))
    """
    name, _, rest = text(name).replace("(", "[").rstrip(")]").partition("[")
    parts = [part.strip() for part in rest.split(",")] if rest else []
    if name == "timestamp":
        return pa.timestamp(parts[0], tz=parts[1].removeprefix("tz=") if len(parts) > 1 else None)
    if name in ("time32", "time64"):
        return {"time32": pa.time32, "time64": pa.time64}[name](parts[0])
    if name.startswith("decimal"):
        return getattr(pa, name)(int(parts[0]), int(parts[1]))
    return pa.type_for_alias({"double": "float64", "float": "float32"}.get(name, name))
