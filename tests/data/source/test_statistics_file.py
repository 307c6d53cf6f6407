"""Files of SPSS, Stata and SAS: labels, declared missing values and dates as they are meant."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import rothko as rk
from rothko.data.source import statistics_file
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.errors import InputError, MissingExtraError
from tests.command import Rothko

SECRET = "SECRET-4711"
WRITERS: dict[str, Any] = {
    ".sav": pyreadstat.write_sav,
    ".zsav": lambda frame, path, **options: pyreadstat.write_sav(frame, path, compress=True, **options),
    ".por": pyreadstat.write_por,
    ".dta": pyreadstat.write_dta,
    ".xpt": pyreadstat.write_xport,
}
ENDINGS = tuple(WRITERS)
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 5, 7)


def people(count: int = 60) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": [1.0 + i % 2 for i in range(count)],
            "age": [20.0 + i % 40 for i in range(count)],
            "health": [float(1 + i % 3) for i in range(count)],
            "zip": [f"0{2000 + i % 7}" for i in range(count)],
        }
    )


LABELS = {
    "sex": {1.0: "male", 2.0: "female", 3.0: SECRET},
    "health": {1.0: "good", 2.0: "fair", 3.0: "bad"},
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_values_of_every_program(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people{ending}"
    frame = pd.DataFrame(
        {
            "WHOLE": [1.0, 2.0, np.nan],
            "REAL": [0.5, 1 / 3, -2.0],
            "TEXT": ["02139", "Zoe", ""],
            "BORN": [DAY, dt.date(1899, 12, 31), None],
            "SEEN": [MOMENT, dt.datetime(1970, 1, 1), None],
        }
    )
    WRITERS[ending](frame, str(path))
    source = open_source(path)
    table = source.read()
    assert table["BORN"].to_pylist() == [DAY, dt.date(1899, 12, 31), None]
    assert table["SEEN"].to_pylist() == [MOMENT, dt.datetime(1970, 1, 1), None]
    assert table["WHOLE"].to_pylist() == [1, 2, None]
    assert str(table["WHOLE"].type) == "int64"
    assert [text or None for text in table["TEXT"].to_pylist()] == ["02139", "Zoe", None]
    if ending not in (".por", ".xpt"):  # whose numbers are written with fewer digits
        assert table["REAL"].to_pylist() == [0.5, 1 / 3, -2.0]


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_pieces_are_the_table(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"people{ending}"
    frame = people(50)
    frame.loc[49, "age"] = 0.5  # only the last record tells that these are no whole numbers
    frame.loc[49, "sex"] = 7.0  # nor has it a label
    WRITERS[ending](frame, str(path), variable_value_labels=LABELS)
    whole = open_source(path).read()
    monkeypatch.setattr(statistics_file, "CELLS", 4 * 7)
    source = open_source(path)
    parts = list(source.batches())
    assert sum(part.num_rows for part in parts) == 50
    assert source.read().to_pydict() == whole.to_pydict()
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()
    assert str(whole["age"].type) == "double"
    assert str(whole["sex"].type) == "int64"
    assert set(whole["health"].to_pylist()) == {"good", "fair", "bad"}


def test_what_a_file_declares_missing_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    frame = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "age": [34.0, 98.0, 99.0], "code": ["a", "NA", "b"]})
    pyreadstat.write_sav(
        frame, str(path), variable_value_labels={"sex": {1: "male", 2: "female", 9: "refused"}},
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}], "code": ["NA"]},
    )  # fmt: skip
    read = open_source(path).read().to_pydict()
    assert read["sex"] == ["male", "female", None]
    assert read["age"] == [34, None, None]
    assert read["code"][0] == "a"


def test_labels_that_are_alike_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"x": [1.0, 2.0, 3.0]}), str(path), variable_value_labels={"x": {1: "no", 2: "no", 3: "yes"}}
    )
    assert open_source(path).read()["x"].to_pylist() == ["no (1)", "no (2)", "yes"]


def test_a_draft_knows_names_and_the_order_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    labels = {"health": {1.0: "good", 2.0: "fair", 3.0: "bad", 4.0: SECRET}}
    pyreadstat.write_sav(
        people(), str(path), variable_value_labels=labels, column_labels={"health": "Self-rated state"},
        variable_measure={"health": "ordinal"}, file_label=SECRET, note=SECRET,
    )  # fmt: skip
    draft = rk.draft(path)
    column = draft.policy.columns["health"]
    if column.role.value == "quasi-identifier":
        assert column.order == ("good", "fair", "bad")
    text = draft.to_yaml()
    assert "(Self-rated state)" in text
    assert SECRET not in text


def test_a_draft_goes_by_labels_of_columns_where_their_names_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    codes = pd.DataFrame({f"v{i}": [float(n * (i + 2) * (n + i) % 7) for n in range(70)] for i in range(5)})
    titles = ["Monatliches Einkommen", "Geschlecht", "Rating", "Do you think that your income will rise", "Note"]
    pyreadstat.write_sav(codes, str(path), column_labels=titles)
    why = {p.name: p.why for p in rk.draft(path).proposals}
    assert why["v0"] == "money, by its label; must not be learnt about a person (Monatliches Einkommen)"
    assert why["v1"].startswith("sex, by its label; may be known from elsewhere; whole numbers that stand for labels")
    assert [why[name].partition(",")[0] for name in ("v2", "v3", "v4")] == [
        "not recognised",
        "not recognised",
        "free text",
    ]


def test_nothing_but_values_leaves(tmp_path: Path, rothko: Rothko) -> None:
    path, out = tmp_path / "people.sav", tmp_path / "out"
    pyreadstat.write_sav(people(), str(path), variable_value_labels=LABELS, file_label=SECRET, note=SECRET)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "columns: {sex: {role: keep}, age: {role: quasi-identifier}, health: {role: sensitive}, zip: {role: keep}}\n"
        "privacy: [{k-anonymity: {k: 5}}]\nmethod: mondrian\n"
    )
    ran = rothko("anonymize", path, "--policy", policy, "--out", out, "--recoding", tmp_path / "phi.json")
    assert ran.code == 0, ran.err
    assert open_source(out / "release.sav").names == ("sex", "age", "health", "zip")
    for file in (*out.iterdir(), tmp_path / "phi.json"):
        assert SECRET.encode() not in file.read_bytes()
    for line in (
        ("check", out, "--policy", policy),
        ("measure", path, out, "--policy", policy),
        ("apply", tmp_path / "phi.json", path, "--out", tmp_path / "new.csv"),
        ("draft", path, "-o", tmp_path / "draft.yaml"),
    ):
        ran = rothko(*line)
        assert ran.code == 0, ran.err


@pytest.mark.parametrize("ending", [*ENDINGS, ".sas7bdat"])
def test_what_is_no_such_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people{ending}"
    path.write_text(f"age,name\n34,{SECRET}\n")
    with pytest.raises(InputError, match=f"is not a {ending} file, or it is damaged") as error:
        open_source(path).read()
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_file_cut_short(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people{ending}"
    WRITERS[ending](people(), str(path))
    whole = path.read_bytes()
    for cut in (10, 200, len(whole) // 2, len(whole) - 300):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="damaged"):
            list(open_source(path).batches())


def test_an_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    pyreadstat.write_sav(pd.DataFrame({"name": ["Zoe", "Jan"]}), str(path))
    assert open_source(path, csv=CsvOptions(encoding="latin-1")).read()["name"].to_pylist() == ["Zoe", "Jan"]
    with pytest.raises(InputError, match="'klingon' is not known"):
        open_source(path, csv=CsvOptions(encoding="klingon"))


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.sav"
    pyreadstat.write_sav(people(), str(path))
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rothko\[stat\]'"):
        open_source(path)


@pytest.mark.parametrize("form", ["DATE9", "MONNAME3", "YEAR4", "WEEKDATE17", "YYMMDD10"])
def test_a_day_of_sas_is_a_date_however_little_of_it_is_shown(form: str, tmp_path: Path) -> None:
    pyreadstat.write_xport(
        pd.DataFrame({"DAY": [12419.0, None]}), str(tmp_path / "a.xpt"), variable_format={"DAY": form}
    )
    assert open_source(tmp_path / "a.xpt").read()["DAY"].to_pylist() == [dt.date(1994, 1, 1), None]


@pytest.mark.parametrize(
    ("ending", "form", "number"),
    [
        (".dta", "%td", 1e10),  # more days than 32 bits count
        (".dta", "%td", 99_999_999.0),
        (".dta", "%tc", 1e22),
        (".sav", "DATE11", 1e300),
        (".xpt", "DATE9", -1e7),
    ],
)
def test_a_number_that_is_no_day_is_refused_and_never_another_day(
    tmp_path: Path, ending: str, form: str, number: float
) -> None:
    path = tmp_path / f"people{ending}"
    WRITERS[ending](pd.DataFrame({"DAY": [20_000.0, number, None]}), str(path), variable_format={"DAY": form})
    source = open_source(path)
    for passed in (source.read, lambda: list(source.batches())):
        with pytest.raises(InputError, match=rf"Column 'DAY' of people\{ending} has dates before year 1 or after 9999"):
            passed()


def test_a_time_that_is_no_time_of_a_day_stays_a_number(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pd.DataFrame({"T": [1.0, 1e300]}), str(path), variable_format={"T": "TIME8"})
    assert open_source(path).read()["T"].to_pylist() == [1.0, 1e300]
