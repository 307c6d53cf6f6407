"""Tables that come and leave through a pipe: ``-``, ``/dev/stdin``, a FIFO, ``<(zcat people.csv.gz)``.

Files are read more than once, a pipe cannot be. What comes through one is kept in a private file, and so is what leaves
until it is verified. Both are removed when the command ends, whatever happens.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import typer

from rothko.data.source.database.url import is_database, shown
from rothko.errors import InputError, OutputError
from rothko.release.commit import IN_PLACE

if TYPE_CHECKING:
    from rothko.cli.streams import Printed

STANDARD = ("-", "/dev/stdin")
HANDLES = ("/dev/fd/", "/proc/self/fd/")
"""How shells name a pipe that they have opened."""
MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".csv.gz", b"BZh": ".csv.bz2",
         b"\x28\xb5\x2f\xfd": ".csv.zst"}  # fmt: skip
"""How files begin that are not plain text, and the ending by which they are read."""
AT_ONCE = 1 << 20

FORMATS = ("csv", "tsv", "parquet", "arrow")
"""What is written to standard output."""

_NAMED: dict[Path, Path] = {}
"""A private file → what was named on the command line."""
_FOLDERS: list[tuple[Path, FileIO]] = []
"""The private folders of this run, and their locks."""


@contextlib.contextmanager
def forgotten() -> Iterator[None]:
    """Remove at the end what came through pipes."""
    try:
        yield
    finally:
        while _FOLDERS:
            from rothko import private

            private.remove(*_FOLDERS.pop(), os.getpid())
        _NAMED.clear()


def piped(text: str = ".csv") -> Callable[[typer.Context, Path | None], Path | None]:
    """A callback of a parameter that names a file: one that can be read again.

    Parameters
    ----------
    text
        The ending by which plain text is read.
    """

    def file(context: typer.Context, path: Path | None) -> Path | None:
        if path is None or context.resilient_parsing or not _is_pipe(path):
            return path
        try:
            kept = _keep(path, _private_folder(), text)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise InputError(f"What comes through {str(path)!r} cannot be kept for the run: {why}.") from None
        _NAMED[kept] = path
        return kept

    return file


def piped_table(text: str = ".csv") -> Callable[[typer.Context, str | None], str | None]:
    """The same of a parameter that names a table, which may be the address of one in a database."""
    file = piped(text)

    def table(context: typer.Context, data: str | None) -> str | None:
        if data is None or is_database(data):
            return data
        kept = file(context, Path(data))
        return data if kept is None or kept == Path(data) else str(kept)

    return table


def piped_tables(text: str = ".csv") -> Callable[[typer.Context, list[str]], list[str]]:
    """The same of one that names several."""
    table = piped_table(text)
    return lambda context, data: [table(context, one) or one for one in data]


def table_of(data: list[str]) -> str | list[Path]:
    """The table that was named: as one, or as several files that are one together."""
    return data[0] if len(data) == 1 else [Path(one) for one in data]


def _private_folder() -> Path:
    """A folder that goes with the run."""
    import tempfile

    from rothko import private

    _FOLDERS.append(private.make(Path(tempfile.gettempdir()), private.SPILL))
    return _FOLDERS[-1][0]


def standard_output(form: str) -> Path:
    """A private file for what goes to standard output when it is verified; :func:`send` sends it."""
    if form not in FORMATS:
        raise InputError(f"--format must be one of {', '.join(FORMATS)}, not {form!r}.")
    if form in ("parquet", "arrow") and sys.stdout.isatty():
        raise InputError(f"A terminal cannot show {form}; send standard output to a file or a pipe, or name a file.")
    if not cast("Printed", sys.stdout).there:
        raise OutputError("Standard output is closed, and nobody would get the release; name a file.")
    try:
        return _private_folder() / f"release.{form}"
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OutputError(f"There is no place for what goes to standard output: {why}.") from None


def send(path: Path) -> None:
    """Send a private file to standard output: from now on it is there, and nowhere else."""
    there = IN_PLACE.get()
    if there is not None:
        there[:] = [one for one in there if one.parent != path.parent]
    cast("Printed", sys.stdout).send(path)


def named(path: str | Path) -> str:
    """What was named on the command line: a pipe, a file, a table without who asks for it and how."""
    return shown(path) if is_database(path) else str(_NAMED.get(Path(path), path))


def files(*data: str | Path | None) -> list[Path]:
    """The files among what is read, which must not be written."""
    return [Path(one) for one in data if one is not None and not is_database(one)]


def _is_pipe(path: Path) -> bool:
    if str(path) in STANDARD or str(path).startswith(HANDLES):
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _keep(path: Path, folder: Path, text: str) -> Path:
    """Copy all that comes through a pipe; its ending follows from how it begins, or is that of the pipe's own name."""
    if str(path) in STANDARD:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("Nothing comes through standard input; pipe a file into it, or name the file.")
        return _copy(sys.stdin.buffer, folder, "stdin", text)
    with path.open("rb") as pipe:
        return _copy(pipe, folder, "pipe" if str(path).startswith(HANDLES) else path.name, text)


def _copy(pipe: BinaryIO, folder: Path, name: str, text: str) -> Path:
    from rothko.data.source.formats import ending_of

    first = pipe.read(AT_ONCE)
    kind = next((ending for magic, ending in MAGIC.items() if first.startswith(magic)), text)
    kind = text if text == ".txt" and kind == ".csv.gz" else kind  # records a line are unpacked by themselves
    kept = folder / (name if ending_of(Path(name)) else f"{name}{kind}")
    with kept.open("xb") as file:
        while first:
            file.write(first)
            first = pipe.read(AT_ONCE)
    return kept
