"""Small runs of the experiments on tables larger than memory, and their claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import scale, scale_figures
from experiments.claims import checked, table
from experiments.data import ATTRIBUTES
from experiments.disk_runs import Run, timed, write_people
from experiments.sampling import RECORD, pruned, sampled
from experiments.scale_claims import (
    CLAIMS,
    PAPER,
    as_modelled,
    exact_undoes_less,
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


def test_from_run_to_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All figures and claims, with runs in this process and few of the samples."""
    monkeypatch.setattr(scale.Bench.__init__, "__defaults__", (lambda run: timed(run, Path(run.path).parent),))
    monkeypatch.setattr(scale, "REQUIRED", {part: (of, some[:1]) for part, (of, some) in scale.REQUIRED.items()})
    results = json.loads(json.dumps(scale.run(scale.Scale.quick())))
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
