"""What models are scored by, and the scores of all folds: their means, and how two methods compare.

Models that train on the original records, on the release and on that of another policy see the same folds, so their
scores are compared fold by fold, with a paired t-test. The folds of a cross-validation share records, which makes that
test a little too sure of itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from rothko.learn.encoding import Floats
from rothko.workload import Classify, Regress


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired t-test between two methods: the scores of one model by one metric, fold by fold."""

    model: str
    metric: str
    method: str
    against: str
    difference: float
    """The mean score of ``method`` less that of ``against``."""
    p: float
    """How likely so large a difference is where there is none, on either side."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of models that predict one target."""

    task: str
    """``classify`` or ``regress``."""
    target: str
    methods: tuple[str, ...]
    """What the models were trained on: ``original``, and the name of every policy."""
    models: tuple[str, ...]
    scores: Mapping[tuple[str, str, str], NDArray[np.float64]]
    """(model, method, metric) → a score for each fold."""
    records: int
    left_out: int
    """Records without a target."""
    unplaced: Mapping[str, int]
    """Method → test records that φ could not place, or with labels that were not there in training, over all folds."""
    protocol: str
    """``regions`` or ``release``."""
    regions: str
    folds: int
    seed: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """What was scored."""
        return tuple(SCORES[self.task])

    def mean(self, model: str, method: str, metric: str) -> float:
        """The mean over the folds."""
        return float(self.scores[model, method, metric].mean())

    def sd(self, model: str, method: str, metric: str) -> float:
        """The standard deviation over the folds."""
        return float(self.scores[model, method, metric].std(ddof=1))

    def compare(self, model: str, metric: str, method: str, against: str) -> Comparison:
        """Compare two methods by a paired t-test over the folds."""
        difference, p = paired_t_test(self.scores[model, method, metric], self.scores[model, against, metric])
        return Comparison(model, metric, method, against, difference, p)

    def comparisons(self) -> list[Comparison]:
        """Every method against every one before it."""
        pairs = [(b, a) for i, a in enumerate(self.methods) for b in self.methods[i + 1 :]]
        return [self.compare(o, c, b, a) for o in self.models for c in self.metrics for b, a in pairs]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        return {
            "task": self.task,
            "target": self.target,
            "records": self.records,
            "left_out": self.left_out,
            "folds": self.folds,
            "protocol": self.protocol,
            "regions": self.regions,
            "seed": self.seed,
            "unplaced": dict(self.unplaced),
            "scores": [
                {
                    "model": model,
                    "method": method,
                    "metric": metric,
                    "mean": self.mean(model, method, metric),
                    "sd": self.sd(model, method, metric),
                    "by_fold": scores.tolist(),
                }
                for (model, method, metric), scores in self.scores.items()
            ],
            "comparisons": [asdict(found) for found in self.comparisons()],
        }


def paired_t_test(scores: Floats, others: Floats) -> tuple[float, float]:
    """The mean difference, and the two-sided p of a paired t-test.

    Scores that differ by the same in every fold leave nothing to doubt: p is 1 where they are equal, else 0.

    >>> paired_t_test(np.array([0.9, 0.8]), np.array([0.9, 0.8]))
    (0.0, 1.0)
    """
    apart = np.asarray(scores) - np.asarray(others)
    mean, error = float(apart.mean()), float(apart.std(ddof=1)) / np.sqrt(len(apart))
    if error <= 1e-12 * float(np.max(np.abs(np.concatenate([scores, others])), initial=0.0)):
        return mean, 1.0 if abs(mean) <= error else 0.0
    return mean, float(2 * stats.t.sf(abs(mean) / error, len(apart) - 1))


def score_model(
    estimator: Any,
    task: Classify | Regress,
    known: Floats,
    labels: NDArray[Any],
    asked: Floats,
    truth: NDArray[Any],
    threads: int,
) -> dict[str, float]:
    """Train a model on some records and score it on others."""
    with warnings.catch_warnings(), threadpool_limits(threads):
        # A model that has not quite converged is scored as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(known, labels)
        guess = estimator.predict(asked)
        return {name: float(score(truth, guess, estimator, asked)) for name, score in SCORES[task.name].items()}


def _auc(truth: NDArray[Any], guess: NDArray[Any], estimator: Any, asked: Floats) -> float:
    """The area under the ROC curve; of more than two labels, the mean of each against the rest."""
    ranks = (
        estimator.predict_proba(asked) if hasattr(estimator, "predict_proba") else estimator.decision_function(asked)
    )
    if len(estimator.classes_) == 2:
        ranks = ranks if ranks.ndim == 1 else ranks[:, 1]
        ranks = np.column_stack([-ranks, ranks])
    by_label = dict(zip(estimator.classes_.tolist(), ranks.T, strict=True))
    labels = np.unique(truth)
    # A label that was not there in training is never ranked before another: 1/2, as by chance.
    areas = [roc_auc_score(truth == label, by_label.get(label, np.zeros(len(truth)))) for label in labels]
    return float(np.mean(areas))


SCORES: dict[str, dict[str, Callable[[NDArray[Any], NDArray[Any], Any, Floats], float]]] = {
    "classify": {
        "accuracy": lambda truth, guess, *_: accuracy_score(truth, guess),
        "macro-F1": lambda truth, guess, *_: f1_score(truth, guess, average="macro", zero_division=0.0),
        "AUC": _auc,
    },
    "regress": {
        "MAE": lambda truth, guess, *_: mean_absolute_error(truth, guess),
        "R²": lambda truth, guess, *_: r2_score(truth, guess),
    },
}
"""Task → what models are scored by: from the truth and their guess, or from the model and what it was asked."""
