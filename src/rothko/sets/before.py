"""What a report tells of the records themselves to whoever may see them: how they could be told apart before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.errors import InputError
from rothko.metrics.risk import Risk, risk
from rothko.sets.files import Reading, Utility, read_records
from rothko.sets.readable import ToldSets
from rothko.sets.records import Records, set_keys
from rothko.sets.set_pictures import Counts

DRAWN = 1000
"""Records of which it is asked whether two of their items tell them apart."""


@dataclass(frozen=True, slots=True)
class Before:
    """The original records, as a report asks for them."""

    whole: Risk
    """By all of their items."""
    by_one: float
    """Share of records with an item that nobody else has."""
    by_two: float
    """Share of records that nobody else has both of their two rarest items with."""
    drawn: int
    """Of so many records, drawn at random, that was asked."""
    counts: Counts


def look_before(
    original: Any, told: ToldSets, threshold: float, *, reading: Reading | None = None, utility: Utility = None
) -> Before:
    """Read the original records beside their release."""
    records = read_records(original, reading, utility=utility)
    if records.count != told.records:
        raise InputError(
            f"The original has {records.count:,} records and {told.file} {told.records:,}; a report for the steward "
            "compares records with their release."
        )
    frequencies = records.frequencies()
    names = records.names.to_pylist()
    unknown = len(set(told.names) - set(names))
    if unknown:
        raise InputError(
            f"{unknown:,} items of {told.file} are in no record of the original; it is another one, or read otherwise."
        )
    keys = set_keys(records.starts, records.items, records.size)
    sizes = np.unique(keys, axis=0, return_counts=True)[1]
    lengths = np.diff(records.starts)
    drawn = _drawn(records.count)
    return Before(
        risk(sizes, threshold), _by_one(records, frequencies), _by_two(records, frequencies, drawn), len(drawn),
        Counts(dict(zip(names, frequencies.tolist(), strict=True)), np.bincount(lengths)),
    )  # fmt: skip


def _drawn(count: int) -> NDArray[np.int64]:
    if count <= DRAWN:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, DRAWN, replace=False))


def _by_one(records: Records, frequencies: NDArray[np.int64]) -> float:
    """The share of records with an item that is in no other record."""
    alone = np.concatenate([[0], np.cumsum(frequencies[records.items] == 1)])
    return float(np.count_nonzero(alone[records.starts[1:]] > alone[records.starts[:-1]])) / records.count


def _by_two(records: Records, frequencies: NDArray[np.int64], drawn: NDArray[np.int64]) -> float:
    """The share of some records whose two rarest items, or the only one, no other record has together."""
    from rothko.kernels.sets.records import by_item

    starts, holders = by_item(records.starts, records.items, records.size)
    found = 0
    for record in drawn.tolist():
        items = records.items[records.starts[record] : records.starts[record + 1]]
        rarest = items[np.argsort(frequencies[items], kind="stable")[:2]]
        if len(rarest):
            lists = [holders[starts[item] : starts[item + 1]] for item in rarest]
            both = lists[0] if len(lists) == 1 else np.intersect1d(lists[0], lists[1], assume_unique=True)
            found += len(both) == 1
    return found / max(len(drawn), 1)
