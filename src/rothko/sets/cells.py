"""Columns of a table as what items are made of: texts, numbers, bins."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.errors import InputError


def cells(column: pa.ChunkedArray, name: str) -> pa.Array:
    """The cells as text, blank ones as missing."""
    try:
        texts = column.cast(pa.large_string())
    except pa.ArrowException:
        raise InputError(f"The column {name!r} is of type {column.type}, which cannot be told as text.") from None
    texts = pc.utf8_trim_whitespace(texts)
    return one_array(pc.if_else(pc.equal(texts, ""), None, texts))


def binned(column: pa.ChunkedArray, width: float, name: str) -> pa.Array:
    """Numbers as the bins ``[low, high)`` in which they lie."""
    if not 0 < width < math.inf:
        raise InputError(f"The bins of {name!r} must be wider than 0, not {width!r}.")
    values = one_array(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(f"The column {name!r} is of type {values.type}; only numbers can be binned.")
    numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if np.isinf(numbers).any():
        raise InputError(f"The column {name!r} has infinite numbers, which lie in no bin.")
    missing = np.isnan(numbers)
    places, inverse = np.unique(np.floor(numbers[~missing] / width), return_inverse=True)
    labels = pa.array([f"[{place * width:.12g}, {(place + 1) * width:.12g})" for place in places], pa.large_string())
    codes = np.zeros(len(numbers), dtype=np.int64)
    codes[~missing] = inverse
    return labels.take(pa.array(codes, mask=missing))


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def numbers_of(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    """Utilities, NaN where one is missing."""
    try:
        return cast("NDArray[np.float64]", column.cast(pa.float64()).to_numpy())
    except pa.ArrowException:
        raise InputError(f"The column {name!r} has cells that are no numbers; a utility is a number.") from None
