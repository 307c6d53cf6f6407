"""Events for machines, and what the environment says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import rothko as rk
from rothko import environment
from rothko.cli.json_schemas import SCHEMAS
from rothko.engines.disk.spill import Spill
from rothko.engines.plan import as_bytes
from rothko.errors import InputError
from rothko.progress import count_threads
from tests.command import Rothko

QUICK = ("--qi", "age", "--sensitive", "disease", "--drop", "id", "--k", "5")


@pytest.fixture(autouse=True)
def people(folder: Path) -> None:
    rows = [f"{i // 2},{20 + i % 30},{'secret' if i % 3 else 'flu'}\n" for i in range(90)]
    Path("people.csv").write_text("id,age,disease\n" + "".join(rows))


def events(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    for one in found:
        Draft202012Validator(SCHEMAS["log"]).validate(one)
    return found


def test_a_line_for_each_event(rothko: Rothko) -> None:
    ran = rothko("anonymize", "people.csv", *QUICK, "--out", "out", "--log", "json")
    assert ran.code == 0, ran.err
    told = events(ran.err)
    stages = [one["stage"] for one in told if one["event"] == "stage"]
    assert {"read", "encode", "partition", "save"} <= {*stages}
    end = told[-1]
    assert (end["event"], end["command"], end["records"], end["exit_code"]) == ("end", "anonymize", 90, 0)
    assert end["warnings"] == len([one for one in told if one["event"] == "warning"]) == 1, "an id that repeats"
    assert sum(one["seconds"] for one in told if one["event"] == "stage") <= end["seconds"] + 0.01
    assert "secret" not in ran.err
    assert "90 records" in ran.out, "standard output is as ever"


def test_errors_are_events(rothko: Rothko) -> None:
    ran = rothko("anonymize", "people.csv", *QUICK[:-1], "500", "--out", "out", "--log", "json", "--show-values")
    assert ran.code == 3
    error, end = events(ran.err)[-2:]
    assert (error["event"], error["kind"], error["exit_code"]) == ("error", "InfeasibleError", 3)
    assert (end["level"], end["exit_code"]) == ("error", 3)
    both = rothko("--log", "json", "check", "nowhere.csv", "--qi", "age", "--k", "2", "--json")
    assert json.loads(both.out)["error"]["exit_code"] == events(both.err)[0]["exit_code"] == 2
    misused = rothko("anonymize", "people.csv", "--nonsense", "--log", "json")
    assert [one["event"] for one in events(misused.err)] == ["error", "end"]
    ran = rothko("anonymize", "people.csv", *QUICK, "--out", "out", "--log", "xml")
    assert (ran.code, ran.err) == (2, "Error: --log must be json, not 'xml'.\n")


def test_quiet_otherwise(rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTHKO_LOG", "json")
    ran = rothko("draft", "people.csv")
    assert ran.out.startswith("# A draft")
    [end] = events(ran.err)
    assert (end["command"], end["records"]) == ("draft", 90)
    monkeypatch.setenv("ROTHKO_LOG", "loud")
    ran = rothko("draft", "people.csv")
    assert (ran.code, ran.err) == (2, "Error: ROTHKO_LOG must be json, not 'loud'.\n")


def test_the_environment_is_asked_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(environment.THREADS, "3")
    monkeypatch.setenv(environment.MEMORY, "2GB")
    monkeypatch.setenv(environment.SPILL_DIR, str(tmp_path))
    assert (count_threads(None), count_threads(2)) == (3, 2)
    assert (as_bytes(None), as_bytes("1GB")) == (2_000_000_000, 1_000_000_000)
    with Spill.open() as spill:
        assert spill.folder.parent == tmp_path
    monkeypatch.setenv(environment.MEMORY, "")
    assert as_bytes(None) is None


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (environment.THREADS, "many", "ROTHKO_THREADS must be a whole number of at least 1, not 'many'"),
        (environment.THREADS, "0", "ROTHKO_THREADS must be a whole number of at least 1, not '0'"),
        (environment.MEMORY, "lots", "ROTHKO_MEMORY must be a size such as 512MB or 2GiB, not 'lots'"),
        (environment.SPILL_DIR, "nowhere", "ROTHKO_SPILL_DIR must be a folder, and 'nowhere' is none"),
    ],
)
def test_a_wrong_value_is_told_by_name(
    name: str, value: str, told: str, rothko: Rothko, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    ran = rothko("anonymize", "people.csv", *QUICK, "--engine", "rothko-t", "--out", "out")
    assert ran.code == 2
    assert told in ran.err
    with pytest.raises(InputError, match=name):
        rk.anonymize("people.csv", qi=["id", "age"], sensitive="disease", k=5, engine="rothko-t")
