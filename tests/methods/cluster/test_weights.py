"""cluster for a workload: what lines weigh, and that classes still hold what is asked for."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.engines.options import Spark
from rothko.methods.cluster.weights import DOUBT, LEAST, label_lost, number_lost, weighed
from rothko.workload import Classify, Regress

KEY = b"sixteen or more!"


def people(rows: int = 600, *, seed: int = 0) -> pa.Table:
    """The job tells most of the salary, age a little, the city nothing."""
    draw = np.random.default_rng(seed)
    job, age = draw.integers(0, 12, rows), draw.integers(20, 60, rows)
    rich = (job % 3 == 0) ^ (draw.random(rows) < 0.05) | (age > 55)
    return pa.table(
        {
            "age": age,
            "city": [f"city {i}" for i in draw.integers(0, 12, rows)],
            "job": [f"job {i}" for i in job],
            "salary": np.where(rich, "high", "low"),
            "cost": job * 10.0 + draw.random(rows),
        }
    )


def policy(*tasks: Any, k: int = 10, **more: Any) -> rk.Policy:
    columns = {name: {"role": "quasi-identifier"} for name in ("age", "city", "job")}
    columns |= {"salary": {"role": "sensitive"}, "cost": {"role": "keep"}}
    method = more.pop("method", {"cluster": {"effort": "fast"}})
    privacy = more.pop("privacy", [{"k-anonymity": {"k": k}}])
    return rk.Policy(columns=columns, privacy=privacy, workload=list(tasks), method=method, **more)


def encoded(*tasks: Any, table: pa.Table | None = None) -> Encoded:
    asked = policy(*tasks)
    return encode(typed(people() if table is None else table, asked), asked)


def weights(*tasks: Any, table: pa.Table | None = None) -> dict[str, float]:
    found = weighed(encoded(*tasks, table=table), tasks)
    return {line.name: line.weight for line in found.lines}


def test_lines_weigh_what_they_tell() -> None:
    found = weights(Classify("salary"))
    assert found["job"] == 1
    assert found["job"] > found["age"] > 10 * found["city"] == 10 * LEAST
    assert weights(Regress("cost"))["age"] < 0.05
    assert weights(Classify("salary", features=("age", "city")))["job"] == LEAST


def test_weights_of_the_policy_count_too() -> None:
    asked = policy(Classify("salary"))
    heavy = asked.but(columns={**asked.columns, "age": {"role": "quasi-identifier", "weight": 3}})
    table = people()
    plain, other = (weighed(encode(typed(table, p), p), p.workload).lines[0].weight for p in (asked, heavy))
    assert other == pytest.approx(3 * plain)


def test_records_without_a_target_do_not_count_and_other_tasks_change_nothing() -> None:
    table = people()
    gone = [None if i % 2 else value for i, value in enumerate(table["salary"].to_pylist())]
    halved = table.set_column(3, "salary", pa.array(gone))
    there = table.take(pa.array(np.arange(0, 600, 2)))
    assert weights(Classify("salary"), table=halved) == pytest.approx(weights(Classify("salary"), table=there), rel=0.2)
    plain = encoded()
    assert weighed(plain, ()) is plain


def test_a_target_that_nothing_tells_of_leaves_the_lines_alone() -> None:
    table = people()
    table = table.set_column(3, "salary", pa.array(["high", "low"] * 300))
    assert set(weights(Classify("salary"), table=table).values()) == {1.0}
    with pytest.raises(rk.errors.InputError, match="one value throughout"):
        weights(Classify("salary"), table=table.set_column(3, "salary", pa.array(["low"] * 600)))


def with_all(cells: Any) -> tuple[Any, Any]:
    """Values, and all of them as one."""
    return cells, cells.sum(axis=0, keepdims=True)


histograms = st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=6)


@given(histograms.filter(lambda rows: sum(map(sum, rows)) > 0))
def test_bits_are_those_of_the_books(rows: list[list[int]]) -> None:
    """H(label) − H(label | group), less (groups − 1)(labels − 1) ÷ 2n ln 2; 0 where chance may show as much."""

    def entropy(counts: list[int]) -> float:
        return -sum(c / sum(counts) * math.log2(c / sum(counts)) for c in counts if c)

    held = [row for row in rows if sum(row)]
    total, n = [sum(column) for column in zip(*held, strict=True)], sum(map(sum, held))
    within = sum(sum(row) / n * entropy(row) for row in held)
    free = (len(held) - 1) * (sum(c > 0 for c in total) - 1)
    beyond = entropy(total) - within - free / (2 * n * math.log(2))
    doubt = DOUBT * math.sqrt(2 * free) / (2 * n * math.log(2))
    if abs(beyond - doubt) > 1e-9:
        assert label_lost(*with_all(np.array(rows)[:, None])) == pytest.approx(
            beyond if beyond > doubt else 0.0, abs=1e-9
        )


@given(st.lists(st.lists(st.integers(-9, 9), max_size=6), min_size=1, max_size=5).filter(lambda g: any(g)))
def test_shares_of_variance_are_those_of_the_books(groups: list[list[int]]) -> None:
    held = [group for group in groups if group]
    everybody = [x for group in held for x in group]
    moments = np.array([[len(g), sum(g), sum(x * x for x in g)] for g in groups], dtype=float)
    n, found = len(everybody), number_lost(*with_all(moments[:, None]))
    whole = sum((x - sum(everybody) / n) ** 2 for x in everybody)
    if not whole:
        assert found == 0
        return
    rest = sum((x - sum(g) / len(g)) ** 2 for g in held for x in g)
    beyond = 1 - rest / whole - (len(held) - 1) / (n - 1)
    doubt = DOUBT * math.sqrt(2 * (len(held) - 1)) / (n - 1)
    if abs(beyond - doubt) > 1e-9:
        assert found == pytest.approx(beyond if beyond > doubt else 0.0, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40))
def test_within_groups_is_what_each_group_tells_by_its_share(records: list[tuple[int, int, int]]) -> None:
    """Before what chance would show is taken away, which is so for the groups together."""
    cells = np.zeros((3, 3, 2))
    for value, group, label in records:
        cells[value, group, label] += 1
    bits = 2 * math.log(2) * len(records)

    def free(part: Any) -> int:
        there = part.any(axis=2)
        return int(there.sum() - there.any(axis=0).sum()) * (np.count_nonzero(part.sum(axis=(0, 1))) - 1)

    apart = 0.0
    for group in range(3):
        part = cells[:, [group]]
        if part.any():
            counts = Counter((value, label) for value, g, label in records if g == group)
            of_value, of_label = Counter[int](), Counter[int]()
            for (value, label), n in counts.items():
                of_value[value] += n
                of_label[label] += n
            total = sum(counts.values())
            apart += sum(n * math.log2(n * total / of_value[v] / of_label[b]) for (v, b), n in counts.items())
    told, chance = apart / len(records), free(cells) / bits
    doubt = DOUBT * math.sqrt(2 * free(cells)) / bits
    if abs(told - chance - doubt) > 1e-9:
        assert label_lost(*with_all(cells)) == pytest.approx(told - chance if told > chance + doubt else 0.0, abs=1e-9)


def test_lines_that_tell_something_only_together_are_found() -> None:
    draw = np.random.default_rng(1)
    one, other = draw.integers(0, 40, 2000), draw.integers(0, 40, 2000)
    table = people(2000).set_column(0, "age", pa.array(one)).set_column(4, "cost", pa.array(np.zeros(2000)))
    table = table.set_column(1, "city", pa.array(other))
    table = table.set_column(3, "salary", pa.array(np.where((one < 20) ^ (other < 20), "high", "low")))
    found = weights(Classify("salary"), table=table)
    assert min(found["age"], found["city"]) > 50 * found["job"]


def wrong(release: rk.Release) -> float:
    """The share of records that do not have the most frequent label of what they show."""
    rows = release.arrow.to_pylist()
    shown: dict[tuple[Any, ...], Counter[str]] = {}
    for row in rows:
        shown.setdefault((row["age"], row["city"], row["job"]), Counter())[row["salary"]] += 1
    return 1 - sum(max(counts.values()) for counts in shown.values()) / len(rows)


def test_classes_for_a_workload_tell_more_of_the_target_and_hold_what_is_asked() -> None:
    diverse = [{"k-anonymity": {"k": 10}}, {"distinct-l-diversity": {"l": 2, "of": "salary"}}]
    plain, made, held = (
        rk.anonymize(people(), asked, key=KEY, threads=1)
        for asked in (policy(), policy(Classify("salary")), policy(Classify("salary"), privacy=diverse))
    )
    assert wrong(made) < wrong(plain) - 0.02
    for release in (plain, made, held):
        assert release.certificate.verification.holds
    again = rk.anonymize(people(), policy(Classify("salary")), key=KEY, threads=2)
    assert again.arrow.equals(made.arrow)


def test_the_certificate_names_the_workload_and_no_weights() -> None:
    release = rk.anonymize(people(), policy(Classify("salary")), key=KEY, threads=1)
    told = json.dumps(release.certificate.to_dict())
    assert '"classify"' in told
    assert '"weight"' not in told
    assert [column.weight for column in release.certificate.policy.columns.values()] == [1.0] * 5


def test_what_it_does_not_take_is_said() -> None:
    with pytest.raises(rk.errors.PolicyError, match=r"cannot make them for a workload \(select"):
        rk.anonymize(people(), policy(rk.workload.Select("age >= 40")))
    with pytest.raises(rk.errors.PolicyError, match="weighs columns by all records at once"):
        Spark().check(policy(Classify("salary")), "asked for")
