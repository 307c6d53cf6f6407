"""A new table of PostgreSQL: rows go there by ``COPY``, and come back grouped, by rows or by classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rothko.data.source.database import postgresql
from rothko.data.source.database.url import named, sql_text
from rothko.errors import OutputError
from rothko.release.targets.by_adbc import WHOLE, ByAdbc
from rothko.release.targets.target import (
    AT_ONCE,
    TIMES_ASKED,
    capital,
    refuse_other_database,
    refuse_taken,
    refuse_view,
    restored,
)

GROUPING = ("work_mem = '512MB'", "parallel_setup_cost = 0", "parallel_tuple_cost = 0")
"""What PostgreSQL groups by: as many workers as it may use at all, and room for guesses at lists, a tenth of which is
taken."""
LISTED = 1 << 22
"""Rows of which a database may be asked for lists, which it keeps in memory until the last row."""
IN_LISTS = {
    pa.bool_(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.date32(),
    pa.timestamp("us"),
}  # fmt: skip
"""Types whose values come back in lists as they do by themselves."""
LONGEST = 63
"""Bytes of a name: PostgreSQL cuts a longer one off, and makes a table of another name."""
TABLES = ("r", "p")
"""What PostgreSQL calls tables among all that has a name."""
_WORDS = {pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint"}


class PostgresTable(ByAdbc):
    """A table of PostgreSQL."""

    __slots__ = ("_lists", "_schema")

    by_codes: ClassVar[bool] = True
    types: ClassVar[dict[pa.DataType, tuple[pa.DataType, str]]] = {
        pa.bool_(): (pa.bool_(), "boolean"),
        **{kind: (sent, _WORDS[sent]) for kind, sent in WHOLE.items()},
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
        self._refuse_long(column.name)
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
        assert self.address.table is not None
        for part in self.address.table:
            self._refuse_long(part)
        self._begin()
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute("SELECT current_database()::text")
                refuse_other_database(self.address, self.address.table[:-2], cursor.fetchall()[0])
                cursor.execute(
                    "SELECT relkind::text, pg_has_role(relowner, 'USAGE') FROM pg_class "
                    f"WHERE oid = to_regclass({sql_text(self.target)})"
                )
                there = cursor.fetchall()
                refuse_taken(self.address, bool(there), self.overwrite)
                self._refuse_kept(there)
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

    def _refuse_kept(self, there: list[tuple[str, bool]]) -> None:
        """Refuse what cannot be replaced before any work is done: a view, somebody else's table, one that is read."""
        for kind, own in there:
            refuse_view(self.address, kind not in TABLES)
            if not own:
                raise OutputError(f"{capital(self.address.label)} cannot be replaced: it is somebody else's.")
            self.execute("SET LOCAL lock_timeout = '3s'")
            self.execute(f"LOCK TABLE {self.target} IN ACCESS EXCLUSIVE MODE")
            self.execute(f"DROP TABLE {self.target}")  # undone at once: refused where something is made from it

    def _refuse_long(self, name: str) -> None:
        """Refuse a name that would be cut off."""
        if len(name.encode()) > LONGEST:
            raise OutputError(f"The name {name!r} has more than {LONGEST} bytes, the most that PostgreSQL takes.")

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
