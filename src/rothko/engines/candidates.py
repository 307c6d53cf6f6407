"""Candidates: where a line of a node can be cut, and whether the parts are allowable.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, sections 2.2 and 5. Sums from the first value on give both sides of
every candidate. Whether they may be parts is asked through a function of the sums, so that a sample can be asked with a
hypothesis test (section 5.2.1) where the whole table is asked by definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Kind, Line
from rothko.engines.crowd import Crowd, Spans
from rothko.engines.frequency_set import CELLS, Floats, FrequencySet, Ints, between, some_of, sums_before, without
from rothko.privacy.statistics import Statistics

Allowed = Callable[[Statistics, int], NDArray[np.bool_]]
"""Which groups of records may be parts of a cut into so many parts."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A node in parts, side by side on one line."""

    line: int
    begins: tuple[int, ...]
    """The first code of each part."""
    sizes: tuple[int, ...]
    """Records in each part."""
    phase: int
    """The criterion that chose it, which goes on in the parts."""


class Rules(Protocol):
    """What decides whether groups of records may be parts of a cut."""

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The values of what is counted beside the records."""
        ...

    @property
    def least(self) -> int:
        """The fewest records that a part may have, whatever else is asked."""
        ...

    @property
    def allowed(self) -> Allowed:
        """What is asked."""
        ...

    @property
    def checks(self) -> bool:
        """Whether anything but the number of records is asked."""
        ...

    @property
    def crowd(self) -> Crowd | None:
        """The people of the table, where they are counted."""
        ...


class Values:
    """The values of one line in a node, its candidates, and the sums on both sides of them."""

    def __init__(self, rules: Rules, line: Line, given: FrequencySet) -> None:
        self.rules, self.line, self.given = rules, line, given
        self.rows = np.flatnonzero(given.counts)
        self.codes = self.rows + given.first if given.codes is None else given.codes[self.rows]
        self.before = np.concatenate([[0], np.cumsum(given.counts[self.rows])])
        self.records = int(self.before[-1])
        self.span = int(self.codes[0]), int(self.codes[-1])
        self.order: Iterator[tuple[float, int, int]] = iter(())
        self._children: tuple[Ints, Ints, Ints] | None = None

    def candidates(self) -> Ints:
        """The places at which the line can be cut by the number of records: before the value there."""
        left = self.before[1:-1]
        good = (left >= self.rules.least) & (self.records - left >= self.rules.least)
        return np.flatnonzero(good) + 1

    def places_of_missing(self) -> Ints:
        """The place that parts missing from present, where there are both and enough of them."""
        place = len(self.codes) - 1
        there = place > 0 and self.span[1] == self.line.missing_code
        return np.intersect1d(self.candidates(), [place]) if there else np.empty(0, dtype=np.int64)

    def cut_at(self, a: int, place: int, phase: int) -> Cut:
        """The cut before the value at a place."""
        left = int(self.before[place])
        return Cut(a, (self.span[0], int(self.codes[place])), (left, self.records - left), phase)

    def first_that_holds(self, places: Ints) -> Iterator[int]:
        """Of places in order of preference the first, and then the others, that are allowable."""
        if not self.rules.checks:
            yield from places[:1].tolist()
            return
        begin, step = 0, 1
        while begin < len(places):
            some = places[begin : begin + step]
            yield from some[self.hold(some)].tolist()
            begin, step = begin + step, min(4 * step, max(64, CELLS // self._width()))

    def _width(self) -> int:
        return 1 + sum(int(h.shape[1]) for h in self.given.histograms.values())

    def preferred(self, scores: Floats, bound: float) -> Iterator[tuple[float, int, int]]:
        """The candidates below a score, best first: (score, unevenness, place). Most often one is asked for."""
        places = self.candidates()
        if not len(places):
            return
        best = int(np.argmin(scores))
        if scores[best] >= bound:
            return
        uneven = np.abs(2 * self.before[places] - self.records)
        equal = np.flatnonzero(scores == scores[best])
        best = int(equal[np.argmin(uneven[equal])])
        yield float(scores[best]), int(uneven[best]), int(places[best])
        for i in np.lexsort((places, uneven, scores)).tolist():
            if i != best and scores[i] < bound:
                yield float(scores[i]), int(uneven[i]), int(places[i])

    def hold(self, places: Ints) -> NDArray[np.bool_]:
        """Whether both sides of the cut at each place are allowable."""
        order = np.argsort(places)
        edges = places[order]
        good = np.ones(len(places), dtype=np.bool_)
        left, whole = self._statistics(edges), self._statistics(np.array([len(self.codes)]))
        right = without(whole, left)
        first, last = self.span
        starts = self.codes[np.minimum(edges, len(self.codes) - 1)].astype(np.int64)
        held = self._allowed(left, 2, np.full(len(edges), first), starts)
        if held.any():
            held[held] = self._allowed(some_of(right, held), 2, starts[held], np.full(int(held.sum()), last + 1))
        good[order] = held
        return good

    def _allowed(self, stats: Statistics, parts: int, first: Ints, after: Ints) -> NDArray[np.bool_]:
        """Which groups of records, with codes from the first up to the second, may be parts of a cut."""
        crowd = self.rules.crowd
        if crowd is None:
            return self.rules.allowed(stats, parts)
        sure = replace(stats, people=crowd.fewest(stats.size))
        held = self.rules.allowed(sure, parts)
        if self.given.people is not None:
            possible = self.rules.allowed(replace(stats, people=stats.size), parts) & (stats.size < crowd.sure)
            for i in np.flatnonzero(possible & ~held).tolist():
                there = self.given.people().people(int(first[i]), int(after[i]))
                held[i] = self.rules.allowed(replace(stats.row(i), people=np.array([there])), parts)[0]
        return held

    def undecided(self) -> Spans:
        """The codes of parts with so few records that it must be asked how many people these are of."""
        crowd = self.rules.crowd
        assert crowd is not None
        if len(self.codes) < 2:
            return ()
        if self.line.kind is Kind.TREE:
            small = self.child_sizes < crowd.sure
            return tuple((int(a), int(b) + 1) for a, b in zip(*(span[small] for span in self.child_spans), strict=True))
        first, last = self.span
        ends = np.append(self.codes, last + 1)
        low = int(np.searchsorted(self.before, crowd.sure)) - 1
        high = int(np.searchsorted(self.before, self.records - crowd.sure, side="right"))
        return (first, int(ends[low])), (int(ends[high]), last + 1)

    def _statistics(self, edges: Ints) -> Statistics:
        """The sums of all values before each of some rising places."""
        given = self.given
        return Statistics(
            self.before[edges],
            self.rules.domains,
            {name: sums_before(h, self.rows, edges) for name, h in given.histograms.items()},
            {name: sums_before(m, self.rows, edges) for name, m in given.moments.items()},
        )

    # ── trees ───────────────────────────────────────────────────────────────────────────────────

    def split(self) -> tuple[Ints, Ints, Ints]:
        """First and last code of the children of the lowest node over the values, and where each begins among these."""
        if self._children is None:
            tree = self.line.tree
            assert tree is not None
            top = int(tree.lowest(np.array([self.span[0]]), np.array([self.span[1]]))[0])
            below = tree.first_child[top] + np.arange(tree.n_children[top])
            first, last = tree.low[below].astype(np.int64), tree.high[below].astype(np.int64)
            begins = np.append(np.searchsorted(self.codes, first), len(self.codes))
            there = np.diff(begins) > 0
            self._children = first[there], last[there], np.append(begins[:-1][there], len(self.codes))
        return self._children

    @property
    def child_spans(self) -> tuple[Ints, Ints]:
        """First and last code of the children that have records."""
        return self.split()[:2]

    @property
    def child_sizes(self) -> Ints:
        """Records of the children that have any."""
        return np.diff(self.before[self.split()[2]]) if len(self.codes) > 1 else np.empty(0, dtype=np.int64)

    @property
    def unevenness(self) -> int:
        """How much larger the largest child is than all others together."""
        return int(2 * self.child_sizes.max() - self.records)

    def children_hold(self) -> bool:
        """Whether the line can be specialised to the children of its lowest node."""
        if len(self.codes) < 2 or self.child_sizes.min() < self.rules.least:
            return False
        if not self.rules.checks:
            return True
        first, last, edges = self.split()
        parts = between(self._statistics(edges[1:]))
        return bool(self._allowed(parts, len(edges) - 1, first, last + 1).all())

    def cut_children(self, a: int, phase: int) -> Cut:
        """The specialisation to the children."""
        return Cut(a, tuple(self.split()[0].tolist()), tuple(self.child_sizes.tolist()), phase)
