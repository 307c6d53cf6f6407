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
from rothko.data.source.source import Source, sound

SESSIONS: dict[str, Callable[[Address], Session]] = {"PostgreSQL": PostgreSQL, "SQLite": SQLite, "DuckDB": DuckDB}


def open_database(data: str | Path) -> Source:
    """Open a table by its address."""
    address = read_address(data)
    session = SESSIONS[address.kind](address)

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        with told(address):
            for batch in session.batches(columns, rows):
                yield sound(batch)

    def read(columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        found = list(pieces(columns, as_text, WHOLE, 1))
        # One chunk per column, as a whole: the ranks are taken over all values anyway.
        return pa.Table.from_batches(found).combine_chunks() if found else pa.table({name: [] for name in columns})

    return Source(
        address.label, session.names, None, read, _pieces=pieces, rows=session.rows, bytes=session.bytes, held=session,
        unread=session.unread,
    )  # fmt: skip


WHOLE = 1 << 16
"""Records that come at a time where all are read."""
