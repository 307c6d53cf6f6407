"""A new table of a SQLite file: one that takes any value in any column, so all types are made sure of before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.source.database import sqlite
from rothko.data.source.database.url import file_address, named, sql_text
from rothko.errors import OutputError
from rothko.release.targets.by_adbc import WHOLE, ByAdbc
from rothko.release.targets.target import (
    TIMES_ASKED,
    refuse_no_folder,
    refuse_other_database,
    refuse_taken,
    refuse_view,
    remove,
    restored,
)


class SqliteTable(ByAdbc):
    """A table of a SQLite file, which is made where it is not there."""

    __slots__ = ("_made",)

    types: ClassVar[dict[pa.DataType, tuple[pa.DataType, str]]] = {
        pa.bool_(): (pa.int64(), "INTEGER"),
        **{kind: (pa.int64(), "INTEGER") for kind in WHOLE},
        pa.float32(): (pa.float64(), "REAL"),
        pa.float64(): (pa.float64(), "REAL"),
        pa.string(): (pa.string(), "TEXT"),
        pa.large_string(): (pa.string(), "TEXT"),
        pa.binary(): (pa.binary(), "BLOB"),
        pa.date32(): (pa.string(), "TEXT"),
        **{pa.timestamp(unit): (pa.string(), "TEXT") for unit in ("ms", "us", "ns")},
    }
    """It has no types for dates, which are texts there, as its own functions take them."""

    def kind_of(self, column: pa.Field) -> tuple[pa.DataType, str]:
        """Decimals are texts, which are not rounded."""
        if pa.types.is_decimal128(column.type):
            return pa.string(), "TEXT"
        return super().kind_of(column)

    def _sent(self, name: str, values: pa.Array, kind: pa.DataType) -> pa.Array:
        """Values as they are sent; it takes what is not a number for nothing."""
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values), min_count=0).as_py():
            raise OutputError(
                f"Column {name!r} holds NaN, which SQLite has no value for; make it missing, turn it into text, or "
                "drop it."
            )
        return ByAdbc._sent(self, name, values, kind)

    def check(self) -> None:
        """Refuse a name that is taken."""
        path = Path(self.address.client)
        assert self.address.table is not None
        refuse_other_database(self.address, self.address.table[:-1], ("main",))
        refuse_no_folder(path)
        if not path.exists():
            return
        writable = sqlite.connect(file_address(self.address.client, mode="rw"), autocommit=True)
        with closing(writable) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("BEGIN EXCLUSIVE")  # refused where somebody reads from it, this run as well
            cursor.execute("ROLLBACK")
            cursor.execute(f"SELECT type FROM sqlite_master WHERE name = {sql_text(self.name)} COLLATE NOCASE")
            there = cursor.fetchall()
            refuse_taken(self.address, bool(there), self.overwrite)
            refuse_view(self.address, bool(there) and there[0][0] != "table")

    def load(self, rows: Path) -> None:
        """Stage rows."""
        self._made = not Path(self.address.client).exists()
        self._connection = sqlite.connect(file_address(self.address.client, mode="rwc"))
        self.ingest(rows)

    def counted(self, schema: pa.Schema, shared: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The different rows, after one of known types, by which the driver settles its own."""
        columns = ", ".join(named((name,)) for name in schema.names)
        zeros = {"INTEGER": "0", "REAL": "0.0", "TEXT": "''", "BLOB": "x''"}
        first = ", ".join(zeros[self._kinds[name][1]] for name in schema.names)
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(
                f"SELECT {first}, 0 UNION ALL SELECT {columns}, {TIMES_ASKED} FROM {self.staged_sql} GROUP BY {columns}"
            )
            skipped = 1
            for batch in cursor.fetch_record_batch():
                yield restored(batch.slice(skipped), schema)
                skipped = 0

    def rename(self) -> None:
        """Give the staged table its name."""
        if self.overwrite:
            self.execute(f"DROP TABLE IF EXISTS {named((self.name,))}")
        self.execute(f"ALTER TABLE {self.staged_sql} RENAME TO {named((self.name,))}")

    def commit(self) -> None:
        """End the transaction."""
        ByAdbc.commit(self)
        self._made = False

    def close(self) -> None:
        """Undo what was not committed; a file that was made for it goes, too."""
        opened = self._connection is not None
        ByAdbc.close(self)
        if opened and self._made:
            remove(self.address)
