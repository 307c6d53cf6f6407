"""Forty made-up people, always the same ones: what every method, requirement and metric is shown on."""

from __future__ import annotations

import random
from typing import Any

import rothko as rk

K = 4
KEY = b"forty people, always the same"
"""In place of the secret of a run: which of equal records goes where must not change a picture."""
AGES, ZIPS = (18, 82), (53100, 53200)
"""The axes of every picture."""
DISEASES = ("flu", "cold", "asthma", "cancer")
HOBBIES = ("reading", "music", "cooking", "football", "chess", "yoga", "sailing", "opera")


def people() -> dict[str, list[Any]]:
    """Age, zip, disease, pay in thousands, and hobbies.

    They live around three places. The young have mostly the flu, the old earn more: otherwise no class would tell
    anything about those in it.

    >>> table = people()
    >>> len(table["age"]), len(set(zip(table["age"], table["zip"])))
    (40, 40)
    """
    chance = random.Random(1903)
    rows = []
    for number in range(40):
        age0, zip0, spread = ((28, 53125, 6), (47, 53168, 8), (66, 53138, 7))[number % 3]
        age = min(max(round(chance.gauss(age0, spread)), 19), 80)
        place = min(max(round(chance.gauss(zip0, 13)), 53102), 53198)
        likely = {0: (8, 1, 1, 0), 1: (2, 4, 3, 1), 2: (1, 2, 3, 4)}[number % 3]
        [disease] = chance.choices(DISEASES, likely)
        pay = round(22 + 0.45 * (age - 18) + chance.gauss(0, 7))
        held = [hobby for at, hobby in enumerate(HOBBIES) if chance.random() < 0.86 * 0.74**at + 0.06]
        rows.append((age, place, disease, pay, held or [HOBBIES[0]]))
    return {
        name: list(column)
        for name, column in zip(("age", "zip", "disease", "pay", "hobbies"), zip(*rows, strict=True), strict=True)
    }


PEOPLE = people()
TABLE = {name: PEOPLE[name] for name in ("age", "zip", "disease", "pay")}


def policy(privacy: list[Any], *, method: Any = "mondrian", **more: Any) -> rk.Policy:
    """A policy for them: age and zip are generalised, disease and pay are sensitive."""
    roles = {"age": "quasi-identifier", "zip": "quasi-identifier", "disease": "sensitive", "pay": "sensitive"}
    columns = {name: {"role": role} for name, role in roles.items()}
    return rk.Policy(columns=columns, privacy=privacy, method=method, **more)


def released(privacy: list[Any] | None = None, *, method: Any = "mondrian", **more: Any) -> Any:
    """A release of them; 4-anonymous unless more is asked for."""
    asked = [{"k-anonymity": {"k": K}}] if privacy is None else privacy
    return rk.anonymize(TABLE, policy(asked, method=method, **more), key=KEY, threads=1)
