"""The models of the paper's evaluation, as scikit-learn has them (LeFevre et al. 2008, section 4.1).

The paper took them from Weka. What stands for what:

========  ======================================================  =================================================
model     paper (Weka, defaults)                                  here
========  ======================================================  =================================================
tree      J48 (C4.5)                                              entropy, 2 records a leaf, pruned as C4.5 does;
                                                                  binary cuts, and gain where C4.5 takes the ratio
tree      M5 for numbers                                          squared error, 4 records a leaf, pruned as M5
                                                                  does; means in the leaves where M5 has equations
bayes     naive Bayes, supervised discretisation                  the same: Fayyad and Irani's cuts
forest    40 random trees                                         the same
svm       SMO, linear kernel, C = 1, attributes scaled to 0 … 1   the same scaling and C; squared hinge, one against
                                                                  the rest
linear    linear regression                                       the same; for labels logistic regression
boosting  —                                                       gradient boosting over histograms
========  ======================================================  =================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted, validate_data

from rothko.learn.encoding import Way

Floats = NDArray[np.float64]
Make = Callable[[int, int], Any]
"""A new estimator from a seed and a number of threads."""

TREES = 40


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of model, for labels and for numbers."""

    classify: Make | None
    regress: Make | None
    labels: Way = "effects"
    """How labels become numbers for it: see :mod:`rothko.learn.encoding`."""


class MdlDiscretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cut each number into intervals that tell about the label (Fayyad and Irani, IJCAI 1993).

    An interval is cut where the entropy of the label falls most, as long as the cut is worth its description
    (the minimum description length principle).

    Attributes
    ----------
    cuts_
        The cuts of each feature; a value equal to a cut lies above it.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Find the cuts of every feature."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        labels, codes = np.unique(y, return_inverse=True)
        self.cuts_ = [mdl_cuts(X[:, i], codes, len(labels)) for i in range(X.shape[1])]
        return self

    def transform(self, X: Any) -> NDArray[np.int64]:
        """The interval of every value, numbered from 0."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.column_stack([np.searchsorted(cuts, X[:, i], side="right") for i, cuts in enumerate(self.cuts_)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def mdl_cuts(numbers: Floats, labels: NDArray[np.integer], count: int) -> Floats:
    """The cuts of one feature, rising.

    >>> mdl_cuts(np.array([1.0, 2, 3, 4] * 10), np.array([0, 0, 1, 1] * 10), 2).tolist()
    [2.5]
    """
    values, place = np.unique(numbers, return_inverse=True)
    histogram = np.bincount(place * count + labels, minlength=len(values) * count).reshape(-1, count)
    before = np.concatenate([np.zeros((1, count)), np.cumsum(histogram, axis=0)])
    cuts: list[float] = []
    todo = [(0, len(values))]
    while todo:
        begin, end = todo.pop()
        at = _best_cut(before[begin : end + 1] - before[begin])
        if at:
            cuts.append(float(values[begin + at - 1] / 2 + values[begin + at] / 2))
            todo += [(begin, begin + at), (begin + at, end)]
    return np.array(sorted(cuts))


def _best_cut(before: Floats) -> int:
    """How many values lie below the best cut that is worth it; 0 where none is.

    ``before`` has the histogram of the labels below each place of the interval.
    """
    whole = before[-1]
    records = whole.sum()
    if len(before) < 3 or records < 2:
        return 0
    left, right = before[1:-1], whole - before[1:-1]
    share = left.sum(axis=1) / records
    after = share * _entropy(left) + (1 - share) * _entropy(right)
    best = int(np.argmin(after))
    parts = np.stack([whole, left[best], right[best]])
    entropy, kinds = _entropy(parts), np.count_nonzero(parts, axis=1)
    gain = entropy[0] - after[best]
    description = np.log2(3.0 ** kinds[0] - 2) - (kinds[0] * entropy[0] - kinds[1] * entropy[1] - kinds[2] * entropy[2])
    return best + 1 if gain > (np.log2(records - 1) + description) / records else 0


def _entropy(histograms: Floats) -> Floats:
    """In bits, of each row."""
    share = histograms / histograms.sum(axis=1, keepdims=True)
    return np.asarray(-np.sum(share * np.log2(share, out=np.zeros_like(share), where=share > 0), axis=1))


class _Pruned(BaseEstimator):  # type: ignore[misc]
    """A tree that is grown to the end and cut back: a node whose parts promise no less error becomes a leaf."""

    def _prune(self, tree: Any, as_leaf: Floats, slack: float) -> None:
        """Set ``nodes_``: for every node, the one that answers in its place.

        Parameters
        ----------
        as_leaf
            The error that each node is expected to make as a leaf, summed over its records.
        slack
            How much more a leaf may err than the parts that it replaces.
        """
        left, right = tree.children_left, tree.children_right
        error = as_leaf.copy()
        answers = np.arange(len(left))
        leaf = left < 0
        # Parents come before their parts, so this goes from the leaves up …
        for i in np.flatnonzero(~leaf)[::-1]:
            below = error[left[i]] + error[right[i]]
            leaf[i] = as_leaf[i] <= below + slack
            error[i] = as_leaf[i] if leaf[i] else below
        # … and this from the root down.
        for i in np.flatnonzero(left >= 0):
            if leaf[i]:
                answers[left[i]] = answers[right[i]] = answers[i]
                leaf[left[i]] = leaf[right[i]] = True
        self.nodes_ = answers


class C45Tree(ClassifierMixin, _Pruned):  # type: ignore[misc]
    """A decision tree by entropy, pruned by the upper limit of its error (Quinlan 1993, chapter 4; 25 % confidence)."""

    def __init__(self, *, confidence: float = 0.25, min_samples_leaf: int = 2, random_state: int = 0) -> None:
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Grow and prune."""
        self.tree_ = DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=self.min_samples_leaf, random_state=self.random_state
        ).fit(X, y)
        self.classes_ = self.tree_.classes_
        tree = self.tree_.tree_
        records = tree.weighted_n_node_samples
        wrong = records * (1 - tree.value[:, 0, :].max(axis=1))
        self._prune(tree, wrong + further_errors(records, wrong, self.confidence), slack=0.1)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The share of each label in the leaf of each record."""
        return np.asarray(self.tree_.tree_.value[self.nodes_[self.tree_.apply(X)], 0, :])

    def predict(self, X: Any) -> NDArray[Any]:
        """The most frequent label in the leaf of each record."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])


class M5Tree(RegressorMixin, _Pruned):  # type: ignore[misc]
    """A regression tree, pruned as M5 does: by its error times (n + v) / (n − v), v = 1 for a mean (Quinlan 1992)."""

    def __init__(self, *, min_samples_leaf: int = 4, random_state: int = 0) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Grow and prune."""
        self.tree_ = DecisionTreeRegressor(min_samples_leaf=self.min_samples_leaf, random_state=self.random_state)
        self.tree_.fit(X, y)
        tree = self.tree_.tree_
        records = tree.weighted_n_node_samples
        factor = (records + 1) / np.maximum(records - 1, 0.1)
        self._prune(tree, records * factor * np.sqrt(np.maximum(tree.impurity, 0.0)), slack=0.0)
        return self

    def predict(self, X: Any) -> Floats:
        """The mean in the leaf of each record."""
        return np.asarray(self.tree_.tree_.value[self.nodes_[self.tree_.apply(X)], 0, 0])


def further_errors(records: Floats, wrong: Floats, confidence: float) -> Floats:
    """How many more errors a leaf may make than it made: the upper limit of the binomial, as C4.5 and Weka take it.

    >>> further_errors(np.array([6.0]), np.array([0.0]), 0.25).round(3).tolist()  # Quinlan's example: 6 × 0.206
    [1.238]
    """
    none = records * (1 - confidence ** (1 / records))
    z = norm.ppf(1 - confidence)

    def some(wrong: Floats) -> Floats:
        share = (wrong + 0.5) / records
        root = np.sqrt(np.maximum(share / records - share**2 / records + z**2 / (4 * records**2), 0.0))
        upper = (share + z**2 / (2 * records) + z * root) / (1 + z**2 / records)
        return np.where(wrong + 0.5 >= records, np.maximum(records - wrong, 0.0), upper * records - wrong)

    few = none + wrong * (some(np.ones_like(records)) - none)
    return np.where(wrong < 1e-9, none, np.where(wrong < 1, few, some(wrong)))


MODELS: dict[str, Model] = {
    "tree": Model(
        classify=lambda seed, _: C45Tree(random_state=seed),
        regress=lambda seed, _: M5Tree(random_state=seed),
    ),
    "bayes": Model(classify=lambda *_: make_pipeline(MdlDiscretizer(), CategoricalNB()), regress=None),
    "forest": Model(
        classify=lambda seed, threads: RandomForestClassifier(TREES, random_state=seed, n_jobs=threads),
        regress=lambda seed, threads: RandomForestRegressor(TREES, random_state=seed, n_jobs=threads),
    ),
    "svm": Model(
        classify=lambda seed, _: make_pipeline(MinMaxScaler(), LinearSVC(random_state=seed, max_iter=10_000)),
        regress=None,
        labels="shares",
    ),
    "linear": Model(
        classify=lambda *_: make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)),
        regress=lambda *_: make_pipeline(StandardScaler(), LinearRegression()),
        labels="shares",
    ),
    "boosting": Model(
        classify=lambda seed, _: HistGradientBoostingClassifier(random_state=seed),
        regress=lambda seed, _: HistGradientBoostingRegressor(random_state=seed),
    ),
}
"""Name on the command line → model."""
