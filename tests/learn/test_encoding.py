"""Labels and ranges as numbers for models: against the plain twin, and what always holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.learn.encoding import MOST_LABELS, Encoding, Labels, Numbers
from rothko.methods.classes import Members
from tests.strategies.tables import unhurried
from tests.twins import encoding as plain

SIZE = 5
region = st.integers(1, 2**SIZE - 1).map(lambda bits: frozenset(i for i in range(SIZE) if bits >> i & 1))


def as_labels(regions: list[frozenset[int]]) -> Labels:
    owner = np.repeat(np.arange(len(regions)), [len(one) for one in regions])
    codes = np.array([code for one in regions for code in sorted(one)])
    return Labels(SIZE, Members.of(owner, codes, len(regions)), np.arange(len(regions)))


@unhurried
@given(st.lists(st.tuples(region, st.integers(0, 3)), min_size=1, max_size=9), st.lists(region, min_size=1, max_size=4))
def test_labels_are_the_numbers_of_the_plain_twin(records: list[tuple[frozenset[int], int]], asked: Any) -> None:
    regions, target = [one for one, _ in records], np.array([label for _, label in records])
    train, test = as_labels(regions), as_labels(asked)
    found = Encoding.learned([train], target, "shares", labels=True).numbers([test])
    assert found == pytest.approx(np.array(plain.shares(asked, SIZE)))
    for labels in (True, False):
        numbers = plain.wanted(target.tolist(), labels=labels)
        found = Encoding.learned([train], target, "effects", labels=labels).numbers([test])
        assert found == pytest.approx(np.array(plain.effects(regions, SIZE, numbers, asked)))


@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).map(sorted), min_size=1, max_size=9))
def test_intervals_are_the_sets_of_what_lies_between(ends: list[list[int]]) -> None:
    low, high = (np.array(side) for side in zip(*ends, strict=True))
    found = Labels.between(SIZE, low, high)
    sets = as_labels([frozenset(range(first, last + 1)) for first, last in ends])
    assert (found.mean(np.eye(SIZE)) == sets.mean(np.eye(SIZE))).all()


def test_an_exact_label_is_one_hot_and_shares_are_one_together() -> None:
    view = [Labels.between(3, np.array([0, 2, 0]), np.array([0, 2, 2])), Numbers(np.array([[7.0], [8.0], [9.0]]))]
    numbers = Encoding.learned(view, np.array([0, 1, 0]), "shares", labels=True).numbers(view)
    assert numbers[:2].tolist() == [[1, 0, 0, 7], [0, 0, 1, 8]]
    assert numbers[2, :3] == pytest.approx([1 / 3] * 3)


def test_a_column_of_many_labels_is_one_number_for_every_model() -> None:
    codes = np.arange(MOST_LABELS + 1)
    view = [Labels.between(MOST_LABELS + 1, codes, codes)]
    assert Encoding.learned(view, codes % 2, "shares", labels=True).numbers(view).shape == (len(codes), 1)


def test_what_the_test_part_holds_changes_no_effect() -> None:
    train = [Labels.between(3, np.array([0, 1, 2, 2]), np.array([0, 1, 2, 2]))]
    learned = Encoding.learned(train, np.array([0, 0, 1, 1]), "effects", labels=True)
    one, other = ([Labels.between(3, codes, codes)] for codes in (np.array([0, 2]), np.array([2, 2])))
    assert learned.numbers(one)[1] == learned.numbers(other)[0] == learned.numbers(other)[1]
    assert learned.numbers(one)[0] < 0.5 < learned.numbers(one)[1]
