"""Private folders for what must not stay: what is spilled, and a release on its way out.

Nobody else can look into one (mode 0700), and its owner removes it. A process that is killed cannot clean up, so the
next start does. It tells a dead process's folder from a live one's by a lock that the owner holds for life and the
system drops at its death: a process id may have been given to somebody else since.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
import stat
from io import FileIO
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where leftovers are told by the process alone
    fcntl = None  # type: ignore[assignment]

SPILL, PARTIAL = "rothko-spill", ".rothko-partial"
"""How the names of folders begin: for what is spilled, and for files that are not yet verified."""
NAME = re.compile(rf"(?:{re.escape(SPILL)}|{re.escape(PARTIAL)})-(\d+)-[0-9a-f]{{16}}")
LOCK = "lock"


def make(parent: Path, kind: str) -> tuple[Path, FileIO]:
    """Make a folder and take its lock, which must stay open; remove what dead processes left beside it.

    >>> import tempfile
    >>> folder, lock = make(Path(tempfile.gettempdir()), SPILL)
    >>> remove(folder, lock, os.getpid())
    """
    remove_leftovers(parent)
    while True:
        folder = parent / f"{kind}-{os.getpid()}-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        lock = None
        try:
            lock = FileIO(folder / LOCK, "x+", opener=_private)
            lock.write(_owner(os.getpid()))
            locked = _take(lock)
            # Another start may have taken the folder for a leftover before it was locked: then try another.
            if locked is not False and os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK).stat()):
                return folder, lock
        except FileNotFoundError:
            pass
        except BaseException:
            _remove(folder, lock)
            raise
        _remove(folder, lock)


def remove(folder: Path, lock: FileIO, owner: int) -> None:
    """Remove a folder of files, if this is the process that made it."""
    if os.getpid() == owner:  # a forked child ends without taking its parent's files along
        _remove(folder, lock)


def remove_leftovers(parent: Path) -> None:
    """Remove what dead processes of the same user left in a folder."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode) and status.st_uid == getattr(os, "geteuid", lambda: 0)():
                        _remove_if_dead(Path(entry.path))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _take(lock: FileIO) -> bool | None:
    """Take a lock: whether nobody else has it, None where the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_if_dead(folder: Path) -> None:
    try:
        lock = FileIO(folder / LOCK, "r+", opener=_private)
    except FileNotFoundError:
        folder.rmdir()  # the lock is removed last, so the folder is empty, or its owner is about to try another
        return
    with lock:
        taken = _take(lock)
        if taken or (taken is None and _is_dead(folder, lock)):
            _remove(folder, lock)


def _owner(process: int) -> bytes:
    """The computer, and when a process began on it: together with its id, no other process has both."""
    try:
        began = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        began = ""
    return f"{socket.gethostname()} {began}".encode()


def _is_dead(folder: Path, lock: FileIO) -> bool:
    """Whether the owner of a folder is gone, where the file system has no locks."""
    owner = lock.read(1000) or b""
    if owner.partition(b" ")[0] != socket.gethostname().encode():
        return False  # a process of another computer, or one that has not yet said who it is
    name = NAME.fullmatch(folder.name)
    assert name is not None
    try:
        os.kill(int(name[1]), 0)
    except (ProcessLookupError, PermissionError, OverflowError):  # nobody, or somebody else's
        return True
    return owner != _owner(int(name[1]))


def _remove(folder: Path, lock: FileIO | None) -> None:
    """Remove a folder of files, the lock last; what cannot be removed now is left to the next start."""
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder), key=lambda name: name == LOCK):
            with contextlib.suppress(FileNotFoundError):
                if (folder / name).is_dir() and not (folder / name).is_symlink():
                    shutil.rmtree(folder / name)
                else:
                    (folder / name).unlink()
    # A removed file that is still open keeps its folder on some file systems.
    if lock is not None:
        lock.close()
    with contextlib.suppress(OSError):
        folder.rmdir()
