"""Counting values and turning them into codes a batch at a time, by tables that were made of the whole column."""

from __future__ import annotations

from rothko.kernels import compiled


@compiled
def count_values(values, present, low, counts):
    """Add to ``counts`` how often each whole number occurs, counted from ``low``.

    ``present`` tells which are there; an empty one, that all are.
    """
    if present.size == 0:
        for i in range(values.size):
            counts[values[i] - low] += 1
    else:
        for i in range(values.size):
            if present[i]:
                counts[values[i] - low] += 1


@compiled
def look_up(values, present, low, table, absent, codes):
    """Write to ``codes`` the entry in the table of each whole number, counted from ``low``; -1 past the table.

    What is not ``present`` gets ``absent``; an empty ``present`` tells that all are.
    """
    for i in range(values.size):
        if present.size and not present[i]:
            codes[i] = absent
        elif low <= values[i] and values[i] - low < table.size:
            codes[i] = table[values[i] - low]
        else:
            codes[i] = -1


@compiled
def add_up(codes, targets, numbers, records, totals):
    """Add the number of each record's target to the sum of its code, in the order of the records.

    Negative codes and numbers that are NaN are passed over.
    """
    for i in range(codes.size):
        number = numbers[targets[i]]
        if codes[i] >= 0 and number == number:
            records[codes[i]] += 1
            totals[codes[i]] += number


@compiled
def widen(cells, values, first, last):
    """Lower ``first`` and raise ``last`` of each record's cell to its value; negative cells are passed over."""
    for i in range(cells.size):
        cell = cells[i]
        if cell >= 0:
            first[cell] = min(first[cell], values[i])
            last[cell] = max(last[cell], values[i])
