"""The claims, on results that are made up."""

from __future__ import annotations

import re
from typing import Any

import pytest

from experiments.claims import CLAIMS, checked, table
from experiments.findings import (
    better_everywhere,
    better_for,
    boxes_teach_as_much,
    diluted,
    ends_alike,
    error_falls,
    higher_at_every_k,
    included_better,
    selection_helps,
)
from experiments.protocol import GUIDED, MEDIAN, TDS, gather, one_sided
from experiments.tds_findings import exact_attributes

METHODS = {GUIDED: 0.9, MEDIAN: 0.7}
NOISE = (0.01, -0.01, 0.0, 0.02)


def by_method(better: float = 0.2) -> dict[str, Any]:
    return {
        GUIDED: {"2": [0.7 + better + n for n in NOISE], "4": [0.8 + better - n / 2 for n in NOISE]},
        MEDIAN: {"2": [0.7 + n / 3 for n in NOISE], "4": [0.8 + n for n in NOISE]},
    }


def test_a_claim_holds_if_every_case_is_clear() -> None:
    clear = better_everywhere({"6": {"accuracy": {"tree": by_method(), "bayes": by_method()}}})
    assert clear.holds
    assert "4 of 4 cases" in clear.measured


def test_a_claim_fails_if_one_case_does() -> None:
    found = better_everywhere({"6": {"accuracy": {"tree": by_method(), "bayes": by_method(better=-0.1)}}})
    assert found.holds is False
    assert "2 of 4 cases" in found.measured


def test_a_difference_that_may_be_chance_is_none() -> None:
    assert better_everywhere({"6": {"accuracy": {"tree": by_method(better=0.001)}}}).holds is False


def test_corners_of_boxes_beside_those_of_regions() -> None:
    def found(gap: float) -> dict[str, Any]:
        return {"6": {"accuracy": {"tree": by_method()}}, "edges": {"accuracy": {"tree": by_method(0.2 + gap)}}}

    assert boxes_teach_as_much("tree", 0.01)(found(0.005)).holds
    assert boxes_teach_as_much("tree", 0.01)(found(0.05)).holds is False
    assert boxes_teach_as_much("bayes", 0.01)(found(0.05)).holds


def test_cuts_to_the_end_beside_the_switch() -> None:
    def found(gap: float) -> dict[str, Any]:
        sizes = {"to the end": {"2": [30.0, 32.0]}, "switch": {"2": [20.0, 21.0]}}
        letter = {"accuracy": {"tree": by_method(0.2 + gap)}, "classes": sizes}
        return {"6": {"accuracy": {"tree": by_method()}}, "letter": letter}

    assert ends_alike("tree", 0.01)(found(0.005)).holds
    assert ends_alike("tree", 0.01)(found(0.05)).holds is False
    assert ends_alike("tree", 0.01)(found(-0.05)).holds is False
    assert "classes: 31.0 to the end, 20.5 with the switch" in ends_alike("tree", 0.01)(found(0.0)).measured


def test_every_classifier_that_is_named_must_be_better() -> None:
    def found(better: float) -> dict[str, Any]:
        small = {"accuracy": {"bayes": by_method(), "forest": by_method(better)}}
        return {"7": {"contraceptives": small}}

    bound = better_for(("bayes", "forest"), "2", 0.05, "contraceptives")
    assert bound(found(0.2)).holds
    assert bound(found(-0.2)).holds is False
    assert better_for(("bayes",), "10", 0.05, "contraceptives")(found(0.2)).holds is None
    assert higher_at_every_k("contraceptives")(found(0.2)).holds
    worse = higher_at_every_k("contraceptives")(found(-0.2))
    assert worse.holds is False
    assert "forest at 0 of 2 k (not at k = 2, 4)" in worse.measured


def test_exact_values_are_counted() -> None:
    shown = {GUIDED: {"100": [3.0, 5.0]}, MEDIAN: {"100": [6.0, 6.0]}}
    assert exact_attributes({"13": {"exact": shown}}).holds is None
    assert exact_attributes({"13": {"exact": shown | {TDS: {"100": [2.0]}}}}).holds
    assert exact_attributes({"13": {"exact": shown | {TDS: {"100": [4.5]}}}}).holds is False


def test_less_error_is_better() -> None:
    errors = {"R7": {"tree": by_method(better=-0.2)}}
    assert error_falls("R7", "tree")({"9": errors}).holds
    assert error_falls("R7", "tree")({"9": {"R7": {"tree": by_method()}}}).holds is False
    assert error_falls("hours", "tree")({"9": errors}).holds is None


def several(own: float, diluted_by: float) -> dict[str, Any]:
    """Seven targets: so much better where included, less so the more there are."""
    rows = {
        str(n): {
            str(place): [0.7 + (own - diluted_by * n if place <= n else 0) + noise * place / 9 for noise in NOISE]
            for place in range(1, 8)
        }
        for n in range(1, 8)
    }
    return {"10": {"accuracy": {"tree": rows}}}


def test_several_targets() -> None:
    assert included_better("tree")(several(0.2, 0.01)).holds
    assert diluted("tree")(several(0.2, 0.01)).holds
    assert "21 of 21 steps go down" in diluted("tree")(several(0.2, 0.01)).measured
    assert included_better("tree")(several(-0.2, 0.01)).holds is False
    assert diluted("tree")(several(0.2, -0.01)).holds is False


def test_selection_is_compared_with_both_others() -> None:
    high, low = {"2": [100.0, 110, 120, 99]}, {"2": [1.0, 2, 3, 4]}
    found = {"median": high, "median of age and salary": high, "selection": low}
    assert selection_helps("boxes")({"12": {"boxes": found}}).holds
    worse = selection_helps("regions")({"12": {"regions": found | {"median of age and salary": low}}})
    assert worse.holds is False
    assert worse.measured.endswith("not against median of age and salary, k = 2")


def test_what_was_not_run_is_not_judged() -> None:
    rows = checked({"figures": {}})
    assert len(rows) == len(CLAIMS)
    assert {row["holds"] for row in rows} == {None}
    assert all(row["measured"].startswith(("not run:", "not yet:")) for row in rows)
    assert "do not hold" not in table(rows)


def test_every_claim_has_its_own_name() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(re.fullmatch(r"\d+[a-z]", claim.id) for claim in CLAIMS)


def test_the_table_gives_the_reason_of_what_does_not_hold() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1a", "where": "x", "claim": "c", "measured": "m", "holds": True, "reason": ""},
        {"id": "1b", "where": "x", "claim": "c", "measured": "m", "holds": False, "reason": "because"},
    ]
    lines = table(rows).splitlines()
    assert lines[2].endswith("| yes |")
    assert lines[3].endswith("| **no** |")
    assert lines[-1] == "- **1b**: because"


def test_one_sided() -> None:
    higher, lower = [0.9, 0.8, 0.85], [0.5, 0.45, 0.4]
    difference, p = one_sided(higher, lower)
    assert difference == pytest.approx(0.4)
    assert p < 0.01
    assert one_sided(lower, higher)[1] == pytest.approx(1 - p)
    assert one_sided([0.5], [0.4]) == (pytest.approx(0.1), 1.0)


def test_gather_puts_trials_side_by_side() -> None:
    assert gather([{("a", "1"): 1.0, ("b",): 2.0}, {("a", "1"): 3.0}]) == {"a": {"1": [1.0, 3.0]}, "b": [2.0]}
