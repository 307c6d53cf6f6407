"""SQLite through ADBC: one connection that only reads, with one transaction for as long as it is open.

Any cell of SQLite may have any type, whatever its column is called. So the database is asked first which there are: a
column of whole numbers is one, with fractions among them it is one of floating-point numbers, and one that mixes texts
with numbers is refused. The driver settles its types by the first rows; a row of known types goes before them.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from rothko.data.source.database.failures import told
from rothko.data.source.database.url import Address, file_address, named
from rothko.errors import InputError, MissingExtraError, nearest

EXACT = 1 << 53
"""Whole numbers up to this are the same as floating-point numbers."""
FIRST = {"integer": "0", "real": "0.0", "text": "''", "blob": "x''"}
"""A value of each type."""
BATCH = "adbc.sqlite.query.batch_rows"


class SQLite:
    """A table or a query of a SQLite file, as it was when it was opened."""

    unread: tuple[str, ...] = ()

    def __init__(self, address: Address) -> None:
        self._address = address
        refuse_no_file(address)
        with told(address):
            self._held = connect(file_address(address.client))
            self._close = weakref.finalize(self, self._held.close)
            with closing(self._held.cursor()) as cursor:
                self._refuse_missing(cursor)
                cursor.execute(f"SELECT * FROM {address.sql} LIMIT 0")
                self.names = tuple(cursor.fetch_record_batch().schema.names)
                self.rows = self._look(cursor)
        self.bytes = Path(address.client).stat().st_size

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The records, so many at a time."""
        for name in columns:
            if name in self._refused:
                raise InputError(
                    f"Column {name!r} of {self._address.label} {self._refused[name]}; read it as one of them by "
                    "?query=SELECT CAST(… AS TEXT) …, or drop it."
                )
        first = ", ".join(FIRST[self._kinds[name]] for name in columns) or "0"
        asked = ", ".join(map(_name, columns)) or "1"
        with told(self._address), closing(self._held.cursor()) as cursor:
            cursor.adbc_statement.set_options(**{BATCH: str(rows + 1)})
            cursor.execute(f"SELECT {first} UNION ALL SELECT {asked} FROM {self._address.sql}")
            skipped = 1
            for batch in cursor.fetch_record_batch():
                batch, skipped = batch.slice(skipped), 0
                yield pa.RecordBatch.from_arrays(batch.columns[: len(columns)], list(columns))

    def _look(self, cursor: Any) -> int:
        """How many records there are, and which types each column has."""
        kinds = list(FIRST)
        asked = [f"sum(typeof({column}) = '{kind}')" for column in map(_name, self.names) for kind in kinds] + [
            f"max(CASE WHEN typeof({c}) = 'integer' THEN abs({c} / 2) END)" for c in map(_name, self.names)
        ]
        # Not more at once than SQLite takes.
        found: list[Any] = []
        for start in range(0, len(asked), 1000):
            cursor.execute(f"SELECT {', '.join(asked[start : start + 1000])} FROM {self._address.sql}")
            found += cursor.fetchall()[0]
        cursor.execute(f"SELECT count(*) FROM {self._address.sql}")
        [(rows,)] = cursor.fetchall()
        self._kinds: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        largest = found[len(self.names) * len(kinds) :]
        for i, name in enumerate(self.names):
            counts = found[i * len(kinds) : (i + 1) * len(kinds)]
            there = [kind for kind, count in zip(kinds, counts, strict=True) if count]
            self._kinds[name] = there[0] if len(there) == 1 else "text"
            if there == ["integer", "real"]:
                self._kinds[name] = "real"
                if 2 * (largest[i] or 0) >= EXACT:
                    self._refused[name] = "mixes fractions with whole numbers too large to be one"
            elif len(there) > 1:
                self._refused[name] = f"mixes {' and '.join(there)} values"
        return int(rows)

    def _refuse_missing(self, cursor: Any) -> None:
        """Tell a table that is not there by the names of those that are."""
        table = self._address.table
        if table is None:
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")
        known = [name for (name,) in cursor.fetchall()]
        if table[-1].lower() not in [name.lower() for name in known]:
            raise InputError(f"{self._address.place} has no table {table[-1]!r}; {nearest(table[-1], known)}")


def connect(client: str, *, autocommit: bool = False) -> Any:
    """A connection with a transaction, unless each statement is to be one."""
    try:
        from adbc_driver_sqlite import dbapi
    except ImportError:
        raise MissingExtraError('A table in SQLite needs ADBC: pip install "rothko[db]".') from None
    return dbapi.connect(client, autocommit=autocommit)


def refuse_no_file(address: Address) -> None:
    """Tell a file that is not there: a database would make one."""
    path = Path(address.client)
    if not os.path.exists(path):
        raise InputError(f"There is no file {str(path)!r}; an absolute path has four slashes before it.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file in it.")
    if not os.access(path, os.R_OK):  # drivers say anything of it
        raise InputError(f"{path.name} cannot be read: permission is denied.")


def _name(name: str) -> str:
    """A column, which SQLite would take for a text where there is none of that name."""
    return named((name,))
