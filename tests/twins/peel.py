"""A plain twin of peeling: the cheapest generalization first, over lists and dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from tests.twins.cluster import Group
from tests.twins.mondrian import Record

Levels = Sequence[Sequence[Sequence[int]]]
"""For each line, level by level, the group of each code."""


def peel_plainly(
    codes: Sequence[Record],
    counts: Sequence[int],
    levels: Levels,
    vectors: Iterable[Sequence[int]],
    holds: Callable[[Group], bool],
) -> tuple[list[Group], list[int]]:
    """The classes, and the tuples that are in none: at each vector every group that holds leaves."""
    left = list(range(len(codes)))
    classes: list[Group] = []
    for vector in vectors:
        together: dict[tuple[int, ...], Group] = defaultdict(list)
        for t in left:
            where = tuple(levels[a][level][codes[t][a]] for a, level in enumerate(vector))
            together[where].append((t, counts[t]))
        taken = [one for one in together.values() if holds(one)]
        classes += taken
        gone = {t for one in taken for t, _ in one}
        left = [t for t in left if t not in gone]
    return classes, left
