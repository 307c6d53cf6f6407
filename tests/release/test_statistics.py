"""Releases as files of statistics programs: every value as it was, labels of values that occur, and nothing else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.source import statistics_file
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.source.statistics_file import texts_of
from rothko.errors import MissingExtraError, OutputError, PrivacyWarning, VerificationError
from rothko.release.formats import variables
from rothko.release.formats.by_labels import view_of_labels
from rothko.release.sql import connect
from rothko.release.write import write_table
from tests.command import Rothko
from tests.engine import small

SECRET = "SECRET-4711"
ENDINGS = (".dta", ".sav")
READERS: dict[str, Any] = {".dta": pyreadstat.read_dta, ".sav": pyreadstat.read_sav}
WRITERS: dict[str, Any] = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav}
LABELS = {
    "sex": {1.0: "male", 2.0: "female", 3.0: SECRET},
    "income": {98.0: "refused", 99.0: SECRET},
    "ward": {float(i): f"ward {i}" for i in range(6)} | {77.0: SECRET},
}
POLICY = """
columns:
  name: {role: identifier}
  age: {role: quasi-identifier}
  ward: {role: quasi-identifier}
  sex: {role: keep}
  income: {role: keep}
  born: {role: keep}
  note: {role: sensitive}
privacy:
  - k-anonymity: {k: 5}
method: mondrian
"""


def people(path: Path, count: int = 60) -> Path:
    frame = pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(count)],
            "age": [20.0 + i % 40 for i in range(count)],
            "ward": [float(i % 6) for i in range(count)],
            "sex": [1.0 + i % 2 if i % 9 else np.nan for i in range(count)],
            "income": [98.0 if i % 4 == 0 else 1000.0 + i for i in range(count)],
            "born": [dt.date(1980, 1, 1 + i % 28) for i in range(count)],
            "note": [["flu", "", "Grippe ü", "none"][i % 4] for i in range(count)],
        }
    )
    WRITERS[path.suffix](frame, str(path), variable_value_labels=LABELS, file_label=SECRET)
    return path


def texts(path: Path) -> pa.Table:
    return pa.Table.from_batches(list(texts_of(path).batches()))


def everything(ending: str) -> pa.Table:
    moment = dt.datetime(2024, 2, 29, 13, 5, 7)
    return pa.table(
        {
            "whole": [1, -(10**15), None],
            "small": pa.array([-127, 100, None], pa.int8()),
            "edge": [101, -127, None],
            "wider": [32_741, -32_767, None],
            "widest": [2_147_483_621, 1, None],
            "huge": [2**60, 1, None],
            "real": [1 / 3, 1e300, float("nan")],
            "single": pa.array([0.1, 2.5, None], pa.float32()),
            "endless": [float("inf"), 1.5, None],
            "text": ["=1+1", "Zoë\n€", None],
            "day": [dt.date(2024, 2, 29), dt.date(1859, 2, 28), None],
            "seen": pa.array([moment, moment.replace(year=1899, day=28), None], pa.timestamp("us")),
            "fine": pa.array([moment.replace(microsecond=123456), moment, None], pa.timestamp("us")),
            "zone": pa.array([moment, moment, None], pa.timestamp("us", "UTC")),
            "true": [True, False, None],
            "decimal": [Decimal("1.50"), Decimal("123456789012.75"), None],
            "digits": [Decimal("1.5"), Decimal("12345678901234567.5"), None],
            "void": pa.array([None, None, None], pa.int64()),
            "list": [["a"], [], None],
        }
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_values_are_read_as_they_were(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    table = everything(ending)
    write_table(table, path)
    read = open_source(path).read()
    assert read.column_names == table.column_names
    same = ("whole", "small", "edge", "wider", "widest", "text", "day", "seen")
    assert {name: read[name].to_pylist() for name in same} == {name: table[name].to_pylist() for name in same}
    found = {name: column for name, column in texts(path).to_pydict().items() if name not in same}
    assert found == {
        "huge": ["1152921504606846976", "1", None],
        "real": ["0.3333333333333333", "1e+300", None],
        "single": ["0.1", "2.5", None],
        "endless": ["inf", "1.5", None],
        "fine": ["2024-02-29 13:05:07.123456", "2024-02-29 13:05:07.000000", None],
        "zone": ["2024-02-29 13:05:07.000000Z", "2024-02-29 13:05:07.000000Z", None],
        "true": ["true", "false", None],
        "decimal": ["1.5", "1.2345678901275e+11", None],
        "digits": ["1.5", "12345678901234567.5", None],
        "void": [None, None, None],
        "list": ['["a"]', "[]", None],
    }


def test_pandas_reads_a_file_of_stata(tmp_path: Path) -> None:
    path = tmp_path / "out.dta"
    write_table(everything(".dta"), path, labels={"true": {}, "small": {100.0: "most"}})
    frame = pd.read_stata(path, convert_categoricals=False)
    assert frame["whole"].tolist()[:2] == [1, -(10**15)]
    assert frame["edge"].dropna().tolist() == [101, -127]
    assert frame["text"].tolist() == ["=1+1", "Zoë\n€", ""]
    assert frame["day"].dt.date.tolist()[:2] == [dt.date(2024, 2, 29), dt.date(1859, 2, 28)]
    assert frame["seen"].tolist()[0] == dt.datetime(2024, 2, 29, 13, 5, 7)
    assert frame["real"].isna().tolist() == [False, False, True]
    with pd.read_stata(path, iterator=True) as reader:
        assert (reader.data_label, reader.time_stamp, set(reader.variable_labels().values())) == ("", "", {""})
        assert reader.value_labels() == {"labels1": {100: "most"}, "labels14": {0: "false", 1: "true"}}


@settings(max_examples=25)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9), max_size=6),
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), max_size=6),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6),
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_any_values(
    tmp_path_factory: pytest.TempPathFactory, ending: str, words: list[str], reals: list[float], wholes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("x") / f"out{ending}"
    words = [word.rstrip(" ") for word in words]
    for values, kind in ((words, pa.string()), (reals, pa.float64()), (wholes, pa.int64())):
        write_table(pa.table({"x": pa.array([*values, None], kind)}), path)
        found = texts(path)["x"].to_pylist()
        assert [None if text is None else kind.to_pandas_dtype()(text) for text in found] == [
            value if value != "" else None for value in (*values, None)
        ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_stay_where_values_are(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    table = pa.table({"sex": ["male", None, "male"], "income": [98, 1500, None], "ward": ["ward 1", "{x}", None]})
    write_table(table, path, labels=LABELS)
    assert SECRET.encode() not in path.read_bytes()
    assert b"female" not in path.read_bytes()
    frame, meta = READERS[ending](path)
    assert meta.variable_value_labels == {"sex": {1: "male"}, "income": {98: "refused"}}
    assert frame["sex"].tolist()[0] == 1
    assert frame["ward"].tolist()[1] == "{x}"
    assert open_source(path).read().to_pydict() == table.to_pydict()
    # Where all values that are left have a label, a reader would take the label for the value.
    write_table(pa.table({"income": [98, 98, None]}), path, labels=LABELS)
    assert open_source(path).read()["income"].to_pylist() == [98, 98, None]
    assert not READERS[ending](path)[1].variable_value_labels


def test_a_label_of_nobody_is_found_by_the_verifier(tmp_path: Path) -> None:
    path = tmp_path / "out.dta"
    pyreadstat.write_dta(
        pd.DataFrame({"sex": [1, 2]}), path, variable_value_labels={"sex": {1: "m", 2: "f", 3: SECRET}}
    )
    with connect(1) as connection, pytest.raises(VerificationError, match=r"do not occur, in 'sex'") as told:
        view_of_labels(connection, path, "released")
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_released_as_one(tmp_path: Path, ending: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = people(tmp_path / f"people{ending}")
    monkeypatch.setattr(variables, "BLOCK", 7)
    monkeypatch.setattr(variables, "BLOCK_BYTES", 500)
    monkeypatch.setattr(statistics_file, "CELLS", 50)
    policy = rk.Policy.parse(POLICY).but(engine=small(engine))
    one, other = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    for path in (one, other):
        rk.anonymize(data, policy, seed=1, key=b"0123456789abcdef").save(path)
    assert one.read_bytes() == other.read_bytes()
    for hidden in (SECRET, "Person", "people"):
        assert hidden.encode() not in one.read_bytes()
    frame, meta = READERS[ending](one)
    assert meta.variable_value_labels == {"sex": {1: "male", 2: "female"}, "income": {98: "refused"}}
    assert meta.readstat_variable_types["age"] == meta.readstat_variable_types["ward"] == "string"
    assert len(frame) == 60
    original, table = open_source(data).read(), open_source(one).read()
    for name in ("sex", "income", "born", "note"):
        assert sorted(map(str, table[name].to_pylist())) == sorted(map(str, original[name].to_pylist()))
    assert rk.check(one, policy).holds
    assert {path.name for path in tmp_path.iterdir() if path.suffix == ending} == {data.name, one.name, other.name}


@pytest.mark.parametrize("publish", ["mean", "bounds"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_what_classes_publish_has_no_labels(tmp_path: Path, ending: str, publish: str, engine: str) -> None:
    """A mean of 98 is nobody who has refused, and a class that shows one label shows a text."""
    data = people(tmp_path / f"people{ending}")
    roles = POLICY.replace("income: {role: keep}", "income: {role: quasi-identifier}")
    policy = rk.Policy.parse(roles + f"publish: {publish}\n").but(engine=small(engine))
    rk.anonymize(data, policy, seed=1).save(tmp_path / f"out{ending}")
    frame, meta = READERS[ending](tmp_path / f"out{ending}")
    assert set(meta.variable_value_labels) == {"sex"}
    assert b"refused" not in (tmp_path / f"out{ending}").read_bytes()
    shown = frame["income" if publish == "mean" else "income_min"]
    assert shown.between(98, 1100).all()


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_records_are_a_file(tmp_path: Path, ending: str) -> None:
    write_table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}), tmp_path / f"out{ending}")
    assert texts(tmp_path / f"out{ending}").to_pydict() == {"a": [], "b": []}


@pytest.mark.parametrize("ending", ENDINGS)
def test_commands_take_and_give_them(tmp_path: Path, ending: str, rothko: Rothko) -> None:
    data = people(tmp_path / f"people{ending}")
    policy, out = tmp_path / "policy.yaml", tmp_path / "out"
    policy.write_text(POLICY)
    ran = rothko("anonymize", data, "--policy", policy, "--out", out, "--recoding", tmp_path / "phi.json")
    assert ran.code == 0, ran.err
    release = out / f"release{ending}"
    for line in (
        ("check", release, "--policy", policy),
        ("measure", data, release, "--policy", policy),
        ("report", release, "-o", tmp_path / "report.html"),
        ("apply", tmp_path / "phi.json", data, "--out", tmp_path / f"new{ending}"),
    ):
        ran = rothko(*line)
        assert ran.code == 0, ran.err
    assert SECRET.encode() not in (tmp_path / f"new{ending}").read_bytes()
    assert READERS[ending](tmp_path / f"new{ending}")[1].variable_value_labels["sex"] == {1: "male", 2: "female"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_anatomy_and_text_files(tmp_path: Path, ending: str) -> None:
    data = tmp_path / "people.csv"
    lines = "".join(f"{20 + i % 10},0{i % 7},{i / 8},{1980 + i % 3}-02-03\n" for i in range(80))
    data.write_text("age,code,cost,born\n" + lines)
    rk.anonymize(data, qi=["age"], keep=["code", "cost", "born"], k=5).save(tmp_path / f"out{ending}")
    read = open_source(tmp_path / f"out{ending}").read().schema
    assert [str(read.field(name).type) for name in ("code", "cost", "born")] == ["string", "double", "date32[day]"]
    with pytest.warns(PrivacyWarning, match="exact quasi-identifiers"):
        release = rk.anonymize(data, qi=["age"], sensitive=["code"], drop=["cost", "born"], l=3, method="anatomy")
    release.save(tmp_path / f"pair{ending}")
    assert (tmp_path / f"pair{ending}").is_file()


@pytest.mark.parametrize("name", ["patient id", "2nd", "x" * 33, "a-b", "", "_all", "str5", "größe €"], ids=range(8))
def test_names_that_stata_does_not_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"no name of a variable.*rename the column.*write \.csv"):
        write_table(pa.table({"größe_2": [1], name: [1]}), tmp_path / "a.dta")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "names", [["patient id"], ["_x"], ["x" * 65], ["ü" * 33], ["a."], ["with"], ["age", "Age"], ["$x"]], ids=range(8)
)
def test_names_that_spss_does_not_have(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(OutputError, match=r"no name of a variable.*rename the column.*write \.csv"):
        write_table(pa.table({"größe.2": [1], **{name: [1] for name in names}}), tmp_path / "a.sav")
    assert not list(tmp_path.iterdir())


def test_names_of_spss_in_the_file_are_its_own(tmp_path: Path) -> None:
    names = ["a_long_name_of_a_column", "V1", "größe", "v2", "x" * 64, "another_long_name", "ü" * 32]
    write_table(pa.table({name: [f"{i}" * 300, "x"] for i, name in enumerate(names)}), tmp_path / "a.sav")
    read = pyreadstat.read_sav(tmp_path / "a.sav")[0]
    assert list(read.columns) == names
    assert read.iloc[0].tolist() == [f"{i}" * 300 for i in range(len(names))]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("width", [1, 8, 9, 252, 253, 255, 256, 504, 505, 510, 511, 1021, 2045])
def test_long_texts(tmp_path: Path, ending: str, width: int) -> None:
    path = tmp_path / f"out{ending}"
    text = ("aäbcdefg" * width).encode()[:width].decode(errors="ignore")
    table = pa.table({"before": [1, 2], "text": [text, "ü"], "after": ["x", None]})
    write_table(table, path)
    assert open_source(path).read().to_pydict() == table.to_pydict()


def test_blanks_that_spss_would_lose(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="Column 'a' has texts with blanks at their end"):
        write_table(pa.table({"a": ["x "]}), tmp_path / "a.sav")
    write_table(pa.table({"a": ["x "]}), tmp_path / "a.dta")
    assert open_source(tmp_path / "a.dta").read()["a"].to_pylist() == ["x "]


@pytest.mark.parametrize("ending", ENDINGS)
def test_more_than_a_file_holds(tmp_path: Path, ending: str) -> None:
    for values, said in ((["x" * 40_000], "texts of more than"), (["a\0b"], "texts with a character NUL")):
        with pytest.raises(OutputError, match=f"Column 'a' has {said}"):
            write_table(pa.table({"a": values}), tmp_path / f"a{ending}")


def test_more_variables_than_stata_has(tmp_path: Path) -> None:
    table = pa.table({f"v{i}": [1] for i in range(32_768)})
    with pytest.raises(OutputError, match="at most 32,767 variables"):
        write_table(table, tmp_path / "a.dta")


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_are_refused_before_any_work(
    tmp_path: Path, ending: str, rothko: Rothko, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Source, "read", lambda *_, **__: pytest.fail("it was read"))
    data = tmp_path / "people.csv"
    data.write_text("age,my note\n" + "".join(f"{20 + i % 3},x\n" for i in range(30)))
    ran = rothko("anonymize", data, "--qi", "age", "--keep", "my note", "--k", "5", "--out", tmp_path / f"o{ending}")
    assert ran.code == 2
    assert "'my note': no name of a variable" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_writing_needs_the_reader(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rothko\[stat\]'"):
        write_table(pa.table({"a": [1]}), tmp_path / f"a{ending}")
    assert not list(tmp_path.iterdir())
