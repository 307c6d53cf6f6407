"""Leaves on a cluster, cut to the end and written where their records are brought together.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1. One shuffle brings the records of each leaf to one task, which
goes on as the memory engine does and writes a file. A leaf that is one class and larger than a task can hold is
written in several, its records spread evenly whatever order they come in. What each task has found (what it lost, what
its rows must be, its branch of the tree) is joined in a task of its own, and only a summary comes to the driver.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.data.survey.coder import Coder
from rothko.engines.disk.spill import Spill
from rothko.engines.divided import Divided
from rothko.engines.packing import Packing
from rothko.engines.part import LargeClass
from rothko.engines.spark.cluster import SLOTS, as_slots, of_batches, read_message
from rothko.engines.spark.records import SENT, SHARE, sent, unpacked
from rothko.engines.spark.run import Grown
from rothko.engines.spark.store import Leaf
from rothko.methods.classes import Cuts
from rothko.methods.curve.curve import fields_for, sort_records
from rothko.policy.policy import Policy
from rothko.release.large_class import Sums, add_up
from rothko.release.measured import NewMeter
from rothko.release.parts import part_name
from rothko.release.publish import Published
from rothko.release.recoding.branches import Branches
from rothko.release.rows import row_keys
from rothko.release.spark.part_files import File, Files, Joined, joined_by, stream_of, write_file
from rothko.release.stream import Sink
from rothko.release.write import write_content

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number by which products spread over 64 bits (Fibonacci hashing)."""


class Slot(NamedTuple):
    """What one task finishes: a leaf, or a piece of one."""

    leaf: Leaf
    of: int = 1
    """How many pieces the leaf is in."""


@dataclass(frozen=True, slots=True)
class Making:
    """What tasks must know to finish leaves: plain data, sent to them."""

    outline: Outline
    policy: Policy
    coder: Coder
    packing: Packing
    names: tuple[str, ...]
    """The columns of the source, in their order."""
    divided: Divided
    slots: tuple[Slot, ...]
    tuples: int
    meter: NewMeter
    folder: Path
    """Where files are written, which all tasks and the driver can reach."""
    ending: str
    seed: int = 0
    sums: Mapping[int, Sums] = field(default_factory=dict)
    """Node of a leaf that is one class and in several pieces → what is known of it."""

    @classmethod
    def of(cls, grown: Grown, policy: Policy, names: Sequence[str], meter: NewMeter, folder: Path, ending: str) -> (
        Making
    ):  # fmt: skip
        """How the leaves of a tree are finished."""
        slots = []
        for leaf in grown.leaves:
            # Half of what fits, for rows do not spread quite evenly.
            parts = max(1, math.ceil(2 * leaf.rows / grown.tuples)) if leaf.whole else 1
            slots += [Slot(leaf, parts)] * parts
        return cls(
            grown.outline, policy, grown.coder, grown.records.packing, tuple(names), grown.divided, tuple(slots),
            grown.tuples, meter, folder, ending, grown.seed,
        )  # fmt: skip

    def file(self, slot: int) -> str:
        """The name of a file: files come in an order that the cuts fix."""
        return part_name(slot, self.ending)


Branched = tuple[int, Cuts, Mapping[str, Sequence[Published]]]
"""A leaf, the cuts below it, and what its classes publish."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a task has made of a leaf, or of a piece of one."""

    file: File
    measured: Any
    """What :meth:`rothko.release.measured.Meter.measured` said."""
    branch: Branched | None
    """Of the recoding, where there is one."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the classes came about."""


def finish(grown: Grown, making: Making, recoding: Path) -> Joined:
    """Finish all leaves; the files and the recoding are written, and what is known of them comes back."""
    making = replace(making, sums=_sums(grown, making))
    return joined_by(grown.records, lambda: _jobs(grown, making, recoding))


def _jobs(grown: Grown, making: Making, recoding: Path) -> Any:
    """Every record to its task, every task to the one that joins them: not begun before it is collected."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    routed = grown.records.frame.mapInArrow(of_batches(_routed, making), SENT)
    done = routed.repartitionById(len(making.slots), "slot").mapInArrow(of_batches(_finished, making), SLOTS)
    return (
        done.repartition(1)
        .sortWithinPartitions("slot")
        .mapInArrow(of_batches(_joined, making, recoding), StructType([StructField("found", BinaryType())]))
    )


def _sums(grown: Grown, making: Making) -> dict[int, Sums]:
    """What is known of each leaf that is one class and in several pieces."""
    large = [leaf for leaf in grown.leaves if leaf.whole]
    if not large:
        return {}
    route = making.divided.route({leaf.node: i for i, leaf in enumerate(large)})

    def found(records: Iterator[Coded]) -> Iterable[tuple[int, Sums]]:
        sums: dict[int, Sums] = {}
        for coded in records:
            place = route(coded)
            for i, leaf in enumerate(large):
                some = coded.take(np.flatnonzero(place == i))
                if some.rows:
                    more = add_up(_class(making, leaf, [some], some.rows), making.policy)
                    sums[i] = sums[i] + more if i in sums else more
        return sums.items()

    def total(_: int, some: list[Sums]) -> Sums:
        result = some[0]
        for one in some[1:]:
            result = result + one
        return result

    return {large[i].node: sums for i, sums in grown.records.gather(found, total).items()}


def _class(making: Making, leaf: Leaf, coded: Sequence[Coded], rows: int) -> LargeClass:
    region = making.divided.region(leaf.node)
    return LargeClass(making.outline, rows, lambda: iter(coded), making.tuples, leaf.node, *region)


def _routed(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every record as codes, with the task that finishes it."""
    first = {slot.leaf.node: i for i, slot in reversed(list(enumerate(making.slots)))}
    parts = np.ones(len(making.slots), dtype=np.uint64)
    for i in first.values():
        parts[i] = making.slots[i].of
    route = making.divided.route(first)
    alike = Alike()
    for coded in unpacked(making.packing, max(making.tuples // SHARE, 1), batches):
        slots = route(coded)
        spread = np.flatnonzero(parts[slots] > 1)
        if len(spread):
            # By what the rows show, of which what they keep is all that differs: by codes, or by anything that does
            # not leave, whoever knows the seed could tell records of the class apart.
            keys = row_keys(coded.kept.take(pa.array(spread)), making.seed, rows=len(spread), some=True)
            piece = ((keys >> np.uint64(33)) + alike.number(keys)) % parts[slots[spread]]
            slots[spread] += piece.astype(np.int32)
        yield from sent(making.packing, coded, slots, len(making.slots))


def _keys(coded: Coded, seed: int) -> NDArray[np.uint64]:
    """A hash of all that is known of each record."""
    keys = row_keys(coded.kept, seed) if coded.kept.num_columns else np.zeros(coded.rows, dtype=np.uint64)
    for codes in (*coded.codes, *coded.values.values()):
        keys = (keys + codes.astype(np.uint64) + np.uint64(1)) * SPREAD
    return keys


class Alike:
    """Numbers records that are alike, one after the other, as they come by in a partition.

    So they can be spread evenly over the pieces of a class, and which pieces they are sent to does not hang on the
    order in which they come: a task that is done again, and may get them in another, sends the same ones.

    >>> alike = Alike()
    >>> [alike.number(np.array(keys, dtype=np.uint64)).tolist() for keys in ([7, 7, 9], [9, 7])]
    [[0, 1, 0], [1, 2]]
    """

    def __init__(self) -> None:
        self._keys, self._counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64)

    def number(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """How many with its key came before each."""
        here, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        order = np.argsort(place, kind="stable")
        within = np.empty(len(keys), dtype=np.uint64)
        within[order] = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
        known = np.union1d(self._keys, here)
        sums = np.zeros(len(known), dtype=np.uint64)
        sums[np.searchsorted(known, self._keys)] = self._counts
        at = np.searchsorted(known, here)
        result = within + sums[at][place]
        sums[at] += counts.astype(np.uint64)
        self._keys, self._counts = known, sums
        return np.asarray(result, dtype=np.uint64)


def _finished(making: Making, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Finish the leaf whose records are in a partition."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    number = held[0]["slot"][0].as_py()
    [coded] = unpacked(making.packing, making.outline.rows + 1, iter(held))
    del held
    yield as_slots([number], [_written(making, number, making.slots[number], coded)])


def _written(making: Making, number: int, slot: Slot, coded: Coded) -> Done:
    """Write the file of a leaf, or of a piece of one."""
    branch: list[Branched] = []
    notes: list[str] = []

    def put(sink: Sink) -> None:
        if slot.of > 1:
            sink.add_class(_class(making, slot.leaf, [coded], coded.rows), making.sums[slot.leaf.node])
        else:
            part = making.divided.finish(_in_order(making, coded), slot.leaf.node)
            notes.extend(part.partition.notes)
            sink.add(part)

    with Spill.open() as spill:
        stream = stream_of(making.policy, making.outline, making.names, spill, making.meter, making.seed)
        file, meter = write_file(
            stream, making.folder, making.file(number), put, lambda *given: branch.append(given)
        )  # fmt: skip
        return Done(file, meter.measured(), branch[0] if branch else None, tuple(notes))


def _in_order(making: Making, coded: Coded) -> Coded:
    """The records in an order that hangs on nothing but what they hold, where equal ones may be parted."""
    if making.divided.top is not None:
        return coded
    outline = making.outline
    columns = (*coded.codes, *coded.values.values())
    fields, count = fields_for([*(line.size for line in outline.lines), *(d.size for d in outline.domains.values())])
    words = np.zeros((count + 1, coded.rows), dtype=np.uint64)
    for codes, (word, shift) in zip(columns, fields, strict=True):
        words[word] |= codes.astype(np.uint64) << np.uint64(shift)
    words[count] = _keys(coded, making.seed)
    return coded.take(sort_records(words, 1))


def _joined(making: Making, recoding: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join what all tasks have made, in the order of their numbers."""
    files, joined, notes = Files(), set[int](), dict[str, None]()
    with Spill.open() as spill:
        outline = making.outline
        meter = making.meter(making.policy, outline, spill)
        branches = Branches(outline.lines, making.policy, spill)
        for batch in batches:
            for number, found in zip(batch["slot"].to_pylist(), batch["found"], strict=True):
                done: Done = read_message(found.as_py())
                files.add(number, done.file)
                meter.take_in(done.measured)
                notes |= dict.fromkeys(done.notes)
                if done.branch is not None and done.branch[0] not in joined:  # the pieces of a class have the same
                    branches.add(*done.branch)
                    joined.add(done.branch[0])
        if not files.numbers:
            return  # an empty partition beside the one that has all
        if files.rows != outline.rows:  # of a frame that is another each time it is asked
            raise making.coder.changed()
        top = making.divided.top
        for path, content in ({} if top is None else branches.files(recoding, top)).items():
            write_content(content, path)
    yield files.joined(making.folder, meter.measured(), tuple(notes))
