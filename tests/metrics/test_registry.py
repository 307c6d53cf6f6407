"""The registry of metrics: complete, documented, and true to what metrics say of themselves."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import rothko as rk
from rothko.metrics.registry import METRICS
from rothko.release.loss import Loss
from rothko.workload import TASKS

PAGES = Path(__file__).parents[2] / "docs/metrics"
PEOPLE = {"age": [20, 30, 40, 60], "city": ["Rome", "Milan", "Lyon", "Paris"]}
ONE_CLASS = {"age": ["[20, 60]"] * 4, "city": ["{Lyon, Milan, Paris, Rome}"] * 4}


def named(needs: str) -> set[str]:
    return {name for name, metric in METRICS.items() if metric.needs == needs}


def test_a_loss_has_the_metrics_of_classes_and_of_tasks() -> None:
    assert named("classes") == {field.name for field in fields(Loss)} - {"workload", "survey", "bound"}
    assert named("task") == set(TASKS)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_its_page_and_its_place_in_the_index(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[:3] == ["Formula", "When to look at it", "Example"]
    assert f"[`{name}`]({name}.md)" in (PAGES / "index.md").read_text("utf-8")


def test_every_page_is_that_of_a_metric() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {"index", *METRICS}


@pytest.mark.parametrize("name", sorted(named("classes") | named("task")))
def test_what_a_certificate_holds_adds_up_over_parts(name: str) -> None:
    assert METRICS[name].add is not None


@pytest.mark.parametrize(("shown", "end"), [(PEOPLE, 0), (ONE_CLASS, 1)])
def test_bounds_are_reached(shown: dict[str, list[object]], end: int) -> None:
    """By exact data, and by one class for all."""
    lost = rk.measure(PEOPLE, shown, rk.Policy.quick(PEOPLE, qi=list(PEOPLE), k=2))
    values = {name: getattr(lost, name) for name in named("classes") - {"class_sizes", "ncp"}}
    values |= {score.name: score.value for score in lost.survey}
    for name, value in values.items():
        bound = METRICS[name].bounds[end]
        assert bound is None or value == pytest.approx(bound), name
    assert set(lost.ncp.values()) == {METRICS["ncp"].bounds[end]}
