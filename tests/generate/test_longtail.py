"""Synthetic sets are what the thesis says they are."""

from __future__ import annotations

import numpy as np
import pytest

from rothko.errors import InputError
from rothko.generate.longtail import BLOCK, LongTail, longtail


def test_frequencies_lengths_and_utilities() -> None:
    shape = LongTail()
    records = longtail(30_000, shape)
    frequencies = records.frequencies() / records.count
    expected = shape.frequencies()
    assert (expected[0], expected[-1]) == (0.5, pytest.approx(0.001))
    assert (np.diff(expected) < 0).all()
    assert np.abs(frequencies - expected).max() < 5 * np.sqrt(0.25 / records.count)
    lengths = np.diff(records.starts)
    assert lengths.mean() == pytest.approx(40, rel=0.02)
    assert lengths.std() == pytest.approx(24, rel=0.03)
    assert (records.utility.min(), records.utility.max()) == (pytest.approx(1, abs=1), pytest.approx(100, abs=1))
    assert records.names.to_pylist() == sorted(records.names.to_pylist())


def test_the_first_records_do_not_depend_on_how_many_there_are() -> None:
    shape = LongTail(items=50, mean=5, deviation=3, seed=4)
    many, few = longtail(BLOCK + 100, shape), longtail(BLOCK + 10, shape)
    assert np.array_equal(many.starts[: BLOCK + 11], few.starts)
    assert np.array_equal(many.items[: len(few.items)], few.items)
    other = longtail(100, LongTail(items=50, mean=5, deviation=3, seed=5))
    assert not np.array_equal(other.items[:50], few.items[:50])


@pytest.mark.parametrize(
    "shape",
    [
        {"items": 1},
        {"most": 1.0},
        {"least": 0.6},
        {"mean": 600.0},
        {"mean": 0.5},
        {"deviation": 2.0},
        {"deviation": 900.0},
    ],
)
def test_shapes_that_cannot_be(shape: dict[str, float]) -> None:
    with pytest.raises(InputError):
        LongTail(**shape)  # type: ignore[arg-type]


def test_no_records() -> None:
    with pytest.raises(InputError):
        longtail(0)
