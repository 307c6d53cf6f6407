"""What every release of a table is, and the one whose rows are in memory.

The others are :class:`rothko.release.stored.StoredRelease`, whose rows are in a file, and
:class:`rothko.release.anatomy.AnatomyRelease`, which has two tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko import notebook
from rothko.data.source.formats import in_cells, is_text
from rothko.data.source.guess import typed_text
from rothko.data.source.source import Source
from rothko.engines.plan import as_bytes
from rothko.release.certificate import Certificate
from rothko.release.meant import Meant
from rothko.release.people import People
from rothko.release.place import Place, Reported, Reporter, place_of
from rothko.release.recoding.recoding import Recoding
from rothko.release.rows import Rows, columns_of, decoded
from rothko.release.save import Outgoing, Saved, Unverified, save, timed
from rothko.release.sql import Limits
from rothko.release.truth import Truth, begun, typed_as
from rothko.release.verify import Fingerprint, Verification, findings_shown
from rothko.release.write import write_rows

HEAD = 5
"""Rows that a notebook shows."""


class TableRelease(ABC):
    """A table that may be released, with what vouches for it."""

    __slots__ = ()

    two_tables: ClassVar[bool] = False
    """Whether there is a table of sensitive values beside the data."""
    classes_are: ClassVar[str] = "classes"

    reporter: ClassVar[Reporter]
    """What makes reports, which knows releases, as they do not know it: :mod:`rothko.flow` says it."""

    certificate: Certificate
    _source: Source

    def __repr__(self) -> str:
        found = self.certificate.verification
        about = f"{found.rows:,} records in {found.classes:,} {self.classes_are}, verified: {found.holds}"
        return f"{type(self).__name__}({about})"

    def _repr_html_(self) -> str:
        found, lost = self.certificate.verification, self.certificate.loss
        head = self._head()
        cells = [["" if cell is None else str(cell) for cell in row.values()] for row in head.to_pylist()]
        return notebook.shown(
            f"{found.rows:,} records in {found.classes:,} {self.classes_are}, GCP {lost.gcp:.4f}",
            findings_shown(found.findings),
            notebook.words(f"The first {head.num_rows} rows:"),
            notebook.table(head.column_names, cells, left=range(head.num_columns)),
        )

    def _head(self) -> pa.Table:
        """The first rows, for a person to look at."""
        return decoded(self.arrow.slice(0, HEAD))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"A {type(self).__name__} cannot be pickled: it is verified against the original, which it holds and which "
            "must not travel with it; save it with .save(…), or pickle its .table, .certificate or .recoding."
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self  # nothing of it changes

    @property
    @abstractmethod
    def arrow(self) -> pa.Table:
        """The released rows as an Arrow table; published texts are dictionaries of what is shown."""

    @property
    def table(self) -> Any:
        """The released rows, in the kind of table that came in."""
        return self._source.restore(decoded(self.arrow))

    def save(
        self,
        out: str | Path | Place,
        *,
        recoding: str | Path | bool = True,
        report: bool | None = None,
        overwrite: bool = False,
        parts: int | str | None = None,
        certificate: str | Path | None = None,
    ) -> Saved[Certificate]:
        """Write data and certificate to a folder, or beside a file under its name; verify what was written.

        ``postgresql://host/db?table=schema.release``, and so for SQLite and DuckDB, is a new table of a database:
        staged there under another name, counted and verified, renamed, all in one transaction.

        Nothing is in place before it is verified, and nothing stays if it fails. With ``overwrite`` the older release
        at this place goes. A second table is called as the first, with ``_sensitive`` before the ending.

        Parameters
        ----------
        recoding
            Where the recoding goes, which is not for publication: a JSON file, or a folder. True: into a folder of its
            own beside the release; False: it is not written.
        report
            Whether to write the report for the public beside the data; None: into a folder.
        parts
            How large a file of the data may be, ``"64MB"``: it is then a folder of files under the name that one file
            would have, with a list of their hashes, which the certificate vouches for.
        certificate
            Where the certificate of a table of a database goes; into this folder, under its name, by default.
        """
        place = place_of(
            out, self._source.path, self.certificate.policy, recoding=recoding if self._recodes() else False,
            two_tables=self.two_tables, overwrite=overwrite, report=report, reporter=self.reporter,
            parts=as_bytes(parts, "--parts"), certificate=certificate,
        )  # fmt: skip
        return save(place, self._write)

    def report(self, **options: Any) -> Reported:
        """A report: ``.html`` is the page, ``.save("report.html")`` writes it, with the JSON of its pictures beside it.

        Parameters
        ----------
        audience
            ``"public"`` (the default): nothing that certificate and release do not tell; ``"steward"``: how things were
            before, too, which is not for publication.
        original
            The table that was released, for the steward.
        threshold
            A risk above which records are counted: 0.09.
        x, y
            The quasi-identifiers of the painting.
        """
        return self.reporter(self, **options)

    @abstractmethod
    def _recodes(self) -> bool:
        """Whether there is a recoding."""

    @abstractmethod
    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        """Write what is released; see :mod:`rothko.release.save`."""

    def _certified(self, checked: Verification) -> Certificate:
        return replace(self.certificate, verification=checked)

    def _checked(self, verify: Callable[[], Verification]) -> Certificate:
        """The certificate of the rows that are in memory."""
        timings = dict(self.certificate.timings)
        with timed(timings, "verify"):
            checked = verify()
        return replace(self.certificate, verification=checked, timings=timings)


@dataclass(frozen=True, slots=True, repr=False)
class Release(TableRelease):
    """A table that may be released, with what vouches for it."""

    certificate: Certificate
    recoding: Recoding | None
    """φ, for methods that have one."""
    _rows: Rows
    _truth: Truth
    """What the rows must be, by the original."""
    _sizes: NDArray[np.int64]
    _source: Source
    _threads: int = 1
    _people: People | None = None
    """Whose the records are, where people are counted."""

    @property
    def arrow(self) -> pa.Table:
        """The released rows as an Arrow table; published texts are dictionaries of what is shown."""
        return self._rows.to_arrow(threads=self._threads)

    @property
    def classes(self) -> pa.Table:
        """What each class publishes, and how many records it has."""
        columns = [column for shown in self._rows.published.values() for column in shown]
        shown = {column.name: column.values.take(pa.array(column.of_class)) for column in columns}
        return pa.table({**shown, "records": self._sizes})

    def verified(self) -> Release:
        """The same release, verified as it is in memory; an error where it does not hold what was asked."""

        def verify() -> Verification:
            meant = self._meant(self._truth.of_rows(text=False))
            return meant.verified(self.arrow, self.certificate.policy, Limits(self._threads))

        return replace(self, certificate=self._checked(verify))

    def _recodes(self) -> bool:
        return self.recoding is not None

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        [data] = out.files
        policy = self.certificate.policy
        if self.recoding is not None:
            # Writing and verifying leave the interpreter free: the recoding is put together beside them.
            out.recode(self.recoding.files)
        with timed(out.timings, "write"):
            rows = self._as_written(data)
            types = typed_as(rows.kept, self._rows.kept)
            wanted = begun(self._truth.of_rows, text=in_cells(data), types=types)
            escaped = write_rows(
                rows, data, escape=policy.csv.escape_formulas, threads=self._threads, parts=out.parts,
                labels=self._source.labels,
            )  # fmt: skip

        def verify() -> Verification:
            meant = replace(self._meant(wanted.result()), schema=rows.schema, types=types)
            return meant.verified(data, policy, Limits(self._threads))

        shared = [column.name for columns in rows.published.values() for column in columns]
        return Unverified(verify, self._certified, escaped, shared=shared)

    def _meant(self, wanted: Fingerprint) -> Meant:
        rows = self._rows
        return Meant(
            len(rows.classes), tuple(rows.columns), self._truth.told, wanted, rows.published_names, people=self._people
        )

    def _as_written(self, data: Path) -> Rows:
        """The rows; kept columns of a text file get their types back in a file that has types."""
        if is_text(data) or not self._source.text:
            return self._rows
        kept = {name: typed_text(column) for name, column in columns_of(self._rows.kept)}
        return replace(self._rows, kept=pa.table(kept))
