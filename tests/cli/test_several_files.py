"""Several files on the command line, as a shell puts them in place of a pattern: one table for every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import Rothko

ROLES = ("--qi", "age,zip", "--sensitive", "disease", "--k", 5, "--method", "mondrian")
FILES = ("a.csv", "b.csv")


@pytest.fixture
def people(folder: Path) -> Path:
    lines = [f"{20 + i % 37},{i % 11:05d},{('flu', 'cold', 'ache')[i % 3]}" for i in range(240)]
    for name, some in (("a.csv", lines[:100]), ("b.csv", lines[100:]), ("whole.csv", lines)):
        (folder / name).write_text("\n".join(["age,zip,disease", *some]) + "\n")
    return folder


def test_every_command_takes_several_files(people: Path, rothko: Rothko) -> None:
    drafted = rothko("draft", *FILES, "-o", "policy.yaml", "--k", 5)
    assert drafted.code == 0, drafted.err
    assert "Next: rothko anonymize a.csv b.csv --policy policy.yaml" in drafted.out
    for data, out in ((FILES, "parts/"), (("whole.csv",), "whole/")):
        made = rothko("anonymize", *data, "-p", "policy.yaml", "--accept-draft", "--method", "mondrian", "-o", out)
        assert made.code == 0, made.err
    assert Path("parts/release.csv").read_bytes() == Path("whole/release.csv").read_bytes()
    assert rothko("check", *FILES, *ROLES[:-2]).code == rothko("check", "whole.csv", *ROLES[:-2]).code == 4
    lost = [json.loads(rothko("measure", *data, "whole/", "-p", "policy.yaml", "--json").out)
            for data in (FILES, ["whole.csv"])]  # fmt: skip
    assert lost[0] == lost[1]
    applied = rothko("apply", "whole-recoding/", *FILES, "-o", "new.csv", "--json")
    assert json.loads(applied.out)["rows"] == 240
    found = rothko("compare", *FILES, *ROLES[:4], "--k", "5", "--method", "mondrian", "--json", "-o", "page.html")
    assert found.code == 0, found.err
    assert "rothko anonymize a.csv b.csv --qi age,zip" in Path("page.html").read_text(encoding="utf-8")


def test_a_run_is_the_same_where_all_files_are(people: Path, rothko: Rothko) -> None:
    asked = ("anonymize", *FILES, *ROLES, "-o", "out/", "--if-changed", "--overwrite", "--no-report")
    assert [rothko(*asked).out.startswith("Unchanged") for _ in range(2)] == [False, True]
    Path("b.csv").write_text(Path("b.csv").read_text() + "30,00001,flu\n")
    assert not rothko(*asked).out.startswith("Unchanged")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("anonymize", *FILES, *ROLES, "-o", "b.csv", "--overwrite"), "b.csv"),
        (("anonymize", *FILES, "a.csv", *ROLES, "-o", "out/"), "a.csv is named twice"),
        (("anonymize", *FILES, *ROLES, "-o", "out/", "--engine", "spark"), "spark reads a path at a time"),
        (("anonymize", "a.csv", "sqlite:///x.db?table=t", *ROLES, "-o", "out/"), "of a database name one table"),
        (("compare", *FILES, "--sets", "--k", 2), "Records that are sets are read from one file"),
        (("measure", "a.csv", "-p", "policy.yaml"), "Missing argument 'original'"),
        (("apply", "nowhere", *FILES, "-o", "a.csv", "--overwrite"), "a.csv"),
    ],
)
def test_what_does_not_go_with_several_files(
    people: Path, rothko: Rothko, command: tuple[object, ...], said: str
) -> None:
    before = {path.name: path.read_bytes() for path in people.iterdir()}
    ran = rothko(*command)
    assert ran.code == 2
    assert said in ran.err
    assert {path.name: path.read_bytes() for path in people.iterdir()} == before
