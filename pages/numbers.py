"""Pictures of metrics: what each says of releases of the forty, from k = 2 to one class for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from pages.people import KEY, TABLE, K, policy, released
from rothko import anonymize, measure
from rothko.metrics.cube import cube_divergence
from rothko.metrics.pair import read_pair
from rothko.metrics.ranges import range_counts
from rothko.metrics.registry import METRICS
from rothko.plots.model import Axis, Mark, Plot, Points, Rule
from rothko.report.figures import class_sizes, contributions, kept_together

METHODS = ("mondrian", "hilbert", "cluster")
KS = (2, 3, 4, 6, 10, 20, 40)
WHERE = "age < 40 and zip < 53145"
HIERARCHIES = {"age": {"intervals": [5, 10, 20, 40]}, "zip": {"intervals": [10, 50, 100]}}

Series = dict[str, list[float]]


def by_metric(name: str) -> Plot:
    """The picture of a metric."""
    return PICTURES[name](name)


@cache
def _release(method: str, k: int, use: str = "", hierarchies: bool = False) -> Any:
    asked = policy([{"k-anonymity": {"k": k}}], method=method, workload=USES[use])
    if hierarchies:
        columns = {name: {"role": "quasi-identifier", "hierarchy": rule} for name, rule in HIERARCHIES.items()}
        asked = asked.but(columns={**asked.columns, **columns})
    return anonymize(TABLE, asked, key=KEY, threads=1)


USES: dict[str, list[dict[str, Any]]] = {
    "": [],
    "classify": [{"classify": {"target": "disease"}}],
    "regress": [{"regress": {"target": "pay"}}],
    "select": [{"select": {"where": WHERE}}],
    "aggregate": [{"select": {"where": WHERE}}, {"aggregate": {"of": "age", "functions": ["avg", "max"]}}],
}


def _of_loss(title: str = "") -> Callable[[str], Plot]:
    """A field of the loss, by method."""

    def plot(name: str) -> Plot:
        found = {m: [float(getattr(_release(m, k).certificate.loss, name)) for k in KS] for m in METHODS}
        return _lines(name, title or name.replace("_", " "), found)

    return plot


def _of_survey(name: str) -> Plot:
    """A metric of the literature, by method; with hierarchies where it is about these."""
    tree = name in ("hierarchy_distance", "suppressed_entries")
    found = {m: [_survey(m, k, tree)[name] for k in KS] for m in METHODS}
    return _lines(name, name.replace("_", " "), found)


@cache
def _survey(method: str, k: int, hierarchies: bool) -> dict[str, float]:
    scores = measure(TABLE, _release(method, k, hierarchies=hierarchies), threads=1).survey
    return {one.name: float(one.value) for one in scores}


def _ncp(name: str) -> Plot:
    found = [_release("mondrian", k).certificate.loss.ncp for k in KS]
    return _lines(name, "NCP", {column: [one[column] for one in found] for column in ("age", "zip")})


def _sizes(name: str) -> Plot:
    sizes = released(publish="bounds").classes["records"].to_numpy()
    return _renamed(class_sizes(np.asarray(sizes, dtype=np.int64), 0.2), name)


def _task(what: str, title: str) -> Callable[[str], Plot]:
    """A number of a task, where the release was made for it and where it was not."""

    def plot(name: str) -> Plot:
        def value(k: int, use: str) -> float:
            release = _release("mondrian", k, use)
            with_task = policy([{"k-anonymity": {"k": k}}], workload=USES[name])
            return _answer(measure(TABLE, release.table, with_task, threads=1).workload, what)

        found = {"made for it": [value(k, name) for k in KS], "by the median": [value(k, "") for k in KS]}
        return _lines(name, title, found)

    return plot


def _answer(tasks: Sequence[Any], what: str) -> float:
    if what == "error":
        [asked] = [
            one for task in tasks for one in getattr(task, "answers", ()) if (one.function, one.where) == ("max", WHERE)
        ]
        return float(asked.error)
    return float(getattr(tasks[0], what))


def _queries(name: str) -> Plot:
    found = {
        m: [range_counts(TABLE, _release(m, k), queries=200, selectivity=0.25, seed=1, threads=1).mean for k in KS]
        for m in METHODS
    }
    return _lines(name, "mean error of range counts", found, percent=True)


def _cube(name: str) -> Plot:
    def value(method: str, k: int) -> float:
        [level] = cube_divergence(TABLE, _release(method, k), levels=[2], of="disease").levels
        return float(level.divergence)

    return _lines(name, "divergence of group-bys", {m: [value(m, k) for k in KS] for m in METHODS})


def _associations(name: str) -> Plot:
    return _renamed(
        kept_together(METRICS[name].compute(read_pair(TABLE, _release("mondrian", K), beside=["disease", "pay"]))), name
    )


def _risk(name: str) -> Plot:
    def told(k: int) -> Any:
        return METRICS[name].compute(_release("mondrian", k).classes["records"].to_numpy())

    risks = [told(k) for k in KS]
    found = {"highest": [one.highest for one in risks], "average": [one.average for one in risks]}
    return _lines(name, "risk of the prosecutor", found, percent=True, rules=[Rule("0.09", 0.09, across=True)])


def _bound(name: str) -> Plot:
    found = {m: [float(_release(m, k, hierarchies=True).certificate.loss.gcp) for k in KS] for m in METHODS}
    at_best = [measure(TABLE, _release("mondrian", k, hierarchies=True), bound=True, threads=1).bound for k in KS]
    return _lines(name, "GCP", {**found, "at best": [one.gcp for one in at_best if one is not None]})


def _uniqueness(name: str) -> Plot:
    return _renamed(contributions(METRICS[name].compute(read_pair(TABLE, _release("mondrian", K)).encoded)), name)


def _renamed(plot: Plot, name: str) -> Plot:
    return Plot(f"metric-{name}", plot.title, plot.about, plot.x, plot.y, plot.marks, plot.width, plot.height)


def _lines(name: str, title: str, found: Series, *, percent: bool = False, rules: Sequence[Mark] = ()) -> Plot:
    """A line for each method, from k = 2 to 40."""
    top = max(max(values) for values in found.values())
    marks = [
        Points(label, KS, tuple(values), tuple(_tips(label, values)), tone, tone)
        for tone, (label, values) in enumerate(found.items())
    ]
    ends = ", ".join(f"{label} {values[0]:.3g} to {values[-1]:.3g}" for label, values in found.items())
    return Plot(
        f"metric-{name}", f"{title[0].upper()}{title[1:]} of forty people", f"From k = 2 to k = 40: {ends}.",
        Axis("k", KS[0], KS[-1], "log", ticks=(2, 4, 10, 20, 40)), Axis(title, 0, 1.06 * top or 1, percent=percent),
        (*marks, *rules), height=270,
    )  # fmt: skip


def _tips(label: str, values: Sequence[float]) -> Iterator[str]:
    return (f"{label}, k = {k}: {value:.4g}" for k, value in zip(KS, values, strict=True))


PICTURES: dict[str, Callable[[str], Plot]] = {
    "gcp": _of_loss("GCP"),
    "ncp": _ncp,
    "discernibility": _of_loss(),
    "classes": _of_loss(),
    "average_class_size": _of_loss(),
    "smallest_class": _of_loss(),
    "largest_class": _of_loss(),
    "class_sizes": _sizes,
    "suppressed": _of_loss(),
    **{name: _of_survey for name, metric in METRICS.items() if metric.needs == "published"},
    "classify": _task("conditional_entropy", "bits of entropy within classes"),
    "regress": _task("wmse", "squared error around class means"),
    "select": _task("imprecision", "records returned too many"),
    "aggregate": _task("error", "error of the largest age"),
    "queries": _queries,
    "cube": _cube,
    "associations": _associations,
    "risk": _risk,
    "bound": _bound,
    "uniqueness": _uniqueness,
}
"""Metric → what draws it."""
