"""The same policy with another k or another l."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from rothko.errors import PolicyError
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity

By = Literal["k", "l"]
"""What varies: k of k-anonymity, or l of l-diversity."""


def varied(policy: Policy, by: By, value: Any) -> Policy:
    """The policy with another k, or another l in every requirement that has one.

    k is that of k-anonymity, or of whatever else has a k; k-anonymity is added where nothing has one. There are several
    l-diversities, and none is chosen where the policy has none.

    >>> policy = Policy.quick(["age", "disease"], qi=["age"], sensitive=["disease"], k=2, l=2)
    >>> [requirement.describe() for requirement in varied(policy, "k", 5).privacy]
    ['k-anonymity with k = 5', 'distinct-l-diversity of disease with l = 2']
    """
    privacy = tuple(policy.privacy)
    of_that_name = [r for r in privacy if by == "k" and r.name == KAnonymity.name]
    has = of_that_name or [r for r in privacy if hasattr(r, by)]
    if not has:
        if by == "l":
            raise PolicyError(f"l = {value} is asked for, and no requirement of the policy has an l; add one to it.")
        return policy.but(privacy=(*privacy, KAnonymity(k=value)))
    changed: dict[str, Any] = {by: value}
    return policy.but(privacy=tuple(replace(r, **changed) if r in has else r for r in privacy))
