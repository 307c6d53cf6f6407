"""Requirements where records have an owner, by their definitions: what a person has counts once, and shares are of
people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rothko.privacy import AlphaK, FrequencyLDiversity, KAnonymity, PSensitive, Requirement, TCloseness
from tests.twins import mondrian as records

Columns = dict[str, list[Any]]


def satisfies(
    requirement: Requirement, numbers: Sequence[int], columns: Columns, owner: str, *, but_for_k: bool = False
) -> bool:
    """Whether the records with these numbers meet the requirement, in exact arithmetic; or all of it but a k."""
    people = len({columns[owner][i] for i in numbers})
    if isinstance(requirement, KAnonymity):
        return (len(numbers) if requirement.of is None else people) >= requirement.k
    values, everyone = (held(of, columns, requirement, owner) for of in (numbers, range(len(columns[owner]))))
    top = max(Counter(values).values())
    match requirement:
        case FrequencyLDiversity():
            return top * records.as_fraction(requirement.l) <= people
        case AlphaK():
            return top <= records.as_fraction(requirement.alpha) * people and (but_for_k or people >= requirement.k)
        case PSensitive():
            return len(set(values)) >= requirement.p and (but_for_k or people >= requirement.k)
        case TCloseness():
            return records.distance(requirement, values, everyone) <= records.as_fraction(requirement.t)
    return records.satisfies(requirement, range(len(values)), {str(requirement.column): values})


def reaches(requirement: Requirement, numbers: Sequence[int], columns: Columns, owner: str) -> float:
    """What a class of these records reaches."""
    people = len({columns[owner][i] for i in numbers})
    if isinstance(requirement, KAnonymity):
        return len(numbers) if requirement.of is None else people
    values, everyone = (held(of, columns, requirement, owner) for of in (numbers, range(len(columns[owner]))))
    top = max(Counter(values).values())
    match requirement:
        case FrequencyLDiversity():
            return people / top
        case AlphaK():
            return top / people
    return records.reaches(requirement, values, everyone)


def held(numbers: Sequence[int], columns: Columns, requirement: Requirement, owner: str) -> list[Any]:
    """The values that the people of some records have, each once for each of them."""
    return [value for _, value in {(columns[owner][i], columns[str(requirement.column)][i]) for i in numbers}]


def all_of(requirements: Sequence[Requirement], columns: Columns, owner: str) -> records.Allowed:
    """Whether a list of records meets every requirement."""
    return lambda numbers: all(satisfies(requirement, numbers, columns, owner) for requirement in requirements)
