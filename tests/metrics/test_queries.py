"""Overlap, imprecision and aggregates against plain loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.metrics.queries import answer, imprecision, overlapping, relative_error, satisfying, true_answer

SIZES = (6, 3)
interval = [st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted) for n in SIZES]
boxes = st.lists(st.tuples(*interval), min_size=1, max_size=5)
points = st.lists(st.tuples(*(st.integers(0, n - 1) for n in SIZES)), min_size=1, max_size=20)


def ends(some: list) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(some)
    return both[:, :, 0], both[:, :, 1]


def cells(box: tuple) -> set[tuple[int, ...]]:
    (a, b), (c, d) = box
    return {(x, y) for x in range(a, b + 1) for y in range(c, d + 1)}


@given(boxes, boxes)
def test_overlap_is_a_common_cell(classes: list, query: list) -> None:
    wanted = set().union(*map(cells, query))
    assert overlapping(*ends(classes), *ends(query)).tolist() == [bool(cells(box) & wanted) for box in classes]


@given(points, boxes)
def test_records_satisfy_a_query_that_holds_their_cell(records: list, query: list) -> None:
    wanted = set().union(*map(cells, query))
    assert satisfying(np.array(records).T, SIZES, *ends(query)).tolist() == [r in wanted for r in records]


@given(
    boxes.flatmap(lambda some: st.tuples(st.just(some), st.tuples(*(st.sampled_from(sorted(cells(b))) for b in some))))
)
def test_imprecision_is_never_negative(case: tuple) -> None:
    """A record that satisfies a query lies in its class's box, so that its class is returned."""
    classes, members = case
    query = [((0, 3), (1, 1))]
    matching = int(satisfying(np.array(members).T, SIZES, *ends(query)).sum())
    overlaps = overlapping(*ends(classes), *ends(query))
    assert imprecision(np.ones(len(classes), dtype=int), overlaps, matching) >= 0


held = st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=5), min_size=1, max_size=6)
"""The numbers of each class."""


def statistic(function: str, members: list[int]) -> float:
    return {"min": min, "max": max}.get(function, lambda m: sum(m) / len(m))(members)


def plain(function: str, numbers: list[int]) -> float:
    mean = float(Fraction(sum(numbers), len(numbers)))
    return {"count": len(numbers), "sum": sum(numbers), "avg": mean, "min": min(numbers), "max": max(numbers)}[function]


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max"])
@given(classes=held)
def test_statistics_of_all_classes_give_the_truth(function: str, classes: list[list[int]]) -> None:
    numbers = [x for members in classes for x in members]
    sizes = np.array([len(members) for members in classes])
    shown = np.array([statistic(function, members) for members in classes])
    found, unanswered = answer(function, sizes, shown, np.zeros(len(sizes), dtype=bool))
    assert found == pytest.approx(plain(function, numbers), abs=1e-9)
    assert unanswered == 0
    values, counts = np.unique(numbers, return_counts=True)
    truth = true_answer(function, values.astype(float), counts, len(numbers))
    assert truth == pytest.approx(plain(function, numbers), abs=1e-9)


def test_what_is_not_shown_is_not_answered() -> None:
    sizes, absent = np.array([4, 3, 2]), np.array([False, False, True])
    shown = np.array([10.0, math.nan, math.nan])
    assert answer("avg", sizes, shown, absent) == (10.0, 3)
    assert answer("sum", sizes, shown, absent) == (40.0, 3)
    assert answer("max", sizes[1:], shown[1:], absent[1:]) == (None, 3)
    assert answer("count", sizes, shown, absent) == (9, 0)
    assert answer("sum", sizes[:0], shown[:0], absent[:0]) == (None, 0)


def test_large_numbers_that_differ_little() -> None:
    assert true_answer("avg", np.array([1e15, 1e15 + 1]), np.array([1, 1]), 2) == 1e15 + 0.5


def test_a_sum_beyond_all_numbers_is_none() -> None:
    assert true_answer("sum", np.array([1.7e308]), np.array([2]), 2) is None


@pytest.mark.parametrize(
    ("truth", "answered", "error"),
    [(40.0, 50.0, 0.25), (-40.0, -50.0, 0.25), (0.0, 0.0, 0.0), (0.0, 1.0, None), (None, 1.0, None), (1.0, None, None)],
)
def test_relative_error(truth: float | None, answered: float | None, error: float | None) -> None:
    assert relative_error(truth, answered) == error
