"""Keys of records, against NumPy on the records themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.generate.agrawal import agrawal
from rothko.methods.refine import refine as method
from rothko.methods.refine.counts import Tally
from rothko.methods.refine.keys import (
    SAMPLED,
    STRIDE,
    codes_of,
    distinct,
    in_order,
    keys_of,
    share_distinct,
)
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.workload.tasks import Classify
from tests.strategies.tables import unhurried

LARGEST = 2**31 - 1
SHAPES = {
    "a counter for each key": [7, 3, 5],
    "one word": [LARGEST, 9, 1_000],
    "one word, just": [2**31 - 1, 2**31 - 1],
    "several words": [LARGEST, LARGEST, LARGEST, 4, LARGEST],
    "columns of one value": [1, 1, 1],
}


def columns_below(sizes: list[int], rows: int, seed: int = 0) -> list[NDArray[np.int32]]:
    """Few different codes in each column, the largest among them, so that records repeat."""
    random = np.random.default_rng(seed)
    return [(random.integers(0, 4, rows) * (size - 1) // 3).astype(np.int32) for size in sizes]


@pytest.mark.parametrize("rows", [1, 50, 2 * STRIDE + 1])
@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
class TestKeys:
    def test_stand_for_the_codes_that_they_were_made_of(self, sizes: list[int], rows: int) -> None:
        columns = columns_below(sizes, rows)
        np.testing.assert_array_equal(codes_of(keys_of(columns, sizes)), np.stack(columns))

    def test_that_are_equal_are_one_and_counted(self, sizes: list[int], rows: int) -> None:
        columns = columns_below(sizes, rows)
        different, times = distinct(keys_of(columns, sizes))
        found = codes_of(different)
        order = np.lexsort(found[::-1])
        expected, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
        np.testing.assert_array_equal(found[:, order], expected)
        np.testing.assert_array_equal(times[order], counts)

    def test_rise_as_records_do(self, sizes: list[int], rows: int) -> None:
        columns = columns_below(sizes, rows)
        order, starts, different = in_order(keys_of(columns, sizes))
        np.testing.assert_array_equal(order, np.lexsort(columns[::-1]), "equal ones as they stand")
        expected, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
        np.testing.assert_array_equal(codes_of(different), expected)
        np.testing.assert_array_equal(np.diff(starts), counts)
        assert starts[0] == 0


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, LARGEST - 1)), min_size=1, max_size=40))
@unhurried
def test_keys_are_made_of_what_codes_show(rows: list[tuple[int, int]]) -> None:
    columns = [np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)]
    columns[1] %= 5
    shown = [np.array([1, 0, 1], dtype=np.int32), np.array([0, 0, 2, 1, 2], dtype=np.int32)]
    expected = np.stack([show[column] for show, column in zip(shown, columns, strict=True)])
    np.testing.assert_array_equal(codes_of(keys_of(columns, [2, 3], shown)), expected)


@pytest.mark.parametrize("sizes", [[1_000_003], [LARGEST, LARGEST, LARGEST]])
@pytest.mark.parametrize(("different", "often"), [(1, 0.0), (50_000, 0.0), (150_000, 0.0), (199_000, 0.7)])
def test_a_sample_tells_how_many_records_are_different(sizes: list[int], different: int, often: float) -> None:
    rows = 200_000
    assert rows >= SAMPLED
    random = np.random.default_rng(different)
    codes = random.permutation(np.arange(rows) % different).astype(np.int32) * 5
    codes[random.random(rows) < often] = (
        0  # one record that most are equal to must not hide the others, nor count as many
    )
    share = share_distinct(keys_of([codes for _ in sizes], sizes))
    assert share == pytest.approx(len(np.unique(codes)) / rows, rel=0.15, abs=1e-3)


def test_few_records_are_all_counted() -> None:
    columns = columns_below([LARGEST, LARGEST, LARGEST], 5_000)
    expected = np.unique(np.stack(columns), axis=1).shape[1]
    assert share_distinct(keys_of(columns, [LARGEST] * 3)) == expected / 5_000


@pytest.fixture(scope="module")
def people() -> Encoded:
    """More records than are counted at a time, in columns of few values and of many."""
    table = agrawal(2 * STRIDE + 1, seed=1).select(["salary", "elevel", "hyears", "class"])
    quasi = {"role": "quasi-identifier"}
    columns = {"salary": quasi, "elevel": quasi, "hyears": quasi, "class": {"role": "keep"}}
    policy = Policy(columns=columns, privacy=[{"k-anonymity": {"k": 5}}], workload=[{"classify": {"target": "class"}}])
    return encode(typed(table, policy), policy)


def test_bringing_equal_records_together_changes_no_refinement(
    people: Encoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(method, "MANY", share)
        found.append(
            list(method.refine(people, [KAnonymity(k=5)], method.Refine(), [Classify(target="class")]).steps())
        )
    assert found[0] == found[1]
    assert len(found[0]) > 20


def test_codes_are_counted_some_at_a_time(people: Encoded) -> None:
    found = Tally.of(people, []).columns(people.lines, np.ones(3, dtype=np.int64), letter=False)
    for i, (line, codes) in enumerate(zip(people.lines, people.codes, strict=True)):
        before = found.before[found.at[i] + i : found.at[i + 1] + i + 1]
        np.testing.assert_array_equal(np.diff(before), np.bincount(codes, minlength=line.size))


def test_labels_are_counted_some_at_a_time(people: Encoded) -> None:
    tasks, target = [Classify(target="class")], people.targets["class"]
    found = Tally.of(people, tasks).labelled(people.lines, tasks, {"class": target.domain}, people.rows)
    for i, (line, codes) in enumerate(zip(people.lines, people.codes, strict=True)):
        places = found.places[found.at[i, 0] : found.at[i, 0] + line.size + 1]
        expected = np.zeros((line.size, target.domain.size), dtype=np.int64)
        np.add.at(expected, (codes, target.codes), 1)
        counted = np.zeros_like(expected)
        of_entry = np.repeat(np.arange(line.size), np.diff(places))
        counted[of_entry, found.labels[places[0] : places[-1]]] = found.amounts[places[0] : places[-1]]
        np.testing.assert_array_equal(counted, expected)
