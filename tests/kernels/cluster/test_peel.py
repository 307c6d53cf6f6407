"""Peeling against its plain twin (`tests/twins/peel.py`), and what levels a line has."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded
from rothko.kernels.cluster import peel as kernels
from rothko.methods.cluster import peel
from rothko.methods.cluster.peel import Level, levels_of, peeled, thinned
from rothko.methods.cluster.tuples import Tuples
from rothko.privacy import KAnonymity
from tests.compiled import Called
from tests.strategies.columns import encoded_of
from tests.strategies.tables import Case, cases, records, unhurried
from tests.twins import mondrian as plain
from tests.twins.cluster import Group
from tests.twins.peel import peel_plainly

kernel = Called(kernels)
ALWAYS = 1e9
TREE = {"tree": {"north": ["a", "b"], "south": {"near": ["c"], "far": ["d", "e"]}}}


def counts_of(encoded: Encoded, a: int) -> np.ndarray:
    return np.bincount(encoded.codes[a], minlength=encoded.lines[a].size)


def ladders(encoded: Encoded) -> list[list[Level]]:
    return [levels_of(line, counts_of(encoded, a)) for a, line in enumerate(encoded.lines)]


@given(case=cases(), k=st.integers(2, 9), alone=st.booleans())
@settings(unhurried, max_examples=80)
def test_peeling_equals_its_plain_twin(case: Case, k: int, alone: bool) -> None:
    case = Case(case.columns, case.specs, (*(() if alone else case.requirements), KAnonymity(k=k)))
    encoded = case.encoded()
    tuples = Tuples.of(encoded, case.requirements, threads=1)
    found = peeled(tuples, patience=ALWAYS)
    assert found is not None
    allowed, rows = case.allowed(), records(encoded)
    members = [tuples.records[tuples.starts[t] : tuples.starts[t + 1]].tolist() for t in range(tuples.count)]

    def holds(one: Group) -> bool:
        return allowed([i for t, _ in one for i in members[t]])

    levels = ladders(encoded)
    weights = [line.weight for line in encoded.lines]

    def cost(vector: tuple[int, ...]) -> float:
        # Added up as the order is: rounding decides ties between vectors that cost the same.
        total = 0.0
        for a, level in enumerate(vector):
            total = levels[a][level].ncp * weights[a] / sum(weights) + total
        return total

    last_first = list(product(*(range(len(some)) for some in reversed(levels))))
    vectors = sorted((vector[::-1] for vector in last_first), key=cost)
    expected, left = peel_plainly(
        [rows[one[0]] for one in members],
        tuples.counts.tolist(),
        [[level.groups.tolist() for level in some] for some in levels],
        vectors,
        holds,
    )
    classes: list[list[int]] = [[] for _ in range(found.count)]
    for t, c in zip(found.tuples.tolist(), found.classes.tolist(), strict=True):
        if c >= 0:
            classes[c].append(t)
    assert sorted(classes) == sorted([t for t, _ in one] for one in expected)
    assert found.tuples[found.classes < 0].tolist() == left


@given(case=cases())
@settings(unhurried, max_examples=40)
def test_levels_go_up_to_all_codes_and_cost_more_and_more(case: Case) -> None:
    encoded = case.encoded()
    for a, line in enumerate(encoded.lines):
        levels = levels_of(line, counts_of(encoded, a))
        assert len(set(levels[0].groups.tolist())) == line.size
        assert len(set(levels[-1].groups.tolist())) == 1
        for below, above in pairwise(levels):
            pairs = set(zip(below.groups.tolist(), above.groups.tolist(), strict=True))
            assert len(pairs) == len(set(below.groups.tolist())), "a group is in one group of the next level"
            assert below.ncp <= above.ncp + 1e-12
        for level in levels:
            shown = [
                plain.width(line, {c for c in range(line.size) if level.groups[c] == level.groups[code]})
                for code in encoded.codes[a].tolist()
            ]
            assert level.ncp == pytest.approx(float(sum(shown)) / len(shown))


def test_a_hierarchy_has_its_own_levels_and_numbers_are_halved() -> None:
    tree = Case({"a": list("abcde")}, {"a": {"hierarchy": TREE}}, (KAnonymity(k=2),)).encoded().lines[0]
    assert [len(set(one.groups.tolist())) for one in levels_of(tree, np.ones(5, dtype=np.int64))] == [5, 3, 2, 1]
    numbers = encoded_of({"a": [*range(40), None]}).lines[0]
    counted = [len(set(one.groups.tolist())) for one in levels_of(numbers, np.ones(41, dtype=np.int64))]
    assert counted == [41, 33, 17, 9, 5, 3, 1], "what is missing stays apart up to the last"


def test_levels_that_hardly_differ_go_first() -> None:
    def level(ncp: float) -> Level:
        return Level(np.zeros(1, dtype=np.int64), np.zeros(1), ncp)

    long, short = [level(c) for c in (0.0, 0.1, 0.15, 0.5, 1.0)], [level(c) for c in (0.0, 1.0)]
    found = thinned([long, short], 8)
    assert found is not None
    assert [[one.ncp for one in some] for some in found] == [[0.0, 0.15, 0.5, 1.0], [0.0, 1.0]]
    assert len(long) == 5, "the given levels stay"
    assert thinned([short] * 4, 8) is None


def test_little_patience_still_serves_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peel, "A_WHILE", 1)
    rng = np.random.default_rng(3)
    encoded = encoded_of({name: rng.integers(0, 20, 300).tolist() for name in "abc"})
    tuples = Tuples.of(encoded, (KAnonymity(k=4),), threads=1)
    hasty, thorough = peeled(tuples, patience=0.0), peeled(tuples, patience=ALWAYS)
    assert hasty is not None
    assert thorough is not None
    for found in (hasty, thorough):
        sizes = np.bincount(found.classes[found.classes >= 0], weights=found.amounts[found.classes >= 0])
        assert (sizes >= 4).all()
        assert found.amounts[found.classes < 0].sum() < 4
    assert hasty.count < thorough.count


def test_when_time_is_over_there_is_nothing() -> None:
    encoded = encoded_of({"a": list(range(50))})
    tuples = Tuples.of(encoded, (KAnonymity(k=4),), threads=1)
    assert peeled(tuples, patience=ALWAYS, over=lambda: True) is None


@given(
    codes=st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=1, max_size=60),
    k=st.integers(2, 6),
    most=st.integers(1, 40),
    seed=st.integers(0, 9),
)
@settings(unhurried, max_examples=60)
def test_what_some_groups_tell_equals_a_plain_count(codes: list[list[int]], k: int, most: int, seed: int) -> None:
    m, random = len(codes), np.random.default_rng(seed)
    numbers, amounts = random.integers(0, 1 << 64, 12, dtype=np.uint64), random.integers(1, 3, m)
    levels = kernels.Levels(numbers, np.array([[0], [6]]), np.zeros(2, np.int64), np.array([1, 1]))
    left = kernels.Left(np.array(codes, dtype=np.int32), amounts, np.empty((0, m), np.int32), np.arange(m))
    found = kernel._barren(levels, np.array([0, 6]), left, m, k, kernel._room(m), most)
    some, sieve = m, 0
    while some > most:
        some, sieve = some // 2, 2 * sieve + 1
    groups: dict[int, int] = {}
    chosen = 0
    for (first, second), amount in zip(codes, amounts.tolist(), strict=True):
        number = (int(numbers[first]) + int(numbers[6 + second])) % 2**64
        if not number >> 40 & sieve:
            chosen += 1
            groups[number] = groups.get(number, 0) + amount
    if max(groups.values(), default=0) >= k or 2 * chosen < some:
        assert not found, "a group is large enough, or too few were chosen to tell"
    elif len(groups) < kernel._size(some) // 2 + 1:
        assert found


def test_peeling_by_some_groups_serves_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    encoded = encoded_of({name: rng.integers(0, 12, 900).tolist() for name in "abc"})
    tuples = Tuples.of(encoded, (KAnonymity(k=4),), threads=1)
    exact = peeled(tuples, patience=ALWAYS)
    monkeypatch.setattr(peel, "SOME", 64)
    found = peeled(tuples, patience=ALWAYS)
    assert found is not None
    assert exact is not None
    sizes = np.bincount(found.classes[found.classes >= 0], weights=found.amounts[found.classes >= 0])
    assert (sizes >= 4).all()
    assert found.amounts[found.classes < 0].sum() < 4
    assert found.count > 0.9 * exact.count


def test_peeling_is_given_up_where_it_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peel, "LARGE", 100)
    monkeypatch.setattr(peel, "A_WHILE", 1)
    rng = np.random.default_rng(3)
    spread = encoded_of({name: rng.random(400).tolist() for name in "abcdef"})
    assert peeled(Tuples.of(spread, (KAnonymity(k=40),), threads=1), patience=50.0) is None
    dense = encoded_of({name: rng.integers(0, 6, 400).tolist() for name in "abc"})
    assert peeled(Tuples.of(dense, (KAnonymity(k=4),), threads=1), patience=50.0) is not None
