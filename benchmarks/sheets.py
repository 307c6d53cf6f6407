"""Workbooks and statistics files: against their readers alone, and a written sheet against another writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
from python_calamine import load_workbook

from benchmarks.timing import Case, report, side_by_side
from rothko.data.source.open import open_source
from rothko.release.write import write_table

COLUMNS = 20


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    n = 10_000 if quick else 100_000
    table = people(n)
    book, other, file = folder / "people.xlsx", folder / "other.xlsx", folder / "people.sav"
    write_table(table, book)
    _by_openpyxl(table, other)
    pyreadstat.write_sav(pd.DataFrame({name: table[name].to_pylist() for name in table.column_names}), file)
    cases = []
    for title, path in (("written here", book), ("with shared strings or addresses", other)):
        ours, reader = side_by_side(
            lambda: open_source(path).read(),  # noqa: B023
            lambda: load_workbook(str(path)).get_sheet_by_index(0).to_python(),  # noqa: B023
            runs=3,
        )
        cases.append(
            report(f"xlsx {n:,} x {COLUMNS}, {title}: read", ours / reader, 2.0, f"{ours:.2f} s, {reader:.2f} s")
        )
    ours, reader = side_by_side(
        lambda: open_source(file).read(), lambda: pyreadstat.read_sav(file, output_format="dict"), runs=3
    )
    cases.append(report(f"sav {n:,} x {COLUMNS}: read", ours / reader, 2.0, f"{ours:.2f} s, {reader:.2f} s"))
    ours, writer = side_by_side(
        lambda: write_table(table, book), lambda: _by_openpyxl(table, folder / "again.xlsx"), runs=1
    )
    cases.append(
        report(
            f"xlsx {n:,} x {COLUMNS}: written, against openpyxl", ours / writer, 1.0, f"{ours:.2f} s, {writer:.2f} s"
        )
    )
    return cases


def people(n: int) -> pa.Table:
    """Numbers, fractions, codes, dates and words, as sheets of people have them."""
    draw = np.random.default_rng(0)
    columns = {
        "id": pa.array(np.arange(n)),
        "cost": pa.array(draw.random(n) * 1000),
        "zip": pa.array([f"{code:05d}" for code in draw.integers(0, 99_999, n)]),
        "born": pa.array(draw.integers(-7_000, 13_000, n).astype(np.int32)).cast(pa.date32()),
        "ward": pa.array([f"ward {ward}" for ward in draw.integers(0, 40, n)]),
        "sex": pa.array(draw.choice(["f", "m", "x"], n)),
    }
    columns |= {f"n{i}": pa.array(draw.integers(0, 1000, n)) for i in range(COLUMNS - len(columns))}
    return pa.table(columns)


def _by_openpyxl(table: pa.Table, path: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("people")
    sheet.append(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append(row)
    book.save(path)
