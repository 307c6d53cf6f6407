"""DuckDB: a file that is opened to be read only, which nobody can write to meanwhile.

What Arrow has no exact type for is read as text, and whole numbers of 128 bits as decimals.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rothko.data.exact import DIGITS
from rothko.data.source.database.failures import told
from rothko.data.source.database.sqlite import refuse_no_file
from rothko.data.source.database.url import Address, named
from rothko.errors import InputError, nearest

CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "threads": 1,  # rows in one order
}
AS_TEXT = ("UUID", "ENUM", "JSON", "INTERVAL", "TIME WITH TIME ZONE", "BIT", "BIGNUM", "UHUGEINT")


class DuckDB:
    """A table or a query of a DuckDB file."""

    unread: tuple[str, ...] = ()

    def __init__(self, address: Address) -> None:
        self._address = address
        refuse_no_file(address)
        with told(address):
            self._held = duckdb.connect(address.client, read_only=True, config=CONFIG)
            self._close = weakref.finalize(self, self._held.close)
            # Else that of this machine, and the release would hang on it.
            self._held.execute("SET GLOBAL TimeZone = 'UTC'")
            self._refuse_missing()
            found = self._held.sql(f"SELECT * FROM {address.sql} LIMIT 0")
            self.names: tuple[str, ...] = tuple(found.columns)
            self._kinds = dict(zip(self.names, map(str, found.types), strict=True))
            wide = [name for name, kind in self._kinds.items() if kind == "HUGEINT"]
            bad = [f"count(*) FILTER (abs({named((name,))}) >= 10::HUGEINT ** {DIGITS})" for name in wide]
            [self.rows, *found_bad] = self._held.execute(
                f"SELECT {', '.join(['count(*)', *bad])} FROM {address.sql}"
            ).fetchall()[0]
            self._refused = {name for name, count in zip(wide, found_bad, strict=True) if count}
        self.bytes = Path(address.client).stat().st_size

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The records, so many at a time."""
        for name in columns:
            if name in self._refused:
                raise InputError(
                    f"Column {name!r} of {self._address.label} has numbers of more than {DIGITS} digits; read it as "
                    "text by ?query=SELECT …, or drop it."
                )
        asked = ", ".join(f"{self._asked(name)} AS {named((name,))}" for name in columns) or "1"
        with told(self._address), closing(self._held.cursor()) as cursor:
            cursor.execute("SET enable_progress_bar = false")
            for batch in cursor.sql(f"SELECT {asked} FROM {self._address.sql}").to_arrow_reader(max(rows, 1)):
                yield pa.RecordBatch.from_arrays(batch.columns[: len(columns)], list(columns))

    def _asked(self, name: str) -> str:
        """A column as it is asked for."""
        kind, column = self._kinds[name], named((name,))
        if kind == "HUGEINT":
            return f"{column}::DECIMAL({DIGITS}, 0)"
        return f"{column}::VARCHAR" if kind.startswith(AS_TEXT) else column

    def _refuse_missing(self) -> None:
        """Tell a table that is not there by the names of those that are."""
        table = self._address.table
        if table is None:
            return
        known = self._held.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN "
            "('information_schema', 'pg_catalog') ORDER BY ALL"
        ).fetchall()
        names = [name if schema == "main" else f"{schema}.{name}" for schema, name in known]
        asked = ".".join(table[-2:] if table[-2:-1] != ("main",) else table[-1:])
        if asked.lower() not in [name.lower() for name in names]:
            raise InputError(f"{self._address.place} has no table {asked!r}; {nearest(asked, names)}")
