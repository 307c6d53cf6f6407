"""Model evaluation: what a model that learns from a release is worth (LeFevre et al. 2008, section 4.1).

The protocol, for every fold of a cross-validation:

1. the records are divided into a training and a test part;
2. φ is learned from the training part alone, and gives its regions;
3. the same φ gives the regions of the test part;
4. the model is trained on the regions of the training part and scored on those of the test part.

Models that train on the original records, on the release and on that of another policy see the same folds, so their
scores are compared fold by fold, with a paired t-test. The folds of a cross-validation share records, which makes that
test a little too sure of itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, r2_score, roc_auc_score

from rothko.data.encode import counted
from rothko.data.schema import columns_read, match, written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.typed import with_one_missing
from rothko.errors import InfeasibleError, InputError, PolicyError, nearest
from rothko.flow import in_memory
from rothko.learn.models import MODELS
from rothko.learn.regions import Floats, Form, Original, Regions, known_form, place
from rothko.mistakes import said
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.policy import Policy
from rothko.policy.words import Words, takes
from rothko.progress import Progress, count_threads, silent
from rothko.workload import Classify, Regress

ORIGINAL = "original"

LARGEST = 1e150
"""Of a number that models predict: the squares of larger ones are no numbers any more."""


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
    """Method → test records that φ could not place, over all folds."""
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


@takes(Words)
def evaluate(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    models: Sequence[str] | None = None,
    folds: int = 10,
    regions: Form = "corners",
    target: str | None = None,
    methods: Mapping[str, Policy] | None = None,
    rows: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    csv: CsvOptions | None = None,
    progress: Progress | bool = silent,
    **words: Unpack[Words],
) -> tuple[Evaluation, ...]:
    """Train models on original records and on releases of them, and score them; one result for each target.

    Parameters
    ----------
    data
        The original: anything that :func:`rothko.anonymize` takes.
    policy
        Its workload says what to predict, from which features. Or none, and in its place:
    qi, sensitive, drop, keep, keep_rest, k, l, missing, types, hierarchies
        As for :func:`rothko.anonymize`. Nothing is released: what is not named is not read.
    classify, regress, select, aggregate, workload, method, publish
        The same; they go with a policy, too.
    models
        Names from :data:`rothko.learn.models.MODELS`; those that do not fit a target are left out. All by default.
    folds
        Into how many parts the records are divided, by label where there are labels.
    regions
        How the regions of a release become numbers: see :mod:`rothko.learn.regions`.
    target
        One of the policy's targets; all by default.
    methods
        Name → policy, to be compared; by default the policy as ``release`` and, where its workload makes a difference,
        the same by Median Mondrian as ``median``.
    rows
        Evaluate on so many records, drawn at random; on all by default.
    progress
        As for :func:`rothko.anonymize`: True is a bar.

    Examples
    --------
    >>> from rothko.generate.agrawal import agrawal
    >>> people = agrawal(300, function=1)
    >>> names = [name for name in people.column_names if name != "class"]
    >>> found, = evaluate(people, qi=names, k=10, classify="class", models=["tree"], folds=3)
    >>> found.methods, found.metrics, found.scores["tree", "original", "accuracy"].shape
    (('original', 'release', 'median'), ('accuracy', 'macro-F1', 'AUC'), (3,))
    """
    asked = Asked.of(data, policy, words, csv=csv)
    policy = asked.settled(released=False)
    form, threads = known_form(regions), count_threads(threads)
    _least("folds", folds, 2)
    tasks = _tasks(policy, target)
    chosen = {id(task): _models(task, models) for task in tasks}
    compared = {"release": policy, "median": _median(policy)} if methods is None else dict(methods)
    table = _read(asked.source, policy, rows, seed)
    compared = {name: _to_train(other) for name, other in compared.items()}
    total = sum(folds * (1 + len(compared)) * len(chosen[id(task)]) for task in tasks)
    from rothko.kernels.compiling import told

    with told(progress) as report:
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            report("evaluate", done, total)

        report("evaluate", 0, total)
        return tuple(
            _evaluate(table, policy, task, compared, chosen[id(task)], folds, form, seed, threads, step)
            for task in tasks
        )


def recode(
    train: pa.Table,
    test: pa.Table,
    policy: Policy,
    *,
    features: Sequence[str] | None = None,
    regions: Form = "corners",
    seed: int | Sequence[int] = 0,
    threads: int = 1,
) -> tuple[Floats, Floats, int]:
    """Steps 2 and 3 of the protocol: learn φ from one table, and give the regions of both as numbers.

    Parameters
    ----------
    train, test
        Arrow tables with the columns of the policy; the test part needs no more than the features.
    features
        What a model looks at; all quasi-identifiers where it is None.

    Returns
    -------
    The numbers of the training and of the test part, and how many test records could not be placed.
    """
    recoding = in_memory(open_source(train), policy, threads=threads).recoding
    if recoding is None:
        raise PolicyError(
            f"{policy.method.name} with these options has no recoding, and test records cannot be placed; "
            "choose a method that has one, such as mondrian with relaxed: false."
        )
    known, asked = place(recoding, train), place(recoding, test)
    learned = Regions.of(train, recoding, features, classes=known)
    seeds = [seed] if isinstance(seed, int) else list(seed)
    return (
        learned.numbers(train, regions, seed=[*seeds, 0], classes=known),
        learned.numbers(test, regions, seed=[*seeds, 1], classes=asked),
        int(np.count_nonzero(asked < 0)),
    )


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


def deal(labels: NDArray[np.integer] | None, records: int, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each record: as many in each as can be, of every label too.

    >>> fold = deal(np.array([0, 0, 0, 1, 1, 1]), 6, 3, seed=0)
    >>> sorted(fold[:3].tolist()), sorted(fold[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    order = np.random.default_rng(seed).permutation(records)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(records, dtype=np.int64)
    fold[order] = np.arange(records) % folds
    return fold


def _evaluate(
    table: pa.Table,
    policy: Policy,
    task: Classify | Regress,
    compared: Mapping[str, Policy],
    models: Mapping[str, Callable[[int, int], Any]],
    folds: int,
    form: Form,
    seed: int,
    threads: int,
    step: Callable[[], None],
) -> Evaluation:
    """All folds of one target."""
    table, truth, left_out = _with_target(table, task, policy)
    fold = deal(truth if isinstance(task, Classify) else None, len(truth), folds, seed)
    _enough(task, truth, fold, folds)
    features = list(policy.quasi_identifiers if task.features is None else task.features)
    unplaced = dict.fromkeys(compared, 0)
    scores: dict[tuple[str, str, str], list[float]] = {}
    for i in range(folds):
        parts = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
        train, test = (table.take(pa.array(part)) for part in parts)
        original = Original.of(train, _to_train(policy), features)
        numbers = {ORIGINAL: (original.numbers(train), original.numbers(test))}
        for name, other in compared.items():
            try:
                *both, lost = recode(
                    train, test, other, features=features, regions=form, seed=[seed, i], threads=threads
                )
            except InfeasibleError as error:
                raise InfeasibleError(
                    f"Fold {i + 1} of {folds}, with {len(parts[0])} training records: {error}"
                ) from None
            numbers[name] = both[0], both[1]
            unplaced[name] += lost
        for method, (known, asked) in numbers.items():
            for model, make in models.items():
                found = _score(make(seed, threads), task, known, truth[parts[0]], asked, truth[parts[1]])
                for metric, score in found.items():
                    scores.setdefault((model, method, metric), []).append(score)
                step()
    return Evaluation(
        task=task.name,
        target=task.target,
        methods=(ORIGINAL, *compared),
        models=tuple(models),
        scores={key: np.array(by_fold) for key, by_fold in scores.items()},
        records=len(truth),
        left_out=left_out,
        unplaced=unplaced,
        regions=form,
        folds=folds,
        seed=seed,
    )


def _score(
    estimator: Any, task: Classify | Regress, known: Floats, labels: NDArray[Any], asked: Floats, truth: NDArray[Any]
) -> dict[str, float]:
    """Train a model on some records and score it on others."""
    with warnings.catch_warnings():
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


def _tasks(policy: Policy, target: str | None) -> list[Classify | Regress]:
    tasks = [task for task in policy.workload if isinstance(task, Classify | Regress)]
    if not tasks:
        raise PolicyError(
            f"There is nothing to predict; say what with {said('--classify')} or {said('--regress')}, or in the "
            "workload of the policy: '- classify: {target: …}'."
        )
    chosen = [task for task in tasks if target is None or task.target == target]
    if not chosen:
        raise PolicyError(
            f"{target!r} is not a target of the policy; {nearest(str(target), [t.target for t in tasks])}"
        )
    for task in chosen:
        for name in (task.target, *(task.features or ())):
            if name not in policy.columns:
                raise PolicyError(f"{task.describe()}: {name!r} is no column; {nearest(name, policy.columns)}")
        if task.target in policy.quasi_identifiers + policy.identifiers:
            raise PolicyError(
                f"{task.describe()}: the target must be released as it is, and its role is "
                f"{policy.columns[task.target].role.value!r}; make it sensitive, or keep it."
            )
    return chosen


def _models(task: Classify | Regress, names: Sequence[str] | None) -> dict[str, Callable[[int, int], Any]]:
    """The models asked for that fit a task."""
    for name in names or ():
        if name not in MODELS:
            raise InputError(f"{name!r} is not a model; {nearest(name, MODELS)}")
    asked = {name: getattr(MODELS[name], task.name) for name in dict.fromkeys(MODELS if names is None else names)}
    fitting = {name: make for name, make in asked.items() if make is not None}
    if not fitting:
        able = ", ".join(name for name, model in MODELS.items() if getattr(model, task.name) is not None)
        raise InputError(f"No model that is asked for can {task.describe()}; there are {able}.")
    return fitting


def _median(policy: Policy) -> Policy:
    """The same policy by Median Mondrian: no workload to cut for."""
    return policy.but(workload=(), method="mondrian")


def _to_train(policy: Policy) -> Policy:
    """The policy of a table whose identifiers are dropped already, and that nobody gets to see."""
    columns = {name: policy.columns[name] for name in columns_read(tuple(policy.columns), policy)}
    return policy.but(columns=columns, publish="range", order="random")


def _read(source: Source, policy: Policy, rows: int | None, seed: int) -> pa.Table:
    match(source.names, policy, source.label)
    table = source.read(columns_read(source.names, policy), as_text=written_as_text(policy)).combine_chunks()
    if rows is None or rows >= table.num_rows:
        return table
    _least("rows", rows, 1)
    drawn = np.random.default_rng([seed, rows]).permutation(table.num_rows)[:rows]
    return table.take(pa.array(np.sort(drawn)))


def _with_target(table: pa.Table, task: Classify | Regress, policy: Policy) -> tuple[pa.Table, NDArray[Any], int]:
    """The records that have a target, the target as codes or numbers, and how many have none."""
    column = with_one_missing(task.target, table[task.target], policy.missing)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    left_out = int(np.count_nonzero(~there))
    if left_out:
        keep = pa.array(np.flatnonzero(there))
        table, column = table.take(keep), column.take(keep)
    if not len(column):
        raise InputError(f"Column {task.target!r} is missing in every record; there is nothing to predict.")
    codes, domain = counted(task.target, column)
    # The numbers that the recoding is made for: text counts as a number where all of it is.
    return table, domain.numbers[codes] if isinstance(task, Regress) else codes, left_out


def _enough(task: Classify | Regress, truth: NDArray[Any], fold: NDArray[np.int64], folds: int) -> None:
    """Refuse folds in which there is nothing to learn or nothing to score."""
    if len(truth) < 2 * folds:
        raise InputError(f"{folds} folds need at least {2 * folds} records, and there are {len(truth)}; lower folds.")
    if isinstance(task, Regress):
        if not (np.abs(truth) < LARGEST).all():
            raise InputError(
                f"Column {task.target!r} has numbers that are infinite or too large to be squared; divide them by a "
                "power of ten, or list them under 'missing'."
            )
        return
    counts = np.sort(np.bincount(truth))[::-1]
    if len(counts) < 2:
        raise InputError(f"Column {task.target!r} has one label only; there is nothing to predict.")
    for i in range(folds):
        for part in (fold == i, fold != i):
            if len(np.unique(truth[part])) < 2:
                raise InputError(
                    f"Column {task.target!r}: fold {i + 1} of {folds} has one label only, since all labels but the "
                    f"most frequent have {counts[1:].sum()} records together; lower folds."
                )


def _least(name: str, number: int, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {number!r}.")
