"""Files and dataframes of every kind; what is wrong with one is told in a sentence that quotes no cell."""

from __future__ import annotations

import datetime
import gzip
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.errors import InputError
from rothko.release.write import write_table
from tests.command import Rothko

SECRET = "SECRET-4711"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write(folder: Path, content: str | bytes, name: str = "people.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def rows(path: Path, **options: Any) -> dict[str, list[Any]]:
    return open_source(path, csv=CsvOptions(**options)).read().to_pydict()


def refusal(data: Any, **options: Any) -> str:
    """The message with which a source is refused, after the checks that hold for every message."""
    with pytest.raises(InputError) as caught:
        open_source(data, csv=CsvOptions(**options)).read()
    message = str(caught.value)
    assert SECRET not in message
    assert "4711" not in message
    assert message.endswith(".")
    assert "\n" not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, "a traceback would quote the reader"
    return message


# ── CSV that can be read ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(folder: Path, delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in [("age", "city"), ("30", "Rome"), ("40", "Oslo")]) + "\n"
    assert rows(write(folder, text)) == {"age": [30, 40], "city": ["Rome", "Oslo"]}


def test_another_delimiter_inside_the_fields_does_not_mislead(folder: Path) -> None:
    assert rows(write(folder, "price;name\n1,5;a\n2,5;b\n")) == {"price": ["1,5", "2,5"], "name": ["a", "b"]}


def test_quotes_hold_delimiters_newlines_and_quotes(folder: Path) -> None:
    path = write(folder, 'a,b\n1,"x, y"\n2,"two\nlines"\n3,"say ""hi"""\n')
    assert rows(path) == {"a": [1, 2, 3], "b": ["x, y", "two\nlines", 'say "hi"']}


def test_another_quote(folder: Path) -> None:
    assert rows(write(folder, "a,b\n1,'x, y'\n"), quote="'") == {"a": [1], "b": ["x, y"]}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends(folder: Path, newline: str) -> None:
    assert rows(write(folder, newline.join(["a,b", "1,x", "2,y", ""]))) == {"a": [1, 2], "b": ["x", "y"]}


def test_a_byte_order_mark_is_no_part_of_the_first_name(folder: Path) -> None:
    assert rows(write(folder, "\ufeffage,b\n1,x\n")) == {"age": [1], "b": ["x"]}


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_a_byte_order_mark(folder: Path, mark: str) -> None:
    assert rows(write(folder, "\ufeffa,b\n1,é\n2,ж\n", encoding=mark)) == {"a": [1, 2], "b": ["é", "ж"]}


@pytest.mark.parametrize("said", ["utf-16-le", "UTF-16BE", "utf-16"])
def test_utf_16_with_a_byte_order_mark_whatever_is_said_of_it(folder: Path, said: str) -> None:
    path = write(folder, "\ufeffa,b\n1,é\n2,ж\n", encoding="utf-16-le")
    assert rows(path, encoding=said) == {"a": [1, 2], "b": ["é", "ж"]}


def test_utf_16_with_a_byte_order_mark_that_is_said_to_be_something_else(folder: Path) -> None:
    path = write(folder, "a,b\n1,x\n", encoding="utf-16")
    with pytest.raises(InputError, match=r"null bytes. If it is UTF-16, say so: csv=CsvOptions\(encoding='utf-16'\)"):
        open_source(path, csv=CsvOptions(encoding="cp1252"))


def test_utf_16_with_signs_beyond_the_basic_plane(folder: Path) -> None:
    assert rows(write(folder, "\ufeffa,b\n1,😀\n2,x\n", encoding="utf-16-le")) == {"a": [1, 2], "b": ["😀", "x"]}


def test_latin_1_when_it_is_said(folder: Path) -> None:
    path = write(folder, "a,b\n1,é\n2,x\n", encoding="latin-1")
    assert rows(path, encoding="latin-1") == rows(path, encoding="ISO-8859-1") == {"a": [1, 2], "b": ["é", "x"]}


def test_gzip(folder: Path) -> None:
    assert rows(write(folder, gzip.compress(b"a,b\n1,x\n"), "people.csv.gz")) == {"a": [1], "b": ["x"]}


def test_no_header(folder: Path) -> None:
    path = write(folder, "x,y\nz,w\n")
    assert rows(path, header=False) == {"column0": ["x", "z"], "column1": ["y", "w"]}
    assert open_source(path, csv=CsvOptions(header=False)).notes == ()
    guessed = open_source(write(folder, "1,2\n3,4\n5,6\n"))
    assert guessed.names == ("column0", "column1")
    assert len(guessed.notes) == 1
    assert "has no header" in guessed.notes[0]
    assert guessed.read().num_rows == 3


def test_a_header_that_looks_like_data_when_it_is_said(folder: Path) -> None:
    assert rows(write(folder, "2019,2020\n1,2\n"), header=True) == {"2019": [1], "2020": [2]}


def test_names_with_spaces_quotes_and_signs(folder: Path) -> None:
    path = write(folder, 'my age,"a ""b"" c","x, y",😀\n1,2,3,4\n')
    assert rows(path) == {"my age": [1], 'a "b" c': [2], "x, y": [3], "😀": [4]}
    assert open_source(path).read(['a "b" c']).to_pydict() == {'a "b" c': [2]}


def test_only_the_columns_asked_for_are_read_in_their_order(folder: Path) -> None:
    assert open_source(write(folder, "a,b,c\n1,2,3\n")).read(["c", "a"]).column_names == ["c", "a"]


def test_leading_zeros_stay_as_they_are_written(folder: Path) -> None:
    assert rows(write(folder, "zip,n\n01234,1\n12345,2\n"))["zip"] == ["01234", "12345"]
    assert rows(write(folder, "phone,n\n+41791234567,1\n+41791234568,2\n"))["phone"][0] == "+41791234567"


def test_columns_that_are_to_stay_text(folder: Path) -> None:
    source = open_source(write(folder, "zip,n\n12345,1\n02134,2\n9,3\n"))
    assert source.read(as_text={"zip", "n"}).to_pydict() == {"zip": ["12345", "02134", "9"], "n": ["1", "2", "3"]}


def test_types(folder: Path) -> None:
    path = write(
        folder,
        "i,f,d,t,b,s\n1,1.5,2024-02-29,2024-02-29 10:00:00,true,x\n-2,2,2023-01-01,2023-01-01 00:00:00,false,y\n",
    )
    assert [str(t) for t in open_source(path).read().schema.types] == [
        "int64", "double", "date32[day]", "timestamp[us]", "string", "string",
    ]  # fmt: skip


def test_empty_fields_are_missing(folder: Path) -> None:
    assert rows(write(folder, 'a,b\n1,\n,x\n3,""\n')) == {"a": [1, None, 3], "b": [None, "x", None]}


MANY = 30_000
"""More rows than the sniffer looks at."""


def long_file(folder: Path, values: Any, last: str) -> Path:
    return write(folder, "a,b\n" + "".join(f"{value},x\n" for value in values) + f"{last}\n")


@pytest.mark.parametrize(
    ("last", "kept"),
    [("word", "word"), ("1.5", 1.5), ("007", "007"), ("1e3", 1000.0), ("99999999999999999999", "99999999999999999999")],
)
def test_a_value_far_down_that_is_no_whole_number_is_not_changed(folder: Path, last: str, kept: Any) -> None:
    column = open_source(long_file(folder, range(10, MANY), f"{last},x")).read()["a"]
    assert len(column) == MANY - 9
    assert column[-1].as_py() in (kept, last)
    assert str(column[0].as_py()) in ("10", "10.0")


def test_dates_far_down_are_read_as_the_rows_together_allow(folder: Path) -> None:
    path = long_file(folder, (f"2020-01-{1 + i % 28:02d}" for i in range(MANY)), "2020-01-01 10:30:00,x")
    assert open_source(path).read()["a"][-1].as_py() in (datetime.datetime(2020, 1, 1, 10, 30), "2020-01-01 10:30:00")
    path = long_file(folder, ("01/02/2020" for _ in range(MANY)), "12/25/2020,x")
    first, last = (value.as_py() for value in open_source(path).read()["a"].take([0, MANY]))
    assert (first, last) in (("01/02/2020", "12/25/2020"), (datetime.date(2020, 1, 2), datetime.date(2020, 12, 25)))


def test_a_cell_of_10_000_characters(folder: Path) -> None:
    assert rows(write(folder, f"a,b\n1,{'x' * 10_000}\n2,y\n"))["b"] == ["x" * 10_000, "y"]


def test_names_that_differ_only_in_case(folder: Path) -> None:
    assert rows(write(folder, "a,A\n1,2\n")) == {"a": [1], "A": [2]}


# ── CSV that cannot ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("line", "fields"), [(f"3,4,{SECRET}", 3), (SECRET, 1), ("5", 1)])
@pytest.mark.parametrize("rows_before", [1, MANY])
@pytest.mark.parametrize("more", ["", "1,2\n"])
def test_a_ragged_line_is_named_by_its_number(
    folder: Path, line: str, fields: int, rows_before: int, more: str
) -> None:
    path = write(folder, "a,b\n" + "1,2\n" * rows_before + line + "\n" + more)
    assert refusal(path) == f"people.csv, line {rows_before + 2}: the line has {fields} fields and the header has 2."


@pytest.mark.parametrize("before", [0, 100_000])
def test_text_that_is_not_utf_8(folder: Path, before: int) -> None:
    lines = 1 + before // 10
    path = write(folder, b"a,b\n" + b"1,aaaaaaa\n" * lines + SECRET.encode() + b",\xff\xfe\xe9\n2,x\n")
    message = refusal(path)
    assert message.startswith(f"people.csv, line {lines + 2}: the text is not UTF-8")
    assert "latin-1" in message


def test_a_word_in_a_cell_does_not_decide_what_the_message_says(folder: Path) -> None:
    path = write(folder, "a,b\n1,x\n2,unicode,utf-8 quote\n")
    assert refusal(path) == "people.csv, line 3: the line has 3 fields and the header has 2."


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_line_that_names_the_delimiter_to_spreadsheets(folder: Path, end: str, encoding: str) -> None:
    lines = ["sep=|", "a,x|b", "1|02", '2|"3', ' ""4"']
    path = write(folder, end.join([*lines, ""]).encode(encoding))
    assert rows(path) == {"a,x": [1, 2], "b": ["02", f'3{end} "4']}
    assert rows(path, header=False)["column0"] == ["a,x", "1", "2"]
    assert refusal(write(folder, "sep=;\na;b\n1;2\n1;2;3\n")) == (
        "people.csv, line 4: the line has 3 fields and the header has 2."
    )


def test_a_quote_that_does_not_end(folder: Path) -> None:
    assert "quoted field does not end where it should" in refusal(write(folder, f'a,b\n1,"{SECRET}\n2,x\n'))


def test_quotes_that_mean_nothing(folder: Path) -> None:
    path = write(folder, 'a,b\n1,5" pipe\n2,x\n')
    assert "csv=CsvOptions(quote=…)" in refusal(path)
    assert rows(path, quote="'")["b"] == ['5" pipe', "x"]


def test_a_line_that_is_too_long(folder: Path) -> None:
    assert "longer than the reader takes" in refusal(write(folder, f"a,b\n1,{SECRET * 300_000}\n2,y\n"))


def test_a_text_may_begin_as_other_files_do(folder: Path) -> None:
    assert rows(write(folder, "PAR1,PAR2\n1,2\n")) == {"PAR1": [1], "PAR2": [2]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "people.csv is empty."),
        ("\n", "people.csv has no header in its first line."),
        ("a,b\n", "people.csv has columns but no records."),
        ("a,b", "people.csv has columns but no records."),
        (f"a,b,a\n1,2,{SECRET}\n", "people.csv has the column 'a' 2 times."),
        (f"a,,c\n1,2,{SECRET}\n", "people.csv: column 2 has no name; give it one in the first line."),
        (b"a,b\n1,SEC\x00RET-4711\n", "people.csv is not a text file: it has null bytes."),
        (
            f"a,b\n1,{SECRET}\n".encode("utf-16-le"),
            "people.csv is not a text file: it has null bytes. If it is UTF-16, say so: "
            "csv=CsvOptions(encoding='utf-16-le').",
        ),
        (gzip.compress(b"a,b\n", mtime=0), "people.csv is packed by gzip, not text; give it the ending that says so."),
        (b"PK\x03\x04", "people.csv is a workbook or another zip archive, not text; give it the ending that says so."),
    ],
)
def test_files_without_a_table(folder: Path, content: str | bytes, expected: str) -> None:
    assert refusal(write(folder, content)) == expected


@pytest.mark.parametrize(
    "name", ["people.csv", "people.tsv", "people.csv.gz", "people.parquet", "people.feather", "people.arrow"]
)
def test_binary_junk(folder: Path, name: str) -> None:
    for seed in range(5):
        assert refusal(write(folder, random.Random(seed).randbytes(5000), name)).startswith(name)


def test_gzip_that_is_cut_short(folder: Path) -> None:
    whole = gzip.compress(b"a,b\n" + "".join(f"{i},{SECRET}\n" for i in range(2000)).encode())
    for end in (5, len(whole) // 2, len(whole) - 2):
        refusal(write(folder, whole[:end], "people.csv.gz"))


@pytest.mark.parametrize("scheme", ["mysql", "https", "hdfs"])
def test_addresses_that_nothing_is_read_from(folder: Path, scheme: str) -> None:
    told = refusal(f"{scheme}://ann:{SECRET}@host/clinic?table=people")
    assert told.startswith(f"Nothing is read from {scheme}://: databases are postgresql://")


def test_files_that_are_not_there(folder: Path) -> None:
    assert refusal(folder / "no.csv") == f"There is no file {str(folder / 'no.csv')!r}."
    assert refusal(folder).startswith(f"{str(folder)!r} has no file that rothko reads; it reads .csv, ")
    assert refusal(write(folder, SECRET, "people.doc")).startswith("people.doc has an ending that rothko does not know")


@pytest.mark.parametrize("options", [{"encoding": "klingon"}, {"delimiter": ";;"}, {"delimiter": ""}])
def test_options_that_do_not_exist(folder: Path, options: dict[str, str]) -> None:
    refusal(write(folder, f"a,b\n1,{SECRET}\n"), **options)


# ── Parquet and Arrow files ──────────────────────────────────────────────────────────────────────

TABLE = pa.table({"a": [1, 2, None], "b": ["x", None, SECRET]})


def write_arrow(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE)


WRITERS: dict[str, Any] = {
    "people.parquet": lambda path: pq.write_table(TABLE.replace_schema_metadata({"note": SECRET}), path),
    "people.PQ": lambda path: pq.write_table(TABLE, path, row_group_size=1),
    "people.feather": lambda path: feather.write_feather(TABLE, path),
    "people.arrow": write_arrow,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("as_text", [False, True])
def test_binary_files(folder: Path, name: str, as_text: bool) -> None:
    path = folder / name
    WRITERS[name](path)
    source = open_source(str(path) if as_text else path)
    assert (source.label, source.path, source.names) == (name, path, ("a", "b"))
    found = source.read()
    assert found.equals(TABLE)
    assert found.schema.metadata is None
    assert source.read(["b"]).equals(TABLE.select(["b"]))
    assert isinstance(source.restore(found), pa.Table)


@pytest.mark.parametrize("name", WRITERS)
def test_binary_files_that_are_cut_short(folder: Path, name: str) -> None:
    path = folder / name
    WRITERS[name](path)
    whole = path.read_bytes()
    for end in (1, 4, len(whole) // 2, len(whole) - 1):
        assert refusal(write(folder, whole[:end], name)).startswith(name)


def test_a_parquet_file_that_is_damaged_inside(folder: Path) -> None:
    path = folder / "people.parquet"
    pq.write_table(TABLE, path)
    whole = path.read_bytes()
    assert refusal(write(folder, whole[:4] + b"\x99" * 40 + whole[44:], path.name)).startswith(
        "people.parquet is damaged"
    )


@pytest.mark.parametrize("name", ["people.parquet", "people.feather"])
def test_binary_files_without_records(folder: Path, name: str) -> None:
    write_table = pq.write_table if name.endswith("parquet") else feather.write_feather
    write_table(TABLE.slice(0, 0), folder / name)
    assert refusal(folder / name) == f"{name} has columns but no records."


# ── dataframes ───────────────────────────────────────────────────────────────────────────────────

PLAIN = {"a": [1, 2], "b": ["x", "y"]}


def frame(data: Any) -> tuple[Source, pa.Table, Any]:
    source = open_source(data)
    table = source.read()
    assert source.path is None
    assert table.schema.metadata is None
    return source, table, source.restore(table)


def test_pandas() -> None:
    data = pd.DataFrame(PLAIN, index=pd.Index([SECRET, SECRET + "x"], name="secret"))
    source, table, back = frame(data)
    assert (source.label, table.to_pydict()) == ("the pandas DataFrame", PLAIN)
    assert isinstance(back, pd.DataFrame)
    assert back.to_dict("list") == PLAIN
    assert SECRET not in back.to_string() + str(table.schema) + back.index.__repr__()
    assert back.index.equals(pd.RangeIndex(2))


def test_pandas_categorical_and_nullable() -> None:
    data = pd.DataFrame(
        {
            "c": pd.Categorical(["u", None, "u"], categories=["u", SECRET]),
            "i": pd.array([1, None, 3], "Int64"),
            "f": [1.5, float("nan"), 2.0],
            "s": pd.array(["x", None, "y"], "string"),
            "d": pd.to_datetime(["2024-02-29", None, "2023-01-01"]),
        }
    )
    _, table, back = frame(data)
    assert table["c"].to_pylist() == ["u", None, "u"]
    assert table["i"].to_pylist() == [1, None, 3]
    assert table["s"].to_pylist() == ["x", None, "y"]
    assert table["d"].null_count == 1
    assert isinstance(back, pd.DataFrame)
    assert list(back.columns) == list(data.columns)


def test_pandas_with_columns_that_are_no_text() -> None:
    assert frame(pd.DataFrame([[1, 2]]))[1].to_pydict() == {"0": [1], "1": [2]}


def test_polars() -> None:
    source, table, back = frame(pl.DataFrame(PLAIN))
    assert (source.label, table.to_pydict()) == ("the polars DataFrame", PLAIN)
    assert isinstance(back, pl.DataFrame)
    assert back.to_dict(as_series=False) == PLAIN


def test_polars_lazy() -> None:
    source, table, back = frame(pl.LazyFrame(PLAIN).filter(pl.col("a") > 1))
    assert (source.names, table.to_pydict()) == (("a", "b"), {"a": [2], "b": ["y"]})
    assert isinstance(back, pl.LazyFrame)
    assert back.collect().to_dict(as_series=False) == {"a": [2], "b": ["y"]}


@pytest.mark.parametrize(
    "make", [pa.table, pa.record_batch, lambda data: pa.table(data).to_reader()], ids=["table", "batch", "reader"]
)
def test_arrow(make: Any) -> None:
    _, table, back = frame(make(PLAIN))
    assert table.to_pydict() == PLAIN
    assert isinstance(back, pa.Table)


def test_arrow_metadata_is_left_behind() -> None:
    assert frame(pa.table(PLAIN).replace_schema_metadata({"note": SECRET}))[1].schema.metadata is None


def test_duckdb() -> None:
    data = duckdb.from_arrow(pa.table(PLAIN))
    _, table, back = frame(data)
    assert table.to_pydict() == PLAIN
    assert isinstance(back, duckdb.DuckDBPyRelation)
    assert back.fetchall() == [(1, "x"), (2, "y")]


def test_a_dict() -> None:
    _, table, back = frame({"a": [1, 2], "b": np.array(["x", "y"])})
    assert table.to_pydict() == PLAIN
    assert isinstance(back, dict)
    assert all(isinstance(column, np.ndarray) for column in back.values())
    assert {name: column.tolist() for name, column in back.items()} == PLAIN


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1, SECRET]}, dtype=object),
        pd.DataFrame({"a": [object()]}),
        {"a": [1, SECRET]},
        {"a": [1, 2], "b": [SECRET]},
        pl.LazyFrame({"a": [SECRET]}).with_columns(pl.col("a").cast(pl.Int64)),
        pd.DataFrame([[1, SECRET]], columns=["a", "a"]),
        pd.DataFrame([[1, SECRET]], columns=[1, "1"]),
        pa.table([pa.array([1]), pa.array([SECRET])], names=["a", "a"]),
        pd.DataFrame({"a": []}),
        pd.DataFrame(),
        pl.DataFrame(),
        {},
        [SECRET],
        None,
        4711,
        np.array([[SECRET]]),
        pd.Series([SECRET]),
        SECRET.encode(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_data_that_is_no_table(data: Any) -> None:
    refusal(data)


def test_duplicate_columns_are_named() -> None:
    assert refusal(pd.DataFrame([[1, 2]], columns=["a", "a"])) == "the pandas DataFrame has the column 'a' 2 times."


# ── in pieces ────────────────────────────────────────────────────────────────────────────────────

PEOPLE = pa.table(
    {
        "age": pa.array([None if i % 11 == 0 else i % 90 for i in range(1_000)]),
        "pay": pa.array([i / 4 for i in range(1_000)]),
        "name": pa.array([f"{SECRET} {i}" for i in range(1_000)]),
        "day": pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 50) for i in range(1_000)]),
        "city": pa.array([f"city, {i % 7}" for i in range(1_000)]),
    }
)


def stored(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pq.write_table(PEOPLE, path, row_group_size=300)
    elif name.endswith(".feather"):
        feather.write_feather(PEOPLE, str(path), chunksize=300)
    elif name.endswith(".arrow"):
        feather.write_feather(PEOPLE, str(path), compression="uncompressed")
    else:
        text = PEOPLE.to_pandas().astype({"age": "Int64"}).to_csv(index=False)
        encoding = "utf-16" if "16" in name else "utf-8"
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode(encoding))
    return path


FILES = ["people.parquet", "people.feather", "people.arrow", "people.csv", "people.csv.gz", "people16.csv"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("count", [1, 64, 300, 5_000])
def test_pieces_put_together_are_the_whole(folder: Path, name: str, count: int) -> None:
    source = open_source(stored(folder, name))
    columns = ["city", "age", "pay", "day"]
    for as_text in ((), ("pay",)):
        pieces = list(source.batches(columns, as_text=as_text, rows=count, threads=2))
        assert all(piece.num_rows <= count for piece in pieces)
        assert len(pieces) <= 1 + 1_300 // count
        assert pa.concat_tables(pieces).equals(source.read(columns, as_text=as_text))
    assert pa.concat_tables(source.batches(["pay"], as_text=["pay"])).equals(source.read(["pay"], as_text=["pay"]))
    assert source.bytes == (folder / name).stat().st_size
    assert source.rows in (None, 1_000)


def test_dataframes_in_pieces() -> None:
    for data in (PEOPLE, PEOPLE.to_pandas(), pl.from_arrow(PEOPLE), {"age": [1, 2, 3]}):
        source = open_source(data)
        pieces = list(source.batches(rows=2))
        assert pa.concat_tables(pieces).equals(source.read())
        assert {piece.num_rows for piece in pieces} <= {1, 2}


def test_long_records_come_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.data.source.source.PIECE_BYTES", 10_000)
    pieces = list(open_source({"text": ["x" * 1_000] * 100}).batches())
    assert len(pieces) >= 10
    assert sum(piece.num_rows for piece in pieces) == 100


@pytest.mark.parametrize("name", FILES)
def test_pieces_of_a_file_that_is_cut_short(folder: Path, name: str) -> None:
    path = stored(folder, name)
    source, again = open_source(path), open_source(path)
    list(again.batches())
    whole = path.read_bytes()
    for end in (len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError) as caught:
            list(source.batches())
        if end == len(whole) // 2:
            with pytest.raises(InputError):
                list(again.batches())
        assert SECRET not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_pieces_of_a_text_file_with_a_ragged_line_at_its_end(folder: Path, name: str) -> None:
    text = "a,b\n" + "1,x\n" * 300_000 + f"1,{SECRET},3\n"
    path = write(folder, gzip.compress(text.encode()) if name.endswith("gz") else text, name)
    with pytest.raises(InputError, match=r"line 300002: the line has 3 fields and the header has 2\.") as caught:
        list(open_source(path).batches())
    assert SECRET not in str(caught.value)


def test_a_large_gzip_file_that_is_cut_short(folder: Path) -> None:
    text = "a,b\n" + "".join(f"{i * 7919 % 100_003},{SECRET}\n" for i in range(100_000))
    whole = gzip.compress(text.encode())
    path = write(folder, whole[: len(whole) - 100], "people.csv.gz")
    assert refusal(path) == "people.csv.gz is not a gzip file, or it is damaged or cut short."
    with pytest.raises(InputError, match="damaged or cut short"):
        list(open_source(path).batches())


def test_an_empty_table_in_pieces(folder: Path) -> None:
    path = folder / "people.parquet"
    pq.write_table(PEOPLE.slice(0, 0), path)
    with pytest.raises(InputError, match="no records"):
        list(open_source(path).batches())


# ── what is damaged, or lies


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "utf-16.csv"])
def test_a_quote_that_is_left_open_swallows_no_records(folder: Path, name: str) -> None:
    text = f'a,b\n1,x\n2,"{SECRET}\n3,y\n4,z\n'
    raw = text.encode("utf-16" if "16" in name else "utf-8")
    path = write(folder, gzip.compress(raw) if name.endswith("gz") else raw, name)
    assert "odd number of quotes" in refusal(path)


def test_a_compressed_file_is_known_by_its_ending_in_any_case(folder: Path) -> None:
    text = 'a,b\n1,x\n2,"y\nz"\n'
    assert rows(write(folder, gzip.compress(text.encode()), "PEOPLE.CSV.GZ")) == {"a": [1, 2], "b": ["x", "y\nz"]}
    assert rows(write(folder, gzip.compress(text.encode("utf-16")), "p.csv.gz")) == {"a": [1, 2], "b": ["x", "y\nz"]}


@pytest.mark.parametrize("tail", [b"garbage", b"\0" * 20, b"\x1f\x8b"])
def test_a_gzip_file_with_something_behind_its_end(folder: Path, tail: bytes) -> None:
    text = "a,b\n" + f"1,{SECRET}\n" * 20_000
    assert "damaged" in refusal(write(folder, gzip.compress(text.encode()) + tail, "people.csv.gz"))


def not_utf8(kind: pa.DataType) -> pa.Array:
    whole = pa.array([SECRET.encode(), b"\xff\xfe" + SECRET.encode()], pa.binary())
    return pa.Array.from_buffers(kind, 2, whole.buffers())


def beyond_the_dictionary() -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array([SECRET]), safe=False)


def offset_beyond_the_text() -> pa.Array:
    offsets = np.array([0, 1 << 30, 3], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"abc")])


@pytest.mark.parametrize("ending", ["parquet", "arrow", "table"])
@pytest.mark.parametrize(
    "column", [not_utf8(pa.string()), beyond_the_dictionary(), offset_beyond_the_text()], ids=["text", "code", "offset"]
)
def test_columns_that_are_not_what_they_say(folder: Path, ending: str, column: pa.Array) -> None:
    """In a process that did not look, the kernels would read beyond the end of the memory."""
    table = pa.table({"n": [1, 2], "bad": column})
    path = folder / f"people.{ending}"
    if ending == "parquet":
        if pa.types.is_dictionary(column.type) or len(column.buffers()[2]) < 10:
            pytest.skip("Parquet cannot be written from it")
        pq.write_table(table, path)
    elif ending == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    assert "damaged" in refusal(table if ending == "table" else path)
    if ending != "table":
        with pytest.raises(InputError, match="damaged"):
            list(open_source(path).batches())
        assert open_source(path).read(["n"]).num_rows == 2, "a column that is not asked for is not looked at"


def test_column_names_that_are_not_utf8(folder: Path) -> None:
    for name, write_to in {"p.parquet": pq.write_table, "p.arrow": feather.write_feather}.items():
        write_to(pa.table({"abcdefgh": [1, 2]}), folder / name, compression="zstd" if name[2] == "p" else "lz4")
        (folder / name).write_bytes((folder / name).read_bytes().replace(b"abcdefgh", b"abc\xff\xfefgh"))
        assert "damaged" in refusal(folder / name)


def test_a_key_in_the_path_is_no_column(folder: Path) -> None:
    """Readers of folders take ``age=5`` in a path for a column, and put it in the place of the one in the file."""
    place = folder / "age=5" / "sex=m"
    place.mkdir(parents=True)
    table = pa.table({"age": [30, 40], "n": [1, 2]})
    pq.write_table(table, place / "p.parquet")
    feather.write_feather(table, place / "p.arrow")
    (place / "p.csv").write_text("age,n\n30,1\n40,2\n")
    for name in ("p.parquet", "p.arrow", "p.csv"):
        source = open_source(place / name)
        assert source.read().to_pydict() == table.to_pydict()
        assert pa.concat_tables(source.batches()).to_pydict() == table.to_pydict()


def test_a_column_is_not_taken_for_a_part_of_another(folder: Path) -> None:
    """Asked for the column ``a``, the reader of Parquet brings ``a.b``, too."""
    pq.write_table(pa.table({"a": [1, 2], "a.b": [SECRET, SECRET]}), folder / "p.parquet")
    source = open_source(folder / "p.parquet")
    assert source.read(["a"]).column_names == ["a"]
    assert [piece.column_names for piece in source.batches(["a"])] == [["a"]]


def test_nothing_but_the_empty_field_is_missing(folder: Path) -> None:
    words = ["NA", "null", "NULL", "nan", "N/A", "#N/A", "None", "-", "true", ""]
    path = write(folder, "a,b\n" + "".join(f"{word},x\n" for word in words))
    assert rows(path)["a"] == [*words[:-1], None]


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow"])
def test_a_file_whose_ending_does_not_say_what_it_is(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rothko: Rothko
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"age": [30 + i % 4 for i in range(40)], "zip": [f"0{i % 5}" for i in range(40)]})
    write_table(table, Path(f"people.{kind}"))
    Path(f"people.{kind}").rename("people.data")
    ran = rothko("check", "people.data", "--qi", "age,zip", "--k", "2")
    assert (ran.code, "--input-format csv" in " ".join(ran.err.split())) == (2, True)
    assert rothko("draft", "people.data", "-o", "policy.yaml", "--input-format", kind).code == 0
    assert f"format: {kind}" in Path("policy.yaml").read_text()
    ran = rothko("anonymize", "people.data", "--policy", "policy.yaml", "--accept-draft", "--out", "out.csv")
    assert ran.code == 0, ran.err
    assert open_source("people.data", csv=CsvOptions(format=kind)).read()["zip"].to_pylist()[1] == "01"


def test_what_a_file_may_be_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n1\n")
    with pytest.raises(InputError, match="is one of csv, tsv, parquet, arrow, not 'doc'"):
        open_source(tmp_path / "x", csv=CsvOptions(format="doc"))
    with pytest.raises(InputError, match="is for one file"):
        open_source(tmp_path, csv=CsvOptions(format="csv"))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()),
        pa.array([0, 2**62 // 86_400_000 * 86_400_000]).cast(pa.date64()),
        pa.array([0, 2**62]).cast(pa.timestamp("s")),
        pa.array([0, -(2**62)]).cast(pa.timestamp("us", "UTC")),
    ],
    ids=lambda column: str(column.type),
)
def test_dates_that_no_calendar_of_four_digits_has_are_refused(folder: Path, column: pa.Array) -> None:
    feather.write_feather(pa.table({"day": column}), str(folder / "days.arrow"))
    for data, said in ((pa.table({"day": column}), "the pyarrow Table"), (folder / "days.arrow", "days.arrow")):
        with pytest.raises(InputError, match=f"Column 'day' of {said} has dates before year 1 or after 9999"):
            open_source(data).read()
    kept = column.slice(0, 1)
    assert open_source(pa.table({"day": kept})).read()["day"].type == column.type
