"""Sets on a cluster as the numbers of their items, many records in one value.

Why in one value: see :mod:`rothko.engines.spark.records`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.engines.spark.cluster import Add, Batches, Cluster, Held, Partial, pieces
from rothko.sets.spark.survey import Coded, Items

VALUES = "lengths binary, items binary"
"""How many items each of some records has, and these, one record after the other."""
TOGETHER = 1 << 20
"""Items in one value, about: four megabytes, of which Spark hands over several at a time."""
AT_ONCE = 1 << 23
"""Items of records that are worth a call."""


@dataclass(frozen=True, slots=True)
class PackedSets:
    """All records of a frame, on the cluster."""

    cluster: Cluster
    held: Held

    @classmethod
    def of(cls, cluster: Cluster, frame: Any, items: Items) -> PackedSets:
        """Number the items of the records of a frame; begun when they are first asked for."""
        return cls(cluster, cluster.hold(frame, partial(_packed, items), VALUES))

    def gather(self, find: Partial, add: Add) -> dict[int, Any]:
        """What a function finds in them, given :class:`Coded` some at a time; the sum."""
        return self.cluster.gather(self.held.frame, find, add, unpacked)


def _packed(items: Items, batches: Batches) -> Batches:
    for table in pieces(batches):
        for value in as_values(items.code(table)):
            yield pa.record_batch({"lengths": [value.lengths], "items": [value.items]})


class Value(NamedTuple):
    """Some records."""

    lengths: bytes
    items: bytes


def as_values(coded: Coded) -> Iterator[Value]:
    """Records as few values."""
    lengths = np.diff(coded.starts).astype(np.int32)
    begin, rows = 0, len(lengths)
    while begin < rows:
        full = int(np.searchsorted(coded.starts, coded.starts[begin] + TOGETHER, side="right")) - 1
        end = min(max(full, begin + 1), rows)
        yield Value(lengths[begin:end].tobytes(), coded.items[coded.starts[begin] : coded.starts[end]].tobytes())
        begin = end


def unpacked(batches: Batches, at_once: int = AT_ONCE) -> Iterator[Coded]:
    """Records that travelled, with so many items at a time or a few more."""
    held: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    there = 0
    for batch in batches:
        for lengths, items in zip(batch["lengths"], batch["items"], strict=True):
            held.append((_numbers(lengths), _numbers(items)))
            there += len(held[-1][1])
            if there >= at_once:
                yield _together(held)
                held, there = [], 0
    if held:
        yield _together(held)


def _numbers(value: pa.Scalar) -> NDArray[np.int32]:
    return np.frombuffer(value.as_buffer(), dtype=np.int32)


def _together(held: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> Coded:
    lengths = np.concatenate([one for one, _ in held])
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return Coded(starts, np.concatenate([items for _, items in held]))
