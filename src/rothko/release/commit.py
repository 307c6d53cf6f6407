"""Moving files into place: all of them or none, nobody else's, and undisturbed.

Several files cannot be moved at once, and a process may be killed between two moves. So data goes last, and data that
it replaces goes before anything else: wherever data is in place, all that vouches for it is there too, and is its own.
What a kill may leave is a certificate or a recoding without data; of an older release, which is overwritten, the data
is gone then. Keeping it until the end was turned down: for a moment, or for good, it would lie beside the certificate
of other bytes. Whatever else goes wrong, what was there before is put back.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from rothko.errors import OutputError

try:
    import fcntl
except ImportError:  # not on Windows, where files are still created exclusively
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0
"""Seconds to wait for another run that is moving files; it takes milliseconds."""
STEP = 0.02
"""Seconds between two tries."""
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
"""What file systems without hard links say."""

State: TypeAlias = tuple[int, int, int, int]
"""Which file stands under a name, and when it was last written."""
Move: TypeAlias = tuple[Path, Path]
"""From where, to where."""

IN_PLACE: ContextVar[list[Path] | None] = ContextVar("in_place", default=None)
"""Where somebody wants to know what a run has put in place, a list that it is added to."""


def state(path: Path) -> State | None:
    """What stands under a name, None where it is free; a link is a file by itself."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def move(moves: Sequence[Move], leaving: Sequence[Move]) -> None:
    """Set aside what leaves, then put what comes in its place; undo all of it if that fails.

    Parameters
    ----------
    moves
        What comes, the data first; it is moved last. Nothing may stand where it goes but what leaves.
    leaving
        What leaves, and where it is kept until all is well; older data first.
    """
    aside: list[Move] = []
    placed: list[tuple[Path, State | None]] = []
    try:
        if len(moves) == 1 and [path for path, _ in leaving] == [moves[0][1]]:
            os.replace(*moves[0])  # a file that goes by itself replaces the older one in a single step
        else:
            for path, keep in leaving:
                os.rename(path, keep)
                aside.append((keep, path))
            for temporary, target in (*moves[1:], *moves[:1]):
                created = state(temporary)
                _create(temporary, target)
                placed.append((target, created))
    except BaseException:
        for target, created in placed:
            with contextlib.suppress(OSError):
                if state(target) == created:
                    _remove(target)
        for keep, path in aside:
            with contextlib.suppress(OSError):
                _create(keep, path)
        raise
    seen = IN_PLACE.get()
    if seen is not None:
        seen.extend(target.absolute() for _, target in moves[:1])


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _create(temporary: Path, target: Path) -> None:
    """Give a file or a folder its name, if nothing stands there, whoever put it there and when."""
    if temporary.is_dir():
        target.mkdir(mode=0o777)  # refuses what is there
        try:
            os.rename(temporary, target)  # in the place of the empty folder
        except BaseException:
            target.rmdir()
            raise
        return
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in NO_LINKS:
            raise
    else:
        temporary.unlink()
        return
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        os.replace(temporary, target)
    except BaseException:
        target.unlink()
        raise


@contextlib.contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Keep other runs from moving files into these folders meanwhile; nothing is left of the lock.

    Where a file system has no locks it does without: names are taken exclusively all the same.
    """
    with contextlib.ExitStack() as held:
        opened = {}
        for folder in folders if fcntl is not None else ():
            with contextlib.suppress(OSError):
                handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                held.callback(os.close, handle)
                found = os.fstat(handle)
                opened[found.st_dev, found.st_ino] = handle, folder
        # In an order that all runs share: two of them would wait for each other otherwise.
        for _, (handle, folder) in sorted(opened.items()):
            _wait(handle, folder)
        yield


def _wait(handle: int, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OutputError(
                    f"Another run has been moving files into {str(folder)!r} for {PATIENCE:.0f} seconds; try again "
                    "when it is done; nothing was released."
                ) from None
            time.sleep(STEP)
        except OSError:
            return
        else:
            return


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C and the request to end back until files are where they belong: they count afterwards."""
    came: list[int] = []
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # handlers run in no other
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if handler is not None:
                    before[number] = handler
                    signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
