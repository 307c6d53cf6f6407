"""Dates that are read: of the years 1 to 9999, which every format that a release is written in has.

Databases have infinite ones, and files whatever number stands for a day: what lies beyond is written in one way by
Arrow and in another by SQL, and after year 32,767 by Arrow as another date.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from rothko.errors import InputError

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The first and the last day, from 1970."""
DAY = 86_400
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def refuse_other_years(table: pa.Table, label: str) -> None:
    """Refuse dates and points in time that no calendar of four digits has.

    >>> refuse_other_years(pa.table({"day": pa.array([LAST_DAY], pa.date32())}), "people")
    """
    for one, column in zip(table.schema, table.columns, strict=True):
        if (units := _units(one.type)) is None:
            continue
        found = pc.min_max(column)
        low, high = found["min"].value, found["max"].value
        if low is not None and (low < FIRST_DAY * units or high >= (LAST_DAY + 1) * units):
            raise InputError(
                f"Column {one.name!r} of {label} has dates before year 1 or after 9999, or infinite ones, which are "
                "not read; make them missing (of a database by ?query=SELECT …), or drop the column."
            )


def _units(kind: pa.DataType) -> int | None:
    """How many units of a type a day has; None where it is of no days."""
    if pa.types.is_date32(kind):
        return 1
    if pa.types.is_date64(kind):
        return DAY * PER_SECOND["ms"]
    return DAY * PER_SECOND[kind.unit] if pa.types.is_timestamp(kind) else None
