"""The folds of a cross-validation: which records are in which, and what a model is shown of each.

The two protocols, by regions and by releases, are those of :mod:`rothko.learn.evaluate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.encode import counted
from rothko.data.line import as_text
from rothko.data.source.open import open_source
from rothko.data.typed import with_one_missing
from rothko.errors import InputError, PolicyError
from rothko.in_memory import in_memory
from rothko.learn.encoding import View
from rothko.learn.recipient import Released
from rothko.learn.regions import Form, Original, Regions, place
from rothko.mistakes import said
from rothko.policy.policy import Policy
from rothko.release.recoding.recoding import Recoding
from rothko.workload import Classify, Regress

LARGEST = 1e150
"""Of a number that models predict: the squares of larger ones are no numbers any more."""


class Parts(NamedTuple):
    """What a model is shown of a training and a test part."""

    train: View
    test: View
    target: NDArray[Any]
    """That of the training part."""
    unknown: int
    """Test records that nothing like them was there for in training."""


@dataclass(frozen=True, slots=True)
class Fold:
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

    def original(self, policy: Policy) -> Parts:
        """Exact records in both parts."""
        known = Original.of(self.train, policy, self.features)
        return Parts(known.view(self.train)[0], *self._tested(known, corners=False))

    def by_regions(self, policy: Policy) -> Parts:
        """The regions of one recoding in both parts."""
        recoding = learned_recoding(self.train, policy, self.threads)
        known, asked = place(recoding, self.train), place(recoding, self.test)
        learned = Regions.of(self.train, recoding, self.features, classes=known)
        train = learned.view(self.train, self.form, seed=[*self.seeds, 0], classes=known)
        test = learned.view(self.test, self.form, seed=[*self.seeds, 1], classes=asked)
        return Parts(train, test, self.target, int(np.count_nonzero(asked < 0)))

    def by_release(self, policy: Policy) -> Parts:
        """The rows of a release, and exact records."""
        release = in_memory(open_source(self.train), policy, threads=self.threads, recoding=False)
        known = Original.of(self.train, policy, self.features)
        rows = release.arrow
        train = Released(known, self.form).view(rows, seed=[*self.seeds, 0])
        tested, _, unknown = self._tested(known, corners=self.form == "corners")
        return Parts(train, tested, self._read(rows[self.task.target], policy), unknown)

    def _tested(self, known: Original, *, corners: bool) -> tuple[View, NDArray[Any], int]:
        test, unknown = known.view(self.test, corners=corners)
        return test, self.target, unknown

    def _read(self, column: pa.ChunkedArray, policy: Policy) -> NDArray[Any]:
        """The target as it stands in a release."""
        codes, own = counted(self.task.target, with_one_missing(self.task.target, column, policy.missing))
        at = pc.index_in(as_text(own.values), value_set=self.domain.texts).to_numpy(zero_copy_only=False)
        return _as_truth(self.task, np.asarray(at[codes], dtype=np.int64), self.domain)


def learned_recoding(train: pa.Table, policy: Policy, threads: int) -> Recoding:
    """φ, learned from the training part."""
    recoding = in_memory(open_source(train), policy, threads=threads).recoding
    if recoding is None:
        raise PolicyError(
            f"{policy.method.name} with these options has no recoding, and test records cannot be placed; train on "
            f"the release and test on exact records ({said('--protocol', 'release')}), or choose a method that has "
            "one, such as mondrian with relaxed: false."
        )
    return recoding


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


def with_target(
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


def check_enough(task: Classify | Regress, truth: NDArray[Any], fold: NDArray[np.int64], folds: int) -> None:
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
