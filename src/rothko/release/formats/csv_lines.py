"""A text file as its lines, those that are alike and stand together once, and how often each is there.

Records of a class that keep the same are the same line, and stand together: a million lines may be some thousand
different ones. Telling a line from the one before it takes a tenth of the time of telling their fields apart, so it
comes first, and only lines that differ are read field by field, by the same reader with the same options as a whole
file.

A line is a record where every line has an even number of quotes: then each begins and ends outside of them (a field
with a line end in it has its quotes on different lines). Where that does not hold, or where most lines are different,
the file is read as it is.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.source.mapped import by_block

LOOKED_AT = 1 << 20
"""The first bytes of a file, which tell whether lines repeat."""
OFTEN = 4
"""How many lines are alike on average, at least, for this to be worth it."""
BYTES = pa.large_binary()
"""Lines are compared as they stand; whether they are text is seen by who reads their fields."""


def repeats(path: Path) -> bool:
    """Whether at the beginning of a file several lines at a time are alike."""
    with path.open("rb") as file:
        lines = file.read(LOOKED_AT).split(b"\n")[1:-1]
    return len(lines) >= OFTEN * max(sum(1 for _ in itertools.groupby(lines)), 1)


def lines_once(path: Path) -> pa.Table | None:
    """The lines of a file after the first, those that stand together once: ``line``, and how many they are: ``times``.

    None where they are not its records.
    """
    from rothko.kernels.text import line_runs

    with path.open("rb") as file:
        header = len(file.readline())

    def look(data: NDArray[np.uint8], begin: int, end: int) -> tuple[NDArray[np.int64], bytes]:
        begin = min(max(begin, header), end)
        runs = np.empty((3, end - begin), dtype=np.int64)  # most of it is never touched
        first, lengths, times = runs[:, : line_runs(data, begin, end, *runs)].copy()
        held, ends = data.data, (first + lengths).tolist()
        return np.stack([lengths, times]), b"".join([held[a:b] for a, b in zip(first.tolist(), ends, strict=True)])

    found = by_block(path, look)
    lengths, times = np.concatenate([runs for runs, _ in found], axis=1)
    if not lengths.all():
        return None  # readers pass over empty lines
    buffers = [np.concatenate([[0], np.cumsum(lengths)]), b"".join(lines for _, lines in found)]
    lines = pa.LargeBinaryArray.from_buffers(BYTES, len(lengths), [None, *map(pa.py_buffer, buffers)])
    if pc.any(pc.match_substring(lines, "\r"), min_count=0).as_py():
        return None
    odd = pc.bit_wise_and(pc.count_substring(lines, '"'), 1)
    if pc.any(odd.cast(pa.bool_()), min_count=0).as_py():
        return None
    return pa.table({"line": lines, "times": times})


def counted_lines(lines: pa.Table, delimiter: str, folder: Path) -> tempfile._TemporaryFileWrapper[bytes]:
    """A file of lines, each after the number of times it is there; it is gone when it is closed."""
    times = lines["times"].cast(pa.large_string()).cast(BYTES)
    words = [times, pa.scalar(delimiter, BYTES), lines["line"], pa.scalar("\n", BYTES)]
    ended = pc.binary_join_element_wise(*words, pa.scalar("", BYTES)).combine_chunks()
    file = tempfile.NamedTemporaryFile(dir=folder, prefix=".lines-")  # noqa: SIM115 - the caller closes it
    file.write(memoryview(ended.buffers()[2])[: pc.sum(pc.binary_length(ended), min_count=0).as_py()])
    file.flush()
    return file
