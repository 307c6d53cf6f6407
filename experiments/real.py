"""The experiments on real tables: Figs. 7, 8, 9, 11 and 13."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from experiments.data import Dataset, real
from experiments.protocol import (
    GUIDED,
    MEDIAN,
    ORIGINAL,
    Floats,
    Recoded,
    Scores,
    Settings,
    Spread,
    accuracy,
    compared,
    fold,
    gather,
    mean_error,
    original,
    recode,
    truth,
    with_k,
)
from rothko.data.encode import encode
from rothko.data.line import Line
from rothko.data.typed import typed
from rothko.learn.models import mdl_cuts
from rothko.learn.regions import Form, line_numbers
from rothko.metrics.prediction import conditional_entropy
from rothko.policy.policy import Policy

ADULT_K = (2, 5, 10, 25, 50, 100, 250, 500, 1_000)
CONTRACEPTIVES_K = (2, 5, 10, 25, 50, 100, 200)
SELECTION_K, PROJECTION_K = 50, 100
GROUPS = (1, 2, 5, 10, 20, 50)
DIVERSITY = (1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7)
"""Up to nearly what the whole of Adult has: 1.73, since its two classes are not as frequent as each other."""

Part = tuple[pa.Table, NDArray[Any]]


def _parts(data: Dataset, i: int, folds: int) -> tuple[Part, Part]:
    """The training and the test part of a fold, each with its target."""
    target = truth(data)
    one, other = ((data.table.take(pa.array(part)), target[part]) for part in fold(data, i, folds))
    return one, other


def _folds(settings: Settings, *more: Sequence[Any]) -> list[tuple[Any, ...]]:
    """A task for every fold and every one of some values."""
    tasks: list[tuple[Any, ...]] = [(settings.data, settings.rows, settings.folds, i) for i in range(settings.folds)]
    for values in more:
        tasks = [(*task, value) for task in tasks for value in values]
    return tasks


# ── Fig. 7: classifiers against k


def figure_7(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Accuracy against k (section 4.4); k = 1 stands for the original records."""
    adult = spread(classify_adult, _folds(settings, (1, *settings.some(ADULT_K))))
    small = spread(classify_contraceptives, _folds(settings, (1, *settings.some(CONTRACEPTIVES_K))))
    chosen = spread(select_features, _folds(settings, range(1, 13)))
    means = spread(classify_means, _folds(settings, settings.some(ADULT_K)))
    return {
        "income": gather(adult),
        "contraceptives": gather(small),
        "feature selection": gather(chosen),
        "means": gather(means),
    }


def classify_adult(folder: Path, rows: int | None, folds: int, i: int, k: int) -> Scores:
    """One fold of Adult for one k; the forest's accuracy on what it has learned from, too."""
    data = real("income", folder, rows)
    found = _classify(data, folds, i, k, ("tree", "bayes", "forest"))
    if k == 1:
        (train, known), (test, _) = _parts(data, i, folds)
        seen = original(train, test, data.policy)
        found["training", "forest"] = accuracy("forest", seen.train, known, seen.train, known)
    return found


def classify_means(folder: Path, rows: int | None, folds: int, i: int, k: int) -> Scores:
    """Naive Bayes with the mean of a region in place of its corners: what is it that the corners hide?

    Each mean once, and each twice: that adds nothing but the counting of the same evidence twice, as corners do. And
    how many values a number takes, since naive Bayes looks at one number at a time (the median over the numbers).
    """
    data = real("income", folder, rows)
    (train, known), (test, wanted) = _parts(data, i, folds)
    policy = with_k(data.policy, k)
    found: Scores = {}
    for method, seen in compared(train, test, policy, "mean").items():
        for name, times in (("once", 1), ("twice", 2)):
            numbers = np.repeat(seen.train, times, axis=1), np.repeat(seen.test, times, axis=1)
            found["accuracy", name, method, str(k)] = accuracy("bayes", numbers[0], known, numbers[1], wanted)
        found["values", "mean", method, str(k)] = _distinct(seen.train)
    for method, seen in compared(train, test, policy).items():
        found["values", "corners", method, str(k)] = _distinct(seen.train)
    return found


def _distinct(numbers: Floats) -> float:
    return float(np.median([len(np.unique(column)) for column in numbers.T]))


def classify_contraceptives(folder: Path, rows: int | None, folds: int, i: int, k: int) -> Scores:
    """One fold of Contraceptives for one k."""
    return _classify(real("contraceptives", folder), folds, i, k, ("tree", "bayes", "forest"))


def _classify(data: Dataset, folds: int, i: int, k: int, models: Sequence[str]) -> Scores:
    (train, known), (test, wanted) = _parts(data, i, folds)
    views = _views(train, test, data.policy, k)
    return {
        ("accuracy", model, method, str(k)): accuracy(model, seen.train, known, seen.test, wanted)
        for method, seen in views.items()
        for model in models
    }


def _views(train: pa.Table, test: pa.Table, policy: Policy, k: int) -> dict[str, Recoded]:
    """The releases with this k; the original for 1."""
    if k == 1:
        return {ORIGINAL: original(train, test, policy)}
    return compared(train, test, with_k(policy, k))


def select_features(folder: Path, rows: int | None, folds: int, i: int, count: int) -> Scores:
    """The forest on the most predictive attributes of the original, as many as ``count`` says."""
    data = real("income", folder, rows)
    (train, known), (test, wanted) = _parts(data, i, folds)
    seen = original(train, test, data.policy)
    best = by_information_gain(seen.train, known)[:count]
    return {(str(count),): accuracy("forest", seen.train[:, best], known, seen.test[:, best], wanted)}


def by_information_gain(numbers: Floats, labelled: NDArray[np.int32]) -> list[int]:
    """The attributes from the most to the least predictive: information gain, cut as naive Bayes cuts them."""
    nothing = conditional_entropy(np.zeros_like(labelled), labelled)
    gains = []
    for column in numbers.T:
        cuts = mdl_cuts(column, labelled, int(labelled.max()) + 1)
        gains.append(nothing - conditional_entropy(np.searchsorted(cuts, column, side="right"), labelled))
    return [int(i) for i in np.argsort(-np.array(gains), kind="stable")]


# ── Fig. 8: measures that need no model


def figure_8(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Conditional entropy and mean size of the classes of the training folds, against k (section 4.4)."""
    return gather(spread(measure_adult, _folds(settings, settings.some(ADULT_K))))


def measure_adult(folder: Path, rows: int | None, folds: int, i: int, k: int) -> Scores:
    """One training fold for one k."""
    data = real("income", folder, rows)
    (train, known), _ = _parts(data, i, folds)
    found: Scores = {}
    for method, seen in compared(train, train.slice(0, 1), with_k(data.policy, k)).items():
        found["entropy", method, str(k)] = conditional_entropy(seen.classes, known)
        found["class size", method, str(k)] = len(known) / (int(seen.classes.max()) + 1)
    return found


# ── Fig. 9: regression against k


def figure_9(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Mean absolute error against k (section 4.4); k = 1 stands for the original records."""
    ks = (1, *settings.some(ADULT_K))
    return {name: gather(spread(regress, _folds(settings, ks, [name]))) for name in ("hours", "survey")}


def regress(folder: Path, rows: int | None, folds: int, i: int, k: int, name: str) -> Scores:
    """One fold of a table for one k."""
    data = real(name, folder, rows)
    (train, known), (test, wanted) = _parts(data, i, folds)
    views = _views(train, test, data.policy, k)
    return {
        (model, method, str(k)): mean_error(model, seen.train, known, seen.test, wanted)
        for method, seen in views.items()
        for model in ("tree", "linear")
    }


# ── Fig. 11: diversity of the label itself


def figure_11(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Conditional entropy and accuracy under entropy l-diversity of the class label alone (section 4.6).

    l = 1 asks for nothing: it stands for the original, where records that are alike are a class.
    """
    return gather(spread(diversify, _folds(settings, (1, *settings.some(DIVERSITY)))))


def diversify(folder: Path, rows: int | None, folds: int, i: int, l: float) -> Scores:  # noqa: E741 - the literature's name
    """One fold for one l."""
    data = real("income", folder, rows)
    (train, known), (test, wanted) = _parts(data, i, folds)
    if l == 1:
        seen = original(train, test, data.policy)
    else:
        columns = {**data.policy.columns, data.target: {"role": "sensitive"}}
        diverse = {"entropy-l-diversity": {"l": l, "of": data.target}}
        seen = recode(train, test, data.policy.but(columns=columns, privacy=[diverse]))
    found: Scores = {("entropy", f"{l:g}"): conditional_entropy(seen.classes, known)}
    for model in ("tree", "bayes"):
        found["accuracy", model, f"{l:g}"] = accuracy(model, seen.train, known, seen.test, wanted)
    return found


# ── Fig. 13: selection and projection


def figure_13(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Accuracy against the number of groups that are anonymised apart (4.7) and of attributes left out (4.8)."""
    groups = spread(select_groups, _folds(settings, settings.some(GROUPS)))
    corners, means = (gather(spread(project, _folds(settings, [form]))) for form in ("corners", "mean"))
    shown = gather(spread(count_exact, _folds(settings)))
    return {"selection": gather(groups), "projection": corners, "projection of means": means, "exact": shown}


def count_exact(folder: Path, rows: int | None, folds: int, i: int) -> Scores:
    """One fold: of how many attributes a record shows the exact value, on average over the training records."""
    data = real("income", folder, rows)
    (train, _), (test, _) = _parts(data, i, folds)
    views = compared(train, test, with_k(data.policy, PROJECTION_K))
    return {(method, str(PROJECTION_K)): exact(seen) for method, seen in views.items()}


def exact(seen: Recoded) -> float:
    """The attributes whose corners are the same value, for each record."""
    return float((seen.train[:, 0::2] == seen.train[:, 1::2]).sum(axis=1).mean())


def select_groups(folder: Path, rows: int | None, folds: int, i: int, groups: int) -> Scores:
    """One fold: n random groups, each with a recoding of its own, and one model over all of them."""
    data = real("income", folder, rows)
    (train, known), (test, wanted) = _parts(data, i, folds)
    random = np.random.default_rng([i, groups])
    group, asked = random.integers(groups, size=len(known)), random.integers(groups, size=len(wanted))
    policy = with_k(data.policy, SELECTION_K)
    common = encode(typed(train, policy), policy).lines
    found: Scores = {}
    for method, chosen in {GUIDED: policy, MEDIAN: policy.but(workload=())}.items():
        learned, tested = np.empty((len(known), 2 * len(common))), np.empty((len(wanted), 2 * len(common)))
        for g in range(groups):
            ours, theirs = group == g, asked == g
            seen = _recode_group(train.filter(pa.array(ours)), test.filter(pa.array(theirs)), chosen, common)
            learned[ours], tested[theirs] = seen.train, seen.test
        for model in ("tree", "bayes", "forest"):
            found[model, method, str(groups)] = accuracy(model, learned, known, tested, wanted)
    return found


def _recode_group(train: pa.Table, test: pa.Table, policy: Policy, common: Sequence[Line]) -> Recoded:
    """Recode a group; places on its hierarchies become those of the whole table, which has values that it has not."""
    seen = recode(train, test, policy)
    for i, (line, whole) in enumerate(zip(encode(typed(train, policy), policy).lines, common, strict=True)):
        if line.tree is None:
            continue
        place = {label: at for at, label in enumerate(whole.texts.to_pylist())}
        there = np.array([place[label] for label in line.texts.to_pylist()], dtype=np.float64)
        assert (np.diff(line_numbers(line.values)) == 1).all()
        for numbers in (seen.train, seen.test):
            numbers[:, [2 * i, 2 * i + 1]] = there[numbers[:, [2 * i, 2 * i + 1]].astype(np.int64)]
    return seen


def project(folder: Path, rows: int | None, folds: int, i: int, form: Form) -> Scores:
    """One fold: attributes are left out from the most predictive on, of releases that were made for all of them."""
    data = real("income", folder, rows)
    (train, known), (test, wanted) = _parts(data, i, folds)
    plain = original(train, test, data.policy)
    ranked = by_information_gain(plain.train, known)
    views = {ORIGINAL: plain, **compared(train, test, with_k(data.policy, PROJECTION_K), form)}
    found: Scores = {}
    for method, seen in views.items():
        width = seen.train.shape[1] // len(ranked)
        for dropped in range(len(ranked)):
            columns = [width * at + j for at in sorted(ranked[dropped:]) for j in range(width)]
            for model in ("tree", "bayes"):
                found[model, method, str(dropped)] = accuracy(
                    model, seen.train[:, columns], known, seen.test[:, columns], wanted
                )
    return found
