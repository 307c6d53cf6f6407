"""Small runs of the experiments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import runs, synthetic, workload
from experiments.data import ATTRIBUTES, RECORDS, people, people_policy
from experiments.figures import draw
from experiments.protocol import GUIDED, MEDIAN, ORIGINAL, Settings, accuracy, original, recode
from experiments.real import by_information_gain


def test_two_figures_from_run_to_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(trials=2, thin=3)
    results = workload.run(settings, ["12", "7", "9"], keep=lambda found: runs.save(found, tmp_path / "w.json"))
    assert set(results["figures"]) == {"9", "12"}
    assert "Fig. 7" in capsys.readouterr().out
    boxes = results["figures"]["12"]["boxes"]
    assert {len(scores) for series in boxes.values() for scores in series.values()} == {2}
    for k in boxes[MEDIAN]:
        assert np.mean(boxes[synthetic.SELECTION][k]) < np.mean(boxes[MEDIAN][k])
    errors = results["figures"]["9"]["R7"]["tree"]
    for k in errors[GUIDED]:
        assert np.mean(errors[ORIGINAL]["1"]) < np.mean(errors[GUIDED][k]) < np.mean(errors[MEDIAN][k])
    first, again = (draw(results, tmp_path / name) for name in ("one", "two"))
    assert [path.name for path in first] == [
        f"figure-{number}{ending}" for number in ("09", "12") for ending in (".svg", ".png", ".json")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_results_of_other_figures_stay_where_the_settings_are_the_same(tmp_path: Path) -> None:
    place = tmp_path / "w.json"
    found = {"settings": {"trials": 2}, "figures": {"6": 1}, "seconds": {"6": 0.1}}
    runs.save(found, place)
    more = runs.save(found | {"figures": {"9": 2}}, place)
    assert more["figures"] == {"6": 1, "9": 2}
    other = runs.save({"settings": {"trials": 3}, "figures": {"9": 2}, "seconds": {}}, place)
    assert other["figures"] == {"9": 2}


def test_one_trial_of_one_function() -> None:
    found = synthetic.classify_people(0, 2, models=("tree",))
    assert set(found) == {("tree", method, "2") for method in (ORIGINAL, GUIDED, MEDIAN)}
    assert found["tree", GUIDED, "2"] > found["tree", MEDIAN, "2"]


def test_one_trial_by_corners_of_regions() -> None:
    found = synthetic.classify_by_edges(0, 2, models=("tree",))
    assert set(found) == {("tree", GUIDED, "2")}
    assert found["tree", GUIDED, "2"] > 0.8


def test_one_trial_to_the_letter() -> None:
    found = synthetic.classify_by_the_letter(0, 2, models=("tree",))
    assert set(found) == {("accuracy", "tree", GUIDED, "2"), ("classes", "to the end", "2"), ("classes", "switch", "2")}
    assert found["accuracy", "tree", GUIDED, "2"] > 0.8


def test_several_targets_in_any_order() -> None:
    orders = [(2, 3, 4, 5, 6, 7, 9), (3, 2, 4, 5, 6, 7, 9)]
    both = synthetic.many_targets(0, orders, models=("tree",))
    one = [synthetic.many_targets(0, [order], models=("tree",)) for order in orders]
    assert both["tree", "1", "1"] == pytest.approx((one[0]["tree", "1", "1"] + one[1]["tree", "1", "1"]) / 2)
    # The release for the first two does not depend on which of them comes first.
    assert one[0]["tree", "2", "3"] == one[1]["tree", "2", "3"]
    assert one[0]["tree", "2", "1"] == one[1]["tree", "2", "2"]


def test_the_queries_are_function_2() -> None:
    table = people(3, [2], n=500).to_pandas()
    names = {"age": table["age"], "salary": table["salary"]}
    inside = np.zeros(len(table), dtype=bool)
    for query in synthetic.queries():
        text = query.replace(" and salary between ", ") & (salary >= ").replace(" and age <", ") & (age <")
        low, high = text.rsplit(" and ", 1)
        inside |= eval(f"({low}) & (salary <= {high})", {}, names).to_numpy()
    assert (inside == (table["c2"] == "A")).all()


def test_recoded_tables_have_two_numbers_per_attribute() -> None:
    table = people(1, [2])
    policy = people_policy(table, k=25)
    train, test = table.slice(0, RECORDS), table.slice(RECORDS)
    seen = recode(train, test, policy)
    assert seen.train.shape == seen.test.shape == (RECORDS, 2 * len(ATTRIBUTES))
    assert np.bincount(seen.classes).min() >= 25
    assert len(np.unique(original(train, test, policy).classes)) == RECORDS


def test_a_label_that_everybody_has_is_guessed() -> None:
    one = np.zeros((4, 1))
    assert accuracy("svm", one, np.zeros(4), one, np.array([0, 0, 0, 1])) == 0.75


def test_attributes_by_information_gain() -> None:
    stream = np.random.default_rng(0)
    labels = stream.integers(0, 2, 500).astype(np.int32)
    noise = stream.random(500)
    numbers = np.column_stack([noise, labels + 0.8 * noise, labels + 1.5 * stream.random(500)])
    assert by_information_gain(numbers, labels) == [1, 2, 0]
