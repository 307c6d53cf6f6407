"""Tables that a release is written to, in one transaction: staged under another name, counted, renamed, committed.

A target is told the rows as a Parquet file, and gives back what it holds, by a ``GROUP BY`` in the database: every
different row once, and how often it is there, or every class once, with lists of what its records show each for itself.
Nobody else sees any of it before the transaction ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rothko.data.source.database import postgresql, sqlite
from rothko.data.source.database.duck import CONFIG
from rothko.data.source.database.url import Address, file_address, named, sql_text
from rothko.errors import OutputError
from rothko.mistakes import said
from rothko.release.formats.by_database import TIMES
from rothko.release.sql import parquet_rows

AT_ONCE = 1 << 16
"""Rows that go to a database at a time."""
TIMES_ASKED = "count(*)"
GROUPING = ("work_mem = '512MB'", "parallel_setup_cost = 0", "parallel_tuple_cost = 0")
"""What PostgreSQL groups by: as many workers as it may use at all, and room for guesses at lists, a tenth of which is
taken."""
LISTED = 1 << 22
"""Rows of which a database may be asked for lists, which it keeps in memory until the last row."""


class Target(Protocol):
    """A table of a database that is not there yet."""

    def check(self) -> None:
        """Refuse a name that is taken, and a place where no table can be made."""
        ...

    def load(self, rows: Path) -> None:
        """Begin the transaction, and stage rows."""
        ...

    def counted(self, schema: pa.Schema, shared: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """What is staged, grouped there, in the types of a schema: the different rows, and how often each is there.

        A database that has lists may give all rows instead, grouped by the columns that the records of a class share.
        """
        ...

    def rename(self) -> None:
        """Give the staged table its name, in the place of an older one where that may go."""
        ...

    def commit(self) -> None:
        """End the transaction: the table is there."""
        ...

    def close(self) -> None:
        """Undo what was not committed."""
        ...


def staged_name() -> str:
    """A name that nobody else uses."""
    return f"rothko_staged_{secrets.token_hex(8)}"


@dataclass(slots=True)
class ByAdbc:
    """A table that Arrow goes to by ADBC."""

    address: Address
    overwrite: bool
    staged: str = field(default_factory=staged_name)
    _connection: Any = None
    _kinds: dict[str, tuple[pa.DataType, str]] = field(default_factory=dict)
    """Column → the type of Arrow that goes to the database, and its type there."""

    types: ClassVar[dict[pa.DataType, tuple[pa.DataType, str]]]
    by_codes: ClassVar[bool] = False
    """Whether the driver takes texts by their codes."""

    @property
    def name(self) -> str:
        """The table without its schema."""
        assert self.address.table is not None
        return self.address.table[-1]

    def kind_of(self, column: pa.Field) -> tuple[pa.DataType, str]:
        """The type that a column has in the database; an error where there is none that holds its values."""
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if (found := self.types.get(kind)) is None:
            raise OutputError(
                f"Column {column.name!r} holds {column.type}, which {self.address.kind} has no type for; turn it into "
                "text or numbers, or drop it."
            )
        return found

    def execute(self, statement: str) -> None:
        """Do something that gives nothing."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)

    def ingest(self, rows: Path, **where: str) -> None:
        """Send the rows of a file, some at a time."""
        texts = [one.name for one in pq.read_schema(rows) if pa.types.is_string(one.type)] if self.by_codes else []
        with pq.ParquetFile(rows, read_dictionary=texts) as file:
            self._kinds = {one.name: self.kind_of(one) for one in file.schema_arrow}
            columns = ", ".join(f"{named((name,))} {kind}" for name, (_, kind) in self._kinds.items())
            self.execute(f"CREATE TABLE {self.staged_sql} ({columns})")
            coded = dict.fromkeys(texts, pa.dictionary(pa.int32(), pa.string()))
            sent = pa.schema([(name, coded.get(name, kind)) for name, (kind, _) in self._kinds.items()])

            wrong: list[OutputError] = []

            def batches() -> Iterator[pa.RecordBatch]:
                try:
                    for batch in file.iter_batches(AT_ONCE):
                        columns = zip(sent, batch.columns, strict=True)
                        yield pa.RecordBatch.from_arrays(
                            [self._sent(one.name, values, one.type) for one, values in columns], schema=sent
                        )
                except OutputError as error:
                    wrong.append(error)  # the driver would make another error of it
                    raise

            with closing(self._connection.cursor()) as cursor:
                reader = pa.RecordBatchReader.from_batches(sent, batches())
                try:
                    cursor.adbc_ingest(self.staged, reader, mode="append", **where)
                except Exception:
                    if wrong:
                        raise wrong[0] from None
                    raise

    def _sent(self, name: str, values: pa.Array, kind: pa.DataType) -> pa.Array:
        """Values in the type in which they are sent, none of them changed."""
        try:
            return values if values.type == kind else pc.cast(values, kind)
        except pa.ArrowInvalid:
            raise OutputError(
                f"Column {name!r} holds values that {self.address.kind} would round or cut; turn it into text, or drop "
                "it."
            ) from None

    @property
    def staged_sql(self) -> str:
        """The staged table as SQL writes it."""
        return named((self.staged,))

    def commit(self) -> None:
        """End the transaction."""
        self._connection.commit()

    def close(self) -> None:
        """Undo what was not committed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.rollback()
            with suppress(Exception):
                connection.close()


def restored(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """What came back in the types of a schema, and how often each row is there."""
    columns = [
        pc.cast(values.storage if isinstance(values.type, pa.BaseExtensionType) else values, one.type)
        for one, values in zip(schema, batch.columns, strict=False)
    ]
    times = pc.cast(batch.columns[-1], pa.int64())
    return pa.RecordBatch.from_arrays([*columns, times], schema=schema.append(pa.field(TIMES, pa.int64())))


def _mostly_different(rows: Path) -> bool:
    """Whether more than half of the rows of a file are different, by the first of them, and they are not too many.

    Rows leave in the order of a hash of what they show: those that show the same stand together.
    """
    with pq.ParquetFile(rows) as file:
        first = next(file.iter_batches(AT_ONCE), None)
        if first is None or file.metadata.num_rows > LISTED:
            return False
    different = pa.Table.from_batches([first]).group_by(first.schema.names).aggregate([])
    return bool(2 * different.num_rows > first.num_rows)


def unlisted(batch: pa.RecordBatch, schema: pa.Schema, names: Sequence[str]) -> pa.RecordBatch:
    """The records of classes, which came with a list for each column that is not theirs together."""
    times = pc.list_value_length(batch.columns[-1]).to_numpy()
    of_class = pa.array(np.repeat(np.arange(len(times), dtype=np.int32), times))
    found = {}
    for name, values in zip(names, batch.columns, strict=True):
        kind = schema.field(name).type
        if pa.types.is_list(values.type):
            found[name] = pc.cast(values.flatten(), kind)
        else:  # a text once, however many records show it
            column = pc.cast(values, kind)
            found[name] = (column.dictionary_encode() if pa.types.is_string(kind) else column).take(of_class)
    return pa.RecordBatch.from_arrays([found[name] for name in schema.names], schema.names)


_WHOLE = {
    pa.int8(): pa.int16(), pa.uint8(): pa.int16(), pa.int16(): pa.int16(), pa.uint16(): pa.int32(),
    pa.int32(): pa.int32(), pa.uint32(): pa.int64(), pa.int64(): pa.int64(),
}  # fmt: skip
IN_LISTS = {
    pa.bool_(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.date32(),
    pa.timestamp("us"),
}  # fmt: skip
"""Types whose values come back in lists as they do by themselves."""
_WORDS = {pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint"}


class PostgresTable(ByAdbc):
    """A table of PostgreSQL."""

    __slots__ = ("_lists", "_schema")

    by_codes: ClassVar[bool] = True
    types: ClassVar[dict[pa.DataType, tuple[pa.DataType, str]]] = {
        pa.bool_(): (pa.bool_(), "boolean"),
        **{kind: (sent, _WORDS[sent]) for kind, sent in _WHOLE.items()},
        pa.float32(): (pa.float32(), "real"),
        pa.float64(): (pa.float64(), "double precision"),
        pa.string(): (pa.string(), "text"),
        pa.large_string(): (pa.string(), "text"),
        pa.binary(): (pa.binary(), "bytea"),
        pa.date32(): (pa.date32(), "date"),
        pa.time32("ms"): (pa.time64("us"), "time"),
        pa.time64("us"): (pa.time64("us"), "time"),
        **{pa.timestamp(unit): (pa.timestamp("us"), "timestamp") for unit in ("ms", "us", "ns")},
    }

    def kind_of(self, column: pa.Field) -> tuple[pa.DataType, str]:
        """Points in time of a zone, and decimals of so many digits, too."""
        kind = column.type
        if pa.types.is_decimal128(kind):
            return kind, f"numeric({kind.precision}, {kind.scale})"
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return pa.timestamp("us", "UTC"), "timestamptz"
        if kind == pa.uint64():
            return pa.decimal128(20, 0), "numeric(20, 0)"
        return super().kind_of(column)

    def check(self) -> None:
        """Refuse a name that is taken, and a schema where no table can be made."""
        self._begin()
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(f"SELECT to_regclass({sql_text(self.target)})::text")
                refuse_taken(self.address, cursor.fetchall()[0][0] is not None, self.overwrite)
                schema = sql_text(named((self._schema,)))
                cursor.execute(
                    f"SELECT CASE WHEN to_regnamespace({schema}) IS NOT NULL THEN "
                    f"has_schema_privilege(to_regnamespace({schema})::oid, 'CREATE') END"
                )
                [(may,)] = cursor.fetchall()
                if not may:
                    why = "there is no such schema" if may is None else "you may not make a table in its schema"
                    raise OutputError(f"{capital(self.address.label)} cannot be written: {why}.")
        finally:
            self.close()

    def _begin(self) -> None:
        self._connection = postgresql.connect(self.address.client)
        assert self.address.table is not None
        self.execute("SET LOCAL lock_timeout = '10s'")
        self.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        for one in GROUPING:
            self.execute(f"SET LOCAL {one}")
        with closing(self._connection.cursor()) as cursor:
            cursor.execute("SELECT current_schema()::text")
            [(schema,)] = cursor.fetchall()
        self._schema = self.address.table[-2] if len(self.address.table) > 1 else str(schema)

    @property
    def target(self) -> str:
        """The table as SQL writes it."""
        return named((self._schema, self.name))

    @property
    def staged_sql(self) -> str:
        """The staged table as SQL writes it."""
        return named((self._schema, self.staged))

    def load(self, rows: Path) -> None:
        """Stage rows."""
        self._begin()
        self.ingest(rows, db_schema_name=self._schema)
        self._lists = _mostly_different(rows)

    def counted(self, schema: pa.Schema, shared: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The different rows, or the classes, as the database groups them: texts by their bytes.

        Where most rows differ by a value of their own, classes are far fewer, and take half the time to group and to
        send.
        """
        own = [name for name in schema.names if name not in shared]
        listed = bool(shared and own) and self._lists and all(self._kinds[n][0] in IN_LISTS for n in own)
        by = ", ".join(named((name,)) for name in (shared if listed else schema.names))
        asked = ", ".join(f"array_agg({named((name,))})" for name in own) if listed else TIMES_ASKED
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(f"SELECT {by}, {asked} AS times FROM {self.staged_sql} GROUP BY {by}")
            for batch in cursor.fetch_record_batch():
                yield unlisted(batch, schema, [*shared, *own]) if listed else restored(batch, schema)

    def rename(self) -> None:
        """Give the staged table its name."""
        if self.overwrite:
            self.execute(f"DROP TABLE IF EXISTS {self.target}")
        self.execute(f"ALTER TABLE {self.staged_sql} RENAME TO {named((self.name,))}")


class SqliteTable(ByAdbc):
    """A table of a SQLite file, which is made where it is not there."""

    __slots__ = ("_made",)

    types: ClassVar[dict[pa.DataType, tuple[pa.DataType, str]]] = {
        pa.bool_(): (pa.int64(), "INTEGER"),
        **{kind: (pa.int64(), "INTEGER") for kind in _WHOLE},
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
        refuse_no_folder(path)
        if not path.exists():
            return
        with closing(sqlite.connect(file_address(self.address.client))) as there, closing(there.cursor()) as cursor:
            cursor.execute(f"SELECT count(*) FROM sqlite_master WHERE name = {sql_text(self.name)} COLLATE NOCASE")
            refuse_taken(self.address, bool(cursor.fetchall()[0][0]), self.overwrite)

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
        refuse_no_folder(path)
        if not path.exists():
            return
        with duckdb.connect(path, read_only=True, config=CONFIG) as connection:
            asked = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND lower(table_name) = ?"
            [(there,)] = connection.execute(asked, [self._schema, self._name.lower()]).fetchall()
            refuse_taken(self.address, bool(there), self.overwrite)

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
        """Stage rows."""
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
            if self._made:
                remove(self.address)


TARGETS: dict[str, type[PostgresTable] | type[SqliteTable] | type[DuckTable]] = {
    "PostgreSQL": PostgresTable, "SQLite": SqliteTable, "DuckDB": DuckTable,
}  # fmt: skip


def refuse_taken(address: Address, there: bool, overwrite: bool) -> None:
    """Refuse a table that is there, unless it may go."""
    if there and not overwrite:
        raise OutputError(f"{capital(address.label)} exists; use {said('--overwrite', True)} to replace it.")


def refuse_no_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there."""
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {str(path.parent)!r}.")


def remove(address: Address) -> None:
    """Remove the file of a database, and what lies beside it."""
    for ending in ("", "-journal", "-wal", "-shm", ".wal"):
        with suppress(OSError):
            Path(address.client + ending).unlink()


def capital(label: str) -> str:
    """A label at the beginning of a sentence."""
    return label[:1].upper() + label[1:]
