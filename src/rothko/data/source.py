"""Sources: files and dataframes of any kind, as one Arrow table, and back to the kind that came in.

CSV is read by DuckDB with a dialect that is settled first (:mod:`rothko.data.csv_dialect`), so that a
ragged line is an error and not a table with one column. Columns that a policy drops are never read.
Messages of the readers quote the lines they stumble over; none of that reaches the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from rothko.data.csv_dialect import CsvDialect, CsvOptions
from rothko.errors import InputError

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".arrow", ".feather", ".ipc")


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be read, known by its columns."""

    label: str
    """What messages call it: the file's name or the kind of dataframe."""
    names: tuple[str, ...]
    """Its columns."""
    path: Path | None
    """The file it is in, if any."""
    _read: Callable[[Sequence[str], Collection[str]], pa.Table]
    restore: Callable[[pa.Table], Any]
    """Turn an Arrow table into the kind of table that came in."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading it, for a person to see."""

    def read(self, columns: Sequence[str] | None = None, *, as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, plain, without the source's metadata.

        Parameters
        ----------
        as_text
            Columns of a text file to leave as they are written, with no guess at their type.
        """
        table = self._read(self.names if columns is None else columns, as_text)
        if table.num_rows == 0:
            raise InputError(f"{self.label} has columns but no records.")
        return table.replace_schema_metadata(None)


def open_source(data: Any, *, csv: CsvOptions | None = None) -> Source:
    """Open a path, a dataframe or a mapping of arrays.

    >>> open_source({"age": [30, 40]}).names
    ('age',)
    """
    source = _open_file(Path(data), csv) if isinstance(data, str | Path) else _open_frame(data)
    twice = [name for name, times in Counter(source.names).items() if times > 1]
    if twice:
        raise InputError(f"{source.label} has the column {twice[0]!r} {Counter(source.names)[twice[0]]} times.")
    return source


def _open_file(path: Path, csv: CsvOptions | None) -> Source:
    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file in it.")
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty.")
    name = path.name.lower()
    if name.endswith(CSV_ENDINGS):
        return _open_csv(path, csv or CsvOptions())
    if name.endswith(PARQUET_ENDINGS):
        return _open_parquet(path)
    if name.endswith(ARROW_ENDINGS):
        return _open_arrow(path)
    known = ", ".join((*CSV_ENDINGS, *PARQUET_ENDINGS, *ARROW_ENDINGS))
    raise InputError(f"{path.name} has an ending that rothko does not know; it reads {known}.")


def _open_csv(path: Path, options: CsvOptions) -> Source:
    dialect = CsvDialect.sniff(path, options)

    def read(columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        return dialect.read(path, columns, as_text)

    return Source(path.name, dialect.names, path, read, _as_arrow, dialect.notes)


def _open_parquet(path: Path) -> Source:
    try:
        names = tuple(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        raise InputError(f"{path.name} is not a Parquet file, or it is cut short.") from None

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        try:
            # One chunk per column, as a whole: the ranks are taken over all values anyway.
            return pq.ParquetFile(path).read(columns=list(columns)).combine_chunks()
        except (pa.ArrowException, OSError):
            raise InputError(f"{path.name} is damaged or cut short: its columns cannot be read.") from None

    return Source(path.name, names, path, read, _as_arrow)


def _open_arrow(path: Path) -> Source:
    def read(columns: Sequence[str] | None, _: Collection[str]) -> pa.Table:
        try:
            return feather.read_table(path, columns=None if columns is None else list(columns))
        except (pa.ArrowException, OSError):
            raise InputError(f"{path.name} is not an Arrow or Feather file, or it is cut short.") from None

    return Source(path.name, tuple(read(None, ()).column_names), path, read, _as_arrow)


def _open_frame(data: Any) -> Source:
    label = f"the {type(data).__module__.split('.')[0]} {type(data).__name__}"
    if nw.dependencies.is_pandas_dataframe(data):
        names = tuple(str(name) for name in data.columns)
        if len(set(names)) < len(names):  # Arrow refuses them with a message of its own
            return Source(label, names, None, lambda columns, _: pa.table({}), _as_arrow)
    try:
        table, restore = _to_arrow(data)
    except (pa.ArrowException, ValueError, TypeError):
        # The readers' messages quote the value that does not fit.
        raise InputError(f"{label} cannot be turned into an Arrow table: a column mixes types or has none.") from None
    return Source(label, tuple(table.column_names), None, lambda columns, _: table.select(list(columns)), restore)


def _to_arrow(data: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """An Arrow table from a dataframe, and the way back."""
    if isinstance(data, pa.Table):
        return data, _as_arrow
    if isinstance(data, dict):
        return pa.table(data), lambda table: {
            n: c.to_numpy() for n, c in zip(table.column_names, table.columns, strict=True)
        }
    if isinstance(data, duckdb.DuckDBPyRelation):
        return data.to_arrow_table(), lambda table: duckdb.from_arrow(table)
    if nw.dependencies.is_pandas_dataframe(data):
        # Without the index: original row numbers would tell records apart.
        return pa.Table.from_pandas(data, preserve_index=False), lambda table: table.to_pandas()
    try:
        frame = nw.from_native(data)
    except TypeError:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data), _as_arrow
        raise InputError(
            f"Data of type {type(data).__name__} is not a table; give a path, a pandas, Polars or Arrow table, "
            "a DuckDB relation or a dict of arrays."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        eager = frame.collect()
        backend = eager.implementation
        return eager.to_arrow(), lambda table: nw.from_arrow(table, backend=backend).lazy().to_native()
    return frame.to_arrow(), lambda table: nw.from_arrow(table, backend=frame.implementation).to_native()


def _as_arrow(table: pa.Table) -> pa.Table:
    return table
