"""Reading whole numbers from text, and looking over the bytes and lines of a CSV file."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled


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
    """How many quotes there are, and whether a field begins with a zero and another digit, perhaps after a minus.

    Looks at the bytes ``begin … end`` and their neighbours, without branches: many are compared at once.
    """
    quotes = 0
    for i in range(begin, end):
        quotes += data[i] == quote
    zeros = False
    for i in range(max(begin, np.uint64(2)), min(end, np.uint64(max(data.size, 1) - 1))):
        before, last, here, after = data[i - np.uint64(2)], data[i - np.uint64(1)], data[i], data[i + np.uint64(1)]
        edge = (last == delimiter) | (last == quote) | (last == 10) | (last == 13)
        far = (before == delimiter) | (before == quote) | (before == 10) | (before == 13)
        zeros |= (here == 48) & (after >= 48) & (after <= 57) & (edge | ((last == 45) & far))
    if begin == 0 and data.size > 1:  # the first field has no edge before it
        at = 1 if data[0] == 45 else 0
        zeros |= data[at] == 48 and at + 1 < data.size and 48 <= data[at + 1] <= 57
    return quotes, zeros


@compiled
def line_runs(data, begin, end, first, length, times):
    """The lines that begin in the bytes ``begin … end``, each run of equal ones once; returns how many runs there are.

    Writes where the first line of each run begins, how long it is without its end, and how many lines the run has. A
    line is compared with the one before it, many bytes at once; only one that differs is looked through for its end.
    """
    at = begin
    while at > 0 and at < end and data[at - 1] != 10:
        at += 1
    count = before = reach = 0
    while at < end:
        if count > 0 and at + reach <= data.size:
            old, new, different = np.uint64(before), np.uint64(at), np.uint8(0)
            for i in range(np.uint64(reach)):
                different |= data[old + i] ^ data[new + i]
            if different == 0:
                times[count - 1] += 1
                at += reach
                continue
        before = at
        while at < data.size and data[at] != 10:
            at += 1
        first[count], length[count], times[count] = before, at - before, 1
        at += 1
        reach = at - before
        count += 1
    return count
