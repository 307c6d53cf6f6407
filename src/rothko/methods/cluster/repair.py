"""Repair: the classes of any local method, made better.

Records that cost less in another class go there, classes whose records all do are dissolved, and near classes are
clustered anew (:mod:`rothko.kernels.cluster.repair`). That happens in blocks of classes that lie together on a Hilbert
curve, side by side in threads, and pass after pass along other curves, so that what one pass cuts apart the next one
joins. What dear classes can spare then goes to cheap ones through others (:mod:`rothko.kernels.cluster.chains`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rothko.methods.classes import LocalClasses
from rothko.methods.cluster.tuples import Entries, Tuples
from rothko.methods.curve.curve import hilbert_order
from rothko.progress import each

NEAREST = 6
"""How many near classes are clustered anew at a time, at most."""
ALL = 1 << 30
"""Records of a class that are tried where none is to be left out."""
CURVES = 3
"""Along how many curves records that are in no class ask those that lie near,"""
PLACED = 8_000
"""in blocks of so many records,"""
ASKED = 5_000_000
"""where there are more pairs of such records and classes: about a tenth of a second."""
CHAINED = 100_000
"""Records of a block in which chains are looked for: a moment."""
TURN = 0.37
"""By how much the curve of a pass is shifted against that of the one before."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to repair."""

    block: int
    """Records that are looked at together."""
    passes: int
    """Along how many curves."""
    tries: int
    """Records of a class in a row that find no better class before it is left alone."""
    steps: float
    """How often near classes are clustered anew in a pass, for each class."""

    @classmethod
    def for_table(cls, tuples: Tuples) -> Effort:
        """What takes seconds: several passes for small tables, one in small blocks for large ones."""
        rows, k, lines = len(tuples.records), tuples.k, len(tuples.encoded.lines)
        if rows > SMALL:
            if rows <= MIDDLING:
                return cls(block=max(4_000, 40 * k), passes=1, tries=ALL, steps=0.25)
            return cls(block=max(3_000, 40 * k), passes=1, tries=16, steps=0.0)
        # Every tuple is compared with every class of its block, and every tuple with every other of those that are
        # clustered anew, which are some k for each class.
        block = COMPARED * k // (tuples.count * lines)
        again = COMPARED / (NEAREST * NEAREST / 4 * rows * k * lines)
        steps = min(again, 10.0 if rows <= TINY else 1.0)
        passes = 10 if rows <= TINY else 3
        return cls(block=min(max(block, 20 * k, 2_000), 15_000), passes=passes, tries=ALL, steps=steps)


TINY = 5_000
"""Tables up to so many records are repaired until little is left to gain."""
SMALL = 50_000
"""Tables up to so many records are repaired thoroughly."""
MIDDLING = 200_000
"""Up to so many records near classes are clustered anew at all, and all records of a class are tried."""
LARGE = 3
"""Classes that requirements make more than so many times larger than k are clustered anew the less often: all their
tuples are compared."""
COMPARED = 500_000_000
"""About a second of comparing tuples with classes, line by line."""


class Halves:
    """Progress of what is made, and then repaired."""

    def __init__(self, rows: int, progress: Callable[[int], None]) -> None:
        self._left, self._progress = rows, progress
        self._one_at_a_time = Lock()  # blocks end in threads

    def made(self, records: int) -> None:
        """So many records are in classes: half of the work for them."""
        self._report(records // 2)

    def repaired(self, records: int) -> None:
        """So many records were looked at again, in one of three passes."""
        self._report(records // 6)

    def ended(self) -> None:
        """All is done."""
        self._report(self._left)

    def _report(self, records: int) -> None:
        with self._one_at_a_time:
            records = min(records, self._left)
            self._left -= records
            self._progress(records)


def repaired(tuples: Tuples, partition: LocalClasses, *, seed: int, threads: int, shown: Halves) -> LocalClasses:
    """The classes of a local method, repaired."""
    effort = Effort.for_table(tuples)
    entries = tuples.entries(partition)
    for turn in range(effort.passes):
        entries = repair_pass(tuples, entries, effort, turn, seed=seed, threads=threads, progress=shown.repaired)
    found = tuples.partition(entries, notes=partition.notes)
    shown.ended()
    return found


def repair_pass(
    tuples: Tuples,
    entries: Entries,
    effort: Effort,
    turn: int,
    *,
    seed: int,
    threads: int,
    progress: Callable[[int], None] = lambda _: None,
    over: Callable[[], bool] = lambda: False,
) -> Entries:
    """One pass over all classes, in blocks along the curve of this turn."""
    from rothko.kernels.cluster.repair import repair

    def work(block: Local, seed: np.uint64) -> Found:
        bearable = min(1.0, LARGE * tuples.k * block.classes / block.records)
        steps = int(bearable * effort.steps * block.classes)
        found: Found = repair(tuples.lines, *block.given, False, 1, effort.tries, steps, NEAREST, seed)
        progress(block.records)
        return found

    return by_blocks(tuples, entries, work, effort.block, turn, seed=seed, threads=threads, over=over)


def chained(
    tuples: Tuples, entries: Entries, *, seed: int, threads: int, over: Callable[[], bool] = lambda: False
) -> Entries:
    """The same boxes; cheap ones take what dear ones can spare, through others between them."""
    from rothko.kernels.cluster.chains import chains

    def work(block: Local, _: np.uint64) -> Found:
        found: Found = chains(tuples.lines, *block.given)
        return found

    return by_blocks(tuples, entries, work, CHAINED, 0, seed=seed, threads=threads, over=over)


class Local(NamedTuple):
    """The classes of a block, numbered from 0, and its tuples likewise."""

    who: NDArray[np.int64]
    """Which tuples they are."""
    given: tuple[Any, ...]
    """As kernels take them: x, values, k, rules; tuples, classes and amounts; and how many classes there are."""
    records: int
    classes: int


Found: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]
"""Tuples of a block, classes and amounts; how many classes there are."""


def by_blocks(
    tuples: Tuples,
    entries: Entries,
    work: Callable[[Local, np.uint64], Found],
    block: int,
    turn: int,
    *,
    seed: int,
    threads: int,
    over: Callable[[], bool],
) -> Entries:
    """What work makes of blocks of about so many records along the curve of a turn; they stay when time is over."""
    entries, pieces = along_curve(tuples, entries, turn, block, threads)

    def one(i: int) -> Entries:
        held, classes, amounts = entries.between(*pieces[i])
        local, inverse = np.unique(held, return_inverse=True)
        first = int(classes[0])
        count = int(classes[-1]) - first + 1
        if over():
            return Entries(held, classes - first, amounts, count)
        x, values = tuples.x.take(local, axis=1), tuples.values.take(local, axis=1)
        given = (x, values, tuples.k, tuples.rules.asked, inverse, classes - first, amounts, count)
        found = work(Local(local, given, int(amounts.sum()), count), seed_of(seed, turn, i))
        return Entries(local[found[0]], *found[1:])

    return joined(each(one, range(len(pieces)), threads))


def settled(tuples: Tuples, entries: Entries, *, threads: int = 1) -> Entries:
    """The same classes with the records that are in none: each joins one that holds with it, or makes others merge.

    Classes that lie near are asked first, in blocks along some curves: where requirements are hard to meet many records
    are left, and to ask all classes for each of them would take time that grows with the square of the table.
    """
    from rothko.kernels.cluster.repair import repair

    for turn in range(CURVES):
        loose = entries.amounts[entries.classes < 0].sum()
        if entries.count and loose * entries.count > ASKED:
            entries = _placed(tuples, entries, turn, threads)
    found = repair(
        tuples.lines, tuples.x, tuples.values, tuples.k, tuples.rules.asked, entries.tuples, entries.classes,
        entries.amounts, entries.count, True, 0, ALL, 0, NEAREST, seed_of(0, 0, 0),
    )  # fmt: skip
    return Entries(*found)


def _placed(tuples: Tuples, entries: Entries, turn: int, threads: int) -> Entries:
    """Let records that are in no class join one of those that lie near on a curve, where it holds with them."""
    from rothko.kernels.cluster.repair import repair

    rank = _ranks(tuples, turn, threads)
    loose = entries.where(entries.classes < 0)
    held, pieces = _blocks(entries.where(entries.classes >= 0), rank, PLACED)
    middle = _middles(held, rank)
    firsts = middle[held.classes[[begin for begin, _ in pieces]]]
    block = np.searchsorted(firsts[1:], rank[loose.tuples], side="right")

    def work(i: int) -> Entries:
        some = loose.where(block == i)
        within, classes, amounts = held.between(*pieces[i])
        first, count = int(classes[0]), int(classes[-1] - classes[0]) + 1
        local, inverse = np.unique(np.append(within, some.tuples), return_inverse=True)
        of, records = np.append(classes - first, some.classes), np.append(amounts, some.amounts)
        found = repair(
            tuples.lines, tuples.x.take(local, axis=1), tuples.values.take(local, axis=1), tuples.k, tuples.rules.asked,
            inverse, of, records, count, False, 0, ALL, 0, NEAREST, seed_of(0, turn, i),
        )  # fmt: skip
        return Entries(local[found[0]], *found[1:])

    return joined(each(work, range(len(pieces)), threads))


def joined(parts: Sequence[Entries]) -> Entries:
    """The classes of several blocks, numbered one after the other."""
    before = np.cumsum([0, *(part.count for part in parts)])
    classes = [np.where(part.classes < 0, -1, part.classes + first) for part, first in zip(parts, before, strict=False)]
    return Entries(
        np.concatenate([part.tuples for part in parts]),
        np.concatenate(classes),
        np.concatenate([part.amounts for part in parts]),
        int(before[-1]),
    )


def seed_of(*parts: int) -> np.uint64:
    """A seed of its own for each piece of work."""
    return np.uint64(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def _ranks(tuples: Tuples, turn: int, threads: int) -> NDArray[np.int64]:
    """The place of each tuple on the curve of a pass: the first has them in order."""
    if turn == 0:
        return np.arange(tuples.count)
    lines = len(tuples.encoded.lines)
    turned = np.roll(np.arange(lines), turn).tolist()
    order = hilbert_order(tuples.encoded, threads=threads, shift=[TURN * turn % 1] * lines, attributes=turned)
    # Tuples that differ only in sensitive values share a place: which of them comes first is up to the input.
    new = np.arange(len(order)) == 0
    for one in tuples.encoded.codes:  # line by line: a copy of all codes would be as large as the table
        codes = one[order]
        new[1:] |= codes[1:] != codes[:-1]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(new)
    return place[tuples.records[tuples.starts[:-1]]]


def along_curve(
    tuples: Tuples, entries: Entries, turn: int, block: int, threads: int
) -> tuple[Entries, list[tuple[int, int]]]:
    """The classes in the order of the curve of a pass, and blocks of about so many records as ranges of entries."""
    return _blocks(entries, _ranks(tuples, turn, threads), block)


def _blocks(entries: Entries, rank: NDArray[np.int64], block: int) -> tuple[Entries, list[tuple[int, int]]]:
    """The classes in the order of a curve, and blocks of them as ranges of entries."""
    sizes = np.bincount(entries.classes, weights=entries.amounts, minlength=entries.count)
    along = np.argsort(_middles(entries, rank), kind="stable")
    number = np.empty(entries.count, dtype=np.int64)
    number[along] = np.arange(entries.count)
    classes = number[entries.classes]
    order = np.lexsort((entries.tuples, classes))
    entries = Entries(entries.tuples[order], classes[order], entries.amounts[order], entries.count)
    ends = cut_evenly(np.cumsum(sizes[along]), block)
    cuts = np.searchsorted(entries.classes, np.append(0, ends))
    return entries, list(pairwise(cuts.tolist()))


def _middles(entries: Entries, rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where the classes lie on a curve."""
    sizes = np.bincount(entries.classes, weights=entries.amounts, minlength=entries.count)
    return np.bincount(entries.classes, weights=entries.amounts * rank[entries.tuples], minlength=entries.count) / sizes


def cut_evenly(until: NDArray[np.number], block: int) -> NDArray[np.int64]:
    """Where to cut a row of things, given how many records there are up to each, into blocks of about so many.

    >>> cut_evenly(np.array([2, 4, 6, 8, 9]), 4).tolist()
    [3, 5]
    """
    total = float(until[-1])
    wanted = np.arange(1, max(round(total / block), 1)) * (total / max(round(total / block), 1))
    return np.unique(np.append(np.searchsorted(until, wanted) + 1, len(until)))
