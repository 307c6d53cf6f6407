"""Requirements against their definitions, counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plain
from rothko.errors import PolicyError
from rothko.privacy import REQUIREMENTS, DistinctLDiversity, KAnonymity, Requirement
from rothko.privacy.statistics import Statistics

unhurried = settings(deadline=None)
VALUES = 5

# Adding a requirement means adding it here: the tests below then hold it to the same rules.
EXAMPLES: dict[str, st.SearchStrategy[Requirement]] = {
    "k-anonymity": st.builds(KAnonymity, k=st.integers(2, 6)),
    "distinct-l-diversity": st.builds(DistinctLDiversity, l=st.integers(2, 4), of=st.just("s")),
}
REACHES: dict[str, Callable[[list[int]], float]] = {
    "k-anonymity": len,
    "distinct-l-diversity": lambda values: len(set(values)),
}
"""What a group of records with these sensitive values reaches, by definition."""


def test_every_requirement_has_examples() -> None:
    assert set(EXAMPLES) == set(REACHES) == set(REQUIREMENTS)
    assert all(cls.name == name for name, cls in REQUIREMENTS.items())


def count(groups: list[list[int]]) -> Statistics:
    """The statistics of groups given as lists of sensitive values."""
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    codes = np.array([value for g in groups for value in g], dtype=np.int32)
    return Statistics.count(group, len(groups), {"s": (codes, VALUES)})


groups_of_values = st.lists(st.lists(st.integers(0, VALUES - 1), min_size=1, max_size=12), min_size=1, max_size=6)
requirements = st.one_of(*EXAMPLES.values())


@given(requirement=requirements, groups=groups_of_values)
@unhurried
def test_scores_are_what_the_definition_says(requirement: Requirement, groups: list[list[int]]) -> None:
    stats = count(groups)
    reached = [REACHES[requirement.name](g) for g in groups]
    by_definition = [plain.satisfies(requirement, range(len(g)), {"s": list(g)}) for g in groups]
    assert requirement.scores(stats).tolist() == reached
    assert requirement.satisfied(stats).tolist() == by_definition
    assert [r >= requirement.asked for r in reached] == by_definition
    assert requirement.achieved(stats) == min(reached)
    assert all(len(g) >= requirement.least for g, good in zip(groups, by_definition, strict=True) if good)


@given(requirement=requirements, groups=groups_of_values)
@unhurried
def test_merging_classes_that_satisfy_satisfies(requirement: Requirement, groups: list[list[int]]) -> None:
    assert requirement.monotone
    good = [g for g, holds in zip(groups, requirement.satisfied(count(groups)), strict=True) if holds]
    for one in good:
        for other in good:
            assert requirement.satisfied(count([one + other])).tolist() == [True]


@given(groups=groups_of_values, data=st.data())
@unhurried
def test_statistics_of_disjoint_records_add_up_to_those_of_their_union(
    groups: list[list[int]], data: st.DataObject
) -> None:
    here = [[data.draw(st.booleans()) for _ in g] for g in groups]
    parts = [
        Statistics.count(
            np.array([i for i, g in enumerate(groups) for j in range(len(g)) if here[i][j] is side], dtype=np.int64),
            len(groups),
            {
                "s": (
                    np.array(
                        [v for i, g in enumerate(groups) for j, v in enumerate(g) if here[i][j] is side], np.int32
                    ),
                    VALUES,
                )
            },
        )
        for side in (True, False)
    ]
    total, whole = parts[0] + parts[1], count(groups)
    assert total.size.tolist() == whole.size.tolist() == [len(g) for g in groups]
    assert total.histograms["s"].tolist() == whole.histograms["s"].tolist()
    assert whole.histograms["s"].tolist() == [[g.count(v) for v in range(VALUES)] for g in groups]


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, 2.0, True, "3", None, [2]])
def test_k_that_is_no_whole_number_of_at_least_two_is_refused(k: Any) -> None:
    with pytest.raises(PolicyError, match=r"^k-anonymity: k must be a whole number of at least 2, not .*\.$"):
        KAnonymity(k=k)


@pytest.mark.parametrize("l", [1, 0, -3, 2.5, 2.0, True, "3", None])
def test_l_that_is_no_whole_number_of_at_least_two_is_refused(l: Any) -> None:  # noqa: E741
    with pytest.raises(PolicyError, match=r"^distinct-l-diversity: l must be a whole number of at least 2, not .*\.$"):
        DistinctLDiversity(l=l, of="s")


@pytest.mark.parametrize("over", ["age", [], (), {"age"}, 3])
def test_over_must_be_a_list_of_names(over: Any) -> None:
    for make in (lambda: KAnonymity(k=2, over=over), lambda: DistinctLDiversity(l=2, of="s", over=over)):
        with pytest.raises(PolicyError, match="over must be a list of quasi-identifiers"):
            make()


def test_over_is_kept_as_a_tuple() -> None:
    assert KAnonymity(k=2, over=["age", "zip"]).over == ("age", "zip")
    assert KAnonymity(k=2).over is None


def test_a_requirement_is_frozen_and_equal_by_its_parameters() -> None:
    assert KAnonymity(k=3) == KAnonymity(k=3) != KAnonymity(k=4)
    assert len({DistinctLDiversity(l=2, of="s"), DistinctLDiversity(l=2, of="s")}) == 1
    with pytest.raises(AttributeError):
        KAnonymity(k=3).k = 1  # type: ignore[misc]


def test_missing_counts_as_one_value() -> None:
    """A class whose sensitive values are x, missing and missing has two of them."""
    assert DistinctLDiversity(l=2, of="s").satisfied(count([[0, 4, 4], [4, 4, 4]])).tolist() == [True, False]
