"""Entropy, squared error and classification metric against their definitions, record by record."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.metrics.prediction import classification_metric, conditional_entropy, wmse

records = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=40)
"""Class and label of each record; -1 is a missing label."""


def split(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    classes, labels = np.array(pairs, dtype=np.int32).T
    return classes, labels


def plain_entropy(pairs: list[tuple[int, int]]) -> float:
    """Equation 1, word for word."""
    labelled = [(c, label) for c, label in pairs if label >= 0]
    total = 0.0
    for c in {c for c, _ in labelled}:
        counts = Counter(label for other, label in labelled if other == c)
        size = sum(counts.values())
        total += size / len(labelled) * sum(-n / size * math.log2(n / size) for n in counts.values())
    return total


def plain_metric(pairs: list[tuple[int, int]]) -> float:
    labelled = [(c, label) for c, label in pairs if label >= 0]
    penalty = 0
    for c, label in labelled:
        counts = Counter(other for d, other in labelled if d == c)
        # Of several most frequent labels one is chosen: as many records as any of them has are right.
        majority = min(value for value, n in counts.items() if n == max(counts.values()))
        penalty += c < 0 or label != majority
    return penalty / len(labelled) if labelled else 0.0


def plain_wmse(pairs: list[tuple[int, float]]) -> float:
    """Equation 2 in exact arithmetic."""
    present = [(c, Fraction(x)) for c, x in pairs if not math.isnan(x)]
    total = Fraction(0)
    for c, x in present:
        members = [y for d, y in present if d == c]
        total += (x - sum(members) / len(members)) ** 2
    return float(total / len(present)) if present else 0.0


@given(records)
def test_conditional_entropy(pairs: list[tuple[int, int]]) -> None:
    classes, labels = split(pairs)
    found = conditional_entropy(classes, labels)
    assert found == pytest.approx(plain_entropy(pairs), abs=1e-12)
    assert -1e-12 <= found <= conditional_entropy(np.zeros_like(classes), labels) + 1e-12


@given(records)
def test_pure_classes_have_no_entropy(pairs: list[tuple[int, int]]) -> None:
    _, labels = split(pairs)
    assert conditional_entropy(labels + 1, labels) == 0
    assert classification_metric(labels + 1, labels) == 0


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 3)), min_size=1, max_size=40))
def test_classification_metric(pairs: list[tuple[int, int]]) -> None:
    assert classification_metric(*split(pairs)) == pytest.approx(plain_metric(pairs))


numbers = st.one_of(st.just(math.nan), st.integers(-50, 50).map(float), st.integers(10**9, 10**9 + 3).map(float))


@given(st.lists(st.tuples(st.integers(0, 4), numbers), min_size=1, max_size=40))
def test_wmse(pairs: list[tuple[int, float]]) -> None:
    classes, x = np.array([c for c, _ in pairs]), np.array([x for _, x in pairs])
    found = wmse(classes, x)
    assert found == pytest.approx(plain_wmse(pairs), rel=1e-9, abs=1e-12)
    assert found <= wmse(np.zeros_like(classes), x) * (1 + 1e-9) + 1e-12


def test_large_numbers_that_differ_little_keep_their_error() -> None:
    assert wmse(np.zeros(4, dtype=int), np.array([1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3])) == 1.25


@settings(deadline=None)
@given(st.integers(2, 5))
def test_many_labels_take_the_sparse_way(classes: int) -> None:
    labels = np.arange(0, 10**6, 10**5) * 10
    of = np.arange(len(labels)) % classes
    assert conditional_entropy(of, labels) == pytest.approx(
        plain_entropy(list(zip(of.tolist(), labels.tolist(), strict=True)))
    )


@pytest.mark.parametrize("metric", [conditional_entropy, classification_metric])
def test_no_label_at_all(metric) -> None:
    assert metric(np.array([0, 1]), np.array([-1, -1])) == 0


def test_no_number_at_all() -> None:
    assert wmse(np.array([0, 1]), np.array([np.nan, np.nan])) == 0
    assert wmse(np.array([0, 0]), np.array([-1.7e308, 1.7e308])) == math.inf
