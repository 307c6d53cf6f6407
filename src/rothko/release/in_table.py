"""A release on its way to a table of a database: staged there, counted there, verified, and only then renamed.

Rows are written to a private file first, sent to the database under another name, and what the database says that it
holds comes back in their place: its classes, each with the values of its records, or every different row and how often
it is there. That is what is verified, so nothing
that a database does to values on their way in goes unseen. Certificate and recoding are files; they are moved into
place when the table has its name, and just before the transaction ends.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from rothko import private
from rothko.data.source.database.failures import IN_USE, driver_errors, reason
from rothko.data.source.database.url import Address, read_address, shown
from rothko.errors import OutputError, RothkoError
from rothko.release.commit import undisturbed
from rothko.release.content import content_hash
from rothko.release.formats.by_database import ENDING
from rothko.release.formats.table import file_format
from rothko.release.staging import Claim, Staging
from rothko.release.targets.duck_table import DuckTable
from rothko.release.targets.postgres_table import PostgresTable
from rothko.release.targets.sqlite_table import SqliteTable
from rothko.release.targets.target import Target, capital

TARGETS: dict[str, type[PostgresTable] | type[SqliteTable] | type[DuckTable]] = {
    "PostgreSQL": PostgresTable, "SQLite": SqliteTable, "DuckDB": DuckTable,
}  # fmt: skip
"""Kind of a database → a table of it."""


@dataclass(frozen=True, slots=True)
class InTable:
    """The table that a release goes to, looked at before any work is done."""

    address: Address
    target: Path
    """What stands for it among the names of a release."""
    overwrite: bool

    @classmethod
    def of(cls, out: str, overwrite: bool) -> InTable:
        """The table; an error where it is there, and where none can be made."""
        table_named(out)
        found = cls(read_address(out), Path(shown(out)), overwrite)
        with refused(found.address):
            found.table().check()
        return found

    def table(self) -> Target:
        """The table, not yet there."""
        return TARGETS[self.address.kind](self.address, self.overwrite)

    @contextlib.contextmanager
    def staging(self, claim: Claim) -> Iterator[Staging]:
        """Files on their way to these names."""
        stage = Loading(claim, place=self)
        try:
            yield stage
        finally:
            stage.clear()


def table_named(out: str) -> tuple[str, ...]:
    """Schema and name of the table that an address is of."""
    table = read_address(out).table
    if table is None:
        raise OutputError("A release goes to a table, not to a query: ?table=….")
    return table


@contextlib.contextmanager
def refused(address: Address) -> Iterator[None]:
    """Say in one sentence what a database refuses; nothing of it stays."""
    try:
        yield
    except RothkoError:
        raise
    except driver_errors() as error:
        why = reason(error).replace("while it was read", "while it was written")
        if IN_USE.search(str(error)):
            why = "it is in use, by somebody else or by this run, which reads from it; write to another one"
        raise OutputError(f"{capital(address.label)} cannot be written: {why}; nothing was released.") from None


@dataclass(slots=True, kw_only=True)
class Loading(Staging):
    """A private file whose rows go to a table, and files that go with it."""

    place: InTable
    _table: Target | None = field(default=None)

    def place_for(self, target: Path, *, hidden: bool = False) -> Path:
        """A private file for the rows; for anything else a place beside its target."""
        if target != self.place.target:
            return Staging.place_for(self, target, hidden=hidden)
        where = Path(tempfile.gettempdir())
        self._private[where] = private.make(where, private.PARTIAL)
        return self._private[where][0] / f"release{ENDING}"

    def settle(self, files: Sequence[Path], shared: Sequence[str]) -> None:
        """Send the rows to the database, and take in their place what it says that it holds."""
        [file] = files
        schema = file_format(file).schema(file)
        self._table = self.place.table()
        with refused(self.place.address):
            self._table.load(file)
            counted = file.with_name(f"database{ENDING}")
            batches = self._table.counted(schema, shared)
            first = next(batches, None)
            stored = schema if first is None else first.schema
            with pq.ParquetWriter(counted, stored, write_statistics=False, store_schema=False) as writer:
                for batch in itertools.chain(() if first is None else (first,), batches):
                    writer.write_batch(batch)
        counted.replace(file)

    def digest(self, path: Path) -> str:
        """The hash of the rows of a table, whatever their order; see :mod:`rothko.release.content`."""
        return content_hash(path)

    def commit(self) -> None:
        """Give the table its name, move the files into place, and end the transaction."""
        assert self._table is not None
        targets, made = [target for _, target in self.moves], list(self._made)
        with refused(self.place.address), undisturbed():
            self._table.rename()
            if self.moves:
                Staging.commit(self)
            try:
                self._table.commit()
            except BaseException:
                for target in targets:
                    with contextlib.suppress(OSError):
                        target.unlink()
                self._made = made
                raise

    def clear(self) -> None:
        """Undo what was not committed."""
        if self._table is not None:
            self._table.close()
        Staging.clear(self)
