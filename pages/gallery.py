"""The paintings: releases of generated data by several methods, on several sides, in several colours."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

import rothko as rk
from pages.people import KEY
from rothko.generate.agrawal import agrawal
from rothko.generate.census import census, census_policy
from rothko.generate.patients import patients
from rothko.plots.model import Painting
from rothko.report.painting import paint
from rothko.report.released import read_release

PATIENTS = """
columns:
  name: {role: identifier}
  birth_date: {role: quasi-identifier, type: date}
  sex: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: auto}
  education: {role: quasi-identifier, order: [none, primary, secondary, vocational, bachelor, master, doctorate]}
  diagnosis: {role: sensitive}
  cost: {role: keep}
privacy: [{k-anonymity: {k: 10}}, {distinct-l-diversity: {l: 3, of: diagnosis}}]
"""
"""Of the README."""


@cache
def _patients(method: str = "mondrian", count: int = 4_000) -> Any:
    return rk.anonymize(patients(count), rk.Policy.parse(PATIENTS).but(method=method), key=KEY)


@cache
def _census(method: str, k: int = 10) -> Any:
    return rk.anonymize(census(6_000), census_policy(k=k).but(method=method), key=KEY)


@cache
def _borrowers(method: str, *, made_for: bool = True) -> Any:
    """Age and salary of people whose class hangs on both; cut for a model of the class, or not."""
    people: pa.Table = agrawal(6_000, function=2, seed=3).select(["age", "salary", "class"])
    use = "class" if made_for else None
    return rk.anonymize(people, qi=["age", "salary"], sensitive="class", k=15, method=method, key=KEY, classify=use)


def readme() -> Painting:
    """The picture that README, report page and site open with."""
    return paint(read_release(_patients(count=10_000)), x="birth_date", y="zip")


def by_cost() -> Painting:
    """The same people, coloured by what they cost."""
    return paint(read_release(_patients(), target="cost"), x="birth_date", y="education", by="target")


def by_cluster() -> Painting:
    """Boxes that overlap."""
    return paint(read_release(_patients("cluster")), x="birth_date", y="zip")


def curve() -> Painting:
    """A census along the Hilbert curve, coloured by what the classes lose."""
    return paint(read_release(_census("hilbert")), x="age", y="education", by="loss")


def tree() -> Painting:
    """Labels without an order: a tree of rectangles."""
    return paint(read_release(_census("mondrian")), x="work_class", y="marital_status", by="size")


def for_a_model() -> Painting:
    """Cuts along the edges of what a model is to learn."""
    return paint(read_release(_borrowers("mondrian"), target="class"), x="age", y="salary", by="target")


def by_the_median() -> Painting:
    """The same people without a use in mind."""
    return paint(read_release(_borrowers("mondrian", made_for=False), target="class"), x="age", y="salary", by="target")


PAINTINGS = {
    "painting.svg": readme,
    "gallery/cost.svg": by_cost,
    "gallery/cluster.svg": by_cluster,
    "gallery/curve.svg": curve,
    "gallery/tree.svg": tree,
    "gallery/model.svg": for_a_model,
    "gallery/median.svg": by_the_median,
}
"""Path below ``docs/figures`` → the painting."""
