"""How a text file is written lives in the policy: said once to ``draft``, and to no command again."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.csv as pcsv
import pytest
import yaml

import rothko as rk
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.errors import PolicyError
from rothko.policy.policy import Policy
from tests.command import Rothko

DISEASES = ["grippe", "erkältung", "gicht", "husten"]
ROWS = [[str(20 + i % 40), f"{'Köln' if i % 3 else 'Zürich'}", DISEASES[i % 4], f"no;te, {i % 3}"] for i in range(160)]
NAMES = ["alter", "wohnort", "krankheit", "was"]
FORMS: dict[str, dict[str, Any]] = {
    "semicolons": {"delimiter": ";"},
    "latin-1": {"encoding": "latin-1"},
    "utf-16": {"encoding": "utf-16-le", "delimiter": "tab"},
    "no header": {"header": False},
    "quotes": {"quote": "'", "delimiter": "|"},
    "all of it": {"delimiter": ";", "encoding": "cp1252", "quote": "'", "header": False},
}
OPTIONS = {
    "delimiter": "--delimiter {}",
    "encoding": "--encoding {}",
    "quote": "--quote {}",
    "header": "--no-header",
}


def write(path: Path, form: dict[str, Any], rows: list[list[str]] = ROWS) -> None:
    tab = form.get("delimiter", ",")
    with path.open("w", newline="", encoding=form.get("encoding", "utf-8")) as file:
        writer = csv.writer(file, delimiter="\t" if tab == "tab" else tab, quotechar=form.get("quote", '"'))
        writer.writerows([NAMES, *rows] if form.get("header", True) else rows)


@pytest.mark.parametrize("name", FORMS)
def test_what_is_said_to_draft_is_said_to_no_command_again(name: str, folder: Path, rothko: Rothko) -> None:
    form = FORMS[name]
    data, new = Path("my data & (old).csv"), Path("new ones.csv")
    write(data, form)
    write(new, form, ROWS[:40])
    said = [part.format(form[key]) for key, part in OPTIONS.items() if key in form]
    ran = rothko("draft", data, "--out", "my policy.yaml", *(word for one in said for word in one.split()))
    assert ran.code == 0, ran.err
    [following] = [line.removeprefix("Next: ") for line in ran.out.splitlines() if line.startswith("Next: ")]
    program, *words = shlex.split(following)
    assert program == "rothko"
    ran = rothko(*words, "--recoding", "release-recoding", "--accept-draft")
    assert ran.code == 0, ran.err
    for command in (
        ["check", "release/release.csv"],
        ["measure", data, "release/release.csv"],
        ["compare", data, "--method", "mondrian", "--k", "5"],
    ):
        ran = rothko(*command, "--policy", "my policy.yaml")
        assert ran.code == 0, (command, ran.out, ran.err)
    assert rothko("check", data, "--policy", "my policy.yaml").code == 4, "the original"
    ran = rothko("apply", "release-recoding", new, "--out", "recoded.csv")
    assert ran.code == 0, ran.err
    released = Path("release/release.csv").read_text("utf-8")
    assert all(disease in released for disease in DISEASES), "read as it is written"


@pytest.mark.parametrize("name", FORMS)
def test_a_policy_reads_what_was_drafted(name: str, tmp_path: Path) -> None:
    form = FORMS[name]
    path = tmp_path / "people.csv"
    write(path, form)
    said = {**form, "delimiter": "\t"} if form.get("delimiter") == "tab" else form
    policy = Policy.parse(rk.draft(path, csv=CsvOptions(**said)).to_yaml())
    again = open_source(path, csv=policy.input.options())
    assert again.read().to_pydict() == open_source(path, csv=CsvOptions(**said)).read().to_pydict()


def test_what_is_usual_is_not_written(tmp_path: Path) -> None:
    for ending in ("csv", "tsv"):
        write(tmp_path / f"people.{ending}", {"delimiter": "," if ending == "csv" else "tab"})
        assert "input" not in rk.draft(tmp_path / f"people.{ending}").policy.dump()
    table = pcsv.read_csv(tmp_path / "people.csv")
    assert "input" not in rk.draft(table).policy.dump()


def test_an_option_wins_over_the_policy(folder: Path, rothko: Rothko) -> None:
    write(Path("people.csv"), {"delimiter": ";"})
    write(Path("other.csv"), {"delimiter": "|"})
    rk.draft("people.csv").confirm().save("policy.yaml")
    assert rk.Policy.load("policy.yaml").input.delimiter == ";"
    asked = ("anonymize", "other.csv", "--policy", "policy.yaml", "--out", "out.csv")
    assert rothko(*asked).code == 2
    ran = rothko(*asked, "--delimiter", "|")
    assert ran.code == 0, ran.err
    assert rk.anonymize("other.csv", "policy.yaml", csv=CsvOptions(delimiter="|")).certificate.verification.holds


def test_a_release_that_has_no_more_than_latin_letters_far_down(folder: Path) -> None:
    """The first lines of the original are as good as UTF-8; what comes later is not."""
    rows = [[str(20 + i % 40), "Bern", "grippe", "x" * 60] for i in range(1500)]
    write(Path("people.csv"), {"encoding": "latin-1"}, [*rows, *ROWS])
    policy = rk.draft("people.csv", csv=CsvOptions(encoding="latin-1")).policy
    assert rk.check("people.csv", policy).verification.rows == len(rows) + len(ROWS)


WRONG = {
    "input: {delimiter: ;;}": "input.delimiter: must be one character, or tab, not ';;'",
    "input: {encoding: klingon}": "input.encoding: The encoding 'klingon' is not known",
    "input: {header: maybe}": "input.header: must be true or false, not 'maybe'",
    "input: {delimeter: ';'}": "input: unknown key 'delimeter'; did you mean 'delimiter'?",
    "input: latin-1": "input: must be a mapping such as {encoding: latin-1}, not 'latin-1'",
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_told_with_their_line(text: str) -> None:
    policy = "columns: {a: {role: quasi-identifier}}\nprivacy: [{k-anonymity: {k: 2}}]\n" + text
    with pytest.raises(PolicyError) as told:
        Policy.parse(policy)
    assert str(told.value).startswith(f"policy, line 3, {WRONG[text]}")
    if "klingon" not in text:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(Policy.json_schema()).validate(yaml.safe_load(policy))


def test_the_schema_takes_what_a_policy_takes() -> None:
    for form in FORMS.values():
        policy = {
            "columns": {"a": {"role": "quasi-identifier"}},
            "privacy": [{"k-anonymity": {"k": 2}}],
            "input": form,
        }
        jsonschema.Draft202012Validator(Policy.json_schema()).validate(policy)
        read = Policy.model_validate(policy)
        assert Policy.parse(read.dump()) == read
