"""Model evaluation: what a model that learns from a release is worth.

For every fold of a cross-validation the records are divided into a training and a test part. There are two protocols:

``regions``  (LeFevre et al. 2008, section 4.1) φ is learned from the training part alone, and gives its regions; the
             same φ gives those of the test part; the model is trained on the ones and scored on the others. So it goes
             where new records come by the same φ.
``release``  the training part is released, by any method; the model is trained on the rows of the release and scored on
             the exact records of the test part. So it goes where a recipient knows whom to predict.

How a model is shown labels and ranges is told in :mod:`rothko.learn.encoding`.

Models that train on the original records, on the release and on that of another policy see the same folds, so their
scores are compared fold by fold, with a paired t-test. The folds of a cross-validation share records, which makes that
test a little too sure of itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Unpack, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from rothko.data.domain import Domain
from rothko.data.encode import counted
from rothko.data.line import as_text
from rothko.data.schema import columns_read, match, written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.typed import with_one_missing
from rothko.engines.options import Memory
from rothko.errors import InfeasibleError, InputError, PolicyError, nearest
from rothko.flow import in_memory
from rothko.learn.encoding import Encoding, Floats, View, Way
from rothko.learn.models import MODELS, Make
from rothko.learn.recipient import Released
from rothko.learn.regions import Form, Original, Regions, known_form, place
from rothko.methods.cluster.cluster import Cluster
from rothko.mistakes import said
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.decided import method_for
from rothko.policy.policy import Policy
from rothko.policy.words import Words, takes
from rothko.progress import Progress, count_threads, silent
from rothko.release.recoding.recoding import Recoding
from rothko.workload import Classify, Regress
from rothko.workload.tasks import models as predicting

ORIGINAL = "original"
Protocol = Literal["regions", "release"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

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


@takes(Words)
def evaluate(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    models: Sequence[str] | None = None,
    folds: int = 10,
    protocol: Protocol | None = None,
    regions: Form | None = None,
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
    protocol
        ``regions``: train and test on the regions of a recoding. ``release``: train on the release, test on exact
        records; every method can. By default regions where all that is compared has a recoding, else release.
    regions
        How ranges become numbers: see :mod:`rothko.learn.regions`. By default corners for regions, and midpoint where
        exact records are tested, which have no corners.
    target
        One of the policy's targets; all by default.
    methods
        Name → policy, to be compared; by default the policy as ``release``, and the same without its workload: by
        Median Mondrian as ``median``, or for cluster by itself as ``plain``.
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
    chosen_form = None if regions is None else known_form(regions)
    protocol, threads = known_protocol(protocol), count_threads(threads)
    _least("folds", folds, 2)
    tasks = _tasks(policy, target)
    chosen = {id(task): _models(task, models) for task in tasks}
    compared = _compared(policy, protocol) if methods is None else dict(methods)
    compared = {name: _to_train(_with_method(other, protocol)) for name, other in compared.items()}
    if protocol is None:
        protocol = "regions" if all(other.method.recodes for other in compared.values()) else "release"
    form = _form(protocol, chosen_form)
    table = _read(asked.source, policy, rows, seed)
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
            _evaluate(table, policy, task, compared, chosen[id(task)], folds, protocol, form, seed, threads, step)
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
    recoding = _recoding(train, policy, threads)
    known, asked = place(recoding, train), place(recoding, test)
    learned = Regions.of(train, recoding, features, classes=known)
    seeds = [seed] if isinstance(seed, int) else list(seed)
    return (
        learned.numbers(train, regions, seed=[*seeds, 0], classes=known),
        learned.numbers(test, regions, seed=[*seeds, 1], classes=asked),
        int(np.count_nonzero(asked < 0)),
    )


class _Parts(NamedTuple):
    """What a model is shown of a training and a test part."""

    train: View
    test: View
    target: NDArray[Any]
    """That of the training part."""
    unknown: int
    """Test records that nothing like them was there for in training."""


@dataclass(frozen=True, slots=True)
class _Fold:
    """One fold of a cross-validation."""

    train: pa.Table
    test: pa.Table
    task: Classify | Regress
    target: NDArray[Any]
    """That of the training part."""
    domain: Domain
    """The values of the target."""
    features: list[str]
    form: Form
    seeds: tuple[int, ...]
    threads: int

    def original(self, policy: Policy) -> _Parts:
        """Exact records in both parts."""
        known = Original.of(self.train, policy, self.features)
        return _Parts(known.view(self.train)[0], *self._tested(known, corners=False))

    def by_regions(self, policy: Policy) -> _Parts:
        """The regions of one recoding in both parts."""
        recoding = _recoding(self.train, policy, self.threads)
        known, asked = place(recoding, self.train), place(recoding, self.test)
        learned = Regions.of(self.train, recoding, self.features, classes=known)
        train = learned.view(self.train, self.form, seed=[*self.seeds, 0], classes=known)
        test = learned.view(self.test, self.form, seed=[*self.seeds, 1], classes=asked)
        return _Parts(train, test, self.target, int(np.count_nonzero(asked < 0)))

    def by_release(self, policy: Policy) -> _Parts:
        """The rows of a release, and exact records."""
        release = in_memory(open_source(self.train), policy, threads=self.threads, recoding=False)
        known = Original.of(self.train, policy, self.features)
        rows = release.arrow
        train = Released(known, self.form).view(rows, seed=[*self.seeds, 0])
        tested, _, unknown = self._tested(known, corners=self.form == "corners")
        return _Parts(train, tested, self._read(rows[self.task.target], policy), unknown)

    def _tested(self, known: Original, *, corners: bool) -> tuple[View, NDArray[Any], int]:
        test, unknown = known.view(self.test, corners=corners)
        return test, self.target, unknown

    def _read(self, column: pa.ChunkedArray, policy: Policy) -> NDArray[Any]:
        """The target as it stands in a release."""
        codes, own = counted(self.task.target, with_one_missing(self.task.target, column, policy.missing))
        at = pc.index_in(as_text(own.values), value_set=self.domain.texts).to_numpy(zero_copy_only=False)
        return _as_truth(self.task, np.asarray(at[codes], dtype=np.int64), self.domain)


def _recoding(train: pa.Table, policy: Policy, threads: int) -> Recoding:
    """φ, learned from the training part."""
    recoding = in_memory(open_source(train), policy, threads=threads).recoding
    if recoding is None:
        raise PolicyError(
            f"{policy.method.name} with these options has no recoding, and test records cannot be placed; train on "
            f"the release and test on exact records ({said('--protocol', 'release')}), or choose a method that has "
            "one, such as mondrian with relaxed: false."
        )
    return recoding


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
    models: Mapping[str, tuple[Make, Way]],
    folds: int,
    protocol: Protocol,
    form: Form,
    seed: int,
    threads: int,
    step: Callable[[], None],
) -> Evaluation:
    """All folds of one target."""
    table, truth, domain, left_out = _with_target(table, task, policy)
    fold = deal(truth if isinstance(task, Classify) else None, len(truth), folds, seed)
    _enough(task, truth, fold, folds)
    features = list(policy.quasi_identifiers if task.features is None else task.features)
    unplaced = dict.fromkeys(compared, 0)
    scores: dict[tuple[str, str, str], list[float]] = {}
    for i in range(folds):
        parts = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
        train, test = (table.take(pa.array(part)) for part in parts)
        one = _Fold(train, test, task, truth[parts[0]], domain, features, form, (seed, i), threads)
        shown = {ORIGINAL: one.original(_to_train(policy))}
        for name, other in compared.items():
            try:
                shown[name] = one.by_regions(other) if protocol == "regions" else one.by_release(other)
            except InfeasibleError as error:
                raise InfeasibleError(
                    f"Fold {i + 1} of {folds}, with {len(parts[0])} training records: {error}"
                ) from None
            unplaced[name] += shown[name].unknown
        for method, seen in shown.items():
            numbers: dict[Way, tuple[Floats, Floats]] = {}
            for model, (make, way) in models.items():
                if way not in numbers:
                    encoding = Encoding.learned(seen.train, seen.target, way, labels=isinstance(task, Classify))
                    numbers[way] = encoding.numbers(seen.train), encoding.numbers(seen.test)
                known, asked = numbers[way]
                found = _score(make(seed, threads), task, known, seen.target, asked, truth[parts[1]], threads)
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
        protocol=protocol,
        regions=form,
        folds=folds,
        seed=seed,
    )


def _score(
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


def _models(task: Classify | Regress, names: Sequence[str] | None) -> dict[str, tuple[Make, Way]]:
    """The models asked for that fit a task, and how they are shown labels."""
    for name in names or ():
        if name not in MODELS:
            raise InputError(f"{name!r} is not a model; {nearest(name, MODELS)}")
    asked = {name: MODELS[name] for name in dict.fromkeys(MODELS if names is None else names)}
    made = {name: (getattr(model, task.name), model.labels) for name, model in asked.items()}
    fitting = {name: (make, way) for name, (make, way) in made.items() if make is not None}
    if not fitting:
        able = ", ".join(name for name, model in MODELS.items() if getattr(model, task.name) is not None)
        raise InputError(f"No model that is asked for can {task.describe()}; there are {able}.")
    return fitting


def known_protocol(protocol: str | None) -> Protocol | None:
    """One of the protocols, or an error that names them."""
    for known in PROTOCOLS:
        if protocol == known:
            return known
    if protocol is None:
        return None
    raise InputError(f"{protocol!r} is not a protocol; {nearest(str(protocol), PROTOCOLS)}")


def _form(protocol: Protocol, form: Form | None) -> Form:
    """How ranges become numbers, where it is not said: exact records have no corners."""
    if form == "mean" and protocol == "release":
        raise InputError(
            "regions as mean needs the means of regions, which a recipient of ranges does not have; with protocol "
            "release choose midpoint, corners or sample."
        )
    return form or ("corners" if protocol == "regions" else "midpoint")


def _compared(policy: Policy, protocol: Protocol | None) -> dict[str, Policy]:
    """The policy, and the same with no workload to make classes for: by Median Mondrian, or by cluster itself."""
    method = _with_method(policy, protocol).method
    if isinstance(method, Cluster):
        others = [task for task in policy.workload if task not in predicting(policy.workload)]
        return {"release": policy, "plain": policy.but(workload=others, method=method)}
    return {"release": policy, "median": policy.but(workload=(), method="mondrian")}


def _with_method(policy: Policy, protocol: Protocol | None) -> Policy:
    """The policy with a method in place of ``auto``; the tasks that it makes no classes for are left to the models."""
    method = method_for(policy, Memory.name, recoding=protocol == "regions")
    return policy.but(method=method, workload=[task for task in policy.workload if isinstance(task, method.takes)])


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


def _with_target(
    table: pa.Table, task: Classify | Regress, policy: Policy
) -> tuple[pa.Table, NDArray[Any], Domain, int]:
    """The records that have a target, the target as codes or numbers, its values, and how many records have none."""
    column = with_one_missing(task.target, table[task.target], policy.missing)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    left_out = int(np.count_nonzero(~there))
    if left_out:
        keep = pa.array(np.flatnonzero(there))
        table, column = table.take(keep), column.take(keep)
    if not len(column):
        raise InputError(f"Column {task.target!r} is missing in every record; there is nothing to predict.")
    codes, domain = counted(task.target, column)
    return table, _as_truth(task, codes, domain), domain, left_out


def _as_truth(task: Classify | Regress, codes: NDArray[np.integer], domain: Domain) -> NDArray[Any]:
    """Codes of labels, or the numbers that classes are made for: text counts as a number where all of it is."""
    return domain.numbers[codes] if isinstance(task, Regress) else codes


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
