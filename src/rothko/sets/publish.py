"""What is published of set-valued records: a method groups them, and the sets leave in random order.

The order is drawn from the published sets and the seed alone: whoever knows both can draw it again and learns nothing
about the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

    def to_dict(self) -> dict[str, float | int]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


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


def check_feasible(records: Records, asked: KAnonymity | K1Anonymity) -> None:
    """Refuse what no method can make of the records."""
    if records.count == 0:
        raise InputError("There are no records.")
    if records.count < asked.k:
        raise InfeasibleError(
            f"These records cannot meet {asked.name} with k = {asked.k:,}: there are {records.count:,}; choose a "
            "smaller k."
        )


def group(
    method: SetMethod, records: Records, k: int, *, seed: int, threads: int, progress: Callable[[int], None]
) -> Shown:
    """What each class of records publishes, or each record where they stand by themselves."""
    from rothko.kernels.sets.records import count_uncovered

    if isinstance(method, SetK1Method):
        starts, items = method.publish(records, k, seed, threads=threads, progress=progress)
        class_of = np.arange(records.count, dtype=np.int32)
        sizes = np.ones(records.count, dtype=np.int64)
    else:
        class_of = method.group(records, k, seed=seed, threads=threads, progress=progress)
        sizes, _, _, starts, items = Common.of(class_of, records.starts, records.items, records.size)
    wrong = count_uncovered(class_of.astype(np.int64), starts, items, records.starts, records.items)
    if wrong:
        raise VerificationError(
            f"Verification failed: {wrong:,} records would show items that they do not have; nothing was released. "
            "Please report this."
        )
    return Shown(starts, items, sizes, records.names)


def publish(original: Records, shown: Shown, seed: int) -> tuple[Records, SetMetrics]:
    """Published rows without a trace of the original, and what is left of it.

    The rows have only the items that are left, and an order that tells nothing.
    """
    from rothko.kernels.sets.records import count_items, spread

    left = np.flatnonzero(count_items(shown.items, original.size))
    number = np.full(original.size, -1, dtype=np.int32)
    number[left] = np.arange(len(left), dtype=np.int32)
    items = number[shown.items]
    keys = set_keys(shown.starts, items, len(left))
    rows = np.lexsort((keys[:, 1], keys[:, 0]))
    drawn = np.random.default_rng(seed).permutation(np.repeat(rows, shown.times[rows]))
    starts, items = spread(drawn, shown.starts, items)
    published = Records(starts, items, original.names.take(pa.array(left)), np.ones(len(left)))

    frequencies = original.frequencies()
    worth = float((original.utility[shown.items] * np.repeat(shown.times, np.diff(shown.starts))).sum())
    total, present = float(frequencies @ original.utility), int((frequencies > 0).sum())
    instances, classes = len(original.items), len(np.unique(keys, axis=0))
    return published, SetMetrics(
        utility=worth,
        utility_kept=worth / total if total else 1.0,
        instances=len(published.items),
        instances_kept=len(published.items) / instances if instances else 1.0,
        items=published.size,
        items_kept=published.size / present if present else 1.0,
        classes=classes,
        average_class_size=published.count / classes,
        empty=int((np.diff(published.starts) == 0).sum()),
    )
