"""``rothko measure``: the metrics of surveys, group-bys and range counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

POLICY = """\
columns:
  age: {role: quasi-identifier}
  town: {role: quasi-identifier}
  disease: {role: sensitive}
  doctor: {role: sensitive}
privacy:
  - k-anonymity: {k: 4}
"""
ARGUMENTS = ("measure", "people.csv", "release.csv", "--policy", "policy.yaml")


@pytest.fixture(autouse=True)
def released(folder: Path, rothko) -> None:
    rows = [f"{20 + i * i % 37},t{i % 5},{'flu' if i % 3 else 'cold'},d{i % 2}" for i in range(60)]
    Path("people.csv").write_text("\n".join(["age,town,disease,doctor", *rows]) + "\n", encoding="utf-8")
    Path("policy.yaml").write_text(POLICY, encoding="utf-8")
    ran = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "release.csv")
    assert ran.code == 0, ran.err


def test_a_person_reads_tables(rothko) -> None:
    ran = rothko(*ARGUMENTS, "--cube", "1,2", "--of", "disease", "--queries", "1e2")
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert "loss metric ambiguity metric entropy monotone entropy cluster diameter" in " ".join(ran.out.split())
    whole = next(line for line in lines if line[:4] == ["one", "class", "for", "all"])
    assert (whole[4], whole[9]) == ("2", "120"), "two columns, and all entries of 60 records"
    assert [line[:2] for line in lines if line[-2:] == ["by", "disease"]] == [["1", "2"], ["2", "1"]]
    assert "random queries over quasi-identifiers and disease" in ran.out
    assert "median error" in ran.out


def test_machines_read_json(rothko) -> None:
    ran = rothko(*ARGUMENTS, "--cube", "2", "--of", "doctor", "--queries", "50", "--selectivity", "0.2", "--json")
    found = json.loads(ran.out, parse_constant=pytest.fail)
    assert found["survey"]["loss_metric"]["one_class"] == 2
    assert found["cube"]["of"] == "doctor"
    assert found["cube"]["levels"][0]["group_bys"][0]["columns"] == ["age", "town"]
    assert (found["queries"]["queries"], found["queries"]["selectivity"]) == (50, 0.2)
    again = rothko(*ARGUMENTS, "--queries", "50", "--of", "doctor", "--selectivity", "0.2", "--seed", "0", "--json")
    assert json.loads(again.out)["queries"] == found["queries"]
    assert "cube" not in json.loads(again.out)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--cube", "1"), "2 sensitive columns"),
        (("--cube", "", "--of", "doctor"), "--cube needs levels"),
        (("--cube", "3", "--of", "doctor"), "from 1 to 2"),
        (("--cube", "two", "--of", "doctor"), "--cube must be a whole number"),
        (("--of", "doctor"), "--of goes with --cube or --queries"),
        (("--queries", "many"), "--queries must be a whole number"),
        (("--queries", "10", "--selectivity", "0"), "selectivity must be above 0"),
        (("--queries", "10", "--of", "town"), "released as it is"),
    ],
)
def test_bad_questions(options: tuple[str, ...], says: str, rothko) -> None:
    ran = rothko(*ARGUMENTS, *options)
    assert ran.code == 2
    assert says in " ".join(ran.err.split())
