"""set-two-phase: aggregation in two phases (Podgursky, "Practical k-Anonymity on Large Datasets", Algorithms 6 to 8).

First classes are merged: the smallest one joins a class that it reaches by dropping one item, that with the largest
utility of both together, or else drops its item with the least utility × frequency. Far more is dropped than need be.
So then every class is closed (it gets back the items that all its records have) and split back: records move to the
class with one item more, where that exists and theirs keeps k, or where both have k.

Where the thesis is silent, we decide:

- Of the smallest classes the one whose next item to drop is worth least comes first. So two records come down to the
  items that they share at the same time; in most other orders the one with fewer items has dropped them by then.
- Where fewer than k records have nothing left to drop, records of the classes that are worth least join them.
- In splitting back, the item with the largest gain comes first: utility × records that can move.
- ``close`` says when classes are closed: ``once``, before they are split back, as in the thesis; or ``always``, anew
  whenever records came or left, where classes that come to have the same set become one.

It sees all records at once and takes one core. Time grows with the items of all records times the items of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rothko.sets.methods.method import Progress, SetMethod, one_of
from rothko.sets.methods.mondrian import item_marks
from rothko.sets.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTwoPhase(SetMethod):
    """Options of set-two-phase.

    >>> SetTwoPhase(close="once").name
    'set-two-phase'
    """

    name: ClassVar[str] = "set-two-phase"

    close: Literal["always", "once"] = "always"
    """When classes are closed: whenever records came or left, or once, before they are split back."""

    def __post_init__(self) -> None:
        one_of(self.name, "close", self.close, ("always", "once"))

    def group(self, records: Records, k: int, *, seed: int, threads: int, progress: Progress) -> NDArray[np.int32]:
        """The class of each record; nothing is random, and one core is used whatever ``threads`` says."""
        from rothko.kernels.sets.records import tidy
        from rothko.kernels.sets.two_phase import class_numbers, merge, split_back

        by_worth = np.argsort(-records.utility * records.frequencies(), kind="stable")
        rank = np.empty(records.size, dtype=np.int32)
        rank[by_worth] = np.arange(records.size, dtype=np.int32)
        starts, items, worth = records.starts.copy(), rank[records.items], records.utility[by_worth]
        tidy(starts, items)
        marks = item_marks(records.size)
        following, last, size = merge(starts, items, worth, marks, k)
        first = np.where(size > 0, np.arange(records.count, dtype=np.int32), np.int32(-1))
        split_back(first, following, last, size, starts, items, worth, marks, k, self.close == "always")
        progress(records.count)
        class_of: NDArray[np.int32] = class_numbers(first, following, size, starts, items, worth)[0]
        return class_of
