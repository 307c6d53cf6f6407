"""Locality-sensitive hashing: hash tables in which records that share items often share a bucket.

Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), chapter IV, Algorithms 10 to 13, after Gionis,
Indyk and Motwani (VLDB 1999). A bit of a key asks whether a record has at least one item of a set of items. Items are
rare, so a single one would ask nothing: items are joined until about half of the records answer yes. The number of
bits is such that the buckets of a record, one in each table, hold c · ln n records together.

Where we leave the thesis:

- An item that would carry the share of yes further past one half than it is below is passed over: on Adult, where one
  item is in 90 % of the records, its bits would ask little. The thesis takes every item as it is drawn, and so does
  the methods with ``reading: paper``.
- Items are drawn without repetition, and drawing ends when all were drawn: the thesis's loop has no end where all
  items together are in fewer than half of the records.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rothko.sets.records import Records

if TYPE_CHECKING:
    from rothko.kernels.sets.lsh import Tables

TABLES = 5
"""The thesis's l."""
CANDIDATES = 50
"""The thesis's c."""
FULL = 4
"""Of full buckets so many times c · ln n records are taken together, where what was found is asked more than once."""
MOST_BITS = 30


def count_candidates(records: int, candidates: int = CANDIDATES) -> int:
    """How many records a query looks at, c · ln n.

    >>> count_candidates(100_000)
    575
    """
    return max(1, int(candidates * math.log(max(records, 2))))


def count_of_bucket(records: int, tables: int) -> int:
    """How many records a query takes from one bucket at most, where it takes so many from all.

    >>> count_of_bucket(575, 5)
    115
    """
    return max(1, records // tables)


def count_bits(records: int, tables: int = TABLES, candidates: int = CANDIDATES) -> int:
    """Bits of a key: log2 of l · n by the number of records that a query looks at.

    >>> count_bits(100_000), count_bits(100)
    (10, 1)
    """
    bits = round(math.log2(max(1.0, tables * records / count_candidates(records, candidates))))
    return min(bits, MOST_BITS)


def build_hash(
    share: NDArray[np.float64], bits: int, random: np.random.Generator, *, every: bool = False
) -> NDArray[np.int64]:
    """The bits that each item sets (Algorithm 12).

    Parameters
    ----------
    share
        The part of the records that have each item.
    every
        Whether every item is taken as it is drawn.
    """
    masks = np.zeros(len(share), dtype=np.int64)
    present = np.flatnonzero(share > 0)
    for bit in range(bits):
        none = 1.0
        for item in random.permutation(present).tolist():
            with_it = none * (1.0 - share[item])
            if not every and abs(with_it - 0.5) >= abs(none - 0.5):
                continue
            none = with_it
            masks[item] |= 1 << bit
            if none <= 0.5:
                break
    return masks


def preprocess(
    records: Records,
    random: np.random.Generator,
    *,
    tables: int = TABLES,
    candidates: int = CANDIDATES,
    every: bool = False,
) -> Tables:
    """Hash all records into all tables (Algorithm 10)."""
    from rothko.kernels.sets.lsh import fill_tables, hash_records

    bits = count_bits(records.count, tables, candidates)
    share = records.frequencies() / max(records.count, 1)
    masks = np.empty((tables, records.size), dtype=np.int64)
    for table in range(tables):
        masks[table] = build_hash(share, bits, random, every=every)
    made: Tables = fill_tables(hash_records(records.starts, records.items, masks), 1 << bits, masks)
    return made


def without_tables(records: Records) -> Tables:
    """No tables at all: every query is answered by records at random."""
    return _in_one_bucket(records, 0)


def one_bucket(records: Records) -> Tables:
    """One table with all records in one bucket: its size tells how many a kernel has not taken out yet."""
    return _in_one_bucket(records, 1)


def _in_one_bucket(records: Records, tables: int) -> Tables:
    from rothko.kernels.sets.lsh import fill_tables

    made: Tables = fill_tables(
        np.zeros((tables, records.count), dtype=np.int32), 1, np.zeros((tables, records.size), dtype=np.int64)
    )
    return made
