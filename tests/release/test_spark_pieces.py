"""Of a class in several pieces, which of them a row is in tells nothing of what the class hides."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import rothko as rk
from rothko.data.source.spark import open_spark
from rothko.data.source.written import Written
from rothko.engines.options import Spark
from rothko.engines.spark.input_rows import FrameRows
from rothko.engines.spark.records import Records, unpacked
from rothko.engines.spark.run import grow, look
from rothko.metrics.meter import LossMeter
from rothko.release.spark.finish import Making, _routed
from tests.engines.spark.test_growth import spread
from tests.twins.spark_cluster import PlainCluster

ROWS = 600


def test_where_a_row_of_a_large_class_goes_hangs_on_what_it_shows() -> None:
    random = np.random.default_rng(0)
    columns = {"age": random.integers(20, 60, ROWS), "note": random.integers(0, 50, ROWS)}
    asked = rk.Policy.quick(list(columns), qi="age", keep="note", k=400)
    frame = spread(pa.table(columns), 2, 0)
    engine = Spark(records_at_once=100)
    found = grow(engine, look(engine, PlainCluster(), open_spark(frame), asked, check=lambda _: None), asked)
    assert [leaf.whole for leaf in found.leaves] == [True]
    making = Making.of(found, asked, list(columns), LossMeter, Path(), ".parquet")
    other = spread(pa.table(columns | {"age": columns["age"][::-1]}), 2, 0)
    cluster = PlainCluster()
    records = Records.of(cluster, FrameRows(cluster, other, Written()), found.coder, found.records.packing)
    sent = [_sent(making, one) for one in (found.records, records)]
    assert sent[0] == sent[1]
    assert len({slot for slot, _ in sent[0]}) == len(making.slots) == 12


def _sent(making: Making, records: Records) -> Counter[tuple[int, Any]]:
    """How many rows with each note go to each task."""
    found: Counter[tuple[int, Any]] = Counter()
    for part in records.frame.partitions:
        for batch in _routed(making, iter(part.to_batches())):
            [coded] = unpacked(making.packing, ROWS, iter([batch]))
            found.update((batch["slot"][0].as_py(), note) for note in coded.kept["note"].to_pylist())
    return found
