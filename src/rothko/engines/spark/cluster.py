"""Work on a cluster: functions that are sent to where records lie, and sums of theirs that come back.

Everything that comes to the driver comes through a :class:`Cluster`, which counts it. What a function finds in a part
of the records is added to what others find on the cluster, and only the sum is collected. What is added is put in an
order of its bytes before, so that rounding does not depend on which task was done first.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.source.source import PIECE_ROWS, of_size
from rothko.data.source.spark_errors import told, understood
from rothko.errors import InputError

SLOTS = "slot int, found binary"
"""What functions give back (:func:`as_message`), each for the slot in which it is added up."""
CODEC = pa.Codec("zstd", compression_level=1)
"""Half a gigabyte a second."""

Batches = Iterator[pa.RecordBatch]
"""The rows of a partition, as Spark hands them over."""
Partial = Callable[[Iterator[Any]], Iterable[tuple[int, Any]]]
"""The records of a partition, some at a time → what was found, by the slot in which it is added up."""
Keyed = Callable[[Iterator[Any]], Iterable[tuple[int, NDArray[np.uint64], NDArray[np.int64]]]]
"""The records of a partition, some at a time → slots, (words, keys) in each, and how often each key was found."""
Opened = Callable[[Batches], Iterator[Any]]
"""The rows of a partition → its records, some at a time."""
Add = Callable[[int, list[Any]], Any]
"""Of a slot: what was found in all partitions → their sum."""


@dataclass(slots=True)
class Collected:
    """What has come to the driver."""

    rows: int = 0
    bytes: int = 0
    jobs: int = 0
    """How often all records were gone through."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Spark session, as it is used here."""

    session: Any
    collected: Collected = field(default_factory=Collected)

    def gather(self, frame: Any, find: Partial, add: Add, opened: Opened | None = None) -> dict[int, Any]:
        """What a function finds in all records of a frame: slot → the sum.

        Parameters
        ----------
        opened
            What makes records of its rows; by default they are taken as they are, in :func:`pieces`.
        """
        self.collected.jobs += 1
        with understood():
            found = frame.mapInArrow(as_part(find, opened or pieces), SLOTS)
            summed = found.groupBy("slot").applyInArrow(as_sum(add), SLOTS)
        table = self.collect(summed)
        return {row["slot"]: read_message(row["found"]) for row in table.to_pylist()}

    def count_keys(self, frame: Any, find: Keyed, words: int, most: int, opened: Opened) -> pa.Table | None:
        """How often each key of so many words occurs in each slot; None where there are more than ``most`` of them."""
        self.collected.jobs += 1
        names = [f"w{i}" for i in range(words)]
        schema = ", ".join(["slot int", *(f"{name} bigint" for name in names), "times bigint"])
        with understood():
            found = frame.mapInArrow(of_batches(_keyed, find, names, opened), schema)
            summed = found.groupBy("slot", *names).sum("times").limit(most + 1)
        table = self.collect(summed).rename_columns(["slot", *names, "times"])
        return None if table.num_rows > most else table

    def hold(self, frame: Any, make: Callable[[Batches], Batches], schema: str) -> Held:
        """What a function makes of the rows of a frame, kept on the cluster from the first time it is asked."""
        with understood():
            return Held(frame.mapInArrow(of_batches(make), schema))

    def collect(self, frame: Any) -> pa.Table:
        """Bring a frame to the driver."""
        with understood():
            table = frame.toArrow()
        self.collected.rows += table.num_rows
        self.collected.bytes += table.nbytes
        return table

    def count(self, frame: Any) -> int:
        """How many rows a frame has."""
        with understood():
            return int(frame.count())

    def check(self) -> None:
        """Refuse a cluster whose executors lack rothko, or have another."""
        with understood():
            asked = self.session.range(1).mapInArrow(_version, "version string")
        [found] = self.collect(asked)["version"].to_pylist()
        if found != version("rothko"):
            raise InputError(
                f"The executors have rothko {found} and the driver has {version('rothko')}; install the same on both."
            )


class Held:
    """A frame that the cluster keeps until it is given up, or nobody has it any more.

    Where a cluster keeps nothing for anybody it is made again whenever it is asked, which takes longer.
    """

    def __init__(self, frame: Any) -> None:
        from pyspark import StorageLevel

        try:
            # On disk: memory is other people's, and a block that is unrolled in it may take all that Java has.
            self.frame = frame.persist(StorageLevel.DISK_ONLY)
        except Exception:  # of Py4J or of gRPC: some managed clusters refuse it
            self.frame = frame
        self._end = weakref.finalize(self, _give_up, self.frame)
        self._end.atexit = False  # the session ends, too

    def close(self) -> None:
        """Give it up; nothing happens the second time."""
        self._end()


def _give_up(frame: Any) -> None:
    with suppress(Exception):  # a session that was stopped keeps nothing either
        frame.unpersist()


def _version(batches: Batches) -> Batches:
    for _ in batches:
        yield pa.record_batch({"version": [version("rothko")]})


def _keyed(find: Keyed, names: Sequence[str], opened: Opened, batches: Batches) -> Batches:
    for slot, words, times in find(opened(batches)):
        nothing = np.zeros(len(times), dtype=np.int64)
        columns = [*words.view(np.int64), *(nothing for _ in range(len(names) - len(words)))]
        slots = pa.array(np.full(len(times), slot, dtype=np.int32))
        yield pa.record_batch([slots, *map(pa.array, columns), pa.array(times)], names=["slot", *names, "times"])


def as_part(find: Partial, opened: Opened) -> Callable[[Batches], Batches]:
    """A function of the records of a partition, as Spark calls it."""

    def part(batches: Batches) -> Batches:
        with told():
            for slot, found in find(opened(batches)):
                yield as_slots([slot], [found])

    return part


def as_sum(add: Add) -> Callable[[pa.Table], pa.Table]:
    """A function that adds up what was found, as Spark calls it."""

    def total(table: pa.Table) -> pa.Table:
        with told():
            slot = table["slot"][0].as_py()
            # In an order of their own: rounding must not depend on which came first.
            found = [pickle.loads(one) for one in sorted(map(_expanded, table["found"].to_pylist()))]
            return pa.Table.from_batches([as_slots([slot], [add(slot, found)])])

    return total


def of_batches(function: Any, *given: Any) -> Any:
    """A function of batches, after what it is given besides, as Spark calls it."""
    work = partial(function, *given)

    def run(batches: Batches) -> Batches:
        with told():
            yield from work(batches)

    return run


def as_slots(slots: list[int], found: list[Any]) -> pa.RecordBatch:
    """What functions give back."""
    packed = list(map(as_message, found))
    return pa.record_batch({"slot": pa.array(slots, pa.int32()), "found": pa.array(packed, pa.binary())})


def as_message(found: Any) -> bytes:
    """What a function gives back, as it travels: pickled and compressed.

    Java holds what is collected several times over, in one piece each: all frequency groups of a level, 165 MB by
    default, were more than a Java of 1 GB could always hold. Most of their counts are small, and a tenth remains.
    """
    plain = pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)
    packed: bytes = CODEC.compress(plain, asbytes=True)
    return len(plain).to_bytes(8, "little") + packed


def read_message(message: bytes) -> Any:
    """What was sent.

    >>> read_message(as_message({"age": [34]}))
    {'age': [34]}
    """
    return pickle.loads(_expanded(message))


def _expanded(message: bytes) -> bytes:
    size = int.from_bytes(message[:8], "little")
    return bytes(CODEC.decompress(memoryview(message)[8:], decompressed_size=size, asbytes=True))


def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Records in pieces that are worth a call: Spark hands them over ten thousand at a time."""
    return of_size(batches, PIECE_ROWS)
