"""The bytes of a file as they lie there, looked through in blocks, side by side."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.source.csv import BLOCK_BYTES
from rothko.progress import count_threads, each

Found = TypeVar("Found")


def by_block(path: Path, look: Callable[[NDArray[np.uint8], int, int], Found]) -> list[Found]:
    """What is found in each block of a file that is not empty, in their order.

    Parameters
    ----------
    look
        A kernel is given all bytes, and where the block begins and ends.
    """
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    data = np.frombuffer(mapped, dtype=np.uint8)

    def looked(begin: int) -> Found:
        end = min(begin + BLOCK_BYTES, len(data))
        found = look(data, begin, end)
        if hasattr(mapped, "madvise"):  # pages that were looked at would count as memory of this process
            mapped.madvise(mmap.MADV_DONTNEED, begin, end - begin)
        return found

    return each(looked, range(0, len(data), BLOCK_BYTES), count_threads(None))
