"""A table of a database as a source: whole, or in pieces of one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from rothko.data.source.database.duck import DuckDB
from rothko.data.source.database.failures import told
from rothko.data.source.database.postgresql import PostgreSQL
from rothko.data.source.database.snapshot import Session
from rothko.data.source.database.sqlite import SQLite
from rothko.data.source.database.url import Address, read_address
from rothko.data.source.source import Source
from rothko.errors import InputError

SESSIONS: dict[str, Callable[[Address], Session]] = {"PostgreSQL": PostgreSQL, "SQLite": SQLite, "DuckDB": DuckDB}


def open_database(data: str | Path) -> Source:
    """Open a table by its address."""
    address = read_address(data)
    session = SESSIONS[address.kind](address)

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        with told(address):
            for batch in session.batches(columns, rows):
                yield _sound(batch, address)

    def read(columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        found = list(pieces(columns, as_text, WHOLE, 1))
        # One chunk per column, as a whole: the ranks are taken over all values anyway.
        return pa.Table.from_batches(found).combine_chunks() if found else pa.table({name: [] for name in columns})

    return Source(
        address.label, session.names, None, read, _pieces=pieces, rows=session.rows, bytes=session.bytes, held=session,
        unread=session.unread,
    )  # fmt: skip


def _sound(batch: pa.RecordBatch, address: Address) -> pa.RecordBatch:
    """Records, checked to the last value: SQLite keeps whatever bytes it was given as a text."""
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid:
            raise InputError(
                f"Column {name!r} of {address.label} has values that its type does not allow, such as text that is not "
                "UTF-8 or a time of 24:00; read it as something else by ?query=SELECT …, or drop it."
            ) from None
    return batch


WHOLE = 1 << 16
"""Records that come at a time where all are read."""
