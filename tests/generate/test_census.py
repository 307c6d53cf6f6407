"""The census has the attributes of the paper's Table 1, skewed and dependent on each other."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest

from rothko.data.encode import encode
from rothko.data.typed import typed
from rothko.errors import InputError
from rothko.generate import census as module
from rothko.generate.agrawal import BLOCK
from rothko.generate.census import QUASI_IDENTIFIERS, SENSITIVE, TREES, census, census_batches, census_policy

CARDINALITY = {
    "age": 79, "gender": 2, "education": 17, "marital_status": 6, "race": 9, "work_class": 10, "country": 83,
    "occupation": 50, "salary_class": 50,
}  # fmt: skip
LEVELS = {"gender": 2, "marital_status": 3, "race": 2, "work_class": 4, "country": 3}
"""Of the taxonomies, the root and the leaves included."""
PEOPLE = census(120_000)


def test_cardinalities_are_those_of_the_paper() -> None:
    assert PEOPLE.column_names == list(CARDINALITY) == [*QUASI_IDENTIFIERS, *SENSITIVE]
    assert {name: pc.count_distinct(PEOPLE[name]).as_py() for name in CARDINALITY} == CARDINALITY
    assert PEOPLE["age"].null_count == 0


def test_taxonomies_are_as_deep_as_the_papers_and_hold_every_value() -> None:
    policy = census_policy(k=5)
    encoded = encode(typed(PEOPLE, policy), policy)
    for line in encoded.lines:
        if line.name in LEVELS:
            assert line.tree is not None
            assert len(line.tree.leaves) == CARDINALITY[line.name]
    depth = {name: _levels(tree) for name, tree in TREES.items()}
    assert depth == LEVELS


def _levels(tree: object) -> int:
    if tree == "flat":
        return 2
    return 1 + _depth(tree["tree"])  # type: ignore[index]


def _depth(below: object) -> int:
    if isinstance(below, dict):
        depths = {_depth(part) for part in below.values()}
        assert len(depths) == 1
        return 1 + depths.pop()
    return 1


def test_the_same_seed_and_the_first_records() -> None:
    assert census(300, seed=4) == census(300, seed=4)
    assert census(300, seed=4) != census(300, seed=5)
    assert census(BLOCK + 10).slice(0, 10) == census(10)
    pieces = list(census_batches(BLOCK + 10, batch=40_000))
    assert [piece.num_rows for piece in pieces] == [40_000, BLOCK + 10 - 40_000]
    assert pieces[1].slice(BLOCK - 40_000, 10).to_pydict() == census(BLOCK + 10).slice(BLOCK, 10).to_pydict()


def test_values_are_skewed_but_eligible_for_l_13() -> None:
    for name in SENSITIVE:
        shares = np.sort(PEOPLE[name].value_counts().field("counts").to_numpy())[::-1] / PEOPLE.num_rows
        assert shares[0] < 1 / 13
        assert shares[0] > 5 * shares[-1]
    countries = PEOPLE["country"].value_counts().field("counts").to_numpy() / PEOPLE.num_rows
    assert countries.max() > 0.8


def test_attributes_depend_on_each_other() -> None:
    people = PEOPLE.to_pandas()
    assert people["education"].corr(people["salary_class"]) > 0.3
    assert people[people.marital_status == "widowed"]["age"].mean() > 60
    assert people[people.marital_status == "never married"]["age"].mean() < 32
    asian = people.country.isin(module.COUNTRIES["East Asia"])
    assert (people[asian].race == "white").mean() < 0.1 < 0.6 < (people[~asian].race == "white").mean()
    learned = people.groupby("occupation")["education"].mean()
    assert learned["physician"] > learned["cleaner"] + 3
    assert (people[people.occupation == "secretary"].gender == "female").mean() > 0.75
    assert people[people.work_class == "never worked"]["age"].mean() < people["age"].mean() - 8


@pytest.mark.parametrize(("n", "seed"), [(0, 0), (-5, 0), (10, -1)])
def test_bad_numbers_are_refused(n: int, seed: int) -> None:
    with pytest.raises(InputError):
        census(n, seed=seed)
