"""Dataframes of any kind as Arrow tables, and the way back to the kind that came in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa

from rothko.data.source.source import Source, as_arrow, sound
from rothko.data.source.spark import is_frame, open_spark
from rothko.errors import InputError


def open_frame(data: Any) -> Source:
    """Open a dataframe, a relation or a mapping of arrays."""
    if is_frame(data):
        return open_spark(data)
    label = label_of(data)
    if nw.dependencies.is_pandas_dataframe(data):
        names = tuple(str(name) for name in data.columns)
        if len(set(names)) < len(names):  # Arrow refuses them with a message of its own
            return Source(label, names, None, lambda columns, _: pa.table({}))
    try:
        table, restore = _to_arrow(data)
    except (pa.ArrowException, ValueError, TypeError):
        # The readers' messages quote the value that does not fit.
        raise InputError(f"{label} cannot be turned into an Arrow table: a column mixes types or has none.") from None
    try:
        sound(table)
    except pa.ArrowException:
        raise InputError(f"{label} is damaged: a column points beyond its values, or its text is not UTF-8.") from None
    return Source(
        label,
        tuple(table.column_names),
        None,
        lambda columns, _: table.select(list(columns)),
        restore,
        _pieces=lambda columns, _, __, ___: iter([table.select(list(columns))]),
        rows=table.num_rows,
        bytes=table.nbytes,
        written_by=next((name for name in ("write_parquet", "sink_parquet") if is_query(data, name)), ""),
    )


def label_of(data: Any) -> str:
    """What messages call a dataframe."""
    return f"the {type(data).__module__.split('.')[0]} {type(data).__name__}"


def is_query(data: Any, method: str) -> bool:
    """Whether data is computed when it is asked for, and has a method that gives or writes it piece by piece."""
    lazy = isinstance(data, duckdb.DuckDBPyRelation) or nw.dependencies.is_polars_lazyframe(data)
    return lazy and hasattr(data, method)


def way_back(query: Any) -> Callable[[pa.Table], Any]:
    """From an Arrow table to the kind of query that came in."""
    if isinstance(query, duckdb.DuckDBPyRelation):
        return lambda table: duckdb.from_arrow(table)
    return lambda table: nw.from_arrow(table, backend="polars").lazy().to_native()


def _to_arrow(data: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """An Arrow table from a dataframe, and the way back."""
    if isinstance(data, pa.Table):
        return data, as_arrow
    if isinstance(data, dict):
        return pa.table(data), lambda table: {
            n: c.to_numpy() for n, c in zip(table.column_names, table.columns, strict=True)
        }
    if isinstance(data, duckdb.DuckDBPyRelation):
        return data.to_arrow_table(), way_back(data)
    if nw.dependencies.is_pandas_dataframe(data):
        # Without the index: original row numbers would tell records apart.
        return pa.Table.from_pandas(data, preserve_index=False), lambda table: table.to_pandas()
    try:
        frame = nw.from_native(data)
    except TypeError:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data), as_arrow
        raise InputError(
            f"Data of type {type(data).__name__} is not a table; give a path, a pandas, Polars or Arrow table, "
            "a DuckDB relation or a dict of arrays."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        eager = frame.collect()
        backend = eager.implementation
        return eager.to_arrow(), lambda table: nw.from_arrow(table, backend=backend).lazy().to_native()
    return frame.to_arrow(), lambda table: nw.from_arrow(table, backend=frame.implementation).to_native()
