"""Model evaluation, section 4.1 of LeFevre, DeWitt, Ramakrishnan, TODS 2008, without what a release needs beside it.

φ is learned from the training records, and both parts are recoded by it. Releases are not verified here: thousands of
them are made and none leaves. :func:`rothko.learn.evaluate.evaluate` is the same protocol for users.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from experiments.data import Dataset
from rothko.data.encode import rank
from rothko.data.source.open import open_source
from rothko.in_memory import in_memory
from rothko.learn.folds import deal
from rothko.learn.models import MODELS
from rothko.learn.regions import Form, Original, Regions, as_numbers, place
from rothko.learn.scores import paired_t_test
from rothko.policy.policy import Policy
from rothko.workload import Classify

Floats = NDArray[np.float64]
Scores = dict[tuple[str, ...], float]
"""What one trial or one fold found, by a path such as (accuracy, tree, median, 25)."""
Spread = Callable[[Callable[..., Scores], Sequence[tuple[Any, ...]]], list[Scores]]
"""Call a function with each of the arguments, side by side, and return the answers in the same order."""

ORIGINAL, GUIDED, MEDIAN, TDS, TDR = "original", "workload", "median", "tds", "refine"
"""What a model learns from: the records, the release for the workload (InfoGain, Regression), Median's release, that of
Top-Down Specialization, to the letter of its paper, and that of refine as it is (:mod:`experiments.refine`)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is run."""

    trials: int = 100
    folds: int = 10
    data: Path | None = None
    rows: int | None = None
    """Of a large real table, drawn at random; all where it is None."""
    permutations: int = 25
    """Of the functions, in Fig. 10."""
    thin: int = 1
    """Take only every so manieth k or n."""

    @classmethod
    def quick(cls, trials: int, data: Path | None) -> Settings:
        """Enough to see that everything runs."""
        return cls(trials, folds=3, data=data, rows=6_000, permutations=4, thin=3)

    def some(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values that are run."""
        return tuple(values[:: self.thin])


@dataclass(frozen=True, slots=True)
class Recoded:
    """A training and a test part as a model sees them."""

    train: Floats
    test: Floats
    classes: NDArray[np.int32]
    """The class of each training record."""


def original(train: pa.Table, test: pa.Table, policy: Policy) -> Recoded:
    """The records as they are; those that are alike are a class."""
    known = Original.of(train, policy, policy.quasi_identifiers)
    numbers = known.numbers(train)
    classes = np.unique(numbers, axis=0, return_inverse=True)[1]
    return Recoded(numbers, known.numbers(test), classes.astype(np.int32))


def recode(train: pa.Table, test: pa.Table, policy: Policy, form: Form = "corners") -> Recoded:
    """Learn φ from the training part, and give the regions of both as numbers: two per attribute for corners."""
    recoding = in_memory(open_source(train), policy).recoding
    assert recoding is not None
    known, asked = place(recoding, train), place(recoding, test)
    regions = Regions.of(train, recoding, classes=known)
    return Recoded(regions.numbers(train, form, classes=known), regions.numbers(test, form, classes=asked), known)


def with_k(policy: Policy, k: int) -> Policy:
    """The policy with another k."""
    return policy.but(privacy=[{"k-anonymity": {"k": k}}])


def compared(train: pa.Table, test: pa.Table, policy: Policy, form: Form = "corners") -> dict[str, Recoded]:
    """The release for the policy's workload, and Median's."""
    return {GUIDED: recode(train, test, policy, form), MEDIAN: recode(train, test, policy.but(workload=()), form)}


def labels(table: pa.Table, target: str) -> NDArray[np.int32]:
    """The class label of each record as a code."""
    codes = np.empty(table.num_rows, dtype=np.int32)
    rank(table[target], codes)
    return codes


def truth(data: Dataset) -> NDArray[Any]:
    """The target as codes, or as numbers where it is a number to predict."""
    if isinstance(data.policy.workload[0], Classify):
        return labels(data.table, data.target)
    return as_numbers(data.table[data.target].combine_chunks())


def fold(data: Dataset, i: int, folds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The training and the test records of one fold, the same in every experiment."""
    known = truth(data)
    of = deal(known if isinstance(data.policy.workload[0], Classify) else None, len(known), folds, seed=0)
    return np.flatnonzero(of != i), np.flatnonzero(of == i)


def accuracy(model: str, known: Floats, labelled: NDArray[Any], asked: Floats, wanted: NDArray[Any]) -> float:
    """The share of test records that a classifier gets right."""
    return float(np.mean(_guess("classify", model, known, labelled, asked) == wanted))


def mean_error(model: str, known: Floats, numbers: Floats, asked: Floats, wanted: Floats) -> float:
    """The mean absolute error on the test records."""
    return float(np.mean(np.abs(_guess("regress", model, known, numbers, asked) - wanted)))


def _guess(task: str, model: str, known: Floats, target: NDArray[Any], asked: Floats) -> NDArray[Any]:
    if len(np.unique(target)) == 1:
        # Random constants may label everybody alike, and some classifiers refuse to learn that.
        return np.full(len(asked), target[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(getattr(MODELS[model], task)(0, 1).fit(known, target).predict(asked))


def gather(found: Iterable[Mapping[tuple[str, ...], float]]) -> dict[str, Any]:
    """Nested dictionaries along the paths, with a list of what the trials found at each end.

    >>> gather([{("tree", "25"): 0.5}, {("tree", "25"): 0.75}])
    {'tree': {'25': [0.5, 0.75]}}
    """
    gathered: dict[str, Any] = {}
    for scores in found:
        for (*above, last), score in scores.items():
            inner = gathered
            for name in above:
                inner = inner.setdefault(name, {})
            inner.setdefault(last, []).append(round(score, 6))
    return gathered


def one_sided(scores: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """The mean of the differences, and how likely so large a one is where scores are not the greater ones.

    >>> one_sided([0.9, 0.8], [0.9, 0.8])
    (0.0, 1.0)
    """
    if len(scores) < 2:
        return float(np.mean(scores) - np.mean(others)), 1.0
    difference, p = paired_t_test(np.asarray(scores, dtype=np.float64), np.asarray(others, dtype=np.float64))
    if p == 1:
        return difference, 1.0
    return difference, p / 2 if difference > 0 else 1 - p / 2


def spread_over(pool: Executor | None, progress: Callable[[int, int], None]) -> Spread:
    """Spread work over the processes of a pool; one after the other where there is none."""

    def spread(function: Callable[..., Scores], arguments: Sequence[tuple[Any, ...]]) -> list[Scores]:
        found = []
        columns = list(zip(*arguments, strict=True))
        answers = map(function, *columns) if pool is None else pool.map(function, *columns)
        for i, scores in enumerate(answers):
            found.append(scores)
            progress(i + 1, len(arguments))
        return found

    return spread
