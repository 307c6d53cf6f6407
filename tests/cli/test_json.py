"""What ``--json`` prints is what ``rothko schema --of`` says, for every command; errors, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rothko.cli import COMMANDS
from rothko.cli.json_schemas import SCHEMAS
from tests.command import Rothko

WITHOUT = {"demo", "schema", "studio"}
"""Commands without ``--json``: one shows what others print, one prints nothing but JSON, one is for a browser."""
POLICY = """
columns:
  name: {role: identifier}
  birth_date: {role: quasi-identifier, type: date}
  sex: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: {mask: right}}
  education: {role: quasi-identifier}
  diagnosis: {role: sensitive}
  cost: {role: keep}
privacy: [{k-anonymity: {k: 5}}, {distinct-l-diversity: {l: 2, of: diagnosis}}]
"""
RELEASE = "anonymize p.csv --policy policy.yaml --out rel --recoding rel-recoding --overwrite --json"
PREPARED = (
    "generate patients -n 300 --out p.csv", "generate patients -n 30 --seed 2 --out new.csv",
    "generate longtail -n 200 --items 30 --mean 6 --deviation 2 --least 0.01 --out b.txt", RELEASE,
    "hierarchy export p.csv --column zip --policy policy.yaml --out zips.csv",
)  # fmt: skip
RUNS = {
    "draft p.csv --json": "draft",
    "draft p.csv --out d.yaml --json": "draft",
    RELEASE: "anonymize",
    f"{RELEASE} --if-changed": "anonymize",
    f"{RELEASE} --method hilbert --publish bounds --engine memory --no-report".replace("--recoding rel-recoding ", ""):
        "anonymize",
    f"{RELEASE} --classify diagnosis --suppress 0.02 --suppress-as left-out".replace("--classify diagnosis ", ""):
        "anonymize",
    f"{RELEASE} --engine rothko-t": "anonymize",
    "check rel/release.csv --policy policy.yaml --json": "check",
    "measure p.csv rel/release.csv --policy policy.yaml --json": "measure",
    "measure p.csv rel/release.csv --policy policy.yaml --cube 1 --queries 20 --bound --json": "measure",
    "report rel --overwrite --json": "report",
    "report rel --for steward --original p.csv --json": "report",
    "paint rel --out painting.svg --json": "paint",
    "compare p.csv --policy policy.yaml --method mondrian,hilbert --k 5,500 --bound --json": "compare",
    "compare p.csv --policy policy.yaml --method mondrian --max-loss 0.4 --json": "compare",
    "compare b.txt --sets --method set-mondrian --k 5 --json": "compare",
    "evaluate p.csv --policy policy.yaml --classify diagnosis --models tree --folds 2 --json": "evaluate",
    "apply rel-recoding new.csv --out n.csv --json": "apply",
    "sets b.txt --k 5 --method set-mondrian --out s.txt --json": "sets",
    "plan -n 1e7 --columns 4 --memory 1GB --no-calibration --json": "plan",
    "hierarchy show p.csv --column zip --policy policy.yaml --json": "hierarchy show",
    "hierarchy check zips.csv --json": "hierarchy check",
    "hierarchy check zips.csv p.csv --column zip --policy policy.yaml --json": "hierarchy check",
    "hierarchy export p.csv --column zip --policy policy.yaml --out z.csv --json": "hierarchy export",
    "hierarchy import zips.csv --policy policy.yaml --column zip --json": "hierarchy import",
    "generate census -n 50 --out c.parquet --policy c.yaml --json": "generate",
}  # fmt: skip


def told(text: str, schema: str) -> dict[str, object]:
    found = json.loads(text)
    Draft202012Validator(SCHEMAS[schema]).validate(found)
    assert found["format"] == SCHEMAS[schema]["properties"]["format"]["const"]
    return dict(found)


def test_every_command_has_a_schema(rothko: Rothko) -> None:
    described = {name.split()[0] for name in SCHEMAS} - {"error", "log"}
    assert described == set(COMMANDS) - WITHOUT
    assert {name.split()[0] for name in RUNS.values()} == described - {"warm"}, "which takes minutes"
    for name in (*SCHEMAS, "policy"):
        schema = json.loads(rothko("schema", "--of", name).out)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"].endswith("2020-12/schema")
    for form, command in (("certificate", "anonymize"), ("sets certificate", "sets")):
        assert rothko("schema", "--of", form).out == rothko("schema", "--of", command).out
    ran = rothko("schema", "--of", "anonymise")
    assert ran.code == 2
    assert "did you mean 'anonymize'" in ran.err
    assert rothko("schema", "--of", "nothing").err.count("'measure'") == 1


def test_what_is_printed_is_what_is_promised(folder: Path, rothko: Rothko) -> None:
    Path("policy.yaml").write_text(POLICY)
    for command in PREPARED:
        ran = rothko(*command.split())
        assert ran.code == 0, (command, ran.err)
    for command, schema in RUNS.items():
        ran = rothko(*command.split())
        assert ran.code == 0, (command, ran.err, ran.out)
        told(ran.out, schema)


def test_warm(rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.warm.recipes", lambda methods: [])
    told(rothko("warm", "--json").out, "warm")
    told(rothko("warm", "--method", "mondrian", "--json").out, "warm")


@pytest.mark.parametrize(
    ("command", "kind", "code"),
    [
        ("draft nowhere.csv --json", "InputError", 2),
        ("anonymize p.csv --policy policy.yaml --out x.csv --k 999 --json", "InfeasibleError", 3),
        ("anonymize p.csv --policy nowhere.yaml --out x.csv --json", "PolicyError", 2),
        ("report nowhere --json", "InputError", 2),
        ("paint nowhere --json", "InputError", 2),
        ("generate patients -n 5 --out x.doc --json", "OutputError", 2),
        ("hierarchy export p.csv --column nothing --out z.csv --json", "PolicyError", 2),
        ("warm --method none --json", "InputError", 2),
        ("check --json --no-such-option", "UsageError", 2),
    ],
)
def test_errors_are_json(command: str, kind: str, code: int, folder: Path, rothko: Rothko) -> None:
    Path("policy.yaml").write_text(POLICY)
    assert rothko("generate", "patients", "-n", 60, "--out", "p.csv").code == 0
    ran = rothko(*command.split())
    assert ran.code == code, ran.out
    error = told(ran.out, "error")["error"]
    assert isinstance(error, dict)
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert ran.err == ""
