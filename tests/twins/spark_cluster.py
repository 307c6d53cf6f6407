"""A cluster in a list: partitions are tables, and what is sent to them goes through a pickle, as it does on Spark."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from rothko.engines.spark.cluster import Add, Batches, Cluster, Collected, Held, Keyed, Opened, Partial


@dataclass(frozen=True)
class PlainFrame:
    """Records in partitions; an empty one has the columns of the others."""

    partitions: tuple[pa.Table, ...]

    @property
    def columns(self) -> list[str]:
        return list(self.partitions[0].column_names)

    def select(self, names: list[str]) -> PlainFrame:
        plain = [name[1:-1].replace("``", "`") for name in names]
        return PlainFrame(tuple(part.select(plain) for part in self.partitions))

    def count(self) -> int:
        return sum(part.num_rows for part in self.partitions)

    def limit(self, rows: int) -> PlainFrame:
        return PlainFrame((self.partitions[0].slice(0, rows),))

    def toArrow(self) -> pa.Table:  # noqa: N802 - as Spark calls it
        return pa.concat_tables(self.partitions)


def spread(table: pa.Table, parts: int, seed: int) -> PlainFrame:
    """Records in an order and in partitions that are drawn; some are empty."""
    cells = random.Random(seed)
    order = cells.sample(range(table.num_rows), table.num_rows)
    ends = sorted(cells.choices(range(table.num_rows + 1), k=parts - 1))
    shuffled = table.take(pa.array(order, pa.int64()))
    edges = [0, *ends, table.num_rows]
    return PlainFrame(tuple(shuffled.slice(a, b - a) for a, b in pairwise(edges)))


def batches_of(part: pa.Table) -> Batches:
    """The rows of a partition, some at a time."""
    return (batch for some in (part.slice(0, 3), part.slice(3)) for batch in some.to_batches() if batch.num_rows)


def as_tables(batches: Batches) -> Iterator[pa.Table]:
    """Rows as they are."""
    return (pa.Table.from_batches([batch]) for batch in batches)


class PlainHeld(Held):
    """A frame that is there."""

    def __init__(self, frame: PlainFrame) -> None:
        self.frame = frame


@dataclass(frozen=True, slots=True)
class PlainCluster(Cluster):
    """Runs functions here, on one partition after the other, each on its own copy."""

    session: Any = None
    collected: Collected = field(default_factory=Collected)

    def gather(self, frame: Any, find: Partial, add: Add, opened: Opened | None = None) -> dict[int, Any]:
        sent, slots = cloudpickle.dumps((find, opened or as_tables)), dict[int, list[bytes]]()
        for part in frame.partitions:
            found_by, records = pickle.loads(sent)
            for slot, found in found_by(records(batches_of(part))):
                slots.setdefault(slot, []).append(pickle.dumps(found))
        self.collected.jobs += 1
        added = pickle.loads(cloudpickle.dumps(add))
        return {slot: added(slot, [pickle.loads(one) for one in sorted(some)]) for slot, some in slots.items()}

    def count_keys(self, frame: Any, find: Keyed, words: int, most: int, opened: Opened) -> pa.Table | None:
        sent, times = cloudpickle.dumps((find, opened)), Counter[tuple[int, ...]]()
        for part in frame.partitions:
            found_by, records = pickle.loads(sent)
            for slot, keys, counts in found_by(records(batches_of(part))):
                for key, count in zip(keys.T.tolist(), counts.tolist(), strict=True):
                    times[slot, *key, *[0] * (words - len(key))] += count
        self.collected.jobs += 1
        self.collected.rows += min(len(times), most + 1)
        columns = zip(*((*key, count) for key, count in times.items()), strict=True) if times else [[]] * (words + 2)
        names = ["slot", *(f"w{i}" for i in range(words)), "times"]
        table = pa.table({name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)})
        return None if table.num_rows > most else table

    def hold(self, frame: Any, make: Callable[[Batches], Batches], schema: str) -> Held:
        sent = cloudpickle.dumps(make)
        parts = [list(pickle.loads(sent)(batches_of(part))) for part in frame.partitions]
        columns = pa.schema([(one.split()[0], pa.binary()) for one in schema.split(", ")])
        return PlainHeld(PlainFrame(tuple(pa.Table.from_batches(some, columns) for some in parts)))
