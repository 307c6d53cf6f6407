"""The metrics of surveys against plain twins, and what holds of them for any release."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import rothko as rk
from rothko.metrics.registry import METRICS
from rothko.release.loss import Score
from tests.strategies.released import POLICY, QUASI, TREE, Released, exact, lowest, one_class, releases

REFERENCES = {name: metric.reference for name, metric in METRICS.items() if metric.needs == "published"}

# ── twins: straight from the definitions, entry by entry ─────────────────────────────────────────


def entropy(counts: Counter[Any], among: frozenset[Any]) -> float:
    total = sum(counts[value] for value in among)
    return -sum(counts[v] / total * math.log2(counts[v] / total) for v in among)


def height(node: str, leaves: frozenset[Any]) -> int:
    """The longest way down from a node to a leaf of the data; a missing value is a leaf under the root."""
    ways = [TREE[leaf].index(node) for leaf in leaves if leaf is not None and node in TREE[leaf]]
    return max(ways + [1] * (None in leaves and node == "*"))


def common(among: frozenset[Any]) -> str:
    return "*" if None in among else lowest(set(among))


def climbed(case: Released, name: str, among: frozenset[Any]) -> int:
    if len(among) == 1:
        return 0
    return height(common(among), case.domain(name)) if name == "city" else 1


def spread(case: Released, name: str, among: frozenset[Any]) -> float:
    """Range ÷ range."""
    if len(among) == 1:
        return 0.0
    if None in among:
        return 1.0
    numbers = [x for x in case.domain(name) if x is not None]
    return (max(among) - min(among)) / (max(numbers) - min(numbers))


def loss_metric(case: Released, name: str, among: frozenset[Any]) -> float:
    if name == "age":
        return spread(case, name, among)
    return (len(among) - 1) / max(len(case.domain(name)) - 1, 1)


def diameter(case: Released, name: str, among: frozenset[Any]) -> float:
    if name == "age":
        return spread(case, name, among)
    return climbed(case, name, among) / max(climbed(case, name, case.domain(name)), 1)


def conditional(case: Released, name: str, among: frozenset[Any]) -> float:
    return entropy(Counter(case.table[name]), among)


def monotone(case: Released, name: str, among: frozenset[Any]) -> float:
    counts = Counter(case.table[name])
    return sum(counts[v] for v in among) / case.rows * entropy(counts, among)


def suppressed(case: Released, name: str, among: frozenset[Any]) -> float:
    return float(len(case.domain(name)) > 1 and among == case.domain(name))


TWINS: dict[str, tuple[Callable[[Released, str, frozenset[Any]], float], Callable[[Released], float]]] = {
    "loss_metric": (loss_metric, lambda case: 1 / case.rows),
    "entropy": (conditional, lambda case: 1 / case.rows / len(QUASI)),
    "monotone_entropy": (monotone, lambda case: 1 / case.rows / len(QUASI)),
    "cluster_diameter": (diameter, lambda case: 1 / case.rows),
    "suppressed_entries": (suppressed, lambda case: 1.0),
    "hierarchy_distance": (climbed, lambda case: 1 / case.rows),
}


def twin(case: Released, name: str) -> float:
    if name == "ambiguity_metric":
        sizes = [math.prod(len(case.stands_for(q, records)) for q in QUASI) * len(records) for records in case.classes]
        return sum(sizes) / case.rows
    cost, share = TWINS[name]
    entries = [(q, case.stands_for(q, records)) for records in case.classes for _ in records for q in QUASI]
    return sum(cost(case, q, among) for q, among in entries) * share(case)


def measured(case: Released) -> dict[str, Score]:
    return {one.name: one for one in rk.measure(case.table, case.shown(), POLICY, threads=1).survey}


# ── properties ───────────────────────────────────────────────────────────────────────────────────


@given(releases())
@settings(deadline=None, max_examples=50)
def test_every_metric_equals_its_twin(case: Released) -> None:
    found = measured(case)
    assert list(found) == list(REFERENCES)
    for name, metric in found.items():
        assert metric.value == pytest.approx(twin(case, name), abs=1e-9), name
        assert metric.exact == pytest.approx(twin(exact(case), name), abs=1e-9), name
        assert metric.one_class == pytest.approx(twin(one_class(case), name), abs=1e-9), name
        assert list(metric.columns) == list(QUASI)


@given(releases())
@settings(deadline=None, max_examples=50)
def test_columns_add_up(case: Released) -> None:
    for name, metric in measured(case).items():
        if name != "ambiguity_metric":
            shares = len(QUASI) if "entropy" in name else 1
            assert sum(metric.columns.values()) / shares == pytest.approx(metric.value)


@given(releases())
@settings(deadline=None, max_examples=50)
def test_exact_data_and_one_class_are_the_bounds(case: Released) -> None:
    for name, metric in measured(exact(case)).items():
        assert metric.value == metric.exact, name
    for name, metric in measured(one_class(case)).items():
        assert metric.value == pytest.approx(metric.one_class), name
    for name, metric in measured(case).items():
        assert metric.value >= metric.exact
        if name != "entropy":
            assert metric.value <= metric.one_class + 1e-9, name


@given(releases())
@settings(deadline=None, max_examples=50)
def test_merging_two_classes_lowers_no_metric_that_is_monotone(case: Released) -> None:
    assume(len(set(case.groups)) > 1)
    coarse = measured(case.merged())
    for name, metric in measured(case).items():
        if name != "entropy":
            assert coarse[name].value >= metric.value - 1e-9, name


def test_the_entropy_is_not_monotone() -> None:
    """Gionis and Tassa's reason for another: two rare values beside each other have more than the whole column."""
    table = {"age": [1] * 98 + [2, 3], "city": ["Rome"] * 100, "colour": ["blue"] * 100, "disease": ["flu"] * 100}
    found = measured(Released(table, (0,) * 98 + (1, 1)))
    assert found["entropy"].columns["age"] * 50 == pytest.approx(1.0)  # one bit for two of a hundred records
    assert found["monotone_entropy"].columns["age"] == pytest.approx(0.02 * 0.02)


# ── edges ────────────────────────────────────────────────────────────────────────────────────────


def test_a_set_with_gaps_stands_for_its_members_alone() -> None:
    table = {"colour": ["amber", "blue", "cyan", "ebony"]}
    policy = rk.Policy.quick(table, qi=["colour"], k=2)
    shown = {"colour": ["{amber, ebony}", "{amber, ebony}", "{blue, cyan}", "{blue, cyan}"]}
    found = {one.name: one for one in rk.measure(table, shown, policy).survey}
    assert found["ambiguity_metric"].value == 2
    assert found["loss_metric"].value == pytest.approx(1 / 3)
    assert found["entropy"].value == pytest.approx(1.0)
    assert found["suppressed_entries"].value == 0


def test_a_mean_does_not_say() -> None:
    table = {"age": [20, 30, 40, 60], "sex": list("ffmm")}
    policy = rk.Policy.quick(table, qi=["age", "sex"], k=2, publish="mean")
    for metric in rk.measure(table, rk.anonymize(table, policy)).survey:
        assert math.isnan(metric.value)
        assert math.isnan(metric.columns["age"])
        assert not math.isnan(metric.columns["sex"])
        assert metric.to_dict()["value"] is None
        json.dumps(metric.to_dict(), allow_nan=False)


@pytest.mark.parametrize("values", [["a"] * 4, [None] * 4, [5] * 4])
def test_a_constant_column_has_nothing_to_lose(values: list[Any]) -> None:
    table = {"x": values, "age": [1, 2, 3, 4]}
    policy = rk.Policy.quick(table, qi=["x", "age"], k=2)
    for metric in rk.measure(table, rk.anonymize(table, policy)).survey:
        assert metric.columns["x"] == metric.exact, metric.name


def test_more_tuples_than_a_float_can_count_are_null_in_json() -> None:
    names = [f"q{i}" for i in range(200)]
    table = {name: np.arange(50) for name in names}
    shown = {name: ["*"] * 50 for name in names}
    metric = rk.measure(table, shown, rk.Policy.quick(names, qi=names, k=2)).survey[1]
    assert metric.value == math.inf
    assert metric.to_dict()["one_class"] is None


def test_a_certificate_has_none() -> None:
    table = {"age": [20, 30, 40, 60]}
    release = rk.anonymize(table, rk.Policy.quick(table, qi=["age"], k=2))
    assert release.certificate.loss.survey == ()
    assert "survey" not in release.certificate.to_dict()["loss"]
    assert set(rk.measure(table, release).to_dict()["survey"]) == set(REFERENCES)
