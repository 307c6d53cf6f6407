"""The bytes of a file, wherever it lies: on this machine, or in an object store, by ranges or from its beginning on."""

from __future__ import annotations

import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from rothko.data.address import Store, is_store
from rothko.errors import InputError

AT_ONCE = 16
"""Questions that a store is asked at a time."""

SMALL = 1 << 21
"""The bytes of a file that one thread reads as fast as several, and of which a few may be in memory under any limit."""


def in_order(path: Path, packed: str | None = None) -> pa.NativeFile:
    """The bytes from the first to the last.

    Parameters
    ----------
    packed
        How they are compressed, as Arrow calls it. Said, and not left to Arrow's guess at the ending, which takes .GZ
        for text.
    """
    if is_store(path):
        return pa.input_stream(Store.of(path).stream(path), compression=packed)
    return pa.input_stream(str(path), compression=packed)


def by_range(path: Path) -> str | pa.NativeFile:
    """What a reader takes that goes to and fro in a file."""
    return Store.of(path).ranges(path) if is_store(path) else str(path)


def size_of(path: Path) -> int:
    """How many bytes a file has."""
    return Store.of(path).size(path) or 0 if is_store(path) else path.stat().st_size


def stamp(path: Path) -> tuple[str | int, ...]:
    """What tells a file from what it is after a change; nothing where it is gone."""
    if is_store(path):
        return Store.of(path).stamp(path)
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def unread(path: Path, damaged: str) -> InputError:
    """What is said of a file that cannot be read: that it is damaged, unless it is gone, or its store is."""
    try:
        gone = not stamp(path)
    except InputError as error:  # of the store
        return error
    if gone:
        return InputError(f"{path.name} is gone while it was read; start again.")
    if not is_store(path) and not os.access(path, os.R_OK):
        return InputError(f"{path.name} cannot be read: permission is denied.")
    return InputError(damaged)


def at_once(path: Path) -> int:
    """How many files are opened side by side that lie where this one does: questions to a store are waited for.

    Of this machine one by one: nearly all of it is Python, and a second thread makes it dearer and no quicker.
    """
    return AT_ONCE if is_store(path) else 1


def stamps(paths: Collection[Path]) -> list[tuple[str | int, ...]]:
    """The same of several; those in a store are asked for side by side."""
    if len(paths) < 2 or not is_store(next(iter(paths))):
        return [stamp(path) for path in paths]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(stamp, paths))
