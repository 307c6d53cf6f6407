"""A search keeps what it has room for: steps that would take more are left out, and none takes more than foretold."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from rothko.data.encode import Encoded
from rothko.methods import Cluster
from rothko.methods.classes import LocalClasses
from rothko.methods.cluster import cluster, price, search
from rothko.methods.cluster.peel import peeled
from rothko.methods.cluster.price import ladder_of, may_price
from rothko.methods.cluster.room import Room, of_levels, of_peeling
from rothko.methods.cluster.search import Plan
from rothko.methods.cluster.tuples import Tuples
from rothko.privacy import KAnonymity
from tests.strategies.tables import Case

K = (KAnonymity(k=20),)


@cache
def spread(rows: int = 3_000) -> Encoded:
    """Numbers that nearly all differ: levels have as many codes as there are records."""
    random = np.random.default_rng(1)
    columns = {name: random.integers(0, 1 << 20, rows).tolist() for name in "abc"}
    return Case(columns, {name: {} for name in columns}, K).encoded()


def taken(work: Callable[[], object]) -> int:
    """The most bytes of arrays that were there at a time."""
    work()  # what is compiled and imported counts once
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_levels_take_no_more_than_foretold_and_nothing_without_room() -> None:
    tuples = Tuples.of(spread(), K, threads=1)
    peeling, levels = of_peeling(tuples.count, spread().lines), of_levels(spread().lines)
    assert 0.2 * peeling < taken(lambda: peeled(tuples, patience=1.0)) < peeling
    assert 0.4 * levels < taken(lambda: ladder_of(tuples)) < levels
    assert peeled(tuples, patience=1.0, room=Room(peeling)) is not None
    assert peeled(tuples, patience=1.0, room=Room(peeling - 1)) is None
    assert taken(lambda: peeled(tuples, patience=1.0, room=Room(peeling - 1))) < 0.01 * peeling
    assert may_price(tuples, Room(2 * levels))
    assert not may_price(tuples, Room(2 * levels - 1))
    assert taken(lambda: ladder_of(tuples, Room(2 * levels - 1))) < 0.01 * levels


def test_a_search_without_room_is_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Cluster().partition(spread(), K, room=1 << 40)
    same(whole, Cluster().partition(spread(), K))
    monkeypatch.setattr(search, "dearest", None)
    monkeypatch.setattr(price, "ladder_of", None)
    found = Cluster().partition(spread(), K, room=0)
    same(found, Cluster().partition(spread(), K, room=1_000, threads=3))
    assert (found.sizes >= 20).all()
    fast = Cluster(effort="fast").partition(spread(), K)
    assert whole.gcp(spread().lines) <= found.gcp(spread().lines) <= fast.gcp(spread().lines)


def same(one: LocalClasses, other: LocalClasses) -> None:
    assert np.array_equal(one.order, other.order)
    assert np.array_equal(one.starts, other.starts)


def test_what_is_kept_of_the_best_classes_comes_first() -> None:
    tuples = Tuples.of(spread(), K, threads=1)
    assert Plan.for_table(tuples, "default", None).room == Room()
    assert Plan.for_table(tuples, "default", None, Room(10**6)).room == Room(700_000)


def test_only_a_search_keeps_anything() -> None:
    kept = {name: Cluster(**options).keeps for name, options in EFFORTS.items()}
    assert kept == {"default": cluster.KEPT, "thorough": cluster.KEPT, "fast": 0, "none": 0}


EFFORTS = {
    "default": {},
    "thorough": {"effort": "thorough"},
    "fast": {"effort": "fast"},
    "none": {"repair": False},
}
