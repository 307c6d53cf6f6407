"""What is published of set-valued records: a method groups them, and the sets leave in random order.

The order is drawn from the published sets and the seed alone: whoever knows both can draw it again and learns nothing
about the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.errors import InfeasibleError, InputError, VerificationError
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.sets.methods import SetK1Method, SetMethod
from rothko.sets.records import Common, Records, set_keys


@dataclass(frozen=True, slots=True)
class SetMetrics:
    """What a release keeps, by the definitions of Podgursky, chapter III."""

    utility: float
    """Σ over records of the utilities published."""
    utility_kept: float
    """Its share of the utility of the original; 1 where that has none."""
    instances: int
    """Σ over records of the items published."""
    instances_kept: float
    """Their share of those of the original."""
    items: int
    """Items that are published for somebody."""
    items_kept: float
    """Their share of the items of the original."""
    classes: int
    """Different sets that are published."""
    average_class_size: float
    """Records for each of them."""
    empty: int
    """Records that publish no item."""

    @classmethod
    def of(cls, kept: Kept, frequencies: NDArray[np.int64], utility: NDArray[np.float64]) -> SetMetrics:
        """What is kept of records in which items of some utility have been that often."""
        total, instances = float(frequencies @ utility), int(frequencies.sum())
        present = int((frequencies > 0).sum())
        return cls(
            utility=kept.utility,
            utility_kept=kept.utility / total if total else 1.0,
            instances=kept.instances,
            instances_kept=kept.instances / instances if instances else 1.0,
            items=kept.items,
            items_kept=kept.items / present if present else 1.0,
            classes=kept.classes,
            average_class_size=kept.rows / kept.classes,
            empty=kept.empty,
        )

    def to_dict(self) -> dict[str, float | int]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


class Kept(NamedTuple):
    """What is published, in numbers; see :class:`SetMetrics`."""

    rows: int
    utility: float
    instances: int
    items: int
    classes: int
    empty: int


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The sets that records must be shown as."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    """Sets as CSR."""
    times: NDArray[np.int64]
    """How many records show each of them."""
    names: pa.Array
    """The texts of the items."""


def check_feasible(records: int, asked: KAnonymity | K1Anonymity) -> None:
    """Refuse what no method can make of so many records."""
    if records == 0:
        raise InputError("There are no records.")
    if records < asked.k:
        raise InfeasibleError(
            f"These records cannot meet {asked.name} with k = {asked.k:,}: there are {records:,}; choose a smaller k."
        )


def group(
    method: SetMethod, records: Records, k: int, *, seed: int, threads: int, progress: Callable[[int], None]
) -> Shown:
    """What each class of records publishes, or each record where they stand by themselves."""
    if not isinstance(method, SetK1Method):
        return shared(records, method.group(records, k, seed=seed, threads=threads, progress=progress))
    starts, items = method.publish(records, k, seed, threads=threads, progress=progress)
    sizes = np.ones(records.count, dtype=np.int64)
    return _covered(records, np.arange(records.count, dtype=np.int32), Shown(starts, items, sizes, records.names))


def shared(records: Records, class_of: NDArray[np.int32]) -> Shown:
    """What each class of records has in common."""
    sizes, _, _, starts, items = Common.of(class_of, records.starts, records.items, records.size)
    return _covered(records, class_of, Shown(starts, items, sizes, records.names))


def _covered(records: Records, class_of: NDArray[np.int32], shown: Shown) -> Shown:
    """What is shown, if every record has all that it is shown with."""
    from rothko.kernels.sets.records import count_uncovered

    wrong = count_uncovered(class_of.astype(np.int64), shown.starts, shown.items, records.starts, records.items)
    if wrong:
        raise VerificationError(
            f"Verification failed: {wrong:,} records would show items that they do not have; nothing was released. "
            "Please report this."
        )
    return shown


def publish(original: Records, shown: Shown, seed: int) -> tuple[Records, SetMetrics]:
    """Published rows without a trace of the original, and what is left of it."""
    published, keys = in_drawn_order(shown, seed)
    worth = float((original.utility[shown.items] * np.repeat(shown.times, np.diff(shown.starts))).sum())
    kept = Kept(
        rows=published.count, utility=worth, instances=len(published.items), items=published.size,
        classes=len(np.unique(keys, axis=0)), empty=int((np.diff(published.starts) == 0).sum()),
    )  # fmt: skip
    return published, SetMetrics.of(kept, original.frequencies(), original.utility)


def in_drawn_order(shown: Shown, seed: int | Sequence[int]) -> tuple[Records, NDArray[np.uint64]]:
    """Rows that have only the items that are left, and an order that tells nothing; and the keys of the sets."""
    from rothko.kernels.sets.records import count_items, spread

    size = len(shown.names)
    left = np.flatnonzero(count_items(shown.items, size))
    number = np.full(size, -1, dtype=np.int32)
    number[left] = np.arange(len(left), dtype=np.int32)
    items = number[shown.items]
    keys = set_keys(shown.starts, items, len(left))
    rows = np.lexsort((keys[:, 1], keys[:, 0]))
    drawn = np.random.default_rng(seed).permutation(np.repeat(rows, shown.times[rows]))
    starts, items = spread(drawn, shown.starts, items)
    return Records(starts, items, shown.names.take(pa.array(left)), np.ones(len(left))), keys
