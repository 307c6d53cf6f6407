"""The models that scikit-learn has not: supervised discretisation and pruned trees."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from rothko.learn.models import MODELS, C45Tree, M5Tree, MdlDiscretizer, further_errors, mdl_cuts


def entropy(labels: list[int]) -> float:
    return -sum(labels.count(x) / len(labels) * math.log2(labels.count(x) / len(labels)) for x in set(labels))


def plain_cuts(pairs: list[tuple[float, int]]) -> list[float]:
    """Fayyad and Irani's recursion, as their paper writes it."""
    pairs = sorted(pairs)
    values, labels = sorted({x for x, _ in pairs}), [label for _, label in pairs]
    best: tuple[float, float] | None = None
    for below, above in pairwise(values):
        cut = (below + above) / 2
        left, right = [y for x, y in pairs if x < cut], [y for x, y in pairs if x >= cut]
        after = (len(left) * entropy(left) + len(right) * entropy(right)) / len(pairs)
        if best is None or after < best[0] - 1e-12:
            best = after, cut
    if best is None:
        return []
    after, cut = best
    left, right = [pair for pair in pairs if pair[0] < cut], [pair for pair in pairs if pair[0] >= cut]
    parts = [labels, [y for _, y in left], [y for _, y in right]]
    k, k1, k2 = (len(set(part)) for part in parts)
    e, e1, e2 = (entropy(part) for part in parts)
    delta = math.log2(3**k - 2) - (k * e - k1 * e1 - k2 * e2)
    if e - after <= (math.log2(len(pairs) - 1) + delta) / len(pairs):
        return []
    return [*plain_cuts(left), cut, *plain_cuts(right)]


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_those_of_the_plain_recursion(labels: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 30, 200).astype(float)
    y = np.where(draw.random(200) < 0.1, draw.integers(0, labels, 200), (x // 7).astype(int) % labels)
    expected = plain_cuts(list(zip(x.tolist(), y.tolist(), strict=True)))
    assert len(expected) > 1
    assert mdl_cuts(x, y, labels).tolist() == pytest.approx(expected)


def test_noise_is_not_cut() -> None:
    draw = np.random.default_rng(0)
    X, y = draw.random((300, 4)), draw.integers(0, 2, 300)
    found = MdlDiscretizer().fit(X, y)
    assert [len(cuts) for cuts in found.cuts_] == [0, 0, 0, 0]
    assert (found.transform(X) == 0).all()


def test_the_upper_limit_of_the_error_is_that_of_the_binomial() -> None:
    """C4.5's limit: the share of errors with which so few would be seen in 25 % of all cases."""
    for records, wrong in [(6, 0), (9, 0), (1, 0)]:
        share = (wrong + further_errors(np.array([float(records)]), np.array([float(wrong)]), 0.25)[0]) / records
        assert binom.cdf(wrong, records, share) == pytest.approx(0.25)
    for records, wrong in [(16, 1), (100, 20), (50, 5)]:  # by the normal distribution, so only about
        share = (wrong + further_errors(np.array([float(records)]), np.array([float(wrong)]), 0.25)[0]) / records
        assert binom.cdf(wrong, records, share) == pytest.approx(0.25, abs=0.05)


def test_pruning_makes_a_small_tree_of_noise_and_keeps_what_is_there() -> None:
    draw = np.random.default_rng(0)
    X = draw.random((400, 5))
    y = (X[:, 0] > 0.5).astype(int) ^ (draw.random(400) < 0.2)
    grown = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0).fit(X, y)
    pruned = C45Tree().fit(X, y)
    leaves = len(np.unique(pruned.nodes_[pruned.tree_.apply(X)]))
    assert 2 <= leaves < 0.8 * grown.get_n_leaves()
    fresh = draw.random((2000, 5))
    truth = fresh[:, 0] > 0.5
    assert (pruned.predict(fresh) == truth).mean() > (grown.predict(fresh) == truth).mean()
    assert np.allclose(pruned.predict_proba(fresh).sum(axis=1), 1)
    numbers = X[:, 0] + draw.normal(0, 0.3, 400)
    regressed, full = M5Tree().fit(X, numbers), DecisionTreeRegressor(min_samples_leaf=4, random_state=0)
    errors = [np.abs(m.fit(X, numbers).predict(fresh) - fresh[:, 0]).mean() for m in (regressed, full)]
    assert errors[0] < errors[1]


def test_a_tree_without_noise_is_not_pruned() -> None:
    X = np.arange(40.0).reshape(-1, 1)
    y = (X[:, 0] // 10).astype(int)
    assert (C45Tree().fit(X, y).predict(X) == y).all()
    assert np.allclose(M5Tree().fit(X, 100.0 * y).predict(X), 100.0 * y)


def test_every_model_learns_what_is_easy() -> None:
    draw = np.random.default_rng(0)
    X = draw.random((200, 3))
    for name, model in MODELS.items():
        if model.classify is not None:
            for labels in (2, 3):
                y = np.floor(X[:, 0] * labels).astype(int)
                found = model.classify(0, 1).fit(X, y).predict(X)
                assert (found == y).mean() > (0.9 if labels == 2 else 0.75), name
        if model.regress is not None:
            assert np.abs(model.regress(0, 1).fit(X, X[:, 0]).predict(X) - X[:, 0]).mean() < 0.05, name


@parametrize_with_checks([MdlDiscretizer()])
def test_scikit_learns_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]
