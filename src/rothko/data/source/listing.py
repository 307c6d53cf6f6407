"""Which files a table lies in that is a folder or a pattern, ``data/2026-*.parquet``, or several files that are named,
here or in an object store.

Names that begin with a dot or an underscore are those of tools (``_SUCCESS``, ``.part.crc``) and passed over, as Spark
and Arrow do. Names of folders below the one that was named may hold values, ``year=2026/month=01``: columns of their
own. Names above say nothing, and neither do those that a pattern spells out.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import unquote

from rothko import json_text
from rothko.data.address import Store, StoreError, address, is_store
from rothko.data.source.database.url import is_database
from rothko.data.source.delta import LOG, is_delta
from rothko.data.source.file_bytes import size_of
from rothko.data.source.formats import ARROW, CSV, FORMATS, PARQUET, Format, check_file, format_of
from rothko.errors import InputError

MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The name of the folder of records whose value is missing."""
MAGIC = "*?["
IN_PYTHON = "read it by {} in Python, and anonymize what that gives"
DELTA = ("a Delta", "name that folder, and nothing beside it")
DELTA_IN_STORE = ("a Delta", IN_PYTHON.format("deltalake.DeltaTable(…).to_pyarrow_table()"))
ICEBERG = ("an Iceberg", IN_PYTHON.format("pyiceberg's table.scan().to_arrow()"))
"""Tables in lakes, and what to do with them."""
METADATA, ICEBERG_LOG = "metadata", ".metadata.json"
"""Where an Iceberg table keeps what it is, and how the names of these files end."""
TOGETHER = (CSV, PARQUET, ARROW)
"""Formats of which several files are read as one table."""
Files: TypeAlias = Path | tuple[Path, ...]
"""Where a table lies that is read from files: a file, a folder, a pattern, or several of these."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of the files of a table."""

    path: Path
    label: str
    """Its name below the folder."""
    told: Mapping[str, str | None]
    """What the names of its folders say, by column."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a table, in the order of their names."""

    label: str
    members: tuple[Member, ...]
    form: Format
    notes: tuple[str, ...] = ()
    others: frozenset[Path] = frozenset()
    """Files that lie among them and are not read."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where they lie."""
        return tuple(member.path for member in self.members)


def files_named(data: Any) -> Files | None:
    """Where a table lies that is given by a path, or by a list of them; None where it is given otherwise.

    >>> files_named(["a.csv"]) == Path("a.csv"), files_named({"age": [30]})
    (True, None)
    """
    if isinstance(data, str | Path):
        return None if is_database(data) else Path(data)
    named = data if isinstance(data, list | tuple) else []
    if not named or not all(isinstance(one, Path) or _is_called_as_a_file(one) for one in named):
        return None
    if any(map(is_database, named)):
        raise InputError(
            "Several tables are read as one where they are files; of a database name one table, or join those that you "
            "need by ?query=SELECT …."
        )
    return Path(named[0]) if len(named) == 1 else tuple(map(Path, named))


def _is_called_as_a_file(one: Any) -> bool:
    """Whether an item of a list is the name of a file, and not a cell, which no message may quote."""
    if not isinstance(one, str):
        return False
    return is_database(one) or is_store(one) or format_of(Path(one)) is not None or os.path.exists(one)


def is_several(path: Files) -> bool:
    """Whether this stands for several files: a list, a folder, or a pattern that is not itself the name of a file."""
    if isinstance(path, tuple):
        return True
    if is_store(path):
        return _is_pattern(path) or Store.of(path).size(path) is None
    try:
        return path.is_dir() or (_is_pattern(path) and not path.exists())
    except OSError:
        return False


def listed(path: Files) -> Listing:
    """The files of a table; an error where there are none, or of several kinds."""
    base, found = _found(path)
    name = _called(path)
    if isinstance(path, Path) and not found:
        if _is_pattern(path):
            raise InputError(f"No file matches {name!r}.")
        if is_store(path):
            raise InputError(f"There is no object {name!r}, and none below it.")
    forms = {one: format_of(one) for one in found}
    read = [one for one, form in forms.items() if form is not None]
    others = Counter(one.suffix.lower() or "none" for one, form in forms.items() if form is None)
    if not read:
        known = ", ".join(ending for form in FORMATS for ending in form.endings)
        raise InputError(f"{name!r} has no file that rothko reads; it reads {known}.")
    kinds = {id(form): one for one, form in forms.items() if form is not None}
    if len(kinds) > 1:
        endings = sorted(one.suffix for one in kinds.values())
        example = "" if isinstance(path, tuple) else f", for example {name.rstrip('/') + '/**/*' + endings[0]!r}"
        raise InputError(f"{name!r} has files of several kinds ({', '.join(endings)}); name those of one{example}.")
    form = forms[read[0]]
    assert form is not None
    if form not in TOGETHER:
        raise InputError(
            f"{name!r} has files that are read one at a time ({read[0].suffix}); name one of them, or save them as CSV "
            "or Parquet."
        )
    members = [Member(one, _below(one, base), _told(one, base)) for one in read]
    empty = [member for member in members if form.text and size_of(member.path) == 0]
    members = [member for member in members if member not in empty] if empty else members
    if not members:
        raise InputError(f"All files of {name!r} are empty.")
    _same_folders(members)
    label, notes = (PurePosixPath(name).name or name) if isinstance(path, Path) else name, []
    if others:
        kinds_told = ", ".join(sorted(others))
        notes.append(f"Files of {label} with other endings ({kinds_told}) are not read: {others.total():,}.")
    if empty:
        notes.append(f"Files of {label} that are empty: {len(empty):,}.")
    return Listing(label, tuple(members), form, tuple(notes), frozenset(found).difference(m.path for m in members))


def paths_below(path: Files) -> set[Path]:
    """All files that a folder or a pattern stands for now, those that are not read among them; none is looked at."""
    return {*_found(path, looked_at=False)[1]}


def paths_at(path: Files) -> tuple[Path, ...]:
    """The files that a path stands for, as many as can be told: itself, where it is one."""
    try:
        return listed(path).paths if is_several(path) else _each(path)
    except InputError:
        return _each(path)


def folders_in(path: Files) -> tuple[Path, ...]:
    """The folders among what is named, whose files are read."""
    return tuple(
        one for one in _each(path) if (is_several(one) and not _is_pattern(one) if is_store(one) else one.is_dir())
    )


def takes(path: Files, name: Path) -> bool:
    """Whether a pattern among what is named stands for a file of this name as well, once it is there."""
    return any(
        _is_pattern(one)
        and is_store(one) == is_store(name)
        and (is_store(one) or not one.exists())
        and _fits(one, name)
        for one in _each(path)
    )


def _fits(pattern: Path, name: Path) -> bool:
    parts = pattern.parts
    fixed = next(i for i, part in enumerate(parts) if any(sign in part for sign in MAGIC))
    base = Path(*parts[:fixed])
    if not is_store(name):
        base, name = Path(os.path.realpath(base)), Path(os.path.realpath(name.parent), name.name)
    within = name.is_relative_to(base) and not _is_hidden(name, base)
    return within and _matches(_below(name, base), "/".join(parts[fixed:]))


def _each(path: Files) -> tuple[Path, ...]:
    return path if isinstance(path, tuple) else (path,)


def _called(path: Files) -> str:
    """What messages call files that are read as one table."""
    first, *others = map(address, _each(path))
    return f"{first} (and {len(others):,} more)" if others else first


def released_in(folder: Path) -> Path | None:
    """The table in the folder of a release, which has a certificate of it; None where the folder is none."""
    try:
        told = json_text.parse((folder / "certificate.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    name = told.get("file") if isinstance(told, dict) else None
    return folder / name if isinstance(name, str) and Path(name).name == name else None


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in MAGIC)


def _found(path: Files, *, looked_at: bool = True) -> tuple[Path, list[Path]]:
    """The folder below which all files lie, and these, in the order of their names; told of each what is no file."""
    if isinstance(path, tuple):
        return _named(path, looked_at)
    if not _is_pattern(path) or (not is_store(path) and path.exists()):
        if looked_at:
            refuse_in_lake(path)
        return path, sorted(_in_store(path) if is_store(path) else _in_folder(path, looked_at))
    parts = path.parts
    fixed = next(i for i, part in enumerate(parts) if any(sign in part for sign in MAGIC))
    base = Path(*parts[:fixed])
    if is_store(path):
        if looked_at:
            refuse_in_lake(base)
        return base, sorted(_in_store(base, "/".join(parts[fixed:])))
    files: set[Path] = set()
    for name in glob.iglob(str(path), recursive=True):
        one = Path(name)
        if one.is_dir():
            files.update(() if "**" in parts else _in_folder(one, looked_at))
        elif not _is_hidden(one, base):
            if looked_at:
                check_file(one, may_be_empty=True)
            files.add(one)
    _refuse_lakes(files)
    return base, sorted(files)


def _named(paths: tuple[Path, ...], looked_at: bool) -> tuple[Path, list[Path]]:
    """The files of several that are named; an error where one is named twice, for its records would count twice."""
    found: dict[str, Path] = {}
    for path in paths:
        if looked_at and not is_several(path) and not is_store(path):
            check_file(path, may_be_empty=True)
        for one in _found(path, looked_at=looked_at)[1] if is_several(path) else [path]:
            place = str(one) if is_store(one) else os.path.realpath(one)
            if place in found:
                raise InputError(f"{one.name} is named twice, and its records would count twice; name it once.")
            found[place] = one
    _refuse_lakes(one for one in found.values() if not is_store(one))
    try:
        base = Path(os.path.commonpath([one.parent for one in found.values()]))
    except ValueError:  # of which some begin at the root
        base = Path()
    return base, sorted(found.values())


def _matches(name: str, pattern: str) -> bool:
    """Whether the name of an object fits a pattern, whose stars stop at a slash; all below what fits belongs to it."""
    steps = []
    for part in pattern.split("/"):
        sign = fnmatch.translate(part).removesuffix(r"\Z").removesuffix(r"\z")
        steps.append(r"(?:[^/]+/)*" if part == "**" else sign.replace(".*", "[^/]*") + "/")
    return re.match("".join(steps), f"{name}/") is not None


def _in_folder(folder: Path, looked_at: bool) -> Iterator[Path]:
    """All files below a folder that are not hidden; folders behind links as well, once each."""
    seen = set()

    def refused(error: OSError) -> None:
        why = "permission is denied" if error.errno in (errno.EACCES, errno.EPERM) else "the file system refuses it"
        raise InputError(f"The folder {str(error.filename)!r} cannot be read: {why}.")

    for here, folders, files in os.walk(folder, followlinks=True, onerror=refused):
        at = os.stat(here)
        if (at.st_dev, at.st_ino) in seen:
            folders.clear()
            continue
        seen.add((at.st_dev, at.st_ino))
        _refuse_lake(Path(here))
        folders[:] = [one for one in folders if not one.startswith((".", "_"))]
        for name in files:
            if not name.startswith((".", "_")):
                path = Path(here, name)
                if looked_at:
                    check_file(path, may_be_empty=True)
                yield path


def refuse_in_lake(path: Path) -> None:
    """Refuse what lies in the folder of a table of a lake, however far below."""
    if not is_store(path):
        for folder in path.absolute().parents:
            _refuse_lake(folder)
        return
    for folder in path.parents[:-2]:  # from what is in the bucket up to it
        with contextlib.suppress(StoreError):  # who may read what lies below need not be let in here
            store = Store.of(folder)
            lakes = _lakes_of([*store.under(folder / LOG), *store.under(folder / METADATA)])
            if folder in lakes:
                raise _of_a_lake(folder, lakes[folder])


def _refuse_lakes(files: Iterable[Path]) -> None:
    """Refuse files that lie below the folder of a table of a lake."""
    for folder in {folder for file in files for folder in file.absolute().parents}:
        _refuse_lake(folder)


def _refuse_lake(folder: Path) -> None:
    if is_delta(folder):
        raise _of_a_lake(folder, DELTA)
    if glob.glob(str(Path(glob.escape(str(folder))) / METADATA / f"*{ICEBERG_LOG}")):
        raise _of_a_lake(folder, ICEBERG)


def _in_store(base: Path, pattern: str | None = None) -> list[Path]:
    """The objects below a folder that are not hidden, or those of them that fit a pattern."""
    found = Store.of(base).under(base)
    kept = [
        one for one in found if not _is_hidden(one, base) and (pattern is None or _matches(_below(one, base), pattern))
    ]
    if lakes := _lakes_of(found):
        over = {folder for one in kept for folder in one.parents}
        for folder, kind in lakes.items():
            if pattern is None or folder in over:
                raise _of_a_lake(folder, kind)
    return kept


def _lakes_of(objects: Iterable[Path]) -> dict[Path, tuple[str, str]]:
    """The folders of which some objects make a table of a lake, and of which."""
    found = {}
    for one in objects:
        if LOG in one.parts:
            found[Path(*one.parts[: one.parts.index(LOG)])] = DELTA_IN_STORE
        elif one.parent.name == METADATA and one.name.endswith(ICEBERG_LOG):
            found[one.parent.parent] = ICEBERG
    return found


def _of_a_lake(folder: Path, kind: tuple[str, str]) -> InputError:
    """What is said of the folder of a Delta or an Iceberg table: it also holds files of records that were deleted."""
    name, advice = kind
    return InputError(
        f"{address(folder)!r} is {name} table, whose folder also holds records that were deleted; {advice}."
    )


def _is_hidden(path: Path, base: Path) -> bool:
    return any(part.startswith((".", "_")) for part in _below(path, base).split("/"))


def _below(path: Path, base: Path) -> str:
    # By its letters: paths are taken apart a hundred thousand times.
    whole, above = str(path), "" if str(base) == "." else os.path.join(str(base), "")
    return whole.removeprefix(above).replace(os.sep, "/")


def _told(path: Path, base: Path) -> dict[str, str | None]:
    """What the names of the folders below the first say: ``year=2026``; blanks and slashes stand there as %20."""
    told: dict[str, str | None] = {}
    for part in _below(path, base).split("/")[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            name = unquote(name)
            if name in told:
                raise InputError(f"{_below(path, base)} lies in two folders that say {name!r}.")
            told[name] = None if value == MISSING else unquote(value)
    return told


def _same_folders(members: list[Member]) -> None:
    first = members[0]
    for member in members:
        if member.told.keys() != first.told.keys():
            [name, *_] = sorted(member.told.keys() ^ first.told.keys())
            has, lacks = (member, first) if name in member.told else (first, member)
            raise InputError(
                f"{has.label} lies in a folder that says {name!r}, and {lacks.label} does not; name folders alike, or "
                "those that are alike by a pattern."
            )
