"""Random range-count queries against brute force."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.errors import InputError
from rothko.metrics.pair import read_pair
from rothko.metrics.ranges import Shares, draw, expected_count, range_counts, ranges_of, true_count
from tests.strategies.released import POLICY, QUASI, Released, exact, releases


def values_of(case: Released, pair: Any, i: int, allowed: np.ndarray) -> set[Any]:
    """The values that a predicate allows."""
    line = pair.lines[i]
    return {value for value, fine in zip([*line.values.to_pylist(), None], allowed, strict=False) if fine}


@given(releases(), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_answers_equal_brute_force(case: Released, seed: int) -> None:
    pair = read_pair(case.table, case.shown(), POLICY, beside=["disease"], threads=1)
    beside, random = pair.beside["disease"], np.random.default_rng(seed)
    name_of = dict(zip(beside.codes.tolist(), case.table["disease"], strict=True))
    for of in (None, beside):
        query = draw(pair.lines, of, None, 0.3, random)
        known = pair.nothing_beside() if of is None else beside
        allowed = {QUASI[i]: values_of(case, pair, i, codes) for i, codes in query.predicates}
        diseases = case.domain("disease")
        if query.values is not None:
            diseases = frozenset(name_of[code] for code in np.flatnonzero(query.values).tolist())
        right = [
            all(case.table[name][i] in some for name, some in allowed.items()) and case.table["disease"][i] in diseases
            for i in range(case.rows)
        ]
        assert true_count(query, pair.encoded.codes, known) == sum(right)
        answer = 0.0
        for records in case.classes:
            sets = {name: case.stands_for(name, records) for name in allowed}
            share = math.prod(len(sets[name] & some) / len(sets[name]) for name, some in allowed.items())
            times = Counter(case.table["disease"][i] for i in records)
            answer += share * sum(times[disease] for disease in diseases)
        assert expected_count(query, Shares.of(pair), known) == pytest.approx(answer)


@given(releases(), st.sampled_from([None, "disease"]))
@settings(deadline=None, max_examples=20)
def test_exact_data_answers_exactly(case: Released, of: str | None) -> None:
    found = range_counts(case.table, exact(case).shown(), POLICY, queries=20, of=of, threads=1)
    assert found.largest == pytest.approx(0, abs=1e-9)


def a_table(n: int = 500) -> dict[str, Any]:
    random = np.random.default_rng(3)
    return {
        "age": random.integers(0, 100, n).tolist(),
        "town": [f"t{i}" for i in random.integers(0, 30, n)],
        "disease": [f"d{i}" for i in random.integers(0, 10, n)],
    }


def test_queries_are_as_wide_as_their_selectivity_says() -> None:
    table = a_table(5000)
    policy = rk.Policy.quick(table, qi=["age", "town"], sensitive=["disease"], k=2)
    pair = read_pair(table, table, policy, beside=["disease"])
    random = np.random.default_rng(0)
    for dimensions, of in ((1, None), (2, None), (1, pair.beside["disease"]), (2, pair.beside["disease"])):
        share = 0.1 ** (1 / (dimensions + (of is not None)))
        for _ in range(20):
            query = draw(pair.lines, of, dimensions, 0.1, random)
            assert len(query.predicates) == dimensions
            for i, allowed in query.predicates:
                chosen = np.flatnonzero(allowed)
                assert len(chosen) == math.ceil(pair.lines[i].size * share)
                if pair.lines[i].name == "age":
                    assert (np.diff(chosen) == 1).all(), "a range"
            assert (query.values is None) == (of is None)
            if query.values is not None:
                assert np.count_nonzero(query.values) == math.ceil(10 * share)


def test_the_same_seed_asks_the_same_on_any_number_of_threads() -> None:
    table = a_table()
    policy = rk.Policy.quick(table, qi=["age", "town"], sensitive=["disease"], k=10)
    release = rk.anonymize(table, policy)
    one = range_counts(table, release, queries=100, of="disease", seed=5, threads=1)
    assert one == range_counts(table, release, queries=100, of="disease", seed=5, threads=2)
    assert one != range_counts(table, release, queries=100, of="disease", seed=6)
    assert 0 < one.median <= one.mean <= one.largest


def test_the_sanity_bound_divides_small_counts() -> None:
    table = a_table()
    policy = rk.Policy.quick(table, qi=["age", "town"], sensitive=["disease"], k=10)
    release = rk.anonymize(table, policy)
    pair = read_pair(table, release)
    random, errors, empty = np.random.default_rng(7), [], 0
    for _ in range(50):
        query = draw(pair.lines, None, 2, 0.01, random)
        truth = true_count(query, pair.encoded.codes, pair.nothing_beside())
        answer = expected_count(query, Shares.of(pair), pair.nothing_beside())
        errors.append(abs(answer - truth) / max(truth, 0.02 * 500))
        empty += truth == 0
    found = ranges_of(pair, None, queries=50, dimensions=2, selectivity=0.01, sanity=0.02, seed=7)
    assert (found.mean, found.median, found.empty) == pytest.approx((np.mean(errors), np.median(errors), empty))
    assert empty > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"queries": 0}, "queries must be at least 1"),
        ({"selectivity": 0.0}, "selectivity must be above 0"),
        ({"selectivity": 1.5}, "selectivity"),
        ({"sanity": 0.0}, "sanity"),
        ({"dimensions": 2}, "from 1 to 1"),
    ],
)
def test_bad_questions(arguments: dict[str, Any], says: str) -> None:
    table = {"age": [1, 2, 3]}
    with pytest.raises(InputError, match=says):
        range_counts(table, table, rk.Policy.quick(table, qi=["age"], k=2), **arguments)


def test_a_column_of_nothing_but_missing_values() -> None:
    table = {"age": [None, None, None], "sex": list("fmf")}
    policy = rk.Policy.quick(table, qi=["age", "sex"], k=3)
    assert range_counts(table, rk.anonymize(table, policy), queries=10, dimensions=1).queries == 10
