"""Identifiers that repeat are told of where they plausibly tell people apart, and nothing of their values is."""

from __future__ import annotations

import warnings

import pytest

import rothko as rk
from rothko.errors import PrivacyWarning

ROWS = 400


def told(column: str, values: int, *, role: str = "drop") -> list[str]:
    """What a run warns of, with a column of so many values."""
    table = {column: [f"x{i % values}" for i in range(ROWS)], "age": [20 + i % 30 for i in range(ROWS)]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        rk.anonymize(table, qi="age", k=5, **{role: [column]})
    return [str(one.message) for one in caught if issubclass(one.category, PrivacyWarning)]


@pytest.mark.parametrize(
    ("column", "values"),
    [("patient", 30), ("patients", 30), ("patient_id", 2), ("mrn", 30), ("email", 30), ("who", 120), ("Kunde", 399)],
)
def test_what_tells_people_apart_is_told(column: str, values: int) -> None:
    [warning] = told(column, values)
    assert warning.startswith(f"'{column}' repeats")
    assert str(values) not in warning, "a count"


@pytest.mark.parametrize(
    ("column", "values"),
    [("sex", 2), ("ward", 12), ("patient_sex", 2), ("year", 40), ("surname", 200), ("patient_id", 1), ("who", ROWS)],
)
def test_a_column_that_tells_nobody_apart_was_dropped_for_another_reason(column: str, values: int) -> None:
    assert told(column, values) == []


def test_a_number_of_a_person_that_is_kept_is_told_of() -> None:
    assert told("patient_id", 30, role="keep")
    assert not told("ward", 120, role="keep")
