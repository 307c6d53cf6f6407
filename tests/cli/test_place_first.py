"""Where the output goes is looked at before any work: nothing is read for an output that cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rothko.data.source.source import Source
from rothko.sets import files
from tests.command import Rothko

PEOPLE = "age,city,disease\n" + "".join(f"{20 + i % 9},{'ab'[i % 2]},{'xyz'[i % 3]}\n" for i in range(60))
POLICY = """
columns: {age: {role: quasi-identifier}, city: {role: quasi-identifier}, disease: {role: sensitive}}
privacy: [{k-anonymity: {k: 3}}]
"""
QUICK = "--qi age,city --sensitive disease --k 3"
COMMANDS = {
    "policy": "anonymize people.csv --policy policy.yaml --out there/out.csv",
    "disk": "anonymize people.csv --policy policy.yaml --engine rothko-t --out there/out.csv",
    "quick": f"anonymize people.csv {QUICK} --out there/out.csv",
    "anatomy": "anonymize people.csv --qi age,city --sensitive disease --l 2 --method anatomy --out there/out.csv",
    "apply": "apply fine-recoding people.csv --out there/out.csv",
    "sets": "sets baskets.txt --k 2 --out there/out.txt",
    "compare": "compare people.csv --qi age,city --sensitive disease --method mondrian --k 3 --out there",
    "compare sets": "compare baskets.txt --sets --k 2 --method set-mondrian --out there",
    "draft": "draft people.csv --out there/out.csv",
}


@pytest.fixture
def read(folder: Path, rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was read of records, in a folder where each output exists already."""
    (folder / "there").mkdir()
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "baskets.txt").write_text("a b\nb c\na b c\n" * 4)
    for name in ("out.csv", "out.txt", "results.json"):
        (folder / "there" / name).write_text("mine")
    assert rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "fine.csv").code == 0
    seen: list[str] = []

    def noted(owner: Any, name: str) -> None:
        whole = getattr(owner, name)

        def reading(*given: Any, **options: Any) -> Any:
            seen.append(name)
            return whole(*given, **options)

        monkeypatch.setattr(owner, name, reading)

    noted(Source, "read")
    noted(Source, "batches")
    noted(files, "read_lines")
    return seen


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_nothing_is_read_for_an_output_that_exists(command: str, rothko: Rothko, folder: Path, read: list[str]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = rothko(*command.split())
    assert ran.code == 2
    assert "exists; use --overwrite to replace it." in ran.err
    assert read == []
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    if command != COMMANDS["draft"]:
        assert rothko(*command.split(), "--overwrite").code == 0
        assert read
