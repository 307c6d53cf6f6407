"""PostgreSQL through ADBC: one transaction holds a snapshot and a lock that keeps the columns as they are.

Each pass is a connection of its own on that snapshot, as ``pg_dump`` does it: several may be under way, and one that is
given up halfway is closed and forgotten. Values come in binary, by ``COPY``; what Arrow has no exact type for comes as
the text that the database has for it, and decimals as decimals.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import DIGITS
from rothko.data.source.database.failures import driver_errors, told
from rothko.data.source.database.url import Address, named, sql_text
from rothko.errors import InputError, MissingExtraError, nearest

AS_THEY_ARE = (
    "bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "name", "bytea", "date", "timestamp",
    "timestamptz", "time",
)  # fmt: skip
"""Types whose values Arrow has as they are."""
READ_AS = {"oid": "bigint"}
"""Those that the driver takes for shorter ones; all others are text."""
LOOSE = ("numeric", "money")
"""Decimals whose type does not say how many digits they have."""
SETTINGS = (
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
)
"""Of every pass, so that all see the records in one order."""
SESSION = (
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL extra_float_digits = 1",
)
"""Of every connection: texts as Arrow takes them, and in one form, whatever PGCLIENTENCODING and its like ask for."""
AT_ONCE = "adbc.postgresql.batch_size_hint_bytes"


class PostgreSQL:
    """A table or a query of a PostgreSQL database, as it was when it was opened."""

    def __init__(self, address: Address) -> None:
        self._address = address
        with told(address):
            self._held = connect(address.client)
            self._close = weakref.finalize(self, self._held.close)
            with closing(self._held.cursor()) as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                for one in SETTINGS:
                    cursor.execute(one)
                self._refuse_missing(cursor)
                schema = cursor.adbc_execute_schema(f"SELECT * FROM {address.sql}")
                self.names = tuple(schema.names)
                self._kinds, self._refused = _kinds(cursor, schema)
                self.rows = self._count(cursor)
                self.unread = tuple(self._refused)
                self.bytes = self._size(cursor)
                [(self._snapshot,)] = _rows(cursor, "SELECT pg_export_snapshot()")

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The records, about as many at a time as are asked for."""
        for name in columns:
            if name in self._refused:
                raise InputError(
                    f"Column {name!r} of {self._address.label} is {self._refused[name]}, which is not read; drop it, "
                    "or read what you need of it as text or a number by ?query=SELECT …."
                )
        asked = ", ".join(f"{_asked(name, self._kinds[name])} AS {named((name,))}" for name in columns) or "1"
        with told(self._address), closing(connect(self._address.client)) as pass_, closing(pass_.cursor()) as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                cursor.execute(f"SET TRANSACTION SNAPSHOT '{self._snapshot}'")
            except driver_errors():  # it is gone with the connection that held it
                raise ConnectionError from None
            for one in SETTINGS:
                cursor.execute(one)
            # Left to itself, the driver brings 16 MB before it gives the first record.
            about = rows * max(self.bytes // max(self.rows, 1), 1)
            cursor.adbc_statement.set_options(**{AT_ONCE: str(min(max(about, 1 << 16), 1 << 24))})
            cursor.execute(f"SELECT {asked} FROM {self._address.sql}")
            for batch in cursor.fetch_record_batch():
                yield pa.RecordBatch.from_arrays([self._plain(name, batch[name]) for name in columns], list(columns))

    def _plain(self, name: str, values: pa.Array) -> pa.Array:
        """Values as Arrow has them: decimals without rounding."""
        if isinstance(values.type, pa.BaseExtensionType):
            values = values.storage
        kind = self._kinds[name]
        if isinstance(kind, pa.DataType):
            try:
                return pc.cast(values, kind)
            except pa.ArrowInvalid:
                raise InputError(
                    f"Column {name!r} of {self._address.label} has NaN or an infinite number among its decimals; read "
                    "them as nothing, or as floating-point numbers, by ?query=SELECT …."
                ) from None
        return values

    def _refuse_missing(self, cursor: Any) -> None:
        """Tell a table that is not there by the names of those that are."""
        table = self._address.table
        if table is None:
            return
        [(there,)] = _rows(cursor, f"SELECT to_regclass({sql_text(named(table))})::text")
        if there is None:
            known = _rows(
                cursor,
                "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN relname ELSE nspname || '.' || relname END::text "
                "FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'v', 'm', 'p', "
                "'f') AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1",
            )
            name = ".".join(table)
            raise InputError(
                f"PostgreSQL has no table {name!r} that you may see; {nearest(name, [n for (n,) in known])}"
            )

    def _count(self, cursor: Any) -> int:
        """How many records there are; settles how many digits decimals have whose type does not say it."""
        loose = [name for name, kind in self._kinds.items() if kind in LOOSE and name not in self._refused]
        digits = [
            f"coalesce(max(scale({c})), 0), coalesce(max(length(trunc(abs({c}))::text)) FILTER (WHERE {c} NOT IN "
            "('NaN', 'Infinity', '-Infinity')), 1)"
            for c in (f"{named((name,))}::numeric" for name in loose)
        ]
        [(rows, *found)] = _rows(cursor, f"SELECT {', '.join(['count(*)', *digits])} FROM {self._address.sql}")
        for name, scale, whole in zip(loose, found[::2], found[1::2], strict=True):
            if scale + whole > DIGITS:
                self._refused[name] = f"a number of {scale + whole} digits"
            else:
                self._kinds[name] = pa.decimal128(DIGITS, scale)
        return int(rows)

    def _size(self, cursor: Any) -> int:
        """The size of a table; of a query a guess."""
        if self._address.table is None:
            return self.rows * len(self.names) * 16
        return int(_rows(cursor, f"SELECT pg_table_size({sql_text(self._address.sql)}::regclass)")[0][0])


def connect(client: str) -> Any:
    """A connection with a transaction, and texts in one form."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError('A table in PostgreSQL needs ADBC: pip install "rothko[db]".') from None
    connection = dbapi.connect(client)
    try:
        with closing(connection.cursor()) as cursor:
            for one in SESSION:
                cursor.execute(one)
    except BaseException:
        connection.close()
        raise
    return connection


def _kinds(cursor: Any, schema: pa.Schema) -> tuple[dict[str, str | pa.DataType], dict[str, str]]:
    """Column → its type; a decimal that says how many digits it has as that; and what is not read, and what it is."""
    kinds: dict[str, str | pa.DataType] = {}
    others: dict[str, int] = {}
    refused: dict[str, str] = {}
    for one in schema:
        about = one.metadata or {}
        kind = about.get(b"POSTGRESQL:type", b"").decode()
        kinds[one.name] = kind
        modifier = int(about.get(b"POSTGRESQL:typmod", b"-1"))
        if kind == "numeric" and modifier >= 4:
            precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
            if precision <= DIGITS and scale <= precision:
                kinds[one.name] = pa.decimal128(precision, scale)
        elif kind.startswith("_"):
            refused[one.name] = "an array"
        elif found := re.fullmatch(r"unnamed<oid:(\d+)>", kind):
            others[one.name] = int(found[1])
    if others:
        numbers = ", ".join(map(str, others.values()))
        asked = f"SELECT oid::bigint, typtype::text || typcategory::text FROM pg_type WHERE oid IN ({numbers})"
        known = dict(_rows(cursor, asked))
        words = {"r": "a range", "m": "a set of ranges", "c": "a row of its own", "A": "an array"}
        for name, number in others.items():
            found_kind, category = known.get(number, "bU")
            word = words.get("A" if category == "A" else found_kind)
            if word is not None:
                refused[name] = word
    return kinds, refused


def _asked(name: str, kind: str | pa.DataType) -> str:
    """A column as it is asked for."""
    column = named((name,))
    if isinstance(kind, pa.DataType):
        return f"{column}::numeric"
    return column if kind in AS_THEY_ARE else f"{column}::{READ_AS.get(kind, 'text')}"


def _rows(cursor: Any, query: str) -> list[tuple[Any, ...]]:
    cursor.execute(query)
    found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
