"""``rothko measure`` with a workload: the table that a person reads, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rothko as rk

POLICY = """\
columns:
  age: {role: quasi-identifier}
  sex: {role: quasi-identifier}
  pay: {role: keep}
  disease: {role: sensitive}
privacy:
  - k-anonymity: {k: 3}
workload:
  - classify: {target: disease}
  - regress: {target: pay}
  - select: {where: age >= 40}
  - select: {where: sex = 'f'}
  - aggregate: {of: age, functions: [count, avg, max]}
publish: PUBLISH
"""
ROWS = [f"{20 + 3 * i},{'fm'[i % 2]},{i}.5,{'flu' if i % 3 else 'cold'}" for i in range(12)]


@pytest.fixture(params=["range", "region", "bounds", "mean"])
def released(request: pytest.FixtureRequest, folder: Path, rothko) -> str:
    Path("people.csv").write_text("\n".join(["age,sex,pay,disease", *ROWS]) + "\n", encoding="utf-8")
    Path("policy.yaml").write_text(POLICY.replace("PUBLISH", request.param), encoding="utf-8")
    ran = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out")
    assert ran.code == 0, ran.err
    assert "rothko measure tells how good they are" in ran.out
    return request.param


def test_a_person_reads_a_table(released: str, rothko) -> None:
    ran = rothko("measure", "people.csv", "out/release.csv", "--policy", "policy.yaml")
    assert ran.code == 0, ran.err
    lines = {line.split("  ")[0]: line for line in ran.out.splitlines()}
    assert "bits of entropy within classes; 0.9183 in the whole table" in lines["classify disease"]
    assert "11.9167 in the whole table" in lines["regress pay"]
    assert "5 satisfy it" in lines["select age >= 40"]
    assert "the original says 36.5000, error 0 %" in lines["avg of age"]
    assert "the original says 53, error 0 %" in lines["max of age where age >= 40"]
    assert "the original says 5," in lines["count of age where age >= 40"]


def test_machines_read_json(released: str, rothko) -> None:
    ran = rothko("measure", "people.csv", "out/release.csv", "--policy", "policy.yaml", "--json")
    measured = json.loads(ran.out)
    assert [entry["task"] for entry in measured["workload"]] == ["classify", "regress", "select", "select", "aggregate"]
    told = {"format": "rothko measure 1"} | rk.measure("people.csv", "out/release.csv", "policy.yaml").to_dict()
    assert measured == told
    certified = json.loads(Path("out/certificate.json").read_text("utf-8"))["loss"]
    assert certified["workload"][:3] == measured["workload"][:3]
    # What the second predicate selects of the classes that it cuts is fewer than a class, and withheld.
    told, known = certified["workload"][3], measured["workload"][3]
    assert {**told, "matching": 6, "imprecision": 3, "why": None} == known
    assert told["matching"] is None
    assert told["imprecision"] is None
    for told, known in zip(certified["workload"][4]["answers"], measured["workload"][4]["answers"], strict=True):
        assert told == known | {"truth": None, "answer": None, "error": None}
        assert known["truth"] is not None


def test_the_file_checks_and_takes_new_records(released: str, rothko) -> None:
    assert rothko("check", "out/release.csv", "--policy", "policy.yaml").code == 0
    assert rothko("apply", "out-recoding/recoding.json", "people.csv", "--out", "new.csv", "--keep-order").code == 0
    shown, new = (Path(name).read_text("utf-8").splitlines() for name in ("out/release.csv", "new.csv"))
    assert shown[0] == new[0]
    assert sorted(shown) == sorted(new), "they show what their classes show, statistics and all"


def test_numbers_too_large_to_be_squared_are_null(folder: Path, rothko) -> None:
    rows = [row.replace(".5", "e300") for row in ROWS]
    Path("people.csv").write_text("\n".join(["age,sex,pay,disease", *rows]) + "\n", encoding="utf-8")
    Path("policy.yaml").write_text(POLICY.replace("PUBLISH", "range"), encoding="utf-8")
    ran = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out, parse_constant=pytest.fail)["loss"]["workload"][1]
    assert found == {"task": "regress", "target": "pay", "wmse": None, "variance": None}


def test_what_rounding_leaves_is_no_error(folder: Path, rothko) -> None:
    rows = [f"{20 + i}.1,{'fm'[i % 2]},{i}.5,{'flu' if i % 3 else 'cold'}" for i in range(300)]
    Path("people.csv").write_text("\n".join(["age,sex,pay,disease", *rows]) + "\n", encoding="utf-8")
    Path("policy.yaml").write_text(POLICY.replace("PUBLISH", "range"), encoding="utf-8")
    assert rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out").code == 0
    ran = rothko("measure", "people.csv", "out/release.csv", "--policy", "policy.yaml")
    assert "error 0 %" in ran.out
    assert "e-1" not in ran.out


def test_a_mean_alone_has_no_penalty_and_no_box(folder: Path, rothko) -> None:
    Path("people.csv").write_text("\n".join(["age,sex,pay,disease", *ROWS]) + "\n", encoding="utf-8")
    asked = POLICY.replace("PUBLISH", "mean").replace("[count, avg, max]", "[avg]")
    Path("policy.yaml").write_text(asked, encoding="utf-8")
    assert rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out").code == 0
    ran = rothko("measure", "people.csv", "out/release.csv", "--policy", "policy.yaml")
    assert "age is published as a mean, which does not tell where a class lies" in ran.out
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["age", "–"] in lines
    assert ["GCP", "–"] in [words[:2] for words in lines]


def test_a_target_that_the_release_lacks(released: str, rothko) -> None:
    rows = [line.rsplit(",", 1)[0] for line in Path("out/release.csv").read_text("utf-8").splitlines()]
    Path("less.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    ran = rothko("measure", "people.csv", "less.csv", "--policy", "policy.yaml")
    assert ran.code == 2
    assert "no column 'disease'" in ran.err
