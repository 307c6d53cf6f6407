"""The workload on the command line, with a policy file and without one."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rothko.policy.policy import Policy
from rothko.workload import Aggregate, Classify, Regress, Select

POLICY = """\
columns:
  age: {role: quasi-identifier}
  sex: {role: quasi-identifier}
  income: {role: keep}
  disease: {role: sensitive}
privacy:
  - k-anonymity: {k: 2}
workload:
  - classify: {target: disease}
method: {mondrian: {minimum_gain: 0.5, relaxed: true}}
"""
PEOPLE = "age,sex,income,disease\n" + "".join(
    f"{20 + i},{'mf'[i % 2]},{1000 + i},{('flu', 'cold')[i % 2]}\n" for i in range(20)
)


@pytest.fixture
def asked(rothko: Callable[..., Any], folder: Path) -> Callable[..., Policy]:
    """The policy of a release that is made with some options."""
    Path("people.csv").write_text(PEOPLE)
    Path("policy.yaml").write_text(POLICY)

    def run(*options: str) -> Policy:
        ran = rothko("anonymize", "people.csv", *options, "--out", "out.csv", "--json", "--overwrite")
        assert ran.code == 0, ran.err
        return Policy.parse(json.loads(ran.out)["policy"])

    return run


def test_without_a_file(asked):
    options = ["--qi", "age,sex", "--sensitive", "disease", "--keep", "income", "--k", "2"]
    tasks = [
        "--classify",
        "disease",
        "--regress",
        "income",
        "--select",
        "age >= 30 and sex = 'f'",
        "--aggregate",
        "age",
    ]
    policy = asked(*options, *tasks)
    assert policy.workload == (
        Classify("disease"), Regress("income"), Select("age >= 30 and sex = 'f'"), Aggregate("age"),
    )  # fmt: skip
    assert asked(*options).workload == ()


def test_names_by_commas_and_options_again(asked):
    options = [
        "--qi",
        "age",
        "--keep-rest",
        "--k",
        "2",
        "--classify",
        "sex, disease",
        "--classify",
        "income",
        "--classify",
        "sex",
    ]
    policy = asked(*options, "--select", "age in (20, 21)", "--select", "age > 30")
    assert policy.workload == (
        Classify("sex"), Classify("disease"), Classify("income"), Select("age in (20, 21)"), Select("age > 30"),
    )  # fmt: skip


def test_tasks_are_added_to_those_of_the_policy(asked):
    policy = asked("--policy", "policy.yaml", "--regress", "income", "--classify", "disease", "--select", "age > 30")
    assert policy.workload == (Classify("disease"), Regress("income"), Select("age > 30"))
    assert policy.privacy == Policy.parse(POLICY).privacy


def test_options_of_the_method_keep_the_others(asked):
    method = asked("--policy", "policy.yaml").method
    assert (method.relaxed, method.minimum_gain) == (True, 0.5)
    method = asked("--policy", "policy.yaml", "--minimum-gain", "0").method
    assert (method.relaxed, method.minimum_gain) == (True, 0)
    Path("policy.yaml").write_text(POLICY.replace(", relaxed: true", ""))
    method = asked("--policy", "policy.yaml", "--relaxed").method
    assert (method.relaxed, method.minimum_gain) == (True, 0.5)
    method = asked("--qi", "age", "--keep-rest", "--k", "2", "--relaxed", "--minimum-gain", "1e-3").method
    assert (method.relaxed, method.minimum_gain) == (True, 0.001)


def test_options_of_the_method_by_name(asked):
    method = asked("--policy", "policy.yaml", "--option", "relaxed=false", "--option", "minimum_gain=1e-3").method
    assert (method.relaxed, method.minimum_gain) == (False, 0.001)
    method = asked("--qi", "age", "--keep-rest", "--k", "2", "--option", "relaxed=false", "--relaxed").method
    assert method.relaxed is True
    method = asked("--qi", "age", "--keep-rest", "--k", "2", "--method", "hilbert", "--option", "bits=8").method
    assert (method.name, method.bits) == ("hilbert", 8)


def test_a_selection_is_cut_out(asked):
    def sexes():
        return {row["sex"] for row in csv.DictReader(Path("out.csv").read_text().splitlines())}

    options = ["--qi", "age,sex", "--sensitive", "disease", "--keep", "income", "--k", "8", "--method", "mondrian"]
    asked(*options)
    assert sexes() == {"*"}  # cut by age
    asked(*options, "--select", "sex = 'f'")
    assert sexes() == {"f", "m"}
