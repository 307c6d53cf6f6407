"""A synthetic census: the attributes, cardinalities and taxonomies of Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007.

Their Table 1: age (79 values) and education (17) are numbers; gender (2 values, 2 levels of the taxonomy), marital
status (6, 3), race (9, 2), work class (10, 4) and country (83, 3) are categories, with the root and the leaves counted
as levels; occupation (50) and salary class (50) are sensitive. The paper drew its records from IPUMS and prints nothing
but these numbers, so the labels, trees and frequencies here are ours: skewed, and dependent on each other.

    age ──► gender, marital status, education, work class
    country ──► race, education
    education, gender ──► occupation        education, occupation, age, gender ──► salary class
    education, age ──► work class

No occupation has more than 1/13 of the records, nor has a salary class: the paper asks for l-diversity up to l = 13.

Records are drawn in blocks, each from its own random stream, as in :mod:`rothko.generate.agrawal`: the first m are the
same however many are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.generate.agrawal import BLOCK, check_count, check_seed, rebatch
from rothko.policy.policy import Policy

__all__ = ["QUASI_IDENTIFIERS", "SENSITIVE", "TREES", "census", "census_batches", "census_policy"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

AGES = np.arange(15, 94)
EDUCATION = np.arange(1, 18)
GENDERS = ("female", "male")
MARRIED = {
    "married": ("spouse present", "spouse absent"),
    "formerly married": ("separated", "divorced", "widowed"),
    "single": ("never married",),
}
RACES = (
    "white", "black", "asian", "two or more races", "other race", "american indian", "pacific islander", "chinese",
    "japanese",
)  # fmt: skip
WORK = {
    "employed": {
        "private": ("for profit", "not for profit"),
        "government": ("federal", "state", "local"),
        "self-employed": ("incorporated", "not incorporated"),
    },
    "not paid": {"in a family": ("family worker",), "without work": ("unemployed", "never worked")},
}
COUNTRIES = {
    "North America": ("United States", "Mexico", "Canada"),
    "Caribbean": ("Puerto Rico", "Cuba", "Dominican Republic", "Jamaica", "Haiti", "Trinidad", "Barbados", "Bahamas"),
    "Central America": ("El Salvador", "Guatemala", "Honduras", "Nicaragua", "Panama", "Costa Rica", "Belize"),
    "South America": (
        "Colombia", "Ecuador", "Peru", "Guyana", "Brazil", "Argentina", "Venezuela", "Chile", "Bolivia", "Uruguay",
    ),
    "Western Europe": (
        "Germany", "England", "Italy", "Portugal", "Ireland", "France", "Scotland", "Greece", "Netherlands", "Spain",
        "Austria", "Sweden", "Norway", "Switzerland", "Belgium", "Denmark", "Finland",
    ),
    "Eastern Europe": (
        "Poland", "Russia", "Ukraine", "Romania", "Hungary", "Czechoslovakia", "Yugoslavia", "Lithuania", "Armenia",
        "Latvia", "Bulgaria", "Albania",
    ),
    "East Asia": (
        "Philippines", "Vietnam", "Korea", "China", "Japan", "Taiwan", "Hong Kong", "Thailand", "Laos", "Cambodia",
        "Indonesia", "Malaysia",
    ),
    "South and West Asia": (
        "India", "Iran", "Pakistan", "Lebanon", "Israel", "Turkey", "Iraq", "Bangladesh", "Syria",
    ),
    "Africa and Oceania": ("Nigeria", "Egypt", "Ethiopia", "South Africa", "Australia"),
}  # fmt: skip
OCCUPATIONS = (
    "accountant", "actor", "architect", "assembler", "baker", "bank clerk", "barber", "bookkeeper", "bus driver",
    "carpenter", "cashier", "chemist", "child carer", "civil engineer", "cleaner", "computer scientist", "cook",
    "dentist", "designer", "electrician", "farmer", "fire fighter", "fisher", "forester", "gardener", "guard",
    "health aide", "lawyer", "librarian", "machinist", "manager", "mechanic", "messenger", "miner", "nurse", "packer",
    "painter", "physician", "plumber", "police officer", "porter", "professor", "receptionist", "sales worker",
    "secretary", "social worker", "teacher", "truck driver", "waiter", "welder",
)  # fmt: skip
SKILLS = (
    13, 12, 16, 8, 8, 11, 9, 11, 8, 9, 9, 15, 9, 15, 6, 14, 7, 17, 12, 10, 8, 11, 7, 11, 6, 9, 10, 17, 14, 10, 13, 9,
    9, 7, 13, 6, 8, 17, 9, 12, 6, 17, 10, 10, 11, 14, 15, 8, 8, 9,
)  # fmt: skip
"""The education that goes with each occupation."""
WOMEN = (
    5, 5, 3, 4, 4, 8, 6, 9, 4, 1, 8, 4, 9, 2, 7, 3, 5, 3, 6, 1, 2, 1, 1, 2, 2, 2, 9, 4, 8, 1, 5, 1, 3, 1, 9, 5, 2, 4, 1,
    2, 2, 4, 9, 5, 9, 7, 7, 1, 7, 1,
)  # fmt: skip
"""How many tenths of each occupation are women, about."""
FREQUENCY = (
    7, 1, 2, 6, 1, 3, 2, 5, 2, 6, 7, 1, 5, 2, 6, 5, 6, 1, 2, 4, 3, 1, 0.5, 0.5, 3, 3, 6, 3, 1, 4, 9, 5, 1, 0.5, 7, 4, 2,
    2, 3, 2, 3, 2, 4, 9, 7, 3, 8, 7, 6, 3,
)  # fmt: skip
SALARIES = np.arange(1, 51)
SPREAD = 7.5
"""Standard deviation of the salary class around what age, education, gender and occupation let expect."""

TREES: dict[str, Any] = {
    "gender": "flat",
    "marital_status": {"tree": {name: list(values) for name, values in MARRIED.items()}},
    "race": "flat",
    "work_class": {
        "tree": {name: {part: list(values) for part, values in parts.items()} for name, parts in WORK.items()}
    },
    "country": {"tree": {name: list(values) for name, values in COUNTRIES.items()}},
}
"""Quasi-identifier → its hierarchy, as a policy has it."""
QUASI_IDENTIFIERS = ("age", "gender", "education", "marital_status", "race", "work_class", "country")
SENSITIVE = ("occupation", "salary_class")


def census(n: int, *, seed: int = 0) -> pa.Table:
    """Generate a table of n people of the census.

    The first m rows are the same for every n ≥ m.

    >>> people = census(1_000, seed=1)
    >>> people.column_names == [*QUASI_IDENTIFIERS, *SENSITIVE], people.num_rows
    (True, 1000)
    >>> census(100, seed=1) == people.slice(0, 100)
    True
    """
    return pa.Table.from_batches(_blocks(n, seed))


def census_batches(n: int, *, batch: int = 1_000_000, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """Generate the table that `census` gives, in pieces of `batch` records (the last may be shorter).

    >>> [piece.num_rows for piece in census_batches(250, batch=100)]
    [100, 100, 50]
    """
    check_count(batch, "batch")
    return rebatch(_blocks(n, seed), batch)


def census_policy(*, k: int = 10) -> Policy:
    """A policy for the census: roles and taxonomies of the paper's Table 1, and k-anonymity.

    >>> census_policy(k=50).sensitive
    ('occupation', 'salary_class')
    """
    names = (*QUASI_IDENTIFIERS, *SENSITIVE)
    return Policy.quick(names, qi=QUASI_IDENTIFIERS, sensitive=SENSITIVE, k=k, hierarchies=TREES)


def _blocks(n: int, seed: int) -> Iterator[pa.RecordBatch]:
    check_count(n, "n")
    check_seed(seed)

    def draw(index: int) -> pa.RecordBatch:
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, index)))
        return pa.record_batch(_draw(stream)).slice(0, n - index * BLOCK)

    return (draw(index) for index in range(-(-n // BLOCK)))


def _draw(stream: np.random.Generator) -> dict[str, pa.Array]:
    """One block of people, column by column; the streams are used in a fixed order."""
    chances = _chances()

    def pick(name: str, given: Codes | int = 0) -> Codes:
        """One value for each person, by the chances that go with what is given."""
        cumulated, values = chances[name]
        places = np.searchsorted(cumulated, given + stream.random(BLOCK), side="right")
        return np.asarray(np.minimum(places - np.asarray(given) * values, values - 1))

    def labels(words: Any, codes: Codes) -> pa.Array:
        return pa.array(list(words)).take(pa.array(codes))

    age = pick("age")
    stage = _stage(AGES)[age]
    country = pick("country")
    region = np.repeat(np.arange(len(COUNTRIES)), [len(some) for some in COUNTRIES.values()])[country]
    gender = pick("gender", stage)
    education = pick("education", stage * len(COUNTRIES) + region)
    schooling = _schooling(EDUCATION)[education]
    marital = pick("marital_status", stage * 2 + gender)
    race = pick("race", region)
    work = pick("work_class", stage * 4 + schooling)
    occupation = pick("occupation", education * 2 + gender)
    expected = (
        4 + 0.9 * EDUCATION[education] + 0.55 * np.asarray(SKILLS)[occupation] + 2.5 * gender
        + 7 * np.exp(-(((AGES[age] - 50) / 20) ** 2))
    )  # fmt: skip
    salary = _reflected(np.rint(expected + SPREAD * stream.standard_normal(BLOCK)).astype(np.int64), len(SALARIES))
    return {
        "age": pa.array(AGES[age].astype(np.int32)),
        "gender": labels(GENDERS, gender),
        "education": pa.array(EDUCATION[education].astype(np.int32)),
        "marital_status": labels([value for some in MARRIED.values() for value in some], marital),
        "race": labels(RACES, race),
        "work_class": labels([v for parts in WORK.values() for some in parts.values() for v in some], work),
        "country": labels([name for some in COUNTRIES.values() for name in some], country),
        "occupation": labels(OCCUPATIONS, occupation),
        "salary_class": pa.array(salary.astype(np.int32)),
    }


@cache
def _chances() -> dict[str, tuple[Floats, int]]:
    """Attribute → chances of its values, cumulated, one group after the other; and how many values it has.

    Group g goes from g to g + 1, so one search among all of them finds the value of a person in group g.
    """
    stage, schooling, years = _stage(AGES), _schooling(EDUCATION), EDUCATION.astype(np.float64)
    stages = np.arange(stage.max() + 1)
    middle = np.array([AGES[stage == one].mean() for one in stages])
    ages = (0.55 + 0.45 * np.exp(-(((AGES - 38) / 14.0) ** 2))) / (1 + np.exp((AGES - 66) / 7.0))
    women = 0.485 + 0.13 / (1 + np.exp((70 - middle) / 6))
    tables = {
        "age": ages[None, :],
        "country": _countries()[None, :],
        "gender": np.column_stack([women, 1 - women]),
        "education": _education(middle, years),
        "marital_status": _marital(middle),
        "race": np.array(_RACES_BY_REGION, dtype=np.float64),
        "work_class": _work(middle, np.unique(schooling)),
        "occupation": _occupations(years),
    }
    found = {}
    for name, weights in tables.items():
        shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        shares[:, -1] = 1.0
        found[name] = ((np.arange(len(shares))[:, None] + shares).ravel(), shares.shape[1])
    return found


_RACES_BY_REGION = (
    (780, 115, 8, 22, 45, 12, 3, 6, 4),
    (330, 480, 3, 60, 120, 4, 1, 1, 1),
    (480, 30, 3, 60, 400, 20, 1, 2, 1),
    (620, 40, 8, 60, 250, 10, 1, 4, 7),
    (960, 15, 4, 12, 6, 1, 1, 1, 1),
    (975, 4, 3, 12, 4, 1, 1, 1, 1),
    (40, 6, 640, 40, 15, 1, 12, 150, 96),
    (310, 10, 620, 35, 20, 1, 1, 2, 1),
    (240, 690, 15, 35, 10, 1, 7, 1, 1),
)
"""A row for each region, in thousandths or so: skewed in each, and in each another way."""


def _stage(ages: NDArray[np.integer]) -> Codes:
    """The stage of life that an age belongs to: under 18, to 22, then in fives and tens."""
    return np.searchsorted([18, 22, 26, 30, 35, 40, 45, 50, 55, 60, 65, 70, 80], ages, side="right")


def _schooling(education: NDArray[np.integer]) -> Codes:
    """Four groups of education: elementary, some high school, high school and some college, degrees."""
    return np.searchsorted([6, 10, 14], education, side="right")


def _countries() -> Floats:
    """Most people are from one country; the others fall off as ranks do."""
    size = sum(len(some) for some in COUNTRIES.values())
    within = np.concatenate([1.0 / np.arange(1, len(some) + 1) for some in COUNTRIES.values()])
    region = np.repeat([0, 2.6, 2.2, 1.6, 2.4, 1.2, 3.6, 1.8, 0.7], [len(some) for some in COUNTRIES.values()])
    weights = region * within
    weights = 0.09 * weights / weights.sum()
    weights[:3] = (0.87, 0.03, 0.01)
    assert len(weights) == size
    return np.asarray(weights)


def _education(middle: Floats, years: Floats) -> Floats:
    """(stages × regions, levels): the young are still at school, the old left it earlier; regions differ."""
    by_age = np.interp(middle, [16, 20, 24, 30, 45, 60, 75, 90], [6.0, 10.3, 11.6, 12.2, 12.0, 11.0, 9.6, 8.6])
    by_region = np.array([0, -1.6, -3.0, -0.6, 0.4, 0.9, 1.6, 1.9, 1.2])
    centre = (by_age[:, None] + by_region).reshape(-1, 1)
    width = np.repeat(np.interp(middle, [16, 24, 90], [1.6, 2.4, 3.2]), len(by_region))[:, None]
    weights = np.exp(-0.5 * ((years - centre) / width) ** 2) + 0.004
    # Degrees draw people: leaving high school with one, and college.
    weights *= np.where(np.isin(years, (11, 15)), 2.4, 1.0)
    most = np.interp(middle, [16, 20, 24, 30], [9, 13, 15, 17])[:, None].repeat(len(by_region), 1).reshape(-1, 1)
    return np.asarray(np.where(years <= most, weights, weights * 0.01))


def _marital(middle: Floats) -> Floats:
    """(stages × genders, states): never married, then married, then divorced or widowed, women earlier."""
    rows = []
    for age in middle:
        for woman in (True, False):
            at = age + (2 if woman else 0)
            never = np.interp(at, [16, 20, 26, 32, 40, 55, 90], [0.99, 0.92, 0.56, 0.28, 0.15, 0.07, 0.04])
            widowed = np.interp(at, [16, 50, 62, 72, 82, 94], [0.001, 0.01, 0.08, 0.2, 0.42, 0.62])
            widowed *= 1.25 if woman else 0.4
            divorced = np.interp(at, [16, 25, 35, 50, 65, 90], [0.001, 0.04, 0.1, 0.15, 0.09, 0.03])
            separated = 0.18 * divorced
            wed = max(1 - never - widowed - divorced - separated, 0.01)
            rows.append([0.96 * wed, 0.04 * wed, separated, divorced, widowed, never])
    return np.array(rows)


def _work(middle: Floats, schooling: Codes) -> Floats:
    """(stages × schooling, classes): the old work for themselves, the educated for the state, the young not yet."""
    rows = []
    for age in middle:
        for group in schooling:
            own = np.interp(age, [16, 30, 50, 70, 90], [0.01, 0.06, 0.12, 0.25, 0.3])
            state = 0.025 + 0.02 * group
            idle = np.interp(age, [16, 22, 30, 60, 90], [0.2, 0.09, 0.05, 0.05, 0.03]) * (1.6 - 0.35 * group)
            never = np.interp(age, [16, 20, 30, 90], [0.25, 0.05, 0.01, 0.02])
            paid = max(1 - own - 3 * state - idle - never, 0.1)
            good = 0.05 + 0.03 * group
            rows.append(
                [
                    paid * (1 - good), paid * good, 0.7 * state, 0.9 * state, 1.4 * state,
                    own * (0.2 + 0.1 * group), own * (0.8 - 0.1 * group), 0.006, idle, never,
                ]
            )  # fmt: skip
    return np.array(rows)


def _occupations(years: Floats) -> Floats:
    """(levels of education × genders, occupations): near to what people learned, and not equal for both genders."""
    skill, women = np.array(SKILLS, dtype=np.float64), np.array(WOMEN) / 10
    near = np.exp(-0.5 * ((years[:, None] - skill) / 3.2) ** 2) + 0.03
    share = np.stack([women, 1 - women])
    weights = np.array(FREQUENCY)[None, None, :] * near[:, None, :] * share[None, :, :]
    return weights.reshape(-1, len(skill))


def _reflected(numbers: Codes, most: int) -> Codes:
    """Numbers within 1 to ``most``: what is beyond an end comes back from it, so that no end collects the rest."""
    numbers = np.where(numbers < 1, 2 - numbers, numbers)
    return np.clip(np.where(numbers > most, 2 * most - numbers, numbers), 1, most)
