"""Over records on a cluster a table is refined as it is in memory, however they are spread and however few are held."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rothko.data.encode import encode
from rothko.data.source.spark import open_spark
from rothko.data.typed import typed
from rothko.engines.options import Spark
from rothko.engines.spark.refine import RefinedTable, refine_on
from rothko.engines.spark.run import look
from rothko.errors import InputError
from rothko.methods.refine.refine import Refine, refine
from rothko.policy.policy import Policy
from tests.engines.spark.test_growth import spread
from tests.strategies.labelled import Asked, tables
from tests.strategies.tables import unhurried
from tests.twins.spark_cluster import PlainCluster


def refined(table: pa.Table, policy: Policy, *, most: int, parts: int = 3, seed: int = 0) -> RefinedTable:
    frame = spread(table, parts, seed)
    engine = Spark(records_at_once=most)
    found = look(engine, PlainCluster(), open_spark(frame), policy, check=lambda _: None, seed=seed)
    return refine_on(engine, found, policy, seed=seed)


def same(found: RefinedTable, table: pa.Table, policy: Policy) -> None:
    """It is what the memory engine makes of it."""
    encoded = encode(typed(table, policy), policy)
    wanted = refine(encoded, policy.privacy, policy.method, policy.workload)
    for ours, theirs in zip(found.parts, wanted.columns(encoded.lines), strict=True):
        np.testing.assert_array_equal(ours.of_code, theirs.of_code)
        np.testing.assert_array_equal((ours.low, ours.high), (theirs.low, theirs.high))
        assert ours.suppressed == theirs.suppressed
    for counts, codes in zip(found.counts, encoded.codes, strict=True):
        np.testing.assert_array_equal(counts, np.bincount(codes, minlength=len(counts)))
    assert found.notes[-len(wanted.notes) :] == wanted.notes or not wanted.notes


@given(asked=tables(), parts=st.integers(1, 5), seed=st.integers(0, 99), most=st.integers(30, 200))
@settings(unhurried, max_examples=30)
def test_the_parts_are_those_of_the_memory_engine(asked: Asked, parts: int, seed: int, most: int) -> None:
    assume(asked.feasible())
    policy = asked.policy().but(method=Refine(criterion=asked.criterion))  # type: ignore[arg-type]
    table = pa.table({**asked.case.columns, **asked.labels})
    with suppress(InputError):  # where the table is too varied for so few at a time
        same(refined(table, policy, most=most, parts=parts, seed=seed), table, policy)
    same(refined(table, policy, most=10**6, parts=parts, seed=seed), table, policy)


ROWS = 6_000


def people(rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(0)
    age = random.integers(18, 90, rows)
    return pa.table(
        {
            "age": pa.array(age, mask=random.random(rows) < 0.03),
            "zip": random.integers(0, 60, rows),
            "town": random.choice(["Bonn", "Hof", "Jena", "Köln", "Trier", "Ulm"], rows),
            "wage": random.integers(0, 400, rows) * 10 + age,
            "disease": random.choice(["flu", "cold", "asthma", "cancer", "gout"], rows),
            "again": np.where((random.random(rows) < 0.3) | (age > 50), "y", "n"),
        }
    )


def policy(**changes: Any) -> Policy:
    quasi = {"role": "quasi-identifier"}
    asked: dict[str, Any] = {
        "columns": {
            "age": quasi,
            "zip": {**quasi, "hierarchy": {"intervals": [10, 30]}},
            "town": quasi,
            "wage": quasi,
            "disease": {"role": "sensitive"},
            "again": {"role": "keep"},
        },
        "privacy": [
            {"k-anonymity": {"k": 20, "over": ["age", "zip", "wage"]}},
            {"k-anonymity": {"k": 30, "over": ["zip", "town"]}},
            {"entropy-l-diversity": {"l": 2.5, "of": "disease", "over": ["age", "town"]}},
        ],
        "method": "refine",
    }
    return Policy(**asked | changes)


@pytest.mark.parametrize("workload", [[], [{"classify": {"target": "again"}}]], ids=["alone", "labels"])
def test_a_table_is_counted_again_where_too_little_was_told_apart(workload: list[Any]) -> None:
    asked, table = policy(workload=workload), people()
    few, many = (refined(table, asked, most=most) for most in (1_200, 10**6))
    same(few, table, asked)
    same(many, table, asked)
    assert few.records.cluster.collected.jobs > many.records.cluster.collected.jobs


def test_what_comes_to_the_driver_does_not_grow_with_the_records() -> None:
    most = 1_500
    for rows in (ROWS, 4 * ROWS):
        asked = policy(privacy=[{"k-anonymity": {"k": rows // 200, "over": ["age", "zip", "wage"]}}])
        found = refined(people(rows), asked, most=most)
        passes = found.records.cluster.collected.jobs - 2  # a survey, and a count of each column
        assert found.records.cluster.collected.rows <= passes * (most + 1)


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(InputError, match="more than 60 different records over age, zip, wage; zip, town; age, town"):
        refined(people(), policy(), most=60)


def test_the_same_whatever_the_partitions() -> None:
    first, *others = (refined(people(), policy(), most=1_200, parts=parts, seed=parts) for parts in (1, 2, 9))
    for other in others:
        for ours, theirs in zip(first.parts, other.parts, strict=True):
            np.testing.assert_array_equal(ours.of_code, theirs.of_code)
