"""Risk, uniqueness and associations, beside what plain Python says."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import encode
from rothko.metrics import uniqueness as uniqueness_module
from rothko.metrics.association import associations, cramers_v, spreads
from rothko.metrics.pair import read_pair
from rothko.metrics.risk import risk
from rothko.metrics.uniqueness import class_sizes, shared, unique_share, uniqueness


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.sampled_from([0.05, 0.09, 0.1, 0.2, 0.5]))
def test_risk_is_that_of_every_record(sizes: list[int], threshold: float) -> None:
    risks = [1 / size for size in sizes for _ in range(size)]
    found = risk(np.array(sizes), threshold)
    assert found.highest == max(risks)
    assert found.average == pytest.approx(sum(risks) / len(risks))
    assert found.unique == sum(one == 1 for one in risks)
    assert found.above == sum(one > threshold + 1e-12 for one in risks)


@given(st.integers(0, 60), st.integers(1, 4), st.integers(1, 2000), st.randoms(use_true_random=False))
def test_classes_of_some_columns_are_counted(rows: int, columns: int, size: int, random: object) -> None:
    rng = np.random.default_rng(random.randrange(1 << 30))  # type: ignore[attr-defined]
    codes = rng.integers(0, size, (columns, rows)).astype(np.int32)
    wanted = sorted(Counter(map(tuple, codes.T.tolist())).values())
    for most in (size, 1 << 31):  # the larger does not fit in a number
        assert sorted(class_sizes(codes, [most] * columns, range(columns)).tolist()) == wanted
        unique = sum(count == 1 for count in wanted) / max(rows, 1)
        assert unique_share(codes, [most] * columns, range(columns)) == pytest.approx(unique)


@given(st.integers(0, 80), st.integers(2, 12), st.randoms(use_true_random=False))
def test_whoever_is_unique_by_some_columns_need_not_be_looked_at_by_more(rows: int, size: int, random: object) -> None:
    rng = np.random.default_rng(random.randrange(1 << 30))  # type: ignore[attr-defined]
    codes = rng.integers(0, size, (4, rows)).astype(np.int32)
    for most in (size, 1 << 31):
        sizes = [most] * 4
        among = shared(codes, sizes, (0, 2))
        twice = Counter(zip(codes[0].tolist(), codes[2].tolist(), strict=True))
        assert among.tolist() == [i for i in range(rows) if twice[codes[0, i], codes[2, i]] > 1]
        everything = range(4)
        assert unique_share(codes, sizes, everything, among) == unique_share(codes, sizes, everything)
        wanted = sorted(class_sizes(codes, sizes, everything).tolist())
        assert sorted(class_sizes(codes, sizes, everything, among).tolist()) == wanted


@pytest.mark.parametrize("all_triples", [35, 0])
def test_uniqueness_by_every_set_of_columns(all_triples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness_module, "ALL_TRIPLES", all_triples)
    rng = np.random.default_rng(1)
    table = {name: rng.integers(0, size, 80) for name, size in (("a", 9), ("b", 5), ("c", 30), ("d", 2))}
    encoded = encode(pa.table(table), rk.Policy.quick(list(table), qi=list(table), k=2))

    def unique(names: tuple[str, ...]) -> float:
        found = Counter(zip(*(table[name].tolist() for name in names), strict=True))
        return sum(count == 1 for count in found.values()) / 80

    found = uniqueness(encoded)
    everything = tuple(table)
    assert found.whole.share_unique == unique(everything)
    assert found.alone == {name: unique((name,)) for name in table}
    for name, adds in found.adds.items():
        assert adds == pytest.approx(unique(everything) - unique(tuple(one for one in everything if one != name)))
    for size, some in ((2, found.pairs), (3, found.triples)):
        wanted = sorted((unique(names) for names in combinations(everything, size)), reverse=True)
        assert [one.unique for one in some] == wanted[:5]
        assert all(one.unique == unique(one.names) for one in some)


def test_associations_of_an_exact_release_are_those_of_the_original() -> None:
    rng = np.random.default_rng(2)
    age = rng.integers(0, 8, 200)
    table = {"age": age, "sex": np.where(rng.random(200) < 0.8, age % 2, 1 - age % 2), "ill": rng.integers(0, 3, 200)}
    policy = rk.Policy.quick(list(table), qi=["age", "sex"], sensitive="ill", k=2)
    pair = read_pair(
        table, {name: [str(one) for one in values] for name, values in table.items()}, policy, beside=["ill"]
    )
    found = associations(pair)
    assert len(found) == 3
    for one in found:
        assert one.after == pytest.approx(one.before)
        counts = np.zeros((8, 8))
        for a, b in zip(table[one.names[0]], table[one.names[1]], strict=True):
            counts[a, b] += 1
        assert one.before == pytest.approx(cramers_v(counts))
    for spread in spreads(pair):
        assert spread.before == pytest.approx(spread.after)
        assert spread.before.sum() == pytest.approx(1)


def test_a_release_of_one_class_keeps_no_association() -> None:
    table = {"age": [1, 2, 3, 4] * 10, "size": [1, 2, 3, 4] * 10}
    policy = rk.Policy.quick(list(table), qi=["age", "size"], k=40)
    [one] = associations(read_pair(table, rk.anonymize(table, policy)))
    assert (one.before, one.after) == (pytest.approx(1), pytest.approx(0))
