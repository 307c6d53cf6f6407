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


@compiled
def parse_integers(offsets, data, present, out):
    """Read texts as whole numbers if every one is written as a computer would write it; False at the first other.

    No blanks, no plus, no leading zeros, at most 18 digits: what is read can be written back to the same text.
    """
    for i in range(offsets.size - 1):
        if not present[i]:
            out[i] = 0
            continue
        at, end = offsets[i], offsets[i + 1]
        negative = at < end and data[at] == 45
        at += negative
        digits = end - at
        if digits < 1 or digits > 18 or (data[at] == 48 and (digits > 1 or negative)):
            return False
        number = np.int64(0)
        for j in range(at, end):
            digit = np.int64(data[j]) - 48
            if digit < 0 or digit > 9:
                return False
            number = number * 10 + digit
        out[i] = -number if negative else number
    return True


@compiled
def survey(data, begin, end, delimiter, quote):
    """How many quotes there are, and whether a field begins with a zero and another digit, perhaps after a minus."""
    quotes = 0
    zeros = False
    for i in range(begin, end):
        c = data[i]
        quotes += c == quote
        if c == 48 and i + 1 < data.size and 48 <= data[i + 1] <= 57:
            j = i - 1
            if j >= 0 and data[j] == 45:
                j -= 1
            zeros = zeros or j < 0 or data[j] == delimiter or data[j] == quote or data[j] == 10 or data[j] == 13
    return quotes, zeros
