"""From values as a source stores them to codes, a batch at a time, by what is known of the whole column.

A lookup takes a column of a batch and writes a code for every record; -1 for a value that was not there when the
lookup was made, and for a missing one where the column had none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import Codes, whole_numbers
from rothko.data.survey.distinct import as_stored, is_whole, presence, stored_numbers

Lookup = Callable[[pa.ChunkedArray, Codes], None]
Numbers = NDArray[Any]
"""Of type int64 or float64."""


def make_lookup(values: pa.Array, codes: Codes, absent: int) -> Lookup:
    """The lookup that gives each of some distinct values its code.

    Parameters
    ----------
    values
        As the source stores them.
    codes
        One for each.
    absent
        The code of what is missing.
    """
    if is_whole(values.type):
        numbers = whole_numbers(values)
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        if high - low < 4 * len(numbers) + 65_536:
            return _by_table(numbers, codes, absent, low, high)
        return _by_search(numbers, codes, absent)
    if pa.types.is_floating(values.type):
        return _by_search(values.to_numpy(zero_copy_only=False).astype(np.float64), codes, absent)
    return _by_hashing(values, codes, absent)


def as_numbers(array: pa.Array) -> Numbers:
    """Whole numbers, dates and timestamps as int64, others as float64; anything where there is none."""
    if is_whole(array.type):
        return whole_numbers(array)
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _by_table(numbers: NDArray[np.int64], codes: Codes, absent: int, low: int, high: int) -> Lookup:
    from rothko.kernels.lookup import look_up

    table = np.full(high - low + 1, -1, dtype=np.int32)
    table[numbers - low] = codes

    def look(column: pa.ChunkedArray, out: Codes) -> None:
        array = as_stored(column)
        look_up(stored_numbers(array), presence(array), low, table, absent, out)

    return look


def _by_search(numbers: Numbers, codes: Codes, absent: int) -> Lookup:
    # What is no number counts as missing (rothko.data.typed), and is like no key.
    keep = numbers == numbers
    order = np.argsort(numbers[keep])
    keys, of_key = numbers[keep][order], np.append(codes[keep][order], np.int32(-1))

    def look(column: pa.ChunkedArray, out: Codes) -> None:
        array = as_stored(column)
        held = as_numbers(array)
        place = np.searchsorted(keys, held)
        out[:] = of_key[place]
        found = np.zeros(len(held), dtype=np.bool_)
        inside = place < len(keys)
        found[inside] = keys[place[inside]] == held[inside]
        out[~found] = -1
        gone = held != held
        present = presence(array)
        out[gone if not present.size else gone | ~present] = absent

    return look


def _by_hashing(values: pa.Array, codes: Codes, absent: int) -> Lookup:
    of_value = np.append(codes, np.int32(-1))

    def look(column: pa.ChunkedArray, out: Codes) -> None:
        array = as_stored(column)
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        words = as_stored(array.dictionary)
        found = pc.fill_null(pc.index_in(words, value_set=values), -1).to_numpy()
        of_word = np.append(of_value[found], np.int32(absent))
        if words.null_count:
            of_word[:-1][~presence(words)] = absent
        out[:] = of_word[pc.fill_null(array.indices, len(words)).to_numpy(zero_copy_only=False)]

    return look
