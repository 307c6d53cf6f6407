"""Where a release goes: every name that it may use, and what stood there before.

A release at a place has data, a certificate, sometimes a second table and a report, and a recoding, which is not for
publication and lies in a folder of its own. All names (:mod:`rothko.release.names`) are claimed before any work is
done (:mod:`rothko.release.claims`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from rothko.data.address import Store, address, is_store, is_within
from rothko.data.source.database.url import is_database
from rothko.data.source.delta import is_delta
from rothko.data.source.formats import ending_like
from rothko.data.source.listing import Files, folders_in, paths_at, takes
from rothko.errors import OutputError
from rothko.mistakes import said
from rothko.policy.policy import Policy
from rothko.release.claims import check_writable, claim_files, claim_release, refuse_ending
from rothko.release.formats.table import ENDINGS, refuse_names
from rothko.release.in_table import InTable, table_named
from rothko.release.names import (
    RECODING,
    certificate_of,
    file_or_folder,
    large_files,
    named_file,
    names_of_table,
    no_stream,
    recoding_file,
    recoding_place,
    report_files,
    sensitive_of,
)
from rothko.release.objects import InStore
from rothko.release.parts import check_parts
from rothko.release.staging import Claim, Staging, staging


class Reported(Protocol):
    """A report as it is saved."""

    @property
    def html(self) -> str:
        """The page."""
        ...

    @property
    def json(self) -> str:
        """What is drawn in it."""
        ...


class Reporter(Protocol):
    """What makes a report of a release; :mod:`rothko.report`, which knows releases, as they do not know it."""

    def __call__(self, release: Any, /, **options: Any) -> Reported:
        """A report of a release, or of its files on their way out."""
        ...


@dataclass(frozen=True, slots=True)
class ReportPlace:
    """Where a report goes, and who makes it."""

    page: Path
    pictures: Path
    make: Reporter


@dataclass(frozen=True, slots=True)
class Place:
    """The names of a release, looked at before any work is done."""

    tables: tuple[Path, ...]
    """Where the data goes, and the table beside it, where there are two."""
    certificate: Path
    recoding: Path | None
    """Where the recoding goes; None where it is not to be written."""
    claim: Claim
    report: ReportPlace | None = None
    """Where the report goes; None where there is to be none."""
    in_store: InStore | None = None
    """The object store that all of it goes to, where it does not stay on this machine."""
    parts: int | None = None
    """How many bytes a file of the data may have, where it is to be several."""
    in_table: InTable | None = None
    """The table of a database that the data goes to, where that is no file."""

    @classmethod
    def of(
        cls,
        out: str | Path,
        *,
        suffix: str,
        recoding: str | Path | bool = True,
        two_tables: bool = False,
        overwrite: bool = False,
        inputs: Iterable[Path] = (),
        in_parts: bool = False,
        report: bool | None = None,
        reporter: Reporter | None = None,
    ) -> Place:
        """The place of a release of tables; an error where a name is taken or cannot be written.

        Parameters
        ----------
        out
            A file with an ending that can be written, or a folder (made if need be): a name that ends in a
            slash, one without an ending, or one that is there. Either may be an address in an object store; there
            a recoding is only written where it is asked for by an address of its own, for a store is often read by
            many.
        suffix
            The ending of the data file in a folder.
        recoding
            Where the recoding goes: a JSON file, or a folder. True: a folder of its own beside the release; False: it
            is not written.
        two_tables
            Whether there is a table of sensitive values beside the data.
        inputs
            Files that are read, which are neither overwritten nor removed.
        in_parts
            Whether the data is a folder of files, under the name that a file would have.
        report
            Whether there is to be a report; None: where a folder is asked for.
        reporter
            What makes it; without one there is none.
        """
        out, folder = file_or_folder(out)
        data = out if folder is None else folder / f"release{suffix}"
        store = Store.of(out) if is_store(out) else None
        if store is not None and recoding is True:
            recoding = False
        own = recoding_place(out if folder is not None else data)
        asked = own if isinstance(recoding, bool) else recoding_file(no_stream(recoding))
        certificate = certificate_of(data, folder)
        tables = (data, sensitive_of(data)) if two_tables else (data,)
        reports = report_files(data, folder)
        if reporter is None or report is False or (report is None and folder is None):
            told = None
        else:
            told = ReportPlace(*reports, reporter)
        names = [*tables, certificate, asked, *large_files(asked), *(() if told is None else reports)]
        if len({name.absolute() for name in names}) < len(names):
            raise OutputError(f"The recoding cannot be written to {str(asked)!r}: the release itself goes there.")
        if store is not None or (recoding is not False and is_store(asked)):
            if store is None or (recoding is not False and _bucket(asked) != _bucket(data)):
                raise OutputError(
                    f"The recoding goes to {address(asked)!r} and the release to {address(data)!r}; name two places in "
                    f"one store, or leave the recoding out with {said('--recoding', False)}."
                )
            place = InStore(
                store, tuple(dict.fromkeys((*names, *reports))), certificate, overwrite, inputs=tuple(inputs)
            )
            place.check()
            return cls(tables, certificate, None if recoding is False else asked, Claim(), told, place)
        claim = claim_release(names, certificate, data, (asked, own), reports, overwrite, inputs, in_parts=in_parts)
        check_writable(data.parent, make=folder is not None)
        if recoding is not False:
            try:
                check_writable(asked.parent, make=asked.name == RECODING)
            except OutputError as error:
                hint = (
                    f"put the recoding elsewhere with {said('--recoding')}, or leave it out with "
                    f"{said('--recoding', False)}"
                )
                raise OutputError(f"{str(error).rstrip('.')}; {hint}.") from None
        return cls(tables, certificate, None if recoding is False else asked, claim, told)

    @classmethod
    def of_table(
        cls,
        out: str,
        *,
        recoding: str | Path | bool = True,
        certificate: str | Path | None = None,
        overwrite: bool = False,
        inputs: Iterable[Path] = (),
    ) -> Place:
        """The place of a release in a table of a database; what goes with it are files, in this folder by default.

        Parameters
        ----------
        certificate
            Where the certificate goes; under the name of the table by default.
        """
        data, named, hidden = names_of_table(table_named(out)[-1], certificate)
        own = hidden / RECODING
        asked = own if isinstance(recoding, bool) else recoding_file(no_stream(recoding))
        claim = claim_release(
            [named, asked, *large_files(asked)],
            named,
            data,
            (asked, own),
            (),
            overwrite,
            inputs,
        )
        check_writable(named.parent)
        if recoding is not False:
            check_writable(asked.parent, make=asked.name == RECODING)
        table = InTable.of(out, overwrite)
        return cls((table.target,), named, None if recoding is False else asked, claim, in_table=table)

    @classmethod
    def of_file(
        cls,
        data: str | Path,
        *,
        overwrite: bool = False,
        inputs: Iterable[Path] = (),
        in_parts: bool = False,
        reporter: Reporter | None = None,
    ) -> Place:
        """The place of a release in a file of any ending that has no recoding, or in a folder under such a name.

        Parameters
        ----------
        reporter
            What makes its report; without one there is none.
        """
        data = named_file(data)
        certificate, own = certificate_of(data, None), recoding_place(data)
        reports = report_files(data, None)
        told = None if reporter is None else ReportPlace(*reports, reporter)
        names = [data, certificate, own, *large_files(own), *(() if told is None else reports)]
        if is_store(data):
            place = InStore(Store.of(data), tuple(names), certificate, overwrite, inputs=tuple(inputs))
            place.check()
            return cls((data,), certificate, None, Claim(), told, place)
        claim = claim_release(names, certificate, data, (own,), reports, overwrite, inputs, in_parts=in_parts)
        check_writable(data.parent)
        return cls((data,), certificate, None, claim, told)

    @property
    def data(self) -> Path:
        """Where the data goes."""
        return self.tables[0]

    def staging(self) -> contextlib.AbstractContextManager[Staging]:
        """Files on their way to this place."""
        if self.in_table is not None:
            return self.in_table.staging(self.claim)
        return staging(self.claim) if self.in_store is None else self.in_store.staging()

    def staged_in(self, folder: Path | None) -> Self:
        """The same, with a folder for what is on its way to an object store."""
        return self if self.in_store is None else replace(self, in_store=replace(self.in_store, folder=folder))


@dataclass(frozen=True, slots=True)
class RowsPlace:
    """Where records go that have no certificate: a file, an object or a table, looked at before any work is done."""

    target: Path
    staging: Callable[[], contextlib.AbstractContextManager[Staging]]
    """Records on their way there."""

    @classmethod
    def of(cls, out: str | Path, *, overwrite: bool, inputs: Iterable[Path]) -> RowsPlace:
        """The place; an error where its name is taken or cannot be written."""
        if is_database(out):
            table = InTable.of(str(out), overwrite)
            return cls(table.target, lambda: table.staging(Claim()))
        target = named_file(out)
        if is_store(target):
            refuse_ending(target, ENDINGS)
            place = InStore(Store.of(target), (target,), target, overwrite, inputs=tuple(inputs))
            place.check()
            return cls(target, place.staging)
        claim = claim_files([target], overwrite=overwrite, inputs=inputs, endings=ENDINGS)
        return cls(target, lambda: staging(claim))


def place_of(
    out: str | Path | Place,
    source: Files | None,
    policy: Policy,
    *,
    recoding: str | Path | bool = True,
    two_tables: bool = False,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    in_parts: bool = False,
    report: bool | None = None,
    reporter: Reporter | None = None,
    parts: int | None = None,
    certificate: str | Path | None = None,
) -> Place:
    """The place for a release of a table, unless it was looked at before the work began.

    Parameters
    ----------
    source
        The file of the table, None where there is none.
    inputs
        What is read besides the source and the hierarchies of the policy.
    in_parts
        Whether the data is written by the tasks of a cluster.
    parts
        How many bytes a file of the data may have, where it is to be several.
    """
    if isinstance(out, Place):
        return out
    if certificate is not None and not is_database(out):
        raise OutputError(
            f"{said('--certificate')} goes with a table in a database; the certificate of a file lies beside it."
        )
    if parts is not None and (in_parts or two_tables):
        what = "engine spark writes a file for each of its tasks" if in_parts else "anatomy writes two tables"
        raise OutputError(f"{what[0].upper()}{what[1:]}, and none of a size; leave out {said('--parts')}.")
    if is_database(out):
        _refuse_for_tables(two_tables=two_tables, in_parts=in_parts or parts is not None, report=report)
        read = (*policy.hierarchy_files, *inputs)
        return Place.of_table(str(out), recoding=recoding, certificate=certificate, overwrite=overwrite, inputs=read)
    files = () if source is None else paths_at(source)
    for folder in () if source is None else folders_in(source):
        if files != (folder,) or is_delta(folder):
            _refuse_inside(Path(out), folder)
    read = (*files, *policy.hierarchy_files, *inputs)
    place = Place.of(
        out,
        suffix=ending_like(files[0] if files else None),
        recoding=recoding,
        two_tables=two_tables,
        overwrite=overwrite,
        inputs=read,
        in_parts=in_parts or parts is not None,
        report=False if report is None and in_parts else report,  # what a cluster has written is not all brought here
        reporter=reporter,
    )
    if source is not None:
        _refuse_found(place.tables, source, in_parts=in_parts or parts is not None)
    # What bounds are called is not known yet.
    shown = () if policy.publish == "bounds" else policy.quasi_identifiers
    refuse_names((*shown, *policy.sensitive, *policy.kept), place.data)
    if parts is not None:
        check_parts(place.data.suffix.lower(), parts)
    return replace(place, parts=parts)


def _refuse_for_tables(*, two_tables: bool, in_parts: bool, report: bool | None) -> None:
    """Refuse what a table of a database cannot be."""
    if two_tables:
        raise OutputError("Anatomy releases two tables; write them to a folder, and load them from there.")
    if in_parts:
        raise OutputError("A table of a database has no parts; write it to a folder, and load it from there.")
    if report:
        raise OutputError(f"A table of a database has no report beside it; leave out {said('--report')}.")


def _refuse_inside(out: Path, folder: Path) -> None:
    """Refuse a release in the folder that is read: the next run would take it for a part of the table."""
    if is_store(out) != is_store(folder):
        return
    if is_within(out, folder) if is_store(out) else out.resolve().is_relative_to(folder.resolve()):
        raise OutputError(
            f"{address(out)!r} lies in the folder that is read, {address(folder)!r}; choose another place."
        )


def _refuse_found(tables: Iterable[Path], source: Files, *, in_parts: bool) -> None:
    """Refuse a release under a name that the pattern of the input stands for as well."""
    for table in tables:
        if takes(source, table) or (in_parts and takes(source, table / f"part{table.suffix}")):
            raise OutputError(
                f"{address(table)!r} is a name that the pattern of the input stands for, too: the next run would read "
                "it; choose another place."
            )


def _bucket(path: Path) -> str:
    return address(path).split("/")[2] if is_store(path) else ""
