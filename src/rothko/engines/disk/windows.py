"""A segment of a curve that does not fit in memory with all its columns: its codes do, and they say what is grouped.

So its classes are made of codes alone. Then its records are written to files once more, by windows of classes that
follow each other, each of which fits with all columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded
from rothko.engines.along import check_sizes
from rothko.engines.disk.laid import parted
from rothko.engines.disk.spill import Spill, Spilled
from rothko.engines.disk.store import gathered
from rothko.engines.divided import BySegment
from rothko.engines.part import Part
from rothko.engines.plan import Budget
from rothko.methods.classes import Classes, LocalClasses
from rothko.methods.curve.segments import Segment
from rothko.trim import give_back

Ints = NDArray[np.int64]


def in_windows(divided: BySegment, leaf: int, files: Sequence[Spilled], shares: Budget, spill: Spill) -> Iterator[Part]:
    """The classes of a segment, window by window."""
    found = _grouped(divided, leaf, files)
    check_sizes(divided.method, [Segment(0, int(rows)) for rows in found.sizes], shares.tuples, "memory holds")
    windows = windows_of(found.sizes, shares.tuples)
    window_of = np.searchsorted(windows[1:], found.class_of(), side="right").astype(np.int32)
    give_back()
    writer = spill.writer(divided.outline, parts=len(windows) - 1, memory=shares.buffers)
    done = 0
    for file in files:
        for coded in file.batches():
            writer.write(window_of[done : done + coded.rows], parted(coded)[0])
            done += coded.rows
    class_of = found.class_of()
    for i, file in enumerate(writer.close()):
        give_back()
        coded, classes = file.load(), class_of[window_of == i]
        file.remove()
        encoded = divided.outline.encoded(coded)
        these = np.arange(windows[i], windows[i + 1])
        yield Part(encoded, some_of(found, classes - these[0], these), coded.kept, leaf)


def _grouped(divided: BySegment, leaf: int, files: Sequence[Spilled]) -> LocalClasses:
    """The classes of a segment, of its codes alone, in the order of the files."""
    some, ties = list[Coded](), list[NDArray[np.uint64]]()
    for file in files:
        for coded in file.batches():
            bare, drawn = parted(coded)
            some.append(replace(bare, kept=pa.table({})))
            ties.append(drawn)
    coded = gathered(some)
    some.clear()
    found: Classes = divided.finish_some(coded, np.concatenate(ties), slice(leaf, leaf + 1)).partition
    assert isinstance(found, LocalClasses)
    return found


def windows_of(sizes: Ints, most: int) -> Ints:
    """The first of the classes that have so many records together, at most, and their number at the end.

    >>> windows_of(np.array([3, 3, 5, 2, 9]), 8).tolist()
    [0, 2, 4, 5]
    """
    found, rows = [0], 0
    for i, size in enumerate(sizes.tolist()):
        if rows and rows + size > most:
            found.append(i)
            rows = 0
        rows += size
    return np.array([*found, len(sizes)])


def some_of(found: LocalClasses, class_of: NDArray[np.integer], these: Ints) -> LocalClasses:
    """Some of the classes, given which of these each of their records is in, as they lie now."""
    from rothko.kernels.order import arrange

    order, starts = arrange(class_of.astype(np.int32), len(these))
    sets = {i: members.take(these) for i, members in found.sets.items()}
    return LocalClasses(order, starts, found.low[these], found.high[these], sets, notes=found.notes)
