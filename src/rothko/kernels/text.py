"""Joining fields to lines of text."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled


@compiled
def join_fields(indices, bases, offsets, data, first, last):
    """The lines ``first … last`` of a table as bytes.

    Column c of row i is field ``bases[c] + indices[c, i]``, which is ``data[offsets[f] : offsets[f + 1]]`` with
    its delimiter or line end.
    """
    total = 0
    for i in range(first, last):
        for c in range(bases.size):
            field = bases[c] + indices[c, i]
            total += offsets[field + 1] - offsets[field]
    out = np.empty(total, dtype=np.uint8)
    at = 0
    for i in range(first, last):
        for c in range(bases.size):
            field = bases[c] + indices[c, i]
            for j in range(offsets[field], offsets[field + 1]):
                out[at] = data[j]
                at += 1
    return out
