"""Releases of methods along a curve, and of cluster, on a real Spark: grouped segment by segment in the executors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.spark import open_spark
from rothko.engines.spark.along import divide
from rothko.engines.spark.run import look
from rothko.flow import prepare
from rothko.metrics.meter import LossMeter
from rothko.release.spark import finish
from rothko.release.spark.finish import Making
from rothko.release.spark.release import Spread
from rothko.secret import Secret
from tests.spark import spark
from tests.twins.spark_cluster import PlainCluster, spread

__all__ = ["spark"]

ROWS = 2_000
KEY = bytes(range(32))


def people(rows: int = ROWS) -> pa.Table:
    """Records that differ in their quasi-identifiers, so that nothing hangs on a secret."""
    random = np.random.default_rng(0)
    return pa.table(
        {
            "age": random.integers(18, 90, rows),
            "town": random.choice(["Bonn", "Köln", "Trier", None], rows),
            "height": random.permutation(rows) / 10,
            "disease": random.choice(["flu", "cold", "asthma", "gout"], rows),
            "note": random.integers(0, 50, rows),
        }
    )


def policy(method: Any, engine: Any = "memory", **changes: Any) -> rk.Policy:
    columns = {name: {"role": "quasi-identifier"} for name in ("age", "town", "height")}
    asked: dict[str, Any] = {
        "columns": {**columns, "disease": {"role": "sensitive"}, "note": {"role": "keep"}},
        "privacy": [{"k-anonymity": {"k": 5}}, {"entropy-l-diversity": {"l": 2.5, "of": "disease"}}],
        "method": method,
        "engine": engine,
    }
    return rk.Policy(**asked | changes)


def on_spark(fits: int = 700) -> dict[str, Any]:
    return {"spark": {"records_at_once": fits}}


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))


def test_the_rows_are_those_of_the_memory_engine_whatever_partitions_they_come_in(spark: Any, folder: Path) -> None:
    method = {"hilbert-fast": {"segment": 500}}
    wanted = rk.anonymize(people(), policy(method))
    hashes = []
    for parts in (2, 5):
        frame = spark.createDataFrame(people()).repartition(parts)
        saved = prepare(frame, policy(method, on_spark()), key=KEY).save(f"out{parts}/")
        hashes.append(saved.certificate.sha256)
    assert hashes[0] == hashes[1]
    assert rows_of(pq.read_table(saved.data)) == rows_of(wanted.arrow)
    assert len(list(saved.data.glob("part-*.parquet"))) > 4
    found = saved.certificate
    assert (found.engine, found.key, found.verification.true) == ("spark", "given", True)
    assert found.loss.gcp == pytest.approx(wanted.certificate.loss.gcp)
    assert found.loss.class_sizes == wanted.certificate.loss.class_sizes
    assert found.notes == wanted.certificate.notes
    assert [one.to_dict() for one in found.verification.findings] == [
        pytest.approx(one.to_dict()) for one in wanted.certificate.verification.findings
    ]
    assert saved.recoding_path is None
    assert sorted(path.name for path in Path().iterdir()) == ["out2", "out5"]


def test_equal_records_are_one_class_in_pieces_and_others_are_parted_by_a_secret(spark: Any) -> None:
    random = np.random.default_rng(1)
    ages = [*[30] * 900, *random.integers(40, 60, 300).tolist()]
    table = pa.table({"age": ages, "note": random.integers(0, 9, 1_200)})
    frame = spark.createDataFrame(table).repartition(3)
    asked = rk.Policy.quick(table.column_names, qi="age", keep="note", k=5, method="idistance-fast")
    asked = asked.but(method={"idistance-fast": {"segment": 100, "centres": 8}})
    with rk.anonymize(frame, asked.but(engine=on_spark(fits=300))) as release:
        assert release.certificate.loss.largest_class == 900
        assert release.recoding is None
        assert release.certificate.key == "drawn for this run"
        plain = rk.anonymize(table, asked).arrow
        assert rows_of(release.arrow.select(["age"])) == rows_of(plain.select(["age"]))
        assert rows_of(release.arrow.select(["note"])) == rows_of(plain.select(["note"]))


def test_a_task_that_is_done_again_parts_equal_records_alike(tmp_path: Path) -> None:
    """In whatever order they come; and otherwise where the secret is another."""
    random = np.random.default_rng(2)
    table = pa.table({"age": random.integers(0, 150, 400), "note": random.permutation(400)})
    asked = rk.Policy.quick(table.column_names, qi="age", keep="note", k=4)
    asked = asked.but(method={"hilbert-fast": {"segment": 200}}, engine=on_spark())
    hashes: dict[bytes, set[str]] = {}
    for key in (bytes(16), bytes(range(16))):
        found = look(asked.engine, PlainCluster(), open_spark(spread(table, 3, 0)), asked, check=lambda _: None)
        grown = divide(found, asked, secret=Secret(key))
        making = Making.of(grown, asked, table.column_names, LossMeter, tmp_path, ".parquet")
        coded = grown.coder.code(table)
        here = np.flatnonzero(grown.divided.route({0: 0})(coded) == 0)
        assert 50 < len(here) < 400
        for _ in range(2):
            again = coded.take(random.permutation(here))
            hashes.setdefault(key, set()).add(finish._written(making, 0, making.slots[0], again).file.part.sha256)
    one, other = hashes.values()
    assert len(one) == len(other) == 1
    assert one != other


def test_cluster_makes_its_classes_within_ranges(spark: Any) -> None:
    frame = spark.createDataFrame(people()).repartition(3)
    with rk.anonymize(frame, policy("cluster", on_spark(1_000))) as release:
        found = release.certificate
        assert found.verification.true
        assert found.verification.holds
        [note] = found.notes
        assert "none crosses from one to the next" in note
        assert found.loss.gcp < 1.2 * rk.anonymize(people(), policy("cluster")).certificate.loss.gcp


def test_what_comes_to_the_driver_does_not_grow_with_the_records(spark: Any) -> None:
    found = []
    for rows in (1_000, 4_000):
        table = people(rows).select(["age", "town", "disease"])
        frame = spark.createDataFrame(table).repartition(2)
        asked = rk.Policy.quick(table.column_names, qi=["age", "town"], sensitive="disease", k=5)
        release = prepare(
            frame, asked.but(method={"hilbert-fast": {"segment": rows // 4}}, engine=on_spark(fits=rows))
        )  # fmt: skip
        assert isinstance(release, Spread)
        found.append(release.grown.records.cluster.collected)
        release.spill.close()
    few, many = found
    assert many.rows <= few.rows + 4
    assert many.bytes < 1.5 * few.bytes
