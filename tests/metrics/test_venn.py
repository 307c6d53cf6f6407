"""Counts of predicates in a certificate: what a reader can compute from those that are told, by brute force."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import rothko as rk
from rothko.metrics.venn import Venn
from rothko.workload.predicate import parse
from rothko.workload.relations import excludes, implies

AGES = range(8)


def smallest_derivable(ages: list[int], classes: list[int], told: list[set[int]]) -> int | None:
    """The size of the smallest set of records, not made of whole classes, whose size is a sum of known numbers.

    An atom is a cell of the told predicates in a class, if some age between the smallest and the largest of the class
    lies in it. A set of atoms can be computed if it is a combination of classes and predicates; every set is tried.
    """
    atoms: dict[tuple[int, tuple[bool, ...]], int] = {}
    spans = {}
    for c in sorted(set(classes)):
        held = [age for age, of in zip(ages, classes, strict=True) if of == c]
        spans[c] = range(min(held), max(held) + 1)
        for age in spans[c]:
            atoms.setdefault((c, tuple(age in query for query in told)), 0)
    for age, c in zip(ages, classes, strict=True):
        atoms[c, tuple(age in query for query in told)] += 1
    keys = list(atoms)
    known = [[key[0] == c for key in keys] for c in spans] + [[key[1][i] for key in keys] for i in range(len(told))]
    known = np.array(known, dtype=float)
    _, values, basis = np.linalg.svd(known, full_matrices=False)
    basis = basis[values > 1e-9]
    sizes = np.array(list(atoms.values()))
    whole = np.array([[key[0] == c for key in keys] for c in spans])
    found = []
    for chosen in itertools.product([0, 1], repeat=len(keys)):
        some = np.array(chosen)
        split = (whole @ some > 0) & (whole @ (1 - some) > 0)
        if split.any() and np.abs(some - basis.T @ (basis @ some)).max() < 1e-9:
            found.append(
                int(sizes @ some - sum(sizes[whole[c]].sum() for c in np.flatnonzero(whole @ (1 - some) == 0)))
            )
    return min(found, default=None)


def venn(ages: list[int], classes: list[int], wheres: list[str]) -> tuple[Venn, list[set[int]]]:
    predicates = [parse(where) for where in wheres]
    queries = [{age for age in range(-5, 20) if eval(where)} for where in wheres]
    records = [np.array([age in query for age in ages]) for query in queries]
    spans = []
    for c in sorted(set(classes)):
        held = [age for age, of in zip(ages, classes, strict=True) if of == c]
        spans.append(set(range(min(held), max(held) + 1)))
    may_cut = [np.array([bool(span & query) and not span <= query for span in spans]) for query in queries]
    pairs = list(itertools.product(range(len(wheres)), repeat=2))
    return Venn.of(
        records,
        np.array(classes),
        may_cut,
        frozenset((i, j) for i, j in pairs if implies(predicates[i], predicates[j], {"age"})),
        frozenset((i, j) for i, j in pairs if excludes(predicates[i], predicates[j], {"age"}, ())),
    ), queries


def test_nothing_small_can_be_computed_from_what_is_told() -> None:
    """Classes of two or more, three predicates: no set of records with a derivable size has fewer than k."""
    draw = random.Random(0)
    told_at_all = withheld = 0
    for _ in range(150):
        ages = sorted(draw.choice(AGES) for _ in range(draw.randint(8, 16)))
        cut = draw.randint(4, len(ages) - 4)
        classes = [0 if i < cut else 1 for i in range(len(ages))]
        edges = draw.choices(range(1, 8), k=3)
        wheres = [draw.choice([f"age < {edge}", f"age >= {edge}"]) for edge in edges]
        found, queries = venn(ages, classes, wheres)
        least = min(2, min(classes.count(0), classes.count(1)))
        answers = found.tellable(least)
        told = [query for query, tell in zip(queries, answers, strict=True) if tell]
        told_at_all += len(told)
        withheld += 3 - len(told)
        smallest = smallest_derivable(ages, classes, told)
        assert smallest is None or smallest == 0 or smallest >= least, (ages, cut, wheres, answers)
    assert told_at_all > 100
    assert withheld > 100


@pytest.mark.parametrize(
    ("wheres", "told"),
    [
        (["age < 97"], [False]),  # the complement is one record
        (["age < 2"], [False]),
        (["age < 50"], [True]),
        (["age < 50", "age < 51"], [True, False]),  # the difference is one record
        (["age < 50", "age < 50"], [True, True]),  # the same question, and the same number
        (["age < 50", "age >= 50"], [True, False]),  # whether ages are missing would be told
        (["age < 30", "age < 60"], [True, True]),
        (["age < 60", "age < 30", "age >= 30 and age < 59"], [True, True, False]),  # what is left between is one record
        (["age < 500"], [False]),  # nobody is older: that is a fact about the table
    ],
)
def test_complements_and_differences(wheres: list[str], told: list[bool]) -> None:
    """One class of a hundred people, one of each age; the class says that it reaches from 0 to 999."""
    records = [np.array([eval(where) for age in range(100)]) for where in wheres]
    predicates = [parse(where) for where in wheres]
    pairs = list(itertools.product(range(len(wheres)), repeat=2))
    found = Venn.of(
        records,
        np.zeros(100, dtype=int),
        [np.ones(1, dtype=bool)] * len(wheres),
        frozenset((i, j) for i, j in pairs if implies(predicates[i], predicates[j], {"age"})),
        frozenset((i, j) for i, j in pairs if excludes(predicates[i], predicates[j], {"age"}, ())),
    )
    assert found.tellable(5) == told
    halves = [Venn.of([one[part] for one in records], np.zeros(50, dtype=int), [np.ones(1, dtype=bool)] * len(wheres),
                      found.implied, found.apart) for part in (slice(None, 50), slice(50, None))]  # fmt: skip
    assert (halves[0] + halves[1]).as_one_class().tellable(5) == told


def test_the_certificate_does_not_tell_of_the_one_who_is_left(engine: str) -> None:
    """399 of 400 are younger than 97. That no class reaches over 50 the release shows itself."""
    people = {"age": [i % 90 for i in range(399)] + [97], "pay": list(range(400))}
    workload = [{"select": {"where": where}} for where in ("age < 97", "age < 50")]
    policy = rk.Policy.quick(people, qi=["age"], keep="pay", k=5).but(workload=workload)
    younger, half = rk.anonymize(people, policy, engine=engine).certificate.to_dict()["loss"]["workload"]
    assert (younger["matching"], younger["imprecision"]) == (None, None)
    assert "withheld" in younger["why"]
    assert half["matching"] == sum(age < 50 for age in people["age"])
    assert half["imprecision"] == 0


@pytest.mark.parametrize(
    ("one", "other", "implied", "apart"),
    [
        ("age < 30", "age <= 30", True, False),
        ("age <= 30", "age < 30", False, False),
        ("age = 30", "age >= 30", True, False),
        ("age = 30", "age > 30", False, True),
        ("age < 30 and sex = 'M'", "sex in ('F', 'M')", True, False),
        ("sex = 'F'", "sex = 'M'", False, True),
        ("city = 'Rome'", "city = 'Italy'", False, False),  # a node of a hierarchy may hold the other
        ("grade <= '2'", "grade <= '10'", False, False),  # labels have an order of their own
        ("age < 20 or age > 60", "age < 25 or age > 50", True, False),
    ],
)
def test_what_follows_by_definition(one: str, other: str, implied: bool, apart: bool) -> None:
    assert implies(parse(one), parse(other), {"age"}) == implied
    assert excludes(parse(one), parse(other), {"age"}, {"sex"}) == apart
