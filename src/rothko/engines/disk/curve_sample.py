"""The sample that a curve is laid by, drawn from records that pass by once.

Which records it has hangs on how often each is there (:mod:`rothko.methods.curve.sample`). So equal ones are brought
together: every record goes to one of many files by a hash of its codes, and the files draw one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.disk.spill import Spill
from rothko.methods.curve.sample import bar_for, chances_of, code_words, drawn, in_codes, summed

TOGETHER = 1 << 18
"""About how many records draw at a time."""


def drawn_from(records: Iterable[Coded], outline: Outline, size: int, seed: int, spill: Spill, memory: int) -> Encoded:
    """The sample that the memory engine draws of all records, which pass by once."""
    bare = replace(outline, domains={}, sensitive=(), targets=(), owner=None)
    slots = 1 + outline.rows // TOGETHER
    writer = spill.writer(bare, parts=slots, memory=memory)
    for coded in records:
        words = code_words(Encoded(outline.lines, coded.codes, {}))
        slot = chances_of(words, np.zeros(coded.rows, dtype=np.int64), 0) % np.uint64(slots)
        writer.write(slot.astype(np.int32), Coded(coded.codes, {}, pa.table({})))
    files, more = writer.close(), 1
    while True:
        bar = bar_for(size, outline.rows, more)
        found = [drawn(*summed(code_words(bare.encoded(file.load()))), bar, seed) for file in files]
        words = np.concatenate([some for some, _ in found], axis=1)
        chances = np.concatenate([some for _, some in found])
        if len(chances) >= size or more >= outline.rows:
            break
        more *= 2
    for file in files:
        file.remove()
    return in_codes(words, chances, size, bare.encoded(bare.nobody()))
