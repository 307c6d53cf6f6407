"""``--method anatomy`` and ``--method topdown --force`` at the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rothko.methods import topdown

VALUES = ("flu", "cold", "ulcer", "asthma", "gout")


@pytest.fixture
def people(folder: Path) -> Path:
    path = folder / "people.csv"
    rows = [f"{20 + i * 7 % 50},{'mf'[i % 2]},{VALUES[i % 5]}" for i in range(52)]
    path.write_text("age,sex,disease\n" + "\n".join(rows) + "\n", "utf-8")
    return path


def test_anatomy_without_a_policy_file(rothko: Callable[..., Any], people: Path) -> None:
    asked = ("--qi", "age,sex", "--sensitive", "disease", "--method", "anatomy")
    ran = rothko("anonymize", people, *asked, "--l", 4, "--out", "out.csv")
    assert ran.code == 0, ran.err
    assert "Warning: anatomy releases the exact quasi-identifiers" in ran.err
    assert "out_sensitive.csv" in ran.out
    certificate = json.loads(Path("out.certificate.json").read_text("utf-8"))
    found = {one["requirement"]: one["achieved"] for one in certificate["requirements"]}
    assert set(found) == {"distinct-l-diversity", "frequency-l-diversity"}
    assert min(found.values()) >= 4
    assert any("not k-anonymous" in note for note in certificate["notes"])

    ran = rothko("anonymize", people, *asked, "--l", 5, "--out", "other.csv")
    assert ran.code == 3
    assert "ask for l = 4 at most" in ran.err
    ran = rothko("anonymize", people, *asked, "--k", 5, "--out", "other.csv")
    assert ran.code == 2
    assert "use mondrian, hilbert or cluster" in ran.err
    assert not list(Path().glob("other*"))


def test_measure_refuses_two_tables(rothko: Callable[..., Any], people: Path) -> None:
    Path("policy.yaml").write_text(
        "columns: {age: {role: quasi-identifier}, sex: {role: quasi-identifier}, disease: {role: sensitive}}\n"
        "privacy: [{frequency-l-diversity: {l: 4, of: disease}}]\nmethod: anatomy\n",
        "utf-8",
    )
    assert rothko("anonymize", people, "--policy", "policy.yaml", "--out", "out.csv").code == 0
    ran = rothko("measure", people, "out.csv", "--policy", "policy.yaml")
    assert ran.code == 2
    assert "rothko measure needs generalised quasi-identifiers" in ran.err


def test_topdown_is_forced(rothko: Callable[..., Any], people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topdown, "MOST", 50)
    asked = ("--qi", "age,sex", "--sensitive", "disease", "--method", "topdown", "--k", 5)
    ran = rothko("anonymize", people, *asked, "--out", "out.csv")
    assert ran.code == 2
    assert "use hilbert or cluster" in ran.err
    assert "--force" in ran.err
    assert rothko("anonymize", people, *asked, "--force", "--out", "out.csv").code == 0
    ran = rothko("anonymize", people, *asked, "--force", "--method", "mondrian", "--out", "out.csv")
    assert ran.code == 2
    assert "unknown parameter 'force'" in ran.err
