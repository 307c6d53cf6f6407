"""The verifier against groups counted in Python, on Arrow tables and on written files."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rothko.privacy import DistinctLDiversity, KAnonymity, Requirement
from rothko.release.verify import Finding, verify
from rothko.release.write import write_table

unhurried = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])

ENDINGS = (".parquet", ".csv", ".tsv", ".arrow", ".feather")


def value_of(cell: Any) -> Any:
    """A cell as a group or a value: NaN equals NaN."""
    return "NaN" if isinstance(cell, float) and math.isnan(cell) else cell


def brute_force(
    columns: dict[str, list[Any]], by: Sequence[str], requirement: Requirement, missing: Sequence[str] = ()
) -> tuple[float, int, int, int]:
    """What the weakest class reaches, classes, violating classes, violating records."""
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i in range(len(columns[by[0]])):
        groups[tuple(value_of(columns[name][i]) for name in by)].append(i)
    reached = []
    for members in groups.values():
        if isinstance(requirement, KAnonymity):
            reached.append(len(members))
        else:
            cells = [value_of(columns[requirement.of][i]) for i in members]
            gone = {None, "", "NaN", "nan", *missing}
            reached.append(len({"missing" if cell in gone or str(cell) in missing else cell for cell in cells}))
    bad = [len(m) for m, r in zip(groups.values(), reached, strict=True) if r < requirement.asked]
    return min(reached), len(groups), len(bad), sum(bad)


def facts(finding: Finding) -> tuple[float, int, int, int]:
    return finding.achieved, finding.classes, finding.violating_classes, finding.violating_records


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    n = draw(st.integers(1, 25))

    def column(*cells: Any) -> list[Any]:
        return draw(st.lists(st.sampled_from(cells), min_size=n, max_size=n))

    return {
        "age": column("[20, 35]", "40", "*", None),
        "city name": column("{a, b}", '{"a, b", c}', 'say "x"', None, "ж😀"),
        "s": column("flu", "cold", "NA", "?", None),
        "n": column(1, 2, None),
    }


REQUIREMENTS: tuple[Requirement, ...] = (
    KAnonymity(k=2),
    KAnonymity(k=3, over=["city name"]),
    DistinctLDiversity(l=2, of="s"),
    DistinctLDiversity(l=2, of="n", over=["age"]),
    DistinctLDiversity(l=3, of="s", over=["city name", "age"]),
)
QUASI = {"age": ["age"], "city name": ["city name"]}


def check(found: Any, columns: dict[str, list[Any]], missing: Sequence[str]) -> None:
    assert found.rows == len(columns["age"])
    assert found.columns == tuple(columns)
    assert found.classes == len(set(zip(columns["age"], columns["city name"], strict=True)))
    for requirement, finding in zip(REQUIREMENTS, found.findings, strict=True):
        expected = brute_force(columns, requirement.over or list(QUASI), requirement, missing)
        assert finding.requirement == requirement
        assert finding.asked == requirement.asked
        assert facts(finding) == expected
        assert finding.holds == (expected[2] == 0)
    assert found.holds == all(finding.holds for finding in found.findings)


@given(
    columns=tables(),
    missing=st.sampled_from([(), ("NA",), ("NA", "?", "it's"), ("1",)]),
    threads=st.sampled_from([1, 2]),
)
@unhurried
def test_a_table_is_verified_as_counting_by_hand_does(
    columns: dict[str, list[Any]], missing: tuple[str, ...], threads: int
) -> None:
    table = pa.table({name: pa.array(c, pa.int64() if name == "n" else pa.string()) for name, c in columns.items()})
    check(verify(table, REQUIREMENTS, QUASI, missing=missing, threads=threads), columns, missing)


@pytest.mark.parametrize("ending", ENDINGS)
@given(columns=tables(), missing=st.sampled_from([(), ("NA", "?")]))
@settings(unhurried, max_examples=20)
def test_a_file_is_verified_as_counting_by_hand_does(
    tmp_path: Path, ending: str, columns: dict[str, list[Any]], missing: tuple[str, ...]
) -> None:
    path = tmp_path / f"release{ending}"
    table = pa.table({name: pa.array(c, pa.int64() if name == "n" else pa.string()) for name, c in columns.items()})
    # As a release has them: published columns are dictionaries.
    table = table.set_column(0, "age", table["age"].dictionary_encode())
    write_table(table, path)
    check(verify(path, REQUIREMENTS, QUASI, missing=missing), columns, missing)


@pytest.mark.parametrize("ending", [None, *ENDINGS])
def test_a_planted_violation_is_found(tmp_path: Path, ending: str | None) -> None:
    """99 classes of five records with two diseases each, one of four, and one of five with a single disease."""
    age = [f"[{c}, {c + 1}]" for c in range(99) for _ in range(5)] + ["[200, 201]"] * 4 + ["[300, 301]"] * 5
    disease = ["flu", "cold", "flu", "cold", "flu"] * 99 + ["flu", "cold", "flu", "cold"] + ["flu"] * 5
    data: Any = pa.table({"age": age, "disease": disease})
    if ending is not None:
        write_table(data, tmp_path / f"release{ending}")
        data = tmp_path / f"release{ending}"
    found = verify(data, [KAnonymity(k=5), DistinctLDiversity(l=2, of="disease")], {"age": ["age"]})
    assert not found.holds
    assert (found.rows, found.classes) == (504, 101)
    k, diversity = found.findings
    assert (k.holds, *facts(k)) == (False, 4.0, 101, 1, 4)
    assert (diversity.holds, *facts(diversity)) == (False, 1.0, 101, 1, 5)
    assert k.to_dict() == {
        "requirement": "k-anonymity", "of": None, "over": None, "asked": 5, "achieved": 4, "holds": False,
        "classes": 101, "violating_classes": 1, "violating_records": 4,
    }  # fmt: skip
    assert verify(data, [KAnonymity(k=4)], {"age": ["age"]}).holds


def test_bounds_group_by_both_columns() -> None:
    table = pa.table({"age_min": [20, 20, 20, 20], "age_max": [30, 30, 40, 40]})
    found = verify(table, [KAnonymity(k=3)], {"age": ["age_min", "age_max"]})
    assert facts(found.findings[0]) == (2.0, 2, 2, 4)
    found = verify(table, [KAnonymity(k=3)], {"age": ["age_min"]})
    assert facts(found.findings[0]) == (4.0, 1, 0, 0)


def test_missing_and_nan_group_among_themselves() -> None:
    table = pa.table({"a": [None, None, float("nan"), float("nan"), 1.0]})
    assert facts(verify(table, [KAnonymity(k=2)], {"a": ["a"]}).findings[0]) == (1.0, 3, 1, 1)


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        ([None, float("nan"), 1.0], 2),
        ([None, "", "nan", "x"], 3),  # a text that reads nan is a text
        ([None, "NA", "", "x"], 2),
        (["a", "A", "a ", " a"], 4),
        ([True, False, None], 3),
        ([1, 2, 3], 3),
    ],
)
def test_everything_that_is_missing_is_one_value(values: list[Any], distinct: int) -> None:
    table = pa.table({"q": ["x"] * len(values), "s": values})
    found = verify(table, [DistinctLDiversity(l=2, of="s")], {"q": ["q"]}, missing=["NA"])
    assert found.findings[0].achieved == distinct


def test_zero_and_negative_zero_are_one_value() -> None:
    table = pa.table({"q": ["x", "x"], "s": [0.0, -0.0]})
    assert verify(table, [DistinctLDiversity(l=2, of="s")], {"q": ["q"]}).findings[0].achieved == 1


def test_a_table_without_records_holds_nothing() -> None:
    found = verify(pa.table({"q": pa.array([], pa.string())}), [KAnonymity(k=2)], {"q": ["q"]})
    assert (found.rows, found.classes, found.holds) == (0, 0, False)
    assert math.isnan(found.findings[0].achieved)


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
@pytest.mark.parametrize("cells", [[None, None, "x"], ["x", None, None], [None, None, None], ["", "x", None]])
def test_one_column_with_missing_values_in_a_text_file(tmp_path: Path, ending: str, cells: list[str | None]) -> None:
    """A row that is nothing but a missing value is an empty line, and still a record."""
    path = tmp_path / f"release{ending}"
    write_table(pa.table({"q": pa.array(cells, pa.string())}), path)
    found = verify(path, [KAnonymity(k=2)], {"q": ["q"]})
    assert found.rows == 3
    groups = [cell or None for cell in cells]
    assert found.classes == len(set(groups))
    assert found.findings[0].achieved == min(groups.count(cell) for cell in groups)


@pytest.mark.parametrize("ending", [None, *ENDINGS])
@pytest.mark.parametrize(
    "name", ["a b", 'say "x"', "x, y", "it's", "😀", "select", "released", "size", "score0", "tab\there"]
)
def test_names_that_sql_would_stumble_over(tmp_path: Path, ending: str | None, name: str) -> None:
    data: Any = pa.table({name: ["x", "x", "y"], "s": ["u", "v", "w"]})
    if ending is not None:
        write_table(data, tmp_path / f"it's [1] release{ending}")
        data = tmp_path / f"it's [1] release{ending}"
    found = verify(data, [KAnonymity(k=2), DistinctLDiversity(l=2, of="s")], {name: [name]})
    assert found.columns == (name, "s")
    assert [facts(finding) for finding in found.findings] == [(1.0, 2, 1, 1), (1.0, 2, 1, 1)]


@pytest.mark.parametrize("ending", [None, *ENDINGS])
def test_names_that_differ_only_in_case(tmp_path: Path, ending: str | None) -> None:
    """SQL takes "a" and "A" for the same column; grouped by one alone, unique records would look like one class."""
    data: Any = pa.table({"a": ["x"] * 4, "A": ["1", "2", "3", "4"]})
    if ending is not None:
        write_table(data, tmp_path / f"release{ending}")
        data = tmp_path / f"release{ending}"
    found = verify(data, [KAnonymity(k=2)], {"a": ["a"], "A": ["A"]})
    assert found.columns == ("a", "A")
    assert facts(found.findings[0]) == (1.0, 4, 4, 4)


def test_a_table_of_several_chunks() -> None:
    table = pa.concat_tables([pa.table({"q": ["x"], "s": ["u"]}), pa.table({"q": ["y", "x"], "s": ["u", "v"]})])
    found = verify(table, [KAnonymity(k=2), DistinctLDiversity(l=2, of="s")], {"q": ["q"]}, threads=2)
    assert [facts(finding) for finding in found.findings] == [(1.0, 2, 1, 1), (1.0, 2, 1, 1)]
