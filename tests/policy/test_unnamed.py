"""Columns that nobody names are refused, with what they look like and what to add; identifiers even with the rest."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.errors import PolicyError
from rothko.generate.patients import patients
from rothko.policy import unnamed
from rothko.policy.draft import draft
from tests.command import Rothko

ROWS = 200
COLUMNS: dict[str, list[Any]] = {
    "name": ["Ann", "Bob"] * (ROWS // 2),
    "contact": [f"p{i}@example.org" for i in range(ROWS)],
    "konto": [f"DE{i % 90:02}3704004405320130{i % 70:02}" for i in range(ROWS)],
    "number": list(range(1, ROWS + 1)),
    "code": [f"x{i}" for i in range(ROWS)],
    "age": [20 + i % 60 for i in range(ROWS)],
    "city": ["Bern", "Basel", "Zug", "Chur"] * (ROWS // 4),
    "disease": ["flu", "cold", "asthma", "gout"] * (ROWS // 4),
    "cost": [i * 1.5 for i in range(ROWS)],
    "country": ["CH"] * ROWS,
    "job, kind": ["a", "b"] * (ROWS // 2),
}
IDENTIFIERS = {"name", "contact", "konto", "number", "code"}


@pytest.fixture
def people(folder: Path) -> Path:
    pcsv.write_csv(patients(ROWS, seed=3), "patients.csv")
    return folder


ASKED = ("anonymize", "patients.csv", "--k", 5, "--out", "out.csv", "--qi")


def test_nothing_leaves_that_nobody_named(people: Path, rothko: Rothko) -> None:
    ran = rothko(*ASKED, "sex,zip")
    assert ran.code == 2
    for name in ("name", "birth_date", "education", "diagnosis", "cost"):
        assert repr(name) in ran.err
    assert "'name' (looks like an identifier: a name, by its name)" in ran.err
    cells = [cell for column in patients(ROWS, seed=3).columns for cell in map(str, column.unique().to_pylist())]
    assert not [cell for cell in cells if re.search(rf"\b{re.escape(cell)}\b", ran.err)]
    assert [path.name for path in people.iterdir()] == ["patients.csv"]


def test_the_words_that_are_said_are_those_to_add(people: Path, rothko: Rothko) -> None:
    said = rothko(*ASKED, "sex,zip").err
    roles = re.search(r"Add (.*) if that is what they are, or (.*) to release the others", said)
    assert roles
    for words in roles.groups():
        ran = rothko(*ASKED, "sex,zip", *shlex.split(words), "--overwrite")
        assert ran.code == 0, ran.err
        assert "name" not in Path("out.csv").read_text().splitlines()[0].split(",")
    refused = rothko(*ASKED, "sex,zip", "--keep-rest", "--overwrite").err
    assert "1 column that --keep-rest does not release: 'name'" in refused
    for words in re.findall(r"(--\w+ \w+)(?=, or| if)", refused):
        assert rothko(*ASKED, "sex,zip", "--keep-rest", *words.split(), "--overwrite").code == 0
        assert ("name" in Path("out.csv").read_text().splitlines()[0].split(",")) == ("--keep name" in words)


def test_python_says_keywords(people: Path) -> None:
    with pytest.raises(PolicyError) as told:
        rk.anonymize("patients.csv", qi="sex", k=5)
    words = re.search(r"Add (.*) if that is what they are, or (.*) to release", str(told.value))
    assert words
    for said in words.groups():
        asked: dict[str, Any] = {"qi": "sex"} | eval(f"dict({said})")
        assert "name" in rk.anonymize("patients.csv", k=5, **asked).certificate.policy.identifiers
    assert "--" not in str(told.value)


@settings(deadline=None)
@given(st.sets(st.sampled_from(sorted({*COLUMNS} - {"age"}))), st.booleans())
def test_refused_is_what_is_not_named_and_with_the_rest_what_a_draft_calls_an_identifier(
    unnamed_columns: set[str], keep_rest: bool
) -> None:
    named = [name for name in COLUMNS if name not in unnamed_columns and name != "age"]
    telling = {p.name for p in draft(COLUMNS).proposals if p.column.role.value == "identifier"}
    assert telling == IDENTIFIERS
    expected = unnamed_columns & telling if keep_rest else unnamed_columns
    asked: dict[str, Any] = {"qi": "age", "keep": named, "keep_rest": keep_rest, "k": 5}
    if expected:
        with pytest.raises(PolicyError) as told:
            rk.Policy.quick(COLUMNS, **asked)
        assert {name for name in COLUMNS if repr(name) in str(told.value).partition(" Add ")[0]} == expected
    else:
        assert set(rk.Policy.quick(COLUMNS, **asked).kept) == {*COLUMNS} - {"age"}


def test_of_names_alone_the_names_tell() -> None:
    with pytest.raises(PolicyError, match=r"'Surname' \(looks like an identifier: a name, by its name\)"):
        rk.Policy.quick(["age", "Surname", "x"], qi="age", keep_rest=True, k=2)
    with pytest.raises(PolicyError, match=r"1 column that nothing is said of: 'x'\. Say keep=\['y', 'x'\] or"):
        rk.Policy.quick(["age", "y", "x"], qi="age", keep="y", k=2)
    assert rk.Policy.quick(["age", "Surname"], qi="age", keep="Surname", k=2).kept == ("Surname",)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_large_table_is_looked_at_by_a_sample(ending: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(COLUMNS)
    path = folder / f"people.{ending}"
    pcsv.write_csv(table, path) if ending == "csv" else pq.write_table(table, path)
    monkeypatch.setattr(unnamed, "WHOLE_BYTES", 0)
    monkeypatch.setattr(unnamed, "SAMPLED", ROWS // 2)
    with pytest.raises(PolicyError) as told:
        rk.Policy.quick(path, qi="age", keep_rest=True, k=5)
    found = {name for name in COLUMNS if repr(name) in str(told.value).partition(" Add ")[0]}
    assert found == IDENTIFIERS


def test_where_nothing_is_released_nothing_need_be_named(people: Path, rothko: Rothko) -> None:
    assert rothko("compare", "patients.csv", "--qi", "sex,zip", "--method", "mondrian", "--k", "5", "--json").code == 0
    [trial] = rk.compare("patients.csv", qi=["sex", "zip"], methods=["mondrian"], k=5).trials
    assert trial.k == 5


def test_a_check_looks_at_every_column(people: Path, rothko: Rothko) -> None:
    assert "'name' (looks like an identifier" in rothko("check", "patients.csv", "--qi", "sex", "--k", 2).err
    kept = ("--drop", "name", "--keep", "birth_date,education,diagnosis,cost,zip")
    ran = rothko("check", "patients.csv", "--qi", "sex", "--k", 2, *kept)
    assert (ran.code, "Identifiers are still there: name" in ran.out) == (4, True)
