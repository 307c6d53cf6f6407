"""Fig. 4 of :mod:`experiments.refine`: Top-Down Refinement beside a genetic algorithm and optimal recodings, on Adult.

The eight quasi-identifiers of Iyengar, KDD 2002, and records without missing values, as in the literature. All methods
recode one column at a time, and models see all of them alike: the first and the last code of what a record shows.
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as csv

from experiments.baselines import METRICS, Counted, Genetic, Recoding, evolve, grouped, levels_of, optimal
from experiments.protocol import TDS, Scores, accuracy, with_k
from rothko.data.encode import Encoded, encode
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.typed import typed
from rothko.learn.folds import deal
from rothko.methods import Refine
from rothko.policy.policy import Policy

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
TARGET = "salary-class"
GENETIC = "genetic"
MODELS = ("tree", "bayes")


@lru_cache(maxsize=1)
def adult(folder: Path) -> tuple[Encoded, Policy, list[list[Any]]]:
    """Adult without records that have missing values, and the levels of each column; those of age are years by tens."""
    table = csv.read_csv(folder / "adult/adult_arx.csv").select([*QUASI, TARGET])
    files = {name: folder / f"adult/hierarchies/adult_hierarchy_{name}.csv" for name in QUASI}
    trees = {name: str(file) for name, file in files.items() if name != "age"}
    policy = Policy.quick(table.column_names, qi=QUASI, keep=TARGET, k=2, hierarchies=trees, classify=TARGET)
    encoded = encode(typed(table, policy), policy)
    levels = []
    for line in encoded.lines:
        tree = line.tree or Hierarchy.from_csv(files[line.name]).restrict(line.texts, column=line.name, missing=False)
        levels.append(levels_of(tree))
    return encoded, policy, levels


def compare(folder: Path, folds: int, i: int, ks: tuple[int, ...], much: Genetic) -> Scores:
    """One fold: accuracy for each k, and seconds of the processor from codes to a recoding."""
    encoded, policy, levels = adult(folder)
    target = encoded.targets[TARGET].codes
    of = deal(target, len(target), folds, seed=0)
    one, other = np.flatnonzero(of != i), np.flatnonzero(of == i)
    train = encoded.take(one)
    made: dict[tuple[str, int], Recoding] = {}
    found: Scores = {}
    for k in ks:
        begun = time.process_time()
        classes = Refine().partition(train, with_k(policy, k).privacy, workload=policy.workload)
        found["seconds", TDS, str(k)] = time.process_time() - begun
        made[TDS, k] = tuple(parts.of_code.astype(np.int64) for parts in classes.parts)
        begun = time.process_time()
        records = Counted.of(train.codes, target[one])
        made[GENETIC, k] = evolve(records, encoded.lines, k, np.random.default_rng([i, k]), much)
        found["seconds", GENETIC, str(k)] = time.process_time() - begun
    made |= optimal(Counted.of(train.codes, target[one]), levels, ks)
    for (method, k), recoding in made.items():
        place = grouped(train.codes, recoding)
        kept = np.bincount(place)[place] >= k
        found["suppressed", method, str(k)] = float(1 - kept.mean())
        seen, asked = (corners(some, recoding) for some in (train.codes[:, kept], encoded.codes[:, other]))
        for model in MODELS:
            found["accuracy", model, method, str(k)] = accuracy(model, seen, target[one][kept], asked, target[other])
    return found


def corners(codes: Any, recoding: Recoding) -> Any:
    """The first and the last code of what each record shows, two numbers per column."""
    columns = []
    for line, parts in zip(codes, recoding, strict=True):
        places = np.arange(len(parts))
        low, high = np.full(parts.max() + 1, len(parts)), np.zeros(parts.max() + 1)
        np.minimum.at(low, parts, places)
        np.maximum.at(high, parts, places)
        columns += [low[parts[line]], high[parts[line]]]
    return np.column_stack(columns).astype(np.float64)


METHODS = (TDS, GENETIC, *METRICS)
