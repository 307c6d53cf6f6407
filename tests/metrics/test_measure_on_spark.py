"""What a table on a cluster satisfies and a release of it lost: what memory says, and no row comes to the driver."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.spark import open_spark
from rothko.data.source.written import Written
from rothko.engines.spark.cluster import Cluster
from rothko.errors import InputError, PolicyError, PrivacyWarning
from rothko.metrics.on_spark import measure_on
from rothko.metrics.published import SUPPRESSED
from rothko.release.spark.check import check_on
from tests.command import Rothko
from tests.spark import spark

__all__ = ["spark"]

pytestmark = pytest.mark.filterwarnings("ignore::rothko.errors.PrivacyWarning")  # flu looks like Flu


def people(rows: int = 1_500) -> pa.Table:
    random = np.random.default_rng(0)
    return pa.table(
        {
            "age": pa.array(random.integers(18, 90, rows), mask=random.random(rows) < 0.03),
            "zip": random.integers(0, 60, rows),
            "town": random.choice(["Bonn", "Köln", "n/a", "Hof", "Ulm"], rows, p=[0.5, 0.3, 0.17, 0.02, 0.01]),
            "wage": random.integers(1_000, 1_100, rows),
            "disease": random.choice(["flu", "Flu ", "asthma", "cancer", "gout"], rows),
        }
    )


POLICY = rk.Policy(
    columns={
        "age": {"role": "quasi-identifier"},
        "zip": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 30]}},
        "town": {"role": "quasi-identifier"},
        "wage": {"role": "sensitive"},
        "disease": {"role": "sensitive"},
    },
    privacy=[
        {"alpha-k": {"alpha": 0.9, "k": 4, "of": "disease"}},
        {"entropy-l-diversity": {"l": 1.5, "of": "disease", "over": ["age"]}},
        {"variance-diversity": {"v": 10, "of": "wage"}},
    ],
    workload=[
        {"classify": {"target": "disease"}},
        {"regress": {"target": "wage"}},
        {"select": {"where": "age >= 40 and town = 'Bonn'"}},
        {"aggregate": {"of": ["age"]}},
    ],
    missing=["n/a"],
)


@pytest.fixture(scope="module")
def released() -> rk.Release:
    return rk.anonymize(people(), POLICY)


@pytest.mark.parametrize("refined", [False, True])
def test_a_release_is_measured_where_it_lies(spark: Any, folder: Path, released: Any, refined: bool) -> None:
    if refined:  # it shows ⊥, which stands for what no other row shows
        released = rk.anonymize(
            people(), POLICY.but(method="refine", workload=[], privacy=[{"k-anonymity": {"k": 25}}])
        )
        assert {SUPPRESSED, "Bonn"} <= set(released.arrow["town"].to_pylist())
    pq.write_table(people(), "people.parquet")
    pq.write_table(released.arrow, "release.parquet")
    policy = released.certificate.policy.but(engine="spark")
    found = rk.measure(spark.createDataFrame(people()).repartition(3), released.arrow, policy)
    assert found.to_dict() == rk.measure("people.parquet", "release.parquet", policy).to_dict()
    wanted = rk.measure(people(), released)
    if not refined:
        assert found.workload[-1] == wanted.workload[-1].public()
    found, wanted = (replace(one, workload=one.workload[:3]) for one in (found, wanted))
    assert rounded(found.to_dict()) == rounded(wanted.to_dict())


def test_a_table_is_checked_where_it_lies(spark: Any, folder: Path, released: Any, rothko: Rothko) -> None:
    for table in (people(), released.arrow):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PrivacyWarning)
            wanted = rk.check(table, POLICY)
            found = rk.check(spark.createDataFrame(table).repartition(3), POLICY)
        assert rounded(found.to_dict()) == rounded(wanted.to_dict())
        assert len(found.to_dict()["requirements"]) == 4  # k of alpha-k is one of its own
        apart = [str(one.message) for one in told if issubclass(one.category, PrivacyWarning)]
        assert len(apart) == 2
        assert apart[0] == apart[1]
    pyarrow.csv.write_csv(people(), "people.csv")
    POLICY.save("policy.yaml")
    command = ("check", "people.csv", "--policy", "policy.yaml", "--json")
    said = rothko(*command, "--engine", "spark")
    assert (said.code, "look like one of the others" in said.err) == (4, True)
    assert rounded(json.loads(said.out)) == rounded(json.loads(rothko(*command).out))
    alike = spark.createDataFrame(people()).withColumnRenamed("town", "Wage")
    with pytest.raises(InputError, match="does not tell the columns 'Wage' and 'wage' apart"):
        rk.check(alike, POLICY)
    with pytest.raises(PolicyError, match="not counted on a cluster"):
        rk.check(spark.createDataFrame(people()), qi=["age", "zip", "town"], of="wage", keep="disease", k=2)
    with pytest.raises(InputError, match="bound looks at all records at once"):
        rk.measure(spark.createDataFrame(people()), released.arrow, POLICY, bound=True)


def test_the_driver_sees_statistics(spark: Any) -> None:
    found = []
    for rows in (1_000, 4_000):
        few = people(rows).select(["zip", "disease"])
        asked = rk.Policy.quick(few.column_names, qi="zip", sensitive="disease", k=5, l=2)
        source = open_spark(spark.createDataFrame(few).repartition(2))
        cluster = Cluster(spark)
        check_on(cluster, source, asked, {"zip": ("zip",)}, Written(), lambda _: None)
        measure_on(source, rk.anonymize(few, asked).arrow, asked, cluster)
        found.append(cluster.collected)
    few_found, many_found = found
    assert many_found.rows <= few_found.rows
    assert many_found.bytes < 1.1 * few_found.bytes


def rounded(tree: Any) -> Any:
    """Plain data with five digits of each number: sums are added up in another order."""
    if isinstance(tree, dict):
        return {key: rounded(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [rounded(value) for value in tree]
    return float(f"{tree:.5g}") if isinstance(tree, float) else tree
