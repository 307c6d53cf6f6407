"""Identifiers that repeat are told of where they plausibly tell people apart, and nothing of their values is."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

import rothko as rk
from rothko.errors import PrivacyWarning

ROWS = 400


def told(column: str, cells: list[Any], *, role: str = "drop") -> list[str]:
    """What a run warns of, with a column of these cells."""
    table = {column: cells, "age": [20 + i % 30 for i in range(len(cells))]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        rk.anonymize(table, qi="age", k=5, **{role: [column]})
    return [str(one.message) for one in caught if issubclass(one.category, PrivacyWarning)]


def texts(values: int) -> list[Any]:
    return [f"x{i % values}" for i in range(ROWS)]


@pytest.mark.parametrize(
    ("column", "values"),
    [("patient", 30), ("patients", 30), ("patient_id", 2), ("mrn", 30), ("email", 30), ("who", 120), ("Kunde", 399)],
)
def test_what_tells_people_apart_is_told(column: str, values: int) -> None:
    [warning] = told(column, texts(values))
    assert warning.startswith(f"'{column}' repeats")
    assert str(values) not in warning, "a count"


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("sex", 2),
        ("ward", 12),
        ("patient_sex", 2),
        ("year", 40),
        ("surname", 200),
        ("city", 200),
        ("patient_id", 1),
        ("who", ROWS),
    ],
)
def test_a_column_that_tells_nobody_apart_was_dropped_for_another_reason(column: str, values: int) -> None:
    assert told(column, texts(values)) == []


def test_a_number_of_a_person_that_is_kept_is_told_of() -> None:
    assert told("patient_id", texts(30), role="keep")
    assert not told("ward", texts(120), role="keep")


def test_numbers_are_told_of_that_look_as_if_they_were_given_to_people() -> None:
    draw = random.Random(0)
    given = [7_100_000 + 7 * draw.randrange(150) for _ in range(ROWS)]
    for cells in (
        [i % 150 for i in range(ROWS)],
        [1 + i % 150 for i in range(ROWS)],
        given,
        [str(one) for one in given],
    ):
        assert told("kunde", cells)
    paid = [0 if draw.random() < 0.3 else 1000 * draw.randrange(1, 75) for _ in range(ROWS)]
    for cells in (paid, [str(one) for one in paid], [one / 2 for one in paid], [f"{one}.5" for one in paid]):
        assert not told("bezahlt", cells)
    assert told("kunde_id", paid)
