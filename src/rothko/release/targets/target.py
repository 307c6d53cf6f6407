"""A table that a release is written to, in one transaction: staged under another name, counted, renamed, committed.

A target is told the rows as a Parquet file, and gives back what it holds, by a ``GROUP BY`` in the database: every
different row once, and how often it is there, or every class once, with lists of what its records show each for itself.
Nobody else sees any of it before the transaction ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.source.database.url import Address
from rothko.errors import OutputError
from rothko.mistakes import said
from rothko.release.formats.by_database import TIMES

AT_ONCE = 1 << 16
"""Rows that go to a database at a time."""
TIMES_ASKED = "count(*)"


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


def restored(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """What came back in the types of a schema, and how often each row is there."""
    columns = [
        pc.cast(values.storage if isinstance(values.type, pa.BaseExtensionType) else values, one.type)
        for one, values in zip(schema, batch.columns, strict=False)
    ]
    times = pc.cast(batch.columns[-1], pa.int64())
    return pa.RecordBatch.from_arrays([*columns, times], schema=schema.append(pa.field(TIMES, pa.int64())))


def refuse_taken(address: Address, there: bool, overwrite: bool) -> None:
    """Refuse a table that is there, unless it may go."""
    if there and not overwrite:
        raise OutputError(f"{capital(address.label)} exists; use {said('--overwrite', True)} to replace it.")


def no_type(address: Address, column: pa.Field) -> OutputError:
    """What is said of a column whose values a database would not hold as they are."""
    return OutputError(
        f"Column {column.name!r} holds {column.type}, which is not written to {address.kind}; turn it into text "
        "or numbers, or drop it."
    )


def refuse_view(address: Address, is_view: bool) -> None:
    """Refuse what has the name and is no table: it is never replaced."""
    if is_view:
        raise OutputError(f"{capital(address.label)} cannot be replaced: there is a view of that name, and no table.")


def refuse_other_database(address: Address, before: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a table of another database than the one that the address is of: it would be made in this one.

    Parameters
    ----------
    before
        What stands before the parts of the name that are taken.
    known
        What this database is called there.
    """
    if before and tuple(before) != tuple(known):
        raise OutputError(
            f"{capital(address.label)} cannot be written: {'.'.join(before)!r} is not the database that the address is "
            "of; name the table without it."
        )


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
