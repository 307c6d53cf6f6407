"""Prices against their plain twins (`tests/twins/price.py`), and what the sum of all prices promises."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rothko.kernels.cluster import price as kernels
from rothko.kernels.cluster import walk
from rothko.methods.cluster.price import codes_of, ladder_of
from rothko.methods.cluster.tuples import Tuples
from rothko.privacy import KAnonymity
from tests.compiled import Called
from tests.strategies.tables import TREES, Case, cases, labels, listed, records, unhurried
from tests.twins.cluster import Boxes, Group
from tests.twins.price import Dive, boxes_plainly, dearest, paid

kernel = Called(kernels)
MOST, PATIENCE = 100_000, 1 << 40
ORDERS = st.randoms(use_true_random=False)


class Given:
    """A small table as a pool: its dearest tuples first."""

    def __init__(self, case: Case, k: int, cells: random.Random) -> None:
        encoded = case.encoded()
        self.tuples = tuples = Tuples.of(encoded, (KAnonymity(k=k),), threads=1)
        ladder, n = ladder_of(tuples), tuples.count
        assert ladder is not None
        self.boxes, self.ladder = Boxes(encoded.lines), ladder
        self.prices = sorted((cells.randint(0, 1 << 24) for _ in range(n)), reverse=True)
        self.counts = [cells.randint(1, 5) for _ in range(n)]
        first = tuples.records[tuples.starts[:-1]]
        self.codes = [records(encoded)[i] for i in first]
        self.pool = walk.Pool(
            codes_of(tuples, ladder, np.arange(n)), tuples.x, np.array(self.counts, dtype=np.int64),
            np.array(self.prices, dtype=np.int64), tuples.values,
        )  # fmt: skip

    def found(self, k: int, reach: float) -> tuple[walk.Found, list[list[int]]]:
        first, top = np.zeros_like(self.ladder.top), self.ladder.top
        found, whole, _ = walk.boxes(self.tuples.lines, self.ladder, self.pool, k, reach, MOST, PATIENCE, first, top)
        assert whole
        return found, [part.tolist() for part in np.split(found.tuples, found.begin[1:-1])][: len(found.cost)]


@given(case=cases(), k=st.integers(2, 9), reach=st.sampled_from((0.5, 1.0, 1.3, 1e9)), cells=ORDERS)
@settings(unhurried, max_examples=80)
def test_boxes_are_those_of_all_vectors(case: Case, k: int, reach: float, cells: random.Random) -> None:
    table = Given(case, k, cells)
    found, members = table.found(k, reach)
    ladder = table.ladder
    nodes = [[ladder.node[a, j].tolist() for j in range(top)] for a, top in enumerate(ladder.top)]
    codes = [tuple(one[a] for a in ladder.lines) for one in table.codes]
    expected = boxes_plainly(
        codes, table.counts, table.prices, nodes, lambda a, node: int(ladder.cost[a, node]), k, reach
    )
    assert sorted(tuple(sorted(box)) for box in members) == sorted(expected)
    for box, cost in zip(members, found.cost.tolist(), strict=True):
        assert abs(cost - table.boxes.ncp([table.codes[t] for t in box])) <= len(ladder.top)


@given(case=cases(), k=st.integers(2, 9), reaches=st.sampled_from(((1e9, 1.0), (1.3, 0.5))), cells=ORDERS)
@settings(unhurried, max_examples=40)
def test_a_lower_reach_keeps_the_boxes_that_are_paid_so_much(
    case: Case, k: int, reaches: tuple[float, float], cells: random.Random
) -> None:
    table = Given(case, k, cells)
    found, members = table.found(k, reaches[0])
    kept = walk.still_worth(found, table.pool, k, reaches[1])
    expected = [
        (cost, box)
        for cost, box in zip(found.cost.tolist(), members, strict=True)
        if paid(table.prices, dearest(table.prices, table.counts, box, k)) * reaches[1] >= k * cost
    ]
    parts = np.split(kept.tuples, kept.begin[1:-1])[: len(kept.cost)]
    assert [(cost, part.tolist()) for cost, part in zip(kept.cost.tolist(), parts, strict=True)] == expected
    assert kept.begin[-1] == len(kept.tuples)


@given(cells=ORDERS, k=st.integers(1, 30))
@settings(unhurried, max_examples=100)
def test_the_dearest_come_to_the_front_and_the_cheapest_of_them_last(cells: random.Random, k: int) -> None:
    n = cells.randint(1, 40)
    prices, left = [cells.randint(0, 9) for _ in range(n)], [cells.randint(1, 4) for _ in range(n)]
    box = np.array(cells.sample(range(n), cells.randint(1, n)), dtype=np.int32)
    expected = dearest(prices, left, box.tolist(), k)
    kernel._select(box, 0, len(box), np.array(prices, dtype=np.int64), np.array(left, dtype=np.int64), k)
    if expected:
        front = box[: len(expected)].tolist()
        assert sorted(front) == sorted(t for t, _ in expected)
        assert front[-1] == expected[-1][0] or left[front[-1]] == dict(expected)[front[-1]]


@given(case=cases(), k=st.integers(2, 9), cells=ORDERS, share=st.sampled_from((0.0, 0.2, 1.0)))
@example(case=Case({"q0": ["a", "b", "a"]}, {"q0": {}}, (KAnonymity(k=2),)), k=2, cells=random.Random(1), share=0.2)
@settings(unhurried, max_examples=80)
def test_prices_and_classes_equal_their_plain_twin(case: Case, k: int, cells: random.Random, share: float) -> None:
    table = Given(case, k, cells)
    found, members = table.found(k, 1.3)
    order = cells.sample(range(len(members)), len(members))
    sweeps, rise, fall, again, fair = 6, 300_000, 0.8, 2, 0.9
    twin, prices, step = Dive(members, found.cost.tolist(), table.counts, k), list(table.prices), float(rise)
    made = kernels.dive(
        found, table.pool, k, None, np.array(order, dtype=np.int64), sweeps, rise, fall, again, share, fair
    )
    for i in range(sweeps):
        if i == sweeps - 2:
            twin.lowered = [0] * len(members)
        twin.sweep(prices, order, int(step))
        step *= fall
    assert made[4].tolist() == prices
    expected: list[Group] = []
    vain = 0
    while vain < kernels.IN_VAIN and any(dearest(prices, twin.left, box, k) for box in members):
        opened = twin.open(prices, order, share, fair, kernels.GOOD)
        expected += opened
        vain = 0 if opened else vain + 1
        twin.lowered = [one // kernels.FADE for one in twin.lowered]
        for _ in range(again):
            twin.sweep(prices, order, int(step))
    classes: list[Group] = [[] for _ in range(made[3])]
    left = [0] * len(prices)
    for t, c, n in zip(made[0].tolist(), made[1].tolist(), made[2].tolist(), strict=True):
        if c < 0:
            left[t] += n
        else:
            classes[c].append((t, n))
    assert [sorted(one) for one in classes] == expected
    assert left == twin.left


@given(trees=st.lists(st.sampled_from(TREES), min_size=1, max_size=3), k=st.integers(2, 6), cells=ORDERS)
@settings(unhurried, max_examples=40)
def test_prices_bound_the_loss_of_every_partition(trees: list[Any], k: int, cells: random.Random) -> None:
    """Lowered by what any box is still asked too much, they add up to no more than any classes cost."""
    columns = {f"q{a}": labels(cells, 12) for a in range(len(trees))}
    specs = {f"q{a}": {"hierarchy": listed(tree)} for a, tree in enumerate(trees)}
    case = Case(columns, specs, (KAnonymity(k=2),))
    table = Given(case, k, cells)
    found, members = table.found(k, 1e9)
    if not members or sum(table.counts) < 2 * k:
        return
    everything = np.arange(len(members))
    prices = kernels.dive(found, table.pool, k, None, everything, 20, 400_000, 0.8, 1, 0.1, 0.9)[4].tolist()
    worst = max(
        paid(prices, dearest(prices, table.counts, box, k)) // k - cost
        for box, cost in zip(members, found.cost.tolist(), strict=True)
    )
    bound = sum((price - worst - 1) * n for price, n in zip(prices, table.counts, strict=True))
    for _ in range(5):
        each = [(t, 1) for t, n in enumerate(table.counts) for _ in range(n)]
        cells.shuffle(each)
        cut = cells.randint(k, len(each) - k)
        assert bound <= table.boxes.loss(table.codes, [each[:cut], each[cut:]]) + len(each) * len(table.ladder.top)


def test_too_many_boxes_are_told() -> None:
    case = Case({"q0": list(range(8)), "q1": list("abcdefgh")}, {"q0": {}, "q1": {}}, (KAnonymity(k=2),))
    table = Given(case, 2, random.Random(0))
    for most, patience in ((20, PATIENCE), (MOST, 10)):
        first, top = np.zeros_like(table.ladder.top), table.ladder.top
        found, whole, _ = walk.boxes(table.tuples.lines, table.ladder, table.pool, 2, 1e9, most, patience, first, top)
        assert not whole
        assert len(found.tuples) <= most
