"""A new table of a DuckDB file, which reads the rows from their Parquet file by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rothko.data.source.database.duck import CONFIG
from rothko.data.source.database.url import Address, named
from rothko.release.sql import parquet_rows
from rothko.release.targets.target import (
    AT_ONCE,
    TIMES_ASKED,
    no_type,
    refuse_no_folder,
    refuse_other_database,
    refuse_taken,
    refuse_view,
    remove,
    restored,
    staged_name,
)


def is_held(kind: pa.DataType) -> bool:
    """Whether a table of DuckDB holds values of a type as they are, each of them one value.

    >>> is_held(pa.decimal128(38, 2)), is_held(pa.decimal256(60, 2)), is_held(pa.list_(pa.int64()))
    (True, False, False)
    """
    types = pa.types
    return not (types.is_null(kind) or types.is_nested(kind) or types.is_decimal256(kind))


@dataclass(slots=True)
class DuckTable:
    """A table of a DuckDB file, which is made where it is not there."""

    address: Address
    overwrite: bool
    staged: str = field(default_factory=staged_name)
    _connection: duckdb.DuckDBPyConnection | None = None
    _made: bool = False

    def check(self) -> None:
        """Refuse a name that is taken."""
        path = Path(self.address.client)
        assert self.address.table is not None
        refuse_other_database(self.address, self.address.table[:-2], (path.stem,))
        refuse_no_folder(path)
        if not path.exists():
            return
        with duckdb.connect(path, config=CONFIG) as connection:  # to be written: refused where this run reads from it
            asked = "SELECT table_type FROM information_schema.tables WHERE table_schema = ? AND lower(table_name) = ?"
            there = connection.execute(asked, [self._schema, self._name.lower()]).fetchall()
            refuse_taken(self.address, bool(there), self.overwrite)
            refuse_view(self.address, there == [("VIEW",)])

    @property
    def _name(self) -> str:
        assert self.address.table is not None
        return self.address.table[-1]

    @property
    def _schema(self) -> str:
        assert self.address.table is not None
        return self.address.table[-2] if len(self.address.table) > 1 else "main"

    def _execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None
        return self._connection.execute(statement)

    def load(self, rows: Path) -> None:
        """Stage rows; refuses what is grouped and hashed by no value that they show."""
        for column in pq.read_schema(rows):
            if not is_held(column.type):
                raise no_type(self.address, column)
        self._made = not Path(self.address.client).exists()
        self._connection = duckdb.connect(self.address.client, config=CONFIG)
        self._execute("SET enable_progress_bar = false")
        self._execute("BEGIN TRANSACTION")
        self._execute(f"CREATE TABLE {self._staged_sql} AS SELECT * FROM {parquet_rows(rows)}")

    @property
    def _staged_sql(self) -> str:
        return named((self._schema, self.staged))

    def counted(self, schema: pa.Schema, shared: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The different rows."""
        columns = ", ".join(named((name,)) for name in schema.names)
        assert self._connection is not None
        found = self._connection.sql(f"SELECT {columns}, {TIMES_ASKED} FROM {self._staged_sql} GROUP BY {columns}")
        for batch in found.to_arrow_reader(AT_ONCE):
            yield restored(batch, schema)

    def rename(self) -> None:
        """Give the staged table its name."""
        if self.overwrite:
            self._execute(f"DROP TABLE IF EXISTS {named((self._schema, self._name))}")
        self._execute(f"ALTER TABLE {self._staged_sql} RENAME TO {named((self._name,))}")

    def commit(self) -> None:
        """End the transaction."""
        self._execute("COMMIT")
        self._made = False

    def close(self) -> None:
        """Undo what was not committed; a file that was made for it goes, too."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if self._made:  # also where it could be made, and not opened
            self._made = False
            remove(self.address)
