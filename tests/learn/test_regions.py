"""Regions as numbers: against a plain twin that reads the classes record by record."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rothko as rk
from rothko.learn.regions import FORMS, Original, Regions, as_numbers, known_form
from rothko.release.recoding.recoding import Recoding

CITIES = {"north": ["Oslo", "Umea"], "south": ["Bari", "Nice", "Rome"]}
COLUMNS = {
    "age": {"role": "quasi-identifier"},
    "born": {"role": "quasi-identifier"},
    "city": {"role": "quasi-identifier", "hierarchy": {"tree": CITIES}},
    "blood": {"role": "quasi-identifier"},
    "grade": {"role": "quasi-identifier", "order": ["low", "mid", "high"]},
    "score": {"role": "keep"},
    "team": {"role": "keep"},
    "label": {"role": "sensitive"},
}
LINE = {
    "city": ["Oslo", "Umea", "Bari", "Nice", "Rome"],
    "blood": ["0", "A", "AB", "B"],
    "grade": ["low", "mid", "high"],
    "team": ["blue", "green", "red"],
}
QUASI = ["age", "born", "city", "blood", "grade"]


def people(rows: int = 60, *, seed: int = 0, missing: float = 0.0) -> pa.Table:
    draw = np.random.default_rng(seed)

    def some(values: list[Any]) -> list[Any]:
        lost = draw.random(rows) < missing
        return [None if gone else values[i] for gone, i in zip(lost, draw.integers(0, len(values), rows), strict=True)]

    return pa.table(
        {
            "age": pa.array(some(list(range(20, 80))), pa.int64()),
            "born": pa.array(some([dt.date(1990, 1, 1) + dt.timedelta(days=7 * i) for i in range(50)]), pa.date32()),
            "city": pa.array(some(LINE["city"]), pa.string()),
            "blood": pa.array(some(LINE["blood"]), pa.string()),
            "grade": pa.array(some(LINE["grade"]), pa.string()),
            "score": pa.array(some([0.5, 1.5, 2.5]), pa.float64()),
            "team": pa.array(some(LINE["team"]), pa.string()),
            "label": [["yes", "no"][i % 2] for i in range(rows)],
        }
    )


def policy(k: int = 5) -> rk.Policy:
    return rk.Policy(columns=COLUMNS, privacy=[{"k-anonymity": {"k": k}}])


def learned(table: pa.Table, k: int = 5) -> tuple[Recoding, Regions]:
    recoding = rk.anonymize(table, policy(k), threads=1).recoding
    assert recoding is not None
    return recoding, Regions.of(table, recoding, [*QUASI, "score", "team"])


def number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if name in LINE:
        return float(LINE[name].index(value))
    return float((value - dt.date(1970, 1, 1)).days) if isinstance(value, dt.date) else float(value)


def plain_region(name: str, values: list[Any], everyone: list[Any]) -> tuple[float, float, float]:
    """Begin, end and mean of a class on one attribute, as a person would find them from what is published."""
    line = [n for n in (number(name, value) for value in everyone) if n is not None]
    if None in values:
        return min(line), max(line), float(np.mean(line))
    numbers = [n for n in (number(name, value) for value in values) if n is not None]
    low, high, mean = min(numbers), max(numbers), float(np.mean(numbers))
    if name == "city" and low < high:
        node = [cities for cities in CITIES.values() if set(values) <= set(cities)]
        inside = [LINE["city"].index(city) for city in (node[0] if node else LINE["city"])]
        low, high = min(inside), max(inside)
    return low, high, mean


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_regions_are_those_that_a_person_reads_off_the_classes(missing: float) -> None:
    table = people(missing=missing)
    recoding, regions = learned(table)
    assert recoding.classes > 3
    classes = regions.place(table)
    rows = table.to_pylist()
    for i, name in enumerate(QUASI):
        everyone = [row[name] for row in rows]
        for c in range(recoding.classes):
            values = [value for value, own in zip(everyone, classes, strict=True) if own == c]
            found = regions.boxes.low[c, i], regions.boxes.high[c, i], regions.mean[c, i]
            assert found == pytest.approx(plain_region(name, values, everyone)), (name, values)


def plain_edges(name: str, words: str, everyone: list[Any]) -> tuple[float, float]:
    """Begin and end of a region of φ, as a person reads them off its rule."""
    line = [n for n in (number(name, value) for value in everyone) if n is not None]
    if words == "*":
        return min(line), max(line)
    if words.startswith("{"):
        labels = [label for part in words.strip("{}").split(", ") for label in CITIES.get(part, [part])]
        places = [number(name, label) or 0.0 for label in labels]
        return min(places), max(places)
    begin, end = (text.strip() for text in words.strip("[]()").split(","))
    read = dt.date.fromisoformat if name == "born" else float
    low = min(line) if begin == "-inf" else number(name, read(begin))
    high = max(line) if end == "inf" else number(name, read(end))
    return low or 0.0, high or 0.0


def test_edges_are_those_of_the_rules() -> None:
    table = people(200)
    recoding, regions = learned(table)
    rules, edges = recoding.rules().to_pylist(), regions.numbers(table, "edges")
    classes = regions.place(table)
    assert len({rule["age"] for rule in rules}) > 2
    for i, name in enumerate(QUASI):
        everyone = table[name].to_pylist()
        for c, rule in enumerate(rules):
            expected = plain_edges(name, rule[name], everyone)
            assert (regions.edges.low[c, i], regions.edges.high[c, i]) == expected, (name, rule[name])
            assert (edges[classes == c][:, 2 * i : 2 * i + 2] == expected).all()
    assert regions.columns("edges") == regions.columns("corners")


def test_edges_of_what_may_be_missing_are_the_whole_line() -> None:
    table = people(200, missing=0.2)
    _, regions = learned(table)
    classes = regions.place(table)
    for i, name in enumerate(QUASI):
        absent = np.array([value is None for value in table[name].to_pylist()])
        ends = regions.edges.low[-1, i], regions.edges.high[-1, i]
        for c in np.unique(classes[absent]):
            assert (regions.edges.low[c, i], regions.edges.high[c, i]) == ends
    assert (regions.edges.low <= regions.boxes.low).all()
    assert (regions.edges.high >= regions.boxes.high).all()


def test_a_recoding_by_column_has_edges_too() -> None:
    table = people(200)
    asked = policy().but(method="refine", workload=[{"classify": {"target": "label"}}])
    recoding = rk.anonymize(table, asked, threads=1).recoding
    assert recoding is not None
    regions = Regions.of(table, recoding, QUASI)
    edges, corners = regions.numbers(table, "edges"), regions.numbers(table, "corners")
    assert edges.shape == corners.shape == (200, 10)
    assert (edges[:, ::2] <= corners[:, ::2]).all()
    assert (edges[:, 1::2] >= corners[:, 1::2]).all()


def test_the_forms_are_corners_midpoints_means_and_points_inside() -> None:
    table = people()
    _, regions = learned(table)
    classes = regions.place(table)
    low, high = regions.boxes.low[classes], regions.boxes.high[classes]
    corners, edges, midpoint, mean, sample = (regions.numbers(table, form) for form in FORMS)
    assert corners.shape == edges.shape == (60, 12)
    assert midpoint.shape == mean.shape == sample.shape == (60, 7)
    assert (corners[:, 0:10:2] == low).all()
    assert (corners[:, 1:10:2] == high).all()
    assert np.allclose(midpoint[:, :5], (low + high) / 2)
    assert ((mean[:, :5] >= low) & (mean[:, :5] <= high)).all()
    assert ((sample[:, :5] >= low) & (sample[:, :5] <= high)).all()
    assert (sample[:, :5] == np.round(sample[:, :5])).all()
    assert len(np.unique(sample[:, 0])) > len(np.unique(midpoint[:, 0]))
    assert (regions.numbers(table, "sample", seed=0) == sample).all()
    assert (regions.numbers(table, "sample", seed=1) != sample).any()
    assert regions.columns("corners")[:3] == ["age_min", "age_max", "born_min"]
    assert regions.columns("mean") == [*QUASI, "score", "team"]


def test_a_sample_fills_the_whole_region() -> None:
    table = pa.table({"n": [0, 1, 2, 3] * 250, "x": [0.0, 0.1, 0.2, 1.0] * 250})
    asked = rk.Policy.quick(["n", "x"], qi=["n", "x"], k=1000)
    recoding = rk.anonymize(table, asked, threads=1).recoding
    assert recoding is not None
    sample = Regions.of(table, recoding).numbers(table, "sample")
    assert np.bincount(sample[:, 0].astype(int)).min() > 200
    assert 0 <= sample[:, 1].min() < 0.01
    assert 0.99 < sample[:, 1].max() <= 1
    assert abs(sample[:, 1].mean() - 0.5) < 0.05


def test_features_that_are_released_as_they_are_stand_beside_the_regions() -> None:
    table = people()
    _, regions = learned(table)
    numbers = regions.numbers(table, "corners")[:, 10:]
    assert numbers[:, 0].tolist() == table["score"].to_pylist()
    assert numbers[:, 1].tolist() == [LINE["team"].index(team) for team in table["team"].to_pylist()]


def test_labels_that_were_not_there_in_training_are_unknown() -> None:
    table = people()
    _, regions = learned(table)
    unknown = table.set_column(6, "team", pa.array(["violet"] * 60))
    assert (regions.numbers(unknown, "corners")[:, 11] == 1.0).all()


@pytest.mark.parametrize("name", ["city", "blood", "grade"])
def test_a_record_that_cannot_be_placed_has_the_whole_table_as_its_region(name: str) -> None:
    table = people()
    _, regions = learned(table)
    strange = table.slice(0, 1).set_column(table.column_names.index(name), name, pa.array(["nowhere"]))
    assert regions.place(strange).tolist() == [-1]
    corners = regions.numbers(strange, "corners")[0, :10].reshape(5, 2)
    for i, column in enumerate(QUASI):
        line = [number(column, value) for value in table[column].to_pylist()]
        assert corners[i].tolist() == [min(line), max(line)]  # type: ignore[type-var]
    mean = np.mean([number("age", value) for value in table["age"].to_pylist()])  # type: ignore[arg-type]
    assert regions.numbers(strange, "mean")[0, 0] == pytest.approx(mean)


def test_a_column_that_is_missing_throughout_is_a_line_without_length() -> None:
    table = people()
    table = table.set_column(3, "blood", pa.nulls(60, pa.string()))
    _, regions = learned(table)
    assert (regions.boxes.low[:, 3] == 0).all()
    assert (regions.boxes.high[:, 3] == 0).all()
    assert np.isfinite(regions.numbers(table, "mean")).all()


def test_the_original_has_every_value_as_its_number_and_the_middle_for_missing() -> None:
    table = people(missing=0.2)
    features = [*QUASI, "score", "team"]
    numbers = Original.of(table, policy(), features).numbers(table)
    for i, name in enumerate(features):
        own = [number(name, value) for value in table[name].to_pylist()]
        line = [n for n in own if n is not None]
        middle = (min(line) + max(line)) / 2
        assert numbers[:, i].tolist() == [middle if n is None else n for n in own], name


def test_only_features_that_were_asked_for_are_there() -> None:
    table = people()
    recoding, _ = learned(table)
    assert Regions.of(table, recoding, ["grade", "age"]).columns("mean") == ["age", "grade"]
    assert Regions.of(table, recoding).columns("mean") == QUASI
    assert Regions.of(table, recoding, ["team"]).numbers(table, "corners").shape == (60, 1)


def test_dates_count_days_and_times_seconds() -> None:
    day = dt.datetime(1970, 1, 3, 12)
    assert as_numbers(pa.array([day])).tolist() == [2.5]
    assert as_numbers(pa.array([day.date(), None]).cast(pa.date64()))[0] == 2.0
    assert as_numbers(pa.array([dt.time(0, 1)])).tolist() == [60.0]
    assert as_numbers(pa.array([True, False])).tolist() == [1.0, 0.0]
    assert np.isnan(as_numbers(pa.array([None], pa.int32())))


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(rk.errors.InputError, match=r"'corner' is not a form of regions; did you mean 'corners'\?"):
        known_form("corner")
