"""What samples do to quality and how often cuts are undone: Figs. 22 to 24.

Rothko-S as section 5.2 of the paper has it, on tables that are held in memory all the same: only as many records as a
sample has are looked at to grow a tree, and to finish a part. It is made of the engine's own growth, tests and pruning.
Growth goes on as far as the sample gives confidence (``grow: confidence``). One thing is as in the paper and not as in
the engine: where the sample gives none the part stays as it is, perhaps larger than it need be, where the engine hands
over to Rothko-T.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from experiments.data import ATTRIBUTES, real
from experiments.protocol import Scores, labels
from rothko.data.source.open import open_source
from rothko.data.survey.coded import Coded
from rothko.data.survey.survey import survey
from rothko.engines.candidates import Cut
from rothko.engines.chooser import Chooser
from rothko.engines.disk.store import gathered
from rothko.engines.driver import Driver, grow
from rothko.engines.frequency import Wanted
from rothko.engines.options import RothkoS
from rothko.engines.rothko_s import Sample, prune
from rothko.engines.store import Job
from rothko.engines.tree import Tree
from rothko.generate.agrawal import agrawal
from rothko.learn.regions import as_numbers
from rothko.methods import Mondrian
from rothko.metrics.prediction import conditional_entropy, wmse
from rothko.policy.policy import Policy
from rothko.privacy.confidence import Test
from rothko.workload import Classify, Regress

ROOM = 1_000_000_000
"""Bytes for the values of columns and for frequency groups: all of them."""
SHORT = 8
"""The height at which the paper repartitions, in Fig. 24."""
NORMAL_SALARY = (85_000, 1.1e8)
"""Mean and variance of Fig. 24 (d); the paper gives the variance."""
TO_THE_END = Mondrian(minimum_gain=0)
"""The paper tells of a switch to the median, where less than 0.01 is gained, for its timings alone (note 18). What a
sample gains is too much by chance, and with the switch small samples went on where all records did not."""
RECORD = "record"
PERTURB = 0.05
"""The perturbation factor of Figs. 22 and 23."""
INCOME, LOW_INCOME = "Income", "income below 30,000"
"""The number to predict on the Census table, and the label, which is the paper's."""
THRESHOLD = 30_000


class Top(Tree):
    """A tree that grows to some height, where there is one."""

    tallest: int | None = None

    def cut(self, node: int, cut: Cut) -> range:
        """Cut a node; returns those of its parts that may be cut."""
        parts = super().cut(node, cut)
        return range(0) if self.tallest is not None and self._height(parts[0]) >= self.tallest else parts

    def _height(self, node: int) -> int:
        return 0 if node == 0 else 1 + self._height(self.parent[node])


@dataclass(slots=True)
class Outcome:
    """What one run has come to."""

    classes: NDArray[np.int32]
    """The class of each record."""
    pruned: int
    minimal: bool
    """Whether no part was left as it is for want of confidence."""


def sampled(
    table: pa.Table,
    policy: Policy,
    *,
    sample: int,
    seed: int = 0,
    test: Test = "exact",
    tallest: int | None = None,
) -> Outcome:
    """Classes of a table, made with samples of so many records; its policy keeps a column :data:`RECORD`."""
    table = table.append_column(RECORD, pa.array(np.arange(table.num_rows)))
    found = survey(open_source(table), policy, sample=1, seed=seed, memory=ROOM)
    coded = gathered(list(found.stream.batches()))
    classes = np.full(table.num_rows, -1, dtype=np.int32)
    driver = Driver(Job(found.outline, policy.privacy, policy.method, policy.workload, seed), sample, ROOM)
    by = driver.job.chooser()
    tree = Tree.over(found.outline.lines, by[0].first_phase(), found.outline.rows)
    random, count, minimal = np.random.default_rng([seed, sample]), 0, True
    options = RothkoS(test=test, grow="confidence")
    for part, complete in _descend(driver, by, options, coded, tree, random, tallest):
        minimal &= complete
        for some in part:
            classes[some] = count
            count += 1
    assert classes.min() >= 0
    return Outcome(classes, driver.counters.pruned, minimal)


def _descend(
    driver: Driver,
    by: tuple[Chooser, Wanted],
    options: RothkoS,
    coded: Coded,
    tree: Tree,
    random: np.random.Generator,
    tallest: int | None,
) -> Iterator[tuple[list[NDArray[np.int64]], bool]]:
    """The classes of finished parts, as numbers of records, and whether each part was cut to the end."""
    records = coded.kept[RECORD].to_numpy()
    job = driver.job
    if coded.rows <= driver.tuples:
        made = job.finish(coded, tree, 0).partition
        yield np.split(records[made.order], made.starts[1:-1]), True
        return
    chosen = np.sort(random.choice(coded.rows, driver.tuples, replace=False, shuffle=False))
    top = Top(tree.low[0], tree.high[0], tree.phase[0], coded.rows)
    top.tallest = tallest
    sample = Sample(
        coded.take(chosen), coded.rows, job, by, options,
        fits=driver.tuples, frequency=ROOM, counters=driver.counters,
    )  # fmt: skip
    grow(top, sample)
    leaves = top.leaves()
    place = top.route({leaf: i for i, leaf in enumerate(leaves)})(coded)
    stats = by[1].statistics(place, len(leaves), coded, job.outline.domains)
    merged, undone = prune(job.requirements, top, leaves, stats)
    driver.counters.pruned += undone
    if len(merged) == 1:
        yield [records], False
        return
    number = {leaf: i for i, leaf in enumerate(leaves)}
    for leaf, under in merged.items():
        part = coded.take(np.flatnonzero(np.isin(place, [number[old] for old in under])))
        below = Tree(top.low[leaf], top.high[leaf], top.phase[leaf], part.rows)
        yield from _descend(driver, by, options, part, below, random, tallest)


# ── Figs. 22 and 23


def quality(target: str, k: int, sample: int, records: int, seed: int) -> Scores:
    """Conditional entropy for C2, weighted mean squared error for R7 and R10; and whether it may be non-minimal."""
    table = _people(records, seed)
    task = Classify("class") if target == "C2" else Regress(target)
    asked = table.select([*ATTRIBUTES, task.target])
    policy = Policy.quick(
        [*asked.column_names, RECORD], qi=ATTRIBUTES, keep_rest=True, k=k, workload=[task], method=TO_THE_END
    )
    return _scored(asked, policy, sample, seed, (target, str(k), str(sample)))


def quality_of_census(target: str, k: int, sample: int, folder: Path, records: int, seed: int) -> Scores:
    """The same on so many records of the survey, for its income or whether that is low; ``seed`` is the sample's."""
    data = real("survey", folder, records)
    quasi = data.policy.quasi_identifiers
    income = data.table[INCOME]
    of = {INCOME: income, LOW_INCOME: pc.if_else(pc.less(income, THRESHOLD), "yes", "no")}
    kept = {name: {"role": "keep"} for name in (target, RECORD)}
    policy = data.policy.but(
        columns={name: data.policy.columns[name] for name in quasi} | kept,
        privacy=[{"k-anonymity": {"k": k}}],
        workload=[Regress(target) if target == INCOME else Classify(target)],
        method=TO_THE_END,
    )
    asked = data.table.select(list(quasi)).append_column(target, of[target])
    return _scored(asked, policy, sample, seed, (target, str(k), str(sample)))


def _scored(table: pa.Table, policy: Policy, sample: int, seed: int, path: tuple[str, ...]) -> Scores:
    """What classes tell of the target of the policy's task, and whether they may be larger than they need be."""
    [task] = policy.workload
    made = sampled(table, policy, sample=sample, seed=seed)
    if isinstance(task, Classify):
        score = conditional_entropy(made.classes, labels(table, task.target))
    else:
        score = wmse(made.classes, as_numbers(table[task.target].combine_chunks()))
    return {("score", *path): score, ("nonminimal", *path): float(not made.minimal)}


@lru_cache(maxsize=2)
def _people(records: int, seed: int) -> pa.Table:
    """People whose quantities are perturbed; labels and targets are of what they were before."""
    table = agrawal(records, function=2, perturb=PERTURB, seed=seed)
    for target in ("R7", "R10"):
        told = agrawal(records, function=None, target=target, perturb=PERTURB, seed=seed)
        table = table.append_column(target, told["target"])
    return table


# ── Fig. 24

REQUIRED = {
    "k": ((), (10, 100, 1000, 10_000)),
    "l": (("zipcode",), (2, 4, 6, 8)),
    "uniform": (("salary",), (1.1e9, 1.2e9, 1.3e9)),
    "normal": (("salary",), (7e7, 8e7, 9e7)),
}
"""Part of the figure → the sensitive attribute, and what is asked of it."""


def pruned(part: str, bound: float, sample: int, test: Test, records: int, seed: int) -> Scores:
    """How many nodes were undone, and whether the classes may be larger than they need be."""
    table = _salaries(records, seed) if part == "normal" else agrawal(records, function=None, seed=seed)
    sensitive, _ = REQUIRED[part]
    quasi = tuple(name for name in ATTRIBUTES if name not in sensitive)
    if part == "k":
        asked: dict[str, object] = {"k-anonymity": {"k": int(bound)}}
    elif part == "l":
        asked = {"recursive-l-diversity": {"c": 1, "l": int(bound), "of": "zipcode"}}
    else:
        asked = {"variance-diversity": {"v": bound, "of": "salary"}}
    policy = Policy.quick([*ATTRIBUTES, RECORD], qi=quasi, sensitive=sensitive, keep_rest=True, k=2)
    policy = policy.but(privacy=[asked])
    made = sampled(table, policy, sample=sample, seed=seed, test=test, tallest=SHORT)
    path = (part, f"{bound:g}", str(sample), test)
    return {("pruned", *path): made.pruned, ("nonminimal", *path): float(not made.minimal)}


@lru_cache(maxsize=2)
def _salaries(records: int, seed: int) -> pa.Table:
    """People with a normal salary; commission depends on it as ever."""
    table = agrawal(records, function=None, seed=seed)
    random = np.random.default_rng([seed, 24])
    mean, variance = NORMAL_SALARY
    salary = np.rint(random.normal(mean, variance**0.5, records)).astype(np.int32)
    commission = np.where(salary >= 75_000, 0, random.integers(10_000, 75_001, records)).astype(np.int32)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return pa.table(columns | {"salary": salary, "commission": commission})
