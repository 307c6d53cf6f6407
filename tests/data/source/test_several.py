"""Tables that lie in several files: as one file would be, whatever the order, and refused where they differ."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rothko as rk
from rothko.data.source import arrow, file_bytes, parquet
from rothko.data.source import csv as csv_module
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.several import is_small
from rothko.errors import InputError, OutputError

SECRET = "canary"
PEOPLE = pa.table(
    {
        "age": [20 + i % 37 for i in range(240)],
        "zip": [f"{i % 11:05d}" for i in range(240)],
        "disease": ["flu", "cold", SECRET] * 80,
    }
)


def write_csv(table: pa.Table, path: Path, delimiter: str = ",") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def write_parquet(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def write_arrow(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    feather.write_feather(table, path)


WRITE: dict[str, Callable[[pa.Table, Path], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".arrow": write_arrow,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scattered(ending: str, parts: int = 4, where: str = "data/p{}") -> Path:
    """People in several files."""
    step = PEOPLE.num_rows // parts
    for i in range(parts):
        WRITE[ending](PEOPLE.slice(i * step, step), Path(where.format(i) + ending))
    return Path("data")


def refusal(data: Any, csv: CsvOptions | None = None) -> str:
    with pytest.raises(InputError) as told:
        open_source(data, csv=csv).read()
    assert SECRET not in str(told.value)
    assert str(told.value).endswith(".")
    return str(told.value)


@pytest.mark.parametrize("ending", WRITE)
@pytest.mark.parametrize("data", ["data", "data/p*{}", "data/**/*{}", "d*"])
def test_several_files_are_one(folder: Path, ending: str, data: str) -> None:
    scattered(ending)
    for name in ("_SUCCESS", ".p0.csv.crc", "_temporary/0/p9.csv", ".hidden/p9.parquet"):
        Path("data", name).parent.mkdir(parents=True, exist_ok=True)
        Path("data", name).write_text("nothing")
    source = open_source(data.format(ending))
    assert source.read().equals(PEOPLE)
    assert pa.concat_tables(source.batches(rows=50)).equals(PEOPLE)
    assert [batch.num_rows for batch in source.batches(["zip"], rows=50)][:2] == [50, 10] or ending == ".csv"
    assert source.notes == ()


def test_what_the_names_of_folders_say_becomes_columns(folder: Path) -> None:
    for ending in WRITE:
        for i, (year, month, town) in enumerate(
            [("2025", "01", "Bad%20Ems"), ("2026", "02", "__HIVE_DEFAULT_PARTITION__"), ("2026", "12", "Köln")]
        ):
            place = Path(f"{ending[1:]}/year={year}/month={month}/town={town}/part{ending}")
            WRITE[ending](PEOPLE.slice(i * 2, 2), place)
        source = open_source(ending[1:])
        assert source.names == ("age", "zip", "disease", "year", "month", "town")
        for table in (source.read(), pa.concat_tables(source.batches())):
            assert table["year"].to_pylist() == [2025, 2025, 2026, 2026, 2026, 2026]
            assert table["month"].to_pylist() == ["01", "01", "02", "02", "12", "12"]
            assert table["town"].to_pylist() == ["Bad Ems", "Bad Ems", None, None, "Köln", "Köln"]
        assert source.read(["year"], as_text=["year"])["year"].to_pylist()[:1] == ["2025"]
        assert pa.concat_tables(source.batches(["year"])).num_rows == 6
        # Of what a pattern spells out, nothing is told; what it leaves open is.
        assert open_source(f"{ending[1:]}/year=2026/month=*/*/*").names == ("age", "zip", "disease", "month", "town")


def test_a_column_of_the_files_counts_more_than_the_name_of_a_folder(folder: Path) -> None:
    for ending in WRITE:
        WRITE[ending](PEOPLE.slice(0, 3), Path(f"{ending[1:]}/age=5/part{ending}"))
        assert open_source(ending[1:]).read()["age"].to_pylist() == [20, 21, 22]


def test_types_that_one_holds_without_loss(folder: Path) -> None:
    Path("data").mkdir()
    one = pa.table({"a": pa.array([1, None], pa.int32()), "b": pa.array([None, None]), "c": pa.array(["x", "y"]),
                    "d": pa.array([1, 2], pa.timestamp("ms"))})  # fmt: skip
    two = pa.table({"d": pa.array([1, 2], pa.timestamp("us")), "a": pa.array([2**40, 3]), "b": ["é", "ü"],
                    "c": pa.array(["x", None]).dictionary_encode()})  # fmt: skip
    three = two.set_column(1, "a", pa.array([2**32 - 1, 0], pa.uint32()))
    for i, table in enumerate((one, two, three)):
        write_arrow(table, Path(f"data/{i}.arrow"))
    source = open_source("data")
    for table in (source.read(), pa.concat_tables(source.batches())):
        assert [str(kind) for kind in table.schema.types] == ["int64", "string", "string", "timestamp[us]"]
        assert table["a"].to_pylist() == [1, None, 2**40, 3, 2**32 - 1, 0]
        assert table["b"].to_pylist() == [None, None, "é", "ü", "é", "ü"]
        assert table["c"].to_pylist() == ["x", "y", "x", None, "x", None]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (PEOPLE.drop_columns("zip"), "q.parquet lacks the column 'zip' of p0.parquet."),
        (PEOPLE.append_column("zipp", PEOPLE["zip"]), "q.parquet has the column 'zipp', which p0.parquet has not."),
        (PEOPLE.set_column(0, "age", PEOPLE["age"].cast(pa.float64())), "q.parquet: the column 'age' holds double, and "
         "in other files int64; write all files with one type."),
        (PEOPLE.set_column(0, "age", PEOPLE["age"].cast(pa.uint64())), "q.parquet: the column 'age' holds uint64"),
        (PEOPLE.set_column(0, "age", PEOPLE["zip"]), "q.parquet: the column 'age' holds string, and in other files"),
    ],
)  # fmt: skip
def test_files_that_differ_are_told_apart_by_name_and_column(folder: Path, other: pa.Table, said: str) -> None:
    scattered(".parquet")
    write_parquet(other, Path("data/q.parquet"))
    assert refusal("data").startswith(said)


def test_text_files_that_differ(folder: Path) -> None:
    scattered(".csv")
    q = Path("data/sub/q.csv")
    write_csv(PEOPLE.rename_columns(["age", "zipcode", "disease"]), q)
    assert refusal("data") == "sub/q.csv is not written as p0.csv: it lacks the column 'zip'."
    write_csv(PEOPLE, q, ";")
    assert refusal("data") == "sub/q.csv is not written as p0.csv: its delimiter is ';', and there it is ','."
    q.write_text(f"20,00001,{SECRET}\n21,00002,{SECRET}\n")
    assert refusal("data") == "sub/q.csv is not written as p0.csv: it has no header, it seems."
    q.write_text(f"{SECRET}\n{SECRET}\n")
    assert refusal("data") == "sub/q.csv is not written as p0.csv: it lacks the column 'age'."
    q.write_text(f"age,zip,disease\n20,1\n{SECRET},1,1\n")
    assert refusal("data") == "sub/q.csv, line 2: the line has 2 fields and the header has 3."
    q.write_bytes(b"age,zip,disease\n20,1,\xff\n")
    assert "the text is not UTF-8" in refusal("data")


def test_a_column_of_text_files_has_the_type_of_all_its_values(folder: Path) -> None:
    Path("data").mkdir()
    for i, cells in enumerate((["1", "20"], ["3.5", "4"], ["x", ""])):
        lines = [f"{i},{cell},{'0' * (i == 1)}7" for cell in cells]
        Path(f"data/{i}.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    two = open_source("data/[01].csv")
    for table in (two.read(), pa.concat_tables(two.batches())):
        assert table["b"].to_pylist() == [1.0, 20.0, 3.5, 4.0]
        assert table["c"].to_pylist() == ["7", "7", "07", "07"]
        assert table["a"].to_pylist() == [0, 0, 1, 1]
    three = open_source("data")
    for table in (three.read(), pa.concat_tables(three.batches())):
        assert table["b"].to_pylist() == ["1", "20", "3.5", "4", "x", None]


CELLS = st.sampled_from(["", "1", "20", "007", "2.5", "1e3", "x", "2024-02-29", "2024-02-29 10:00", "9" * 17, "-0"])


@given(st.lists(st.lists(CELLS, max_size=4), min_size=1, max_size=4), st.permutations(range(4)))
def test_text_files_are_what_one_file_of_all_their_lines_would_be(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], names: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("several")
    parts = [files[i] for i in names if i < len(files)]
    lines = [f"k,{cell}" for cells in parts for cell in cells]
    if not lines:
        return
    for i, cells in enumerate(parts):
        (folder / f"{i}.csv").write_text("\n".join(["name,value", *(f"k,{cell}" for cell in cells)]) + "\n")
    (folder / "one").mkdir()
    (folder / "one" / "all.csv").write_text("\n".join(["name,value", *lines]) + "\n")
    said = CsvOptions(header=True)
    several, one = open_source(folder / "*.csv", csv=said), open_source(folder / "one" / "all.csv", csv=said)
    assert several.read().equals(one.read())
    assert pa.concat_tables(several.batches()).equals(pa.concat_tables(one.batches()))
    assert several.read(as_text=["value"]).equals(one.read(as_text=["value"]))


def test_empty_files_hold_nothing(folder: Path) -> None:
    scattered(".csv")
    Path("data/none.csv").touch()
    Path("data/header.csv").write_text("age,zip,disease\n")
    source = open_source("data")
    assert source.read().num_rows == PEOPLE.num_rows
    assert source.notes == ("Files of data that are empty: 1.",)
    write_parquet(PEOPLE.slice(0, 0), Path("typed/a.parquet"))
    assert refusal("typed") == "typed has columns but no records."
    write_parquet(PEOPLE, Path("typed/b.parquet"))
    assert open_source("typed").read().num_rows == PEOPLE.num_rows
    Path("nothing").mkdir()
    Path("nothing/a.csv").touch()
    assert refusal("nothing") == "All files of 'nothing' are empty."


def test_what_is_no_table(folder: Path) -> None:
    scattered(".csv")
    assert refusal("data/*.parquet") == "No file matches 'data/*.parquet'."
    write_parquet(PEOPLE, Path("data/p.parquet"))
    assert refusal("data") == (
        "'data' has files of several kinds (.csv, .parquet); name those of one, for example 'data/**/*.csv'."
    )
    assert open_source("data/**/*.csv").read().num_rows == 240
    Path("data/p.parquet").unlink()
    Path("data/README.md").write_text(SECRET)
    assert open_source("data").notes == ("Files of data with other endings (.md) are not read: 1.",)
    Path("data/x=1").mkdir()
    write_csv(PEOPLE, Path("data/x=1/p.csv"))
    assert refusal("data").startswith("x=1/p.csv lies in a folder that says 'x', and p0.csv does not;")
    Path("books").mkdir()
    Path("books/a.xlsx").write_text(SECRET)
    assert refusal("books").startswith("'books' has files that are read one at a time (.xlsx); name one of them")
    os.mkfifo("data/pipe.csv")
    assert "pipe or a device" in refusal("data")
    Path("delta/_delta_log").mkdir(parents=True)
    write_parquet(PEOPLE, Path("delta/p.parquet"))
    told = refusal("delta/*.parquet")
    assert "delta' is a Delta table, whose folder also holds records that were deleted; name that folder" in told


def test_a_file_may_be_called_as_a_pattern(folder: Path) -> None:
    write_csv(PEOPLE, Path("a[1].csv"))
    assert open_source("a[1].csv").read().num_rows == 240


def test_damaged_files_are_named(folder: Path) -> None:
    scattered(".parquet", where="data/x={}/part")
    Path("data/x=2/part.parquet").write_bytes(b"PAR1 not whole")
    assert refusal("data") == "x=2/part.parquet is not a Parquet file, or it is damaged or cut short."
    for i in range(2):
        Path(f"packed/{i}.csv.gz").parent.mkdir(exist_ok=True)
        Path(f"packed/{i}.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 99999)[: 300 if i else None])
    assert "1.csv.gz" in refusal("packed")


def test_files_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may read all files: what Arrow and the system would say is said for them."""
    for ending, name in ((".parquet", "p2.parquet"), (".csv", "p2.csv"), (".arrow", "p2.arrow")):
        scattered(ending, where=f"{ending[1:]}/p{{}}")
        real = file_bytes.by_range, file_bytes.in_order

        def refused(path: Path, *others: str | None, at: int = ending == ".csv") -> Any:
            if path.name == name:  # noqa: B023
                raise PermissionError(13, "Permission denied", str(path))
            return real[at](path, *others)  # noqa: B023

        with monkeypatch.context() as patched:
            for module in (parquet, arrow):
                patched.setattr(module, "by_range", refused)
            patched.setattr(csv_module, "in_order", refused)
            patched.setattr(os, "access", lambda path, _: Path(path).name != name)  # noqa: B023
            assert refusal(ending[1:]) == f"{name} cannot be read: permission is denied."

    def walk(*_: Any, onerror: Callable[[OSError], None], **__: Any) -> Any:
        onerror(PermissionError(13, "Permission denied", "parquet/sub"))

    monkeypatch.setattr(os, "walk", walk)
    assert refusal("parquet") == "The folder 'parquet/sub' cannot be read: permission is denied."


def test_a_change_between_two_passes_is_refused(folder: Path) -> None:
    scattered(".parquet")
    source = open_source("data")
    passes = source.batches()
    next(passes)
    os.utime("data/p1.parquet", (1, 1))
    with pytest.raises(InputError, match=r"^p1.parquet of data has changed while it was read; start again\.$"):
        list(passes)
    source = open_source("data")
    Path("data/p2.parquet").unlink()
    with pytest.raises(InputError, match=r"^p2.parquet of data is gone while it was read"):
        list(source.batches())
    source = open_source("data")
    write_parquet(PEOPLE, Path("data/new.parquet"))
    with pytest.raises(InputError, match=r"^data has other files than when it was opened; start again\.$"):
        list(source.batches())


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("engine", ["memory", "rothko-t"])
def test_the_release_does_not_hang_on_how_the_files_are_called(folder: Path, ending: str, engine: str) -> None:
    step = 60
    for i in range(4):
        for order, name in (("data", i), ("back", 3 - i)):
            WRITE[ending](PEOPLE.slice(i * step, step), Path(f"{order}/{name}{ending}"))
    WRITE[ending](PEOPLE, Path(f"one{ending}"))
    asked = {"qi": ["age", "zip"], "sensitive": "disease", "k": 5, "engine": engine, "method": "mondrian"}
    saved = [rk.anonymize(data, **asked).save(f"out-{i}/", report=False).data
             for i, data in enumerate((f"one{ending}", "data", "back", f"data/*{ending}"))]  # fmt: skip
    assert {path.suffix for path in saved} == {ending}
    assert len({path.read_bytes() for path in saved}) == 1
    assert rk.check("data", qi=["age", "zip"], sensitive="disease", k=2).verification.rows == 240
    # A folder of a release is the table in it.
    assert rk.check("out-0", qi=["age", "zip"], sensitive="disease", k=5).holds
    policy = rk.Policy.quick(PEOPLE, qi=["age", "zip"], sensitive="disease", k=5)
    assert rk.measure("data", "out-0/", policy) == rk.measure(PEOPLE, saved[0], policy)


def test_a_release_does_not_go_where_it_would_be_read(folder: Path) -> None:
    scattered(".parquet")
    release = rk.anonymize("data", qi=["age", "zip"], sensitive="disease", k=5)
    for out in ("data/", "data/out/", "data/release.parquet"):
        with pytest.raises(OutputError, match="lies in the folder that is read"):
            release.save(out)


def test_a_release_does_not_go_where_the_pattern_would_find_it(folder: Path) -> None:
    scattered(".csv")
    here = [*sorted(folder.rglob("*"))]
    release = rk.anonymize("data/**/*.csv", qi=["age", "zip"], sensitive="disease", k=5)
    for out in ("data/release.csv", folder / "data" / "release.csv", "data/out/"):
        with pytest.raises(OutputError, match="is a name that the pattern of the input stands for, too"):
            release.save(out)
    assert sorted(folder.rglob("*")) == here
    (folder / "data" / "out").mkdir()
    for parts, out in ((None, "release.csv"), (None, "data/release.tsv"), ("64MB", "data/.out/")):
        release.save(out, parts=parts)
    (folder / "people[1].csv").write_bytes((folder / "release.csv").read_bytes())
    rk.anonymize("people[1].csv", qi=["age", "zip"], sensitive="disease", k=5).save("people1.csv")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_labels_of_all_files_are_more_than_the_codes_of_one_can_count(folder: Path, ending: str) -> None:
    Path("data").mkdir()
    expected = []
    for i in range(4):
        labels = [f"{i}/{j}" for j in range(100)]
        codes = pa.array([*range(100), None], pa.int8())
        WRITE[ending](pa.table({"zip": pa.DictionaryArray.from_arrays(codes, labels)}), Path(f"data/{i}{ending}"))
        expected += [*labels, None]
    source = open_source(Path("data"))
    assert source.read()["zip"].to_pylist() == expected
    assert [one for piece in source.batches() for one in piece["zip"].to_pylist()] == expected


def test_a_folder_of_many_small_files(folder: Path) -> None:
    Path("data").mkdir()
    table = PEOPLE.slice(0, 1)
    write_parquet(table, Path("data/0.parquet"))
    for i in range(1, 500):
        os.link("data/0.parquet", f"data/{i}.parquet")
    source = open_source("data")
    assert source.rows == source.read().num_rows == 500
    assert sum(batch.num_rows for batch in source.batches()) == 500


# ── Files that are named one by one


def test_files_that_are_named_are_one_table(folder: Path) -> None:
    scattered(".parquet", where="data/year=202{}/p")
    named = sorted(str(path) for path in Path("data").rglob("*.parquet"))
    both = open_source(named), open_source("data/*/*.parquet")  # the pattern, and what a shell makes of it
    assert both[0].names == both[1].names == ("age", "zip", "disease", "year")
    assert both[0].read() == both[1].read()
    assert both[0].label == f"{named[0]} (and {len(named) - 1} more)"
    assert open_source([named[0], *map(Path, named[:0:-1])]).read() == both[0].read()
    assert open_source(named[:1]).names == ("age", "zip", "disease")
    assert open_source(["data/year=2020", *named[1:]]).read() == both[0].read()
    os.utime(named[0], (1, 1))
    with pytest.raises(InputError, match=rf"^p.parquet of {re.escape(both[0].label)} has changed"):
        both[0].read()


def test_files_that_cannot_be_named_together(folder: Path) -> None:
    scattered(".csv")
    os.symlink("p0.csv", "data/link.csv")
    for again in ("data/p0.csv", "./data/../data/p0.csv", "data/p*.csv", "data/link.csv"):
        assert refusal(["data/p0.csv", again]).endswith(
            "is named twice, and its records would count twice; name it once."
        )
    assert refusal(["data/p0.csv", "data/p9.csv"]) == "There is no file 'data/p9.csv'."
    write_parquet(PEOPLE, Path("p.parquet"))
    assert refusal(["data/p0.csv", "p.parquet"]) == (
        "'data/p0.csv (and 1 more)' has files of several kinds (.csv, .parquet); name those of one."
    )
    assert refusal(["data/p0.csv", "sqlite:///a.db?table=t"]).startswith(
        "Several tables are read as one where they are"
    )
    assert refusal(["data/p0.csv", "data/p1.csv"], CsvOptions(format="csv")).endswith("they have endings.")


# ── Tables in lakes


@pytest.mark.parametrize(
    ("inside", "kind"), [("_delta_log/0.json", "a Delta"), ("metadata/v1.metadata.json", "an Iceberg")]
)
def test_folders_of_lakes_are_not_read_as_files(folder: Path, inside: str, kind: str) -> None:
    (folder / "lake" / inside).parent.mkdir(parents=True)
    (folder / "lake" / inside).write_text("{}")
    (folder / "lake" / "deleted.csv").write_text("age\n1\n")
    (folder / "lake" / "other.csv").write_text("age\n1\n")
    (folder / "lake" / "year=2026").mkdir()
    (folder / "lake" / "year=2026" / "old.csv").write_text("age\n1\n")
    if kind == "an Iceberg":
        assert "lake' is an Iceberg table" in refusal("lake")
    for names in ("lake/*.csv", ["lake/deleted.csv", "lake/other.csv"], ".", "lake/other.csv", "lake/year=2026/",
                  "lake/year=2026/old.csv", "lake/*/*.csv"):  # fmt: skip
        assert f"lake' is {kind} table" in refusal(names)


def test_a_file_of_few_bytes_with_many_records_is_not_read_as_a_whole(tmp_path: Path) -> None:
    for name, rows in (("many", 3_000_000), ("few", 1000)):
        pq.write_table(pa.table({"a": pa.repeat(1, rows)}), tmp_path / f"{name}.parquet")
    many, few = open_source(tmp_path / "many.parquet"), open_source(tmp_path / "few.parquet")
    assert many.bytes < 100_000
    assert (is_small(many), is_small(few)) == (False, True)
