"""Records of the dearest classes of a range of a curve, which go on to the next one.

A record is dear where its range has few like it, and there may be more beyond the seam. So the classes that lose most
are not published: their records are clustered anew with those of the next range, as many as it has room for. The last
range keeps what it is given. A class that goes on goes as a whole, so that those that stay meet what they met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.line import Line
from rothko.data.survey.coded import Coded
from rothko.engines.disk.windows import some_of
from rothko.engines.part import Part
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.segments import Segment

SHARE = 0.5
"""How much of what is clustered may go on, where there is room for more."""


def rooms(segments: Sequence[Segment], tuples: int) -> dict[int, int]:
    """How many records each segment may hand on to the next of those that are clustered in memory.

    >>> rooms([Segment(0, 60), Segment(7, 300, True), Segment(8, 75), Segment(9, 40)], 100)
    {0: 25, 2: 60, 3: 0}
    """
    some = [i for i, segment in enumerate(segments) if not segment.alike and segment.rows <= tuples]
    free = [tuples - segments[i].rows for i in some[1:]]
    return dict(zip(some, [*free, 0], strict=False))


def dearest(found: LocalClasses, lines: Sequence[Line], most: int) -> NDArray[np.bool_]:
    """Whether each class is one of those that lose most, of no more than so many records together."""
    lost = (found.widths(lines) * np.array([line.weight for line in lines])).sum(axis=1)
    order = np.argsort(-lost, kind="stable")
    held = np.cumsum(found.sizes[order]) <= most
    dear: NDArray[np.bool_] = np.zeros(found.classes, dtype=np.bool_)
    dear[order[held]] = True
    dear &= lost > 0
    return dear


def without_dearest(part: Part, given: Coded, lines: Sequence[Line], room: int) -> tuple[Part, Coded]:
    """A part without its dearest classes, and their records as they were given.

    Parameters
    ----------
    given
        The records of the part, with what they have drawn.
    lines
        By which classes are dear.
    room
        How many records there may be.
    """
    found = part.partition
    assert isinstance(found, LocalClasses)
    dear = dearest(found, lines, min(room, int(SHARE * part.rows)))
    class_of = found.class_of()
    stay = np.flatnonzero(~dear[class_of])
    number = np.cumsum(~dear, dtype=np.int32) - np.int32(1)
    kept = some_of(found, number[class_of[stay]], np.flatnonzero(~dear))
    left = replace(part, encoded=part.encoded.take(stay), partition=kept, kept=part.kept.take(pa.array(stay)))
    return left, given.take(np.flatnonzero(dear[class_of]))
