"""What classes do not satisfy, counted all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.classes import Classes
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics

CELLS = 1 << 22
"""How many counts are looked at in one go."""


def unmet(encoded: Encoded, partition: Classes, requirements: Sequence[Requirement]) -> list[Requirement]:
    """The requirements that some class does not satisfy: none, unless a method is broken."""
    owner = None if encoded.owner is None else encoded.owner.domain.column
    parts = [part for requirement in requirements for part in requirement.parts(owner)]
    failing = violating(encoded, partition.class_of(), partition.classes, parts)
    return [part for part, bad in zip(parts, failing, strict=True) if bad.any()]


def violating(
    encoded: Encoded, group: NDArray[np.integer], count: int, asked: Sequence[Requirement]
) -> list[NDArray[np.bool_]]:
    """Which groups of records do not meet each of the requirements."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(count + 1))
    widest = max((encoded.sensitive[str(r.column)].domain.size for r in asked if r.column is not None), default=1)
    step = max(1, CELLS // widest)
    bad = [np.zeros(count, dtype=np.bool_) for _ in asked]
    for first in range(0, count, step):
        last = min(first + step, count)
        records = order[starts[first] : starts[last]]
        columns = {name: column._replace(codes=column.codes[records]) for name, column in encoded.sensitive.items()}
        owner = None if encoded.owner is None else encoded.owner._replace(codes=encoded.owner.codes[records])
        counted = Statistics.count(group[records] - first, last - first, columns, asked, owner)
        for requirement, failing in zip(asked, bad, strict=True):
            failing[first:last] = ~requirement.satisfied(counted)
    return bad
