"""A table on a cluster whose columns are recoded by themselves: every record where it lies, and what that loses.

Which file a row goes to hangs on a hash of what it shows, and so does its place there: neither tells how the input had
it, nor what was recoded. Rows that are alike and very many are spread over several files. What each task has written
is counted by class and label, the counts of a class come together, and from them follows what was lost and which
combinations the recoding shows; only a summary comes to the driver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.source.spark_errors import told
from rothko.data.survey.coded import Outline
from rothko.data.survey.coder import Coder
from rothko.engines.disk.spill import Spill
from rothko.engines.packing import Packing
from rothko.engines.part import LargeClass
from rothko.engines.spark.cluster import Batches, as_message, of_batches, read_message
from rothko.engines.spark.records import SENT, SHARE, sent, unpacked
from rothko.engines.spark.refine import RefinedTable
from rothko.methods.classes import Classes
from rothko.policy.policy import Policy
from rothko.release.by_column import ByPart
from rothko.release.large_class import Sums
from rothko.release.loss import Loss
from rothko.release.measured import NewMeter, Shown
from rothko.release.parts import part_name
from rothko.release.recoder import Counts
from rothko.release.recoding.combinations import Combinations
from rothko.release.rows import fold_shown, row_keys
from rothko.release.spark.finish import Alike
from rothko.release.spark.part_files import File, Files, Joined, joined_by, stream_of, write_file
from rothko.release.stream import Sink, no_clash
from rothko.release.write import write_content

FOUND = "kind int, slot int, found binary"
"""What tasks give back: of a file what was written, of some classes what was counted or lost; pickled."""
FILE, CLASSES = range(2)
RUN = 1024
"""Of rows that are alike, so many of a partition go to the same file."""


@dataclass(frozen=True, slots=True)
class Recode:
    """What tasks must know to recode records: plain data, sent to them."""

    by_part: ByPart
    outline: Outline
    policy: Policy
    coder: Coder
    packing: Packing
    names: tuple[str, ...]
    """The columns of the source, in their order."""
    tuples: int
    files: int
    meter: NewMeter
    folder: Path
    """Where files are written, which all tasks and the driver can reach."""
    ending: str
    seed: int

    @classmethod
    def of(
        cls, table: RefinedTable, policy: Policy, names: Sequence[str], meter: NewMeter, folder: Path, ending: str
    ) -> Recode:
        """How a table is recoded; an error where what is published would not hold."""
        by_part = ByPart.of(table.outline.lines, table.parts, table.counts, policy)
        # Half of what fits, for rows do not spread quite evenly.
        files = max(1, math.ceil(2 * table.outline.rows / table.tuples))
        return cls(
            by_part, table.outline, policy, table.coder, table.records.packing, tuple(names), table.tuples, files,
            meter, folder, ending, table.seed,
        )  # fmt: skip

    @property
    def bins(self) -> int:
        """In how many bins classes are brought together: a count of them takes less than records do."""
        return math.ceil(self.files / 4)


def recode(table: RefinedTable, making: Recode, recoding: Path) -> Joined:
    """Recode all records; the files and the recoding are written, and what is known of them comes back."""
    return joined_by(table.records, lambda: _jobs(table, making, recoding))


def _jobs(table: RefinedTable, making: Recode, recoding: Path) -> Any:
    """Every record to its file, every count to its class, all of them to one task: not begun before it is collected."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    routed = table.records.frame.mapInArrow(of_batches(_routed, making), SENT)
    done = routed.repartitionById(making.files, "slot").mapInArrow(of_batches(_finished, making), FOUND)

    def together(found: pa.Table) -> pa.Table:
        with told():
            return _together(making, found)

    return (
        done.groupBy("kind", "slot")
        .applyInArrow(together, FOUND)
        .repartition(1)
        .sortWithinPartitions("kind", "slot")
        .mapInArrow(of_batches(_joined, making, recoding), StructType([StructField("found", BinaryType())]))
    )


def _routed(making: Recode, batches: Batches) -> Batches:
    """Every record as codes, with the file that it goes to."""
    alike = Alike()
    for coded in unpacked(making.packing, max(making.tuples // SHARE, 1), batches):
        keys = row_keys(coded.kept, making.seed, rows=coded.rows, some=True)
        for line, parts, codes in zip(making.by_part.lines, making.by_part.parts, coded.codes, strict=True):
            fold_shown(keys, making.by_part.published[line.name], parts.of_code[codes])
        files = ((keys >> np.uint64(33)) + alike.number(keys) // np.uint64(RUN)) % np.uint64(making.files)
        yield from sent(making.packing, coded, files.astype(np.int32), making.files)


def _finished(making: Recode, batches: Batches) -> Batches:
    """Write the file whose records are in a partition, and count them."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    number = held[0]["slot"][0].as_py()
    [coded] = unpacked(making.packing, making.outline.rows + 1, iter(held))
    del held
    encoded = making.outline.encoded(coded)
    partition = making.by_part.classes(encoded)
    classes, published = partition.class_of(), making.by_part.shown(partition)
    no_clash(published, coded.kept)

    def put(sink: Sink) -> None:
        sink.add_rows(encoded, coded.kept, published, classes, covered=True)

    with Spill.open() as spill:
        stream = stream_of(making.policy, making.outline, making.names, spill, Unmeasured, making.seed)
        file, _ = write_file(stream, making.folder, part_name(number, making.ending), put, _no_branch)
    yield _as_found(FILE, number, file)
    yield from _by_bin(making, Counts.of(encoded, partition, classes))


def _by_bin(making: Recode, counts: Counts) -> Batches:
    """What was counted, by the bin in which a class is brought together."""
    bins = counts.bins(making.bins)
    order = np.argsort(bins, kind="stable")
    numbers, begins = np.unique(bins[order], return_index=True)
    for number, some in zip(numbers.tolist(), np.split(order, begins[1:]), strict=True):
        yield _as_found(CLASSES, number, counts.take(some))


def _together(making: Recode, found: pa.Table) -> pa.Table:
    """What was found of a file, as it is; of some classes what they lose, and which combinations they show."""
    kind, slot = found["kind"][0].as_py(), found["slot"][0].as_py()
    if kind == FILE:
        return found
    parts = [read_message(one) for one in found["found"].to_pylist()]
    counts = Counts(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
    with Spill.open() as spill:
        meter = making.meter(making.policy, making.outline, spill)
        shows = counts.measure(making.outline, making.by_part, meter)
        return pa.Table.from_batches([_as_found(CLASSES, slot, (meter.measured(), shows))])


def _joined(making: Recode, recoding: Path, batches: Batches) -> Batches:
    """Join what all tasks have found: files, then classes, in the order of their numbers."""
    files = Files()
    with Spill.open() as spill:
        meter = making.meter(making.policy, making.outline, spill)
        combinations = Combinations(making.by_part, making.policy, spill)
        for batch in batches:
            for kind, number, one in zip(
                batch["kind"].to_pylist(), batch["slot"].to_pylist(), batch["found"], strict=True
            ):
                found = read_message(one.as_py())
                if kind == FILE:
                    file: File = found
                    files.add(number, file)
                else:
                    measured, shows = found
                    meter.take_in(measured)
                    combinations.add(shows)
        if not files.numbers:
            return  # an empty partition beside the one that has all
        if files.rows != making.outline.rows:  # of a frame that is another each time it is asked
            raise making.coder.changed()
        for path, content in combinations.files(recoding).items():
            write_content(content, path)
        measured = meter.measured()
    yield files.joined(making.folder, measured)


def _as_found(kind: int, slot: int, found: Any) -> pa.RecordBatch:
    packed = as_message(found)
    numbers = {"kind": pa.array([kind], pa.int32()), "slot": pa.array([slot], pa.int32())}
    return pa.record_batch({**numbers, "found": pa.array([packed], pa.binary())})


def _no_branch(*_: Any) -> None:
    raise AssertionError("a recoding by column has no branches")


class Unmeasured:
    """Measures nothing: a file has some records of a class, and what is lost is known from all of them."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def add(self, encoded: Encoded, partition: Classes, classes: NDArray[np.int32], published: Shown) -> None:
        """Nothing."""

    def add_counted(self, encoded: Encoded, partition: Classes, times: NDArray[np.int64], published: Shown) -> None:
        """Nothing."""

    def add_class(self, part: LargeClass, sums: Sums, published: Shown) -> None:
        """Nothing."""

    def add_piece(self, part: LargeClass, sums: Sums, published: Shown) -> None:
        """Nothing."""

    def measured(self) -> None:
        """Nothing."""

    def take_in(self, measured: Any) -> None:
        """Nothing."""

    def finish(self) -> Loss:
        """What nothing loses."""
        return Loss(math.nan, {}, 0, math.nan, 0, 0, 0, {})
