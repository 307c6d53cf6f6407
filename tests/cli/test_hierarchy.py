"""A hierarchy is looked at, taken out, edited, and put back into a policy that then releases with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rothko.policy.policy import Policy
from tests.command import Rothko

POLICY = """# ours
columns:
  zip: {role: quasi-identifier, hierarchy: {mask: right}}  # five digits
  job: {role: quasi-identifier}
privacy: [{k-anonymity: {k: 2}}]
"""


@pytest.fixture
def table(folder: Path) -> None:
    rows = [
        ("02139", "cook"),
        ("02139", "baker"),
        ("02141", "cook"),
        ("03055", "nurse"),
        ("03055", "nurse"),
        ("", "cook"),
        ("", "cook"),
    ]
    Path("people.csv").write_text("zip,job\n" + "".join(f"{a},{b}\n" for a, b in rows))
    Path("policy.yaml").write_text(POLICY)


@pytest.mark.usefixtures("table")
def test_out_edited_and_back(rothko: Rothko) -> None:
    shown = rothko("hierarchy", "show", "people.csv", "--column", "zip", "--policy", "policy.yaml")
    assert shown.code == 0
    assert "      021**  3" in shown.out.splitlines()
    out = rothko("hierarchy", "export", "people.csv", "-c", "zip", "-p", "policy.yaml", "--out", "zip.csv")
    assert (out.code, out.out) == (0, "3 leaves, 5 levels above them: zip.csv\n")
    assert Path("zip.csv").read_text().splitlines()[0] == "02139;0213*;021**;02***;0****;*"
    Path("zip.csv").write_text("02139;town;*\n02141;town;*\n03055;land;*\n09999;land;*\n")
    checked = rothko("hierarchy", "check", "zip.csv", "people.csv", "--column", "zip")
    assert checked.out == (
        "zip.csv: 4 leaves, 2 levels above them\n1 of its leaves do not occur in people.csv, which does no harm.\n"
    )
    back = rothko("hierarchy", "import", "zip.csv", "-p", "policy.yaml", "-c", "zip", "--data", "people.csv")
    assert back.code == 0
    assert "had {'mask': 'right'}, and has zip.csv now" in back.out
    assert Path("policy.yaml").read_text() == POLICY.replace("{mask: right}", "zip.csv")
    released = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out.csv")
    assert released.code == 0
    assert "town" in Path("out.csv").read_text()


@pytest.mark.usefixtures("table")
def test_a_tree_becomes_a_part_of_the_policy(rothko: Rothko) -> None:
    assert rothko("hierarchy", "export", "people.csv", "-c", "job", "-o", "job.yaml", "--hierarchy", "flat").code == 0
    Path("job.yaml").write_text("food: [cook, baker]\ncare: [nurse]\n")
    assert rothko("hierarchy", "import", "job.yaml", "-p", "policy.yaml", "-c", "job", "--data", "people.csv").code == 0
    spec = Policy.load("policy.yaml").columns["job"].hierarchy
    assert spec is not None
    assert spec.nested == {"food": ["cook", "baker"], "care": ["nurse"]}
    shown = rothko("hierarchy", "show", "job.yaml", "--json")
    told = json.loads(shown.out)
    assert told["hierarchy"] == {"food": ["cook", "baker"], "care": ["nurse"]}
    assert told["leaves"] == 3


@pytest.mark.usefixtures("table")
def test_mistakes(rothko: Rothko) -> None:
    Path("zip.csv").write_text("02139;town;*\n02139;land;*\n")
    before = Path("policy.yaml").read_text()
    for arguments, told in {
        ("check", "zip.csv"): "zip.csv, line 2: the leaf has another path than on line 1",
        ("check", "none.csv"): "there is no hierarchy file none.csv",
        ("import", "zip.csv", "-p", "policy.yaml", "-c", "zip"): "zip.csv, line 2",
        ("show", "people.csv", "-c", "zap"): "There is no column 'zap'; did you mean 'zip'?",
        (
            "show",
            "people.csv",
            "-c",
            "zip",
            "--hierarchy",
            "{prefix: [1, 3]}",
        ): "must fall from each number",
        ("export", "people.csv", "-c", "zip", "-o", "zip.xlsx"): "an ending that rothko does not write",
        ("export", "people.csv", "-c", "zip", "-o", "zip.csv"): "--overwrite",
        ("check", "policy.csv", "people.csv"): "policy.csv",
    }.items():
        ran = rothko("hierarchy", *arguments)
        assert ran.code == 2, arguments
        assert told in ran.err
    Path("zip.csv").write_text("02139;town;*\n")
    ran = rothko("hierarchy", "import", "zip.csv", "-p", "policy.yaml", "-c", "zip", "--data", "people.csv")
    assert ran.code == 2
    assert "2 of 3 distinct values of column 'zip' have no leaf" in ran.err
    assert "02141" not in ran.err
    shown = rothko("hierarchy", "check", "zip.csv", "people.csv", "-c", "zip", "--show-values")
    assert "02141" in shown.err
    assert "--column" in rothko("hierarchy", "check", "zip.csv", "people.csv").err
    assert Path("policy.yaml").read_text() == before


def test_a_long_tree_is_cut_to_a_screen(folder: Path, rothko: Rothko) -> None:
    Path("h.csv").write_text("".join(f"{i:04};{i // 10:03}x;{i // 100:02}y;*\n" for i in range(1500)))
    lines = rothko("hierarchy", "show", "h.csv").out.splitlines()
    assert len(lines) <= 40
    assert "  00y  (10 below)" in lines
    assert "  and 7 more" in lines
    assert len(rothko("hierarchy", "show", "h.csv", "--all").out.splitlines()) == 1 + 15 + 150 + 1500
