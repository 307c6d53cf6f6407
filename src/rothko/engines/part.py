"""Finished parts of a table that does not fit in memory: some records in classes, one class that is larger still, or
all records, where every column is recoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline
from rothko.methods.classes import Classes, Parts


@dataclass(frozen=True, slots=True)
class Part:
    """What one leaf of the top of the tree, or a segment of a curve, became, once it fitted in memory."""

    encoded: Encoded
    partition: Classes
    """Its classes, by cuts of the region of that leaf where there is a tree."""
    kept: pa.Table
    """The columns that are released as they are, record by record."""
    leaf: int
    """The node of the top of the tree that the part hangs from."""

    @property
    def rows(self) -> int:
        """Number of records."""
        return self.encoded.rows

    @property
    def classes(self) -> int:
        """How many classes it has."""
        return self.partition.classes


@dataclass(frozen=True, slots=True)
class LargeClass:
    """A leaf of the top of the tree that no allowable cut divides, and that does not fit in memory: one class."""

    outline: Outline
    rows: int
    batches: Callable[[], Iterator[Coded]]
    """A pass over its records; as often as need be, until the next part is asked for."""
    at_once: int
    """How many records fit in memory."""
    leaf: int
    """The node of the top of the tree that it is."""
    low: NDArray[np.int32]
    """The region of that node: its first code on every line."""
    high: NDArray[np.int32]
    """Its last code on every line."""

    @property
    def classes(self) -> int:
        """How many classes it is."""
        return 1


@dataclass(frozen=True, slots=True)
class RecodedTable:
    """All records of a table whose columns are recoded by themselves: how, and the records as they come."""

    outline: Outline
    rows: int
    batches: Callable[[], Iterator[Coded]]
    """A pass over the records; as often as need be, until the next part is asked for."""
    at_once: int
    """How many records fit in memory."""
    parts: tuple[Parts, ...]
    """Of each line."""
    counts: list[tuple[NDArray[np.int64], ...]]
    """One, until it is used. Of each line: how many records have each code."""


AnyPart = Part | LargeClass | RecodedTable
"""What an engine hands on."""
