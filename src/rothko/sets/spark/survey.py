"""The first look at sets on a cluster: their items, and how many records there are.

The driver gets every item once. From then on a record is the numbers of its items, which tasks look up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.survey.distinct import Distinct
from rothko.engines.spark.cluster import Cluster
from rothko.errors import InputError
from rothko.mistakes import said
from rothko.sets.files import Reading, Utility, completed, with_columns_above
from rothko.sets.records import Records
from rothko.sets.spark.reading import SetFrame

NAMES, ROWS = 0, 1
"""Slots of what is found."""


class Coded(NamedTuple):
    """Records as the numbers of their items, rising: CSR."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Items:
    """The items of all records: plain data, sent to tasks."""

    label: str
    read: Callable[[pa.Table], Records]
    """Some rows → their records."""
    known: pa.Array
    """Items as they are read, in the order of their texts."""
    above: Coded
    """Of each of those the items that it stands for: itself, and its ancestors."""
    names: pa.Array
    utility: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self.names)

    def code(self, table: pa.Table) -> Coded:
        """The records of some rows."""
        from rothko.kernels.sets.records import spread, tidy

        records = self.read(table)
        place = pc.index_in(records.names, value_set=self.known)
        if place.null_count:
            raise self.changed()
        items = place.to_numpy()[records.items]
        if len(self.above.items) == len(self.known):
            return Coded(records.starts, items)  # both are in the order of their texts, so they rise still
        starts, items = spread(items, *self.above)
        starts = starts[records.starts]
        kept = tidy(starts, items)
        return Coded(starts, items[:kept])

    def changed(self) -> InputError:
        """What is said where a later job finds other records than the first."""
        return InputError(f"{self.label} has changed while it was read; start again.")


class Surveyed(NamedTuple):
    """What the first look has found."""

    items: Items
    rows: int
    notes: tuple[str, ...]


def survey(cluster: Cluster, sets: SetFrame, how: Reading, utility: Utility, *, memory: int) -> Surveyed:
    """Go through the records once and learn their items.

    Parameters
    ----------
    memory
        The most bytes that the items may take on the driver.
    """
    read = sets.reader.read
    found = cluster.gather(sets.frame, partial(_look, read, memory), partial(_together, memory))
    names: Distinct = found[NAMES] if found else Distinct(memory)
    if names.full:
        raise InputError(
            f"{sets.label} has more different items than the driver can hold in {memory / 1e6:,.0f} MB; raise "
            f"{said('--memory')}, or drop rare items before: what fewer than k records have is never published."
        )
    texts = names.values.cast(pa.large_string()) if found else pa.array([], pa.large_string())
    known = texts.take(pc.array_sort_indices(texts))
    # Every item as a record of its own: what is made of these is what is made of it in any record.
    each = Records(np.arange(len(known) + 1), np.arange(len(known), dtype=np.int32), known, np.ones(len(known)))
    made = completed(with_columns_above(each, sets.reader), how, utility)
    items = Items(sets.label, read, known, Coded(made.starts, made.items), made.names, made.utility)
    return Surveyed(items, found.get(ROWS, 0), made.notes)


def _look(
    read: Callable[[pa.Table], Records], limit: int, tables: Iterator[pa.Table]
) -> Iterator[tuple[int, Distinct | int]]:
    names, rows = Distinct(limit), 0
    for table in tables:
        records = read(table)
        rows += records.count
        names.add(pa.chunked_array([records.names]))
    if rows:
        names.finish()
        yield NAMES, names
        yield ROWS, rows


def _together(limit: int, slot: int, found: list[Any]) -> Any:
    if slot == ROWS:
        return sum(found)
    total = Distinct(limit)
    for one in found:
        total.take_in(one)
    total.finish()
    return total
