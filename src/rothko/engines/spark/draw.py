"""A simple random sample of records that lie on a cluster.

Every record draws a key, and those with the smallest are the sample. Keys hang on the seed, on the place of a record in
its partition, and on what the partition begins with: so a task that is done again draws the same, whatever its number.
Few records are drawn in vain: how many there are is known, and with it how large the keys of a sample are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SIGMAS = 6
"""By how many standard deviations more are drawn than are asked for."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Some records with their keys."""

    keys: NDArray[np.uint64]
    table: pa.Table

    def smallest(self, size: int) -> Drawn:
        """So many of them, in the order of their keys."""
        order = np.argsort(self.keys, kind="stable")[:size]
        return Drawn(self.keys[order], self.table.take(pa.array(order)).combine_chunks())

    @classmethod
    def together(cls, parts: Sequence[Drawn], size: int) -> Drawn:
        """Those of several partitions."""
        keys = np.concatenate([part.keys for part in parts])
        return cls(keys, pa.concat_tables([part.table for part in parts])).smallest(size)


class Draw:
    """Draws among the records of one partition.

    Parameters
    ----------
    size
        How many records the sample should have.
    rows
        How many there are.
    """

    def __init__(self, size: int, rows: int, seed: int) -> None:
        share = min(1.0, (size + SIGMAS * math.sqrt(size) + SIGMAS) / max(rows, 1))
        self._bar = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        self._seed = seed
        self._random: np.random.PCG64 | None = None
        self._drawn: list[Drawn] = []

    def add(self, table: pa.Table, columns: Callable[[pa.Table], pa.Table]) -> None:
        """Take in more records, in their order; of those that are drawn, some columns."""
        if self._random is None:
            first = table.slice(0, 1000).combine_chunks().to_batches()
            begin = hashlib.blake2b(b"".join(bytes(batch.serialize()) for batch in first), digest_size=16)
            self._random = np.random.PCG64([self._seed, *np.frombuffer(begin.digest(), dtype=np.uint32).tolist()])
        keys = np.asarray(self._random.random_raw(table.num_rows), dtype=np.uint64)
        near = np.flatnonzero(keys <= self._bar)
        self._drawn.append(Drawn(keys[near], columns(table.take(pa.array(near)))))

    def result(self) -> Drawn | None:
        """Those that were drawn; None of no records."""
        return Drawn.together(self._drawn, 2**62) if self._drawn else None
