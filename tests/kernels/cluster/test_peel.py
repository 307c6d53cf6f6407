"""Peeling against its plain twin (`tests/twins/peel.py`), and what levels a line has."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded
from rothko.methods.cluster import peel
from rothko.methods.cluster.peel import Level, levels_of, peeled, thinned
from rothko.methods.cluster.tuples import Tuples
from rothko.privacy import KAnonymity
from tests.strategies.columns import encoded_of
from tests.strategies.tables import Case, cases, records, unhurried
from tests.twins import mondrian as plain
from tests.twins.cluster import Group
from tests.twins.peel import peel_plainly

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
        return Level(np.zeros(1, dtype=np.int64), ncp)

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
