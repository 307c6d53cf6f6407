"""Small runs of the experiments on tables larger than memory, and their claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from experiments import scale, scale_figures
from experiments.claims import checked, table
from experiments.data import ATTRIBUTES, SURVEY
from experiments.disk_runs import Run, timed, write_people
from experiments.sampling import INCOME, LOW_INCOME, RECORD, pruned, quality_of_census, sampled
from experiments.scale_claims import (
    CLAIMS,
    PAPER,
    as_modelled,
    exact_undoes_less,
    large_samples_alike,
    larger_samples_better,
    less_is_undone,
)
from rothko.generate.agrawal import agrawal
from rothko.policy.policy import Policy
from tests.experiments.drawn import draw

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "people.parquet"
    write_people(path, 6_000)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real tables of which there is a made-up survey: half of the incomes of those above 50 are low."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "acs_income_2018/hierarchies").mkdir(parents=True)
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {name: random.choice(list("ab"), 2_500) for name in SURVEY}
    columns |= {"Age": random.integers(17, 90, 2_500), "Education": random.integers(1, 25, 2_500)}
    low = (columns["Age"] > 50) & (random.random(2_500) < 0.5)
    columns[INCOME] = np.where(low, 10_000, 30_000)
    pq.write_table(pa.table(columns), folder / "acs_income_2018/acs_income_2018.parquet")
    states = pa.table({"state": ["a", "b"], "region": ["one", "one"], "all": ["*", "*"]})
    tree = folder / "acs_income_2018/hierarchies/acs_income_2018_hierarchy_State.csv"
    csv.write_csv(states, tree, csv.WriteOptions(include_header=False, delimiter=";", quoting_style="none"))
    return folder


def test_every_engine_makes_classes_and_tells_what_it_took(people: Path) -> None:
    exact = timed(Run(str(people), "memory", k=50), people.parent)
    assert exact["peak"] > 0
    runs = [
        Run(str(people), engine, k=50, tuples=1_000, cache=cache)
        for engine, cache in (("rothko-t", 1), ("rothko-t", 8), ("rothko-s", 1))
    ]
    for run in runs:  # what the first of them compiles is written, too
        timed(run, people.parent)
    one, more, sample = (timed(run, people.parent) for run in runs)
    assert one["classes"] == more["classes"] == exact["classes"]
    assert one["io"]["writes"] > more["io"]["writes"] > 0
    assert sample["io"]["repartitions"] == 1
    for found in (one, more, sample):
        assert found["seconds"] >= found["user"] * 0.5
        assert found["calls"]["wchar"] == pytest.approx(found["io"]["writes"], rel=0.05)


@pytest.mark.parametrize("size", [200, 1_000, 3_000])
def test_classes_by_samples_hold_every_record_and_k(size: int) -> None:
    people = agrawal(3_000, function=None, seed=1)
    policy = Policy.quick([*ATTRIBUTES, RECORD], qi=ATTRIBUTES, keep=RECORD, k=20)
    made = sampled(people, policy, sample=size)
    assert len(made.classes) == 3_000
    assert np.bincount(made.classes).min() >= 20
    assert made.minimal


def test_a_sample_that_tells_nothing_cuts_nothing() -> None:
    assert pruned("k", 1000, 20, "exact", 3_000, 0) == {
        ("pruned", "k", "1000", "20", "exact"): 0,
        ("nonminimal", "k", "1000", "20", "exact"): 1.0,
    }


def test_the_naive_approach_undoes_more() -> None:
    counts = {
        test: pruned("k", 10, 100, test, 5_000, 0)["pruned", "k", "10", "100", test] for test in ("exact", "naive")
    }
    assert counts["exact"] < counts["naive"]


@pytest.mark.parametrize("target", [INCOME, LOW_INCOME])
def test_classes_tell_of_the_income(folder: Path, target: str) -> None:
    """Nobody up to 50 has a low income, and half of the others: a class by the age tells what there is to be told."""
    few, all_records = (quality_of_census(target, 10, n, folder, 2_000, 0)["score", target, "10", str(n)]
                        for n in (20, 2_000))  # fmt: skip
    assert 0 < all_records < few


def test_without_data_the_census_table_is_left_out() -> None:
    assert not scale.run(scale.Scale.quick(), sorted(scale.NEED_DATA))["figures"]


def test_samples_of_the_census_table_are_smaller_than_it(folder: Path) -> None:
    found = scale.run(scale.Scale(folder, census=2_000, seeds=2, quality_k=(50,)), ["23-census"])
    scores = found["figures"]["23-census"]["score"][INCOME]["50"]
    assert {size: len(some) for size, some in scores.items()} == {"1000": 2, "2000": 1}


def test_from_run_to_picture(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All figures and claims, with runs in this process and few of the samples."""
    monkeypatch.setattr(scale.Bench.__init__, "__defaults__", (lambda run: timed(run, Path(run.path).parent),))
    monkeypatch.setattr(scale, "REQUIRED", {part: (of, some[:1]) for part, (of, some) in scale.REQUIRED.items()})
    results = json.loads(json.dumps(scale.run(scale.Scale.quick(folder))))
    assert set(results["figures"]) == set(scale.FIGURES)
    rows = checked(results, CLAIMS)
    assert not any(row["measured"].startswith("not run") for row in rows)
    assert table(rows)
    assert set(scale_figures.DRAWN) == set(scale.FIGURES)
    assert draw(results, tmp_path, scale_figures.DRAWN) == "figure-17"


def _io(reads: int, predicted: int) -> dict[str, Any]:
    return {"io": {"reads": reads, "writes": 10, "predicted_reads": predicted, "predicted_writes": 10}}


def test_the_model_is_held_to_its_bound() -> None:
    near, far = ({"18": {"cache": {"1": _io(reads, 100)}, "sample": {}, "rows": {}}} for reads in (120, 150))
    assert as_modelled(near).holds
    assert as_modelled(far).holds is False


def test_quality_against_samples() -> None:
    better = {"22": {"score": {"C2": {"10": {"100": [0.5, 0.7], "1000": [0.4, 0.6]}}}}}
    assert larger_samples_better("22")(better).holds
    worse = {"22": {"score": {"C2": {"10": {"100": [0.5, 0.7], "1000": [0.6, 0.7]}}}}}
    assert larger_samples_better("22")(worse).holds is False


@pytest.mark.parametrize(("last", "holds"), [(0.93, True), (0.88, False)])
def test_between_large_samples_quality_differs_little(last: float, holds: bool) -> None:
    scores = {"score": {INCOME: {"50": {"1000": [9.0], "25000": [1.1, 0.9], "49657": [last]}}}}
    assert large_samples_alike("23-census")({"23-census": scores}).holds is holds


def test_undone_nodes_are_compared_case_by_case() -> None:
    def found(normal: int, naive: int) -> dict[str, Any]:
        counts = {"k": {"10": {"100": {"normal": [normal], "naive": [naive]}}}}
        sure = {"k": {"10": {"100": {"normal": [0.0], "naive": [0.0]}}}}
        return {"24": {"pruned": counts, "nonminimal": sure}}

    assert less_is_undone(found(1, 9)).holds
    assert less_is_undone(found(9, 1)).holds is False


def test_the_papers_table_has_a_cell_for_every_bound() -> None:
    for part, by_sample in PAPER.items():
        assert {len(row.split(", ")) for row in by_sample.values()} == {len(scale.REQUIRED[part][1])}


@pytest.mark.parametrize(("exact", "unsure", "holds"), [(3, 0.0, True), (5, 0.0, False), (3, 1.0, False)])
def test_the_exact_test_must_undo_less_and_be_as_minimal(exact: int, unsure: float, holds: bool) -> None:
    figure = {
        "pruned": {"k": {"10": {"100": {"exact": [exact], "normal": [5], "naive": [9]}}}},
        "nonminimal": {"k": {"10": {"100": {"exact": [unsure], "normal": [0.0], "naive": [0.0]}}}},
    }
    assert exact_undoes_less({"24": figure}).holds is holds
