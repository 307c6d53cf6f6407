"""hilbert, hilbert-fast, idistance, idistance-fast: what holds for all of them, what the paper proves, bad input."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.errors import InfeasibleError, PolicyError
from rothko.generate.census import census, census_policy
from rothko.methods import METHODS, Hilbert, HilbertFast, IDistance, IDistanceFast, Mondrian
from rothko.methods.curve.curve import PART, Curve, HilbertMapping, OnLines, curve_of, hilbert_order, places_on
from rothko.methods.curve.method import CurveMethod
from rothko.methods.curve.onedim import Row, optimal_groups
from rothko.methods.method import LocalMethod
from rothko.policy.policy import Policy
from rothko.privacy import AlphaK, EntropyLDiversity, FrequencyLDiversity, KAnonymity, TCloseness
from tests.strategies.columns import encoded_of, heaped
from tests.strategies.tables import Case, boxes, cases, classes, records, unhurried
from tests.twins import curve as plain_curves
from tests.twins import mondrian as plain

FOUR: list[CurveMethod] = [Hilbert(), HilbertFast(), IDistance(centres=4), IDistanceFast(centres=4)]
PAPER: list[CurveMethod] = [replace(method, reading="paper") for method in FOUR]
names = pytest.mark.parametrize(
    "method", FOUR + PAPER, ids=[*(one.name for one in FOUR), *(f"{one.name} by the paper" for one in FOUR)]
)


# ── what holds for all of them ───────────────────────────────────────────────────────────────────


@names
@given(case=cases())
@settings(unhurried, max_examples=100)
def test_the_classes_are_a_partition_that_holds(method: LocalMethod, case: Case) -> None:
    encoded, allowed = case.encoded(), case.allowed()
    progress: list[int] = []
    found = method.partition(encoded, case.requirements, threads=2, progress=progress.append)
    assert sum(progress) == encoded.rows
    assert sorted(found.order.tolist()) == list(range(encoded.rows))
    assert (found.sizes > 0).all()
    for c, numbers in enumerate(classes(found)):
        for a in range(len(encoded.lines)):
            codes = set(encoded.codes[a, numbers].tolist())
            assert (found.low[c, a], found.high[c, a]) == (min(codes), max(codes))
            if a in found.sets:
                assert found.sets[a].take(np.array([c])).codes.tolist() == sorted(codes)
        if allowed(list(range(encoded.rows))):
            assert allowed(numbers), "every class meets every requirement"


@names
@given(case=cases())
@settings(unhurried, max_examples=40)
def test_neither_threads_nor_another_run_change_the_classes(method: LocalMethod, case: Case) -> None:
    encoded = case.encoded()
    first = method.partition(encoded, case.requirements, seed=3, threads=1)
    for threads in (1, 3):
        again = method.partition(encoded, case.requirements, seed=3, threads=threads)
        np.testing.assert_array_equal(first.order, again.order)
        np.testing.assert_array_equal(first.starts, again.starts)


@pytest.mark.parametrize("method", [Hilbert(), HilbertFast()], ids=lambda method: method.name)
@given(case=cases(), seed=st.integers(0, 99), k=st.integers(2, 6))
@settings(unhurried, max_examples=80)
def test_the_order_of_the_records_does_not_change_the_boxes(method: LocalMethod, case: Case, seed: int, k: int) -> None:
    order = random.Random(seed).sample(range(len(case.columns["q0"])), len(case.columns["q0"]))
    before, after = case.encoded(), case.permuted(order).encoded()
    asked = [KAnonymity(k=k)]
    assert boxes(before, method.partition(before, asked, threads=1)) == boxes(
        after, method.partition(after, asked, threads=1)
    )


@names
@given(case=cases(), k=st.integers(2, 8))
@settings(unhurried, max_examples=50)
def test_classes_for_k_alone_have_less_than_twice_as_many_records(method: LocalMethod, case: Case, k: int) -> None:
    encoded = case.encoded()
    found = method.partition(encoded, [KAnonymity(k=k)], threads=1)
    if encoded.rows < 2 * k:
        assert found.classes == 1
    else:
        assert found.sizes.min() >= k
        assert found.sizes.max() <= 2 * k - 1
    assert found.notes == ()


# ── k-anonymity: proven optimal ──────────────────────────────────────────────────────────────────


@given(case=cases(), k=st.integers(2, 4), seed=st.integers(0, 99))
@settings(unhurried, max_examples=60)
def test_no_grouping_of_neighbours_loses_less(case: Case, k: int, seed: int) -> None:
    columns = {name: column[:13] for name, column in case.columns.items()}
    encoded = Case(columns, case.specs, case.requirements).encoded()
    n = encoded.rows
    curve = Curve(np.random.default_rng(seed).permutation(n).astype(np.int32), np.ones(n))
    row = Row.of(encoded, curve)
    found = optimal_groups(row, k, exact=True)
    if n < k:
        return

    def loss(starts: list[int]) -> float:
        groups = [row.codes[a:b].tolist() for a, b in itertools.pairwise(starts)]
        return sum(len(group) * plain_curves.ncp(encoded.lines, group) for group in groups)

    assert loss(found.starts.tolist()) == pytest.approx(min(map(loss, plain_curves.all_groupings(n, k))))


@pytest.mark.parametrize("method", [Hilbert(), IDistance(centres=4)], ids=lambda method: method.name)
@pytest.mark.parametrize("k", [3, 40])
def test_the_groups_of_a_census_are_those_of_trying_all(method: LocalMethod, k: int) -> None:
    policy = census_policy()
    encoded = encode(typed(census(600), policy), policy)
    found = method.partition(encoded, [KAnonymity(k=k)], threads=1)
    losses = plain_curves.losses_of_boxes(encoded.lines, encoded.codes[:, found.order].T.tolist(), k)
    _, starts = plain_curves.optimal_groups(encoded.rows, k, lambda b, e: losses[b, e])
    assert found.starts.tolist() == starts


@given(values=st.lists(st.integers(0, 30), min_size=4, max_size=8), k=st.integers(2, 4))
@settings(unhurried, max_examples=60)
def test_in_one_dimension_no_partition_whatever_loses_less(values: list[int], k: int) -> None:
    """Section 3: among all partitions, not only those into neighbours."""
    encoded = encoded_of({"age": values})
    found = Hilbert(bits=16).partition(encoded, [KAnonymity(k=k)], threads=1)

    def least(left: frozenset[int]) -> float:
        """Over all groups that the first of the records that are left may be in."""
        if not left:
            return 0.0
        first, *others = sorted(left)
        tried = [float("inf")]
        for size in range(k - 1, len(others) + 1):
            for rest in itertools.combinations(others, size):
                ages = [values[i] for i in (first, *rest)]
                tried.append(len(ages) * (max(ages) - min(ages)) + least(left - {first, *rest}))
        return min(tried)

    lost = float((found.widths(encoded.lines)[:, 0] * found.sizes).sum())
    span = max(max(values) - min(values), 1)
    assert lost == pytest.approx(least(frozenset(range(len(values)))) / span)


def test_a_long_row_is_grouped_in_the_best_way() -> None:
    n, k = 40_077, 5
    gaps = np.random.default_rng(0).integers(0, 100, n).astype(np.float64)
    gaps[0] = 0
    encoded = Encoded((), np.empty((0, n), dtype=np.int32), {})
    row = Row(encoded, Curve(np.arange(n, dtype=np.int32), gaps), np.empty((n, 0), dtype=np.int32), None)  # type: ignore[arg-type]
    found = optimal_groups(row, k, exact=False)
    sizes = np.diff(found.starts)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    reach = np.cumsum(gaps)
    lost = ((reach[found.starts[1:] - 1] - reach[found.starts[:-1]]) * sizes).sum()
    best = np.full(n + 1, np.inf)
    best[0] = 0
    for i in range(k, n + 1):
        starts = np.arange(max(i - 2 * k + 1, 0), i - k + 1)
        best[i] = (best[starts] + (i - starts) * (reach[i - 1] - reach[starts])).min()
    assert lost == best[n]


def test_less_is_lost_than_by_mondrian_and_least_by_the_exact_losses() -> None:
    policy = census_policy()
    encoded = encode(typed(census(20_000), policy), policy)
    lost = {}
    for method in (Mondrian(), Hilbert(), HilbertFast(), IDistance(), IDistanceFast()):
        found = method.partition(encoded, [KAnonymity(k=20)], threads=2)
        lost[method.name] = float((found.widths(encoded.lines).sum(axis=1) * found.sizes).sum())
    assert lost["hilbert"] < 0.9 * lost["hilbert-fast"]
    assert lost["hilbert-fast"] < 0.9 * lost["mondrian"]
    assert lost["hilbert"] < lost["idistance"] < lost["idistance-fast"] < lost["mondrian"]


# ── l-diversity ──────────────────────────────────────────────────────────────────────────────────


@names
@pytest.mark.parametrize(
    ("counts", "l"),
    [
        ([10, 10, 10], 3),  # every value at exactly 1/l
        ([10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 3),  # one value at exactly 1/l
        ([11, 10, 10, 3], 3),  # a number of records that l does not divide
        ([20, 20, 1, 1, 1], 2),
        ([4, 4, 2], 2.5),  # l that is not whole, on the bound
        ([7, 7, 7, 1], 2.9),
        ([3, 3, 2, 2], 3.3),
        ([1, 1, 1], 3),
        ([50] + [1] * 51, 2),
    ],
)
@pytest.mark.parametrize("k", [2, 7])
def test_a_table_that_is_eligible_is_made_diverse(method: LocalMethod, counts: list[int], l: float, k: int) -> None:  # noqa: E741
    for seed in range(4):
        encoded = heaped(counts, seed)
        column = encoded.sensitive["disease"].codes
        asked = [FrequencyLDiversity(l=l, of="disease"), *([KAnonymity(k=k)] if sum(counts) >= k else [])]
        found = method.partition(encoded, asked, threads=1)
        for numbers in classes(found):
            assert Counter(column[numbers].tolist()).most_common(1)[0][1] * plain.as_fraction(l) <= len(numbers)
            assert len(numbers) >= min(k, sum(counts))
        if k == 2 and counts == [10, 10, 10]:
            assert found.sizes.tolist() == [3] * 10


def test_groups_for_l_alone_have_different_values_and_less_than_twice_l() -> None:
    encoded = heaped([30, 25, 20, 20, 10, 9, 8], 1)
    column = encoded.sensitive["disease"].codes
    for method in FOUR:
        found = method.partition(encoded, [AlphaK(alpha=0.25, k=2, of="disease")], threads=1)
        assert found.classes > 15
        assert found.notes == ()
        for numbers in classes(found):
            assert 4 <= len(numbers) == len(set(column[numbers].tolist())) <= 7


def test_k_with_l_takes_the_better_of_two_ways() -> None:
    policy = census_policy()
    encoded = encode(typed(census(4000), policy), policy)
    for method in (Hilbert(), HilbertFast()):
        alone = method.partition(encoded, [KAnonymity(k=40)], threads=1)
        asked = [KAnonymity(k=40), FrequencyLDiversity(l=2, of="occupation")]
        both = method.partition(encoded, asked, threads=1)
        lost = [float((p.widths(encoded.lines).sum(axis=1) * p.sizes).sum()) for p in (alone, both)]
        assert lost[1] <= 1.05 * lost[0], "large groups are nearly all diverse already"
        assert both.sizes.min() >= 40


@pytest.mark.parametrize("asked", [EntropyLDiversity(l=3, of="occupation"), TCloseness(t=0.4, of="occupation")])
def test_other_requirements_are_met_by_merging_and_that_is_said(asked: rk.privacy.Requirement) -> None:
    policy = census_policy()
    encoded = encode(typed(census(3000), policy), policy)
    found = Hilbert().partition(encoded, [KAnonymity(k=5), asked], threads=2)
    assert found.classes > 20
    (note,) = found.notes
    assert note == f"hilbert merged neighbouring groups along the curve until they met {asked.describe()}."
    shared = [FrequencyLDiversity(l=3, of="occupation"), asked]
    assert IDistance().partition(encoded, shared, threads=2).notes == (note.replace("hilbert", "idistance"),)


# ── the curves ───────────────────────────────────────────────────────────────────────────────────


def test_hilbert_order_is_by_key_then_codes_then_number() -> None:
    chosen = random.Random(1)
    ages = chosen.choices([0, 1, 2, 3, 1000], k=300)
    cities = chosen.choices("abcdefghi", k=300)
    encoded = encoded_of({"age": ages, "city": cities})
    for bits in (2, 12):
        most = (1 << bits) - 1
        points = [(round(age / 1000 * most), round("abcdefghi".index(city) / 8 * most))
                  for age, city in zip(ages, cities, strict=True)]  # fmt: skip
        keys = [plain_curves.hilbert_index(point, bits) for point in points]
        rows = records(encoded)
        expected = sorted(range(300), key=lambda i: (keys[i], rows[i], i))
        _, curve = curve_of(HilbertMapping(bits), encoded, threads=1)
        assert curve.order.tolist() == hilbert_order(encoded, threads=2, bits=bits).tolist() == expected
        # Two dimensions leave most of the word below the key empty.
        apart = np.diff([keys[i] for i in expected]) / 2.0 ** (2 * bits)
        np.testing.assert_allclose(curve.gaps[1:], apart)


def test_another_curve_has_another_order_of_attributes_or_a_shift() -> None:
    policy = census_policy()
    encoded = encode(typed(census(500), policy), policy)
    plain_order = hilbert_order(encoded, threads=1)
    turned = hilbert_order(encoded, threads=1, attributes=[6, 5, 4, 3, 2, 1, 0])
    moved = hilbert_order(encoded, threads=1, shift=[0.3] * 7)
    some = hilbert_order(encoded, threads=1, attributes=[0, 2])
    found = [plain_order.tolist(), turned.tolist(), moved.tolist(), some.tolist()]
    assert all(sorted(order) == list(range(500)) for order in found)
    assert len({tuple(order) for order in found}) == 4
    # Records that the attributes taken do not tell apart lie side by side, in the order of the others.
    codes = encoded.codes[:, some]
    alike = np.flatnonzero((np.diff(codes[[0, 2]], axis=1) == 0).all(axis=0))
    assert len(alike)
    for i in alike:
        assert codes[[1, 3, 4, 5, 6], i].tolist() <= codes[[1, 3, 4, 5, 6], i + 1].tolist()


@pytest.mark.parametrize("rows", [1, 2 * PART + 5])
def test_sorting_in_parts_does_not_change_the_order(rows: int) -> None:
    policy = census_policy()
    encoded = encode(typed(census(rows), policy), policy)
    alone = hilbert_order(encoded, threads=1)
    for threads in (2, 5):
        np.testing.assert_array_equal(alone, hilbert_order(encoded, threads=threads))


def test_missing_values_lie_behind_all_others() -> None:
    encoded = encoded_of({"age": [30, None, 10, 20], "city": ["b", None, None, "a"]})
    assert places_on(encoded.lines[0]).tolist() == [0.0, 0.375, 0.75, 1.0]
    np.testing.assert_allclose(places_on(encoded.lines[1]), [0.0, 2 / 3, 1.0])


def test_idistance_puts_records_by_centre_then_distance() -> None:
    policy = census_policy()
    encoded = encode(typed(census(2000), policy), policy)
    curve, other = (
        curve_of(IDistance(centres=20).mapping(encoded, seed=seed, threads=2), encoded, threads=2)[1] for seed in (1, 2)
    )
    along = np.cumsum(curve.gaps)
    assert sorted(curve.order.tolist()) == list(range(2000))
    assert (curve.gaps >= 0).all()
    # Each centre begins anew, √7 behind the one before it: about as many rises of the whole part as centres.
    assert 10 < len(np.unique(np.floor((along + 1e-9) / np.sqrt(7)))) <= 20
    assert (curve.order != other.order).any()


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


@names
@pytest.mark.parametrize(
    "columns",
    [
        {"a": list(range(20))},
        {"a": [7] * 20},
        {"a": [7] * 20, "b": ["x"] * 20, "c": [None] * 19 + [1]},
        {"a": [None] * 20, "b": list(range(20))},
        {"a": [1.0, None] * 10, "b": ["x", None] * 10},
        {f"q{i}": [(i * j) % 5 for j in range(20)] for i in range(70)},
        {"a": [f"{i}" for i in range(20)], "b": [1, 2] * 10},
        {"a": [1e300, -1e300] * 10, "b": [1e-300 * i for i in range(20)]},
    ],
    ids=["one dimension", "duplicates", "constant", "missing", "half missing", "70 dimensions", "labels", "extremes"],
)
@pytest.mark.parametrize("k", [2, 9, 20])
def test_odd_tables(method: LocalMethod, columns: dict[str, list[Any]], k: int) -> None:
    policy = Policy.quick(list(columns), qi=list(columns), k=k).but(method=method)
    release = rk.anonymize(pa.table(columns), policy, threads=1)
    assert isinstance(release, rk.Release)
    sizes = release.classes["records"].to_pylist()
    assert sum(sizes) == 20
    assert min(sizes) >= k
    assert max(sizes) < 2 * k or len(sizes) == 1


@names
def test_more_dimensions_than_a_word_has_bits_still_group_what_is_near(method: LocalMethod) -> None:
    chosen = np.random.default_rng(0)
    corner = chosen.integers(0, 2, (4, 70)) * 100
    rows = np.repeat(corner, 10, axis=0) + chosen.integers(0, 3, (40, 70))
    encoded = encoded_of({f"q{i}": rows[:, i].tolist() for i in range(70)})
    found = method.partition(encoded, [KAnonymity(k=10)], threads=1)
    if not method.name.startswith("idistance"):  # four centres of four records need not be one in each corner
        assert sorted(map(tuple, classes(found))) == [tuple(range(i, i + 10)) for i in range(0, 40, 10)]


@names
def test_what_cannot_be_met_is_refused_with_what_can(method: LocalMethod) -> None:
    people = pa.table({"age": [20, 30, 40, 50, 60], "disease": ["flu", "flu", "cold", "flu", "cough"]})
    policy = {
        "columns": {"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}},
        "privacy": [{"frequency-l-diversity": {"l": 2, "of": "disease"}}],
        "method": method.name,
    }
    with pytest.raises(InfeasibleError, match=r"l = 2: all its 5 records together reach 1\.666; ask for no more"):
        rk.anonymize(people, policy)
    with pytest.raises(InfeasibleError, match="k = 6"):
        rk.anonymize(people, policy | {"privacy": [{"k-anonymity": {"k": 6}}]})
    with pytest.raises(PolicyError, match="illness"):
        rk.anonymize(people, policy | {"privacy": [{"frequency-l-diversity": {"l": 2, "of": "illness"}}]})
    with pytest.raises(PolicyError, match="global recoding"):
        rk.anonymize(people, policy | {"privacy": [{"k-anonymity": {"k": 2}}], "publish": "region"})


def test_a_sensitive_column_with_missing_values_counts_them_as_one_value() -> None:
    values = [None] * 5 + ["a"] * 5
    people = {"age": list(range(10)), "disease": values}
    policy = {
        "columns": {"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}},
        "privacy": [{"frequency-l-diversity": {"l": 2, "of": "disease"}}],
        "method": "hilbert",
    }
    release = rk.anonymize(pa.table(people), policy)
    assert isinstance(release, rk.Release)
    assert release.classes["records"].to_pylist() == [2] * 5


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("hilbert", {"bits": 0}, "hilbert: bits must be a whole number of at least 1, not 0"),
        ("hilbert-fast", {"bits": 17}, "hilbert-fast: bits must be at most 16, not 17"),
        ("hilbert", {"bits": "x"}, "hilbert: bits must be a whole number"),
        ("idistance", {"centres": 0}, "idistance: centres must be a whole number of at least 1, not 0"),
        ("idistance-fast", {"centres": 1.5}, "idistance-fast: centres must be a whole number"),
        ("hilbert", {"repair": "yes"}, "hilbert: repair must be true or false"),
        ("hilbert", {"reading": "letter"}, "hilbert: reading must be 'rothko' or 'paper', not 'letter'"),
        ("idistance-fast", {"reading": True}, "idistance-fast: reading must be 'rothko' or 'paper', not True"),
    ],
)
def test_options_out_of_range_are_refused(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        METHODS[method](**options)


@unhurried
@given(
    cases(),
    st.sampled_from([Hilbert(), IDistance(centres=7), IDistance(centres=7, reading="paper")]),
    st.integers(0, 9),
)
def test_keys_are_the_same_where_it_is_known_between_which_they_lie(case: Case, method: CurveMethod, seed: int) -> None:
    encoded = case.encoded()
    mapping = method.mapping(encoded, seed=seed, threads=1)
    words = mapping.keys(encoded, threads=1).words
    whole = [int("".join(f"{word:064b}" for word in key), 2) for key in words.T.tolist()]
    first, last = sorted(np.random.default_rng(seed).choice(len(whole), 2))
    between = sorted((whole[first], whole[last]))
    inside = [i for i, key in enumerate(whole) if between[0] <= key <= between[1]]
    some = encoded.take(np.array(inside))
    known = OnLines.of(OnLines.of(mapping, some.lines), some.lines, (between[0], between[1]))
    np.testing.assert_array_equal(known.keys(some, threads=1).words, words[:, inside])
