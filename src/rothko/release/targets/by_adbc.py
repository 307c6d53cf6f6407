"""A table that Arrow goes to by ADBC, batch by batch, in types that hold every value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rothko.data.source.database.url import Address, named
from rothko.errors import OutputError
from rothko.release.targets.target import AT_ONCE, no_type, staged_name

WHOLE = {
    pa.int8(): pa.int16(), pa.uint8(): pa.int16(), pa.int16(): pa.int16(), pa.uint16(): pa.int32(),
    pa.int32(): pa.int32(), pa.uint32(): pa.int64(), pa.int64(): pa.int64(),
}  # fmt: skip
"""Whole numbers → the type with a sign that holds them."""


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
            raise no_type(self.address, column)
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
