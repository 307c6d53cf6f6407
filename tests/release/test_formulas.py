"""Cells that a spreadsheet takes for formulas: escaped where they are written, and read as if they were not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import rothko as rk
from rothko.errors import PolicyError
from rothko.policy.policy import Policy
from rothko.release.formulas import escaped, is_formula, unescaped, unescaped_sql

CELLS = ["=1+1", "+cmd|' /C calc'!A0", "-5", "-5.5e3", "+7", "- 5", "-5 kg", "@sum", "\tx", "\rx", "a=b", "", "'=x",
         "'tis", "-inf", "=", "-", "1-2", "ж=1", " =1"]  # fmt: skip


def rule(cell: str) -> bool:
    """The rule in plain Python."""
    try:
        number = bool(float(cell)) or True
    except ValueError:
        number = False
    return cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not number


def test_the_rule() -> None:
    assert is_formula(pa.array(CELLS)).to_pylist() == [bool(cell) and rule(cell) for cell in CELLS]
    written = escaped(pa.array(CELLS)).to_pylist()
    assert written == [f"'{cell}" if rule(cell) else cell for cell in CELLS]
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.register("cells", pa.table({"t": written}))
        by_sql = connection.sql(f"SELECT {unescaped_sql('t')} AS t FROM cells").to_arrow_table()["t"].to_pylist()
    assert by_sql == unescaped(pa.array(written)).to_pylist()
    assert by_sql == ["=x" if cell == "'=x" else cell for cell in CELLS]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def people() -> dict[str, list[Any]]:
    return {
        "age": list(range(24)),
        "town": ["-north", "=south", "+1 west"] * 8,
        "disease": ["=HYPERLINK(1)", "flu", "-", "-5"] * 6,
        "note": ["@x", "plain"] * 12,
        "change": [-1, 2] * 12,
    }


def asked(**more: Any) -> Policy:
    return Policy(
        columns={
            "age": {"role": "quasi-identifier"},
            "town": {"role": "quasi-identifier"},
            "disease": {"role": "sensitive"},
            "note": {"role": "keep"},
            "change": {"role": "keep"},
        },
        privacy=[{"k-anonymity": {"k": 4}}, {"distinct-l-diversity": {"l": 2, "of": "disease"}}],
        missing=["-"],
        **more,
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_formulas_are_escaped_in_text_files_and_it_is_said(tmp_path: Path, engine: str, ending: str) -> None:
    saved = rk.anonymize(people(), asked(), engine=engine).save(tmp_path / f"release{ending}")
    said = [note for note in saved.certificate.notes if "spreadsheet" in note]
    if ending == ".parquet":
        assert said == []
        return
    [note] = said
    assert "'disease', 'note'" in note
    assert "HYPERLINK" not in json.dumps(saved.certificate.to_dict()["notes"])
    released = rows(saved.data)
    assert sorted(row["disease"] for row in released) == sorted(["'=HYPERLINK(1)", "flu", "'-", "-5"] * 6)
    assert {row["note"] for row in released} == {"'@x", "plain"}
    assert {row["change"] for row in released} == {"-1", "2"}
    assert not any(rule(cell) for row in released for cell in row.values())
    assert rk.check(saved.data, asked()).holds
    assert rk.measure(people(), saved.data, asked()).gcp == pytest.approx(saved.certificate.loss.gcp)


def test_a_token_that_is_escaped_still_means_missing(tmp_path: Path) -> None:
    """'-' and the empty text are one value, also where the file has '- with an apostrophe."""
    table = {"age": [1] * 4, "s": ["-", "", "-", ""]}
    (tmp_path / "release.csv").write_text("age,s\n1,'-\n1,\n1,'-\n1,\n")
    policy = Policy.quick(table, qi=["age"], sensitive=["s"], l=2, missing=["-"])
    assert rk.check(tmp_path / "release.csv", policy).verification.findings[0].achieved == 1


def test_they_are_left_as_they_are_where_the_policy_says_so(tmp_path: Path) -> None:
    policy = asked(csv={"escape-formulas": False})
    saved = rk.anonymize(people(), policy).save(tmp_path / "release.csv")
    assert "=HYPERLINK(1)" in {row["disease"] for row in rows(saved.data)}
    assert not any("spreadsheet" in note for note in saved.certificate.notes)
    assert "csv: {escape-formulas: false}" in policy.dump()
    assert Policy.parse(policy.dump()) == policy
    assert policy != asked()


@pytest.mark.parametrize(
    ("csv_form", "told"),
    [
        ({"escape-formulas": "yes"}, "csv.escape-formulas: must be true or false"),
        ({"escape": True}, "unknown key 'escape'.*escape-formulas"),
        (True, "csv: must be a mapping such as"),
    ],
)
def test_mistakes_are_told(csv_form: Any, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        asked(csv=csv_form)
