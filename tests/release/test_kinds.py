"""Columns of every Arrow type, released as they are: exact in every format and by every engine, or refused by name."""

from __future__ import annotations

import csv
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import InputError, RothkoError
from rothko.release.kinds import cell_texts
from rothko.release.publish import exact_mean

ROWS = 24


def column(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([values[i % len(values)] for i in range(ROWS)], kind)


def numbers(values: list[int | None], kind: pa.DataType) -> pa.Array:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return column(values, width).cast(kind)


KINDS: dict[str, pa.Array] = {
    "bool": column([True, False, None], pa.bool_()),
    "int8": column([-128, 127, None], pa.int8()),
    "uint64": column([2**64 - 1, 0, None], pa.uint64()),
    "float16": column([1.5, None], pa.float16()),
    "float64": column([0.1, -1e308, None], pa.float64()),
    "decimal32": column([Decimal("1.10"), None], pa.decimal32(7, 2)),
    "decimal128": column([Decimal("9" * 36 + ".10"), None], pa.decimal128(38, 2)),
    "decimal256": column([Decimal("9" * 60 + ".10"), None], pa.decimal256(70, 2)),
    "date32": column([dt.date(1, 1, 1), None], pa.date32()),
    "date64": column([dt.date(2024, 2, 29), None], pa.date64()),
    **{f"timestamp {u}": numbers([1_700_000_000, -5, None], pa.timestamp(u)) for u in ("s", "ms", "us", "ns")},
    **{f"zoned {u}": numbers([1_700_000_000, -5, None], pa.timestamp(u, "America/Lima")) for u in ("s", "ns")},
    "time32": numbers([1, 86_399, None], pa.time32("s")),
    "time64": numbers([1, 86_399_999_999_999, None], pa.time64("ns")),
    **{f"duration {u}": numbers([1_700_000_000, -5, None], pa.duration(u)) for u in ("s", "us")},
    "interval": column([pa.MonthDayNano([1, -2, 3]), None], pa.month_day_nano_interval()),
    "large_string": column(["a", "", None], pa.large_string()),
    "string_view": column(["a", "b", None], pa.string_view()),
    "binary": column([b"\x00\xff", b"", None], pa.binary()),
    "binary_view": column([b"\x00\xff", None], pa.binary_view()),
    "fixed binary": column([b"\x00\xff", None], pa.binary(2)),
    "null": pa.nulls(ROWS),
    "list": column([[1, None], [], None], pa.list_(pa.int64())),
    "list of two": column([[1, 2], None], pa.list_(pa.int64(), 2)),
    "list_view": column([[1, 2], None], pa.list_view(pa.int64())),
    "struct": column(
        [{"b": 1, "a": 'x"y'}, {"b": None, "a": None}, None], pa.struct({"b": pa.int8(), "a": pa.string()})
    ),
    "map": column([[("k", 1), ("k", 2)], [], None], pa.map_(pa.string(), pa.int64())),
    "dictionary": column(["b", "a", None], pa.string()).dictionary_encode(),
    "dictionary of bytes": column([b"\xff", None], pa.binary()).dictionary_encode(),
    "dictionary of durations": numbers([5, None], pa.duration("ms")).dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([10, ROWS], pa.int32()), pa.array(["a", "b"])),
    "union": pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [pa.array(range(ROWS))]),
}
REFUSED = {
    ("memory", ".parquet"): {"interval", "duration s", "duration us", "dictionary of durations"},
    ("memory", ".csv"): set[str](),
    ("memory", ".arrow"): set[str](),
    ("disk", ".parquet"): {"interval", "duration s", "duration us", "dictionary of durations"},
    ("disk", ".csv"): {"interval"},
    ("disk", ".arrow"): {"interval"},
}
"""What a format, or the private file of an engine on disk, has no type for."""
OTHER_TYPE = {
    ".arrow": {"float16", "string_view", "binary_view", "list_view", "dictionary", "dictionary of bytes",
               "dictionary of durations", "runs"},
}  # fmt: skip
"""What comes back as a plainer type with the same values; Parquet has fewer types, and is compared by value alone."""


UNCOUNTED = {
    "decimal256", "duration s", "duration us", "interval", "binary", "binary_view", "fixed binary", "null", "list",
    "list of two", "list_view", "struct", "map", "dictionary of bytes", "dictionary of durations", "union",
}  # fmt: skip
"""What has no values that can be counted, or none at all."""


def people(name: str) -> pa.Table:
    return pa.table({"age": [i // 2 for i in range(ROWS)], "x": KINDS[name]})


def policy(role: str = "keep") -> rk.Policy:
    return rk.Policy(
        columns={"age": {"role": "quasi-identifier"}, "x": {"role": role}}, privacy=[{"k-anonymity": {"k": 3}}]
    )


def place_of(engine: str) -> str:
    return "memory" if engine == "memory" else "disk"


def values(array: pa.Array | pa.ChunkedArray) -> list[str]:
    """The values as a multiset; a point in time by its instant."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if pa.types.is_timestamp(array.type) and array.type.tz:
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))
    return sorted(map(repr, array.to_pylist()))


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_kept_columns_leave_exactly(tmp_path: Path, ending: str, engine: str) -> None:
    names = [name for name in KINDS if name != "union" and name not in REFUSED[place_of(engine), ending]]
    table = pa.table({"age": [i // 2 for i in range(ROWS)], **{name: KINDS[name] for name in names}})
    roles = {"age": {"role": "quasi-identifier"}, **{name: {"role": "keep"} for name in names}}
    asked = rk.Policy(columns=roles, privacy=[{"k-anonymity": {"k": 3}}])
    out = rk.anonymize(table, asked, engine=engine).save(tmp_path / f"release{ending}").data
    if ending == ".csv":
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for name in names:
            assert sorted(row[name] for row in rows) == sorted(
                text or "" for text in cell_texts(KINDS[name]).to_pylist()
            )
        return
    read = (pq.read_table if ending == ".parquet" else feather.read_table)(out)
    for name in names:
        assert values(read[name]) == values(KINDS[name]), name
        if ending == ".arrow" and name not in OTHER_TYPE[ending]:
            assert read[name].type == KINDS[name].type


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("name", ["date32", "timestamp us", "time32", "time64"])
def test_bounds_of_times_leave_exactly(tmp_path: Path, name: str, ending: str, engine: str) -> None:
    table = pa.table({"x": numbers([0, 7_000, 86_000], KINDS[name].type)})
    asked = rk.Policy.quick(["x"], qi=["x"], k=12).but(publish="bounds")
    out = rk.anonymize(table, asked, engine=engine).save(tmp_path / f"release{ending}").data  # verified there
    shown = open_source(out).read(["x_min", "x_max"], as_text=["x_min", "x_max"])  # text where cells have no types
    texts = {text.rstrip(".0") for column in shown.columns for text in cell_texts(column.combine_chunks()).to_pylist()}
    assert texts <= {text.rstrip(".0") for text in cell_texts(table["x"].combine_chunks()).to_pylist()}


@pytest.mark.parametrize("ending", [".xlsx", ".sav", ".dta"])
def test_columns_of_every_kind_leave_as_cells(tmp_path: Path, ending: str) -> None:
    few = pa.array([Decimal("1.00"), None] * (ROWS // 2), pa.decimal256(60, 2))
    kinds = [few, *(one for name, one in KINDS.items() if name != "union")]
    table = pa.table({"age": [i // 2 for i in range(ROWS)], **{f"c{i}": one for i, one in enumerate(kinds)}})
    kept = [name for name in table.column_names if name != "age"]
    out = rk.anonymize(table, qi=["age"], keep=kept, k=3).save(tmp_path / f"release{ending}")  # verified there
    assert out.certificate.verification.rows == ROWS
    assert {*open_source(out.data).read(["c0"], as_text=["c0"])["c0"].to_pylist()} == {"1.00", None}


@pytest.mark.parametrize("name", KINDS)
def test_a_draft_looks_at_every_kind(name: str) -> None:
    for values in (KINDS[name], pa.chunked_array([KINDS[name].slice(0, 1)] * ROWS)):
        table = pa.table({"age": [i // 2 for i in range(ROWS)], "x": values})
        assert rk.draft(table).policy.columns["x"].role in ("identifier", "quasi-identifier", "sensitive", "keep")


@pytest.mark.parametrize("name", sorted({"union"}.union(*REFUSED.values())))
def test_a_kept_column_that_has_no_place_is_refused(tmp_path: Path, name: str, engine: str) -> None:
    if name == "union":
        with pytest.raises(InputError, match=r"'x' holds .*no one type"):
            rk.anonymize(people(name), policy(), engine=engine)
        return
    place = place_of(engine)
    if name in REFUSED[place, ".arrow"]:
        with pytest.raises(InputError, match=r"'x' holds .*engine: memory"):
            rk.anonymize(people(name), policy(), engine=engine)
        return
    release = rk.anonymize(people(name), policy(), engine=engine)
    for ending in (".parquet", ".arrow", ".csv"):
        if name in REFUSED[place, ending]:
            with pytest.raises(InputError, match=f"'x' holds .*{ending}"):
                release.save(tmp_path / f"as-{ending[1:]}{ending}")
            assert list(tmp_path.glob(f"as-{ending[1:]}*")) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_sensitive_column_leaves_exactly_or_is_refused(tmp_path: Path, name: str) -> None:
    asked = policy("sensitive").but(privacy=[{"distinct-l-diversity": {"l": 2, "of": "x"}}])
    if name in UNCOUNTED:
        with pytest.raises(RothkoError, match=r"'x' holds|of x with l = 2"):
            rk.anonymize(people(name), asked)
        return
    rk.anonymize(people(name), asked).save(tmp_path / "release.arrow")
    assert values(feather.read_table(tmp_path / "release.arrow")["x"]) == values(KINDS[name])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("duration us", "1700.000000"),
        ("duration s", "-5"),
        ("interval", "P1M-2DT0.000000003S"),
        ("binary", "00ff"),
        ("list", "[1, null]"),
        ("struct", '{"b": 1, "a": "x\\"y"}'),
        ("map", '[["k", 1], ["k", 2]]'),
        ("decimal256", "9" * 60 + ".10"),
        ("zoned s", "2023-11-14 17:13:20-0500"),
    ],
)
def test_the_text_of_a_value(name: str, text: str) -> None:
    texts = cell_texts(KINDS[name]).to_pylist()
    assert text in texts
    if text[0] in "[{":
        assert json.loads(text) is not None


@pytest.mark.parametrize("name", ["two\nlines", 'say "x"', "a,b", " blank ", "tab\there", "cr\rhere", "=1+1"])
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_name_with_anything_in_it(tmp_path: Path, name: str, ending: str) -> None:
    table = pa.table({name: [i // 4 for i in range(8)], "other\nname": list(range(8))})
    asked = rk.Policy.quick(table.column_names, qi=[name], keep="other\nname", k=4)
    saved = rk.anonymize(table, asked).save(tmp_path / f"release{ending}")
    assert saved.certificate.verification.columns == (name, "other\nname")


def test_a_cell_of_three_megabytes(tmp_path: Path) -> None:
    table = pa.table({"age": [1] * 4, "essay": ["x" * 3_000_000, "y", 'a"\n' * 1_000_000, "z"]})
    saved = rk.anonymize(table, rk.Policy.quick(table.column_names, qi=["age"], keep_rest=True, k=4)).save(
        tmp_path / "release.csv"
    )
    assert saved.certificate.verification.rows == 4


def test_the_mean_of_the_largest_numbers_is_exact(engine: str) -> None:
    table = {
        "x": [1e308] * 4 + [-1e308, 1e308, 3.0, 3.0] + [1.0, 2.0, 3.0, 4.0],
        "g": ["a"] * 4 + ["b"] * 4 + ["c"] * 4,
    }
    asked = rk.Policy.quick(table, qi=["x", "g"], k=12).but(publish="mean")
    [mean] = set(rk.anonymize(table, asked, engine=engine).table["x"].tolist())
    assert mean == exact_mean(np.array(table["x"]))
    assert np.isfinite(mean)
    assert exact_mean(np.array([1e308, np.nan])) != exact_mean(np.array([1e308, np.nan]))
