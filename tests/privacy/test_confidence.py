"""Tests of a sample: against SciPy, against the paper's formulas as they are printed, and against the definition."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy

from rothko.data.domain import Domain, Sensitive
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
from rothko.privacy.confidence import Sampling, chi_square, fewest, hypergeometric_tails
from rothko.privacy.statistics import Statistics
from tests.strategies import asked

TESTS = ("exact", "normal", "naive")
tests = st.sampled_from(TESTS)
alphas = st.sampled_from((0.001, 0.01, 0.05, 0.1, 0.5))

Groups = list[list[Any]]


def count(groups: Groups, *requirements: Requirement) -> Statistics:
    """The statistics of groups given as lists of sensitive values."""
    cells = [value for group in groups for value in group]
    values = sorted({value for value in cells if value is not None})
    codes = np.array([len(values) if value is None else values.index(value) for value in cells], dtype=np.int32)
    domain = Domain("s", pa.array(values), np.bincount(codes, minlength=len(values) + 1))
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    return Statistics.count(group, len(groups), {"s": Sensitive(codes, domain)}, requirements)


def accepts(requirement: Requirement, groups: Groups, population: int, **options: Any) -> list[bool]:
    stats = count(groups, requirement)
    given = {"parts": 2, "alpha": 0.05, "test": "normal"} | options
    found = requirement.confident(stats, sample=int(stats.size.sum()), population=population, **given)
    return [bool(good) for good in found]


# ── distributions, against SciPy


@pytest.mark.parametrize("level", [0.5, 0.25, 0.05, 0.025, 1e-3, 1e-5])
def test_chi_square_quantiles_are_those_of_scipy(level: float) -> None:
    degrees = np.arange(1, 1001)
    assert chi_square(level, degrees) == pytest.approx(scipy.chi2.isf(level, degrees), rel=1e-8)
    many = np.array([1001, 5000, 10**6])
    assert chi_square(level, many) == pytest.approx(scipy.chi2.isf(level, many), rel=5e-5)
    assert np.all(np.isinf(chi_square(level, np.array([0, -1]))))


@given(
    population=st.integers(1, 10**9),
    marked=st.floats(0, 1),
    sample=st.floats(0, 1),
)
@settings(deadline=None)
def test_hypergeometric_tails_are_those_of_scipy(population: int, marked: float, sample: float) -> None:
    marks, drawn = int(marked * min(population, 10**5)), int(sample * population)
    low, tails = hypergeometric_tails(population, marks, drawn)
    assert tails[0] == 1
    assert np.all(np.diff(tails) <= 0)
    some = np.unique(np.linspace(0, len(tails) - 1, 20).astype(int))
    told = scipy.hypergeom.sf(low + some - 1, population, marks, drawn)
    assert tails[some] == pytest.approx(told, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("population", [60, 5_000, 10**6])
@pytest.mark.parametrize("k", [2, 10, 50])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("level", [0.05, 0.025, 1e-4])
def test_the_exact_threshold_is_the_first_that_is_unlikely_for_fewer_than_k(
    population: int, k: int, share: float, level: float
) -> None:
    sample = max(1, int(share * population))
    least = fewest(k, sample, population, level, "exact")
    assert scipy.hypergeom.sf(least - 1, population, k - 1, sample) <= level * (1 + 1e-9)
    assert scipy.hypergeom.sf(least - 2, population, k - 1, sample) > level * (1 - 1e-9)


# ── k-anonymity


@pytest.mark.parametrize("n", [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000])
@pytest.mark.parametrize("k", [10, 100, 1000, 10_000])
def test_the_normal_threshold_is_that_of_the_paper(n: int, k: int) -> None:
    """The samples and the k of figure 24, by the formula of 5.2.1 as it is printed."""
    big_n, m, alpha = 100_000, 2, 0.05
    p0 = k / big_n
    variance = p0 * (1 - p0) / (n - 1) * ((big_n - n) / big_n)
    z = scipy.norm.isf(alpha / m)
    passing = [x for x in range(n + 1) if x / n - p0 >= z * math.sqrt(variance)]
    by_formula = passing[0] if passing else n + 1
    assert fewest(k, n, big_n, alpha / m, "normal") == min(by_formula, k)


def test_thresholds_of_figure_24() -> None:
    """Naive, normal, exact for the sample of 1,000 of 100,000 records, and for one of 25,000."""
    found = {
        (n, k): tuple(fewest(k, n, 100_000, 0.025, test) for test in ("naive", "normal", "exact"))
        for n in (1000, 25_000)
        for k in (10, 100, 1000)
    }
    assert found == {
        (1000, 10): (1, 1, 2),
        (1000, 100): (1, 3, 4),
        (1000, 1000): (10, 17, 18),
        (25_000, 10): (3, 6, 6),
        (25_000, 100): (25, 34, 34),
        (25_000, 1000): (250, 277, 278),
    }


@pytest.mark.parametrize(("population", "sample", "k"), [(2_000, 200, 40), (500, 250, 10), (10_000, 1_000, 100)])
def test_a_part_that_is_too_small_is_rarely_accepted(population: int, sample: int, k: int) -> None:
    """Monte Carlo at the border: k − 1 records in the population."""
    runs, level = 20_000, 0.025
    rng = np.random.default_rng(7)
    seen = rng.hypergeometric(k - 1, population - k + 1, sample, runs)
    stats = Statistics(seen, {}, {}, {})
    rates = {
        test: KAnonymity(k=k)
        .confident(stats, sample=sample, population=population, parts=2, alpha=2 * level, test=test)
        .mean()
        for test in TESTS
    }
    noise = 4 * math.sqrt(level * (1 - level) / runs)
    assert rates["exact"] <= level + noise
    assert rates["normal"] <= 2 * level  # an approximation
    assert rates["naive"] > 10 * level


def test_a_part_that_is_large_is_mostly_accepted() -> None:
    seen = np.random.default_rng(7).hypergeometric(200, 9_800, 1_000, 5_000)
    found = KAnonymity(k=100).confident(
        Statistics(seen, {}, {}, {}), sample=1_000, population=10_000, parts=2, alpha=0.05, test="exact"
    )
    assert found.mean() > 0.7


@given(data=st.data(), test=tests, level=st.sampled_from((0.001, 0.025, 0.3)))
@settings(deadline=None)
def test_thresholds_are_within_reason(data: st.DataObject, test: Any, level: float) -> None:
    population = data.draw(st.integers(2, 10**7))
    sample = data.draw(st.integers(1, population))
    k = data.draw(st.integers(2, 10**4))
    least = fewest(k, sample, population, level, test)
    assert 1 <= least <= k
    if sample == population:
        assert least == k
    if test != "naive":
        assert least >= fewest(k, sample, population, 0.499, test)  # the surer, the more


# ── the paper's rules of thumb, as they are printed

histograms = st.lists(st.integers(0, 60), min_size=4, max_size=4).filter(any)


@given(counts=histograms, c=st.sampled_from((0.5, 1, 3)), l=st.integers(2, 5), share=st.sampled_from((0.01, 0.3, 0.9)))
@settings(deadline=None)
def test_recursive_diversity(counts: list[int], c: float, l: int, share: float) -> None:  # noqa: E741
    group = [value for value, times in zip(asked.NUMBERS, counts, strict=True) for _ in range(times)]
    n_i, big_n, n = len(group), 10**6, int(share * 10**6)
    assume(n_i > 1)
    r = sorted(counts, reverse=True)
    p1, p2 = r[0] / n_i, sum(r[l - 1 :]) / n_i
    variance = (c**2 * p2 * (1 - p2) + p1 * (1 - p1)) / (n_i - 1) * ((big_n - n) / big_n)
    gap = c * p2 - p1 - scipy.norm.isf(0.05 / 2) * math.sqrt(variance)
    assume(abs(gap) > 1e-9)
    requirement = RecursiveLDiversity(c=c, l=l, of="s")
    found = requirement.confident(count([group], requirement), sample=n, population=big_n, parts=2, alpha=0.05)
    assert found.tolist() == [gap > 0]


@given(numbers=st.lists(st.integers(0, 100), min_size=2, max_size=50), v=st.integers(1, 2000))
@settings(deadline=None)
def test_variance_diversity(numbers: list[int], v: int) -> None:
    n_i = len(numbers)
    gap = (n_i - 1) * float(np.var(numbers, ddof=1)) / v - scipy.chi2.isf(0.05 / 2, n_i - 1)
    assume(abs(gap) > 1e-6)
    assert accepts(VarianceDiversity(v=v, of="s"), [numbers], 10**6) == [gap > 0]


def test_what_was_seen_is_certain() -> None:
    """Values, categories, k records and a sum of squares that the sample has, the population has."""
    group = [0, 0, 5, 10]
    certain = [
        DistinctLDiversity(l=3, of="s"),
        PAlpha(p=2, categories=asked.CATEGORIES, of="s"),
        KAnonymity(k=4),
        PSensitive(p=3, k=4, of="s"),
        SquaredErrorDiversity(error=66, of="s"),
    ]
    for requirement in certain:
        for test in TESTS:
            assert accepts(requirement, [group], 5, alpha=1e-9, test=test) == [True], requirement


def test_naive_asks_the_sample_itself_and_scales_sizes() -> None:
    group = [0, 1, 5, 10]  # 4 of a population of 40: a tenth
    naive: dict[Requirement, bool] = {
        KAnonymity(k=40): True,
        KAnonymity(k=41): False,
        EntropyLDiversity(l=4, of="s"): True,
        FrequencyLDiversity(l=4, of="s"): True,
        AlphaK(alpha=0.25, k=40, of="s"): True,
        AlphaK(alpha=0.25, k=41, of="s"): False,
        AlphaK(alpha=0.24, k=40, of="s"): False,
        PSensitive(p=4, k=40, of="s"): True,
        PSensitive(p=4, k=41, of="s"): False,
        VarianceDiversity(v=15.5, of="s"): True,
        VarianceDiversity(v=15.6, of="s"): False,
        SquaredErrorDiversity(error=620, of="s"): True,
        SquaredErrorDiversity(error=621, of="s"): False,
        TCloseness(t=0, of="s"): True,
    }
    for requirement, expected in naive.items():
        assert accepts(requirement, [group], 40, test="naive") == [expected], requirement


def test_a_conjunction_needs_both_of_its_parts() -> None:
    group = [0, 1] * 30
    share, k = FrequencyLDiversity(l=1.25, of="s"), KAnonymity(k=300)
    both = AlphaK(alpha=0.8, k=300, of="s")
    assert accepts(share, [group], 600, test="exact") == accepts(k, [group], 600, test="exact") == [True]
    assert accepts(both, [group], 600, test="exact") == [True]
    assert accepts(AlphaK(alpha=0.55, k=300, of="s"), [group], 600, test="exact") == [False]
    assert accepts(AlphaK(alpha=0.8, k=601, of="s"), [group], 600, test="exact") == [False]


def test_a_sample_cannot_be_larger_than_its_population() -> None:
    with pytest.raises(ValueError, match="cannot come from"):
        Sampling(11, 10)
    with pytest.raises(ValueError, match="out of range"):
        Sampling(1, 10, alpha=0)


# ── every requirement

values = st.sampled_from((*asked.NUMBERS, None))
some_groups = st.lists(st.lists(values, min_size=1, max_size=40), min_size=1, max_size=4)
anything = asked.any_requirement()


def test_every_requirement_has_a_test_of_its_own() -> None:
    assert [name for name, kind in REQUIREMENTS.items() if kind._confident is Requirement._confident] == []


@given(requirement=anything, groups=some_groups, test=tests, alpha=alphas, parts=st.integers(1, 5))
@settings(deadline=None)
def test_the_whole_population_is_judged_by_the_definition(
    requirement: Requirement, groups: Groups, test: Any, alpha: float, parts: int
) -> None:
    stats = count(groups, requirement)
    n = int(stats.size.sum())
    found = requirement.confident(stats, sample=n, population=n, parts=parts, alpha=alpha, test=test)
    assert found.tolist() == requirement.satisfied(stats).tolist()


@given(requirement=anything, groups=some_groups, test=tests, share=st.sampled_from((1.01, 2, 100)))
@settings(deadline=None)
def test_the_surer_the_fewer_are_accepted(requirement: Requirement, groups: Groups, test: Any, share: float) -> None:
    stats = count(groups, requirement)
    n = int(stats.size.sum())
    rows = {"sample": n, "population": int(n * share) + 1}
    found = [
        requirement.confident(stats, **rows, parts=parts, alpha=alpha, test=test)
        for parts, alpha in ((1, 0.5), (1, 0.05), (2, 0.05), (8, 0.05), (8, 0.001))
    ]
    for lax, strict in pairwise(found):
        assert not np.any(strict & ~lax)
    assert all(one.dtype == bool and one.shape == (len(groups),) for one in found)


# A distance, an entropy or a share of more records is as good: only the evidence grows. The bounds of t-closeness are
# of the table, which is the same.
@given(requirement=anything, groups=some_groups, times=st.integers(2, 5))
@settings(deadline=None)
def test_more_of_the_same_is_no_worse(requirement: Requirement, groups: Groups, times: int) -> None:
    # The correction of the bias of an entropy shrinks as the evidence grows, which may cost as much as it brings.
    assume(not isinstance(requirement, EntropyLDiversity))
    stats = count(groups, requirement)
    more = Statistics(
        stats.size * times,
        stats.domains,
        {name: h * times for name, h in stats.histograms.items()},
        {name: m * times for name, m in stats.moments.items()},
    )
    rows = {"sample": 10_000, "population": 100_000, "parts": 2, "alpha": 0.05}
    before, after = requirement.confident(stats, **rows), requirement.confident(more, **rows)
    assert not np.any(before & ~after)


@pytest.mark.parametrize(
    "requirement",
    [
        KAnonymity(k=2),
        DistinctLDiversity(l=2, of="s"),
        EntropyLDiversity(l=1.5, of="s"),
        RecursiveLDiversity(c=3, l=2, of="s"),
        FrequencyLDiversity(l=1.5, of="s"),
        AlphaK(alpha=0.9, k=2, of="s"),
        PSensitive(p=2, k=2, of="s"),
        PAlpha(p=2, categories=asked.CATEGORIES, of="s"),
        TCloseness(t=0.3, of="s"),
        VarianceDiversity(v=1, of="s"),
        SquaredErrorDiversity(error=1, of="s"),
    ],
    ids=lambda r: r.name,
)
def test_a_part_of_which_nothing_or_one_record_was_seen_says_nothing(requirement: Requirement) -> None:
    stats = count([[0, 1, 5, 10] * 500, [0]], requirement)
    nothing = Statistics(
        stats.size * 0,
        stats.domains,
        {name: h * 0 for name, h in stats.histograms.items()},
        {name: m * 0 for name, m in stats.moments.items()},
    )
    rows = {"sample": 2_001, "population": 4_000, "parts": 2, "alpha": 0.05}
    for test in ("exact", "normal"):
        assert requirement.confident(stats, **rows, test=test).tolist() == [True, False]
        assert not requirement.confident(nothing, **rows, test=test).any()


@given(requirement=anything, seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_a_violating_part_is_seldom_accepted(requirement: Requirement, seed: int) -> None:
    """Rules of thumb, so only that they are no coin: over random parts of a population, far fewer than half."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet([0.7] * 4)
    whole = [asked.NUMBERS[i] for i in rng.choice(4, 400, p=share)]
    other = [asked.NUMBERS[i] for i in rng.choice(4, 600)]
    together = count([whole, other], requirement)
    assume(not requirement.satisfied(together)[0])
    wrong = 0
    for _ in range(40):
        drawn = rng.permutation(1000)[:200]
        seen = [[whole[i] for i in drawn if i < 400], [other[i - 400] for i in drawn if i >= 400]]
        stats = count(seen, requirement)
        stats = with_domain(stats, together, requirement, seen)
        wrong += bool(requirement.confident(stats, sample=200, population=1000, parts=2, alpha=0.05, test="exact")[0])
    assert wrong <= 12


def with_domain(stats: Statistics, whole: Statistics, requirement: Requirement, seen: Groups) -> Statistics:
    """The statistics of a sample, with the domain of the whole table, as an engine has them."""
    if requirement.column is None:
        return stats
    domain = whole.domains["s"]
    place = {value: i for i, value in enumerate([*domain.values.to_pylist(), None])}
    codes = np.array([place[value] for group in seen for value in group], dtype=np.int32)
    group = np.repeat(np.arange(len(seen)), [len(g) for g in seen])
    return Statistics.count(group, len(seen), {"s": Sensitive(codes, domain)}, [requirement])
