"""What models that look at some of the quasi-identifiers see of a release that is made part by part.

To them classes that show the same are one group, and such classes may lie in different parts. So each part writes
down how often which label stands beside what it shows of these quasi-identifiers, and at the end SQL adds that up,
under a memory limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import as_text
from rothko.engines.growing import TableFile, Tables
from rothko.metrics.workload import combined, entropy, variance
from rothko.release.loss import ClassifyLoss, RegressLoss, TaskLoss
from rothko.release.publish import Published
from rothko.release.sql import Batches, connect
from rothko.workload.tasks import Model, Regress


class Seen:
    """Counts of a target beside what classes show of a model's features."""

    def __init__(self, task: Model, domain: Domain, tables: Tables) -> None:
        self.target = task.target
        self._task, self._domain, self._tables = task, domain, tables
        self._file: TableFile | None = None

    def add(
        self, codes: NDArray[np.int32], classes: NDArray[np.int32], published: Mapping[str, Sequence[Published]]
    ) -> None:
        """Count a part: the code of each record's target, its class, and what the classes show."""
        shown = [c for name, columns in published.items() if name in (self._task.features or ()) for c in columns]
        count = int(classes.max(initial=-1)) + 1
        keys = combined([column.of_class for column in shown]) if shown else np.zeros(count, dtype=np.int32)
        _, first = np.unique(keys, return_index=True)
        there = codes < self._domain.size - 1
        pairs = keys[classes[there]].astype(np.int64) * self._domain.size + codes[there]
        found, counts = np.unique(pairs, return_counts=True)
        groups = first[found // self._domain.size]
        columns = {f"k{i}": as_text(c.values).take(pa.array(c.of_class[groups])) for i, c in enumerate(shown)}
        table = pa.table({"code": (found % self._domain.size).astype(np.int32), "n": counts, **columns})
        if self._file is None:
            self._schema, self._file = table.schema, self._tables.table(table.schema)
        self._file.write(table)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        assert self._file is not None
        for table in self._file.batches():
            yield from table.to_batches()

    def loss(self, *, threads: int, memory: int | None, spill: Path | None) -> TaskLoss:
        """What is lost for the model in all parts together."""
        target, counts = self._task.target, self._domain.counts[:-1]
        records = max(int(counts.sum()), 1)
        keys = self._schema.names[2:]
        with connect(threads, memory=memory, spill=spill) as connection:
            connection.register("seen", Batches(self._schema, self._batches))
            if isinstance(self._task, Regress):
                numbers = pa.table({"code": np.arange(len(counts)), "x": self._domain.deviations[:-1]})
                connection.register("numbers", numbers)
                same = f"PARTITION BY {', '.join(keys)}" if keys else ""
                # Around the mean of each group: what its squares have in common would take away their digits.
                [(squares,)] = connection.execute(
                    "SELECT coalesce(sum(n * (x - mean) * (x - mean)), 0) FROM (SELECT n, x, sum(n * x) OVER same / "
                    f"sum(n) OVER same AS mean FROM seen JOIN numbers USING (code) WINDOW same AS ({same}))"
                ).fetchall()
                return RegressLoss(target, squares / records, variance(self._domain), records)
            [(bits, most)] = connection.execute(
                "SELECT coalesce(sum(size * log2(size) - bits), 0), coalesce(sum(most), 0) FROM ("
                "SELECT sum(n) AS size, max(n) AS most, sum(n * log2(n)) AS bits FROM ("
                f"SELECT sum(n)::DOUBLE AS n, {', '.join(keys or ['1 AS k'])} FROM seen "
                f"GROUP BY {', '.join(['code', *keys])}) GROUP BY {', '.join(keys or ['k'])})"
            ).fetchall()
        return ClassifyLoss(target, bits / records, entropy(counts), (records - most) / records, records)
