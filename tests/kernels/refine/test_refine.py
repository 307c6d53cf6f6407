"""The kernels of Top-Down Refinement against NumPy; those that move and count are held to `tests/twins/refine.py`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.kernels.order import arrange, number
from rothko.kernels.refine import gains
from tests.compiled import Called
from tests.strategies.tables import unhurried

choose_cut = Called(gains).choose_cut


@given(keys=st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), min_size=1, max_size=60))
@unhurried
def test_equal_keys_have_one_number(keys: list[int]) -> None:
    array = np.array(keys, dtype=np.uint64)
    numbers, first = number(array)
    assert sorted(set(numbers.tolist())) == list(range(len(first))) == list(range(len(set(keys))))
    np.testing.assert_array_equal(array[first][numbers], array)


@pytest.mark.parametrize("different", [1, 7, 5_000, 200_000])
def test_many_keys_are_dealt_first(different: int) -> None:
    keys = np.random.default_rng(different).integers(0, different, 100_000).astype(np.uint64) << np.uint64(33)
    numbers, first = number(keys)
    assert len(first) == len(np.unique(keys))
    np.testing.assert_array_equal(keys[first][numbers], keys)


def test_records_by_class_keep_their_order() -> None:
    classes = np.random.default_rng(1).integers(0, 9, 1_000).astype(np.int32)
    order, starts = arrange(classes, 10)
    np.testing.assert_array_equal(order, np.argsort(classes, kind="stable"))
    np.testing.assert_array_equal(np.diff(starts), np.bincount(classes, minlength=10))


def test_of_equal_gains_the_more_even_cut() -> None:
    records = np.array([0, 1, 2, 5, 9, 10], dtype=np.int64)  # codes 0 … 4
    assert choose_cut(np.array([0.5, 0.5, 0.5, 0.2]), records, 0, 4, 1) == (3, 0.5)
    assert choose_cut(np.array([0.9, 0.5, 0.5, 0.2]), records, 0, 4, 2)[0] == 3, "too few records before the best"
    assert choose_cut(np.zeros(4), records, 0, 4, 6)[0] == -1
