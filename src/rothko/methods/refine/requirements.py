"""Which requirements of a policy count: over each set of quasi-identifiers those that no other implies.

Fung, Wang, Yu, TKDE 2007, section 2: where QIDj is a subset of QIDi and kj ≤ ki, what holds over QIDi holds over QIDj,
whose groups are unions of groups of QIDi. That is true of every monotone requirement, not of k-anonymity alone. Where
people are counted it is true of what asks for people or for values that occur, and of nothing that asks for shares: two
groups of the same people may each have half of them with a value, and together all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from rothko.privacy.kanonymity import KAnonymity
from rothko.privacy.requirement import Requirement

MORE_IS_STRICTER = {"k", "l", "p", "v", "error"}
LESS_IS_STRICTER = {"t", "alpha", "c"}


@dataclass(frozen=True, slots=True)
class Over:
    """A set of quasi-identifiers, and what is required over it."""

    names: tuple[str, ...]
    """In the order of the policy."""
    requirements: tuple[Requirement, ...]


def sets_of(requirements: Sequence[Requirement], names: Sequence[str]) -> tuple[tuple[Over, ...], tuple[str, ...]]:
    """The sets that count, and a note on every requirement that another implies.

    >>> asked = [KAnonymity(k=5, over=["age"]), KAnonymity(k=10, over=["age", "sex"]), KAnonymity(k=4, over=["zip"])]
    >>> sets, notes = sets_of(asked, ["age", "sex", "zip"])
    >>> [one.names for one in sets]
    [('age', 'sex'), ('zip',)]
    >>> notes[0]
    'k-anonymity with k = 5 over age follows from k-anonymity with k = 10 over age, sex, and is not asked by itself'
    """
    over = [_named(requirement, names) for requirement in requirements]
    people = any(requirement.owner is not None for requirement in requirements)
    inherited = [not people or one.counts_alike for one in requirements]
    kept: list[int] = []
    notes = []
    for i, requirement in enumerate(requirements):
        stronger = [
            j
            for j, other in enumerate(requirements)
            if j != i and set(over[i]) <= set(over[j]) and implies(other, requirement)
            if inherited[i] or set(over[i]) == set(over[j])
            # Of two that imply each other the first counts.
            if j < i or not (set(over[j]) <= set(over[i]) and implies(requirement, other))
        ]
        if not stronger:
            kept.append(i)
            continue
        j = stronger[0]
        if set(over[i]) == set(over[j]):
            why = f"are about the same quasi-identifiers ({', '.join(over[i])}); the stricter one, "
            notes.append(f"{requirement.describe()} and {requirements[j].describe()} {why}the latter, counts")
        else:
            notes.append(
                f"{requirement.describe()} over {', '.join(over[i])} follows from {requirements[j].describe()} over "
                f"{', '.join(over[j])}, and is not asked by itself"
            )
    sets = {over[i]: [requirements[j] for j in kept if over[j] == over[i]] for i in kept}
    return tuple(Over(named, tuple(about)) for named, about in sets.items()), tuple(notes)


def implies(one: Requirement, other: Requirement) -> bool:
    """Whether every class that satisfies ``one`` satisfies ``other``, as far as their parameters tell.

    >>> implies(KAnonymity(k=10), KAnonymity(k=5)), implies(KAnonymity(k=5), KAnonymity(k=10))
    (True, False)
    """
    if isinstance(other, KAnonymity):
        return one.least >= other.k if other.of is None else isinstance(one, KAnonymity) and _people(one) >= other.k
    if type(one) is not type(other):
        return False
    for parameter in fields(other):
        if parameter.name == "over":
            continue
        ours, theirs = getattr(one, parameter.name), getattr(other, parameter.name)
        if ours == theirs:
            continue
        if parameter.name in MORE_IS_STRICTER and ours >= theirs:
            continue
        if parameter.name in LESS_IS_STRICTER and ours <= theirs:
            continue
        return False
    return True


def _people(requirement: KAnonymity) -> int:
    """The fewest people of a class: k records may be of one."""
    return 1 if requirement.of is None else requirement.k


def _named(requirement: Requirement, names: Sequence[str]) -> tuple[str, ...]:
    """The quasi-identifiers that a requirement is about, in the order of the policy."""
    return tuple(name for name in names if requirement.over is None or name in requirement.over)
