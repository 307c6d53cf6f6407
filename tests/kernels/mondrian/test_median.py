"""Median Mondrian against its plain twin (`tests/twins/mondrian.py`), and its properties on random small tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.methods import Mondrian
from rothko.methods.classes import Classes, LocalClasses
from rothko.privacy import DistinctLDiversity, KAnonymity, Requirement
from tests.strategies.tables import LETTERS, TREES, Case, cases, classes, listed, records, regions, unhurried
from tests.twins import mondrian as plain


def route(result: Classes, record: plain.Record) -> int:
    """Where the tree of cuts sends a record: the class of the leaf it ends in."""
    cuts = result.cuts
    assert cuts is not None
    node = 0
    while cuts.attribute[node] >= 0:
        parts = range(cuts.child[node], cuts.child[node] + cuts.children[node])
        code = record[cuts.attribute[node]]
        node = max((part for part in parts[1:] if cuts.begins[part] <= code), default=parts[0])
    return int(np.flatnonzero(cuts.leaf == node)[0])


@pytest.mark.parametrize("relaxed", [False, True])
@given(case=cases())
@unhurried
def test_it_equals_its_plain_twin(relaxed: bool, case: Case) -> None:
    encoded = case.encoded()
    expected = plain.mondrian(encoded.lines, records(encoded), case.allowed(), relaxed=relaxed)
    for threads in (1, 2):
        result = Mondrian(relaxed=relaxed).partition(encoded, case.requirements, threads=threads)
        assert classes(result) == [c.records for c in expected]
        assert result.sizes.tolist() == [len(c.records) for c in expected]
        if relaxed:
            assert isinstance(result, LocalClasses)
        else:
            assert regions(result) == [c.region for c in expected]


@pytest.mark.parametrize("relaxed", [False, True])
@given(case=cases())
@unhurried
def test_the_classes_are_a_partition_that_holds_and_cannot_be_cut_further(relaxed: bool, case: Case) -> None:
    encoded = case.encoded()
    rows, allowed = records(encoded), case.allowed()
    progress: list[int] = []
    result = Mondrian(relaxed=relaxed).partition(encoded, case.requirements, threads=2, progress=progress.append)
    assert sum(progress) == len(rows)
    assert sorted(result.order.tolist()) == list(range(len(rows)))
    for c, numbers in enumerate(classes(result)):
        assert [result.class_of()[i] for i in numbers] == [c] * len(numbers)
        for a, line in enumerate(encoded.lines):
            codes = {i: rows[i][a] for i in numbers}
            assert (result.low[c, a], result.high[c, a]) == (min(codes.values()), max(codes.values()))
            assert plain.allowable_cuts(line, codes, allowed, relaxed) == [], "no allowable cut is left"
        if allowed(list(range(len(rows)))):
            assert allowed(numbers), "every requirement holds"


@given(case=cases())
@unhurried
def test_the_letter_equals_its_plain_twin_and_leaves_no_cut_that_it_allows(case: Case) -> None:
    encoded = case.encoded()
    rows, allowed = records(encoded), case.allowed()
    expected = plain.mondrian(encoded.lines, rows, allowed, letter=True)
    for threads in (1, 2):
        result = Mondrian(reading="paper").partition(encoded, case.requirements, threads=threads)
        assert classes(result) == [c.records for c in expected]
        assert regions(result) == [c.region for c in expected]
    for numbers in classes(result):
        for a, line in enumerate(encoded.lines):
            codes = {i: rows[i][a] for i in numbers}
            assert plain.cut_after_the_median(line, codes, allowed) is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reading": "letter"}, "'rothko' or 'paper', not 'letter'"),
        ({"reading": "paper", "minimum_gain": 0}, r"minimum_gain \(0\) has no meaning with reading: paper"),
        ({"reading": "paper", "relaxed": True}, "set relaxed: false, or remove reading"),
    ],
)
def test_options_that_do_not_go_with_the_letter_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        Mondrian(**options)


def test_the_letter_cuts_after_the_median_or_not_at_all() -> None:
    """Two of ten records are 1: the median is 2, after which there is nothing; ours takes the nearer end of its run."""
    case = Case({"q": [1, 1, *[2] * 8]}, {"q": {}}, (KAnonymity(k=2),))
    assert Mondrian().partition(case.encoded(), case.requirements).sizes.tolist() == [2, 8]
    assert Mondrian(reading="paper").partition(case.encoded(), case.requirements).sizes.tolist() == [10]


@given(case=cases(), data=st.data())
@unhurried
def test_the_order_of_the_records_does_not_matter_when_strict(case: Case, data: st.DataObject) -> None:
    def contents(case: Case) -> Counter[tuple[plain.Record, ...]]:
        encoded = case.encoded()
        rows = records(encoded)
        result = Mondrian().partition(encoded, case.requirements, threads=1)
        return Counter(tuple(sorted(rows[i] for i in numbers)) for numbers in classes(result))

    order = data.draw(st.permutations(range(len(next(iter(case.columns.values()))))))
    assert contents(case) == contents(case.permuted(order))


@given(case=cases())
@unhurried
def test_the_tree_of_cuts_sends_every_record_to_its_class(case: Case) -> None:
    encoded = case.encoded()
    result = Mondrian().partition(encoded, case.requirements, threads=1)
    assert [route(result, record) for record in records(encoded)] == result.class_of().tolist()
    for record in records(encoded):
        inside = [all(low <= c <= high for c, (low, high) in zip(record, r, strict=True)) for r in regions(result)]
        assert sum(inside) == 1, "regions are disjoint"


@pytest.mark.parametrize(("n", "k", "expected"), [(1, 2, [1]), (3, 2, [3]), (4, 2, [2, 2]), (6, 6, [6]), (5, 9, [5])])
def test_tables_of_about_k_records(n: int, k: int, expected: list[int]) -> None:
    case = Case({"q": list(range(n))}, {"q": {}}, (KAnonymity(k=k),))
    assert Mondrian().partition(case.encoded(), case.requirements, threads=1).sizes.tolist() == expected


def test_equal_records_stay_together_unless_relaxed() -> None:
    case = Case({"q": [5, 5, 5, 5, 7]}, {"q": {}}, (KAnonymity(k=2),))
    assert classes(Mondrian().partition(case.encoded(), case.requirements, threads=1)) == [[0, 1, 2, 3, 4]]
    assert classes(Mondrian(relaxed=True).partition(case.encoded(), case.requirements, threads=1)) == [
        [0, 1],
        [2, 3, 4],
    ]


def test_a_table_of_one_value_is_one_class() -> None:
    case = Case({"q": [5] * 10, "r": ["x"] * 10, "m": [None] * 10}, {"q": {}, "r": {}, "m": {}}, (KAnonymity(k=2),))
    for relaxed in (False, True):
        result = Mondrian(relaxed=relaxed).partition(case.encoded(), case.requirements, threads=1)
        assert result.sizes.tolist() == [10]


def test_the_first_of_two_columns_that_are_as_wide_is_cut() -> None:
    """The module promises ties to the first attribute. The four records with c = 0 are a tenth of `a` and of `b` wide:
    0 to 1 of 10 on `a`, 7 to 8 of 10 on `b`. The cut must be on `a`, whatever 0.8 − 0.7 rounds to.
    """
    columns = {"a": [0, 0, 1, 1, 0, 10], "b": [7, 8, 7, 8, 0, 10], "c": [0, 0, 0, 0, 9, 9]}
    case = Case(columns, {"c": {"weight": 4}, "a": {}, "b": {}}, (KAnonymity(k=2),))
    encoded = case.encoded()
    expected = plain.mondrian(encoded.lines, records(encoded), case.allowed())
    assert [c.records for c in expected] == [[0, 1], [2, 3], [4, 5]]
    assert classes(Mondrian().partition(encoded, case.requirements, threads=1)) == [c.records for c in expected]


def test_values_that_an_outlier_pushes_together_can_still_be_cut() -> None:
    """Beside −1e30 the numbers 1 and 2 lie at the same place of the line; they are no single value for that."""
    case = Case({"q": [-1e30, -1e30, 1.0, 1.0, 2.0, 2.0]}, {"q": {}}, (KAnonymity(k=2),))
    assert classes(Mondrian().partition(case.encoded(), case.requirements, threads=1)) == [[0, 1], [2, 3], [4, 5]]


@pytest.fixture(scope="module")
def large() -> tuple[Encoded, tuple[Requirement, ...], list[Classes]]:
    """A table that is large enough for the engine to hand subtrees to different threads, and its partitions."""
    generator = np.random.default_rng(3)
    n = 100_000
    case = Case(
        {
            "number": pa.array(generator.integers(0, 5000, n), mask=generator.random(n) < 0.05),
            "country": pa.array(generator.choice(LETTERS, n), mask=generator.random(n) < 0.01),
            "label": pa.array(np.char.mod("v%03d", generator.integers(0, 300, n))),
            "s": pa.array(generator.integers(0, 5, n)),
        },
        {"number": {}, "country": {"hierarchy": listed(TREES[3])}, "label": {"weight": 2}},
        (KAnonymity(k=10), DistinctLDiversity(l=3, of="s")),
    )
    encoded = case.encoded()
    results = [Mondrian().partition(encoded, case.requirements, threads=threads) for threads in (1, 2, 3)]
    return encoded, case.requirements, results


def test_threads_do_not_change_the_result(large: tuple[Encoded, tuple[Requirement, ...], list[Classes]]) -> None:
    one, *others = large[2]
    assert one.classes > 1000
    for other in others:
        for field in ("order", "starts", "low", "high"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field
        assert all(map(np.array_equal, one.cuts.regions(), other.cuts.regions()))


def test_subtrees_of_several_threads_are_joined_to_one_tree(
    large: tuple[Encoded, tuple[Requirement, ...], list[Classes]],
) -> None:
    encoded, _, results = large
    rows = np.random.default_rng(4).integers(0, encoded.rows, 300)
    for result in results:
        cuts = result.cuts
        inner = np.flatnonzero(cuts.attribute >= 0)
        below = np.concatenate([np.arange(cuts.child[i], cuts.child[i] + cuts.children[i]) for i in inner])
        assert sorted(below.tolist()) == list(range(1, len(cuts.attribute))), "every node but the root is one part"
        assert np.all(cuts.child[inner] > inner), "parents before children"
        of = result.class_of()
        for row in rows.tolist():
            assert route(result, tuple(encoded.codes[:, row].tolist())) == of[row]


def test_regions_cover_the_whole_table_without_overlap(
    large: tuple[Encoded, tuple[Requirement, ...], list[Classes]],
) -> None:
    encoded, _, (result, *_) = large
    low, high = result.cuts.regions()
    volume = np.prod((high - low + 1).astype(np.float64), axis=1).sum()
    assert volume == np.prod([line.size for line in encoded.lines], dtype=np.float64)
    assert np.all(low <= result.low)
    assert np.all(result.high <= high)
