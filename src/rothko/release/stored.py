"""A release whose rows are in a file, not in memory: verified there, and read when they are asked for.

It is what :func:`rothko.anonymize` returns for a table larger than memory. The file lies in a private folder, as
Parquet, with the columns that are kept as they were read; saving rewrites it in the format that is asked for, some rows
at a time, and verifies what was written.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rothko.data.source.formats import in_cells, is_text
from rothko.data.source.source import Source
from rothko.engines.growing import Holder
from rothko.errors import InputError
from rothko.release.certificate import Certificate
from rothko.release.formats.format import Labels
from rothko.release.formats.table import file_format, refuse_kinds
from rothko.release.kinds import restored
from rothko.release.loss import Loss
from rothko.release.meant import Meant
from rothko.release.recoding.document import copied
from rothko.release.recoding.recoding import Recoding
from rothko.release.release import HEAD, TableRelease
from rothko.release.rows import columns_of, decoded
from rothko.release.save import Outgoing, Unverified, timed
from rothko.release.sql import Limits, parquet_rows
from rothko.release.truth import ToldHashes
from rothko.release.write import RowsFile, as_rows, explained

PIECE = 1 << 18
"""Rows that are read back at a time."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, with what is needed to verify and certify it."""

    meant: Meant
    """What it must be."""
    loss: Loss
    """As it may stand in a certificate."""
    types: dict[str, pa.DataType]
    """Kept columns of a text file → the type that all their values have, where that is not text."""
    kinds: dict[str, pa.DataType]
    """Kept columns → their type, which Parquet may not have."""
    escaped: frozenset[str] = frozenset()
    """Columns of a text file with cells that were escaped."""


class Holding:
    """What lies in a private folder.

    Use it in a ``with``, or close it, to remove the folder; it is removed at the latest when the object is gone.
    """

    def __init__(self, holder: Holder) -> None:
        self._holder = holder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was written."""
        self._holder.close()

    def _there(self, path: Path) -> Path:
        if not path.exists():
            raise InputError(
                "The release was closed, and its file is gone; anonymize the table again, or save it first."
            )
        return path


class HeldRelease(Holding, TableRelease):
    """A release in a private folder; it has what a :class:`~rothko.release.release.Release` has."""

    def __init__(
        self,
        certificate: Certificate,
        recoding: Path | None,
        data: Path,
        source: Source,
        holder: Holder,
        written: Written,
    ) -> None:
        super().__init__(holder)
        self.certificate = certificate
        self._recoding, self._data, self._source = recoding, data, source.let_go()
        self._written = written

    @cached_property
    def recoding(self) -> Recoding | None:
        """φ, read when it is asked for, for methods that have one."""
        return None if self._recoding is None else Recoding.load(self._there(self._recoding))

    def _recodes(self) -> bool:
        return self._recoding is not None

    def _recode(self, out: Outgoing) -> None:
        """Have the recoding copied, where there is one."""
        if self._recoding is not None:
            out.recode(partial(copied, self._there(self._recoding)))


class StoredRelease(HeldRelease):
    """A release in one private file."""

    def __init__(
        self,
        certificate: Certificate,
        recoding: Path | None,
        data: Path,
        source: Source,
        holder: Holder,
        written: Written,
        limits: Limits,
    ) -> None:
        super().__init__(certificate, recoding, data, source, holder, written)
        self._limits = limits

    @property
    def arrow(self) -> pa.Table:
        """The released rows as an Arrow table, all of them; published texts are dictionaries of what is shown."""
        with _opened(self._there(self._data), self._written) as file:
            return restored(file.read(), self._written.kinds)

    def _head(self) -> pa.Table:
        with _opened(self._there(self._data), self._written) as file:
            first = pa.Table.from_batches(list(islice(file.iter_batches(HEAD), 1)), schema=file.schema_arrow)
            return decoded(restored(first, self._written.kinds))

    @property
    def classes(self) -> pa.Table:
        """What each class publishes, and how many records it has; classes that publish the same are one."""
        meant = self._written.meant
        shown = [column for columns in meant.published.values() for column in columns]
        by = ", ".join(f"c{meant.columns.index(column)}" for column in shown)
        rows = parquet_rows(self._there(self._data))
        columns = ", ".join(f"c{i}" for i in range(len(meant.columns)))
        with self._limits.connect() as connection:
            counted = connection.sql(f"SELECT {by}, count(*) FROM {rows} AS released({columns}) GROUP BY {by}")
            return counted.to_arrow_table().rename_columns([*shown, "records"])

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        [data] = out.files
        policy = self.certificate.policy
        with timed(out.timings, "write"):
            written = rewrite(
                self._there(self._data), data, self._written, typed=not is_text(data), limits=self._limits,
                escape=policy.csv.escape_formulas, parts=out.parts, labels=self._source.labels,
            )  # fmt: skip
            self._recode(out)
        return Unverified(
            lambda: written.meant.verified(data, policy, self._limits), self._certified, written.escaped,
            shared=written.meant.shared,
        )  # fmt: skip


def rewrite(
    stored: Path,
    target: Path,
    written: Written,
    *,
    typed: bool,
    limits: Limits,
    escape: bool = True,
    parts: int | None = None,
    labels: Labels | None = None,
) -> Written:
    """Write the rows of a stored release to another file, some at a time; what was written, and must be there.

    Parameters
    ----------
    typed
        Give kept columns of a text file the types of their values.
    escape
        In text files, put an apostrophe before cells that spreadsheets take for formulas.
    parts
        Write several files of about so many bytes.
    labels
        Of columns that were read as labels; only those that are kept leave as these.
    """
    types = written.types if typed else {}
    refuse_kinds(pa.schema([(name, types.get(name, kind)) for name, kind in written.kinds.items()]), target)
    if file_format(target) is file_format(stored) and not types and parts is None:
        with explained(target):
            shutil.copyfile(stored, target)
        return written
    written.meant.check_rows(stored, limits)
    with limits.connect() as connection:
        wanted = ToldHashes(written.meant.told, in_cells(target), types).found(stored, connection)
    schema = None
    kept = {name: labels[name] for name in written.kinds if name in labels} if labels else None
    into = RowsFile(target, escape=escape, threads=limits.threads, parts=parts, labels=kept)
    with _opened(stored, written) as file, into as out:
        for batch in file.iter_batches(PIECE, use_threads=limits.threads > 1):
            table = restored(pa.Table.from_batches([batch]), written.kinds)
            columns = dict(columns_of(table))
            columns |= {name: pc.cast(pc.cast(columns[name], pa.string()), kind) for name, kind in types.items()}
            rows = as_rows(pa.table(columns))
            schema = rows.schema
            out.write(rows)
    meant = replace(written.meant, fingerprint=wanted, schema=schema, types=types or None)
    return replace(written, meant=meant, escaped=frozenset(out.escaped))


def _opened(stored: Path, written: Written) -> pq.ParquetFile:
    """A stored release, with dictionaries of what is shown."""
    texts = {field.name for field in pq.read_schema(stored) if pa.types.is_string(field.type)}
    shown = [column for columns in written.meant.published.values() for column in columns if column in texts]
    # Through a buffer: a group of rows is not read at once.
    return pq.ParquetFile(stored, read_dictionary=shown, buffer_size=1 << 20, pre_buffer=False)
