"""Every requirement that a policy knows can be asked for in the page, with everything that can be said of it."""

from __future__ import annotations

from dataclasses import fields

import pytest

from rothko.policy.policy import Policy
from rothko.privacy import REQUIREMENTS
from rothko.studio.views import parameters
from rothko.studio.views.requirements import PROTECTS
from tests.studio.served import Client

SAID = {*parameters.LETTERS, "of", "over", "distance", "hierarchy", "categories"}
"""Parameters for which the page has a control."""


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_can_be_added_changed_and_removed(studio: Client, name: str) -> None:
    kind = REQUIREMENTS[name]
    assert {field.name for field in fields(kind)} <= SAID
    assert PROTECTS[name]
    before = studio.desk.policy
    assert f'<option value="{name}"' in studio.http.get("/requirements").text
    told = {"name": name, "of": "diagnosis", "over": ["sex", "zip"]}
    studio.done("requirements/add", **told)
    made = studio.desk.policy.privacy[-1]
    assert isinstance(made, kind)
    assert made.over == ("sex", "zip")
    assert "asked for already" in studio.refused("requirements/add", **told)
    at = len(studio.desk.policy.privacy) - 1
    letters = parameters.letters(kind)
    other = {letter: 0.75 if letter in ("t", "alpha") else 4 for letter in letters}
    studio.done("requirements/set", at=at, name=name, **other)
    changed = studio.desk.policy.privacy[-1]
    assert {letter: getattr(changed, letter) for letter in letters} == other
    page = studio.http.get("/requirements").text
    assert all(f'id="{letter}-{at}"' in page for letter in letters)
    assert Policy.parse(studio.desk.policy.dump()) == studio.desk.policy
    studio.done("requirements/remove", at=at, name=name)
    assert studio.desk.policy == before


def test_categories_are_written_beside_values_or_imported(studio: Client) -> None:
    studio.done("requirements/add", name="p-alpha", of="diagnosis")
    at = len(studio.desk.policy.privacy) - 1
    values = list(studio.desk.policy.privacy[at].categories)
    assert len(values) == 8
    assert "category of asthma" in studio.until(
        lambda: page if "category of" in (page := studio.http.get("/requirements").text) else ""
    )
    groups = ["lung" if value in ("asthma", "bronchitis") else "" for value in values]
    studio.done("requirements/groups", at=at, name="p-alpha", value=values, group=groups)
    found = studio.desk.policy.privacy[at].categories
    assert found["asthma"] == "lung"
    assert set(found) == set(values)
    lines = "".join(f"{value};{'a' if row % 2 else 'b'};*\n" for row, value in enumerate(values))
    assert studio.drop("kinds.csv", lines.encode(), f"groups:{at}").status_code == 200
    assert set(studio.desk.policy.privacy[at].categories.values()) == {"a", "b"}
    studio.done("requirements/set", at=at, name="p-alpha", p=2)
    studio.shows("requirements", "As it is, the table reaches 1 of 2")
    assert studio.drop("kinds.csv", b"a;b\n", "groups:0").status_code == 422


def test_values_are_near_by_their_groups(studio: Client) -> None:
    studio.done("requirements/add", name="t-closeness", of="diagnosis")
    at = len(studio.desk.policy.privacy) - 1
    told = {"at": at, "name": "t-closeness", "t": 0.3}
    studio.done("requirements/set", **told, distance="hierarchy")
    values = parameters.groups(studio.desk.policy.privacy[at])
    assert values is not None
    assert set(values.values()) == {""}
    groups = ["lung" if value == "asthma" else "other" for value in values]
    studio.done("requirements/groups", at=at, name="t-closeness", value=list(values), group=groups)
    assert parameters.groups(studio.desk.policy.privacy[at])["asthma"] == "lung"
    assert studio.drop("kinds.yaml", b"{a: {b: [asthma]}, c: [flu]}", f"groups:{at}").status_code == 200
    assert "Groups stand in groups" in studio.main("requirements")
    studio.done("requirements/set", **told, distance="ordered")
    assert studio.desk.policy.privacy[at].hierarchy is None


def test_people_are_counted_where_somebody_says_whose_records_are(studio: Client) -> None:
    studio.done("requirements/set", at=0, name="k-anonymity", k=3, of="name")
    assert studio.desk.policy.owner == "name"
    assert "3 different people" in studio.main("requirements")
    studio.done("requirements/set", at=0, name="k-anonymity", k=3, of="")
    assert studio.desk.policy.owner is None


def test_several_sets_are_for_a_method_that_keeps_them(studio: Client) -> None:
    studio.done("requirements/over", at=0, name="k-anonymity", over=["sex", "zip"])
    studio.done("requirements/add", name="k-anonymity", of="", over=["zip", "education"])
    assert [one.over for one in studio.desk.policy.privacy if one.name == "k-anonymity"] == [
        ("sex", "zip"),
        ("zip", "education"),
    ]
    studio.done("purpose/how", method="refine", publish="range")
    assert "Choose another method" not in studio.main("requirements")
    assert "use refine" in studio.refused("purpose/how", method="mondrian", publish="range")
    assert "no quasi-identifier" in studio.refused("requirements/over", at=0, name="k-anonymity", over=["diagnosis"])
    studio.done("roles/agree", column="*")
    run = studio.made()
    assert run.error is None
