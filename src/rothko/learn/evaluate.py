"""Model evaluation: what a model that learns from a release is worth.

For every fold of a cross-validation the records are divided into a training and a test part. There are two protocols:

``regions``  (LeFevre et al. 2008, section 4.1) φ is learned from the training part alone, and gives its regions; the
             same φ gives those of the test part; the model is trained on the ones and scored on the others. So it goes
             where new records come by the same φ.
``release``  the training part is released, by any method; the model is trained on the rows of the release and scored on
             the exact records of the test part. So it goes where a recipient knows whom to predict.

How a model is shown labels and ranges is told in :mod:`rothko.learn.encoding`.

The parts of a fold and what a model is shown of them are in :mod:`rothko.learn.folds`, scores and how they compare in
:mod:`rothko.learn.scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pyarrow as pa

from rothko.data.schema import columns_read, match, written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.engines.options import Memory
from rothko.errors import InfeasibleError, InputError, PolicyError, nearest
from rothko.learn.encoding import Encoding, Floats, Way
from rothko.learn.folds import Fold, check_enough, deal, learned_recoding, with_target
from rothko.learn.models import MODELS, Make
from rothko.learn.regions import Form, Regions, known_form, place
from rothko.learn.scores import Evaluation, score_model
from rothko.methods.cluster.cluster import Cluster
from rothko.mistakes import said
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.decided import method_for
from rothko.policy.policy import Policy
from rothko.policy.words import Words, takes
from rothko.progress import Progress, count_threads, silent
from rothko.workload import Classify, Regress
from rothko.workload.tasks import models as predicting

ORIGINAL = "original"
Protocol = Literal["regions", "release"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


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
    recoding = learned_recoding(train, policy, threads)
    known, asked = place(recoding, train), place(recoding, test)
    learned = Regions.of(train, recoding, features, classes=known)
    seeds = [seed] if isinstance(seed, int) else list(seed)
    return (
        learned.numbers(train, regions, seed=[*seeds, 0], classes=known),
        learned.numbers(test, regions, seed=[*seeds, 1], classes=asked),
        int(np.count_nonzero(asked < 0)),
    )


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
    table, truth, domain, left_out = with_target(table, task, policy)
    fold = deal(truth if isinstance(task, Classify) else None, len(truth), folds, seed)
    check_enough(task, truth, fold, folds)
    features = list(policy.quasi_identifiers if task.features is None else task.features)
    unplaced = dict.fromkeys(compared, 0)
    scores: dict[tuple[str, str, str], list[float]] = {}
    for i in range(folds):
        parts = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
        train, test = (table.take(pa.array(part)) for part in parts)
        one = Fold(train, test, task, truth[parts[0]], domain, features, form, (seed, i), threads)
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
                found = score_model(make(seed, threads), task, known, seen.target, asked, truth[parts[1]], threads)
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
    if form in ("mean", "edges") and protocol == "release":
        what = "the means of regions" if form == "mean" else "the cuts of the recoding"
        raise InputError(
            f"regions as {form} needs {what}, which a recipient of ranges does not have; with protocol "
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


def _least(name: str, number: int, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {number!r}.")
