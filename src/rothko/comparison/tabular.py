"""Rows of results as the table of a dataframe library, whichever is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, get_args

import narwhals as nw
import pyarrow as pa

from rothko.errors import InputError, MissingExtraError, nearest

Backend = Literal["pandas", "polars", "pyarrow"]
"""Libraries of dataframes, in the order in which they are looked for."""


def as_frame(rows: Sequence[Mapping[str, Any]], backend: Backend | None = None) -> Any:
    """Rows as a table of a library; of the first that is installed, where none is named.

    >>> as_frame([{"k": 2, "loss": None}], "pyarrow").schema.types
    [DataType(int64), DataType(double)]
    """
    known: tuple[Backend, ...] = get_args(Backend)
    name = next(one for one in known if find_spec(one) is not None) if backend is None else backend
    if name not in known:
        raise InputError(f"{name!r} is no library of dataframes that is known here; {nearest(str(name), known)}")
    if find_spec(name) is None:
        raise MissingExtraError(f"{name} is not installed: pip install {name}, or ask for another library.")
    columns = list(rows[0]) if rows else []
    table = pa.table({column: _column([row[column] for row in rows]) for column in columns})
    return table if name == "pyarrow" else nw.from_arrow(table, backend=name).to_native()


def _column(values: list[Any]) -> pa.Array:
    """A column; what is missing everywhere is a missing number."""
    column = pa.array(" ".join(value) if isinstance(value, list) else value for value in values)
    return column.cast(pa.float64()) if pa.types.is_null(column.type) else column
