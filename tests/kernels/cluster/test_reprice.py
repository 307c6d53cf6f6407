"""Near classes that are made anew by prices: what holds always, and one step against its parts."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.kernels.cluster import price as pricing
from rothko.kernels.cluster import walk
from rothko.kernels.cluster.reprice import reprice
from rothko.methods.cluster.price import AGAIN, FAIR, FALL, HOPE, REACH, RISE, SHARE, SWEEPS, codes_of, ladder_of
from rothko.methods.cluster.repair import ALL
from rothko.methods.cluster.tuples import Entries
from rothko.privacy import KAnonymity
from tests.kernels.cluster.test_cluster import SEED, Table, any_classes, loose, merged, sums
from tests.strategies.tables import Case, cases, unhurried

MOST, PATIENCE = 100_000, 1 << 20


def anew(table: Table, entries: Entries, *, steps: int, nearest: int, most: int = MOST, worth: float = HOPE) -> Entries:
    tuples = table.tuples
    ladder = ladder_of(tuples)
    assert ladder is not None
    codes = codes_of(tuples, ladder, np.arange(tuples.count))
    found = reprice(
        tuples.lines, ladder, codes, tuples.x, tuples.values, tuples.k, tuples.rules.asked,
        entries.tuples, entries.classes, entries.amounts, entries.count, steps, nearest, REACH, most, PATIENCE,
        SWEEPS, RISE, FALL, AGAIN, SHARE, FAIR, worth, ALL, SEED,
    )  # fmt: skip
    return Entries(*found)


@given(case=cases(), seed=st.integers(0, 2**32), only_k=st.booleans(), nearest=st.sampled_from((2, 3, 20)))
@settings(unhurried, max_examples=80)
def test_it_never_loses_more_and_keeps_what_holds(case: Case, seed: int, only_k: bool, nearest: int) -> None:
    table = Table(Case(case.columns, case.specs, (KAnonymity(k=2 + seed % 3),)) if only_k else case)
    before = any_classes(table, seed)
    if before is None:
        return
    after = anew(table, before, steps=8, nearest=nearest)
    groups = merged(after)
    assert not loose(after)
    assert all(groups), "no class is empty"
    assert after.count == len(groups)
    assert sums(groups) == Counter(dict(enumerate(table.tuples.counts.tolist())))
    assert all(table.holds(one) for one in groups)
    assert table.loss(groups) <= table.loss(merged(before))
    assert merged(anew(table, before, steps=8, nearest=nearest)) == groups


def drawn(state: list[int], n: int) -> int:
    """The next number below n, as kernels draw it."""
    state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state[0] >> 33) % n


@given(case=cases(), seed=st.integers(0, 2**32))
@settings(unhurried, max_examples=80)
def test_a_step_is_boxes_prices_and_a_repair_of_what_comes_of_them(case: Case, seed: int) -> None:
    """Where all classes are taken apart, the parts can be put together by hand."""
    table = Table(Case(case.columns, case.specs, (KAnonymity(k=2 + seed % 3),)))
    before, tuples = any_classes(table, seed), table.tuples
    if before is None or before.count < 2:
        return
    lost = table.loss(merged(before))
    expected = merged(before)
    each = [(t, n, table.boxes.ncp([table.codes[one] for one, _ in group])) for group in expected for t, n in group]
    counts = tuples.counts
    cost = np.bincount([t for t, _, _ in each], weights=[n * cost for _, n, cost in each]).astype(np.int64) // counts
    order = sorted(range(tuples.count), key=lambda t: -cost[t])
    if lost == 0:
        return
    ladder = ladder_of(tuples)
    assert ladder is not None
    pool = walk.Pool(
        codes_of(tuples, ladder, np.array(order)), np.ascontiguousarray(tuples.x[:, order]), counts[order], cost[order],
        np.ascontiguousarray(tuples.values[:, order]),
    )  # fmt: skip
    found, whole, _ = walk.boxes(
        tuples.lines, ladder, pool, tuples.k, REACH, MOST, PATIENCE, np.zeros_like(ladder.top), ladder.top
    )
    assert whole
    state, m = [int(SEED)], before.count
    for _ in range(2 + m - 1):  # the class that is begun with, of two, and how near the others are
        drawn(state, 1)
    asked = list(range(len(found.cost)))
    for i in range(len(asked) - 1, 0, -1):
        j = drawn(state, i + 1)
        asked[i], asked[j] = asked[j], asked[i]
    rise = int(RISE * lost / int(counts.sum()))
    some, of, many, made, _ = pricing.dive(
        found, pool, tuples.k, None, np.array(asked, dtype=np.int64), SWEEPS, rise, FALL, AGAIN, SHARE, FAIR
    )
    if made:
        new = table.repair(Entries(np.array(order)[some], of, many, made))
        if not loose(new) and table.loss(merged(new)) < lost:
            expected = merged(new)
    assert sorted(merged(anew(table, before, steps=1, nearest=m, worth=-1000.0))) == sorted(expected)
    assert merged(anew(table, before, steps=1, nearest=m, worth=1.0)) == merged(before), "nothing is worth it"


def test_of_too_many_boxes_those_that_were_found_will_do() -> None:
    table = Table(Case({"q0": list(range(12)), "q1": list("abcdabcdabcd")}, {"q0": {}, "q1": {}}, (KAnonymity(k=2),)))
    before = any_classes(table, 3)
    assert before is not None
    assert merged(anew(table, before, steps=5, nearest=6, most=1)) == merged(before)
    few, all_of_them = (merged(anew(table, before, steps=5, nearest=6, most=most)) for most in (40, MOST))
    assert table.loss(all_of_them) < table.loss(merged(before))
    assert table.loss(few) <= table.loss(merged(before))
