"""Boxes that are opened against their plain twin (`tests/twins/facility.py`), and what holds always."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.kernels.cluster import facility, walk
from rothko.kernels.cluster import sieve as sieves
from rothko.methods.cluster.price import _pool_of, ladder_of
from rothko.methods.cluster.tuples import Entries
from rothko.privacy import KAnonymity
from tests.compiled import Called
from tests.kernels.cluster.test_cluster import Laid, Table, any_classes, merged, odd_lines, sums
from tests.strategies.tables import Case, cases, unhurried
from tests.twins.cluster import Group
from tests.twins.facility import IN_VAIN, NOWHERE, Opening, contains

sieve = Called(sieves)


def opened(table: Table, entries: Entries, reach: float) -> tuple[list[Group], list[Group], int, int]:
    """The classes by the kernel and by its twin, with tuples as the pool numbers them; what was saved, and is left."""
    tuples, ladder = table.tuples, ladder_of(table.tuples)
    assert ladder is not None
    who, pool = _pool_of(tuples, ladder, entries)
    found, whole, _ = walk.boxes(
        tuples.lines, ladder, pool, tuples.k, reach, 1 << 20, 1 << 30, np.zeros_like(ladder.top), ladder.top
    )
    assert whole
    place = np.argsort(who)
    given_to = (
        tuples.lines, found, pool.x, pool.values, tuples.k, tuples.rules.asked, place[entries.tuples], entries.classes,
        entries.amounts, entries.count,
    )  # fmt: skip
    cuts = (0, len(found.cost) // 2, len(found.cost))
    alone = np.concatenate([facility.savings(*given_to, *some) for some in pairwise(cuts)])
    made = facility.open_boxes(*given_to, alone)
    given: list[Group] = [[] for _ in range(entries.count)]
    for t, c, n in zip(place[entries.tuples].tolist(), entries.classes.tolist(), entries.amounts.tolist(), strict=True):
        given[c].append((t, n))
    twin = Opening(
        table.boxes, [table.codes[t] for t in who], tuples.k,
        lambda group: table.holds([(int(who[t]), n) for t, n in group]), given,
    )  # fmt: skip
    members = [part.tolist() for part in np.split(found.tuples, found.begin[1:-1])][: len(found.cost)]
    plainly = twin.run(list(zip(members, found.cost.tolist(), strict=True)))
    expected = [sorted(Counter(sums([group])).items()) for group in plainly]
    named = [[(int(who[t]), n) for t, n in group] for group in merged(Entries(*made[:4]))]
    return (
        [sorted(group) for group in named],
        [sorted((int(who[t]), n) for t, n in g) for g in expected],
        made[4],
        made[5],
    )


@given(case=cases(), seed=st.integers(0, 2**32), only_k=st.booleans(), reach=st.sampled_from((1.0, 2.0)))
@settings(unhurried, max_examples=120)
def test_it_equals_its_plain_twin_and_keeps_what_holds(case: Case, seed: int, only_k: bool, reach: float) -> None:
    table = Table(Case(case.columns, case.specs, (KAnonymity(k=2 + seed % 3),)) if only_k else case)
    before = any_classes(table, seed)
    if before is None:
        return
    groups, expected, saved, left = opened(table, before, reach)
    assert sums(groups) == Counter(dict(enumerate(table.tuples.counts.tolist())))
    assert all(groups), "no class is empty"
    assert all(table.holds(one) for one in groups)
    assert table.loss(groups) == left
    assert table.loss(merged(before)) - saved == left
    assert saved >= 0
    assert groups == expected


def test_a_box_may_draw_on_classes_that_are_not_near_each_other() -> None:
    """Each of three classes spares one record; none of them alone, and no two, could make the class of all three."""
    numbers = [0, 0, 0, 50, 49, 49, 49, 50, 99, 99, 99, 50]
    table = Table(Case({"q": numbers}, {"q": {}}, (KAnonymity(k=3),)))
    place = {t[0]: i for i, t in enumerate(table.codes)}
    codes = table.encoded.codes[0]
    tuples = np.array([place[int(code)] for code in codes])
    before = Entries(tuples, np.repeat(np.arange(3), 4), np.ones(12, dtype=np.int64), 3)
    groups, expected, saved, left = opened(table, before, 1.0)
    assert groups == expected
    assert left == 0 < saved


def test_the_twin_knows_the_same_numbers() -> None:
    assert (facility.NOWHERE, facility.IN_VAIN) == (NOWHERE, IN_VAIN)


@pytest.mark.parametrize("amount", [1, 3])
def test_one_class_stays(amount: int) -> None:
    table = Table(Case({"q": [1, 2] * amount}, {"q": {}}, (KAnonymity(k=2),)))
    before = Entries(np.arange(2), np.zeros(2, dtype=np.int64), np.full(2, amount), 1)
    groups, expected, _, _ = opened(table, before, 1.0)
    assert groups == expected


@pytest.mark.parametrize("classes", [3, 70])
def test_the_two_cheapest_classes_that_hold_a_tuple_are_found_on_lines_of_every_kind(classes: int) -> None:
    encoded = odd_lines()
    cells = np.random.default_rng(classes)
    laid = Laid(encoded, [*range(classes), *cells.integers(0, classes, encoded.rows - classes).tolist()])
    bits = sieve.room_for_sieve(laid.lines, classes)
    for c in range(classes):
        sieve.sift(laid.lines, laid.boxes, bits, c, c != 1)
    cost = np.array([laid.ncp(c) for c in range(classes)])
    rows = np.empty(len(encoded.lines), dtype=np.int64)
    for t in range(0, encoded.rows, 7):
        holders = [
            c for c in range(classes) if c != 1 and contains(laid.plain, laid.members[c], laid.tuples[t])
        ]  # fmt: skip
        holders.sort(key=lambda c: (cost[c], c))
        found = sieve.cheapest_two(laid.lines, laid.boxes, bits, laid.x, t, cost, rows)
        assert list(found) == [*holders[:2], -1, -1][:2]
