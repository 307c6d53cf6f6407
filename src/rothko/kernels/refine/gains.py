"""Top-Down Refinement: what may become of a part of a line, and what that gains, compiled.

Paper: Fung, Wang, Yu, Anonymizing Classification Data for Privacy Preservation, TKDE 19(5), 2007, section 3. InfoGain
is the fall of the entropy of class labels; without labels it is the NCP that is saved for each record of the table.
Both depend on the part and its children alone, so they are taken from counts by code. They are whole numbers up to
the last division: what is equal comes out equal in whatever order it is added up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import inlined, linked
from rothko.kernels.boxes import Lines, children_between, share, width_of

SCALE = 2.0**24
"""Logarithms and NCP are kept in multiples of one over this."""


class Columns(NamedTuple):
    """The quasi-identifiers of a table; the codes of all of them stand one after the other."""

    lines: Lines
    """With weights of one."""
    weights: NDArray[np.float64]
    at: NDArray[np.int64]
    """Where the codes of each line begin, and their end."""
    before: NDArray[np.int64]
    """How many records have a code below each, and at the end of a line all: line i begins at ``at[i] + i``."""
    least: NDArray[np.int64]
    """The fewest records that a part can have."""
    letter: bool
    """Whether the paper is read to the letter: the best split of all, and a last suppressed value that may stay so."""


class Labels(NamedTuple):
    """How often each code has each class label. A record without a label does not count."""

    labels: NDArray[np.int32]
    amounts: NDArray[np.int64]
    places: NDArray[np.int64]
    """Where the labels of each code begin, and the end; those of a line and a task from ``at[line, task]`` on."""
    at: NDArray[np.int64]
    counts: NDArray[np.int64]
    """How many labels each task has."""
    seen: NDArray[np.bool_]
    """(lines, tasks): whether the model looks at the line."""
    logs: NDArray[np.int64]
    """c·log₂ c of small counts; see :func:`log`."""


@inlined
def log(logs, count):
    """c·log₂ c as a whole number: of a table while it has it, which larger counts are too rare to be worth."""
    return logs[count] if count < logs.size else np.int64(np.rint(count * np.log2(np.float64(count)) * SCALE))


@linked
def split(columns, labels, i, low, high, gains, whole, side):
    """The cut of an interval that gains most, and its gain; -1 where there is none, or it would not be beneficial.

    Only cuts that leave enough records on both sides: no other can ever be valid. To the letter of the paper the best
    of all cuts, and none where that one leaves too few.
    """
    at = columns.at[i]
    before = columns.before[at + i : columns.at[i + 1] + i + 1]
    least = max(columns.least[i], np.int64(1))
    if low == high or before[high + 1] - before[low] < 2 * least:
        return np.int64(-1), 0.0
    for cut in range(high - low):
        gains[cut] = 0.0
    if labels.counts.size == 0:
        _save(columns, before, i, low, high, gains)
    elif not several_labels(labels, i, low, high):
        return np.int64(-1), 0.0
    for t in range(labels.counts.size):
        if labels.seen[i, t]:
            split_gains(
                labels.labels, labels.amounts, labels.places[labels.at[i, t] :], low, high, labels.logs,
                whole[: labels.counts[t]], side[: labels.counts[t]], gains,
            )  # fmt: skip
    cut, gain = choose_cut(gains, before, low, high, np.int64(1) if columns.letter else least)
    if cut >= 0 and min(before[cut] - before[low], before[high + 1] - before[cut]) < least:
        return np.int64(-1), 0.0
    if labels.counts.size == 0 and gain <= 0:
        return np.int64(-1), 0.0
    return cut, gain


@linked
def specialise(columns, labels, i, low, high, whole, side):
    """What is gained by going from a node of a tree to its children; -1 where that would not be beneficial."""
    if low == high:
        return -1.0
    first, count = children_between(columns.lines, i, low, high)
    if labels.counts.size == 0:
        before = columns.before[columns.at[i] + i : columns.at[i + 1] + i + 1]
        saved = _certainty(columns, i, low, high) * (before[high + 1] - before[low])
        for child in range(first, first + count):
            begin, end = np.int64(columns.lines.tree[child, 1]), np.int64(columns.lines.tree[child, 2])
            saved -= _certainty(columns, i, begin, end) * (before[end + 1] - before[begin])
        return columns.weights[i] * saved / (before[-1] * SCALE) if saved > 0 else -1.0
    if not several_labels(labels, i, low, high):
        return -1.0
    gain = 0.0
    for t in range(labels.counts.size):
        if labels.seen[i, t]:
            gain += children_gain(
                labels.labels, labels.amounts, labels.places[labels.at[i, t] :], low, high, columns.lines.tree, first,
                count, labels.logs, whole[: labels.counts[t]], side[: labels.counts[t]],
            )  # fmt: skip
    return gain


@linked
def disclose(columns, labels, i, codes, gains, whole):
    """What is gained by disclosing each of some suppressed values; False where no value is worth it."""
    for j in range(codes.size):
        gains[j] = 0.0
    if labels.counts.size == 0:
        return _save_values(columns, i, codes, gains)
    several = False
    for t in range(labels.counts.size):
        found = value_gains(
            labels.labels, labels.amounts, labels.places[labels.at[i, t] :], codes, labels.logs,
            whole[: labels.counts[t]], gains, labels.seen[i, t],
        )  # fmt: skip
        several = several or found > 1
    return several


@linked
def several_labels(labels, i, low, high):
    """Whether the codes ``low … high`` have more than one class label, of any task."""
    for t in range(labels.counts.size):
        places = labels.places[labels.at[i, t] :]
        begin, end = places[low], places[high + 1]
        for j in range(begin + 1, end):
            if labels.labels[j] != labels.labels[begin]:
                return True
    return False


@linked
def _certainty(columns, i, low, high):
    """NCP of the codes ``low … high`` as a whole number."""
    return np.int64(np.rint(width_of(columns.lines, i, low, high) * SCALE))


@linked
def _save(columns, before, i, low, high, gains):
    """NCP that is saved by cutting before each code."""
    whole = _certainty(columns, i, low, high) * (before[high + 1] - before[low])
    for cut in range(low + 1, high + 1):
        left = _certainty(columns, i, low, cut - 1) * (before[cut] - before[low])
        right = _certainty(columns, i, cut, high) * (before[high + 1] - before[cut])
        gains[cut - low - 1] = columns.weights[i] * (whole - left - right) / (before[-1] * SCALE)


@linked
def _save_values(columns, i, codes, gains):
    """NCP that is saved by disclosing each value: suppressed ones have their number ÷ all values."""
    before = columns.before[columns.at[i] + i : columns.at[i + 1] + i + 1]
    missing, count = columns.lines.spec[i, 2], codes.size
    mixed = codes[count - 1] == missing
    total = np.int64(0)
    for code in codes:
        total += before[code + 1] - before[code]
    whole = _suppressed(columns.lines, i, count, mixed) * total
    any_ = False
    for j in range(count):
        records = before[codes[j] + 1] - before[codes[j]]
        rest = _suppressed(columns.lines, i, count - 1, mixed and codes[j] != missing)
        gains[j] = columns.weights[i] * (whole - (total - records) * rest) / (before[-1] * SCALE)
        any_ = any_ or gains[j] > 0
    return any_


@linked
def _suppressed(lines, i, count, missing):
    """NCP of so many suppressed values as a whole number: 0 for one, all where missing is among others."""
    width = 0.0 if count <= 1 else 1.0 if missing else share(lines.spec, lines.scales, i, count)
    return np.int64(np.rint(width * SCALE))


@linked
def choose_cut(gains, records, low, high, least):
    """The code before which cutting ``low … high`` gains most and leaves at least so many records on both sides; -1.

    Of equal gains the more even cut, then the lower.
    """
    best, best_gain, best_size = -1, 0.0, np.int64(0)
    for cut in range(low + 1, high + 1):
        left, right = records[cut] - records[low], records[high + 1] - records[cut]
        if left < least or right < least:
            continue
        gain, size = gains[cut - low - 1], max(left, right)
        if best < 0 or gain > best_gain or (gain == best_gain and size < best_size):
            best, best_gain, best_size = cut, gain, size
    return best, best_gain


@linked
def split_gains(labels, amounts, places, low, high, logs, whole, left, gains):
    """Add to ``gains`` how much the entropy of a label falls by cutting the codes ``low … high`` of a line before each.

    The records of code c have ``labels`` and ``amounts`` from ``places[c]`` on. Logarithms are whole numbers, as in
    :mod:`rothko.kernels.mondrian.target_cells`.
    """
    n = _count(labels, amounts, places[low], places[high + 1], whole)
    sum_right, sum_left = np.int64(0), np.int64(0)
    for v in range(whole.size):
        sum_right += log(logs, whole[v])
        left[v] = 0
    parent = log(logs, n) - sum_right
    before = np.int64(0)
    for code in range(low, high):
        for i in range(places[code], places[code + 1]):
            v, c = labels[i], np.int64(amounts[i])
            sum_right += log(logs, whole[v] - left[v] - c) - log(logs, whole[v] - left[v])
            sum_left += log(logs, left[v] + c) - log(logs, left[v])
            left[v] += c
            before += c
        fall = parent - (log(logs, before) - sum_left) - (log(logs, n - before) - sum_right)
        gains[code - low] += max(fall, np.int64(0)) / (n * SCALE) if n > 0 else 0.0


@linked
def children_gain(labels, amounts, places, low, high, tree, first, count, logs, whole, side):
    """How much the entropy of a label falls by going from the codes ``low … high`` to the children of their node."""
    n = _count(labels, amounts, places[low], places[high + 1], whole)
    if n == 0:
        return 0.0
    fall = log(logs, n)
    for v in range(whole.size):
        fall -= log(logs, whole[v])
    for child in range(first, first + count):
        size = _count(labels, amounts, places[tree[child, 1]], places[tree[child, 2] + 1], side)
        fall -= log(logs, size)
        for v in range(side.size):
            fall += log(logs, side[v])
    return max(fall, np.int64(0)) / (n * SCALE)


@linked
def value_gains(labels, amounts, places, codes, logs, whole, gains, seen):
    """Add to ``gains`` how much the entropy of a label falls by taking each of some codes from the others.

    Nothing is added where the model has not ``seen`` the line. Returns how many labels there are.
    """
    n, there = np.int64(0), 0
    for v in range(whole.size):
        whole[v] = 0
    for code in codes:
        for i in range(places[code], places[code + 1]):
            whole[labels[i]] += amounts[i]
            n += amounts[i]
    all_logs = np.int64(0)
    for v in range(whole.size):
        there += whole[v] > 0
        all_logs += log(logs, whole[v])
    if there < 2 or not seen:
        return there
    for j in range(codes.size):
        size, rest = np.int64(0), all_logs
        own = np.int64(0)
        for i in range(places[codes[j]], places[codes[j] + 1]):
            v, c = labels[i], np.int64(amounts[i])
            rest += log(logs, whole[v] - c) - log(logs, whole[v])
            own += log(logs, c)
            size += c
        fall = (log(logs, n) - all_logs) - (log(logs, size) - own) - (log(logs, n - size) - rest)
        gains[j] += max(fall, np.int64(0)) / (n * SCALE)
    return there


@linked
def _count(labels, amounts, begin, end, counts):
    """Count labels; how many records have one."""
    for v in range(counts.size):
        counts[v] = 0
    n = np.int64(0)
    for i in range(begin, end):
        counts[labels[i]] += amounts[i]
        n += amounts[i]
    return n
