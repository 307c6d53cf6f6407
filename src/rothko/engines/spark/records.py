"""The records of a table as codes, many of them in one value: what is asked of a cluster more than once.

Spark hands rows to Python field by field, and takes them back so. A value that holds many records goes through as it
is. So the records are coded once, right after the survey, and what comes later, counting, sampling and the shuffle by
leaves, handles a few large values. The cluster keeps them, in memory or on the disks of its executors, until the
release is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded
from rothko.data.survey.coder import Coder
from rothko.engines.packing import Packed, Packing, by_part
from rothko.engines.spark.cluster import Add, Batches, Cluster, Held, Keyed, Opened, Partial
from rothko.engines.spark.input_rows import Rows

VALUES = "codes binary, kept binary"
"""The columns of packed records: see :class:`rothko.engines.packing.Packed`."""
TOGETHER = 1 << 16
"""Records in one value, at most: some megabytes, of which Spark hands over several at a time."""
SENT = f"slot int, {VALUES}"
"""The same on their way to tasks."""
SHARE = 4
"""A task that sends records to others holds this part of what one can that finishes them: it has them twice."""
AT_ONCE = 1 << 18
"""Records that are worth a call."""


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a table, on the cluster."""

    cluster: Cluster
    packing: Packing
    held: Held

    @classmethod
    def of(cls, cluster: Cluster, rows: Rows, coder: Coder, packing: Packing) -> Records:
        """Code the records of a table; begun when they are first asked for."""
        return cls(cluster, packing, cluster.hold(rows.frame, partial(_coded, coder, packing, rows.opened), VALUES))

    @property
    def frame(self) -> Any:
        """What the cluster has: the columns of :data:`VALUES`."""
        return self.held.frame

    def gather(self, find: Partial, add: Add) -> dict[int, Any]:
        """What a function finds in them, given :class:`rothko.data.survey.coded.Coded` some at a time; the sum."""
        return self.cluster.gather(self.frame, find, add, partial(unpacked, self.packing, AT_ONCE))

    def count_keys(self, find: Keyed, words: int, most: int) -> pa.Table | None:
        """How often each key occurs that a function finds in them; None where there are more than ``most``."""
        return self.cluster.count_keys(self.frame, find, words, most, partial(unpacked, self.packing, AT_ONCE))

    def close(self) -> None:
        """Give them up."""
        self.held.close()


def _coded(coder: Coder, packing: Packing, opened: Opened, batches: Batches) -> Batches:
    for table in opened(batches):
        coded = coder.code(table)
        for begin in range(0, coded.rows, TOGETHER):
            yield as_value(packing.pack(coded.slice(begin, TOGETHER)))


def as_value(packed: Packed) -> pa.RecordBatch:
    """Some records as one row."""
    messages = [None if batch is None else batch.serialize().to_pybytes() for batch in packed]
    return pa.record_batch([pa.array([one], pa.binary()) for one in messages], ["codes", "kept"])


def sent(packing: Packing, coded: Coded, slots: NDArray[np.int32], count: int) -> Batches:
    """Some records on their way to tasks, of which there are so many: those of each side by side, with its number."""
    packed, begins = by_part(packing.pack(coded), slots, count)
    for slot in np.flatnonzero(np.diff(begins)).tolist():
        begin, end = int(begins[slot]), int(begins[slot + 1])
        for at in range(begin, end, TOGETHER):
            value = packed.slice(at, min(TOGETHER, end - at))
            yield as_value(value).add_column(0, "slot", pa.array([slot], pa.int32()))


def unpacked(packing: Packing, rows: int, batches: Batches) -> Iterator[Coded]:
    """Records that travelled, so many at a time or a few more."""
    held: list[Packed] = []
    there = 0
    for batch in batches:
        for some in _opened(packing, batch):
            held.append(some)
            there += some.rows
            if there >= rows:
                yield packing.unpack(there, held)
                held, there = [], 0
    if held:
        yield packing.unpack(there, held)


def _opened(packing: Packing, batch: pa.RecordBatch) -> Iterator[Packed]:
    for codes, kept in zip(batch["codes"], batch["kept"], strict=True):
        opened = pa.ipc.read_record_batch(codes.as_buffer(), packing.codes)
        yield Packed(
            opened, None if packing.kept is None else pa.ipc.read_record_batch(kept.as_buffer(), packing.kept)
        )  # fmt: skip
