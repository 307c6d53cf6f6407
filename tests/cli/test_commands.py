"""The commands one after the other, as a data steward runs them."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko import json_text
from rothko.cli import console
from rothko.generate.patients import patients

PEOPLE = 600
ESCAPE = "\x1b"


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".csv":
        pcsv.write_csv(table, path)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path)
    else:
        pq.write_table(table, path)


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    if path.suffix in (".csv", ".tsv"):
        with path.open(newline="", encoding="utf-8") as file:
            return [tuple(row) for row in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")][1:]
    table = pq.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture
def steward(rothko: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """Run a command that must succeed."""

    def run(*arguments: object) -> Any:
        ran = rothko(*arguments)
        assert ran.code == 0, ran.err
        assert ESCAPE not in ran.out + ran.err
        return ran

    return run


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_draft_anonymize_check_measure_apply(ending: str, steward, rothko, folder):
    data, new = Path(f"patients{ending}"), Path(f"new{ending}")
    write(patients(PEOPLE, seed=1), data)
    write(patients(50, seed=2), new)

    drafted = steward("draft", data, "--out", "policy.yaml", "--k", 5)
    assert "of 600 records are unique on the proposed quasi-identifiers" in drafted.out
    policy = rk.Policy.load("policy.yaml")
    assert policy.identifiers == ("name",)
    assert set(policy.quasi_identifiers) >= {"birth_date", "sex", "zip"}
    assert policy.sensitive == ("diagnosis",)

    kept = ("--recoding", "release-recoding", "--accept-draft")
    anonymized = steward("anonymize", data, "--policy", "policy.yaml", "--out", "release", *kept)
    release = Path(f"release/release{ending}")
    assert {p.name for p in Path("release").iterdir()} == {
        release.name,
        "certificate.json",
        "report.html",
        "report.json",
    }
    assert str(release) in anonymized.out
    assert "600 records" in anonymized.out
    certificate = json.loads(Path("release/certificate.json").read_text(encoding="utf-8"))
    assert certificate["verified"] is True
    assert certificate["rows"] == PEOPLE
    assert certificate["file"] == release.name
    assert certificate["file_sha256"] == hashlib.sha256(release.read_bytes()).hexdigest()
    assert certificate["requirements"][0]["achieved"] >= 5
    assert rk.Policy.parse(certificate["policy"]) == policy.but(method="mondrian")

    assert rothko("check", data, "--policy", "policy.yaml").code == 4
    checked = json.loads(steward("check", release, "--policy", "policy.yaml", "--json").out)
    assert checked["holds"] is True
    assert checked["requirements"] == certificate["requirements"]
    assert checked["classes"] == certificate["classes"]

    measured = json.loads(steward("measure", data, release, "--policy", "policy.yaml", "--json").out)
    assert measured.pop("format") == "rothko measure 1"
    assert measured.pop("survey").keys() >= {"loss_metric", "ambiguity_metric"}
    assert measured == certificate["loss"]
    assert f"{measured['gcp']:.4f}" in steward("measure", data, release, "--policy", "policy.yaml").out

    applied = steward("apply", "release-recoding", new, "--out", f"recoded{ending}")
    assert "50 records in" in applied.out
    quasi = [c for c in policy.columns if c in policy.quasi_identifiers]
    names = [c for c in policy.columns if c not in policy.identifiers]
    places = [names.index(name) for name in quasi]
    shown = {tuple(row[i] for i in places) for row in rows_of(release)}
    suppressed = tuple("*" for _ in quasi)
    recoded = rows_of(Path(f"recoded{ending}"))
    assert len(recoded) == 50
    assert {tuple(row[i] for i in places) for row in recoded} <= shown | {suppressed}
    assert not [p for p in folder.rglob("*") if "partial" in p.name]


@pytest.mark.parametrize("out", ["r.csv", "r.tsv", "r.parquet", "r.arrow", "r.feather"])
def test_the_ending_says_what_is_written(out: str, steward):
    write(patients(60), Path("patients.csv"))
    steward(
        "anonymize", "patients.csv", "--qi", "sex,education", "--keep-rest", "--drop", "name", "--k", 2, "--out", out
    )
    assert {p.name for p in Path().glob("r.*")} == {out, "r.certificate.json"}
    assert len(rows_of(Path(out))) == 60
    steward("check", out, "--qi", "sex,education", "--keep-rest", "--k", 2)


def test_json_is_the_certificate(steward):
    write(patients(60), Path("patients.csv"))
    ran = steward(
        "anonymize", "patients.csv", "--qi", "sex", "--keep-rest", "--drop", "name", "--k", 2, "--out", "out", "--json"
    )
    assert json.loads(ran.out) == json.loads(Path("out/certificate.json").read_text(encoding="utf-8"))
    assert ran.err == ""


def test_what_is_kept_is_said(steward):
    write(patients(60), Path("patients.csv"))
    ran = steward(
        "anonymize", "patients.csv", "--qi", "sex,zip", "--keep-rest", "--drop", "name", "--k", 2, "--out", "out"
    )
    assert "Released as they are: birth_date, education, diagnosis, cost" in ran.err
    assert "Warning" not in ran.err


def test_a_kept_order_is_warned_of(steward):
    write(patients(60), Path("patients.csv"))
    policy = rk.Policy.quick(patients(1).column_names, qi=["sex"], drop=["name"], keep_rest=True, k=2).but(order="keep")
    policy.save("policy.yaml")
    ran = steward("anonymize", "patients.csv", "--policy", "policy.yaml", "--out", "out.csv")
    assert [line for line in ran.err.splitlines() if line.startswith("Warning: ")] == [
        "Warning: order: keep leaves the rows in the order of the input, which may tell who is who."
    ]
    assert [row[-1] for row in rows_of(Path("out.csv"))] == [row[-1] for row in rows_of(Path("patients.csv"))]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_seed_settles_the_bytes_and_only_the_order(ending: str, steward):
    write(patients(PEOPLE), Path("patients.csv"))
    command = ["anonymize", "patients.csv", "--qi", "sex,zip,education", "--keep-rest", "--drop", "name", "--k", 5]
    command += ["--method", "mondrian"]
    for seed, name in ((7, "a"), (7, "b"), (8, "c")):
        steward(*command, "--seed", seed, "--out", f"{name}.{ending}")
    steward(*command, "--seed", 7, "--threads", 1, "--out", f"d.{ending}")
    a, b, c, d = (Path(f"{name}.{ending}") for name in "abcd")
    assert a.read_bytes() == b.read_bytes() == d.read_bytes()
    assert rows_of(a) != rows_of(c)
    assert Counter(rows_of(a)) == Counter(rows_of(c))


def test_check_counts_what_fails(rothko, folder):
    write(patients(PEOPLE), Path("patients.csv"))
    ran = rothko("check", "patients.csv", "--qi", "birth_date,zip", "--keep", "name", "--keep-rest", "--k", 2, "--json")
    assert ran.code == 4
    found = json.loads(ran.out)
    finding = found["requirements"][0]
    counts = Counter(tuple(row[i] for i in (1, 3)) for row in rows_of(Path("patients.csv")))
    alone = sum(n == 1 for n in counts.values())
    assert found["holds"] is False
    assert found["classes"] == len(counts)
    assert (finding["violating_classes"], finding["violating_records"], finding["achieved"]) == (alone, alone, 1)
    assert (
        "no: "
        in rothko("check", "patients.csv", "--qi", "birth_date,zip", "--keep", "name", "--keep-rest", "--k", 2).out
    )


def test_check_finds_identifiers_that_are_left(rothko, folder):
    write(pa.table({"name": ["a", "b"], "age": [1, 1]}), Path("people.csv"))
    rk.Policy.quick(["name", "age"], qi=["age"], drop=["name"], k=2).save("policy.yaml")
    ran = rothko("check", "people.csv", "--policy", "policy.yaml")
    assert ran.code == 4
    assert "Identifiers are still there: name" in ran.out


def test_a_policy_finds_its_hierarchies_wherever_it_is_run(steward):
    """Paths in a policy are relative to it; options that change it do not lose them."""
    Path("policies").mkdir()
    write(patients(200), Path("patients.csv"))
    Path("policies/sex.csv").write_text("female;person;*\nmale;person;*\n", encoding="utf-8")
    roles = {name: {"role": "keep"} for name in patients(1).column_names}
    roles |= {"name": {"role": "identifier"}, "sex": {"role": "quasi-identifier", "hierarchy": "sex.csv"}}
    roles |= {"cost": {"role": "quasi-identifier"}}
    rk.Policy(columns=roles, privacy=[{"k-anonymity": {"k": 90}}]).save("policies/policy.yaml")
    steward("anonymize", "patients.csv", "--policy", "policies/policy.yaml", "--publish", "bounds", "--out", "out")
    with Path("out/release.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["sex"] for row in rows} <= {"female", "male", "person"}
    assert all(int(row["cost_min"]) <= int(row["cost_max"]) for row in rows)
    # The recoding carries the tree with it: it is applied where no such file is.
    Path("policies/sex.csv").unlink()
    steward("apply", "out-recoding", "patients.csv", "--out", "again.csv")
    assert Counter(rows_of(Path("again.csv"))) == Counter(rows_of(Path("out/release.csv")))


def test_draft_prints_a_policy_that_works(steward):
    write(patients(PEOPLE), Path("patients.csv"))
    printed = steward("draft", "patients.csv")
    policy = rk.Policy.parse(printed.out)
    assert policy.quasi_identifiers
    assert "unique on the proposed quasi-identifiers" in printed.err
    described = json.loads(steward("draft", "patients.csv", "--json").out)
    assert isinstance(described, dict)


def test_schema_is_a_json_schema(steward):
    schema = json.loads(steward("schema").out)
    assert schema == rk.Policy.json_schema()


def test_version(steward):
    assert steward("--version").out == f"rothko {rk.__version__}\n"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_generate_agrawal(ending: str, steward):
    steward("generate", "agrawal", "-n", "1e3", "--seed", 3, "--out", f"people.{ending}")
    steward("generate", "agrawal", "-n", "1_000", "--seed", 3, "--out", f"again.{ending}")
    steward("generate", "agrawal", "-n", "1000", "--seed", 4, "--out", f"other.{ending}")
    rows = rows_of(Path(f"people.{ending}"))
    assert len(rows) == 1000
    assert rows == rows_of(Path(f"again.{ending}"))
    assert rows != rows_of(Path(f"other.{ending}"))
    steward(
        "generate", "agrawal", "-n", 100, "--target", "R7", "--noise", 0.1, "--random-constants", "--function", 7,
        "--out", f"people.{ending}", "--overwrite",
    )  # fmt: skip
    assert len(rows_of(Path(f"people.{ending}"))) == 100
    steward(
        "anonymize",
        f"people.{ending}",
        "--qi",
        "salary,age,zipcode",
        "--drop",
        "target",
        "--keep-rest",
        "--k",
        5,
        "--out",
        "out",
    )


def test_demo(steward, folder):
    ran = steward("demo", "-n", 800)
    assert ran.out.count("$ rothko ") == 15
    assert "Five rows of the release." in ran.out
    assert "bits of entropy within classes" in ran.out
    assert "accuracy  tree" in ran.out
    assert list(folder.iterdir()) == []


def test_demo_without_scikit_learn(steward, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    ran = steward("demo", "-n", 800)
    assert ran.out.count("$ rothko ") == 14
    assert 'pip install "rothko[learn]"' in ran.out


# ── a program of its own ─────────────────────────────────────────────────────────────────────────


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_help_comes_at_once():
    """By processor time: the machine may be busy with something else."""
    before = os.times()
    ran = python("-c", "from rothko.cli import main; main()", "--help")
    after = os.times()
    assert ran.returncode == 0
    assert "anonymize" in ran.stdout
    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.5


def test_importing_loads_nothing_heavy():
    heavy = "numba duckdb pyarrow numpy pandas narwhals pydantic rich"
    code = f"import sys, rothko, rothko.cli; print(*[m for m in {heavy.split()} if m in sys.modules])"
    assert python("-c", code).stdout.split() == []


@pytest.mark.parametrize("to_json", [False, True])
def test_quiet_in_a_pipe(to_json: bool, folder: Path):
    """No progress, no escape codes, no blank lines: standard error has nothing to say."""
    write(patients(100), folder / "patients.csv")
    rk.Policy.quick(patients(1).column_names, qi=["sex"], drop=["name"], keep_rest=True, k=2).save("policy.yaml")
    command = ["anonymize", "patients.csv", "--policy", "policy.yaml", "--out", "out", *(["--json"] if to_json else [])]
    ran = python("-c", "from rothko.cli import main; main()", *command)
    assert ran.returncode == 0
    assert ESCAPE not in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize(
    "command", ["anonymize people.csv --qi age --k 9 --out out.csv", "check people.csv --qi age --k 2"]
)
def test_exit_codes_reach_the_shell(command: str, folder: Path):
    write(pa.table({"age": [1, 2, 3]}), folder / "people.csv")
    ran = python("-c", "from rothko.cli import main; main()", *command.split())
    assert ran.returncode == (3 if "anonymize" in command else 4)
    assert "Traceback" not in ran.stderr


def test_public_names():
    assert rk.__all__ == sorted(rk.__all__)
    assert len(rk.__all__) <= 20
    assert dir(rk) == rk.__all__
    for name in rk.__all__:
        assert getattr(importlib.import_module("rothko"), name) is not None
    assert re.fullmatch(r"\d+\.\d+\.\d+", rk.__version__)


def test_the_recoding_lies_where_it_is_asked_to(steward, rothko):
    write(patients(60), Path("patients.csv"))
    command = ["anonymize", "patients.csv", "--qi", "sex,education", "--keep-rest", "--drop", "name", "--k", 2, "--out"]
    assert "phi.json" in steward(*command, "one", "--recoding", "phi.json").out
    steward(*command, "two", "--recoding", "phis/of/two")
    assert "recoding" not in steward(*command, "three", "--no-recoding").out
    assert {p.name for p in Path().iterdir()} == {"patients.csv", "one", "phi.json", "two", "phis", "three"}
    for recoding in ("phi.json", "phis/of/two", "phis/of/two/recoding.json"):
        steward("apply", recoding, "patients.csv", "--out", "again.csv", "--overwrite")
    both = rothko(*command, "four", "--recoding", "phi.json", "--no-recoding")
    assert (both.code, "exclude each other" in both.err) == (2, True)
    within = rothko(*command, "four.csv", "--recoding", "four.certificate.json")
    assert (within.code, "the release itself goes there" in within.err) == (2, True)
    read = rothko("apply", "phi.json", "patients.csv", "--out", "patients.csv", "--overwrite")
    assert (read.code, "The output is the input" in read.err) == (2, True)


def test_json_is_valid_whatever_the_numbers(capsys: pytest.CaptureFixture[str]):
    console.json({"a": float("nan"), "b": [float("inf"), {"c": -float("inf")}], "d": 1.5})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, {"c": None}], "d": 1.5}
    for text in ("NaN", "[Infinity]", '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 100_000):
        with pytest.raises(ValueError, match=r"finite|twice|nested"):
            json_text.parse(text)
