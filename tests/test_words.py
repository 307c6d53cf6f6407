"""Python takes what the command line takes: words in place of a policy, sizes, YAML; and messages name keywords."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rothko as rk
from rothko.data.source.csv import CsvOptions
from rothko.errors import InputError, PolicyError, RothkoError
from rothko.mistakes import said, speaking_of_options
from rothko.policy.words import Roles, Words
from tests.command import Rothko

random = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(120)],
        "age": random.integers(20, 80, 120),
        "city": random.choice(["Bern", "Basel", "Zug"], 120),
        "disease": random.choice(["flu", "cold", "gout", "asthma"], 120),
        "paid": random.choice(["yes", "no"], 120),
    }
)
ROLES: dict[str, Any] = {"qi": ["age", "city"], "sensitive": "disease", "drop": "name", "keep": "paid"}
POLICY = """
columns:
  name: {role: identifier}
  age: {role: quasi-identifier}
  city: {role: quasi-identifier}
  disease: {role: sensitive}
  paid: {role: keep}
privacy:
  - k-anonymity: {k: 5}
  - distinct-l-diversity: {l: 2, of: disease}
"""


def test_words_are_the_policy_that_the_command_line_makes(folder: Path, rothko: Rothko) -> None:
    PEOPLE.to_csv("people.csv", index=False)
    options = "--qi age,city --sensitive disease --drop name --keep paid --k 5 --l 2 --method refine --classify paid"
    ran = rothko("anonymize", "people.csv", *options.split(), "--publish", "bounds", "--out", "out", "--json")
    assert ran.code == 0, ran.err
    words: dict[str, Any] = {**ROLES, "k": 5, "l": 2, "method": "refine", "classify": "paid", "publish": "bounds"}
    certificate = rk.anonymize("people.csv", **words).certificate
    assert certificate.policy.dump() == json.loads(ran.out)["policy"]
    assert rk.Policy.quick("people.csv", **words) == certificate.policy


def test_every_call_takes_words() -> None:
    release = rk.anonymize(PEOPLE, **ROLES, k=5, l=2, method="cluster", memory="1GB")
    assert isinstance(release.table, pd.DataFrame)
    found = rk.check(release.table, **ROLES | {"drop": None}, k=5, l=2)
    assert found.verification.classes == release.certificate.verification.classes
    assert found
    assert not rk.check(PEOPLE, **ROLES, k=5)
    trials = rk.compare(PEOPLE, qi="age", k=[3, 6], methods=["mondrian"]).trials
    assert [trial.k for trial in trials] == [3, 6]
    [scores] = rk.evaluate(PEOPLE, qi=["age", "city"], k=5, classify="paid", models=["tree"], folds=2)
    assert scores.target == "paid"


@pytest.mark.parametrize("several", [tuple, iter, np.array, pd.Index, pd.Series, dict.fromkeys])
def test_names_come_in_any_kind_of_list(several: Any) -> None:
    names = ["age", "city"]
    policy = rk.Policy.quick(PEOPLE, **ROLES | {"qi": several(names)}, k=5)
    assert policy == rk.Policy.quick(list(PEOPLE), **ROLES, k=5)
    assert rk.anonymize(PEOPLE, **ROLES | {"qi": several(names)}, k=5).certificate.policy == policy


def test_people_are_counted_where_a_column_says_whose_records_they_are() -> None:
    visits = PEOPLE.assign(name=[f"person {i // 4}" for i in range(120)])
    release = rk.anonymize(visits, **ROLES | {"drop": None}, k=5, of="name")
    assert release.certificate.policy.identifiers == ("name",)
    assert release.certificate.policy.privacy[0].owner == "name"


@pytest.mark.parametrize("function", [rk.anonymize, rk.check, rk.evaluate, rk.Policy.quick])
def test_help_shows_every_word(function: Any) -> None:
    assert set(Words.__annotations__) <= set(inspect.signature(function).parameters)
    assert set(Roles.__annotations__) <= set(inspect.signature(rk.compare).parameters)


def test_the_text_of_a_policy_is_one() -> None:
    assert rk.check(PEOPLE, POLICY).to_dict() == rk.check(PEOPLE, rk.Policy.parse(POLICY)).to_dict()
    with pytest.raises(PolicyError, match=r"^the text of the policy, line 9, privacy\[0\]"):
        rk.check(PEOPLE, POLICY.replace("k-anonymity", "k-anonimity"))
    with pytest.raises(PolicyError, match=r"the policy file 'policy\.yml' does not exist"):
        rk.check(PEOPLE, "policy.yml")


def test_k_and_l_take_the_place_of_those_of_a_policy() -> None:
    policy = rk.Policy.quick(PEOPLE, **ROLES, k=5, l=2)
    asked = rk.anonymize(PEOPLE, policy, k=20, l=3).certificate.policy
    assert asked == rk.Policy.quick(PEOPLE, **ROLES, k=20, l=3)
    assert rk.anonymize(PEOPLE, policy).certificate.policy == policy
    release = rk.anonymize(PEOPLE, policy).table
    assert rk.check(release, policy)
    assert not rk.check(release, policy, k=100)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "neither": ({}, r"policy=….*qi=…"),
    "both": ({"policy": POLICY, "qi": "age"}, r"not both: leave out qi=…"),
    "both, a switch": ({"policy": POLICY, "keep_rest": True}, r"not both: leave out keep_rest=…"),
    "no privacy": (ROLES, r"give k=…, for example k=10, or l=…"),
    "names by commas": ({**ROLES, "qi": "age,city", "k": 2}, r"give several as a list, \['age', 'city'\]"),
    "no size": ({**ROLES, "k": 2, "memory": "lots"}, r"^memory=… must be a size such as 512MB"),
    "little memory": ({**ROLES, "k": 2, "memory": 10_000_000, "engine": "memory"}, r"raise memory=…"),
    "a type": ({**ROLES, "k": 2, "types": {"city": "number"}}, r"`values` of this error lists them"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_in_keywords(mistake: str) -> None:
    asked, says = MISTAKES[mistake]
    with pytest.raises(RothkoError, match=says) as told:
        rk.anonymize(PEOPLE, **asked)
    assert not re.search(r"(?<!\w)--\w", str(told.value))


def test_how_to_read_a_file_is_told_in_keywords(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("größe\n1\n2\n".encode("latin-1"))
    with pytest.raises(InputError) as told:
        rk.anonymize(path, qi="größe", k=2)
    words = re.search(r"csv=(CsvOptions\(.*\))", str(told.value))
    assert words
    csv = eval(words[1], {"CsvOptions": CsvOptions})
    assert rk.anonymize(path, qi="größe", k=2, csv=csv).certificate.verification.holds


def test_options_are_said_on_the_command_line_only() -> None:
    with speaking_of_options():
        assert said("--keep", ["a b", "c"]) == "--keep 'a b,c'"
    assert said("--keep", ["a b", "c"]) == "keep=['a b', 'c']"


def test_a_release_does_not_travel_with_the_original() -> None:
    release = rk.anonymize(PEOPLE, **ROLES, k=5)
    with pytest.raises(TypeError, match=r"it is verified against the original.*save it with \.save"):
        pickle.dumps(release)
    assert copy.deepcopy(release) is release
    for part in (release.table, release.certificate, release.recoding, rk.check(PEOPLE, **ROLES, k=5)):
        assert type(pickle.loads(pickle.dumps(part))) is type(part)
