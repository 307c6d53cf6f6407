"""Where a release goes: every name that it may use, and what stood there before.

A release at a place has data, a certificate, sometimes a second table and a report, and a recoding, which is not for
publication and lies in a folder of its own. All names are looked at before any work is done. What belongs to an older
release at the place goes; what its certificate does not list, or what has other bytes by now, is somebody else's.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from rothko import json_text, private
from rothko.data.address import Store, address, is_store
from rothko.data.source.database.url import is_database, read_address, shown
from rothko.data.source.formats import ending_like
from rothko.data.source.listing import paths_at
from rothko.errors import OutputError, unreadable_name
from rothko.mistakes import said
from rothko.policy.policy import Policy
from rothko.release.commit import state
from rothko.release.digest import sha256
from rothko.release.formats.table import ENDINGS, refuse_names
from rothko.release.in_table import InTable
from rothko.release.objects import InStore
from rothko.release.parts import check_parts
from rothko.release.staging import Claim, Staging, staging
from rothko.release.write import explained

LINE_ENDINGS = (".txt", ".dat", ".txt.gz", ".dat.gz")
"""Of sets, a record a line."""
RECODING = "recoding.json"
"""The name of a recoding in its folder."""
LARGE_ENDINGS = (".tree.parquet", ".classes.parquet")
"""Of the files beside it, where it is large."""


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
        out, folder = _file_or_folder(out)
        data = out if folder is None else folder / f"release{suffix}"
        store = Store.of(out) if is_store(out) else None
        if store is not None and recoding is True:
            recoding = False
        own = recoding_place(out if folder is not None else data)
        asked = own if isinstance(recoding, bool) else recoding_file(_no_stream(recoding))
        certificate = certificate_of(data, folder)
        tables = (data, sensitive_of(data)) if two_tables else (data,)
        reports = report_files(data, folder)
        if reporter is None or report is False or (report is None and (folder is None or in_parts)):
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
            place = InStore(store, tuple(dict.fromkeys((*names, *reports))), certificate, overwrite)
            place.check()
            return cls(tables, certificate, None if recoding is False else asked, Claim(), told, place)
        claim = _claim(names, certificate, data, (asked, own), reports, overwrite, tuple(inputs), in_parts=in_parts)
        _writable(data.parent, make=folder is not None)
        if recoding is not False:
            try:
                _writable(asked.parent, make=asked.name == RECODING)
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
        address = read_address(out)
        if address.table is None:
            raise OutputError("A release goes to a table, not to a query: ?table=….")
        stem = re.sub(r"[^\w.-]+", "_", address.table[-1])
        named = Path(f"{stem}.certificate.json") if certificate is None else named_file(certificate)
        own = recoding_place(Path(f"{stem}.parquet"))
        asked = own if isinstance(recoding, bool) else recoding_file(_no_stream(recoding))
        claim = _claim(
            [named, asked, *large_files(asked)],
            named,
            Path(f"{stem}.parquet"),
            (asked, own),
            (),
            overwrite,
            tuple(inputs),
        )
        _writable(named.parent)
        if recoding is not False:
            _writable(asked.parent, make=asked.name == RECODING)
        table = InTable(address, Path(shown(out)), overwrite)
        table.check()
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
            place = InStore(Store.of(data), tuple(names), certificate, overwrite)
            place.check()
            return cls((data,), certificate, None, Claim(), told, place)
        claim = _claim(names, certificate, data, (own,), reports, overwrite, tuple(inputs), in_parts=in_parts)
        _writable(data.parent)
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


def place_of(
    out: str | Path | Place,
    source: Path | None,
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
    if source is not None and source.is_dir() and files != (source,):
        _refuse_inside(Path(out), source)
    read = (*files, *policy.hierarchy_files, *inputs)
    place = Place.of(
        out,
        suffix=ending_like(files[0] if files else None),
        recoding=recoding,
        two_tables=two_tables,
        overwrite=overwrite,
        inputs=read,
        in_parts=in_parts or parts is not None,
        report=report,
        reporter=reporter,
    )
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
    if not is_store(out) and out.resolve().is_relative_to(folder.resolve()):
        raise OutputError(f"{str(out)!r} lies in the folder that is read, {str(folder)!r}; choose another place.")


def claim_files(
    paths: Iterable[str | Path],
    *,
    overwrite: bool,
    inputs: Iterable[Path] = (),
    endings: tuple[str, ...] | None = None,
) -> Claim:
    """Names of single files in folders that are there, looked at before any work is done.

    Parameters
    ----------
    endings
        Those that the first name, that of the data, may have; any where it is None.
    """
    names, inputs = [named_file(path) for path in paths], tuple(inputs)
    if len({name.absolute() for name in names}) < len(names):
        raise OutputError(f"Two files cannot be written to one name ({names[0].name}); choose another for one of them.")
    if endings is not None and not names[0].name.lower().endswith(endings):
        raise OutputError(f"{names[0].name} has an ending that rothko does not write; it writes {', '.join(endings)}.")
    for path in names:
        _free(path, overwrite, inputs)
        _writable(path.parent)
    return Claim({path: state(path) for path in names})


def claim_folder(folder: str | Path, names: Iterable[str], *, overwrite: bool, inputs: Iterable[Path] = ()) -> Claim:
    """Names in a folder that is there or can be made; what stands there goes, whether or not it is replaced."""
    folder = _no_stream(folder)
    with explained(folder):
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{str(folder)!r} is a file; name a folder.")
    paths, inputs = [folder / name for name in names], tuple(inputs)
    for path in paths:
        _free(path, overwrite, inputs)
    _writable(folder, make=True)
    before = {path: state(path) for path in paths}
    return Claim(before, tuple(path for path, there in before.items() if there is not None))


# ── Names


class Names(NamedTuple):
    """Where the files of a release are looked for."""

    data: Path
    certificate: Path
    private: Path
    """The folder of what is not for publication."""


def names_at(out: str | Path, source: Path | None) -> Names:
    """Where a release of a table goes, or is since an earlier run; nothing is looked at but whether a folder is there.

    >>> [path.as_posix() for path in names_at("release/", Path("people.csv"))]
    ['release/release.csv', 'release/certificate.json', 'release-recoding']
    """
    path, folder = _file_or_folder(out)
    files = () if source is None else paths_at(source)
    data = path if folder is None else folder / f"release{ending_like(files[0] if files else None)}"
    own = recoding_place(path if folder is not None else data)
    return Names(data, certificate_of(data, folder), own.parent)


def stem_of(data: Path) -> str:
    """The name of a data file without its ending.

    >>> stem_of(Path("out/baskets.txt.gz"))
    'baskets'
    """
    found = [ending for ending in (*ENDINGS, *LINE_ENDINGS) if data.name.lower().endswith(ending)]
    return data.name[: -max(map(len, found))] if found else data.name


def certificate_of(data: Path, folder: Path | None) -> Path:
    """Where the certificate goes: into the folder that was asked for, or beside the file under its name."""
    return data.with_name(f"{stem_of(data)}.certificate.json") if folder is None else folder / "certificate.json"


def report_files(data: Path, folder: Path | None) -> tuple[Path, Path]:
    """Where the page of a report goes and what is drawn in it: into the folder, or beside the file under its name.

    >>> [path.name for path in report_files(Path("out/people.csv"), None)]
    ['people.report.html', 'people.report.json']
    """
    page = data.with_name(f"{stem_of(data)}.report.html") if folder is None else folder / "report.html"
    return page, page.with_suffix(".json")


def steward_folder(out: Path) -> Path:
    """Where the report goes that is not for publication: a folder of its own, as for a recoding.

    >>> steward_folder(Path("out/people.csv")).as_posix(), steward_folder(Path("release")).as_posix()
    ('out/people-steward', 'release-steward')
    """
    named = out if out.name not in ("", "..") else out.resolve()
    return named.parent / f"{stem_of(named) or 'release'}-steward"


def sensitive_of(data: Path) -> Path:
    """Where the sensitive table goes that belongs to a table of quasi-identifiers.

    >>> sensitive_of(Path("out/release.csv")).name
    'release_sensitive.csv'
    """
    return data.with_name(f"{data.stem}_sensitive{data.suffix}")


def recoding_place(out: Path) -> Path:
    """Where the recoding of a release goes by default: into a folder of its own, so that the other can be shared.

    >>> recoding_place(Path("out/people.csv")).as_posix(), recoding_place(Path("release")).as_posix()
    ('out/people-recoding/recoding.json', 'release-recoding/recoding.json')
    """
    named = out if out.name not in ("", "..") else out.resolve()
    return named.parent / f"{stem_of(named) or 'release'}-recoding" / RECODING


def recoding_file(path: Path) -> Path:
    """The JSON file of a recoding that is named by its file or its folder."""
    return path / RECODING if path.is_dir() or (path.suffix != ".json" and not path.exists()) else path


def large_files(path: Path) -> tuple[Path, Path]:
    """The Parquet files beside the JSON of a large recoding: its tree, and what its classes publish."""
    tree, classes = LARGE_ENDINGS
    return path.with_suffix(tree), path.with_suffix(classes)


def named_file(path: str | Path) -> Path:
    """The file that is asked for, where it can be none but a file.

    >>> named_file("out/people.csv").name
    'people.csv'
    """
    if _is_folder(path):
        raise OutputError(f"{str(path)!r} is a folder; name a file in it.")
    return _no_stream(path)


def _file_or_folder(out: str | Path) -> tuple[Path, Path | None]:
    """What is asked for, and the folder where it is one."""
    path, folder = _no_stream(out), _is_folder(out)
    if not folder and path.name.lower().endswith(ENDINGS):
        return path, None
    with explained(path):
        there = path.is_dir()
        if path.exists() and not there:
            raise OutputError(f"{str(path)!r} is a file; name a folder, or a file with one of {', '.join(ENDINGS)}.")
    if path.suffix and not there and not folder:
        raise OutputError(
            f"{path.name} has an ending that rothko does not write; it writes {', '.join(ENDINGS)}, or a folder, which "
            f"ends in a slash: '{path}/'."
        )
    return path, path


def _is_folder(path: str | Path) -> bool:
    """Whether it is written as a folder: a path that pathlib has seen is not any more."""
    return isinstance(path, str) and path.endswith(("/", os.sep))


def _no_stream(path: str | Path) -> Path:
    if str(path) == "-":
        raise OutputError(
            "Nothing is written to standard output (-): files are verified and complete before anybody sees them; name "
            "a file."
        )
    return Path(path)


def _bucket(path: Path) -> str:
    return address(path).split("/")[2] if is_store(path) else ""


# ── What stands there


def _claim(
    names: list[Path],
    certificate: Path,
    data: Path,
    recodings: tuple[Path, ...],
    reports: tuple[Path, ...],
    overwrite: bool,
    inputs: tuple[Path, ...],
    *,
    in_parts: bool = False,
) -> Claim:
    """The names of a release, and what of an older one at the same place goes with it."""
    for path in names:
        _free(path, overwrite, inputs, may_be_folder=in_parts and path == data)
    old = [path for path in _older(certificate, data, recodings, reports) if path != data]
    for path in old:
        _free(path, overwrite, inputs)
    return Claim({path: state(path) for path in (*names, *old)}, tuple(old))


def _older(certificate: Path, data: Path, recodings: Iterable[Path], reports: Iterable[Path]) -> Iterator[Path]:
    """What an older release consists of besides its certificate: what that lists, if its bytes are still the same.

    Only names that a release at this place can have are looked for, whatever the certificate says.
    """
    about = _listed(certificate)
    known = {**_hashes(about.get("files")), **_hashes({about.get("file"): about.get("file_sha256")})}
    stem, endings = stem_of(data), (*ENDINGS, *LINE_ENDINGS)
    mine = {*endings, *(f"_sensitive{ending}" for ending in endings)}
    for name, digest in known.items():
        path = data.with_name(name) if name.startswith(stem) and name[len(stem) :].lower() in mine else None
        if path is not None and (path == data or _holds(path, digest)):
            yield path
    hidden = _hashes(about.get("recoding"))
    for path in dict.fromkeys(path for one in recodings for path in (one, *large_files(one))):
        if path.name in hidden and _holds(path, hidden[path.name]):
            yield path
    certified = about.get("file_sha256")
    if isinstance(certified, str):
        yield from (path for path in reports if _tells_of(path, certified))


def _listed(certificate: Path) -> Mapping[object, object]:
    """An older certificate; nothing where there is none that can be read."""
    try:
        found = json_text.parse(certificate.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _hashes(listed: object) -> dict[str, str]:
    items = listed.items() if isinstance(listed, dict) else ()
    return {name: digest for name, digest in items if isinstance(name, str) and isinstance(digest, str)}


def _holds(path: Path, digest: str) -> bool:
    with contextlib.suppress(OSError):
        return path.is_file() and not path.is_symlink() and sha256(path) == digest
    return False


def _tells_of(report: Path, digest: str) -> bool:
    """Whether a file is the report of a release with this hash: it says so near its beginning."""
    with contextlib.suppress(OSError):
        if report.is_file() and not report.is_symlink():
            with report.open("rb") as file:
                return digest.encode() in file.read(4096)
    return False


def _free(path: Path, overwrite: bool, inputs: Iterable[Path], *, may_be_folder: bool = False) -> None:
    wrong = unreadable_name(path.absolute())
    if wrong is not None:
        raise OutputError(wrong)
    with explained(path):
        if path.is_dir() and not may_be_folder:
            raise OutputError(f"{str(path)!r} is a folder.")
        there = state(path) is not None
        for read in inputs if path.exists() else ():
            if read.exists() and path.samefile(read):
                raise OutputError(f"The output is the input: {str(read)!r} is read; choose another name.")
        if there and not overwrite:
            raise OutputError(f"{str(path)!r} exists; use {said('--overwrite', True)} to replace it.")


def _writable(folder: Path, *, make: bool = False) -> None:
    """Refuse a folder that cannot be written to, or that is not there unless it may be made."""
    if not make and not folder.is_dir():
        raise OutputError(f"There is no folder {str(folder)!r}.")
    with explained(folder):
        there = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
        private.remove(*private.make(there, private.PARTIAL), os.getpid())
