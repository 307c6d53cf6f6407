"""Where compiled kernels are kept between runs, so that a machine compiles them once.

The first of these that can be written: NUMBA_CACHE_DIR, where it is set; beside the kernels; the user's folder for
caches; and a private one among the temporary files, for containers with nothing else. The name of the folder is a hash
of all kernels: Numba looks at the file of a function alone, and would take a kernel with the old code of those that it
calls.

What lies beside the kernels and cannot be written there (an image that was warmed by its builder, an installation of
somebody else) is copied to where it can. It is code that is run: of the other places only those are taken that nobody
else can write.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from numba import config
from numba.misc.appdirs import AppDirs

KERNELS = Path(__file__).parent
BEGINS = "rothko-"


def fingerprint() -> str:
    """A hash of all kernels."""
    found = hashlib.sha256()
    for source in sorted(KERNELS.rglob("*.py")):
        found.update(source.relative_to(KERNELS).as_posix().encode())
        found.update(source.read_bytes())
    return found.hexdigest()[:16]


def folder() -> Path:
    """The folder to keep compiled kernels in; made where it is not there."""
    name = f"{BEGINS}{hashlib.sha256(os.fsencode(KERNELS)).hexdigest()[:8]}-{fingerprint()}"
    for parent in _parents():
        found = parent / name
        with suppress(OSError):
            if not found.exists():
                _make(found)
            if os.access(found, os.W_OK):
                return found
    return _temporary(name)


def _parents() -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield KERNELS / "__pycache__"
    own = Path(AppDirs("rothko", appauthor=False).user_cache_dir)
    # Who has no home has "~": a folder where the program happens to run, in which others may write.
    if own.is_absolute():
        yield own


def _make(found: Path) -> None:
    """Make a folder, with what lies beside the kernels in it; and remove those of kernels that have changed since."""
    found.parent.mkdir(parents=True, exist_ok=True)
    kept = KERNELS / "__pycache__" / found.name
    made = Path(tempfile.mkdtemp(prefix=".", dir=found.parent))
    try:
        if kept != found and kept.is_dir():
            shutil.copytree(kept, made, dirs_exist_ok=True, copy_function=shutil.copyfile)
            for inner in made.iterdir():
                inner.chmod(0o700)  # copied with it: what must not be written
        made.chmod(0o755 if found.parent == KERNELS / "__pycache__" else 0o700)
        with suppress(OSError):  # another process was faster
            made.rename(found)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    ours, _, _ = found.name.rpartition("-")
    for old in found.parent.glob(f"{ours}-*"):
        if old != found:
            shutil.rmtree(old, ignore_errors=True)


def _temporary(name: str) -> Path:
    """A folder that only this user can write, among the temporary files; one that ends with the process if need be."""
    own = Path(tempfile.gettempdir()) / f"rothko-of-{os.getuid() if hasattr(os, 'getuid') else 'me'}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        about = own.lstat()
        if stat.S_ISDIR(about.st_mode) and (
            not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o077)
        ):
            if not (own / name).exists():
                _make(own / name)
            _say(f"kept in {own}")
            return own / name
    lost = Path(tempfile.mkdtemp(prefix=BEGINS))
    atexit.register(shutil.rmtree, lost, ignore_errors=True)
    _say("compiled anew by each process")
    return lost


def _say(what: str) -> None:
    warnings.warn(
        f"Neither the installation of rothko nor a folder for caches can be written: compiled code is {what}. Set "
        "NUMBA_CACHE_DIR to a folder that stays, or run `rothko warm` as the owner of the installation.",
        RuntimeWarning,
        stacklevel=2,
    )
