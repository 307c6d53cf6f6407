"""Sheets of workbooks: the very values of their cells, and what a person may not see in them is told."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlwt
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.source import workbook
from rothko.data.source.cells import column_of, together
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.errors import InputError, MissingExtraError

SECRET = "SECRET-4711"
NAMES = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" ' + " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("table", "text")
)


def write(path: Path, rows: Sequence[Sequence[Any]], *, sheet: str = "People", **more: Sequence[Sequence[Any]]) -> Any:
    """A workbook; the sheet is returned for what a test adds to it, and saved by :func:`save`."""
    book = openpyxl.Workbook()
    first = book.active
    first.title = sheet
    for row in rows:
        first.append(list(row))
    for name, others in more.items():
        for row in others:
            (book[name] if name in book.sheetnames else book.create_sheet(name)).append(list(row))
    book.save(path)
    return first


def ods(path: Path, table: str) -> Path:
    """An OpenDocument sheet of cells as they stand in its XML."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMES} '
        'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0" office:version="1.2">'
        f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", kind, zipfile.ZIP_STORED)
        file.writestr("content.xml", content)
        manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
        entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        file.writestr(
            "META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{manifest}">{entry}</manifest:manifest>'
        )
    return path


def test_cells_are_read_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 5, 7)
    rows = [
        ["age", "share", "zip", "born", "seen", "alive", "note", "empty"],
        [34, 1 / 3, "02139", day, moment, True, " padded ", None],
        [35, 0.1, "00501", dt.date(1900, 3, 1), dt.datetime(1999, 1, 1), False, None, None],
    ]
    sheet = write(path, rows)
    sheet["B2"].number_format, sheet["A2"].number_format = "0%", '#,##0.00 "€"'
    sheet.parent.save(path)
    table = open_source(path).read()
    assert [str(kind) for kind in table.schema.types] == [
        "int64", "double", "string", "date32[day]", "timestamp[us]", "bool", "string", "string",
    ]  # fmt: skip
    assert table.to_pylist() == [
        dict(zip(rows[0], [34, 1 / 3, "02139", day, moment, True, " padded ", None], strict=True)),
        dict(zip(rows[0], [*rows[2][:4], dt.datetime(1999, 1, 1), False, None, None], strict=True)),
    ]


def test_days_are_counted_from_1904_where_the_workbook_says_so(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(["born"])
    book.active.append([dt.date(2024, 2, 29)])
    book.save(path)
    assert open_source(path).read()["born"].to_pylist() == [dt.date(2024, 2, 29)]


def test_a_column_of_several_kinds_is_text_and_told(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [["zip", "when"], ["02139", dt.date(2024, 2, 29)], [2140, "never"], [0.5, None]])
    source = open_source(path)
    assert source.read().to_pydict() == {"zip": ["02139", "2140", "0.5"], "when": ["2024-02-29", "never", None]}
    [zips, when] = source.notes
    assert "'zip'" in zips
    assert "2 of number and 1 of text" in zips
    assert "lost zeros" in zips
    assert "'when'" in when


@given(
    st.lists(
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["a", "", "=x"])),
        max_size=8,
    )
)
def test_columns_in_pieces_are_the_column(cells: list[Any]) -> None:
    cells = ["" if cell is None else cell for cell in cells]
    whole = together([column_of(cells)])
    for cut in range(len(cells) + 1):
        parted = together([column_of(part) for part in (cells[:cut], cells[cut:]) if part])
        assert parted.values.to_pylist() == (whole.values.to_pylist() if cells else [])
        assert parted.counts == whole.counts


def test_one_of_several_sheets_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [["age"], [34]], Others=[["age"], [35]])
    with pytest.raises(InputError, match="has 2 sheets: 'People', 'Others'; name one"):
        open_source(path)
    with pytest.raises(InputError, match="has no sheet 'others'; did you mean 'Others'"):
        open_source(path, csv=CsvOptions(sheet="others"))
    source = open_source(path, csv=CsvOptions(sheet="Others"))
    assert source.read()["age"].to_pylist() == [35]
    assert source.form is not None
    assert source.form.sheet == "Others"


def test_what_is_hidden_is_read_and_told(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    sheet = write(path, [["name", "age", "zip"], ["Ann", 34, "1"], ["Bob", 35, "2"]], Old=[["age"], [1]])
    sheet.parent["Old"].sheet_state = "hidden"
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    sheet.parent.save(path)
    source = open_source(path)
    assert source.read()["age"].to_pylist() == [34, 35]
    assert len(source.notes) == 3
    assert "'age': hidden" in source.notes[0]
    assert "1 hidden row(s)" in source.notes[1]
    assert "1 more sheet(s)" in source.notes[2]


def test_errors_are_missing_and_told(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    sheet = write(path, [["age", "zip"], [34, "#N/A"], [35, 2]])
    sheet["B2"].data_type = "e"
    sheet.parent.save(path)
    source = open_source(path)
    assert source.read()["zip"].to_pylist() == [None, 2]
    assert source.notes == ("'zip' has 1 cell(s) with an error such as #N/A, which are taken for missing.",)


def test_a_formula_that_nobody_computed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [["age", "next"], [34, "=A2+1"]])
    with pytest.raises(InputError, match=r"1 cell\(s\) hold a formula that was never computed; the first is B2"):
        open_source(path)


def test_a_computed_formula_is_its_value(tmp_path: Path) -> None:
    path, other = tmp_path / "people.xlsx", tmp_path / "computed.xlsx"
    write(path, [["age", "next"], [34, "=A2+1"], [35, "=A3+1"]])
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, text.replace(b"<v />", b"<v>7</v>").replace(b"<v/>", b"<v>7</v>"))
    assert open_source(other).read()["next"].to_pylist() == [7, 7]


@pytest.mark.parametrize(
    ("rows", "merged", "told"),
    [
        ([["age", None, "zip"], [1, 2, 3]], None, r"the head of column B \(cell B1\) is empty"),
        ([["age", "zip", None], [1, 2, 3]], "B1:C1", "the cells B1:C1 in the head are merged"),
        ([["age", 2024], [1, 2]], None, r"the head of column B \(cell B1\) is no text"),
        ([["age", "zip"]], None, "has columns but no records"),
        ([], None, "is empty"),
        ([["age", "age"], [1, 2]], None, "has the (column 'age' 2 times|same name)"),
    ],
)
def test_heads_that_are_none(tmp_path: Path, rows: list[list[Any]], merged: str | None, told: str) -> None:
    path = tmp_path / "people.xlsx"
    sheet = write(path, rows)
    if merged:
        sheet.merge_cells(merged)
        sheet.parent.save(path)
    with pytest.raises(InputError, match=told):
        open_source(path)


def test_a_table_that_begins_further_down(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    sheet = write(path, [])
    for cell, value in {"C4": "age", "D4": "zip", "C5": 34, "D5": "x", "C7": 35, "C9": 36}.items():
        sheet[cell] = value
    sheet.merge_cells("C5:C6")
    sheet.parent.save(path)
    source = open_source(path)
    assert source.read().to_pydict() == {"age": [34, 35, 36], "zip": ["x", None, None]}
    assert any("first at C5" in note for note in source.notes)
    assert any("2 row(s) without any value" in note for note in source.notes)


def test_a_sheet_without_heads(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [[34, "x"], [35, "y"]])
    read = open_source(path, csv=CsvOptions(header=False)).read()
    assert read.to_pydict() == {"column0": [34, 35], "column1": ["x", "y"]}
    write(path, [["year", 2024], [35, 1]])
    assert open_source(path, csv=CsvOptions(header=True)).names == ("year", "2024")


def test_open_document(tmp_path: Path) -> None:
    def cell(kind: str, value: str = "", text: str = "") -> str:
        return f'<table:table-cell office:value-type="{kind}" {value}><text:p>{text}</text:p></table:table-cell>'

    heads = "".join(cell("string", text=name) for name in ("age", "born", "zip", "odd"))
    cells = cell("float", 'office:value="34.5"', "34") + cell("date", 'office:date-value="2024-02-29"', "29.02.24")
    cells += cell("string", text="02139") + cell("string", 'office:string-value="" calcext:value-type="error"', "#N/A")
    other = '<table:table table:name="Old"><table:table-row><table:table-cell/></table:table-row></table:table>'
    path = ods(
        tmp_path / "people.ods",
        f'{other}<table:table table:name="People"><table:table-column table:visibility="collapse"/>'
        f'<table:table-row>{heads}</table:table-row><table:table-row table:number-rows-repeated="2">{cells}'
        '</table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell '
        'table:number-columns-repeated="1024"/></table:table-row></table:table>',
    )
    source = open_source(path, csv=CsvOptions(sheet="People"))
    day = dt.date(2024, 2, 29)
    assert source.read().to_pydict() == {"age": [34.5] * 2, "born": [day] * 2, "zip": ["02139"] * 2, "odd": [None] * 2}
    assert any("hidden columns" in note for note in source.notes)
    assert any("1 cell(s) with an error" in note for note in source.notes)


def test_an_old_workbook(tmp_path: Path) -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("People")
    for i, row in enumerate([["age", "zip"], [34, "02139"], [35.5, "x"]]):
        for j, value in enumerate(row):
            sheet.write(i, j, value)
    path = tmp_path / "people.xls"
    book.save(str(path))
    assert open_source(path).read().to_pydict() == {"age": [34.0, 35.5], "zip": ["02139", "x"]}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("people.xls", f"<html><table><tr><td>{SECRET}</td></tr></table></html>", "is a web page"),
        ("people.xlsx", f"age,name\n34,{SECRET}\n", "is not a workbook; if it is a text file, call it .csv"),
        ("people.xlsx", "PK\x03\x04" + SECRET * 100, "is not a workbook, or it is damaged"),
        ("people.ods", "PK\x03\x04", "is not a workbook, or it is damaged"),
        ("people.xlsx", "", "is empty"),
    ],
)
def test_what_is_no_workbook(tmp_path: Path, name: str, content: str, told: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=told) as error:
        open_source(path)
    assert SECRET not in str(error.value)


def test_a_workbook_cut_short_or_changed_in_a_byte(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [["age", "name"], *([i, SECRET] for i in range(50))])
    whole = path.read_bytes()
    for damaged in [whole[:cut] for cut in range(1, len(whole), 97)] + [
        whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(0, len(whole), 61)
    ]:
        path.write_bytes(damaged)
        told = ""
        try:
            open_source(path).read()
        except InputError as error:
            told = str(error)
        assert SECRET not in told
        assert len(told.splitlines()) <= 1


def test_a_workbook_under_a_password(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    path.write_bytes(workbook.OLD + bytes(3000) + workbook.PASSWORD + bytes(500))
    with pytest.raises(InputError, match="is protected by a password"):
        open_source(path)


def test_a_workbook_that_is_far_larger_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "ENOUGH", 1 << 16)
    path = tmp_path / "people.xlsx"
    write(path, [["age"], [1]])
    assert open_source(path).read().num_rows == 1
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/worksheets/sheet9.xml", bytes(1 << 24))
    with pytest.raises(InputError, match="GB unpacked"):
        open_source(path)


def test_a_workbook_that_is_changed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [["age"], [1], [2]])
    source = open_source(path)
    write(path, [["age"], [1], [2], [3]])
    with pytest.raises(InputError, match="has changed while it was read"):
        list(source.batches())


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.xlsx"
    write(path, [["age"], [1]])
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rothko\[excel\]'"):
        open_source(path)
