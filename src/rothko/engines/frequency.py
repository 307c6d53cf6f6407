"""Frequency groups, counted over a pass (LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1).

The paper's AV, AVC and AVS sets in one: records by value, and by value what the requirements and the workload add up.
Moments are enough for variance diversity and for regression, so these are exact too, where the paper gave up because it
thought of the joint distribution with a numeric column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.survey.coded import Coded
from rothko.engines.crowd import Route, people_asked
from rothko.engines.frequency_set import FrequencyGroup, FrequencySet
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Owners, Statistics
from rothko.progress import each
from rothko.workload.criteria import Criteria


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is added up for every value, beside the number of records."""

    histograms: dict[str, int]
    """Column → how many codes it has."""
    moments: dict[str, NDArray[np.float64]]
    """Column → (codes, 3): 1, x and x² of each code."""
    numbers: dict[str, NDArray[np.int64]]
    """Column → (codes, 2): 1 and x of each code, in multiples of its unit."""
    owner: str | None = None
    """Whose a record is, where people are counted."""
    people: int = 0
    """How many people of a part are enough to know."""

    @classmethod
    def by(
        cls,
        domains: dict[str, Domain],
        requirements: Sequence[Requirement],
        criteria: Criteria | None,
        targets: Sequence[str],
        *,
        owner: str | None = None,
    ) -> Wanted:
        """What some requirements and criteria need."""
        from rothko.kernels.mondrian.target_cells import KIND, LABEL, NUMBERS

        histograms: dict[str, int] = {}
        moments: dict[str, NDArray[np.float64]] = {}
        numbers: dict[str, NDArray[np.int64]] = {}
        for requirement in requirements:
            for part in requirement.parts(owner):
                if part.column is None or part.needs == "size":
                    continue
                domain = domains[part.column]
                if part.needs == "histogram":
                    histograms[part.column] = domain.size
                else:
                    x = domain.deviations[:-1]
                    moments[part.column] = np.column_stack([np.ones_like(x), x, x * x])
        for t, name in enumerate(targets):
            assert criteria is not None
            if criteria.targets[t, KIND] == LABEL:
                histograms[name] = domains[name].size
            else:
                at, values = int(criteria.targets[t, NUMBERS]), len(domains[name].values)
                whole = criteria.numbers[at : at + values]
                numbers[name] = np.column_stack([np.ones_like(whole), whole])
        return cls(histograms, moments, numbers, owner, 0 if owner is None else people_asked(requirements, owner))

    @property
    def bytes(self) -> int:
        """Bytes for each value of a line."""
        return 8 + 4 * sum(self.histograms.values()) + 24 * len(self.moments) + 16 * len(self.numbers)

    def statistics(self, nodes: NDArray[np.int32], count: int, coded: Coded, domains: dict[str, Domain]) -> Statistics:
        """The sums of some records by node, for the requirements."""
        there = nodes >= 0
        held = nodes[there].astype(np.int64)
        histograms: dict[str, NDArray[np.int64]] = {}
        moments: dict[str, NDArray[np.float64]] = {}
        for name, size in self.histograms.items():
            flat = np.bincount(held * size + coded.values[name][there], minlength=count * size)
            histograms[name] = flat.reshape(count, size)
        for name, table in self.moments.items():
            codes = coded.values[name][there]
            present = codes < len(table)
            sums = [np.bincount(held[present], weights=table[codes[present], i], minlength=count) for i in range(3)]
            moments[name] = np.column_stack(sums)
        owners = None
        if self.owner is not None:
            owners = Owners.of(held, count, coded.values[self.owner][there], self.people)
        people = None if owners is None else owners.counts
        return Statistics(np.bincount(held, minlength=count), domains, histograms, moments, people, owners)


def sizes(wanted: Wanted, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int64]:
    """Bytes of the frequency group of each node, given the regions (nodes, lines)."""
    return np.asarray((high.astype(np.int64) - low + 1).sum(axis=1) * wanted.bytes)


class Frequencies:
    """The frequency groups of some nodes as far as records were counted.

    Parameters
    ----------
    low, high
        The region of each node: (nodes, lines).
    """

    def __init__(self, low: NDArray[np.int32], high: NDArray[np.int32], wanted: Wanted) -> None:
        self._low, self._wanted = low, wanted
        lengths = high.astype(np.int64) - low + 1
        self._at = np.concatenate([np.zeros((1, low.shape[1]), dtype=np.int64), np.cumsum(lengths, axis=0)])
        total = self._at[-1].tolist()
        self._counts = [np.zeros(n, dtype=np.int64) for n in total]
        self._pairs = [{name: np.zeros((n, size), np.int32) for name, size in wanted.histograms.items()} for n in total]
        self._moments = [{name: np.zeros((n, 3)) for name in wanted.moments} for n in total]
        self._numbers = [{name: np.zeros((n, 2), dtype=np.int64) for name in wanted.numbers} for n in total]

    def add(self, coded: Coded, nodes: NDArray[np.int32], *, threads: int = 1) -> None:
        """Count some records, given the node of each (-1: of none)."""
        from rothko.kernels.mondrian.frequency import add_numbers, count_pairs, count_values

        def one(a: int) -> None:
            codes, begins = coded.codes[a], np.ascontiguousarray(self._at[:-1, a])
            first = np.ascontiguousarray(self._low[:, a])
            count_values(codes, nodes, first, begins, self._counts[a])
            for name, width in self._wanted.histograms.items():
                count_pairs(codes, nodes, first, begins, coded.values[name], width, self._pairs[a][name])
            for name, table in self._wanted.moments.items():
                add_numbers(codes, nodes, first, begins, coded.values[name], table, self._moments[a][name])
            for name, whole in self._wanted.numbers.items():
                add_numbers(codes, nodes, first, begins, coded.values[name], whole, self._numbers[a][name])

        each(one, range(len(self._counts)), threads)

    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All that was counted, as whole numbers and others in a row each: they add up over machines."""
        whole = [array.ravel().astype(np.int64, copy=False) for array in self._whole()]
        others = [table.ravel() for tables in self._moments for table in tables.values()]
        return np.concatenate(whole), np.concatenate(others) if others else np.empty(0)

    def restore(self, whole: NDArray[np.int64], others: NDArray[np.float64]) -> None:
        """Take over what :meth:`sums` gave, added up."""
        if self._pairs and len(whole) and int(whole.max()) > np.iinfo(np.int32).max:
            self._pairs = [{n: table.astype(np.int64) for n, table in tables.items()} for tables in self._pairs]
        at = 0
        for array in self._whole():
            array.ravel()[:] = whole[at : at + array.size]
            at += array.size
        at = 0
        for table in (table for tables in self._moments for table in tables.values()):
            table.ravel()[:] = others[at : at + table.size]
            at += table.size

    def _whole(self) -> list[NDArray[Any]]:
        tables = [table for some in (self._pairs, self._numbers) for one in some for table in one.values()]
        return [*self._counts, *tables]

    def groups(self) -> list[FrequencyGroup]:
        """The frequency group of each node."""
        return [[self._of(node, a) for a in range(len(self._counts))] for node in range(len(self._low))]

    def _of(self, node: int, a: int) -> FrequencySet:
        part = slice(self._at[node, a], self._at[node + 1, a])
        return FrequencySet(
            int(self._low[node, a]),
            self._counts[a][part],
            {name: table[part] for name, table in self._pairs[a].items()},
            {name: table[part] for name, table in self._moments[a].items()},
            {name: table[part] for name, table in self._numbers[a].items()},
        )


def count(
    batches: Iterable[Coded],
    route: Route,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    wanted: Wanted,
    *,
    threads: int = 1,
) -> list[FrequencyGroup]:
    """The frequency groups of some nodes, in one pass over the records.

    Parameters
    ----------
    route
        The node of each record of a batch.
    low, high
        The region of each node: (nodes, lines).
    """
    counted = Frequencies(low, high, wanted)
    for coded in batches:
        counted.add(coded, route(coded), threads=threads)
    return counted.groups()
