"""Top-Down Refinement: the experiments of Fung, Wang, Yu, TKDE 2007, section 5, as far as their summary tells them.

Fig. 1: accuracy against k on Adult, for the original, the refined and the most masked table. Fig. 2: time against
records, Fig. 3: time against the number of sets of quasi-identifiers, on Agrawal's people with money in thousands, in
processor time of one thread, the best of three runs. Fig. 4: what it is compared with, a genetic algorithm and optimal
recodings (:mod:`experiments.refine_baselines`). ``tds`` is what the workload experiments compare with, Top-Down
Specialization as Fung, Wang, Yu have it (ICDE 2005), with the refine of these figures beside it, for their folds and
trials (:mod:`experiments.workload`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from experiments import refine_baselines
from experiments.baselines import Genetic
from experiments.data import RECORDS, people, people_policy, real
from experiments.protocol import (
    ORIGINAL,
    TDR,
    TDS,
    Recoded,
    Scores,
    Spread,
    accuracy,
    fold,
    gather,
    labels,
    original,
    recode,
    spread_over,
    truth,
    with_k,
)
from experiments.real import PROJECTION_K, by_information_gain, exact
from experiments.runs import Keep, Results, Running, keep_nothing, processes
from experiments.synthetic import CLASSIFIERS, FUNCTIONS, VARIED, K
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.generate.agrawal import agrawal
from rothko.methods import Mondrian, Refine
from rothko.policy.policy import Policy
from rothko.workload import Classify

QUASI = ("salary", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
MONEY = ("salary", "hvalue", "loan")
MASKED, BY_GAIN = "most masked", "by InfoGain"
SPECIALISED: dict[str, Any] = {TDS: {"refine": {"criterion": "tds", "reading": "paper"}}, TDR: "refine"}
"""The method of the column, to the letter, and of the one beside it."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """How much is run."""

    data: Path | None = None
    folds: int = 10
    trials: int = 100
    records: int | None = None
    """Of a large real table, drawn at random; all where it is None."""
    ks: tuple[int, ...] = (2, 5, 10, 25, 50, 100, 250, 500, 1_000)
    contraceptives_k: int = 10
    rows: tuple[int, ...] = (125_000, 250_000, 500_000, 1_000_000)
    middle: int = 250_000
    """Records where their number does not vary."""
    sets: tuple[int, ...] = (1, 2, 4, 8)
    k: int = 50
    compared_k: tuple[int, ...] = (10, 25, 50, 100, 250)
    """Of Fig. 4."""
    population: int = 200
    children: int = 5_000
    """Of the genetic algorithm."""

    @classmethod
    def quick(cls, data: Path | None) -> Refinement:
        """Enough to see that everything runs."""
        return cls(
            data, folds=3, trials=2, records=3_000, ks=(5, 10, 100), rows=(4_000, 16_000), middle=4_000, sets=(1, 2),
            compared_k=(10, 100), population=20, children=50,
        )  # fmt: skip


# ── Fig. 1: accuracy


def figure_1(settings: Refinement, spread: Spread) -> dict[str, Any]:
    """Accuracy against k; k = 1 stands for the original records."""
    tasks = [
        (settings.data, settings.records, settings.folds, i, k)
        for i in range(settings.folds)
        for k in (1, *settings.ks)
    ]
    return gather(spread(classify_income, tasks))


def classify_income(folder: Path, rows: int | None, folds: int, i: int, k: int) -> Scores:
    """One fold of Adult for one k; what is most frequent is all that the most masked table tells."""
    data = real("income", folder, rows)
    one, other = fold(data, i, folds)
    train, test = data.table.take(pa.array(one)), data.table.take(pa.array(other))
    target = truth(data)
    known, wanted = target[one], target[other]
    if k == 1:
        seen = original(train, test, data.policy)
        found = {(m, ORIGINAL, "1"): _accuracy(m, seen, known, wanted) for m in ("tree", "bayes")}
        return found | {
            (m, MASKED, "1"): float(np.mean(wanted == np.argmax(np.bincount(known)))) for m in ("tree", "bayes")
        }
    policy = with_k(data.policy, k)
    seen = recode(train, test, policy.but(method="refine"))
    found = {(model, TDS, str(k)): _accuracy(model, seen, known, wanted) for model in ("tree", "bayes", "forest")}
    by_gain = recode(train, test, policy.but(method={"refine": {"criterion": "infogain"}}))
    found["tree", BY_GAIN, str(k)] = _accuracy("tree", by_gain, known, wanted)
    return found


def _accuracy(model: str, seen: Recoded, known: Any, wanted: Any) -> float:
    return accuracy(model, seen.train, known, seen.test, wanted)


# ── Figs. 2 and 3: time


def figure_2(settings: Refinement, _: Spread) -> dict[str, Any]:
    """Seconds against records, for refine with and without a class label, and for Median Mondrian."""
    found: dict[str, dict[str, float]] = {"refine": {}, "refine, no label": {}, "mondrian": {}}
    for rows in settings.rows:
        encoded, policy = _people(rows, settings.k)
        found["refine"][str(rows)] = _seconds(encoded, policy, Refine())
        found["refine, no label"][str(rows)] = _seconds(encoded, policy.but(workload=()), Refine())
        found["mondrian"][str(rows)] = _seconds(encoded, policy.but(workload=()), Mondrian())
    return found


def figure_3(settings: Refinement, _: Spread) -> dict[str, Any]:
    """Seconds against the number of sets, of four neighbouring quasi-identifiers each."""
    encoded, policy = _people(settings.middle, settings.k)
    found = {}
    for count in settings.sets:
        sets = [[QUASI[(2 * s + i) % len(QUASI)] for i in range(4)] for s in range(count)]
        if count > 4:  # beyond four, neighbours that begin in between
            sets = [[QUASI[(s + i) % len(QUASI)] for i in range(4)] for s in range(count)]
        asked = policy.but(privacy=[{"k-anonymity": {"k": settings.k, "over": over}} for over in sets])
        found[str(count)] = _seconds(encoded, asked, Refine())
    return {"refine": found}


def _people(rows: int, k: int) -> tuple[Encoded, Policy]:
    table = agrawal(rows, seed=1)
    for name in MONEY:
        rounded = (table[name].to_numpy() // 1000 * 1000).astype(np.int64)
        table = table.set_column(table.column_names.index(name), name, pa.array(rounded))
    columns = {name: {"role": "quasi-identifier" if name in QUASI else "keep"} for name in table.column_names}
    policy = Policy(columns=columns, privacy=[{"k-anonymity": {"k": k}}], workload=[Classify("class")])
    return encode(typed(table, policy), policy), policy


def _seconds(encoded: Encoded, policy: Policy, method: Refine | Mondrian) -> float:
    """Of the processor, the best of three: the machine may have other things to do."""
    times = []
    for _ in range(4):
        begun = time.process_time()
        method.partition(encoded, policy.privacy, workload=policy.workload, threads=1)
        times.append(time.process_time() - begun)
    return round(min(times[1:]), 4)


# ── Fig. 4: what it is compared with


def figure_4(settings: Refinement, spread: Spread) -> dict[str, Any]:
    """Accuracy and time against k, beside a genetic algorithm and optimal full-domain recodings."""
    much = Genetic(settings.population, settings.children)
    tasks = [(settings.data, settings.folds, i, settings.compared_k, much) for i in range(settings.folds)]
    return gather(spread(refine_baselines.compare, tasks))


# ── the column of the workload experiments


def tds(settings: Refinement, spread: Spread) -> dict[str, Any]:
    """Top-Down Specialization in Figs. 6, 7 and 13 of the workload experiments."""
    synthetic = [(trial, function) for trial in range(settings.trials) for function in FUNCTIONS]
    found: dict[str, Any] = {"6": {"accuracy": gather(spread(classify_people, synthetic))}}
    if settings.data is not None:
        folds = [(settings.data, settings.folds, i, settings.contraceptives_k) for i in range(settings.folds)]
        parts = [(settings.data, settings.records, settings.folds, i) for i in range(settings.folds)]
        incomes = [(*part, k) for part in parts for k in settings.ks]
        found["7"] = {
            "contraceptives": {"accuracy": gather(spread(classify_contraceptives, folds))},
            "income": {"accuracy": gather(spread(specialise_income, incomes))},
        }
        projected = gather(spread(project, parts))
        found["13"] = {"exact": projected.pop("exact"), "projection": projected}
    return found


def classify_people(trial: int, function: int) -> Scores:
    """One training and one test table of one function."""
    table, target = people(trial, [function], varied=VARIED), f"c{function}"
    train, test = table.slice(0, RECORDS), table.slice(RECORDS)
    policy = people_policy(table, k=K, workload=[Classify(target)])
    known, wanted = labels(table, target)[:RECORDS], labels(table, target)[RECORDS:]
    found: Scores = {}
    for name, method in SPECIALISED.items():
        seen = recode(train, test, policy.but(method=method))
        found |= {(model, name, str(function)): _accuracy(model, seen, known, wanted) for model in CLASSIFIERS}
    return found


def specialise_income(folder: Path, rows: int | None, folds: int, i: int, k: int) -> Scores:
    """One fold of Adult for one k, to the letter; what stands beside it is in Fig. 1."""
    data = real("income", folder, rows)
    one, other = fold(data, i, folds)
    target = truth(data)
    policy = with_k(data.policy, k).but(method=SPECIALISED[TDS])
    seen = recode(data.table.take(pa.array(one)), data.table.take(pa.array(other)), policy)
    return {(m, TDS, str(k)): _accuracy(m, seen, target[one], target[other]) for m in ("tree", "bayes", "forest")}


def classify_contraceptives(folder: Path, folds: int, i: int, k: int) -> Scores:
    """One fold of Contraceptives."""
    data = real("contraceptives", folder)
    one, other = fold(data, i, folds)
    target = truth(data)
    train, test = data.table.take(pa.array(one)), data.table.take(pa.array(other))
    found: Scores = {}
    for name, method in SPECIALISED.items():
        seen = recode(train, test, with_k(data.policy, k).but(method=method))
        for model in ("tree", "bayes", "forest"):
            found[model, name, str(k)] = _accuracy(model, seen, target[one], target[other])
    return found


def project(folder: Path, rows: int | None, folds: int, i: int) -> Scores:
    """One fold of Adult: attributes are left out from the most predictive on."""
    data = real("income", folder, rows)
    one, other = fold(data, i, folds)
    train, test = data.table.take(pa.array(one)), data.table.take(pa.array(other))
    target = truth(data)
    ranked = by_information_gain(original(train, test, data.policy).train, target[one])
    found: Scores = {}
    for name, method in SPECIALISED.items():
        seen = recode(train, test, with_k(data.policy, PROJECTION_K).but(method=method))
        if name == TDS:
            found["exact", TDS, str(PROJECTION_K)] = exact(seen)
        for dropped in range(len(ranked)):
            columns = [2 * at + j for at in sorted(ranked[dropped:]) for j in range(2)]
            found["tree", name, str(dropped)] = accuracy(
                "tree", seen.train[:, columns], target[one], seen.test[:, columns], target[other]
            )
    return found


def with_tds(results: Mapping[str, Any], refined: Mapping[str, Any]) -> dict[str, Any]:
    """Results of the workload experiments with the column of Top-Down Specialization, where it was run.

    What Fig. 1 has by that name is refine as it is, which stands beside.
    """
    figures = dict(results["figures"])
    columns = dict(refined["figures"].get("tds", {}))
    if "1" in refined["figures"]:
        accuracies = {m: {TDR: by[TDS]} for m, by in refined["figures"]["1"].items() if TDS in by}
        columns["7"] = _merged(columns.get("7", {}), {"income": {"accuracy": accuracies}})
    for number, column in columns.items():
        if number in figures:
            figures[number] = _merged(figures[number], column)
    return {**results, "figures": figures}


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for name, below in other.items():
        both = isinstance(below, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], below) if both else below
    return merged


FIGURES: dict[str, tuple[str, Callable[[Refinement, Spread], dict[str, Any]]]] = {
    "1": ("accuracy against k", figure_1),
    "2": ("time, records", figure_2),
    "3": ("time, sets", figure_3),
    "4": ("genetic algorithm, optimal search", figure_4),
    "tds": ("column of the workload figures", tds),
}
NEED_DATA = {"1", "4"}


def run(
    settings: Refinement, figures: Iterable[str] = FIGURES, *, workers: int = 0, keep: Keep = keep_nothing
) -> Results:
    """Run figures; the results are plain data. ``keep`` is called with what there is after each figure."""
    runs = Running(settings, keep)
    with processes(workers) as pool:
        for number in figures:
            title, figure = FIGURES[number]
            runs.figure(
                number,
                f"Fig. {number:<3} {title}",
                lambda show, figure=figure: figure(settings, spread_over(pool, show)),
                needs_data=number in NEED_DATA,
            )
    return runs.results
