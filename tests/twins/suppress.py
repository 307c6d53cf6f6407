"""The plain twin of :mod:`rothko.methods.suppress`: every tail of a class, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rothko.data.line import Kind, Line


def width(line: Line, codes: Sequence[int], sets: bool) -> float:
    """The NCP of some records on a line."""
    if sets and line.kind is Kind.NOMINAL:
        values = set(codes)
        if len(values) == 1:
            return 0.0
        return 1.0 if line.missing and line.missing_code in values else len(values) / line.size
    return float(line.width(np.array([min(codes)]), np.array([max(codes)]))[0])


def tails(line: Line, codes: Sequence[int], sets: bool) -> Iterator[set[int]]:
    """The places of the records of every tail: those below or above a value; of a set, those of its rarest values."""
    values = sorted(set(codes))
    if sets and line.kind is Kind.NOMINAL:
        times = Counter(codes)
        values.sort(key=lambda value: (times[value], value))
    for cut in range(1, len(values)):
        yield {i for i, code in enumerate(codes) if code in values[:cut]}
        if not (sets and line.kind is Kind.NOMINAL):
            yield {i for i, code in enumerate(codes) if code in values[cut:]}


def spared(lines: Sequence[Line], records: Sequence[Sequence[int]], i: int, tail: set[int], sets: bool) -> float:
    """What a tail on a line spares: (m − t)(c − c′) − t(1 − c), where c′ is without the tail on that line alone."""
    weights = [line.weight / sum(one.weight for one in lines) for line in lines]
    columns = list(zip(*records, strict=True))
    lost = sum(weight * width(line, c, sets) for weight, line, c in zip(weights, lines, columns, strict=True))
    left = [code for place, code in enumerate(columns[i]) if place not in tail]
    gain = weights[i] * (width(lines[i], columns[i], sets) - width(lines[i], left, sets))
    return len(left) * gain - len(tail) * (1 - lost)


def most_spared(lines: Sequence[Line], records: Sequence[Sequence[int]], least: int, sets: bool) -> float:
    """What the best tail of a class spares, of those that leave enough records; 0 where none spares anything."""
    columns = list(zip(*records, strict=True))
    found = [
        spared(lines, records, i, tail, sets)
        for i, line in enumerate(lines)
        for tail in tails(line, columns[i], sets)
        if len(records) - len(tail) >= least
    ]
    return max([0.0, *found])
