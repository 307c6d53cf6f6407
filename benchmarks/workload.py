"""What a workload costs: cuts for a model against scikit-learn's decision tree on the same columns, and a whole release
for a model against one by the median.

Both trees are grown to leaves of at least 50 records; ours from the columns to the classes, with ranking the values.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.foundation import QUASI
from benchmarks.timing import Case, report, side_by_side
from rothko.data.encode import encode
from rothko.data.typed import typed
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal
from rothko.methods import Mondrian
from rothko.policy.policy import Policy
from rothko.progress import count_threads
from rothko.workload import Classify, Regress, Select, Task


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    n = 100_000 if quick else 1_000_000
    labelled = agrawal(n, function=2, noise=0.1, seed=1)
    numbers = agrawal(n, function=None, target="R7", seed=1)
    classifier = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=50)
    regressor = DecisionTreeRegressor(min_samples_leaf=50)
    return [
        _against_tree("InfoGain, DecisionTreeClassifier", labelled, Classify("class"), classifier, 5),
        _against_tree("Regression, DecisionTreeRegressor", numbers, Regress("target"), regressor, 3),
        *_against_median(folder, labelled),
    ]


def _against_tree(
    title: str,
    table: pa.Table,
    task: Classify | Regress,
    model: DecisionTreeClassifier | DecisionTreeRegressor,
    least: int,
) -> Case:
    policy = Policy.quick(table.column_names, qi=QUASI, keep_rest=True, k=50).but(workload=(task,))
    x = np.column_stack([table[name].to_numpy() for name in QUASI]).astype(np.float32)
    y = table[task.target].to_numpy()
    threads = count_threads(None)
    classes: list[int] = []

    def cut() -> None:
        encoded = encode(typed(table, policy), policy, threads=threads)
        found = Mondrian(minimum_gain=0).partition(encoded, policy.privacy, workload=policy.workload, threads=threads)
        classes.append(found.classes)

    ours, theirs = side_by_side(cut, lambda: model.fit(x, y), runs=2)
    counted = f"{classes[0]:,} classes, {model.get_n_leaves():,} leaves of depth {model.get_depth()}"
    return report(f"faster than {title}", theirs / ours, least, f"{ours:.2f} s, {theirs:.2f} s; {counted}", least=True)


def _against_median(folder: Path, table: pa.Table) -> list[Case]:
    people = folder / "people.parquet"
    pq.write_table(table, people)
    plain = Policy.quick(table.column_names, qi=QUASI, keep_rest=True, k=50)

    def release(workload: tuple[Task, ...]) -> None:
        prepare(people, plain.but(workload=workload)).save(folder / "release.parquet", overwrite=True)

    tasks: dict[str, tuple[Task, ...]] = {
        "classify": (Classify("class"),),
        "select": (Select("age < 40 and salary between 50000 and 100000"),),
        "select, then classify": (Select("age < 40 and salary between 50000 and 100000"), Classify("class")),
    }
    cases = []
    for name, workload in tasks.items():
        without, with_it = side_by_side(lambda: release(()), lambda w=workload: release(w), runs=3)  # type: ignore[misc]
        cases.append(report(f"whole run, {name}", with_it / without, 2.5, f"{with_it:.2f} s, {without:.2f} s"))
    return cases
