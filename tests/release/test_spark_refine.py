"""Top-Down Refinement on a real Spark: what memory would release, counted, written and verified where records lie."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import PolicyError
from rothko.flow import prepare
from rothko.release.spark.release import Spread
from tests.spark import spark

__all__ = ["spark"]


def people(rows: int = 2_000) -> pa.Table:
    random = np.random.default_rng(0)
    age = random.integers(18, 90, rows)
    return pa.table(
        {
            "name": [f"canary-{i}" for i in range(rows)],
            "age": pa.array(age, mask=random.random(rows) < 0.03),
            "zip": random.integers(0, 60, rows),
            "town": random.choice(["Bonn", "Hof", "Jena", "Köln", "Trier"], rows),
            "disease": random.choice(["flu", "cold", "asthma", "gout"], rows),
            "again": np.where((random.random(rows) < 0.3) | (age > 50), "y", "n"),
        }
    )


def policy(engine: Any = "memory", **changes: Any) -> rk.Policy:
    quasi = {"role": "quasi-identifier"}
    asked: dict[str, Any] = {
        "columns": {
            "name": {"role": "identifier"},
            "age": quasi,
            "zip": {**quasi, "hierarchy": {"intervals": [10, 30]}},
            "town": quasi,
            "disease": {"role": "sensitive"},
            "again": {"role": "keep"},
        },
        "privacy": [
            {"k-anonymity": {"k": 20, "over": ["age", "zip"]}},
            {"distinct-l-diversity": {"l": 3, "of": "disease", "over": ["age", "town"]}},
        ],
        "workload": [{"classify": {"target": "again"}}],
        "method": "refine",
        "engine": engine,
    }
    return rk.Policy(**asked | changes)


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))


def test_the_release_is_that_of_the_memory_engine(spark: Any, folder: Path) -> None:
    frame = spark.createDataFrame(people()).repartition(3)
    release = prepare(frame, policy({"spark": {"records_at_once": 500}}))
    assert isinstance(release, Spread)
    collected = release.grown.records.cluster.collected
    assert collected.jobs > 3, "a survey, every column, and the sets more than once"
    assert collected.rows < 500 * collected.jobs
    # As for many rows: those that show the same on one set, and not on another, are verified in different tasks.
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        saved = release.save("out/")
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    plain = rk.anonymize(people(), policy())
    assert rows_of(pq.read_table(saved.data)) == rows_of(plain.arrow)
    found, wanted = saved.certificate, plain.certificate
    assert (found.engine, found.verification.true) == ("spark", True)
    assert [one.to_dict() for one in found.verification.findings] == [
        one.to_dict() for one in wanted.verification.findings
    ]
    assert found.loss.to_dict() == wanted.loss.to_dict()
    assert found.notes == wanted.notes
    assert not any(b"canary" in path.read_bytes() for path in Path().rglob("*") if path.is_file())
    assert len(list(saved.data.glob("part-*.parquet"))) == 8
    assert saved.recoding_path is not None
    assert rk.Recoding.load(saved.recoding_path).apply(people()).equals(plain.recoding.apply(people()))


def test_what_spark_does_not_do_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame(people(50))
    with pytest.raises(PolicyError, match="leave out its features"):
        rk.anonymize(frame, policy("spark", workload=[{"classify": {"target": "again", "features": ["age"]}}]))
    with pytest.raises(PolicyError, match="cannot make them for"):
        rk.anonymize(frame, policy("spark", workload=[{"select": {"where": "age >= 40"}}]))
