"""Requirements against their definitions (`tests/twins/mondrian.py`), in NumPy and in the kernels."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.domain import Domain, Sensitive
from rothko.errors import HierarchyError, PolicyError
from rothko.kernels import rules as kernel
from rothko.kernels.mondrian import allowed
from rothko.privacy import (
    REQUIREMENTS,
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    FrequencyLDiversity,
    KAnonymity,
    PAlpha,
    PSensitive,
    RecursiveLDiversity,
    Requirement,
    SquaredErrorDiversity,
    TCloseness,
    VarianceDiversity,
)
from rothko.privacy.requirement import Rule, as_written, kernel_ratio, rounded
from rothko.privacy.statistics import Statistics
from tests.compiled import Called
from tests.strategies import asked
from tests.twins import mondrian as plain

kernel, keep_allowed = Called(kernel), Called(allowed).keep_allowed

# A kernel is compiled by its first call, which takes longer than Hypothesis grants an example.
unhurried = settings(deadline=None, max_examples=300)

Groups = list[list[Any]]


def column(groups: Groups, *, kind: pa.DataType | None = None) -> tuple[np.ndarray, Sensitive]:
    """The group of each record, and the records as a sensitive column."""
    cells = [value for g in groups for value in g]
    values = sorted({value for value in cells if value is not None})
    codes = np.array([len(values) if value is None else values.index(value) for value in cells], dtype=np.int32)
    domain = Domain("s", pa.array(values, kind), np.bincount(codes, minlength=len(values) + 1))
    return np.repeat(np.arange(len(groups)), [len(g) for g in groups]), Sensitive(codes, domain)


def count(groups: Groups, *requirements: Requirement, like: Groups | None = None) -> Statistics:
    """The statistics of groups given as lists of sensitive values, the table being ``like`` or the groups."""
    group, sensitive = column(groups)
    if like is not None:
        domain = column(like)[1].domain
        place = {value: i for i, value in enumerate([*domain.values.to_pylist(), None])}
        sensitive = Sensitive(np.array([place[v] for g in groups for v in g], dtype=np.int32), domain)
    return Statistics.count(group, len(groups), {"s": sensitive}, requirements)


def holds(requirement: Requirement, *groups: list[Any]) -> list[bool]:
    found: list[bool] = requirement.satisfied(count(list(groups), requirement)).tolist()
    return found


def score(requirement: Requirement, group: list[Any], *others: list[Any]) -> float:
    return float(requirement.scores(count([group, *others], requirement))[0])


values = st.sampled_from((*asked.NUMBERS, None))
some_groups = st.lists(st.lists(values, min_size=1, max_size=12), min_size=1, max_size=6)
requirements = asked.any_requirement()


def test_every_requirement_has_examples() -> None:
    assert set(asked.requirements()) == set(REQUIREMENTS)
    assert all(cls.name == name for name, cls in REQUIREMENTS.items())


# ── every requirement ────────────────────────────────────────────────────────────────────────────


@given(requirement=requirements, groups=some_groups)
@unhurried
def test_a_class_is_judged_as_the_definition_says(requirement: Requirement, groups: Groups) -> None:
    stats = count(groups, requirement)
    cells = [value for g in groups for value in g]
    ends = np.cumsum([len(g) for g in groups]).tolist()
    members = [range(end - len(g), end) for g, end in zip(groups, ends, strict=True)]
    by_definition = [plain.satisfies(requirement, numbers, {"s": cells}) for numbers in members]
    reached = [plain.reaches(requirement, g, cells) for g in groups]
    assert requirement.satisfied(stats).tolist() == by_definition
    # What an entropy reaches for certain is less by its margin.
    near = {"rel": 1e-8 if isinstance(requirement, EntropyLDiversity) else 1e-12, "abs": 1e-12}
    assert requirement.scores(stats) == pytest.approx(reached, **near)
    assert requirement.achieved(stats) == pytest.approx((max if requirement.falling else min)(reached), **near)
    assert all(len(g) >= requirement.least for g, good in zip(groups, by_definition, strict=True) if good)


def as_rules(rule: Rule) -> kernel.Rules:
    """A rule as the kernels take it, with other numbers before its own."""
    spec = np.array([[rule.kind, 0, rule.size, *rule.ratio, rule.depth, rule.total, 2]], dtype=np.int64)
    return kernel.Rules(spec, np.append([-1e9, -1e9], rule.facts))


def gap_of(rule: Rule, codes: np.ndarray) -> int:
    """What the kernel says of a group of records."""
    rules = as_rules(rule)
    histograms = np.zeros((4, rule.size), dtype=np.int64)
    if rule.kind in (kernel.VARIANCE, kernel.SQUARED_ERROR):
        x = rule.facts[1 + codes]
        x = x[~np.isnan(x)]
        return int(kernel.gap(histograms, 1, float(x.size), x.sum(), np.sum(x * x), rules, 0))
    histograms[1] = np.bincount(codes if rule.bins is None else rule.bins[codes], minlength=rule.size)
    n, first = kernel.summary(histograms, 1, rules, 0)
    assert n == codes.size
    return int(kernel.gap(histograms, 1, float(n), first, 0.0, rules, 0))


@given(requirement=requirements, groups=some_groups)
@unhurried
def test_the_kernel_decides_as_numpy_does_after_every_record(requirement: Requirement, groups: Groups) -> None:
    """A gap is 0 where the requirement holds (beside the size), and no state before the gap is over can hold."""
    sensitive = column(groups)[1]
    rule = requirement.rule(sensitive.domain)
    begin = 0
    for g in groups:
        codes = sensitive.codes[begin : begin + len(g)]
        begin += len(g)
        prefixes = [g[: i + 1] for i in range(len(g))]
        held = requirement.satisfied(count(prefixes, requirement, like=groups)).tolist()
        for i in range(len(g)):
            lacking = 0 if rule is None else gap_of(rule, codes[: i + 1])
            assert held[i] == (lacking == 0 and i + 1 >= requirement.least)
            assert not any(held[i : i + lacking])


@given(requirement=requirements, cells=st.lists(values, min_size=2, max_size=25), data=st.data())
@unhurried
def test_the_kernel_finds_the_positions_that_are_allowed(
    requirement: Requirement, cells: list[Any], data: st.DataObject
) -> None:
    """Both sides of a position, from the states that one pass from each end keeps."""
    sensitive = column([cells])[1]
    rule = requirement.rule(sensitive.domain)
    n, least = len(cells), data.draw(st.integers(1, len(cells) // 2))
    asked_about = np.array([least <= p <= n - least and data.draw(st.booleans()) for p in range(n + 1)])
    if rule is None:
        return
    # More bins than records are another way through the kernel.
    rule = rule._replace(size=rule.size + data.draw(st.sampled_from((0, 40))) * (rule.kind == kernel.SHARE))
    rules = as_rules(rule)
    good, histograms = asked_about.astype(np.uint8), np.zeros((4, rule.size), dtype=np.int64)
    codes = sensitive.codes if rule.bins is None else rule.bins[sensitive.codes]
    found = keep_allowed(codes.astype(np.int32), least, good, rules, 0, histograms)
    expected = [
        bool(asked_about[p]) and gap_of(rule, sensitive.codes[:p]) == 0 == gap_of(rule, sensitive.codes[p:])
        for p in range(n + 1)
    ]
    assert found == sum(expected)
    if found:
        assert good.tolist() == expected
    assert not histograms[:2].any()


@given(requirement=requirements, groups=some_groups)
@unhurried
def test_merging_classes_that_satisfy_satisfies(requirement: Requirement, groups: Groups) -> None:
    assert requirement.monotone
    good = [g for g, fine in zip(groups, requirement.satisfied(count(groups, requirement)), strict=True) if fine]
    unions = [one + other for one in good for other in good]
    if unions:
        assert requirement.satisfied(count(unions, requirement, like=groups)).all()


@given(requirement=requirements, groups=some_groups)
@unhurried
def test_the_whole_table_is_the_sum_of_its_groups(requirement: Requirement, groups: Groups) -> None:
    """And it satisfies whatever all its groups satisfy."""
    sensitive = column(groups)[1]
    whole = Statistics.whole(len(sensitive.codes), {"s": sensitive}, [requirement])
    together = count([[value for g in groups for value in g]], requirement)
    assert whole.size.tolist() == together.size.tolist()
    for found, expected in ((whole.histograms, together.histograms), (whole.moments, together.moments)):
        assert found.keys() == expected.keys()
        assert all(np.allclose(found[name], expected[name], rtol=1e-14) for name in found)
    if requirement.satisfied(count(groups, requirement)).all():
        assert requirement.satisfied(whole).tolist() == [True]


@given(groups=some_groups, data=st.data())
@unhurried
def test_statistics_of_disjoint_records_add_up_to_those_of_their_union(groups: Groups, data: st.DataObject) -> None:
    asks = (DistinctLDiversity(l=2, of="s"), VarianceDiversity(v=1, of="s"))
    group, sensitive = column(groups)
    here = np.array([data.draw(st.booleans()) for _ in group], dtype=bool)
    parts = [
        Statistics.count(group[side], len(groups), {"s": Sensitive(sensitive.codes[side], sensitive.domain)}, asks)
        for side in (here, ~here)
    ]
    total, whole = parts[0] + parts[1], count(groups, *asks)
    assert total.size.tolist() == whole.size.tolist() == [len(g) for g in groups]
    assert total.histograms["s"].tolist() == whole.histograms["s"].tolist()
    assert total.moments["s"].tolist() == whole.moments["s"].tolist(), "whole numbers: nothing is rounded"
    order = [*sensitive.domain.values.to_pylist(), None]
    assert whole.histograms["s"].tolist() == [[g.count(v) for v in order] for g in groups]


@given(requirement=requirements)
@unhurried
def test_a_requirement_is_hashable_and_equal_by_its_parameters(requirement: Requirement) -> None:
    again = type(requirement)(**{f.name: getattr(requirement, f.name) for f in fields(requirement)})
    assert again == requirement
    assert hash(again) == hash(requirement)
    with pytest.raises(AttributeError):
        requirement.over = ()  # type: ignore[misc]


# ── edges of the definitions ─────────────────────────────────────────────────────────────────────


def test_missing_counts_as_one_value() -> None:
    for requirement in (
        DistinctLDiversity(l=2, of="s"),
        EntropyLDiversity(l=1.5, of="s"),
        PSensitive(p=2, k=2, of="s"),
    ):
        assert holds(requirement, ["x", None, None], [None, None, None]) == [True, False]
    assert score(FrequencyLDiversity(l=2, of="s"), [None, None, "x"]) == 1.5
    assert score(PAlpha(p=2, categories={"x": "a"}, of="s"), [None, "x"]) == 2


def test_recursive_with_l_of_one_always_holds() -> None:
    assert holds(RecursiveLDiversity(c=0.001, l=1, of="s"), ["x"] * 9, ["x", "y"]) == [True, True]


def test_recursive_compares_strictly_and_sorts_falling() -> None:
    """r = 4, 2, 1: with l = 2 the rest is 3, and 4 < c·3 needs c above 4/3."""
    group = ["a"] * 4 + ["b"] * 2 + ["c"]
    assert holds(RecursiveLDiversity(c=1.5, l=2, of="s"), group) == [True]
    assert holds(RecursiveLDiversity(c=1.3, l=2, of="s"), group) == [False]
    assert holds(RecursiveLDiversity(c=4, l=3, of="s"), group) == [False], "4 < 4·1 does not hold"
    assert holds(RecursiveLDiversity(c=4.1, l=3, of="s"), group) == [True]
    assert score(RecursiveLDiversity(c=4, l=3, of="s"), group) == 2


@pytest.mark.parametrize("make", [DistinctLDiversity, EntropyLDiversity, FrequencyLDiversity])
def test_l_above_the_number_of_values_never_holds(make: Any) -> None:
    assert holds(make(l=4, of="s"), ["a", "b", "c"] * 50) == [False]
    assert holds(RecursiveLDiversity(c=100, l=4, of="s"), ["a", "b", "c"] * 50) == [False]


@pytest.mark.parametrize("l", range(2, 60))
@pytest.mark.parametrize("times", [1, 3, 7, 1000, 12_345])
def test_as_many_equally_frequent_values_as_asked_for_pass(l: int, times: int) -> None:  # noqa: E741
    """Exactly on the bound, where a logarithm may be rounded to either side."""
    stats = even(l, times)
    for make in (EntropyLDiversity, FrequencyLDiversity):
        assert make(l=l, of="s").satisfied(stats).tolist() == [True]
        assert make(l=l, of="s").scores(stats).tolist() == [l]
        assert not make(l=l + 0.001, of="s").satisfied(stats)[0]
    rule = EntropyLDiversity(l=l, of="s").rule(stats.domains["s"])
    assert rule is not None
    histograms = np.zeros((3, rule.size), dtype=np.int64)
    histograms[0] = stats.histograms["s"]
    rules = as_rules(rule)
    n, kept = kernel.summary(histograms, 0, rules, 0)
    for wrong in (-1e-7, 0.0, 1e-7):
        assert kernel.gap(histograms, 0, float(n), kept + n * wrong, 0.0, rules, 0) == 0


def even(values: int, times: int) -> Statistics:
    counts = np.append(np.full(values, times), 0)
    domain = Domain("s", pa.array([f"v{i}" for i in range(values)]), counts)
    return Statistics(np.array([values * times]), {"s": domain}, {"s": counts[None, :]}, {})


@given(times=st.integers(1, 10**6), l=st.integers(2, 40))
@unhurried
def test_one_record_away_from_even_does_not_pass_by_rounding(times: int, l: int) -> None:  # noqa: E741
    """l values of which one has a record more: the entropy is below log l by about 1/times², often less than 1e-9."""
    counts = np.full(l + 1, times)
    counts[0], counts[-1] = times + 1, 0
    domain = Domain("s", pa.array([f"v{i}" for i in range(l)]), counts)
    stats = Statistics(np.array([counts.sum()]), {"s": domain}, {"s": counts[None, :]}, {})
    assert not EntropyLDiversity(l=l, of="s").satisfied(stats)[0]


def test_an_uneven_class_exactly_on_the_bound_is_refused() -> None:
    """Half of one value and an eighth of four others have two bits, as four values have: l = 4 exactly. It cannot be
    told from a class just below, and is on the safe side.
    """
    group = ["a"] * 4 + ["b", "c", "d", "e"]
    assert score(EntropyLDiversity(l=4, of="s"), group) == pytest.approx(4)
    assert holds(EntropyLDiversity(l=4, of="s"), group) == [False]
    assert holds(EntropyLDiversity(l=3.9999, of="s"), group) == [True]


def test_shares_are_the_fractions_that_were_written() -> None:
    """0.3 is no binary fraction; 3 of 10 are 0.3 all the same, and 0.30000000000000004 is more."""
    group = ["a"] * 3 + list("bcdefgh")
    assert holds(AlphaK(alpha=0.3, k=2, of="s"), group) == [True]
    assert holds(AlphaK(alpha=0.29, k=2, of="s"), group) == [False]
    assert holds(AlphaK(alpha=0.1 + 0.2, k=2, of="s"), group) == [True]
    assert holds(AlphaK(alpha=0.3, k=11, of="s"), group) == [False]
    assert holds(AlphaK(alpha=1 / 3, k=2, of="s"), ["a", "b", "c"]) == [False], (
        "0.3333333333333333 is less than a third"
    )
    assert AlphaK(alpha=0.3, k=2, of="s").least == 4


@given(value=st.floats(1e-12, 1e12), up=st.booleans())
def test_ratios_for_the_kernel_are_exact_or_on_the_side_asked_for(value: float, up: bool) -> None:
    exact = as_written(value)
    p, q = kernel_ratio(exact, up=up)
    assert 0 <= p <= 10**9
    assert 1 <= q <= 10**9
    if exact <= 10**9:
        assert Fraction(p, q) >= exact if up else Fraction(p, q) <= exact
        assert p / q == pytest.approx(value, rel=2e-9, abs=2e-9)
        assert Fraction(p, q) == exact or max(exact.numerator, exact.denominator) > 10**9


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


def test_one_value_has_no_variance() -> None:
    assert score(VarianceDiversity(v=1, of="s"), [7, 7, 7]) == 0
    assert score(VarianceDiversity(v=1, of="s"), [7]) == 0
    assert holds(VarianceDiversity(v=0, of="s"), [7], [None]) == [True, True]


def test_missing_numbers_are_left_out_of_the_variance() -> None:
    assert score(VarianceDiversity(v=1, of="s"), [1, 3, None, None]) == 1
    assert score(VarianceDiversity(v=1, of="s"), [None, None], [1, 5]) == 0
    assert holds(VarianceDiversity(v=1e-9, of="s"), [None, None], [1, 5]) == [False, True]


def test_variance_is_that_of_the_population() -> None:
    """Exactly on the bound, in NumPy and in the kernel."""
    assert score(VarianceDiversity(v=1, of="s"), [0, 2]) == 1
    assert holds(VarianceDiversity(v=1, of="s"), [0, 2], [0, 1]) == [True, False]
    assert holds(SquaredErrorDiversity(error=2, of="s"), [0, 2], [0, 1]) == [True, False]
    rule = VarianceDiversity(v=1, of="s").rule(column([[0, 2]])[1].domain)
    assert rule is not None
    assert [gap_of(rule, np.arange(n)) for n in (1, 2)] == [1, 0]


@pytest.mark.parametrize("shift", [0, 0.5, 1 / 3])
def test_large_numbers_that_differ_little_keep_their_variance(shift: float) -> None:
    """Salaries around a thousand million with spread 1: their squares have no digit left for it."""
    group = [1e9 + shift + x for x in (0.0, 1.0, 2.0)] * 1000
    exact = float(plain.spread(group[:3])) / 3
    requirement = VarianceDiversity(v=exact * (1 - 1e-9), of="s")
    assert score(requirement, group) == pytest.approx(exact, rel=1e-12)
    assert holds(requirement, group) == [True]
    assert holds(VarianceDiversity(v=exact * (1 + 1e-9), of="s"), group) == [False]


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1, -3e15, 7])
def test_a_million_equal_values_have_no_variance(value: float) -> None:
    counts = np.array([1_000_000, 0])
    sensitive = Sensitive(np.zeros(1_000_000, dtype=np.int32), Domain("s", pa.array([value]), counts))
    requirement = VarianceDiversity(v=1e-300, of="s")
    for stats in (
        Statistics.whole(1_000_000, {"s": sensitive}, [requirement]),
        Statistics.count(np.zeros(1_000_000, dtype=np.int64), 1, {"s": sensitive}, [requirement]),
    ):
        assert requirement.scores(stats).tolist() == [0.0]
        assert requirement.satisfied(stats).tolist() == [False]


def test_a_class_far_from_the_others_does_not_pass_by_rounding() -> None:
    """Two values 0.001 apart beside a million million: what is left of their squares is noise, and is not trusted."""
    far = [0.0] * 5 + [1e12 + 0.5 + x / 1000 for x in range(2)] * 50
    group = far[5:]
    exact = float(plain.spread(group) / len(group))
    requirement = VarianceDiversity(v=exact * 1000, of="s")
    assert holds(requirement, group, far[:5]) == [False, False]


def test_numbers_may_be_stored_as_text() -> None:
    groups: Groups = [["10", " 20", "+30", "1e1"], ["5", "5.0"]]
    assert score(VarianceDiversity(v=1, of="s"), *groups) == pytest.approx(np.var([10, 20, 30, 10]))
    ordered = TCloseness(t=1, of="s", distance="ordered")
    alike: Groups = [[10, 20, 30, 10], [5, 5]]
    assert score(ordered, *groups) == score(ordered, *alike), "10 and 1e1 are one number, and 5 comes before 10"


@pytest.mark.parametrize(
    "make", [lambda: VarianceDiversity(v=1, of="s"), lambda: SquaredErrorDiversity(error=1, of="s")]
)
@pytest.mark.parametrize("kind", [pa.string(), pa.bool_(), pa.date32()])
def test_what_is_no_number_has_no_variance(make: Any, kind: pa.DataType) -> None:
    domain = Domain("pay", pa.array({pa.string(): ["1", "much"], pa.bool_(): [True]}.get(kind, [1]), kind), np.ones(3))
    with pytest.raises(PolicyError, match=r"Column 'pay' must hold numbers .*; ask for something else") as caught:
        make().rule(domain)
    assert caught.value.values in ((), ("much",))
    assert "much" not in str(caught.value)


def test_infinite_numbers_have_no_variance() -> None:
    with pytest.raises(PolicyError, match="infinite numbers"):
        score(VarianceDiversity(v=1, of="s"), [1.0, math.inf])


# ── closeness ────────────────────────────────────────────────────────────────────────────────────


def test_distances_of_li_et_al() -> None:
    """Salaries of 3 to 11 thousand; {3, 4, 5} is 0.375 away and {6, 8, 11} 0.167 (their section 4.1)."""
    requirement = TCloseness(t=0.2, of="s", distance="ordered")
    stats = count([[3, 4, 5], [6, 8, 11], [7, 9, 10]], requirement)
    assert requirement.scores(stats)[:2] == pytest.approx([0.375, 1 / 6])
    assert requirement.satisfied(stats)[:2].tolist() == [False, True]


def test_distance_in_a_hierarchy() -> None:
    """Four diseases in two groups; of a class of one, a quarter moves beside it and half to the other group."""
    tree = {"lung": ["flu", "asthma"], "skin": ["acne", "eczema"]}
    requirement = TCloseness(t=0.5, of="s", distance="hierarchy", hierarchy={"tree": tree})
    flu = ["flu"] * 4
    rest = ["asthma"] * 4 + ["acne"] * 4 + ["eczema"] * 4
    assert score(requirement, flu, rest) == 0.25 * 0.5 + 0.5 * 1


def test_a_class_like_the_table_is_at_no_distance() -> None:
    for t, distance in ((0, "equal"), (0, "ordered")):
        requirement = TCloseness(t=t, of="s", distance=distance)
        assert holds(requirement, [1, 2, 2], [2, 1, 2], [1, 2, 2, 1, 2, 2]) == [True] * 3
        assert holds(requirement, [1, 1, 2], [2, 1, 2]) == [False] * 2


def test_dates_have_an_order_and_labels_have_none() -> None:
    ordered = TCloseness(t=0.1, of="s", distance="ordered")
    days = ["2024-01-31", "2023-12-01", "2024-02-01"]
    assert score(ordered, days[:1], days[1:]) == pytest.approx(1 / 3)
    with pytest.raises(PolicyError, match="must hold numbers"):
        score(ordered, ["flu", "cold"])


def test_a_hierarchy_must_have_all_values() -> None:
    requirement = TCloseness(t=0.1, of="s", distance="hierarchy", hierarchy={"tree": {"a": ["flu"]}})
    with pytest.raises(HierarchyError, match="1 of 2 distinct values of column 's' have no leaf") as caught:
        score(requirement, ["flu", "cold"])
    assert caught.value.values == ("cold",)


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_distances_of_more_records_than_whole_numbers_take(distance: str) -> None:
    """Beyond 2^53 sums may be rounded, and the strict side is taken."""
    for scale in (1, 10**6, 10**8):
        domain = Domain("s", pa.array([1, 2, 3, 4]), np.array([12, 4, 2, 2, 0]) * scale)
        counts = np.array([7, 1, 1, 1, 0]) * scale
        stats = Statistics(np.array([10 * scale]), {"s": domain}, {"s": counts[None, :]}, {})
        exact = 0.1 if distance == "equal" else 0.1 / 3
        assert TCloseness(t=0.1, of="s", distance=distance).scores(stats) == pytest.approx([exact])
        for t, good in ((exact * 1.0001, True), (exact * 0.9999, False)):
            requirement = TCloseness(t=t, of="s", distance=distance)
            assert requirement.satisfied(stats).tolist() == [good]
            rule = requirement.rule(domain)
            assert rule is not None
            histograms = np.array([counts[: rule.size], [0] * rule.size, [0] * rule.size])
            rules = as_rules(rule)
            assert (kernel.gap(histograms, 0, 10.0 * scale, 0.0, 0.0, rules, 0) == 0) is good


# ── bad input ────────────────────────────────────────────────────────────────────────────────────

COUNT = r"must be a whole number of at least {least}, not .*\.$"
RANGES: list[tuple[type[Requirement], dict[str, Any], str, tuple[Any, ...], str]] = [
    (KAnonymity, {}, "k", (1, 0, -3, 2.5, 2.0, True, "3", None, [2]), COUNT.format(least=2)),
    (DistinctLDiversity, {}, "l", (1, 0, 2.5, 2.0, True, "3", None), COUNT.format(least=2)),
    (EntropyLDiversity, {}, "l", (1, 0.5, -2, True, "3", None, math.nan, math.inf), "must be a number above 1, not"),
    (FrequencyLDiversity, {}, "l", (1, 0.5, -2, True, "3", None, math.nan, math.inf), "must be a number above 1, not"),
    (RecursiveLDiversity, {"l": 2}, "c", (0, -1, True, "3", None, math.inf), "must be a number above 0, not"),
    (RecursiveLDiversity, {"c": 2}, "l", (0, -1, 1.5, True, "3", None), COUNT.format(least=1)),
    (AlphaK, {"k": 2}, "alpha", (0, -0.1, 1.01, True, "1", None), "must be a number above 0 and at most 1, not"),
    (AlphaK, {"alpha": 0.5}, "k", (1, 0, 2.0, "3"), COUNT.format(least=2)),
    (PSensitive, {"k": 2}, "p", (1, 0, 2.0, "3"), COUNT.format(least=2)),
    (PSensitive, {"p": 2}, "k", (1, 0, 2.0, "3"), COUNT.format(least=2)),
    (PAlpha, {"categories": {"a": "b"}}, "p", (1, 0, 2.0, "3"), COUNT.format(least=2)),
    (PAlpha, {"p": 2}, "categories", ({}, None, "x", ["a"], {"a": ["b"]}), "categories must"),
    (TCloseness, {}, "t", (-0.1, 1.1, True, "0.5", math.nan), "must be a number of at least 0 and at most 1, not"),
    (TCloseness, {"t": 0.5}, "distance", ("far", None, 3), "must be equal, ordered or hierarchy, not"),
    (TCloseness, {"t": 0.5}, "hierarchy", ("a.csv", {"mask": "right"}), "hierarchy"),
    (VarianceDiversity, {}, "v", (-1, True, "3", None, math.inf), "must be a number of at least 0, not"),
    (SquaredErrorDiversity, {}, "error", (-1, True, "3", None, math.nan), "must be a number of at least 0, not"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "others", "parameter", "bad", "message"), RANGES)
def test_parameters_out_of_range_are_refused_with_the_range(
    make: Any, others: dict[str, Any], parameter: str, bad: tuple[Any, ...], message: str
) -> None:
    of = {} if make is KAnonymity else {"of": "s"}
    for value in bad:
        with pytest.raises(PolicyError, match=rf"^{make.name}: {parameter}.*{message}|^{make.name}: {message}"):
            make(**others, **of, **{parameter: value})


def test_a_hierarchy_is_for_its_distance_and_the_other_way_round() -> None:
    for given_ in ({"distance": "hierarchy"}, {"hierarchy": {"tree": {"a": ["b"]}}}):
        with pytest.raises(PolicyError, match=r"^t-closeness: hierarchy goes with distance: hierarchy"):
            TCloseness(t=0.5, of="s", **given_)  # type: ignore[arg-type]


def test_categories_must_have_all_values() -> None:
    requirement = PAlpha(p=2, categories={"flu": "lung"}, of="s")
    with pytest.raises(
        PolicyError, match=r"^p-alpha of s: categories leave out 2 of 3 values \(`values` of this error"
    ) as caught:
        score(requirement, ["flu", "acne", "burn"])
    assert caught.value.values == ("acne", "burn")


@pytest.mark.parametrize("over", ["age", [], (), {"age"}, 3])
def test_over_must_be_a_list_of_names(over: Any) -> None:
    for make in (lambda: KAnonymity(k=2, over=over), lambda: DistinctLDiversity(l=2, of="s", over=over)):
        with pytest.raises(PolicyError, match="over must be a list of quasi-identifiers"):
            make()


def test_over_is_kept_as_a_tuple() -> None:
    assert KAnonymity(k=2, over=["age", "zip"]).over == ("age", "zip")
    assert KAnonymity(k=2).over is None


# ── what a table cannot meet ─────────────────────────────────────────────────────────────────────

FLU = ["flu"] * 5 + ["cold"] * 3 + ["acne"] * 2


@pytest.mark.parametrize(
    ("requirement", "best"),
    [
        (KAnonymity(k=11), "10; ask for no more"),
        (DistinctLDiversity(l=4, of="s"), "3; ask for no more"),
        (EntropyLDiversity(l=3, of="s"), "2.8; ask for no more"),
        (EntropyLDiversity(l=5, of="s"), "2.8, and s has 3 distinct values; ask for no more"),
        (FrequencyLDiversity(l=2.1, of="s"), "2; ask for no more"),
        (FrequencyLDiversity(l=4, of="s"), "2, and s has 3 distinct values; ask for no more"),
        (RecursiveLDiversity(c=1.5, l=3, of="s"), "2; ask for no more"),
        (RecursiveLDiversity(c=1.5, l=4, of="s"), "2, and s has 3 distinct values; ask for no more"),
        (AlphaK(alpha=0.4, k=2, of="s"), "0.5; ask for no less"),
        (PSensitive(p=4, k=2, of="s"), "3; ask for no more"),
    ],
)
def test_the_best_that_a_table_allows_is_told(requirement: Requirement, best: str) -> None:
    stats = count([FLU], requirement)
    assert not requirement.satisfied(stats)[0]
    told = f"all its 10 records together reach {best} than that, or for more data"
    assert requirement.infeasible(stats) == told


@pytest.mark.parametrize(
    "probe",
    [
        EntropyLDiversity(l=1.01, of="s"),
        FrequencyLDiversity(l=1.01, of="s"),
        AlphaK(alpha=1, k=2, of="s"),
        VarianceDiversity(v=1, of="s"),
        SquaredErrorDiversity(error=1, of="s"),
    ],
    ids=lambda probe: probe.name,
)
@given(group=st.lists(st.sampled_from((1, 2, 3, 4, 50)), min_size=2, max_size=30))
@unhurried
def test_what_is_told_can_be_asked_for(probe: Requirement, group: list[int]) -> None:
    stats = count([group], probe)
    best = float(rounded(probe.achieved(stats), up=probe.falling))
    if best > (1 if probe.name.endswith("l-diversity") else 0):
        parameter = next(name for name in ("l", "alpha", "v", "error") if hasattr(probe, name))
        assert replace(probe, **{parameter: best}).satisfied(stats)[0]


def test_t_closeness_is_met_by_the_whole_table() -> None:
    for distance in ("equal", "ordered"):
        assert holds(TCloseness(t=0, of="s", distance=distance), [3, 3, 8, None]) == [True]
