"""Which files a table lies in that is a folder or a pattern, ``data/2026-*.parquet``, here or in an object store.

Names that begin with a dot or an underscore are those of tools (``_SUCCESS``, ``.part.crc``) and passed over, as Spark
and Arrow do. Names of folders below the one that was named may hold values, ``year=2026/month=01``: columns of their
own. Names above say nothing, and neither do those that a pattern spells out.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from rothko import json_text
from rothko.data.address import Store, address, is_store
from rothko.data.source.file_bytes import size_of
from rothko.data.source.formats import ARROW, CSV, FORMATS, PARQUET, Format, check_file, format_of
from rothko.errors import InputError

MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The name of the folder of records whose value is missing."""
MAGIC = "*?["
DELTA = ("a Delta", "deltalake.DeltaTable(…).to_pyarrow_table()")
ICEBERG = ("an Iceberg", "pyiceberg's table.scan().to_arrow()")
"""Tables in lakes, and what reads them."""
TOGETHER = (CSV, PARQUET, ARROW)
"""Formats of which several files are read as one table."""


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

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where they lie."""
        return tuple(member.path for member in self.members)


def is_several(path: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern that is not itself the name of a file."""
    if is_store(path):
        return _is_pattern(path) or Store.of(path).size(path) is None
    try:
        return path.is_dir() or (_is_pattern(path) and not path.exists())
    except OSError:
        return False


def listed(path: Path) -> Listing:
    """The files that a folder or a pattern stands for; an error where there are none, or of several kinds."""
    base, found = _found(path)
    name = address(path)
    if not found and _is_pattern(path):
        raise InputError(f"No file matches {name!r}.")
    if not found and is_store(path):
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
        example = f"{name.rstrip('/')}/**/*{endings[0]}"
        raise InputError(
            f"{name!r} has files of several kinds ({', '.join(endings)}); name those of one, for example {example!r}."
        )
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
    label, notes = PurePosixPath(name).name or name, []
    if others:
        kinds_told = ", ".join(sorted(others))
        notes.append(f"Files of {label} with other endings ({kinds_told}) are not read: {others.total():,}.")
    if empty:
        notes.append(f"Files of {label} that are empty: {len(empty):,}.")
    return Listing(label, tuple(members), form, tuple(notes))


def paths_below(path: Path) -> set[Path]:
    """All files that a folder or a pattern stands for, those that are not read among them."""
    return {*_found(path)[1]}


def paths_at(path: Path) -> tuple[Path, ...]:
    """The files that a path stands for, as many as can be told: itself, where it is one."""
    try:
        return listed(path).paths if is_several(path) else (path,)
    except InputError:
        return (path,)


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


def _found(path: Path) -> tuple[Path, list[Path]]:
    """The folder below which all files lie, and these, in the order of their names."""
    if not _is_pattern(path) or (not is_store(path) and path.exists()):
        return path, sorted(_in_store(path) if is_store(path) else _in_folder(path))
    parts = path.parts
    fixed = next(i for i, part in enumerate(parts) if any(sign in part for sign in MAGIC))
    base = Path(*parts[:fixed])
    if is_store(path):
        pattern = "/".join(parts[fixed:])
        return base, sorted(one for one in _in_store(base) if _matches(_below(one, base), pattern))
    files: set[Path] = set()
    for name in glob.iglob(str(path), recursive=True):
        one = Path(name)
        if one.is_dir():
            files.update(() if "**" in parts else _in_folder(one))
        elif not _is_hidden(one, base):
            check_file(one, may_be_empty=True)
            files.add(one)
    return base, sorted(files)


def _matches(name: str, pattern: str) -> bool:
    """Whether the name of an object fits a pattern, whose stars stop at a slash; all below what fits belongs to it."""
    steps = []
    for part in pattern.split("/"):
        sign = fnmatch.translate(part).removesuffix(r"\Z").removesuffix(r"\z")
        steps.append(r"(?:[^/]+/)*" if part == "**" else sign.replace(".*", "[^/]*") + "/")
    return re.match("".join(steps), f"{name}/") is not None


def _in_folder(folder: Path) -> Iterator[Path]:
    """All files below a folder that are not hidden; folders behind links as well, once each."""
    if os.path.isdir(folder / "_delta_log"):  # False where one may not look
        raise _of_a_lake(folder, DELTA)
    if glob.glob(str(Path(glob.escape(str(folder))) / "metadata" / "*.metadata.json")):
        raise _of_a_lake(folder, ICEBERG)
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
        folders[:] = [one for one in folders if not one.startswith((".", "_"))]
        for name in files:
            if not name.startswith((".", "_")):
                check_file(Path(here, name), may_be_empty=True)
                yield Path(here, name)


def _in_store(base: Path) -> Iterator[Path]:
    found = Store.of(base).under(base)
    if any("_delta_log" in one.parts for one in found):
        raise _of_a_lake(base, DELTA)
    if any(one.parent.name == "metadata" and one.name.endswith(".metadata.json") for one in found):
        raise _of_a_lake(base, ICEBERG)
    return (one for one in found if not _is_hidden(one, base))


def _of_a_lake(folder: Path, kind: tuple[str, str]) -> InputError:
    """What is said of the folder of a Delta or an Iceberg table: it also holds files of records that were deleted."""
    name, reader = kind
    return InputError(
        f"{address(folder)!r} is {name} table, whose folder also holds records that were deleted; read it by {reader} "
        "in Python, and anonymize what that gives."
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
