"""Releases as workbooks: every value as it was, read by other libraries, and nothing beside the cells."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.source.open import open_source
from rothko.data.source.spreadsheet import texts_of
from rothko.errors import MissingExtraError, OutputError
from rothko.release.formats import xlsx
from rothko.release.write import write_table
from tests.command import Rothko
from tests.engine import small

POLICY = """
columns:
  name: {role: identifier}
  age: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: {mask: right}}
  born: {role: keep}
  note: {role: sensitive}
privacy:
  - k-anonymity: {k: 5}
method: mondrian
"""


def people(path: Path, count: int = 60) -> Path:
    book = openpyxl.Workbook()
    book.active.append(["name", "age", "zip", "born", "note"])
    for i in range(count):
        note = ["=1+1", "flu", "-x", "@home"][i % 4]
        book.active.append([f"Person {i}", 20 + i % 40, f"0{2000 + i % 9}", dt.date(1980, 1, 1 + i % 28), note])
        book.active.cell(i + 2, 5).data_type = "s"
    book.save(path)
    return path


def test_values_are_read_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    moment = dt.datetime(2024, 2, 29, 13, 5, 7, 123000)
    table = pa.table(
        {
            "whole": [1, -(10**15), None],
            "real": [1 / 3, 1e300, float("nan")],
            "text": ["=1+1", "a<b&c\r\n\x01_x0041_ ", " x "],
            "day": [dt.date(2024, 2, 29), dt.date(1900, 2, 28), None],
            "time": pa.array([moment, moment.replace(microsecond=123456), None], pa.timestamp("us")),
            "true": [True, False, None],
            "decimal": [Decimal("1.50"), Decimal("123456789012345.75"), None],
        }
    )
    write_table(table, path)
    assert texts_of(path).to_pydict() == {
        "whole": ["1", "-1000000000000000", None],
        "real": ["0.3333333333333333", "1e+300", None],
        "text": table["text"].to_pylist(),
        "day": ["2024-02-29", "1900-02-28", None],
        "time": ["2024-02-29 13:05:07.123000", "2024-02-29 13:05:07.123456", None],
        "true": ["true", "false", None],
        "decimal": ["1.5", "123456789012345.75", None],
    }
    rows = list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))
    assert rows[1] == (1, 1 / 3, "=1+1", dt.datetime(2024, 2, 29), moment, True, 1.5)


@settings(max_examples=40)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=9)
        | st.lists(st.sampled_from(["_x005F_", "_x0041", "x000D_", "_", "a"]), max_size=4).map("".join),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.datetimes(dt.datetime(1890, 1, 1), dt.datetime(9999, 12, 31)), min_size=1, max_size=5),
)
def test_any_text_and_any_time(tmp_path_factory: pytest.TempPathFactory, words: list[str], times: list[Any]) -> None:
    path = tmp_path_factory.mktemp("x") / "out.xlsx"
    write_table(pa.table({"text": [*words, "x"]}), path)
    assert texts_of(path)["text"].to_pylist() == [word or None for word in (*words, "x")]
    column = pa.array([*times, dt.datetime(2024, 1, 1, 1, 1, 1, 1)], pa.timestamp("us"))
    write_table(pa.table({"time": column}), path)
    assert texts_of(path)["time"].cast(pa.timestamp("us")).to_pylist() == column.to_pylist()


def test_characters_that_no_workbook_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"No workbook holds .* column 'text' has texts with them"):
        write_table(pa.table({"text": ["a\uffffb"]}), tmp_path / "out.xlsx")


def test_a_file_has_nothing_beside_its_cells(tmp_path: Path) -> None:
    first, second = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    for path in (first, second):
        write_table(pa.table({"note": ["=x", "flu"]}), path)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as file:
        assert set(file.namelist()) == {*xlsx.PARTS, "xl/worksheets/sheet1.xml"}
        assert {part.date_time for part in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        sheet = file.read("xl/worksheets/sheet1.xml").decode()
    assert "<f" not in sheet
    assert 's="3" t="inlineStr"' in sheet
    cell = openpyxl.load_workbook(first).active["A2"]
    assert (cell.data_type, cell.value, cell.quotePrefix) == ("s", "=x", True)


def test_a_workbook_is_released_as_one(tmp_path: Path, engine: str) -> None:
    data = people(tmp_path / "people.xlsx")
    policy = rk.Policy.parse(POLICY).but(engine=small(engine))
    for name in ("a.xlsx", "b.xlsx"):
        rk.anonymize(data, policy, seed=1, key=b"0123456789abcdef").save(tmp_path / name)
    one, other = (tmp_path / name for name in ("a.xlsx", "b.xlsx"))
    assert one.read_bytes() == other.read_bytes()
    table = open_source(one).read()
    assert table.num_rows == 60
    assert table.column_names == ["age", "zip", "born", "note"]
    assert sorted(set(table["note"].to_pylist())) == ["-x", "=1+1", "@home", "flu"]
    assert pa.types.is_date(table["born"].type)
    assert rk.check(one, policy).holds
    with zipfile.ZipFile(one) as file:
        assert not re.search(rb"Person \d", file.read("xl/worksheets/sheet1.xml"))


def test_a_text_file_as_a_workbook(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    lines = "".join(f"{20 + i % 10},0{i % 7},{i / 8},{1980 + i % 3}-02-03\n" for i in range(80))
    data.write_text("age,code,cost,born\n" + lines)
    roles = {"qi": ["age"], "keep": ["code", "cost", "born"], "k": 5}
    rk.anonymize(data, **roles).save(tmp_path / "out.xlsx")
    kinds = {name: str(kind) for name, kind in zip(*_schema(tmp_path / "out.xlsx"), strict=True)}
    assert kinds == {"age": kinds["age"], "code": "string", "cost": "double", "born": "date32[day]"}


def _schema(path: Path) -> tuple[list[str], list[pa.DataType]]:
    read = open_source(path).read().schema
    return read.names, read.types


def test_commands_take_workbooks(tmp_path: Path, rothko: Rothko) -> None:
    data = people(tmp_path / "people.xlsx")
    policy, out = tmp_path / "policy.yaml", tmp_path / "out"
    policy.write_text(POLICY)
    assert rothko("draft", data, "-o", tmp_path / "draft.yaml").code == 0
    assert rothko("anonymize", data, "--policy", policy, "--out", out, "--recoding", tmp_path / "phi.json").code == 0
    assert (out / "release.xlsx").is_file()
    for line in (
        ("check", out / "release.xlsx", "--policy", policy),
        ("measure", data, out / "release.xlsx", "--policy", policy),
        ("apply", tmp_path / "phi.json", data, "--out", tmp_path / "new.xlsx"),
        ("compare", data, "--policy", policy, "--method", "mondrian", "--k", "5"),
    ):
        ran = rothko(*line)
        assert ran.code == 0, ran.err


def test_a_table_larger_than_memory_is_a_workbook_too(tmp_path: Path, rothko: Rothko, disk_engine: str) -> None:
    data, policy = people(tmp_path / "people.xlsx"), tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    ran = rothko("anonymize", data, "--policy", policy, "--out", tmp_path / "out.xlsx", "--engine", disk_engine)
    assert ran.code == 0, ran.err
    assert open_source(tmp_path / "out.xlsx").read().num_rows == 60


def test_one_of_several_sheets(tmp_path: Path, rothko: Rothko) -> None:
    data = people(tmp_path / "people.xlsx")
    book = openpyxl.load_workbook(data)
    book.create_sheet("More").append(["x"])
    book.save(data)
    ran = rothko("draft", data, "-o", tmp_path / "draft.yaml")
    assert ran.code == 2
    assert "has 2 sheets: 'Sheet', 'More'; name one with --sheet" in ran.err
    assert rothko("draft", data, "--sheet", "Sheet", "-o", tmp_path / "draft.yaml").code == 0
    assert "sheet: Sheet" in (tmp_path / "draft.yaml").read_text()
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY + "input: {sheet: Sheet}\n")
    assert rothko("anonymize", data, "--policy", policy, "--out", tmp_path / "out.csv").code == 0


def test_more_than_a_sheet_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MOST_ROWS", 3)
    with pytest.raises(OutputError, match="at most 3 rows"):
        write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "a.xlsx")
    monkeypatch.setattr(xlsx, "MOST_COLUMNS", 1)
    with pytest.raises(OutputError, match="at most 1 columns"):
        write_table(pa.table({"a": [1], "b": [1]}), tmp_path / "b.xlsx")
    with pytest.raises(OutputError, match="column 'a' has longer texts"):
        write_table(pa.table({"a": ["x" * 40_000]}), tmp_path / "c.xlsx")


def test_nothing_stays_of_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = people(tmp_path / "people.xlsx")
    release = rk.anonymize(data, rk.Policy.parse(POLICY))
    monkeypatch.setattr(xlsx, "MOST_ROWS", 30)
    with pytest.raises(OutputError, match="at most 30 rows"):
        release.save(tmp_path / "out.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["people.xlsx"]


def test_writing_needs_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rothko\[excel\]'"):
        write_table(pa.table({"a": [1]}), tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())
