"""The genetic algorithm and the optimal search against all recodings of a dozen records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from experiments.baselines import METRICS, Counted, Genetic, Recoding, allowed, evolve, grouped, levels_of, optimal
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.policy.policy import Policy

TREE = {"north": ["Oslo", "Turku"], "south": {"Italy": ["Bari", "Rome"], "Spain": ["Lugo"]}}


@pytest.fixture
def encoded() -> Encoded:
    import pyarrow as pa

    random = np.random.default_rng(4)
    cities = ["Oslo", "Turku", "Bari", "Rome", "Lugo", "Lugo"] * 2
    table = pa.table({"age": random.integers(20, 24, 12), "city": cities, "label": random.choice(["y", "n"], 12)})
    policy = Policy.quick(
        table.column_names,
        qi=["age", "city"],
        keep="label",
        k=2,
        hierarchies={"city": {"tree": TREE}},
        classify="label",
    )
    return encode(typed(table, policy), policy)


def costs(encoded: Encoded, recoding: Recoding, k: int) -> dict[str, int]:
    """Both metrics, by going through the records."""
    shown = [
        tuple(int(parts[code]) for parts, code in zip(recoding, record, strict=True)) for record in encoded.codes.T
    ]
    sizes, labels = Counter(shown), encoded.targets["label"].codes.tolist()
    wrong, told_apart = 0, 0
    for show, label in zip(shown, labels, strict=True):
        alike = Counter(other for one, other in zip(shown, labels, strict=True) if one == show)
        wrong += sizes[show] < k
        told_apart += sizes[show] if sizes[show] >= k else len(shown)
        if sizes[show] >= k and label != alike.most_common(1)[0][0]:
            wrong += 1
    return {"classification metric": wrong, "discernibility": told_apart}


def cuts(tree: Any) -> Iterator[list[int]]:
    """All cuts of a nested tree: how many leaves each part has."""
    if isinstance(tree, str):
        yield [1]
        return
    children = tree.values() if isinstance(tree, dict) else tree
    yield [sum(map(leaves, children))]
    if len(children) > 1:
        for chosen in product(*(list(cuts(child)) for child in children)):
            yield [size for one in chosen for size in one]


def leaves(tree: Any) -> int:
    return 1 if isinstance(tree, str) else sum(map(leaves, tree.values() if isinstance(tree, dict) else tree))


def every_recoding(encoded: Encoded) -> Iterator[Recoding]:
    """All single-dimensional recodings: any cut of the ages, any cut of the tree."""
    age = encoded.lines[0].size
    for bits in product([0, 1], repeat=age - 1):
        for sizes in cuts(TREE):
            yield np.cumsum([0, *bits]), np.repeat(np.arange(len(sizes)), sizes)


def records_of(encoded: Encoded) -> Counted:
    return Counted.of(encoded.codes, encoded.targets["label"].codes)


def test_costs_are_those_of_going_through_the_records(encoded: Encoded) -> None:
    for recoding in every_recoding(encoded):
        groups = records_of(encoded).groups(recoding)
        for k in (1, 2, 4):
            assert {name: metric(groups, k) for name, metric in METRICS.items()} == costs(encoded, recoding, k)


def test_the_optimum_is_that_of_all_combinations_of_levels(encoded: Encoded) -> None:
    tree = encoded.lines[1].tree
    assert tree is not None
    levels = [[np.arange(encoded.lines[0].size), np.zeros(encoded.lines[0].size, np.int64)], levels_of(tree)]
    assert [one.tolist() for one in levels[1]] == [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0] * 5]
    found = optimal(records_of(encoded), levels, (2, 4))
    for (name, k), recoding in found.items():
        assert costs(encoded, recoding, k)[name] == min(costs(encoded, one, k)[name] for one in product(*levels))
    assert len(found) == 4


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_genetic_algorithm_finds_the_best_of_all(encoded: Encoded, k: int) -> None:
    name = "classification metric"
    best = min(costs(encoded, one, k)[name] for one in every_recoding(encoded))
    made = evolve(records_of(encoded), encoded.lines, k, np.random.default_rng(k), Genetic(20, 400))
    assert costs(encoded, made, k)[name] == best
    first = evolve(records_of(encoded), encoded.lines, k, np.random.default_rng(k), Genetic(3, 0))
    assert costs(encoded, first, k)[name] >= best


def test_only_cuts_of_the_hierarchy_are_allowed(encoded: Encoded) -> None:
    line = encoded.lines[1]
    known = {tuple(np.diff(np.repeat(np.arange(len(sizes)), sizes)).tolist()) for sizes in cuts(TREE)}
    reached = {tuple(allowed(line, np.array(bits, bool)).astype(int).tolist()) for bits in product([0, 1], repeat=4)}
    assert reached == known
    for cut in known:
        assert tuple(allowed(line, np.array(cut, bool)).astype(int).tolist()) == cut


def test_records_that_show_the_same_are_a_group(encoded: Encoded) -> None:
    nothing = tuple(np.zeros(line.size, dtype=np.int64) for line in encoded.lines)
    assert set(grouped(encoded.codes, nothing).tolist()) == {0}
