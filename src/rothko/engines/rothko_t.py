"""Rothko-T: the exhaustive algorithm for data larger than memory.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1. The top of the tree is grown level by level: a pass over
the records counts the frequency groups of all nodes that are still too large for memory, and cuts are chosen from them.
When those of the next level no longer fit in their share of memory, the records are split by the leaves, and
each is gone on with by itself. A leaf that fits in memory is loaded and cut there; one that does not, and that no
allowable cut divides, is a class by itself and stays where it is. The classes are those that the memory engine makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rothko.engines.candidates import Cut
from rothko.engines.chooser import Chooser
from rothko.engines.crowd import Level
from rothko.engines.driver import Driver, Growth
from rothko.engines.frequency import Wanted, sizes
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.store import Store
from rothko.engines.tree import Tree
from rothko.errors import InputError
from rothko.methods.mondrian.problem import Region
from rothko.mistakes import said
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True)
class AllRecords:
    """Counts all records of a store, a level in a pass."""

    store: Store[Any]
    chooser: Chooser
    wanted: Wanted
    frequency: int
    """Bytes for frequency groups."""
    enough: int

    def fits(self, top: Tree, nodes: Sequence[int]) -> bool:
        """Whether the frequency groups of a level fit in memory together; that of the first must."""
        needed = int(sizes(self.wanted, *top.regions(nodes)).sum())
        if needed > self.frequency and list(nodes) == [0]:
            raise InputError(
                f"Counting the values of the table takes {needed / 1e6:,.0f} MB, and the memory limit leaves "
                f"{self.frequency / 1e6:,.0f} MB for it; raise {said('--memory')}, or use engine: rothko-s."
            )
        return needed <= self.frequency

    def groups(self, top: Tree, nodes: Sequence[int]) -> Iterable[tuple[int, FrequencyGroup]]:
        """The nodes with their frequency groups, from one pass; and from another, if it must be, who is in them."""
        groups = self.store.count(top, nodes, self.wanted)
        if self.chooser.crowd is None:
            return zip(nodes, groups, strict=True)
        asked = [self.chooser.undecided(group) for group in groups]
        level = Level(partial(self.store.people, top, nodes, self.chooser.crowd.column), asked)
        with_people = [
            [replace(one, people=partial(level.zone, i, a)) for a, one in enumerate(group)]
            for i, group in enumerate(groups)
        ]
        return zip(nodes, with_people, strict=True)

    def choose(self, group: FrequencyGroup, phase: int, region: Region) -> Cut | None:
        """The best cut that is allowable by definition."""
        return self.chooser.choose(group, phase, region)


class Exhaustive:
    """The growth of Rothko-T: what it cuts is final, and what it does not cut is a class."""

    wanted: Wanted | None = None
    otherwise: Growth | None = None

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._by = driver.job.chooser()

    def counter(self, store: Store[Any], top: Tree) -> AllRecords:
        """A pass over all records for each level."""
        return AllRecords(store, *self._by, self._driver.frequency, self._driver.tuples)

    def settle(self, top: Tree, leaves: Sequence[int], stats: Statistics) -> dict[int, list[int]]:
        """Every leaf stays: all records were counted."""
        return {leaf: [leaf] for leaf in leaves}
