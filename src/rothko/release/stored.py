"""A release whose rows are in a file, not in memory: verified there, and read when they are asked for.

It is what :func:`rothko.anonymize` returns for a table larger than memory. The file lies in a private folder, as
Parquet, with the columns that are kept as they were read; saving rewrites it in the format that is asked for, some rows
at a time, and verifies what was written.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rothko.data.source.open import Source
from rothko.errors import InputError
from rothko.metrics.loss import Loss
from rothko.policy.policy import Policy
from rothko.release.certificate import Certificate
from rothko.release.kinds import refuse_kinds, restored
from rothko.release.place import Place, place_of
from rothko.release.recoding.branches import Branches
from rothko.release.recoding.recoding import Recoding, columns_of, copied
from rothko.release.save import Saved, is_text, sha256, stage_recoding, timed, verified
from rothko.release.sql import connect, parquet_rows
from rothko.release.tables import Holder
from rothko.release.truth import Told, check_rows, found
from rothko.release.verify import Fingerprint, Verification
from rothko.release.write import RowsFile, as_rows, decoded, explained, said_of

PIECE = 1 << 18
"""Rows that are read back at a time."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, with what is needed to verify, certify and apply it."""

    rows: int
    columns: tuple[str, ...]
    published: dict[str, tuple[str, ...]]
    """Quasi-identifier → the columns that publish it."""
    loss: Loss
    """As it may stand in a certificate."""
    branches: Branches | None
    """The recoding, but for the top of the tree; None where the method is local."""
    types: dict[str, pa.DataType]
    """Kept columns of a text file → the type that all their values have, where that is not text."""
    told: Told
    """The columns; none of the records."""
    fingerprint: Fingerprint
    """Of the rows that the records must be shown as."""
    kinds: dict[str, pa.DataType]
    """Kept columns → their type, which Parquet may not have."""
    escaped: frozenset[str] = frozenset()
    """Columns of a text file with cells that were escaped."""
    schema: pa.Schema | None = None
    """The columns that the file should have, with their types."""
    typed: bool = False
    """Whether the fingerprint is that of columns with the types of their values."""

    def verified(self, data: Path, policy: Policy, *, threads: int, memory: int | None, spill: Path) -> Verification:
        """Verify a file: that its rows are those of the records, and every requirement; an error where they are not."""
        return verified(
            data, self.rows, self.columns, self.published, policy, told=self.told, wanted=self.fingerprint,
            schema=self.schema, types=self.types if self.typed else None, threads=threads, memory=memory, spill=spill,
        )  # fmt: skip

    def check_rows(self, data: Path, *, threads: int, memory: int | None, spill: Path) -> None:
        """Refuse a file that has other rows."""
        types = self.types if self.typed else None
        check_rows(
            data, self.told, self.fingerprint, schema=self.schema, types=types, threads=threads, memory=memory,
            spill=spill,
        )  # fmt: skip


class StoredRelease:
    """A release in a private file; it has what a :class:`~rothko.flow.Release` has.

    Use it in a ``with``, or close it, to remove the file; it is removed at the latest when the object is gone.
    """

    def __init__(
        self,
        certificate: Certificate,
        recoding: Path | None,
        data: Path,
        source: Source,
        holder: Holder,
        written: Written,
        *,
        threads: int = 1,
        memory: int | None = None,
    ) -> None:
        self.certificate = certificate
        self._recoding, self._data, self._source, self._holder = recoding, data, source, holder
        self._written = replace(written, branches=None)
        self._threads, self._memory = threads, memory

    def __repr__(self) -> str:
        found = self.certificate.verification
        return f"StoredRelease({found.rows:,} records in {found.classes:,} classes, verified: {found.holds})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file, and what belongs to it."""
        self._holder.close()

    @cached_property
    def recoding(self) -> Recoding | None:
        """φ, for methods that have one; read when it is asked for."""
        return None if self._recoding is None else Recoding.load(self._there(self._recoding))

    @property
    def arrow(self) -> pa.Table:
        """The released rows as an Arrow table, all of them; published texts are dictionaries of what is shown."""
        with _opened(self._there(self._data), self._written) as file:
            return restored(file.read(), self._written.kinds)

    @property
    def table(self) -> Any:
        """The released rows, in the kind of table that came in: all of them in memory."""
        return self._source.restore(decoded(self.arrow))

    @property
    def classes(self) -> pa.Table:
        """What each class publishes, and how many records it has; classes that publish the same are one."""
        shown = [column for columns in self._written.published.values() for column in columns]
        by = ", ".join(f"c{self._written.columns.index(column)}" for column in shown)
        rows = parquet_rows(self._there(self._data))
        columns = ", ".join(f"c{i}" for i in range(len(self._written.columns)))
        with connect(self._threads, memory=self._memory, spill=self._holder.folder) as connection:
            counted = connection.sql(f"SELECT {by}, count(*) FROM {rows} AS released({columns}) GROUP BY {by}")
            return counted.to_arrow_table().rename_columns([*shown, "records"])

    def save(self, out: str | Path | Place, *, recoding: str | Path | bool = True, overwrite: bool = False) -> Saved:
        """Write data and certificate to a folder, or beside a file under its name; verify what was written.

        Nothing is in place before it is verified, and nothing stays if it fails. For ``recoding`` see
        :meth:`rothko.flow.Release.save`.
        """
        asked = recoding if self._recoding is not None else False
        place = place_of(out, self._source.path, self.certificate.policy, recoding=asked, overwrite=overwrite)
        timings = dict(self.certificate.timings)
        stored = self._there(self._data)
        with place.staging() as stage, ThreadPoolExecutor(1) as pool:
            temporary = stage.place_for(place.data)
            recoded: dict[str, str] = {}
            with timed(timings, "write"):
                written = rewrite(
                    stored, temporary, self._written, typed=not is_text(place.data), threads=self._threads,
                    escape=self.certificate.policy.csv.escape_formulas, memory=self._memory,
                )  # fmt: skip
                if self._recoding is not None and place.recoding is not None:
                    recoded = stage_recoding(copied(self._there(self._recoding), place.recoding), stage)
            with timed(timings, "verify"):
                hashed = pool.submit(sha256, temporary)
                checked = written.verified(
                    temporary, self.certificate.policy, threads=self._threads, memory=self._memory,
                    spill=self._holder.folder,
                )  # fmt: skip
            certificate = replace(
                self.certificate,
                verification=checked,
                timings=timings,
                file=place.data.name,
                sha256=hashed.result(),
                recoding=recoded,
                notes=(*self.certificate.notes, *said_of(written.escaped)),
            )
            stage.write(place.certificate, certificate.to_json())
            stage.commit()
        return Saved(place.data, place.certificate, place.recoding if recoded else None, certificate)

    def _there(self, path: Path) -> Path:
        if not path.exists():
            raise InputError(
                "The release was closed, and its file is gone; anonymize the table again, or save it first."
            )
        return path


def rewrite(
    stored: Path,
    target: Path,
    written: Written,
    *,
    typed: bool,
    escape: bool = True,
    threads: int = 1,
    memory: int | None = None,
) -> Written:
    """Write the rows of a stored release to another file, some at a time; what was written, and must be there.

    Parameters
    ----------
    typed
        Give kept columns of a text file the types of their values.
    escape
        In text files, put an apostrophe before cells that spreadsheets take for formulas.
    """
    types = written.types if typed else {}
    refuse_kinds(pa.schema([(name, types.get(name, kind)) for name, kind in written.kinds.items()]), target)
    if target.suffix == stored.suffix and not types:
        with explained(target):
            shutil.copyfile(stored, target)
        return written
    written.check_rows(stored, threads=threads, memory=memory, spill=stored.parent)
    with connect(threads, memory=memory, spill=stored.parent) as connection:
        wanted = found(stored, written.told, text=is_text(target), types=types, connection=connection)
    schema = None
    with _opened(stored, written) as file, RowsFile(target, escape=escape, threads=threads) as out:
        for batch in file.iter_batches(PIECE, use_threads=threads > 1):
            table = restored(pa.Table.from_batches([batch]), written.kinds)
            columns = dict(columns_of(table))
            columns |= {name: pc.cast(pc.cast(columns[name], pa.string()), kind) for name, kind in types.items()}
            rows = as_rows(pa.table(columns))
            schema = rows.schema
            out.write(rows)
    return replace(written, fingerprint=wanted, schema=schema, typed=bool(types), escaped=frozenset(out.escaped))


def _opened(stored: Path, written: Written) -> pq.ParquetFile:
    """A stored release, with dictionaries of what is shown."""
    texts = {field.name for field in pq.read_schema(stored) if pa.types.is_string(field.type)}
    shown = [column for columns in written.published.values() for column in columns if column in texts]
    # Through a buffer: a group of rows is not read at once.
    return pq.ParquetFile(stored, read_dictionary=shown, buffer_size=1 << 20, pre_buffer=False)
