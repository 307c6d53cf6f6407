"""Anatomy: the groups, against the paper's loop in plain Python, and what eligible tables are promised."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.errors import InfeasibleError, PolicyError
from rothko.kernels.anatomy import create_groups
from rothko.methods.anatomy import anatomize
from rothko.policy.policy import Policy
from rothko.secret import Secret


def secret(seed: int) -> Secret:
    return Secret(seed.to_bytes(16))


unhurried = settings(deadline=None, max_examples=200)


def plain_groups(buckets: list[list[int]], l: int, chances: list[float]) -> tuple[list[list[int]], set[int]]:  # noqa: E741
    """Figure 3 of the paper: one record from each of the l largest buckets, as long as there are so many."""
    left = {b: list(records) for b, records in enumerate(buckets)}
    order = sorted(left, key=lambda b: -len(left[b]))
    groups = []
    while sum(bool(records) for records in left.values()) >= l:
        last = len(left[order[l - 1]])
        larger = [b for b in order if len(left[b]) > last]
        equal = [b for b in order if len(left[b]) == last]
        smaller = [b for b in order if len(left[b]) < last]
        taken = []
        for wanted in range(l - len(larger)):
            at = len(equal) - 1 - wanted
            chosen = int(chances.pop(0) * (at + 1))
            equal[chosen], equal[at] = equal[at], equal[chosen]
            taken.append(equal[at])
        groups.append([left[b].pop() for b in [*larger, *taken]])
        order = larger + equal + smaller
    return groups, {record for records in left.values() for record in records}


@st.composite
def eligible(draw: st.DrawFn, most: int = 6) -> tuple[np.ndarray[Any, Any], int]:
    """Codes of an eligible table, often with a value at exactly 1/l, and an l."""
    wanted = draw(st.integers(2, most))
    counts = draw(st.lists(st.integers(0, 12), min_size=wanted, max_size=12))
    top = max(counts)
    while sum(counts) < top * wanted or sum(counts) == 0:  # one more of the rarest, until none is too frequent
        counts[counts.index(min(counts))] += 1
        top = max(counts)
    codes = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(codes), wanted


def check(codes: np.ndarray[Any, Any], groups: np.ndarray[Any, Any], wanted: int) -> None:
    held = defaultdict(list)
    for code, group in zip(codes.tolist(), groups.tolist(), strict=True):
        held[group].append(code)
    assert sorted(held) == list(range(len(held)))
    assert len(held) == len(codes) // wanted
    for values in held.values():
        assert len(values) >= wanted
        assert len(set(values)) == len(values)
        assert max(Counter(values).values()) * wanted <= len(values)
    assert sum(len(values) - wanted for values in held.values()) < wanted  # fewer than l records were left over


@unhurried
@given(eligible(), st.integers(0, 5))
def test_eligible_tables_always_succeed(case: tuple[np.ndarray[Any, Any], int], seed: int) -> None:
    codes, wanted = case
    groups = anatomize(codes, wanted, secret(seed))
    check(codes, groups, wanted)
    assert anatomize(codes, wanted, secret(seed)).tolist() == groups.tolist()


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ([5, 5, 5, 5, 5], 5),  # every value at exactly 1/l
        ([20, 1, 1, *[2] * 9], 2),  # one value at exactly 1/2
        ([7, 6, 1], 2),  # one value at exactly 1/2, N is 14
        ([10] + [1] * 20, 3),  # exactly 1/3 beside single records
        ([4, 4, 3], 2),  # N is not divisible by l
        ([3, 3, 3, 2], 3),
        ([1, 1, 1, 1, 1, 1, 1], 5),  # two are left over
        ([100, 99, 1], 2),
        ([33, 33, 33, 1], 3),
        ([1000] + [1] * 1000, 2),
        ([2, 2], 2),
    ],
)
def test_adversarial_histograms(counts: list[int], wanted: int) -> None:
    codes = np.repeat(np.arange(len(counts)), counts)
    for seed in range(20):
        check(codes, anatomize(codes, wanted, secret(seed)), wanted)


@unhurried
@given(eligible(), st.randoms(use_true_random=False))
def test_the_compiled_loop_is_the_plain_one(case: tuple[np.ndarray[Any, Any], int], random: Any) -> None:
    codes, wanted = case
    records = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(counts)])
    chances = [random.random() * (1 - 1e-9) for _ in codes]
    group, made = create_groups(records, starts, wanted, np.array(chances))
    buckets = [records[a:b].tolist() for a, b in pairwise(starts)]
    groups, left = plain_groups(buckets, wanted, list(chances))
    assert made == len(groups)
    assert {frozenset(np.flatnonzero(group == g).tolist()) for g in range(made)} == {frozenset(g) for g in groups}
    assert set(np.flatnonzero(group < 0).tolist()) == left


@unhurried
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(2, 6))
def test_other_tables_are_refused_with_the_largest_l(codes: list[int], wanted: int) -> None:
    top = max(Counter(codes).values())
    if top * wanted <= len(codes):
        return
    largest = len(codes) // top
    told = f"ask for l = {largest} at most" if largest > 1 else "no l above 1 is possible"
    with pytest.raises(InfeasibleError, match=told):
        anatomize(np.array(codes), wanted, secret(0))
    if largest > 1:
        check(np.array(codes), anatomize(np.array(codes), largest, secret(0)), largest)


def test_no_records_are_refused() -> None:
    with pytest.raises(InfeasibleError):
        anatomize(np.empty(0, dtype=np.int32), 2, secret(0))


def test_the_numbers_of_groups_do_not_follow_the_input() -> None:
    codes = np.tile(np.arange(10), 1000)
    groups = anatomize(codes, 5, secret(0))
    assert abs(np.corrcoef(np.arange(len(codes)), groups)[0, 1]) < 0.05
    assert abs(np.corrcoef(codes, groups)[0, 1]) < 0.05
    assert anatomize(codes, 5, secret(1)).tolist() != groups.tolist()


def test_every_run_draws_other_groups() -> None:
    """Who knows the seed, all values and the code cannot draw the groups again: that takes the secret of the run."""
    codes = np.tile(np.arange(10), 100)
    same = np.mean(anatomize(codes, 5, Secret.of(None)) == anatomize(codes, 5, Secret.of(None)))
    assert same < 0.05


def test_groups_do_not_depend_on_where_a_record_stood() -> None:
    """Four records, two values, l = 2: each of the two possible pairings is drawn as often, whatever the order."""
    codes = np.array([0, 0, 1, 1])
    met = Counter(bool(groups[0] == groups[2]) for groups in (anatomize(codes, 2, secret(seed)) for seed in range(400)))
    assert 130 < met[True] < 270  # 200 ± 7 standard deviations


# ── what a policy may ask for

ROLES = {"age": {"role": "quasi-identifier"}, "s": {"role": "sensitive"}}


def policy(*privacy: Any, columns: Any = ROLES, **rest: Any) -> Policy:
    return Policy(columns=columns, privacy=privacy, method="anatomy", **rest)


def test_the_largest_l_counts() -> None:
    asked = policy({"frequency-l-diversity": {"l": 2, "of": "s"}}, {"distinct-l-diversity": {"l": 3, "of": "s"}})
    assert asked.method.asked(asked).l == 3


@pytest.mark.parametrize(
    ("given_policy", "told"),
    [
        (lambda: policy({"k-anonymity": {"k": 5}}), "not k-anonymous.*use mondrian, hilbert or cluster"),
        (lambda: policy({"entropy-l-diversity": {"l": 2, "of": "s"}}), "entropy-l-diversity of s.*use mondrian"),
        (lambda: policy({"alpha-k": {"alpha": 0.5, "k": 2, "of": "s"}}), "cannot meet alpha-k"),
        (lambda: policy({"frequency-l-diversity": {"l": 2.5, "of": "s"}}), "whole number, not 2.5"),
        (lambda: policy({"distinct-l-diversity": {"l": 2, "of": "s", "over": ["age"]}}), "remove 'over'"),
        (
            lambda: policy(
                {"distinct-l-diversity": {"l": 2, "of": "s"}}, columns={**ROLES, "t": {"role": "sensitive"}}
            ),
            "exactly one sensitive column.*has 2",
        ),
        (
            lambda: policy({"distinct-l-diversity": {"l": 2, "of": "s"}}, workload=[{"classify": {"target": "s"}}]),
            "cannot make them for a workload",
        ),
        (lambda: policy({"distinct-l-diversity": {"l": 2, "of": "s"}}, publish="bounds"), "publish: bounds"),
    ],
)
def test_other_policies_are_refused(given_policy: Any, told: str) -> None:
    made = given_policy()
    with pytest.raises(PolicyError, match=told):
        made.method.asked(made)
