"""The rows of one class that does not fit in memory: its records are alike, or no cut of it is allowed.

A class shows one value in each published column, so its rows can leave some at a time. What must be known of it before
adds up over records: its box, how many records have each value where a mean is shown, how many have each label of a
target.

Rows leave in an order that depends on the seed and on what they show, as in :mod:`rothko.release.rows`; here they are
brought into it as in a radix sort. They are distributed over files by some bits of their hash, and a file that fits in
memory is put in order there; one that does not is distributed again, by further bits. Rows of the same hash show the
same, and their order tells nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.growing import SHARED, Tables
from rothko.engines.part import LargeClass
from rothko.methods.classes import Cuts, TreeClasses
from rothko.policy.policy import Policy
from rothko.release.publish import (
    Published,
    as_numbers,
    exact_mean,
    is_numeric,
    mean_name,
    publish,
    statistics_asked,
    without_noise,
)
from rothko.release.rows import random_order, row_keys

BITS = 5
"""Of a hash, by which rows are distributed at a time: 32 files."""
PIECE = 1 << 16
"""Rows that leave at a time where all are alike."""


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of a class."""

    rows: int
    low: NDArray[np.int32]
    """The smallest code on every line."""
    high: NDArray[np.int32]
    """The largest one."""
    values: Mapping[int, NDArray[np.int64]]
    """Of lines whose mean is shown: how many records have each code."""
    targets: Mapping[str, NDArray[np.int64]]
    """Of each target: how many records have each code of its domain."""

    def __add__(self, other: Sums) -> Sums:
        """What is known of a class from some of its records and others."""
        return Sums(
            self.rows + other.rows,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            {i: counts + other.values[i] for i, counts in self.values.items()},
            {name: counts + other.targets[name] for name, counts in self.targets.items()},
        )

    def box_of(self, part: LargeClass, coded: Coded) -> tuple[Encoded, TreeClasses]:
        """Some of the records as one class that has the box of all of them."""
        sizes = np.array([line.size for line in part.outline.lines], dtype=np.int32)
        cuts = Cuts(
            attribute=np.full(1, -1, dtype=np.int32),
            begins=np.zeros(1, dtype=np.int32),
            child=np.full(1, -1, dtype=np.int32),
            children=np.zeros(1, dtype=np.int32),
            leaf=np.zeros(1, dtype=np.int64),
            sizes=sizes,
            root=(part.low, part.high),
        )
        order, starts = np.arange(coded.rows, dtype=np.int32), np.array([0, coded.rows], dtype=np.int64)
        return part.outline.encoded(coded), TreeClasses(order, starts, self.low[None], self.high[None], cuts)


def add_up(part: LargeClass, policy: Policy, shuffle: Shuffle | None = None) -> Sums:
    """Go through the records of a class once: what is known of it, and its rows to be shuffled, if they are."""
    lines = part.outline.lines
    low = np.array([line.size for line in lines], dtype=np.int32)
    high = np.full(len(lines), -1, dtype=np.int32)
    asked = set(means_shown(lines, policy))
    values = {i: np.zeros(line.size, dtype=np.int64) for i, line in enumerate(lines) if line.name in asked}
    targets = {name: np.zeros(part.outline.domains[name].size, dtype=np.int64) for name in part.outline.targets}
    for coded in part.batches():
        np.minimum(low, coded.codes.min(axis=1, initial=np.iinfo(np.int32).max), out=low)
        np.maximum(high, coded.codes.max(axis=1, initial=-1), out=high)
        for i, counts in values.items():
            counts += np.bincount(coded.codes[i], minlength=len(counts))
        for name, counts in targets.items():
            counts += np.bincount(coded.values[name], minlength=len(counts))
        if shuffle is not None:
            shuffle.add(coded.kept)
    return Sums(part.rows, low, high, values, targets)


def publish_class(part: LargeClass, found: Sums, policy: Policy) -> dict[str, tuple[Published, ...]]:
    """Quasi-identifier → what the class shows of it."""
    somebody = replace(part.outline.nobody(), codes=found.low[:, None].copy())
    somebody = replace(somebody, values={name: np.zeros(1, dtype=np.int32) for name in part.outline.domains})
    shown = publish(*found.box_of(part, somebody), policy.publish, workload=policy.workload)
    means = means_shown(part.outline.lines, policy)
    places = {line.name: i for i, line in enumerate(part.outline.lines)}
    return {
        name: tuple(
            _mean(column, part.outline, places[name], found) if column.name == means.get(name) else column
            for column in columns
        )
        for name, columns in shown.items()
    }


def means_shown(lines: Sequence[Line], policy: Policy) -> dict[str, str]:
    """Quasi-identifier → the column of its mean, where one is shown."""
    asked = statistics_asked(policy.workload)
    return {
        line.name: line.name if policy.publish == "mean" else mean_name(line.name)
        for line in lines
        if is_numeric(line) and (policy.publish == "mean" or "mean" in asked.get(line.name, ()))
    }


def _mean(column: Published, outline: Outline, i: int, found: Sums) -> Published:
    """The mean of a class by how many records have each value; missing where some have none."""
    shown = np.array([mean_of(numbers_of(outline.lines[i]), found.values[i])])
    return Published(column.name, pa.array(shown, from_pandas=True), np.zeros(1, dtype=np.int32))


def numbers_of(line: Line) -> NDArray[np.float64]:
    """The number that each code of a line stands for, and NaN for what is missing."""
    return np.append(as_numbers(line.values), np.nan)


def mean_of(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """The mean of rising numbers that occur so often; NaN where one is missing."""
    held = np.flatnonzero(counts)
    lowest = numbers[held[0]]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(np.dot(counts[held], numbers[held] - lowest)) / int(counts.sum()) + lowest
    if not math.isfinite(mean):
        mean = exact_mean(numbers[held], counts[held])
    return float(without_noise(np.array([mean]), np.abs(numbers[held]).max(keepdims=True))[0])


class Shuffle:
    """Rows on their way into an order that does not depend on the one in which they came.

    Parameters
    ----------
    at_once
        How many rows fit in memory.
    used
        Bits of the hash by which the rows were distributed already.
    """

    def __init__(self, tables: Tables, rows: int, at_once: int, *, seed: int, threads: int = 1, used: int = 0) -> None:
        self._tables, self._rows, self._at_once = tables, rows, at_once
        self._seed, self._threads, self._used = seed, threads, used
        # Half of what fits, for rows do not spread quite evenly.
        self._bits = min(BITS, max(1, math.ceil(math.log2(max(2 * rows / at_once, 1)))))
        self._files: list[_File] = []

    def add(self, kept: pa.Table) -> None:
        """Take in rows: their columns that are released as they are."""
        if not kept.num_columns:
            return
        keys = row_keys(kept, self._seed)
        if not self._files:
            self._files = [_File(self._tables, kept.schema) for _ in range(1 << self._bits)]
        place = (keys >> np.uint64(self._used) & np.uint64(len(self._files) - 1)).astype(np.uint8)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(len(self._files) + 1))
        for i, file in enumerate(self._files):
            some = order[ends[i] : ends[i + 1]]
            if len(some):
                file.write(kept.take(pa.array(some)), keys[some])

    def pieces(self) -> Iterator[tuple[pa.Table, NDArray[np.int32] | None, int]]:
        """The rows, some at a time, the order in which these leave (None: as they are), and how many they are.

        It can be taken once.
        """
        if not self._files:  # they show nothing but what is published, and are all alike
            for begin in range(0, self._rows, PIECE):
                yield pa.table({}), None, min(PIECE, self._rows - begin)
        while self._files:
            file = self._files.pop(0)
            if 0 < file.rows <= self._at_once:
                kept = pa.concat_tables(file.batches())
                yield kept, random_order(kept, self._seed, threads=self._threads), kept.num_rows
            elif file.first == file.last:
                yield from ((kept, None, kept.num_rows) for kept in _resliced(file.batches(), PIECE))
            else:
                below = Shuffle(
                    self._tables, file.rows, self._at_once, seed=self._seed, threads=self._threads,
                    used=self._used + self._bits,
                )  # fmt: skip
                for kept in file.batches():
                    below.add(kept)
                file.remove()
                yield from below.pieces()
            file.remove()


class _File:
    """Some rows on disk, and the smallest and the largest of their hashes."""

    def __init__(self, tables: Tables, schema: pa.Schema) -> None:
        self.first, self.last = np.uint64(2**64 - 1), np.uint64(0)
        self._table = tables.table(schema, held=SHARED)
        self.batches, self.remove = self._table.batches, self._table.remove

    @property
    def rows(self) -> int:
        return self._table.rows

    def write(self, kept: pa.Table, keys: NDArray[np.uint64]) -> None:
        self.first, self.last = min(self.first, keys.min()), max(self.last, keys.max())
        self._table.write(kept)


def _resliced(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows, so many at a time: where they were cut before must not show in a file."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        while sum(one.num_rows for one in held) >= rows:
            joined = pa.concat_tables(held)
            yield joined.slice(0, rows)
            held = [joined.slice(rows)] if joined.num_rows > rows else []
    if held:
        yield pa.concat_tables(held)
