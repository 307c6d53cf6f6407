"""The private folder on disk to which an engine writes what does not fit in memory (LeFevre et al. 2008, section 5).

Nobody else can look into it, and nothing of it stays: it is removed at the end of the ``with``, when the last object
that reads from it is gone, or when the interpreter ends; what a killed process left, at the next start
(:mod:`rothko.private`).

What is written there is in :mod:`rothko.engines.disk.spilled`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from rothko import environment, private
from rothko.data.survey.coded import Outline
from rothko.engines.disk.spilled import Spilled, TableFile, Writer
from rothko.engines.growing import HELD
from rothko.errors import OutputError
from rothko.mistakes import said

__all__ = ["Spill", "Spilled", "TableFile", "Writer"]


class Spill:
    """A private folder for files that are gone when the work is done.

    >>> with Spill.open() as spill:
    ...     rules = spill.table(pa.schema({"class": pa.int32()}))
    ...     rules.write(pa.table({"class": pa.array([0, 1], pa.int32())}))
    ...     [table.num_rows for table in rules.batches()]
    [2]
    >>> spill.folder.exists()
    False
    """

    def __init__(self, folder: Path, lock: FileIO) -> None:
        self.folder = folder
        self.read = 0
        """Bytes read back so far."""
        self.written = 0
        """Bytes written so far."""
        self._needed = 0
        self._kept_open = False
        self._files = 0
        self._counting = threading.Lock()
        # The lock stays open as long as this object lives, or until the folder is removed.
        self._end = weakref.finalize(self, private.remove, folder, lock, os.getpid())

    @classmethod
    def open(cls, folder: Path | None = None) -> Self:
        """Make a private folder in the given one, that of the environment, or the system's for temporary files."""
        folder = folder or environment.spill_dir()
        usual = Path(tempfile.gettempdir())
        private.remove_leftovers(usual)
        try:
            return cls(*private.make(folder or usual, private.SPILL))
        except OSError as error:
            reason = {
                errno.ENOENT: "there is no such folder",
                errno.ENOTDIR: "it is no folder",
                errno.EACCES: "permission is denied",
                errno.EPERM: "permission is denied",
                errno.EROFS: "its file system is read-only",
                errno.ENOSPC: "its file system is full",
                errno.EDQUOT: "the quota is used up",
            }.get(error.errno or 0, "the file system refuses it")
            raise OutputError(
                f"The folder to spill to cannot be used: {reason}; name another with {said('--spill-dir')}."
            ) from None

    def writer(self, outline: Outline, *, parts: int, memory: int) -> Writer:
        """Distribute records over files, one per part, with at most ``memory`` bytes of buffers."""
        return Writer(self, outline, parts, memory)

    def table(self, schema: pa.Schema, *, held: int = HELD) -> TableFile:
        """A file of rows that are appended some at a time, and read back in the same order."""
        return TableFile(self, schema, held)

    def require(self, needed: int) -> None:
        """Refuse to go on where the file system has no room for ``needed`` bytes more.

        The number is also told where the file system fills up all the same, because others write to it too.
        """
        self._needed = self.written + needed
        if needed > self._free():
            raise self._full()

    def keep_open(self) -> None:
        """Let the folder outlive the ``with``, for an object that reads from it later.

        It is then removed by :meth:`close`, or when that object and this one are gone, or when the interpreter ends;
        an exception that leaves the ``with`` removes it anyway.
        """
        self._kept_open = True

    def close(self) -> None:
        """Remove the folder with all that is in it; nothing happens the second time."""
        end = self._end.peek()
        if end is not None:
            # Detached only afterwards: where a second Ctrl-C interrupts the removal, the end of the interpreter
            # goes on with it.
            private.remove(*end[2])
            self._end.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or not self._kept_open:
            self.close()

    def place(self) -> Path:
        """A name for one more file."""
        with self._counting:
            self._files += 1
            return self.folder / str(self._files)

    def count(self, *, read: int = 0, written: int = 0) -> None:
        """Add to the bytes read and written."""
        with self._counting:
            self.read += read
            self.written += written

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the file system says into an error with what to do, without names of files."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise self._full() from None
            reason = {
                errno.ENOENT: "it was removed",
                errno.EIO: "the disk fails",
                errno.EMFILE: "too many files are open",
            }.get(error.errno or 0, "the file system refuses it")
            raise OutputError(
                f"The spill folder cannot be used any more: {reason}; nothing was released. "
                f"Another can be named with {said('--spill-dir')}."
            ) from None

    def _free(self) -> int:
        with self.explained():
            return shutil.disk_usage(self.folder).free

    def _full(self) -> OutputError:
        needed = f" and about {in_words(self._needed)} are needed" if self._needed > self.written else ""
        return OutputError(
            f"The file system of the spill folder is too small or its quota is used up: {in_words(self.written)} were "
            f"written, {in_words(self._free())} are free{needed}; nothing was released. "
            f"Name a folder with more room with {said('--spill-dir')}."
        )


def in_words(size: int) -> str:
    """A number of bytes as a person reads it.

    >>> in_words(1_500_000_000), in_words(812)
    ('1.5 GB', '812 bytes')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
