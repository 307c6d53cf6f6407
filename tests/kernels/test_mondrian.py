"""Median Mondrian against its plain twin (`tests/twins/mondrian.py`), and its properties on random small tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asked
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.engines.memory import partition
from rothko.methods import Mondrian
from rothko.methods.classes import Partition
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity, KAnonymity, Requirement
from twins import mondrian as plain

# A kernel is compiled by its first call, which takes longer than Hypothesis grants an example.
unhurried = settings(deadline=None, max_examples=150)

NUMBERS = (0, 1, 2, 3, 5, 8, 13, 16)
"""The extremes are a power of two apart, so that widths are exact in floating point, and ties are ties."""
LETTERS = ("a", "b", "c", "d", "e", "f", "g")
TREES: tuple[Any, ...] = (
    "flat",
    "auto",
    {"tree": {"A": ["a", "b"], "B": ["c", "d"], "C": ["e", "f", "g"]}},
    # Unbalanced, with a chain of only children and a leaf beside inner nodes.
    {"tree": {"A": {"AA": ["a", "b"]}, "B": ["c", {"BB": ["d", {"BBB": ["e", "f"]}]}], "g": None}},
    {"tree": {"Z": {"Y": {"X": ["g", "a"], "W": ["b", "c", "d"]}, "V": ["e"]}, "U": ["f"]}},
)


@dataclass(frozen=True)
class Case:
    """A random table, what is asked of it, and both as the engine and the twin take them."""

    columns: dict[str, list[Any]]
    specs: dict[str, dict[str, Any]]
    requirements: tuple[Requirement, ...]

    def encoded(self) -> Encoded:
        # A nested tree goes through {"tree": …}; a leaf without a list is written as None there.
        specs = {name: {"role": "quasi-identifier", **spec} for name, spec in self.specs.items()}
        sensitive = {name: {"role": "sensitive"} for name in self.columns if name not in self.specs}
        policy = Policy(columns={**specs, **sensitive}, privacy=self.requirements)
        return encode(typed(pa.table(self.columns), policy), policy)

    def allowed(self) -> plain.Allowed:
        return plain.all_of(self.requirements, self.columns)

    def permuted(self, order: Sequence[int]) -> Case:
        return Case({name: [c[i] for i in order] for name, c in self.columns.items()}, self.specs, self.requirements)


def _tree(spec: Any) -> Any:
    """Write a leaf among branches as the policy takes it: in a list."""
    if not isinstance(spec, dict):
        return spec
    branches = [{key: below} if below is not None else key for key, below in spec["tree"].items()]
    return {"tree": branches}


def numbers(cells: random.Random, n: int) -> list[int | None]:
    if n == 1 or cells.random() < 0.15:
        return [cells.choice(NUMBERS)] * n
    column: list[int | None] = list(cells.choices(NUMBERS[: cells.randint(2, len(NUMBERS))], k=n))
    if cells.random() < 0.5:
        absent = cells.random()
        column = [None if cells.random() < absent else value for value in column]
    first, last = cells.sample(range(n), 2)
    column[first], column[last] = NUMBERS[0], NUMBERS[-1]
    return column


def labels(cells: random.Random, n: int) -> list[str | None]:
    pool: list[str | None] = list(cells.sample(LETTERS, cells.randint(1, len(LETTERS))))
    return cells.choices([*pool, None] if cells.random() < 0.5 else pool, k=n)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Hypothesis draws the shape, and shrinks it; the cells come from a seed, since drawn ones repeat too much."""
    n = draw(st.integers(1, 40))
    cells = random.Random(draw(st.integers(0, 2**32)))
    columns: dict[str, list[Any]] = {}
    specs: dict[str, dict[str, Any]] = {}
    for a, kind in enumerate(draw(st.lists(st.sampled_from(("ordered", "nominal", "tree")), min_size=1, max_size=4))):
        columns[f"q{a}"] = numbers(cells, n) if kind == "ordered" else labels(cells, n)
        specs[f"q{a}"] = {"weight": cells.choice((1, 1, 1, 2, 0.5))}
        if kind == "tree":
            specs[f"q{a}"]["hierarchy"] = _tree(cells.choice(TREES))
    requirements: list[Requirement] = []
    if draw(st.booleans()):
        requirements.append(KAnonymity(k=draw(st.integers(2, 6))))
    for s in range(draw(st.integers(0 if requirements else 1, 2))):
        values = cells.sample((*asked.NUMBERS, None), cells.randint(1, 5))
        # At least one value: a column that is missing altogether is no column of numbers.
        held = [value for value in values if value is not None][:1] or [asked.NUMBERS[0]]
        drawn = cells.choices(values, weights=[cells.random() + 0.01 for _ in values], k=n)
        columns[f"s{s}"] = [held[0], *drawn[1:]]
        requirements += draw(st.lists(asked.any_requirement(f"s{s}"), min_size=1, max_size=2))
    return Case(columns, specs, tuple(requirements))


def classes(result: Partition) -> list[list[int]]:
    return [sorted(result.order[a:b].tolist()) for a, b in zip(result.starts, result.starts[1:], strict=False)]


def regions(result: Partition) -> list[tuple[tuple[int, int], ...]]:
    assert result.cuts is not None
    return [
        tuple(zip(low, high, strict=True))
        for low, high in zip(*(codes.tolist() for codes in result.cuts.regions()), strict=True)
    ]


def records(encoded: Encoded) -> list[plain.Record]:
    return [tuple(record) for record in encoded.codes.T.tolist()]


def route(result: Partition, record: plain.Record) -> int:
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
        result = partition(encoded, case.requirements, Mondrian(relaxed=relaxed), threads=threads)
        assert classes(result) == [c.records for c in expected]
        assert result.sizes.tolist() == [len(c.records) for c in expected]
        if relaxed:
            assert result.cuts is None
        else:
            assert regions(result) == [c.region for c in expected]


@pytest.mark.parametrize("relaxed", [False, True])
@given(case=cases())
@unhurried
def test_the_classes_are_a_partition_that_holds_and_cannot_be_cut_further(relaxed: bool, case: Case) -> None:
    encoded = case.encoded()
    rows, allowed = records(encoded), case.allowed()
    progress: list[int] = []
    result = partition(encoded, case.requirements, Mondrian(relaxed=relaxed), threads=2, progress=progress.append)
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


@given(case=cases(), data=st.data())
@unhurried
def test_the_order_of_the_records_does_not_matter_when_strict(case: Case, data: st.DataObject) -> None:
    def contents(case: Case) -> Counter[tuple[plain.Record, ...]]:
        encoded = case.encoded()
        rows = records(encoded)
        result = partition(encoded, case.requirements, Mondrian(), threads=1)
        return Counter(tuple(sorted(rows[i] for i in numbers)) for numbers in classes(result))

    order = data.draw(st.permutations(range(len(next(iter(case.columns.values()))))))
    assert contents(case) == contents(case.permuted(order))


@given(case=cases())
@unhurried
def test_the_tree_of_cuts_sends_every_record_to_its_class(case: Case) -> None:
    encoded = case.encoded()
    result = partition(encoded, case.requirements, Mondrian(), threads=1)
    assert [route(result, record) for record in records(encoded)] == result.class_of().tolist()
    for record in records(encoded):
        inside = [all(low <= c <= high for c, (low, high) in zip(record, r, strict=True)) for r in regions(result)]
        assert sum(inside) == 1, "regions are disjoint"


@pytest.mark.parametrize(("n", "k", "expected"), [(1, 2, [1]), (3, 2, [3]), (4, 2, [2, 2]), (6, 6, [6]), (5, 9, [5])])
def test_tables_of_about_k_records(n: int, k: int, expected: list[int]) -> None:
    case = Case({"q": list(range(n))}, {"q": {}}, (KAnonymity(k=k),))
    assert partition(case.encoded(), case.requirements, Mondrian(), threads=1).sizes.tolist() == expected


def test_equal_records_stay_together_unless_relaxed() -> None:
    case = Case({"q": [5, 5, 5, 5, 7]}, {"q": {}}, (KAnonymity(k=2),))
    assert classes(partition(case.encoded(), case.requirements, Mondrian(), threads=1)) == [[0, 1, 2, 3, 4]]
    assert classes(partition(case.encoded(), case.requirements, Mondrian(relaxed=True), threads=1)) == [
        [0, 1],
        [2, 3, 4],
    ]


def test_a_table_of_one_value_is_one_class() -> None:
    case = Case({"q": [5] * 10, "r": ["x"] * 10, "m": [None] * 10}, {"q": {}, "r": {}, "m": {}}, (KAnonymity(k=2),))
    for relaxed in (False, True):
        result = partition(case.encoded(), case.requirements, Mondrian(relaxed=relaxed), threads=1)
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
    assert classes(partition(encoded, case.requirements, Mondrian(), threads=1)) == [c.records for c in expected]


def test_values_that_an_outlier_pushes_together_can_still_be_cut() -> None:
    """Beside −1e30 the numbers 1 and 2 lie at the same place of the line; they are no single value for that."""
    case = Case({"q": [-1e30, -1e30, 1.0, 1.0, 2.0, 2.0]}, {"q": {}}, (KAnonymity(k=2),))
    assert classes(partition(case.encoded(), case.requirements, Mondrian(), threads=1)) == [[0, 1], [2, 3], [4, 5]]


@pytest.fixture(scope="module")
def large() -> tuple[Encoded, tuple[Requirement, ...], list[Partition]]:
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
        {"number": {}, "country": {"hierarchy": _tree(TREES[3])}, "label": {"weight": 2}},
        (KAnonymity(k=10), DistinctLDiversity(l=3, of="s")),
    )
    encoded = case.encoded()
    results = [partition(encoded, case.requirements, Mondrian(), threads=threads) for threads in (1, 2, 3)]
    return encoded, case.requirements, results


def test_threads_do_not_change_the_result(large: tuple[Encoded, tuple[Requirement, ...], list[Partition]]) -> None:
    one, *others = large[2]
    assert one.classes > 1000
    for other in others:
        for field in ("order", "starts", "low", "high"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field
        assert all(map(np.array_equal, one.cuts.regions(), other.cuts.regions()))


def test_subtrees_of_several_threads_are_joined_to_one_tree(
    large: tuple[Encoded, tuple[Requirement, ...], list[Partition]],
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
    large: tuple[Encoded, tuple[Requirement, ...], list[Partition]],
) -> None:
    encoded, _, (result, *_) = large
    low, high = result.cuts.regions()
    volume = np.prod((high - low + 1).astype(np.float64), axis=1).sum()
    assert volume == np.prod([line.size for line in encoded.lines], dtype=np.float64)
    assert np.all(low <= result.low)
    assert np.all(result.high <= high)
