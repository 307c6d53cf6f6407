"""Records, with what boxes around them cost: the NCP of intervals of codes, looked up where codes are few."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import compiled, inlined
from rothko.kernels.boxes import NOMINAL, ORDERED, TINY, Lines, along, share, width_of

FEW = 1024
"""The most codes of a line whose intervals are all looked up."""


class Records(NamedTuple):
    """Records, with what boxes around them cost."""

    codes: NDArray[np.int32]
    """(records, lines)."""
    lines: Lines
    pairs: NDArray[np.float64]
    """The NCP of every interval of codes, of lines with few of them; asking trees took nine tenths of the time."""
    pairs_at: NDArray[np.int64]
    """Where these of each line begin; -1: too many codes."""
    at: NDArray[np.int64]
    """Where the marks of each nominal line begin, and how many marks there are in all."""


@inlined
def penalty(lines, spec, places, scales, pairs, pairs_at, a, low, high, values):
    """NCP on line ``a``, times its weight, of codes from ``low`` to ``high``; of a nominal line, of so many values.

    Arrays one by one, taken out of the tuples before the loop: within it that took half the time again.
    """
    found = 0.0
    if low != high:
        if pairs_at[a] >= 0:
            found = pairs[pairs_at[a] + low * spec[a, 1] + high]
        elif high == spec[a, 2]:
            found = scales[a, 0]
        elif spec[a, 0] == NOMINAL:
            found = share(spec, scales, a, values)
        elif spec[a, 0] == ORDERED:
            found = max(along(spec, places, scales, a, low, high), TINY)
        else:
            found = width_of(lines, a, low, high)
    return found


@compiled
def look_up(codes, lines):
    """Records, with the NCP of intervals looked up."""
    spec = lines.spec
    d = spec.shape[0]
    pairs_at, at = np.full(d, -1, dtype=np.int64), np.zeros(d + 1, dtype=np.int64)
    total = 0
    for a in range(d):
        at[a + 1] = at[a] + (spec[a, 1] if spec[a, 0] == NOMINAL else 0)
        if spec[a, 0] != NOMINAL and spec[a, 1] <= FEW:
            pairs_at[a] = total
            total += spec[a, 1] ** 2
    pairs = np.zeros(total)
    for a in range(d):
        for low in range(spec[a, 1] if pairs_at[a] >= 0 else 0):
            for high in range(low, spec[a, 1]):
                pairs[pairs_at[a] + low * spec[a, 1] + high] = width_of(lines, a, low, high)
    return Records(codes, lines, pairs, pairs_at, at)
