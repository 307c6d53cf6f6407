"""Nothing is released by a draft that nobody has agreed to."""

from __future__ import annotations

from pathlib import Path

import pytest

import rothko as rk
from rothko.errors import PolicyError
from tests.command import Rothko

PEOPLE = {
    "age": [20 + i % 30 for i in range(200)],
    "disease": ["flu", "cold", "gout", "flu"] * 50,
    "points": [1, 2] * 100,
}


@pytest.fixture
def people(folder: Path) -> Path:
    lines = [",".join(PEOPLE), *(",".join(map(str, row)) for row in zip(*PEOPLE.values(), strict=True))]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    return Path("people.csv")


def test_roles_that_leave_on_a_guess_wait(people: Path) -> None:
    found = rk.draft(people)
    assert found.policy.confirm == ("disease", "points"), "age is generalised and known by its name"
    assert rk.Policy.parse(found.to_yaml()) == found.policy
    assert found.confirm() == found.policy.but(confirm=())


def test_a_release_is_refused_until_somebody_agrees(people: Path, rothko: Rothko) -> None:
    asked = ("anonymize", people, "--policy", "policy.yaml", "--out", "release.csv")
    drafted = rothko("draft", people, "--out", "policy.yaml")
    assert "look at 'disease', 'points'; where you agree, delete the name from 'confirm' in policy.yaml" in drafted.out
    ran = rothko(*asked)
    assert ran.code == 2
    lines = Path("policy.yaml").read_text().splitlines()
    first = lines.index("  - disease") + 1
    assert (
        f"'disease', 'points'. Look at each; where you agree, delete its name in lines {first} to {first + 1}"
        in ran.err
    )
    assert not Path("release.csv").exists()
    lines.remove("  - disease")
    Path("policy.yaml").write_text("\n".join(lines))
    assert f"in line {first} of 'policy.yaml'" in rothko(*asked).err
    lines.remove("  - points")
    Path("policy.yaml").write_text("\n".join(lines))
    assert rothko(*asked).code == 0, "the key may stay, with nothing below it"


def test_a_draft_is_accepted_where_that_is_said(people: Path, rothko: Rothko) -> None:
    assert rothko("draft", people, "--out", "policy.yaml").code == 0
    ran = rothko("anonymize", people, "--policy", "policy.yaml", "--out", "release.csv", "--accept-draft")
    assert ran.code == 0, ran.err
    assert "nobody confirmed the roles of 2 column(s)" in ran.out
    assert "nobody confirmed" in Path("release.certificate.json").read_text()
    for command in (
        "check release.csv",
        "measure people.csv release.csv",
        "compare people.csv --k 5",
    ):
        assert rothko(*command.split(), "--policy", "policy.yaml").code == 0, "nothing leaves"


def test_in_python(people: Path) -> None:
    found = rk.draft(people)
    with pytest.raises(PolicyError, match=r"'disease', 'points'.*draft.confirm\(\).*accept_draft=True"):
        rk.anonymize(people, found)
    with pytest.raises(PolicyError, match="wait for a person"):
        rk.Anonymizer(found).fit(rk.anonymize(people, found, accept_draft=True).table)
    release = rk.anonymize(people, found.confirm({"points": "sensitive"}))
    assert release.certificate.policy.sensitive == ("disease", "points")
    dropped = found.confirm({"disease": "identifier"})
    assert [r.name for r in dropped.privacy] == ["k-anonymity"], "no requirement of what is dropped"
    with pytest.raises(PolicyError, match="'point' is not a column of the draft; did you mean 'points'"):
        found.confirm({"point": "keep"})
    with pytest.raises(PolicyError, match="'secret' is not a role"):
        found.confirm({"points": "secret"})


def test_what_waits_must_be_a_column() -> None:
    text = "confirm: [agee]\ncolumns: {age: {role: quasi-identifier}}\nprivacy: [{k-anonymity: {k: 2}}]\n"
    with pytest.raises(PolicyError, match=r"line 1.*confirm.*'agee' is not a column of the policy; did you mean 'age'"):
        rk.Policy.parse(text)
    assert rk.Policy.parse(text.replace("[agee]", "")).confirm == ()
