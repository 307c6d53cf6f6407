"""Leaves of set-mondrian on a cluster, cut to the end where their records are brought together, and written.

One shuffle brings the records of each leaf to one task, which goes on as memory does. What it hands on is what its
classes publish, and how often: a few rows. Spark brings equal sets together, and a second shuffle spreads their rows
over files by numbers that only the sets and the seed decide. So neither the file nor the place in it tells which leaf a
row comes from, which would tell that its record lacks the items that cut it off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.source.spark_errors import understood
from rothko.engines.spark.cluster import SLOTS, as_message, as_slots, of_batches, read_message
from rothko.release.parts import PartFile, part_name, write_manifest, write_part
from rothko.sets.methods.mondrian import SetMondrian
from rothko.sets.publish import Shown, in_drawn_order, shared
from rothko.sets.records import Records, set_keys
from rothko.sets.spark.grow import Leaf, Top
from rothko.sets.spark.packed import VALUES, PackedSets, as_values, unpacked
from rothko.sets.spark.survey import Coded, Items
from rothko.sets.verify import marks_of
from rothko.sets.write import write_sets

CLASSES = "items array<int>, times bigint, mark bigint"
"""What classes publish, how many records do, and the number by which the verifier knows the set."""
BLOCK = 1 << 20
"""Rows that are spread over files at a time."""


@dataclass(frozen=True, slots=True)
class Making:
    """What tasks must know to finish leaves and to write files: plain data, sent to them."""

    method: SetMondrian
    k: int
    seed: int
    rows: int
    items: Items
    ranks: NDArray[np.int32]
    """Of the items, as :meth:`rothko.sets.methods.mondrian.SetMondrian.ranks` has them for all records."""
    part: int
    """Records of a part of the tree that is taken up by itself, at most."""
    top: Top
    leaves: tuple[Leaf, ...]
    files: int
    folder: Path
    """Where files are written, which all tasks and the driver can reach."""
    ending: str
    delimiter: str

    def small(self) -> list[Leaf]:
        """The leaves that tasks finish, in the order of their slots."""
        return [leaf for leaf in self.leaves if leaf.whole is None]


class Done(NamedTuple):
    """A file that a task has written."""

    file: PartFile
    rows: int
    total: int
    """What :func:`rothko.sets.verify.fingerprint_of` must say of its sets."""


class Joined(NamedTuple):
    """What all tasks have written, in short."""

    rows: int
    total: int
    manifest: str
    """The hash of the list of files."""


def finish(records: PackedSets, making: Making) -> Joined:
    """Finish all leaves; the files are written, and what is known of them comes back."""
    cluster = records.cluster
    with understood():
        joined = _jobs(cluster.session, records.held.frame, making)
    [row] = cluster.collect(joined)["found"].to_pylist()
    cluster.collected.jobs += 1
    return read_message(row)  # type: ignore[no-any-return]


def _jobs(session: Any, frame: Any, making: Making) -> Any:
    """From records to files, and to the list of these: not begun before it is collected."""
    from pyspark.sql import functions

    made = []
    if making.small():
        routed = frame.mapInArrow(of_batches(_routed, making), f"slot int, {VALUES}")
        brought = routed.repartitionById(len(making.small()), "slot")
        made.append(brought.mapInArrow(of_batches(_finished, making), CLASSES))
    if len(making.small()) < len(making.leaves):
        made.append(session.createDataFrame(_whole(making), CLASSES))
    classes = reduce(lambda one, other: one.union(other), made)
    published = classes.groupBy("items", "mark").agg(functions.sum("times").alias("times"))
    spread = published.select("items", "times", "mark").mapInArrow(of_batches(_spread, making), f"file int, {CLASSES}")
    done = spread.repartitionById(making.files, "file").mapInArrow(of_batches(_written, making), SLOTS)
    together = done.repartition(1).sortWithinPartitions("slot")
    return together.mapInArrow(of_batches(_joined, making), "found binary")


# ── From records to classes


def _routed(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All records with the tasks that finish them; not those of a class that is known already."""
    from rothko.kernels.sets.records import spread

    nodes = [leaf.node for leaf in making.small()]
    for coded in unpacked(batches):
        slots = making.top.groups(coded, nodes)
        order = np.argsort(slots, kind="stable").astype(np.int32)
        begins = np.searchsorted(slots[order], np.arange(len(nodes) + 1))
        for slot in np.flatnonzero(np.diff(begins)).tolist():
            for value in as_values(Coded(*spread(order[begins[slot] : begins[slot + 1]], *coded))):
                yield pa.record_batch(
                    {"slot": pa.array([slot], pa.int32()), "lengths": [value.lengths], "items": [value.items]}
                )


def _finished(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Finish the leaf whose records are in a partition."""
    for coded in unpacked(batches, making.rows * making.items.size + 1):  # all at once
        records = Records(coded.starts, coded.items, making.items.names, making.items.utility)
        class_of = making.method.within(records, making.k, making.ranks, part=making.part)
        yield _as_classes(shared(records, class_of))


def _whole(making: Making) -> pa.Table:
    """What the classes publish that no task can hold."""
    large = [(leaf.rows, leaf.whole) for leaf in making.leaves if leaf.whole is not None]
    items = np.concatenate([whole for _, whole in large])
    starts = np.cumsum([0, *(len(whole) for _, whole in large)])
    times = np.array([rows for rows, _ in large])
    return pa.Table.from_batches([_as_classes(Shown(starts, items, times, making.items.names))])


def _as_classes(shown: Shown) -> pa.RecordBatch:
    sets = pa.LargeListArray.from_arrays(pa.array(shown.starts), shown.names.take(pa.array(shown.items)))
    columns = [_as_lists(Coded(shown.starts, shown.items)), pa.array(shown.times), pa.array(marks_of(sets))]
    return pa.RecordBatch.from_arrays(columns, names=["items", "times", "mark"])


def _as_lists(coded: Coded) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(coded.starts.astype(np.int32)), pa.array(coded.items))


def _as_coded(lists: Sequence[pa.Array]) -> Coded:
    lengths = [np.diff(one.offsets.to_numpy()) for one in lists]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), *lengths])
    items = [one.flatten().to_numpy() for one in lists]
    return Coded(np.cumsum(starts), np.concatenate([np.empty(0, dtype=np.int32), *items]))


# ── From classes to files


def _spread(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For each set how many of its rows go to which file."""
    for batch in batches:
        keys = set_keys(*_as_coded([batch["items"]]), making.items.size)[:, 0]
        for which, file, times in shares(keys, batch["times"].to_numpy(), making.files, making.seed):
            some = batch.take(pa.array(which))
            columns = [pa.array(file), some["items"], pa.array(times), some["mark"]]
            yield pa.RecordBatch.from_arrays(columns, names=["file", "items", "times", "mark"])


def shares(
    keys: NDArray[np.uint64], times: NDArray[np.int64], files: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]]:
    """Spread rows over files: which set, which file, how many rows; some at a time.

    Row number j of a set goes where a hash of the set, j and the seed says: two runs that find the sets in another
    order write the same files.
    """
    ends = np.cumsum(times)
    first = _mixed(np.uint64(seed % (1 << 64)) + np.uint64(1))
    for begin in range(0, int(ends[-1]) if len(ends) else 0, BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, int(ends[-1])))
        which = np.searchsorted(ends, rows, side="right")
        within = (rows - (ends - times)[which]).astype(np.uint64)
        drawn = _mixed(_mixed(keys[which] ^ first) + within) % np.uint64(files)
        places, counts = np.unique(which * files + drawn.astype(np.int64), return_counts=True)
        yield places // files, (places % files).astype(np.int32), counts


def _mixed(number: Any) -> Any:
    """A number of 64 bits whose bits all hang on all bits of another (the last steps of SplitMix64)."""
    with np.errstate(over="ignore"):
        number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return number ^ (number >> np.uint64(31))


def _written(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the file whose rows are in a partition."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    number = held[0]["file"][0].as_py()
    coded = _as_coded([batch["items"] for batch in held])
    times = np.concatenate([batch["times"].to_numpy() for batch in held])
    marks = np.concatenate([batch["mark"].to_numpy() for batch in held])
    published, _ = in_drawn_order(Shown(*coded, times, making.items.names), [making.seed, number])

    def write(path: Path) -> None:
        write_sets(published, path, delimiter=making.delimiter, first=number, step=making.files)

    file, _ = write_part(making.folder, part_name(number, making.ending), write)
    total = sum(mark * often for mark, often in zip(marks.tolist(), times.tolist(), strict=True))
    yield as_slots([number], [Done(file, published.count, total)])


def _joined(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join what all tasks have written, in the order of their numbers."""
    done: list[Done] = [read_message(found.as_py()) for batch in batches for found in batch["found"]]
    if not done:
        return  # an empty partition beside the one that has all
    assert len({one.file.name for one in done}) == len(done), "two tasks have written the same"
    rows = sum(one.rows for one in done)
    if rows != making.rows:  # of a frame that is another each time it is asked
        raise making.items.changed()
    joined = Joined(rows, sum(one.total for one in done), write_manifest(making.folder, [one.file for one in done]))
    yield pa.record_batch({"found": pa.array([as_message(joined)], pa.binary())})
