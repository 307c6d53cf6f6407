"""The verifier against groups counted in Python, on Arrow tables and on written files."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rothko.errors import PolicyError
from rothko.policy.policy import Policy
from rothko.privacy import (
    REQUIREMENTS as KINDS,
)
from rothko.privacy import (
    DistinctLDiversity,
    KAnonymity,
    PAlpha,
    Requirement,
    TCloseness,
    VarianceDiversity,
)
from rothko.release.spark.verify import classes_of, known
from rothko.release.sql import Limits
from rothko.release.verify import Finding, Fingerprint, Verification, together, verify
from rothko.release.write import write_table
from tests.strategies import asked
from tests.twins import mondrian as plain

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
    cells: list[Any] = []
    if requirement.column is not None:
        gone = {None, "", "NaN", *missing}
        cells = [value_of(cell) for cell in columns[requirement.column]]
        cells = [None if cell in gone or str(cell) in missing else cell for cell in cells]
    worst = max if requirement.falling else min
    reached = [plain.reaches(requirement, [cells[i] for i in m] if cells else m, cells) for m in groups.values()]
    # What is also a requirement of its own, k, is not counted twice.
    asked = requirement if len(requirement.parts()) == 1 else replace(requirement, k=2)
    alone = {1} if asked is not requirement else set()
    bad = [
        len(m)
        for m, r in zip(groups.values(), reached, strict=True)
        if not (
            plain.satisfies(asked, m, {str(requirement.column): cells}) or (len(m) in alone and met(requirement, r))
        )
    ]
    return worst(reached), len(groups), len(bad), sum(bad)


def met(requirement: Requirement, reached: float) -> bool:
    return reached <= requirement.asked if requirement.falling else reached >= requirement.asked


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
    check(verify(table, REQUIREMENTS, QUASI, missing=missing, limits=Limits(threads)), columns, missing)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data(), n=st.integers(1, 25), threads=st.sampled_from([1, 2]))
@settings(unhurried, max_examples=60)
def test_every_requirement_is_verified_as_its_definition_says(
    name: str, data: st.DataObject, n: int, threads: int
) -> None:
    requirement = data.draw(asked.requirements()[name])
    drawn = st.lists(st.sampled_from((*asked.NUMBERS, None)), min_size=n, max_size=n)
    columns: dict[str, list[Any]] = {
        "q": data.draw(st.lists(st.sampled_from(("a", "b", None)), min_size=n, max_size=n)),
        "s": [data.draw(st.sampled_from(asked.NUMBERS)), *data.draw(drawn)[1:]],
    }
    kind = data.draw(st.sampled_from((pa.int64(), pa.float64(), pa.string())))
    if kind == pa.float64() and name in ("p-alpha", "t-closeness"):
        kind = pa.int64()  # their categories and trees have 1, and a float is written 1.0
    cells = pa.array(columns["s"], pa.int64()).cast(kind)
    found = verify(pa.table({"q": columns["q"], "s": cells}), [requirement], {"q": ["q"]}, limits=Limits(threads))
    assert [finding.requirement for finding in found.findings] == list(requirement.parts())
    for part, finding in zip(requirement.parts(), found.findings, strict=True):
        expected = brute_force(columns, ["q"], part)
        assert finding.achieved == pytest.approx(expected[0], rel=1e-8, abs=1e-12)
        assert facts(finding)[1:] == expected[1:]


@pytest.mark.parametrize("kind", [pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.time64("us")])
def test_what_is_no_number_cannot_be_verified_for_variance(kind: pa.DataType) -> None:
    cells = pa.array({pa.string(): ["1", "much"], pa.bool_(): [True, False]}.get(kind, [1, 2]), kind)
    with pytest.raises(PolicyError, match="Column 's' must hold numbers"):
        verify(pa.table({"q": ["x", "x"], "s": cells}), [VarianceDiversity(v=1, of="s")], {"q": ["q"]})


def test_categories_that_leave_values_out_cannot_be_verified() -> None:
    table = pa.table({"q": ["x", "x"], "s": ["flu", "acne"]})
    with pytest.raises(PolicyError, match="categories leave out 1 of 2 values"):
        verify(table, [PAlpha(p=2, categories={"flu": "lung"}, of="s")], {"q": ["q"]})


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string(), pa.decimal128(22, 2)])
def test_large_numbers_that_differ_little_are_verified(kind: pa.DataType) -> None:
    """A thousand million with spread 1, in a class of its own among small numbers."""
    cells = pa.array([10**9, 10**9 + 2] * 50 + [0, 2] * 50).cast(kind)
    table = pa.table({"q": ["x"] * 100 + ["y"] * 100, "s": cells})
    finding = verify(table, [VarianceDiversity(v=1, of="s")], {"q": ["q"]}).findings[0]
    assert (finding.achieved, finding.holds) == (pytest.approx(1), True)
    assert not verify(table, [VarianceDiversity(v=1.00001, of="s")], {"q": ["q"]}).holds


def test_missing_tokens_are_numbers_by_value() -> None:
    table = pa.table({"q": ["x"] * 3, "s": [1.0, 3.0, -9.0]})
    spread, distance = verify(
        table, [VarianceDiversity(v=1, of="s"), DistinctLDiversity(l=2, of="s")], {"q": ["q"]}, missing=["-9", "3.00"]
    ).findings
    assert (spread.achieved, distance.achieved) == (0, 2)


def test_several_columns_and_requirements_at_once() -> None:
    table = pa.table({"q": ["x", "x", "y", "y"], "r": ["u"] * 4, "s": ["a", "b", "a", "a"], "n": [1, 3, 5, 5]})
    requirements = [
        VarianceDiversity(v=1, of="n"),
        KAnonymity(k=2),
        DistinctLDiversity(l=2, of="s", over=["r"]),
        DistinctLDiversity(l=2, of="s"),
        TCloseness(t=0.5, of="n", distance="ordered"),
    ]
    found = verify(table, requirements, {"q": ["q"], "r": ["r"]})
    assert [finding.requirement for finding in found.findings] == requirements
    assert [facts(finding) for finding in found.findings] == [
        (0.0, 2, 1, 2),
        (2.0, 2, 0, 0),
        (2.0, 1, 0, 0),
        (1.0, 2, 1, 2),
        (pytest.approx(0.375), 2, 0, 0),
    ]


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
    found = verify(table, [KAnonymity(k=2), DistinctLDiversity(l=2, of="s")], {"q": ["q"]}, limits=Limits(2))
    assert [facts(finding) for finding in found.findings] == [(1.0, 2, 1, 1), (1.0, 2, 1, 1)]


@unhurried
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from((*asked.NUMBERS, None)))),
    st.lists(asked.any_requirement(), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_classes_in_several_places_hold_what_they_hold_together(
    rows: list[tuple[str, int, int | None]], requirements: list[Requirement], places: int
) -> None:
    """As on a cluster: the rows of a class are in one place, each different one once."""
    rows = [("a", 0, 1), *rows]  # a column without any number is no column of numbers
    table = pa.table(dict(zip("pqs", map(list, zip(*rows, strict=True)), strict=True)))
    shown = {"p": ("p",), "q": ("q",)}
    roles = {"p": "quasi-identifier", "q": "quasi-identifier", "s": "sensitive"}
    policy = Policy(columns={name: {"role": role} for name, role in roles.items()}, privacy=[KAnonymity(k=2)])
    about = {"s": known("s", table.group_by("s").aggregate([([], "count_all")]), policy)}
    names = ["c0", "c1", "c2"]
    counted = table.rename_columns(names).group_by(names).aggregate([([], "count_all")])
    counted = counted.rename_columns([*names, "times"]).append_column("mark", counted["count_all"])
    classes = zip(counted["c0"].to_pylist(), counted["c1"].to_pylist(), strict=True)
    place = np.array([(ord(p) * 7 + q) % places for p, q in classes])
    found: list[Verification] = []
    for here in np.unique(place):
        some = counted.filter(pa.array(place == here))
        found += [one for _, one in classes_of(requirements, tuple("pqs"), shown, about, iter([some]))]
    joined, whole = together(found), verify(table, requirements, shown, values=policy.columns)
    assert (joined.rows, joined.classes) == (whole.rows, whole.classes)
    assert joined.fingerprint == Fingerprint(len(rows), len(rows))  # of marks that are how often each is there
    for one, other in zip(joined.findings, whole.findings, strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict(), nan_ok=True)
