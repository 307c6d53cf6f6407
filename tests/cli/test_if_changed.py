"""``anonymize --if-changed``: nothing is done twice, and nothing is left undone."""

from __future__ import annotations

import itertools
import json
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.command import Rothko

POLICY = """
columns:
  age: {role: quasi-identifier}
  town: {role: quasi-identifier, hierarchy: towns.csv}
  disease: {role: sensitive}
privacy: [{k-anonymity: {k: 5}}]
"""
COMMAND = "anonymize people.csv --policy policy.yaml --out release --overwrite --if-changed --no-report"


@pytest.fixture
def made(folder: Path, rothko: Rothko) -> Callable[..., str]:
    """The command in a folder where it has run once; what it says of another run."""
    rows = [f"{20 + i % 40},{'ab'[i % 2]},{'xyz'[i % 3]}\n" for i in range(120)]
    Path("people.csv").write_text("age,town,disease\n" + "".join(rows))
    Path("towns.csv").write_text("a,all\nb,all\n")
    Path("policy.yaml").write_text(POLICY)

    def run(*more: str, command: str = COMMAND) -> str:
        ran = rothko(*command.split(), *more)
        assert ran.code == 0, ran.err
        return "unchanged" if ran.out.startswith("Unchanged: ") else "made"

    assert run() == "made"
    return run


def test_nothing_is_done_again(made: Callable[..., str], rothko: Rothko) -> None:
    def stamps() -> dict[Path, tuple[int, int]]:
        files = [(path, path.stat()) for path in Path().rglob("*") if path.is_file()]
        return {path: (one.st_ino, one.st_mtime_ns) for path, one in files}

    before = stamps()
    assert made() == "unchanged"
    assert made("--threads", "1") == "unchanged", "threads change no byte"
    assert stamps() == before
    told = json.loads(rothko(*COMMAND.split(), "--json").out)
    assert told["unchanged"] is True
    assert told["verified"] is True
    assert rothko(*COMMAND.replace("--overwrite ", "").split()).code == 0, "nothing is replaced"


CHANGES: dict[str, Callable[[], object]] = {
    "the input": lambda: Path("people.csv").write_text(Path("people.csv").read_text() + "33,a,x\n"),
    "the policy": lambda: Path("policy.yaml").write_text(POLICY.replace("5", "6")),
    "a hierarchy": lambda: Path("towns.csv").write_text("a,both\nb,both\n"),
    "the release": lambda: Path("release/release.csv").write_text("age,town,disease\n"),
    "the certificate": lambda: Path("release/certificate.json").write_text("{}"),
    "no release": lambda: Path("release/release.csv").unlink(),
    "the recoding": lambda: Path("release-recoding/recoding.json").write_text("{}"),
    "no record": lambda: Path("release-recoding/made-from.json").unlink(),
    "a broken record": lambda: Path("release-recoding/made-from.json").write_text("[1"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_made_again(change: str, made: Callable[..., str]) -> None:
    CHANGES[change]()
    assert made() == "made"
    assert made() == "unchanged"


@pytest.mark.parametrize(
    "more", [("--seed", "1"), ("--k", "6"), ("--publish", "bounds"), ("--engine", "rothko-t"), ("--no-recoding",)]
)
def test_other_options_make_another_release(more: tuple[str, ...], made: Callable[..., str]) -> None:
    assert made(*more) == "made"
    assert made(*more) == "unchanged"
    assert made() == "made"


def test_another_version_makes_it_again(made: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.release.rerun.versions", lambda: {"rothko": "99"})
    assert made() == "made"


def test_the_input_is_not_told_to_who_gets_the_release(made: Callable[..., str]) -> None:
    record = Path("release-recoding/made-from.json")
    kept = json.loads(record.read_text())["made_from"]["input"]
    assert all(kept not in path.read_text() for path in Path("release").iterdir())
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


def test_an_input_that_changes_meanwhile_is_not_taken_for_what_it_is(
    made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES["the input"]()
    stamps = itertools.count()
    with monkeypatch.context() as context:
        context.setattr("rothko.release.rerun.stamps", lambda paths: [(next(stamps),)])
        assert made() == "made"
    assert made() == "made", "nobody knows of which input the release is"
    assert made() == "unchanged"


def test_without_a_policy_file(made: Callable[..., str]) -> None:
    command = "anonymize people.csv --qi age,town --sensitive disease --k 5 --out quick.csv --if-changed"
    assert made(command=command) == "made"
    assert made(command=command) == "unchanged"


def test_a_release_in_parts(made: Callable[..., str]) -> None:
    command = "anonymize people.csv --policy policy.yaml --out parts --overwrite --if-changed --parts 1MB"
    assert made(command=command) == "made"
    assert made(command=command) == "unchanged"
    [part] = Path("parts").rglob("part-*")
    part.write_text("age,town,disease\n")
    assert made(command=command) == "made"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("out", ["there", "{}:///out.db?table=release"])
def test_tables_of_databases(kind: str, out: str, made: Callable[..., str]) -> None:
    def told(database: str, statement: str) -> None:
        with (sqlite3 if kind == "sqlite" else duckdb).connect(database) as connection:
            connection.execute(statement)
        connection.close()

    with (sqlite3 if kind == "sqlite" else duckdb).connect("in.db") as connection:
        connection.execute("CREATE TABLE people (age INTEGER, town VARCHAR, disease VARCHAR, name VARCHAR)")
        rows = [[20 + i % 40, "ab"[i % 2], "xyz"[i % 3], f"p{i}"] for i in range(120)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    connection.close()
    asked = "--qi age,town --sensitive disease --drop name --k 5 --method mondrian --if-changed --overwrite"
    command = f"anonymize {kind}:///in.db?table=people {asked} --out {out.format(kind)}"
    assert [made(command=command) for _ in range(3)] == ["made", "unchanged", "unchanged"]
    told("in.db", "UPDATE people SET name = 'other'")
    assert made(command=command) == "unchanged", "what is dropped is not read"
    told("in.db", "UPDATE people SET disease = NULL WHERE age = 20")
    assert [made(command=command) for _ in range(2)] == ["made", "unchanged"]
    if "out.db" in out:
        told("out.db", "DELETE FROM release WHERE rowid = 1")
        assert [made(command=command) for _ in range(2)] == ["made", "unchanged"]
        told("out.db", "DROP TABLE release")
        assert [made(command=command) for _ in range(2)] == ["made", "unchanged"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "anonymize people.csv --policy policy.yaml --if-changed --out s3://bucket/release/",
            "an object store has none",
        ),
        ("anonymize sqlite:///p.db?table=t --policy policy.yaml --if-changed --out there", "no file 'p.db'"),
        ("anonymize nowhere.csv --policy policy.yaml --if-changed --out there", "nowhere.csv"),
    ],
)
def test_what_cannot_be_compared(command: str, told: str, made: Callable[..., str], rothko: Rothko) -> None:
    ran = rothko(*command.split())
    assert ran.code == 2
    assert told in ran.err
