"""The minimality attack, on so few worlds that it can be done by hand or by the plain twin of Mondrian."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from experiments import minimality
from experiments.minimality import LAYOUTS, REQUIREMENTS, Asked, Published, attack, by_itself, posteriors, worlds
from rothko.data.encode import encode
from tests.twins import mondrian as plain

DOCS = Path(__file__).parents[2] / "docs"
HALF = Fraction(1, 2)


def twin(people: dict[str, list[int]], asked: Asked, values: str) -> dict[Published, list[tuple[str, ...]]]:
    """Release → the worlds that give it, by the plain Mondrian and the definitions of the requirements."""
    policy = minimality.policy_of(people, asked, "mondrian")
    found: dict[Published, list[tuple[str, ...]]] = defaultdict(list)
    for world in itertools.product(values, repeat=6):
        sensitive = {minimality.SENSITIVE: list(world)}
        allowed = plain.all_of(policy.privacy, sensitive)
        if not allowed(list(range(6))):
            continue
        encoded = encode(pa.table({**people, minimality.SENSITIVE: pa.array(world)}), policy)
        records = [tuple(record) for record in encoded.codes.T.tolist()]
        shown: Counter[tuple[tuple[int, ...], str]] = Counter()
        for part in plain.mondrian(encoded.lines, records, allowed):
            box = [f([column[i] for i in part.records]) for column in people.values() for f in (min, max)]
            shown.update((tuple(box), world[i]) for i in part.records)
        found[tuple(sorted((box, value, count) for (box, value), count in shown.items()))].append(world)
    return dict(found)


@pytest.mark.parametrize("asked", REQUIREMENTS.values(), ids=REQUIREMENTS.keys())
def test_worlds_are_those_of_the_plain_twin(asked: Asked) -> None:
    values = "bc"  # of two categories
    for layout in ("a line", "pairs"):
        assert worlds(LAYOUTS[layout], asked, "mondrian", values) == twin(LAYOUTS[layout], asked, values)


def test_a_class_that_was_not_cut_tells_who_has_what() -> None:
    """A table that cannot be cut tells nothing that its one class does not show. A cut beside the median does."""
    asked = REQUIREMENTS["distinct-l-diversity, l = 2"]
    found = worlds(LAYOUTS["a line"], asked, "mondrian", "bc")
    whole = (((1, 6), "b", 5), ((1, 6), "c", 1))
    assert posteriors(found[whole]) == by_itself(LAYOUTS["a line"], whole)
    cut = (((1, 4), "b", 3), ((1, 4), "c", 1), ((5, 6), "b", 1), ((5, 6), "c", 1))
    # Were the c of the first four among the first three, the median would have been cut.
    assert {world[3] for world in found[cut]} == {"c"}
    attacked = attack(LAYOUTS["a line"], asked, "mondrian", "bc")
    assert (attacked.worlds, attacked.released) == (64, 62)
    assert attacked.largest == 1
    assert 0 < attacked.certain <= attacked.surer < 1


def test_what_a_release_says_by_itself_counts_every_way_to_place_people() -> None:
    people = {"age": [1, 2, 3]}
    published: Published = (((1, 2), "x", 1), ((2, 3), "y", 2))
    assert by_itself(people, published) == [{"x": 1}, {"y": 1}, {"y": 1}]
    overlapping: Published = (((1, 3), "x", 1), ((1, 3), "y", 1), ((2, 2), "z", 1))
    assert by_itself(people, overlapping) == [{"x": HALF, "y": HALF}, {"z": 1}, {"x": HALF, "y": HALF}]


def test_worlds_that_cannot_be_released_are_left_out() -> None:
    found = worlds(LAYOUTS["a line"], REQUIREMENTS["frequency-l-diversity, l = 2"], "mondrian", "bc")
    assert all(Counter(world)["b"] == 3 for possible in found.values() for world in possible)
    assert sum(map(len, found.values())) == 20


def test_the_saved_numbers_are_of_all_layouts_and_requirements() -> None:
    results = json.loads((DOCS / "figures/minimality.json").read_text("utf-8"))
    assert set(results["figures"]) == set(LAYOUTS)
    for layout in results["figures"].values():
        assert all(set(found) == set(REQUIREMENTS) for found in layout.values())


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_page_of_each_requirement_has_its_numbers(name: str) -> None:
    layouts = json.loads((DOCS / "figures/minimality.json").read_text("utf-8"))["figures"].values()
    page = " ".join((DOCS / "requirements" / f"{name.split(',')[0]}.md").read_text("utf-8").split())
    for method in ("mondrian", "hilbert"):
        known = [layout[method][name]["certain"] for layout in layouts if method in layout]
        assert max(known) == 0 or minimality.shares(known) in page
