"""The experiments on synthetic people: Figs. 6, 10 and 12, and Fig. 9 with the generator's regression targets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.data import RECORDS, Target, people, people_policy
from experiments.protocol import (
    GUIDED,
    MEDIAN,
    ORIGINAL,
    Scores,
    Settings,
    Spread,
    accuracy,
    compared,
    gather,
    labels,
    mean_error,
    original,
    recode,
)
from rothko.data.encode import encode
from rothko.data.typed import typed
from rothko.generate.agrawal import CONSTANTS, AgeGroups
from rothko.learn.regions import as_numbers
from rothko.metrics.queries import imprecision, overlapping, satisfying
from rothko.policy.policy import Policy
from rothko.workload import Classify, Regress, Select
from rothko.workload.boxes import boxes

K = 25

# ── Fig. 6: classifiers

FUNCTIONS = (2, 4, 5, 6, 7, 9)
VARIED = (2, 4, 6)
CLASSIFIERS = ("tree", "bayes", "forest", "svm")


def figure_6(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Accuracy of four classifiers for six functions (section 4.4)."""
    tasks = [(trial, function) for trial in range(settings.trials) for function in FUNCTIONS]
    return {"k": K, "accuracy": gather(spread(classify_people, tasks))}


def classify_people(trial: int, function: int, k: int = K, models: Sequence[str] = CLASSIFIERS) -> Scores:
    """One training and one test table of one function."""
    table, target = people(trial, [function], varied=VARIED), f"c{function}"
    train, test = table.slice(0, RECORDS), table.slice(RECORDS)
    policy = people_policy(table, k=k, workload=[Classify(target)])
    known, wanted = labels(table, target)[:RECORDS], labels(table, target)[RECORDS:]
    return {
        (model, method, str(function)): accuracy(model, seen.train, known, seen.test, wanted)
        for method, seen in {ORIGINAL: original(train, test, policy), **compared(train, test, policy)}.items()
        for model in models
    }


def edges(settings: Settings, spread: Spread) -> dict[str, Any]:
    """The same with the corners of φ's own regions (section 4.2) in place of those of the smallest boxes."""
    tasks = [(trial, function) for trial in range(settings.trials) for function in FUNCTIONS]
    return {"k": K, "accuracy": gather(spread(classify_by_edges, tasks))}


def classify_by_edges(trial: int, function: int, models: Sequence[str] = ("tree", "bayes", "svm")) -> Scores:
    """The release for one function, of the tables of :func:`classify_people`."""
    table, target = people(trial, [function], varied=VARIED), f"c{function}"
    policy = people_policy(table, k=K, workload=[Classify(target)])
    known, wanted = labels(table, target)[:RECORDS], labels(table, target)[RECORDS:]
    seen = recode(table.slice(0, RECORDS), table.slice(RECORDS), policy, "edges")
    return {(model, GUIDED, str(function)): accuracy(model, seen.train, known, seen.test, wanted) for model in models}


def letter(settings: Settings, spread: Spread) -> dict[str, Any]:
    """The same with InfoGain to the letter: until no cut is allowable, where the figure goes on with the median."""
    tasks = [(trial, function) for trial in range(settings.trials) for function in FUNCTIONS]
    return {"k": K, **gather(spread(classify_by_the_letter, tasks))}


def classify_by_the_letter(trial: int, function: int, models: Sequence[str] = ("tree", "bayes")) -> Scores:
    """The release for one function, of the tables of :func:`classify_people`; and how many classes either has."""
    table, target = people(trial, [function], varied=VARIED), f"c{function}"
    train, test = table.slice(0, RECORDS), table.slice(RECORDS)
    policy = people_policy(table, k=K, workload=[Classify(target)])
    known, wanted = labels(table, target)[:RECORDS], labels(table, target)[RECORDS:]
    seen = recode(train, test, policy.but(method={"mondrian": {"reading": "paper"}}))
    found: Scores = {
        ("accuracy", model, GUIDED, str(function)): accuracy(model, seen.train, known, seen.test, wanted)
        for model in models
    }
    for name, made in {"to the end": seen, "switch": recode(train, test, policy)}.items():
        found["classes", name, str(function)] = float(made.classes.max() + 1)
    return found


# ── Fig. 9, synthetic: regression

TARGETS: tuple[Target, ...] = ("R7", "R10")
SYNTHETIC_K = (2, 5, 10, 25, 50, 100)


def regression(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Error of regression models for two targets that the paper uses in section 6, against k."""
    ks = settings.some(SYNTHETIC_K)
    tasks = [(trial, target, ks) for trial in range(settings.trials) for target in TARGETS]
    return gather(spread(regress_people, tasks))


def regress_people(trial: int, target: Target, ks: Sequence[int]) -> Scores:
    """One training and one test table of one target; the paths end with k, 1 for the original."""
    table = people(trial, [], target=target)
    train, test = table.slice(0, RECORDS), table.slice(RECORDS)
    numbers = as_numbers(table["target"].combine_chunks())
    policy = people_policy(table, k=2, workload=[Regress("target")])
    seen = {(ORIGINAL, "1"): original(train, test, policy)}
    for k in ks:
        releases = compared(train, test, people_policy(table, k=k, workload=[Regress("target")]))
        seen |= {(method, str(k)): release for method, release in releases.items()}
    return {
        (target, model, *path): mean_error(model, one.train, numbers[:RECORDS], one.test, numbers[RECORDS:])
        for path, one in seen.items()
        for model in ("tree", "linear")
    }


# ── Fig. 10: several targets

SEVEN = (2, 3, 4, 5, 6, 7, 9)
SEVEN_VARIED = (2, 3, 4, 5, 6)


def figure_10(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Accuracy for each of seven targets when a release is made for the first, the first two … (section 4.5).

    The paths end with how many targets the release was made for, and with the place of the one that is predicted, both
    from 1; each is the mean over the permutations of the functions, which are the same in every trial.
    """
    random = np.random.default_rng(10)
    orders = [tuple(random.permutation(SEVEN).tolist()) for _ in range(settings.permutations)]
    tasks = [(trial, orders) for trial in range(settings.trials)]
    return {"k": K, "permutations": len(orders), "accuracy": gather(spread(many_targets, tasks))}


def many_targets(trial: int, orders: Sequence[Sequence[int]], models: Sequence[str] = ("tree", "bayes")) -> Scores:
    """One training and one test table; releases for the same targets in another order are made once."""
    table = people(trial, SEVEN, varied=SEVEN_VARIED)
    train, test = table.slice(0, RECORDS), table.slice(RECORDS)
    labelled = {function: labels(table, f"c{function}") for function in SEVEN}
    by_set: dict[frozenset[int], dict[tuple[str, int], float]] = {}
    for chosen in sorted({frozenset(order[:n]) for order in orders for n in range(1, 8)}, key=sorted):
        tasks = [Classify(f"c{function}") for function in sorted(chosen)]
        seen = recode(train, test, people_policy(table, k=K, workload=tasks))
        by_set[chosen] = {
            (model, function): accuracy(model, seen.train, of[:RECORDS], seen.test, of[RECORDS:])
            for function, of in labelled.items()
            for model in models
        }
    return {
        (model, str(n), str(place)): float(
            np.mean([by_set[frozenset(order[:n])][model, order[place - 1]] for order in orders])
        )
        for model in models
        for n in range(1, 8)
        for place in range(1, 8)
    }


# ── Fig. 12: a selection

SELECTION_K = (2, 5, 10, 25, 50, 100)
RESTRICTED, SELECTION = "median of age and salary", "selection"


def queries() -> list[str]:
    """Function C2 as three boxes, one for each group of ages."""
    constants = CONSTANTS[2]
    assert isinstance(constants, AgeGroups)
    edges = (0, *constants.ages, 200)
    return [
        f"age >= {first} and age < {after} and salary between {low} and {high}"
        for (first, after), (low, high) in zip(pairwise(edges), constants.income, strict=True)
    ]


def figure_12(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Imprecision of C2 as a selection, against k (section 4.7).

    ``boxes`` asks the smallest boxes around the records, which a release publishes as ranges; ``regions`` asks the
    regions of φ, which are larger: they reach from one cut to the next.
    """
    ks = settings.some(SELECTION_K)
    return gather(spread(select_people, [(trial, ks) for trial in range(settings.trials)]))


def select_people(trial: int, ks: Sequence[int]) -> Scores:
    """One table of 1,000 records: how many too many the three boxes return together."""
    table = people(trial, [], n=RECORDS)
    every = people_policy(table, k=2)
    two = Policy.quick(table.column_names, qi=("salary", "age"), keep_rest=True, k=2)
    tasks = tuple(Select(where) for where in queries())
    methods = {MEDIAN: (every, ()), RESTRICTED: (two, ()), SELECTION: (every, tasks)}
    whole = Select(" or ".join(f"({where})" for where in queries())).predicate
    found: Scores = {}
    for name, (policy, workload) in methods.items():
        encoded = encode(typed(table, policy), policy)
        low, high = boxes(whole, encoded.lines)
        records = satisfying(encoded.codes, [line.size for line in encoded.lines], low, high)
        for k in ks:
            privacy = people_policy(table, k=k).privacy
            classes = policy.method.partition(encoded, privacy, workload=workload, threads=1)
            for shown, ends in {"boxes": (classes.low, classes.high), "regions": classes.regions()}.items():
                overlaps = overlapping(*ends, low, high)
                found[shown, name, str(k)] = float(imprecision(classes.sizes, overlaps, int(records.sum())))
    return found
