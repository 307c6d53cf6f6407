"""How fast this machine is, from a second of work: what a plan needs to tell time.

A small generated table is released in memory, written to a private temporary folder and read back; each record then
costs what it did there. It is an estimate: disks slow down when their caches are full, and other tables are
harder to cut.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.engines.foretold import Plan
from rothko.engines.plan import Cost
from rothko.errors import OutputError
from rothko.flow import anonymize
from rothko.generate.agrawal import agrawal_batches
from rothko.policy.policy import Policy

RECORDS = 100_000
WRITTEN = 64_000_000
"""Bytes: enough to outlast the latency of a disk."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What this machine takes, in seconds."""

    read: float
    """For a byte from disk."""
    write: float
    """For a byte to disk."""
    code: float
    """For a value of a record, to be found on its line."""
    count: float
    """For a value of a record, to be counted."""
    level: float
    """For a value of a record, at each level of cuts in memory."""
    release: float
    """For a value of a record, to be encoded, published and verified."""

    def seconds(self, plan: Plan, cost: Cost) -> float:
        """How long an engine takes for a table."""
        values = plan.rows * plan.columns
        depth = max(1.0, math.log2(max(plan.rows / plan.k, 1.0)))
        once = values * (self.release + depth * self.level)
        if cost.engine == "memory":
            return once + plan.size * self.read
        disk = plan.size * (cost.reads * self.read + cost.writes * self.write)
        return once + disk + values * (cost.source * self.code + cost.reads * self.count)


def calibrate() -> Speed:
    """Measure this machine; about two seconds."""
    k = 100
    table = pa.Table.from_batches(list(agrawal_batches(RECORDS)))
    names = [name for name in table.column_names if name != "class"]
    policy = Policy.quick(table.column_names, qi=names, keep="class", k=k, engine="memory")
    anonymize(table.slice(0, 1000), policy)  # loads the compiled kernels
    timings = anonymize(table, policy).certificate.timings
    values = RECORDS * len(names)
    depth = math.log2(RECORDS / k)
    numbers = [column.to_numpy() for column in table.select(names).itercolumns()]
    read, write = _disk()
    code, count = _coding(numbers)
    return Speed(
        read=read,
        write=write,
        code=code / values,
        count=count / values,
        level=timings["partition"] / depth / values,
        release=(sum(timings.values()) - timings["partition"]) / values,
    )


def _coding(columns: list[NDArray[np.generic]]) -> tuple[float, float]:
    """Seconds to find the codes of all values, and to count them."""
    lines = [np.unique(column) for column in columns]
    begun = time.perf_counter()
    codes = [np.searchsorted(line, column) for line, column in zip(lines, columns, strict=True)]
    coded = time.perf_counter()
    for some in codes:
        np.bincount(some)
    return coded - begun, time.perf_counter() - coded


def _disk() -> tuple[float, float]:
    """Seconds for a byte read from the temporary folder, and for one written there."""
    block = np.random.default_rng(0).bytes(1_000_000)
    blocks = WRITTEN // len(block)
    try:
        with TemporaryDirectory(prefix="rothko-plan-") as folder:
            path = Path(folder) / "block"
            begun = time.perf_counter()
            with path.open("wb", buffering=0) as file:
                for _ in range(blocks):
                    file.write(block)
                os.fsync(file.fileno())
                written = time.perf_counter() - begun
                if hasattr(os, "posix_fadvise"):
                    # Read it from the disk, not from memory.
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            begun = time.perf_counter()
            with path.open("rb", buffering=0) as file:
                while file.read(len(block)):
                    pass
            read = time.perf_counter() - begun
    except OSError as error:
        raise OutputError(f"The temporary folder cannot be written to: {error.strerror}; set TMPDIR.") from None
    return read / WRITTEN, written / WRITTEN
