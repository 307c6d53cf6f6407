"""``method: auto`` chooses by what is asked, says so, and is never seen by those who do the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import PolicyError
from rothko.in_memory import in_memory
from rothko.methods.auto import Auto
from tests.command import Rothko

PEOPLE = {"age": [20, 21, 30, 31] * 6, "city": ["Rome", "Lyon", "Paris"] * 8, "disease": ["flu", "cold", "flu"] * 8}
OVER = [{"k-anonymity": {"k": 2, "over": ["age"]}}, {"k-anonymity": {"k": 3, "over": ["city"]}}]
KEY = b"sixteen or more!"


def policy(**changes: Any) -> rk.Policy:
    return rk.Policy.quick(PEOPLE, qi=["age", "city"], sensitive="disease", k=2, method="auto").but(**changes)


@pytest.mark.parametrize(
    ("changes", "how", "method"),
    [
        ({}, {}, "cluster"),
        ({"workload": [{"aggregate": {"of": "age"}}]}, {}, "cluster"),
        ({"workload": [{"classify": {"target": "disease"}}]}, {}, "cluster"),
        ({"workload": [{"classify": {"target": "disease"}}]}, {"recoding": True}, "mondrian"),
        ({"workload": [{"classify": {"target": "disease"}}]}, {"in_memory": False}, "mondrian"),
        ({"workload": [{"select": {"where": "age >= 30"}}]}, {}, "mondrian"),
        ({"publish": "region"}, {}, "mondrian"),
        ({}, {"recoding": True}, "mondrian"),
        ({}, {"in_memory": False}, "mondrian"),
        ({"privacy": OVER}, {}, "refine"),
        ({"privacy": OVER, "workload": [{"classify": {"target": "disease"}}]}, {"in_memory": False}, "refine"),
    ],
)
def test_what_is_asked_decides(changes: dict[str, Any], how: dict[str, bool], method: str) -> None:
    asked = policy(**changes)
    assert Auto().choose(asked, **how).method.name == method
    asked.method.check(asked)


def test_the_certificate_says_which_and_why() -> None:
    release = rk.anonymize(PEOPLE, policy(), key=KEY)
    told = release.certificate.to_dict()
    assert told["method"] == rk.Policy.parse(told["policy"]).method.name == "cluster"
    assert any("chosen by auto: it loses least" in note for note in told["notes"])
    named = rk.anonymize(PEOPLE, policy(method="cluster"), key=KEY)
    assert release.arrow.equals(named.arrow)
    assert not any("auto" in note for note in named.certificate.notes)


def test_an_engine_on_disk_takes_mondrian() -> None:
    release = rk.anonymize(PEOPLE, policy(), engine="rothko-t")
    assert release.certificate.policy.method.name == "mondrian"
    assert any("need not have all records in memory" in note for note in release.certificate.notes)


def test_what_needs_a_recoding_has_one() -> None:
    assert in_memory(open_source(PEOPLE), policy()).recoding is not None


def test_drafts_say_auto() -> None:
    found = rk.draft({name: values * 5 for name, values in PEOPLE.items()})
    assert found.policy.method.name == "auto"
    assert rk.Policy.parse(found.to_yaml()) == found.policy


def test_auto_has_no_options() -> None:
    with pytest.raises(PolicyError, match="unknown parameter 'relaxed'"):
        policy(method={"auto": {"relaxed": True}})


def test_a_comparison_names_the_method() -> None:
    [trial] = rk.compare(PEOPLE, policy(), methods=["auto"], k=[2]).trials
    assert trial.method == "cluster"


WORDS = ("people.csv", "--qi", "age,city", "--sensitive", "disease", "--k", "2", "--out", "out")


@pytest.fixture
def people(folder: Path) -> Path:
    rows = zip(*PEOPLE.values(), strict=True)
    lines = [",".join(PEOPLE), *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("more", "says", "method"),
    [
        ((), "Method cluster, chosen by auto", "cluster"),
        (("--recoding", "kept"), "Method mondrian, chosen by auto: it has a recoding", "mondrian"),
        (("--relaxed",), "", "mondrian"),
        (("--method", "hilbert"), "", "hilbert"),
    ],
)
def test_the_command_line_means_auto(
    more: tuple[str, ...], says: str, method: str, rothko: Rothko, people: Path
) -> None:
    ran = rothko("anonymize", *WORDS, *more)
    assert ran.code == 0, ran.err
    assert says in ran.out
    assert ("chosen by auto" in ran.out) is bool(says)
    assert json.loads((people / "out/certificate.json").read_text("utf-8"))["method"] == method
    assert (people / "kept").exists() is ("kept" in more)
    assert not (people / "out-recoding").exists()


def test_options_beside_auto_in_a_policy_are_refused(rothko: Rothko, people: Path) -> None:
    policy().save("policy.yaml")
    ran = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out", "--relaxed")
    assert ran.code == 2
    assert "auto has no option 'relaxed'; say with --method" in ran.err
