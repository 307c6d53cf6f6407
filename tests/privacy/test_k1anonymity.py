"""(k,1)-anonymity: a requirement of sets, which no policy of a table can ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rothko as rk
from rothko.errors import PolicyError
from rothko.privacy import REQUIREMENTS, SET_REQUIREMENTS, K1Anonymity, KAnonymity
from rothko.privacy.k1anonymity import ADVERSARIES
from rothko.privacy.statistics import Statistics
from rothko.sets.methods import SET_METHODS


def test_the_fewest_that_contain_a_set_are_achieved() -> None:
    asked = K1Anonymity(k=3)
    held = Statistics(np.array([5, 3, 9]), {}, {}, {})
    assert (asked.achieved(held), asked.satisfied(held).tolist()) == (3.0, [True, True, True])
    assert K1Anonymity(k=4).satisfied(held).tolist() == [True, False, True]


@pytest.mark.parametrize("k", [1, 0, 2.5, True, "3", None])
def test_what_is_no_k_is_refused(k: Any) -> None:
    with pytest.raises(PolicyError, match="k1-anonymity: k must be a whole number of at least 2"):
        K1Anonymity(k=k)


@pytest.mark.parametrize("asked", [K1Anonymity(k=3), "k1-anonymity", {"k1-anonymity": {"k": 3}}])
def test_a_policy_of_a_table_is_told_what_takes_it(asked: Any) -> None:
    with pytest.raises(PolicyError, match=r"privacy\[1\]: k1-anonymity is about records that are sets .* rothko sets"):
        rk.Policy(columns={"age": {"role": "quasi-identifier"}}, privacy=[KAnonymity(k=2), asked])


def test_every_method_for_sets_meets_one_that_is_told_in_words() -> None:
    met = {method.requirement for method in SET_METHODS.values()}
    assert met == set(SET_REQUIREMENTS.values())
    assert list(ADVERSARIES) == list(SET_REQUIREMENTS)
    assert K1Anonymity.name not in REQUIREMENTS
