"""What the files of a release are called: from the name that is asked for, those of all that goes with the data."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from rothko.data.address import ELSEWHERE, is_store
from rothko.data.source.formats import ending_like
from rothko.data.source.listing import Files, paths_at
from rothko.errors import OutputError
from rothko.release.formats.table import ENDINGS
from rothko.release.write import explained

LINE_ENDINGS = (".txt", ".dat", ".txt.gz", ".dat.gz")
"""Of sets, a record a line."""
RECODING = "recoding.json"
"""The name of a recoding in its folder."""
LARGE_ENDINGS = (".tree.parquet", ".classes.parquet")
"""Of the files beside it, where it is large."""


class Names(NamedTuple):
    """Where the files of a release are looked for."""

    data: Path
    certificate: Path
    private: Path
    """The folder of what is not for publication."""


def names_of_table(table: str, certificate: str | Path | None) -> Names:
    """What goes with a release in a table of a database: files in this folder, under its name.

    >>> [path.as_posix() for path in names_of_table('the "open" visits', None)]
    ['the_open_visits.parquet', 'the_open_visits.certificate.json', 'the_open_visits-recoding']
    """
    data = Path(re.sub(r"[^\w.-]+", "_", table) + ".parquet")
    named = certificate_of(data, None) if certificate is None else named_file(certificate)
    return Names(data, named, recoding_place(data).parent)


def names_at(out: str | Path, source: Files | None) -> Names:
    """Where a release of a table goes, or is since an earlier run; nothing is looked at but whether a folder is there.

    >>> [path.as_posix() for path in names_at("release/", Path("people.csv"))]
    ['release/release.csv', 'release/certificate.json', 'release-recoding']
    """
    path, folder = file_or_folder(out)
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
    return no_stream(path)


def file_or_folder(out: str | Path) -> tuple[Path, Path | None]:
    """What is asked for, and the folder where it is one."""
    path, folder = no_stream(out), _is_folder(out)
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


def no_stream(path: str | Path) -> Path:
    """The path; an error where it is standard output."""
    if str(path) == "-":
        raise OutputError(
            "Nothing is written to standard output (-): files are verified and complete before anybody sees them; name "
            "a file."
        )
    refuse_elsewhere(path)
    return Path(path)


def refuse_elsewhere(path: str | Path) -> None:
    """Refuse the address of what is not written to, which would be a folder of this machine by that name.

    It is not shown, for it may hold a password.
    """
    scheme = str(path).partition(":")[0]
    if ELSEWHERE.match(str(path)) and not is_store(path) and not os.path.exists(f"{scheme}:"):
        raise OutputError(
            f"Nothing is written to {scheme}:// here: a release goes to files, to a table of postgresql://, sqlite:/// "
            "or duckdb:///, or to an object store, s3://, gs:// or az://, and all else to files."
        )
