"""Classes as a reader counts them, and records of which nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

import rothko as rk

PEOPLE = {
    "age": [20, 21, 30, 31] * 6,
    "city": ["Rome", "Lyon", "Paris", "Rome", "Milan", "Lyon"] * 4,
    "disease": ["flu", "cold", "flu"] * 8,
}


@pytest.mark.parametrize("method", ["mondrian", {"mondrian": {"relaxed": True}}, "hilbert", "cluster", "refine"])
def test_one_number_of_classes_everywhere(method: Any) -> None:
    """Local methods part equal records, whose classes show the same."""
    release = rk.anonymize(PEOPLE, qi=["age", "city"], sensitive="disease", k=2, method=method)
    told, lost = release.certificate.to_dict(), rk.measure(PEOPLE, release)
    rows = list(zip(*(release.table[name] for name in ("age", "city")), strict=True))
    sizes = [rows.count(row) for row in set(rows)]
    assert len(sizes) == told["classes"] == told["loss"]["classes"] == lost.classes
    assert sum(size * size for size in sizes) == told["loss"]["discernibility"] == lost.discernibility
    assert told["loss"]["class_sizes"] == lost.class_sizes
    assert (min(sizes), max(sizes)) == (lost.smallest_class, lost.largest_class)


def test_classes_that_show_the_same_are_one_in_a_comparison() -> None:
    policy = rk.Policy.quick(PEOPLE, qi=["age", "city"], sensitive="disease", keep=[], k=2)
    [trial] = rk.compare(PEOPLE, policy, methods=["hilbert"], k=[2]).trials
    assert trial.loss is not None
    assert trial.loss.classes == rk.anonymize(PEOPLE, policy, method="hilbert").certificate.verification.classes


def test_records_that_show_nothing_are_told() -> None:
    people = {
        "age": [20, 30, 40, 60, 50, 50],
        "city": ["Rome", "Milan", "Lyon", "Paris", "Rome", "Rome"],
        "one": [1] * 6,
    }
    shown = {
        "age": ["*", "*", "[20, 60]", "[20, 60]", "50", "50"],
        "city": ["*", "*", "*", "*", "*", "*"],
        "one": [1] * 6,
    }
    lost = rk.measure(people, shown, rk.Policy.quick(people, qi=list(people), k=2))
    assert lost.suppressed == 4, "a column of one value tells nothing, and does not count"
    release = rk.anonymize(people, qi=list(people), k=6)
    assert release.certificate.to_dict()["suppressed"] == release.certificate.loss.suppressed == 6
    assert rk.anonymize(people, qi="one", keep=["age", "city"], k=6).certificate.loss.suppressed == 0
