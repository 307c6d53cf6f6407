"""Chains against their plain twin (`tests/twins/chains.py`), and what holds always."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.kernels.cluster.chains import chains
from rothko.methods.cluster.tuples import Entries
from rothko.privacy import KAnonymity
from tests.kernels.cluster.test_cluster import Table, any_classes, merged, sums
from tests.strategies.tables import Case, cases, unhurried
from tests.twins.chains import least_cost


def chained(table: Table, before: Entries) -> Entries:
    tuples = table.tuples
    return Entries(
        *chains(
            tuples.lines, tuples.x, tuples.values, tuples.k, tuples.rules.asked, before.tuples, before.classes,
            before.amounts, before.count,
        )
    )  # fmt: skip


def cost_of(table: Table, boxes: Entries, held: Entries) -> int:
    """What classes would lose if their boxes were those of other records."""
    cost = [table.boxes.ncp([table.codes[t] for t, _ in group]) for group in merged(boxes)]
    return sum(n * cost[c] for c, group in enumerate(merged(held)) for _, n in group)


@given(case=cases(), seed=st.integers(0, 2**32), only_k=st.booleans())
@settings(unhurried, max_examples=150)
def test_nothing_is_lost_and_all_holds_and_with_k_alone_nothing_could_be_better(
    case: Case, seed: int, only_k: bool
) -> None:
    table = Table(Case(case.columns, case.specs, (KAnonymity(k=2 + seed % 3),)) if only_k else case)
    before = any_classes(table, seed)
    if before is None:
        return
    after = chained(table, before)
    groups = merged(after)
    assert sums(groups) == Counter(dict(enumerate(table.tuples.counts.tolist())))
    assert all(sum(n for _, n in group) >= table.tuples.k for group in groups)
    assert all(table.holds(group) for group in groups)
    assert table.loss(groups) <= cost_of(table, before, after) <= table.loss(merged(before))
    if only_k:
        least = least_cost(table.boxes, table.codes, table.tuples.k, merged(before))
        assert cost_of(table, before, after) == least


def row_of_three(spare: int) -> tuple[Table, Entries]:
    """Three classes in a row, each with room for one end of the next: the first costs most and has some to spare."""
    numbers = [*[0] * spare, 0, 60, 50, 90, 85, 100]
    classes = [*[0] * spare, 0, 0, 1, 1, 2, 2]
    table = Table(Case({"q": numbers}, {"q": {}}, (KAnonymity(k=2),)))
    place = {int(codes[0]): i for i, codes in enumerate(table.codes)}
    tuples = np.array([place[int(code)] for code in table.encoded.codes[0]])
    return table, Entries(tuples, np.array(classes), np.ones(len(numbers), dtype=np.int64), 3)


def test_a_class_spares_what_another_one_two_links_away_takes() -> None:
    """60 goes to the class from 50 to 90, and 90 to that from 85 to 100: none could go by itself."""
    table, before = row_of_three(spare=1)
    groups = merged(chained(table, before))
    values = [sorted(table.codes[t][0] for t, n in group for _ in range(n)) for group in groups]
    zero, fifty, sixty, eighty_five, ninety, hundred = sorted({codes[0] for codes in table.codes})
    assert values == [[zero, zero], [fifty, sixty], [eighty_five, ninety, hundred]]


def test_nothing_moves_where_nothing_can_be_spared() -> None:
    table, before = row_of_three(spare=0)
    assert merged(chained(table, before)) == merged(before)
