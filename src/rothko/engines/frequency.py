"""Frequency groups, counted over a pass (LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.1).

The paper's AV, AVC and AVS sets in one: records by value, and by value what the requirements and the workload add up.
Moments are enough for variance diversity and for regression, so these are exact too, where the paper gave up because it
thought of the joint distribution with a numeric column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Line
from rothko.data.survey.coded import Coded
from rothko.engines.chooser import FrequencyGroup, FrequencySet
from rothko.engines.crowd import Route, people_asked
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
        from rothko.kernels.mondrian.gain import KIND, LABEL, NUMBERS

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


def count(
    batches: Iterable[Coded],
    route: Route,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    lines: Sequence[Line],
    wanted: Wanted,
    *,
    threads: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> list[FrequencyGroup]:
    """The frequency groups of some nodes, in one pass over the records.

    Parameters
    ----------
    route
        The node of each record of a batch.
    low, high
        The region of each node: (nodes, lines).
    """
    from rothko.kernels.mondrian.frequency import add_numbers, count_pairs, count_values

    lengths = high.astype(np.int64) - low + 1
    at = np.concatenate([np.zeros((1, len(lines)), dtype=np.int64), np.cumsum(lengths, axis=0)])
    total = at[-1]
    counts = [np.zeros(n, dtype=np.int64) for n in total]
    pairs = [{name: np.zeros((n, size), dtype=np.int32) for name, size in wanted.histograms.items()} for n in total]
    moments = [{name: np.zeros((n, 3)) for name in wanted.moments} for n in total]
    numbers = [{name: np.zeros((n, 2), dtype=np.int64) for name in wanted.numbers} for n in total]
    for coded in batches:
        nodes = route(coded)

        def one(a: int, coded: Coded = coded, nodes: NDArray[np.int32] = nodes) -> None:
            codes, begins, first = coded.codes[a], np.ascontiguousarray(at[:-1, a]), np.ascontiguousarray(low[:, a])
            count_values(codes, nodes, first, begins, counts[a])
            for name, width in wanted.histograms.items():
                count_pairs(codes, nodes, first, begins, coded.values[name], width, pairs[a][name])
            for name, table in wanted.moments.items():
                add_numbers(codes, nodes, first, begins, coded.values[name], table, moments[a][name])
            for name, whole in wanted.numbers.items():
                add_numbers(codes, nodes, first, begins, coded.values[name], whole, numbers[a][name])

        each(one, range(len(lines)), threads)
        progress(coded.rows)

    def of(node: int, a: int) -> FrequencySet:
        part = slice(at[node, a], at[node + 1, a])
        return FrequencySet(
            int(low[node, a]),
            counts[a][part],
            {name: table[part] for name, table in pairs[a].items()},
            {name: table[part] for name, table in moments[a].items()},
            {name: table[part] for name, table in numbers[a].items()},
        )

    return [[of(node, a) for a in range(len(lines))] for node in range(len(low))]
