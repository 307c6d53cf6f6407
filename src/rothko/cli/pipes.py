"""Input that comes through a pipe: ``-``, ``/dev/stdin``, a FIFO, ``<(zcat people.csv.gz)``.

Files are read more than once, a pipe cannot be. What comes through one is kept in a private file, which is removed
when the command ends, whatever happens.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import typer

from rothko.data.source.database.url import is_database, shown
from rothko.errors import InputError

STANDARD = ("-", "/dev/stdin")
HANDLES = ("/dev/fd/", "/proc/self/fd/")
"""How shells name a pipe that they have opened."""
MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".csv.gz"}
"""How files begin that are not plain text, and the ending by which they are read."""
AT_ONCE = 1 << 20

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
        import tempfile

        from rothko import private

        try:
            folder, lock = private.make(Path(tempfile.gettempdir()), private.SPILL)
            _FOLDERS.append((folder, lock))
            kept = _keep(path, folder, text)
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
