"""A release in several files, under the name that one file would have: a list of them has the hash of each.

Files are cut by their size, or written by the tasks of a cluster: then each is moved to its name when it is complete,
and a task that is done again writes the same bytes under the same name.
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
from rothko.release.digest import sha256
from rothko.release.formats.format import FileFormat, Writer
from rothko.release.rows import ROW_GROUP, Rows

MANIFEST = "_manifest.sha256"
"""The hashes of all files of a release, as sha256sum writes and checks them."""

READ_BY_SPARK = (".parquet", ".csv", ".tsv")
"""Tables that Spark can read again."""

IN_PARTS = (".parquet", ".csv", ".tsv")
"""Tables that are written in parts of a size."""
SMALLEST = 1_000_000
"""The fewest bytes that a part may be asked to have."""
STEP = 1 << 16
"""The fewest rows after which the size of a part is looked at."""

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


def check_parts(ending: str, size: int) -> None:
    """Refuse parts of a format that is not read in several files, and parts that are too small."""
    if ending not in IN_PARTS:
        raise OutputError(f"Parts are written as {', '.join(IN_PARTS)}, not {ending}; name another ending.")
    if size < SMALLEST:
        raise OutputError(f"A part has {SMALLEST // 1_000_000} MB at least, not {size:,} bytes.")


class PartsWriter:
    """Rows in files of about so many bytes, in a folder: they leave in the order in which one file would have them.

    Where a file ends hangs on the bytes before it alone, and so tells no more than these.
    """

    def __init__(self, folder: Path, form: FileFormat, size: int, *, threads: int, escape: bool) -> None:
        folder.mkdir()
        self._folder, self._form, self._size = folder, form, size
        self._threads, self._escape = threads, escape
        self._writer: Writer | None = None
        self._files: list[PartFile] = []
        self.escaped: set[str] = set()
        """The columns with cells that were escaped, in the files that are complete."""
        self._rows = 0
        self._step = STEP

    def write(self, rows: Rows) -> None:
        """Append rows, and begin another file where one is large enough."""
        for some in rows.slices(self._step):
            if self._writer is None:
                self._writer = self._form.writer(
                    self._path, threads=self._threads, escape=self._escape, labels={}
                )  # no format of several files has labels
            self._writer.write(some)
            self._rows += len(some.classes)
            there = self._path.stat().st_size if self._path.exists() else 0
            each = max(there / self._rows, 1)
            # A quarter of a file at a time: none becomes much larger than it should, and row groups stay large.
            self._step = int(min(max(self._size / each / 4, STEP), ROW_GROUP)) if there else STEP
            if there + each * min(self._step, len(some.classes)) > self._size:
                self._end()

    def close(self) -> None:
        """End the last file, and write the list of all."""
        self._end()
        if not (self._folder / MANIFEST).exists():
            write_manifest(self._folder, self._files)

    @property
    def _path(self) -> Path:
        return self._folder / part_name(len(self._files), self._folder.suffix.lower())

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self.escaped |= self._writer.escaped
            self._files.append(PartFile(self._path.name, sha256(self._path)))
            self._writer, self._rows = None, 0
