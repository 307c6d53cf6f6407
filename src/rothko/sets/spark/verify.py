"""Verification of sets on a cluster: tasks read the written files again, and Spark brings equal sets together.

Nothing is known here of how the release came about but how many records there are and the sum over their sets; what is
kept of the original is counted from the written sets, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.source.spark_errors import understood
from rothko.engines.spark.cluster import Batches, Cluster, of_batches
from rothko.errors import VerificationError
from rothko.privacy import KAnonymity
from rothko.release.parts import read_by_tasks
from rothko.release.verify import Verification
from rothko.sets.publish import Kept
from rothko.sets.records import one_array
from rothko.sets.spark.finish import Joined
from rothko.sets.verify import Found, accepted, fingerprint_of, read_back, unknown_items


class Counted(NamedTuple):
    """What some of the different sets hold."""

    found: Found
    utility: float
    instances: int
    empty: int
    present: NDArray[np.bool_]
    """Which items are published."""

    @classmethod
    def of(cls, sets: Any, times: NDArray[np.int64], names: pa.Array, worth: NDArray[np.float64]) -> Counted:
        """That of some sets, and how many records publish each."""
        numbers = pc.index_in(sets.flatten().cast(names.type), value_set=names)
        if numbers.null_count:
            raise unknown_items()
        items = numbers.to_numpy()
        lengths = pc.list_value_length(sets).to_numpy(zero_copy_only=False)
        often = np.repeat(times, lengths)
        present = np.zeros(len(names), dtype=np.bool_)
        present[items] = True
        found = Found(int(times.sum()), len(times), float(times.min()), fingerprint_of(sets, times))
        return cls(
            found, float((worth[items] * often).sum()), int(often.sum()), int(times[lengths == 0].sum()), present
        )

    def __or__(self, other: Counted) -> Counted:
        found = Found(
            self.found.rows + other.found.rows, self.found.classes + other.found.classes,
            min(self.found.achieved, other.found.achieved), self.found.total + other.found.total,
        )  # fmt: skip
        return Counted(
            found, self.utility + other.utility, self.instances + other.instances, self.empty + other.empty,
            self.present | other.present,
        )  # fmt: skip

    def kept(self) -> Kept:
        """What metrics are made of."""
        rows, classes, _, _ = self.found
        return Kept(rows, self.utility, self.instances, int(self.present.sum()), classes, self.empty)


def verify_sets(
    cluster: Cluster, folder: Path, ending: str, delimiter: str, meant: Joined, asked: KAnonymity, names: pa.Array,
    worth: NDArray[np.float64],
) -> tuple[Verification, Kept]:  # fmt: skip
    """Verify what was written, and fail closed; what was found, and what is kept.

    Parameters
    ----------
    names, worth
        The items of the original, and their utility.
    """
    from pyspark.sql import functions

    with understood():
        files = read_by_tasks(cluster.session, folder, ending)
        counted = files.mapInArrow(of_batches(_counts, delimiter), "items array<string>, times bigint")
        once = counted.groupBy("items").agg(functions.sum("times").alias("times"))
    found = cluster.gather(once, partial(_found, names, worth), _together)
    if not found:
        raise VerificationError("Verification failed: no records were written; nothing was released.")
    total: Counted = found[0]
    return accepted(total.found, asked, meant.rows, meant.total), total.kept()


def _counts(delimiter: str, batches: Batches) -> Batches:
    """The different sets of each file and how often each is there; Spark brings the counts together."""
    for batch in batches:
        for file in batch["file"].to_pylist():
            sets, times = read_back(Path(file), delimiter=delimiter)
            columns = [sets.cast(pa.list_(pa.string())), pa.array(times)]
            yield pa.RecordBatch.from_arrays(columns, names=["items", "times"])


def _found(names: pa.Array, worth: NDArray[np.float64], tables: Iterator[pa.Table]) -> Iterator[tuple[int, Counted]]:
    for table in tables:
        yield 0, Counted.of(one_array(table["items"]), table["times"].to_numpy(), names, worth)


def _together(_: int, parts: list[Counted]) -> Counted:
    total = parts[0]
    for part in parts[1:]:
        total |= part
    return total
