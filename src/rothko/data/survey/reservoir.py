"""A simple random sample without replacement of records that come a batch at a time, their number unknown."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Reservoir:
    """The records with the smallest of random keys, one for each record.

    The key of a record depends on the seed and on its place in the source alone, so the sample does not depend on how
    the records come. Those that are drawn in vain are dropped a batch at a time.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.seen = 0
        """How many records were taken in."""
        self._size = size
        self._random = np.random.PCG64(seed)
        self._bar = np.uint64(2**64 - 1)
        self._keys: list[NDArray[np.uint64]] = []
        self._tables: list[pa.Table] = []
        self._held = 0

    def add(self, table: pa.Table) -> None:
        """Take in more records."""
        keys = np.asarray(self._random.random_raw(table.num_rows), dtype=np.uint64)
        self.seen += table.num_rows
        near = np.flatnonzero(keys <= self._bar)
        if len(near) < table.num_rows:
            keys, table = keys[near], table.take(pa.array(near))
        self._keys.append(keys)
        self._tables.append(table)
        self._held += len(keys)
        if self._held > self._size + max(self._size // 4, 4096):
            self._choose()

    def result(self) -> pa.Table:
        """The sample, in the order of the records; all of them where there are fewer than asked for."""
        self._choose()
        return self._tables[0]

    def _choose(self) -> None:
        keys, table = np.concatenate(self._keys), pa.concat_tables(self._tables)
        if len(keys) > self._size:
            self._bar = np.partition(keys, self._size - 1)[self._size - 1] if self._size else np.uint64(0)
            best = np.flatnonzero(keys <= self._bar)[: self._size]
            keys, table = keys[best], table.take(pa.array(best))
        # In one piece: a slice would hold on to all that it was cut from.
        self._keys, self._tables, self._held = [keys], [table.combine_chunks()], len(keys)
