"""The sample that a curve is laid by, drawn from records that were brought together by what they hold.

Which records it has hangs on how often each is there (:mod:`rothko.methods.curve.sample`). So every record goes to one
of many files by a hash of its codes, and the files draw one after the other. The source is not read again: the files
have all of each record, and from there they go on along the curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.disk.laid import SIDE_BY_SIDE
from rothko.engines.disk.spill import Spill, Spilled
from rothko.methods.curve.sample import bar_for, chances_of, code_words, drawn, in_codes, in_question, summed
from rothko.progress import each

TOGETHER = 1 << 18
"""About how many records draw at a time."""


def brought_together(records: Iterable[Coded], outline: Outline, spill: Spill, memory: int) -> list[Spilled]:
    """All records, which pass by once, in files that have equal ones together."""
    slots = 1 + outline.rows // TOGETHER
    writer = spill.writer(outline, parts=slots, memory=memory)
    for coded in records:
        slot = chances_of(_words(coded, outline), np.zeros(coded.rows, dtype=np.int64), 0) % np.uint64(slots)
        writer.write(slot.astype(np.int32), coded)
    return writer.close()


def drawn_from(files: Sequence[Spilled], outline: Outline, size: int, seed: int, *, threads: int = 1) -> Encoded:
    """The sample that the memory engine draws of all records."""
    more = 1
    while True:
        bar = bar_for(size, outline.rows, more)
        draw = partial(_drawn, outline=outline, bar=bar, seed=seed)
        found = each(draw, [one for one in files if one.rows], min(threads, SIDE_BY_SIDE))
        words = np.concatenate([some for some, _ in found], axis=1)
        chances = np.concatenate([some for _, some in found])
        if len(chances) >= size or more >= outline.rows:
            break
        more *= 2
    return in_codes(words, chances, size, Encoded(outline.lines, outline.nobody().codes, {}))


def _drawn(file: Spilled, outline: Outline, bar: np.uint64, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Those of the records of a file that have drawn no more than a bar, and what they have drawn."""
    words = np.concatenate([_words(coded, outline) for coded in file.batches()], axis=1)
    return drawn(*summed(in_question(words, bar, seed)), bar, seed)


def _words(coded: Coded, outline: Outline) -> NDArray[np.uint64]:
    return code_words(Encoded(outline.lines, coded.codes, {}))
