"""The files of a release that tasks write: each is moved to its name when it is complete, and a list has their hashes.

A task that is done again writes the same bytes under the same name.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from rothko.errors import OutputError
from rothko.release.staging import sha256

MANIFEST = "_manifest.sha256"
"""The hashes of all files of a release, as sha256sum writes and checks them."""

READ_BY_SPARK = (".parquet", ".csv", ".tsv")
"""Tables that Spark can read again."""

Result = TypeVar("Result")


class PartFile(NamedTuple):
    """A file that was written."""

    name: str
    sha256: str


def check_ending(ending: str, known: Sequence[str] = READ_BY_SPARK) -> None:
    """Refuse a format that Spark cannot read again."""
    if ending not in known:
        raise OutputError(
            f"engine spark writes {', '.join(known)}, which Spark can read again to verify them, not {ending}."
        )


def files_of(folder: Path, ending: str) -> list[str]:
    """The names of the files of a release."""
    return [str(path.absolute()) for path in sorted(folder.glob(f"part-*{ending}"))]


def read_by_tasks(session: Any, folder: Path, ending: str) -> Any:
    """The names of the files of a release, in a frame with a partition for each: tasks read them again."""
    files = files_of(folder, ending)
    listed = session.createDataFrame(pa.table({"file": pa.array(files, pa.string())}))
    return listed.repartition(max(len(files), 1))


def part_name(number: int, ending: str) -> str:
    """The name of a file: they come in the order of their numbers.

    >>> part_name(7, ".parquet")
    'part-00007.parquet'
    """
    return f"part-{number:05d}{ending}"


def write_part(folder: Path, name: str, write: Callable[[Path], Result]) -> tuple[PartFile, Result]:
    """Write a file to another name, and give it its own when it is complete; what it is, and what the writer says."""
    temporary = folder / f".{secrets.token_hex(8)}-{name}"
    try:
        result = write(temporary)
        digest = sha256(temporary)
        os.replace(temporary, folder / name)
    finally:
        temporary.unlink(missing_ok=True)
    return PartFile(name, digest), result


def write_manifest(folder: Path, files: Iterable[PartFile]) -> str:
    """Write the list of all files, and remove what tasks have left that were given up; the hash of the list."""
    manifest = "".join(f"{file.sha256}  {file.name}\n" for file in files)
    (folder / MANIFEST).write_text(manifest, encoding="utf-8")
    for entry in os.scandir(folder):
        if entry.name.startswith("."):
            os.unlink(entry.path)
    return hashlib.sha256(manifest.encode()).hexdigest()
