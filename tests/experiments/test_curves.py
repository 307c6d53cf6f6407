"""Small runs of the experiments on curves, and their claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

from experiments import curve_figures, curves
from experiments.claims import checked, table
from experiments.curve_claims import CLAIMS, at_most, below, falls, rises_then_falls, small_classes, steady, within
from experiments.curves import Curves, Runs, adult, anatomised, census_policy, divergence, people, with_values
from rothko.data.source.open import open_source
from rothko.in_memory import in_memory
from rothko.methods import METHODS
from tests.experiments.drawn import draw

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of real tables, with made-up people."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "adult/hierarchies").mkdir(parents=True)
    stream = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "age": stream.integers(17, 90, 400),
        "salary-class": stream.choice(["<=50K", ">50K"], 400),
    }
    for name in curves.ADULT:
        if name != "age":
            columns[name] = stream.choice(list("abcd"), 400)
            rows = "\n".join(f"{value};{group};*" for value, group in zip("abcd", "xxyy", strict=True))
            (folder / f"adult/hierarchies/adult_hierarchy_{name}.csv").write_text(rows + "\n", "utf-8")
    csv.write_csv(pa.table(columns), folder / "adult/adult_arx.csv")
    return folder


def test_from_run_to_picture(data: Path, tmp_path: Path) -> None:
    results = json.loads(json.dumps(curves.run(Curves.quick(data))))
    assert set(results["figures"]) == set(curves.FIGURES)
    assert results["settings"]["data"] is True
    assert set(results["figures"]["13"]["gcp"]) == {m for m in curves.ALL if m in METHODS}
    rows = checked(results, CLAIMS)
    assert table(rows)
    assert not [row for row in rows if row["measured"].startswith("not run: Fig.")]
    assert all(row["reason"] for row in rows if row["holds"] is False)
    assert set(curve_figures.DRAWN) == set(curves.FIGURES)
    assert draw(results, tmp_path, curve_figures.DRAWN, prefix="curve") == "curve-12"


def test_the_figure_of_real_data_is_left_out_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert curves.run(Curves.quick(), ["12"])["figures"] == {}
    assert "it needs --data" in capsys.readouterr().out


def test_quasi_identifiers_of_adult(data: Path) -> None:
    _, policy = adult(data)
    assert set(policy.quasi_identifiers) == set(curves.ADULT)
    assert policy.columns["age"].hierarchy is None
    assert all(policy.columns[name].hierarchy is not None for name in curves.ADULT if name != "age")


def test_fewer_dimensions_leave_attributes_out() -> None:
    policy = census_policy(3, l=4)
    assert policy.quasi_identifiers == ("age", "gender", "education")
    assert policy.identifiers == ("marital_status", "race", "work_class", "country")
    assert [requirement.describe() for requirement in policy.privacy] == [
        "frequency-l-diversity of occupation with l = 4"
    ]


@pytest.mark.parametrize("values", [10, 30, 50])
def test_neighbouring_sensitive_values_are_made_one(values: int) -> None:
    before = people(5_000)["occupation"].to_pylist()
    after = with_values(people(5_000), values)["occupation"].to_pylist()
    pairs = sorted(set(zip(before, after, strict=True)))
    assert len(pairs) == 50
    assert [group for _, group in pairs] == sorted(group for _, group in pairs)
    assert len(set(after)) == values


def test_topdown_is_not_given_more_than_it_can_do() -> None:
    runs = Runs(1, slow_rows=100)
    runs(5, people(200), census_policy(k=5), ["topdown", "mondrian"] if "topdown" in METHODS else ["mondrian"])
    assert list(runs.found["gcp"]) == ["mondrian"]


def test_two_tables_have_every_record_and_value() -> None:
    policy = census_policy(2, l=3)
    two = anatomised(people(600), policy)
    assert two.records.num_rows == 600
    assert sum(two.values["count"].to_pylist()) == 600
    assert two.records.column_names == ["age", "gender", "group"]
    per_group = np.bincount(two.values["group"].to_numpy(), weights=two.values["count"].to_numpy())
    assert (per_group == np.bincount(two.records["group"].to_numpy())).all()
    assert per_group.min() >= 3
    assert (two.values["count"].to_numpy() * 3 <= per_group[two.values["group"].to_numpy()]).all()


def test_divergence_by_level_is_that_of_a_release() -> None:
    from rothko.metrics.cube import cube_divergence

    policy = census_policy(3, l=3)
    release = in_memory(open_source(people(400)), policy)
    cube = cube_divergence(people(400), release, policy, levels=[1, 3], of="occupation")
    assert divergence(people(400), policy, [1, 3]) == {level.level: level.divergence for level in cube.levels}


# ── claims


def loss(**by_method: dict[str, float]) -> dict[str, Any]:
    return {"13": {"gcp": by_method}}


PLACE = ("13", "gcp")


def test_below_at_every_value_that_both_have() -> None:
    good = loss(hilbert={"5": 0.1, "10": 0.2}, mondrian={"5": 0.2, "10": 0.3}, topdown={"5": 0.15})
    assert below(PLACE, ["hilbert"], ["mondrian", "topdown"])(good).holds
    bad = loss(hilbert={"5": 0.1, "10": 0.31}, mondrian={"5": 0.2, "10": 0.3})
    found = below(PLACE, ["hilbert"], ["mondrian", "topdown"])(bad)
    assert found.holds is False
    assert "without topdown" in found.measured
    assert below(PLACE, ["hilbert"], ["cluster"])(good).holds is None


def test_bounds_of_ratios() -> None:
    found = loss(hilbert={"5": 0.2}, mondrian={"5": 0.4})
    assert at_most(PLACE, ["hilbert"], ["mondrian"], 0.5)(found).holds
    assert at_most(PLACE, ["hilbert"], ["mondrian"], 0.49)(found).holds is False
    assert within(PLACE, "hilbert", "mondrian", 2)(found).holds
    assert within(PLACE, "mondrian", "hilbert", 1.9)(found).holds is False
    assert within(PLACE, "mondrian", "cluster", 2)(found).holds is None


def test_courses() -> None:
    found = loss(hilbert={"5": 0.4, "10": 0.3, "20": 0.1}, mondrian={"5": 0.4, "10": 0.5, "20": 0.1})
    assert falls(PLACE, ["hilbert"])(found).holds
    assert falls(PLACE, ["hilbert", "mondrian"])(found).holds is False
    assert falls(PLACE, ["hilbert"], rises=True)(found).holds is False
    assert steady(PLACE, ["hilbert"], 4)(found).holds
    assert steady(PLACE, ["hilbert"], 3.9)(found).holds is False
    assert steady(PLACE, ["anatomy"], 2)(found).holds is None


def test_sizes_of_classes() -> None:
    def found(smallest: int, largest: int) -> dict[str, Any]:
        sizes = {
            "gcp": {"hilbert": {"5": 0.1}},
            "smallest": {"hilbert": {"5": smallest}},
            "largest": {"hilbert": {"5": largest}},
        }
        return {"12": sizes}

    assert small_classes(found(5, 9)).holds
    assert small_classes(found(5, 10)).holds is False
    assert small_classes(found(4, 9)).holds is False


def test_a_peak_in_the_middle() -> None:
    peak = {"20": {"d": {"hilbert": {"2": 0.1, "4": 0.3, "7": 0.2}}}}
    assert rises_then_falls(peak).holds
    peak["20"]["d"]["hilbert"]["7"] = 0.4
    assert rises_then_falls(peak).holds is False


def test_claims_are_numbered_in_order() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert all(claim.id[:2] in claim.figures for claim in CLAIMS)


def test_the_page_is_in_step_with_the_saved_claims() -> None:
    from experiments.__main__ import saved_claims, with_table

    page = (ROOT / "docs/experiments.md").read_text("utf-8")
    rows = json.loads(saved_claims("curves", ROOT / "docs").read_text("utf-8"))["claims"]
    assert with_table(page, table(rows), "curves") == page
    assert [(row["id"], row["claim"], row["where"]) for row in rows] == [(c.id, c.claim, c.where) for c in CLAIMS]
    assert all(row["holds"] is not False or row["reason"] for row in rows)
