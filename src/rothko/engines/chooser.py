"""Choosing a cut from frequency groups: the same cuts as :mod:`rothko.kernels.mondrian.grow` chooses from records.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, sections 2.2, 3 and 5.1. The frequency set of a line has, for every
value in a node, how many records have it and what adds up over them: histograms of sensitive values and labels,
moments, sums of targets. Sums from the first value on give both sides of every candidate. It does not matter where they
were counted: in memory, over passes from disk, in a sample.

Whether a candidate is allowable is asked through a function of the sums of its parts, so that a sample can be asked
with a hypothesis test (section 5.2.1) where the whole table is asked by definition. Candidates are asked in the order
in which they would be chosen, the first that is allowable wins, and few are asked as a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Kind, Line
from rothko.engines.crowd import Crowd, Spans, Zone
from rothko.kernels.boxes import TINY
from rothko.kernels.mondrian.gain import LABEL, SURE
from rothko.kernels.mondrian.nodes import GAIN, MEDIAN, SELECTION
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics
from rothko.workload.criteria import Criteria, logarithm

CELLS = 1 << 21
"""How many sums are looked at in one go."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Allowed = Callable[[Statistics, int], NDArray[np.bool_]]
"""Which groups of records may be parts of a cut into so many parts."""


@dataclass(frozen=True, slots=True)
class FrequencySet:
    """What the records of a node say, value by value of one line. Rows are codes from :attr:`first` on."""

    first: int
    counts: Ints
    """Records."""
    histograms: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    """Sensitive columns and class labels: records by code of their domain."""
    moments: Mapping[str, Floats] = field(default_factory=dict)
    """Sensitive columns: n, Σx and Σx² of the deviations that are there."""
    numbers: Mapping[str, Ints] = field(default_factory=dict)
    """Targets that are numbers: n and Σx, in multiples of their unit."""
    codes: NDArray[np.integer] | None = None
    """The code of each row, where they do not follow each other."""
    people: Callable[[], Zone] | None = None
    """Asks who has the codes of :meth:`Chooser.undecided`, where that can be found out."""


FrequencyGroup = Sequence[FrequencySet]
"""The frequency sets of a node, one per line."""


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


@dataclass(frozen=True, slots=True)
class Chooser:
    """What the choice depends on beside the frequency group."""

    lines: tuple[Line, ...]
    domains: Mapping[str, Domain]
    criteria: Criteria | None
    targets: tuple[str, ...]
    """The column of each target of the criteria."""
    least: int
    """The fewest records that a part may have, whatever else is asked."""
    allowed: Allowed
    checks: bool
    """Whether anything but the number of records is asked."""
    crowd: Crowd | None = None
    """The people of the table, where they are counted."""

    def undecided(self, group: FrequencyGroup) -> list[Spans]:
        """Line by line, the codes in parts of so few records that it must be asked how many people these are of."""
        return [_Values(self, line, given).undecided() for line, given in zip(self.lines, group, strict=True)]

    def first_phase(self) -> int:
        """The criterion that begins."""
        return MEDIAN if self.criteria is None else self.criteria.first_phase

    def choose(self, group: FrequencyGroup, phase: int) -> Cut | None:
        """The cut of a node, or None where there is no allowable one."""
        values = [_Values(self, line, given) for line, given in zip(self.lines, group, strict=True)]
        if values[0].records < 2 * self.least:
            return None
        if phase == SELECTION:
            cut = self._best(values, self._savings(values), SELECTION)
            if cut is not None:
                return cut
            assert self.criteria is not None
            phase = GAIN if len(self.criteria.targets) else MEDIAN
        if phase == GAIN:
            cut = self._most_gained(values)
            if cut is not None:
                return cut
        return self._widest(values)

    # ── Median ──────────────────────────────────────────────────────────────────────────────────

    def _widest(self, values: Sequence[_Values]) -> Cut | None:
        """The widest line that can be cut, nearest to its median."""
        widths = [_width(v.line, *v.span) for v in values]
        for a in sorted(range(len(values)), key=lambda a: -widths[a]):  # stable: ties to the first
            if widths[a] <= 0.0:
                return None
            v = values[a]
            if v.line.kind is Kind.TREE:
                if v.children_hold():
                    return v.cut_children(a, MEDIAN)
                continue
            parts_missing = v.places_of_missing()
            if len(parts_missing) and v.hold(parts_missing)[0]:
                return v.cut_at(a, int(parts_missing[0]), MEDIAN)
            places = v.candidates()
            places = places[np.lexsort((places, np.abs(2 * v.before[places] - v.records)))]
            for place in v.first_that_holds(places):
                return v.cut_at(a, place, MEDIAN)
        return None

    # ── Selection ───────────────────────────────────────────────────────────────────────────────

    def _savings(self, values: Sequence[_Values]) -> list[Floats]:
        """By how much each candidate of each line raises the imprecision: less than 0 where it saves."""
        c = self.criteria
        assert c is not None
        low, high = (np.array([v.span[i] for v in values]) for i in (0, 1))
        hit = np.flatnonzero(((high >= c.box_low) & (low <= c.box_high)).all(axis=1))
        found = []
        for a, v in enumerate(values):
            lows, highs, weights = c.box_low[hit, a], c.box_high[hit, a], c.weights[hit]
            if v.line.kind is Kind.TREE:
                first, last = v.child_spans
                saved = 0.0
                for child, size in enumerate(v.child_sizes.tolist()):
                    for q in range(len(hit)):
                        if last[child] < lows[q] or first[child] > highs[q]:
                            saved += weights[q] * size
                found.append(np.array([-saved]))
                continue
            by_low, by_high = np.argsort(lows, kind="stable"), np.argsort(highs, kind="stable")
            from_low = np.append(np.cumsum(weights[by_low][::-1])[::-1], 0.0)
            to_high = np.append(0.0, np.cumsum(weights[by_high]))
            places = v.candidates()
            below = np.searchsorted(lows[by_low], v.codes[places - 1], side="right")
            above = np.searchsorted(highs[by_high], v.codes[places], side="left")
            left = v.before[places]
            found.append(-(from_low[below] * left + to_high[above] * (v.records - left)))
        return found

    def _best(self, values: Sequence[_Values], scores: Sequence[Floats], phase: int, bound: float = 0.0) -> Cut | None:
        """The allowable candidate with the lowest score below the bound; ties as in
        :mod:`rothko.kernels.mondrian.gain`.
        """
        waiting = []
        for a, (v, score) in enumerate(zip(values, scores, strict=True)):
            if v.line.kind is Kind.TREE:
                if len(v.codes) > 1 and score[0] < bound:
                    waiting.append((float(score[0]), v.unevenness, a, -1))
                continue
            order = _preferred(score, v, bound)
            first = next(order, None)
            if first is not None:
                waiting.append((*first[:2], a, first[2]))
            v.order = order
        while waiting:
            waiting.sort()
            _, _, a, place = waiting.pop(0)
            v = values[a]
            if place < 0:
                if v.children_hold():
                    return v.cut_children(a, phase)
                continue
            if v.hold(np.array([place]))[0]:
                return v.cut_at(a, place, phase)
            following = next(v.order, None)
            if following is not None:
                waiting.append((*following[:2], a, following[2]))
        return None

    # ── InfoGain and Regression ─────────────────────────────────────────────────────────────────

    def _most_gained(self, values: Sequence[_Values]) -> Cut | None:
        """The cut with the lowest impurity, where it gains enough."""
        c = self.criteria
        assert c is not None
        targets = [_Target(c, t, name, self.domains[name]) for t, name in enumerate(self.targets)]
        parents = [target.uncut(values[0]) for target in targets]
        whole = 0.0
        for parent in parents:
            whole += parent
        scores = []
        for a, v in enumerate(values):
            seen, unseen, looked_at = np.zeros(1 if v.line.kind is Kind.TREE else len(v.candidates())), 0.0, False
            for t, target in enumerate(targets):
                if not c.features[t, a]:
                    unseen += parents[t]
                    continue
                seen = target.scores(v) if not looked_at else seen + target.scores(v)
                looked_at = True
            scores.append(seen + unseen if looked_at else np.full(len(seen), np.inf))
        cut = self._best(values, scores, GAIN, bound=np.inf)
        if cut is None:
            return None
        v = values[cut.line]
        place = 0 if v.line.kind is Kind.TREE else int(np.searchsorted(v.codes[v.candidates()], cut.begins[1]))
        gain = whole - float(scores[cut.line][place])
        gain = 0.0 if gain <= SURE * abs(whole) else gain / v.records
        return cut if gain > 0.0 and gain >= c.minimum_gain else None


def _preferred(scores: Floats, v: _Values, bound: float) -> Iterator[tuple[float, int, int]]:
    """The candidates of a line below a score, best first: (score, unevenness, place). Most often one is asked for."""
    places = v.candidates()
    if not len(places):
        return
    best = int(np.argmin(scores))
    if scores[best] >= bound:
        return
    uneven = np.abs(2 * v.before[places] - v.records)
    equal = np.flatnonzero(scores == scores[best])
    best = int(equal[np.argmin(uneven[equal])])
    yield float(scores[best]), int(uneven[best]), int(places[best])
    for i in np.lexsort((places, uneven, scores)).tolist():
        if i != best and scores[i] < bound:
            yield float(scores[i]), int(uneven[i]), int(places[i])


class _Values:
    """The values of one line in a node, its candidates, and the sums on both sides of them."""

    def __init__(self, chooser: Chooser, line: Line, given: FrequencySet) -> None:
        self.chooser, self.line, self.given = chooser, line, given
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
        good = (left >= self.chooser.least) & (self.records - left >= self.chooser.least)
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
        if not self.chooser.checks:
            yield from places[:1].tolist()
            return
        begin, step = 0, 1
        while begin < len(places):
            some = places[begin : begin + step]
            yield from some[self.hold(some)].tolist()
            begin, step = begin + step, min(4 * step, max(64, CELLS // self._width()))

    def _width(self) -> int:
        return 1 + sum(int(h.shape[1]) for h in self.given.histograms.values())

    def hold(self, places: Ints) -> NDArray[np.bool_]:
        """Whether both sides of the cut at each place are allowable."""
        order = np.argsort(places)
        edges = places[order]
        good = np.ones(len(places), dtype=np.bool_)
        left, whole = self._statistics(edges), self._statistics(np.array([len(self.codes)]))
        right = _less(whole, left)
        first, last = self.span
        starts = self.codes[np.minimum(edges, len(self.codes) - 1)].astype(np.int64)
        held = self._allowed(left, 2, np.full(len(edges), first), starts)
        if held.any():
            held[held] = self._allowed(_some(right, held), 2, starts[held], np.full(int(held.sum()), last + 1))
        good[order] = held
        return good

    def _allowed(self, stats: Statistics, parts: int, first: Ints, after: Ints) -> NDArray[np.bool_]:
        """Which groups of records, with codes from the first up to the second, may be parts of a cut."""
        crowd = self.chooser.crowd
        if crowd is None:
            return self.chooser.allowed(stats, parts)
        sure = replace(stats, people=crowd.fewest(stats.size))
        held = self.chooser.allowed(sure, parts)
        if self.given.people is not None:
            possible = self.chooser.allowed(replace(stats, people=stats.size), parts) & (stats.size < crowd.sure)
            for i in np.flatnonzero(possible & ~held).tolist():
                there = self.given.people().people(int(first[i]), int(after[i]))
                held[i] = self.chooser.allowed(replace(stats.row(i), people=np.array([there])), parts)[0]
        return held

    def undecided(self) -> Spans:
        """The codes of parts with so few records that it must be asked how many people these are of."""
        crowd = self.chooser.crowd
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
            self.chooser.domains,
            {name: _before(h, self.rows, edges) for name, h in given.histograms.items()},
            {name: _before(m, self.rows, edges) for name, m in given.moments.items()},
        )

    # ── trees ───────────────────────────────────────────────────────────────────────────────────

    def _split(self) -> tuple[Ints, Ints, Ints]:
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
        return self._split()[:2]

    @property
    def child_sizes(self) -> Ints:
        """Records of the children that have any."""
        return np.diff(self.before[self._split()[2]]) if len(self.codes) > 1 else np.empty(0, dtype=np.int64)

    @property
    def unevenness(self) -> int:
        """How much larger the largest child is than all others together."""
        return int(2 * self.child_sizes.max() - self.records)

    def children_hold(self) -> bool:
        """Whether the line can be specialised to the children of its lowest node."""
        if len(self.codes) < 2 or self.child_sizes.min() < self.chooser.least:
            return False
        if not self.chooser.checks:
            return True
        first, last, edges = self._split()
        parts = _between(self._statistics(edges[1:]))
        return bool(self._allowed(parts, len(edges) - 1, first, last + 1).all())

    def cut_children(self, a: int, phase: int) -> Cut:
        """The specialisation to the children."""
        return Cut(a, tuple(self._split()[0].tolist()), tuple(self.child_sizes.tolist()), phase)


class _Target:
    """The impurity of one target over both sides of a cut."""

    def __init__(self, criteria: Criteria, t: int, name: str, domain: Domain) -> None:
        self.name, self.labels = name, len(domain.values)
        self.is_label = criteria.targets[t, 0] == LABEL
        self.factor = float(criteria.factors[t])

    def uncut(self, v: _Values) -> float:
        """Of all records of a node."""
        return float(self._over(v, np.array([len(v.codes)]))[0])

    def scores(self, v: _Values) -> Floats:
        """Of every candidate of a line, or of the one specialisation of a tree."""
        if v.line.kind is Kind.TREE:
            if len(v.codes) < 2:
                return np.array([np.inf])
            return self._over(v, v._split()[2][1:])
        places = v.candidates()
        if not len(places):
            return np.empty(0)
        found = np.empty(len(places))
        step = max(1, CELLS // (self.labels if self.is_label else 1))
        rows, base = v.rows, 0
        before: Any = 0
        sums = self._sums(v)
        whole = sums[rows].sum(axis=0, dtype=np.int64)
        for begin in range(0, len(places), step):
            some = places[begin : begin + step]
            left = before + _before(sums, rows[base:], some - base)
            found[begin : begin + step] = self._score([left, whole - left])
            before, base = left[-1], int(some[-1])
        return found

    def _sums(self, v: _Values) -> NDArray[Any]:
        if self.is_label:
            return v.given.histograms[self.name][:, : self.labels]
        return v.given.numbers[self.name]

    def _over(self, v: _Values, edges: Ints) -> Floats:
        """Over parts that end at rising places."""
        sums = np.diff(_before(self._sums(v), v.rows, edges), axis=0, prepend=0)
        return self._score([part[None] for part in sums])

    def _score(self, parts: Sequence[NDArray[Any]]) -> Floats:
        """The score of cuts given by the sums of their parts, each (cuts, cells)."""
        if self.is_label:
            total = np.zeros(len(parts[0]), dtype=np.int64)
            for part in parts:
                total += logarithm(part.sum(axis=1)) - logarithm(part).sum(axis=1)
            return self.factor * total.astype(np.float64)
        squares = np.zeros(len(parts[0]))
        for part in parts:
            n, x = part[:, 0].astype(np.float64), part[:, 1].astype(np.float64)
            squares = squares + np.where(n > 0, x * x / np.maximum(n, 1.0), 0.0)
        return self.factor * -squares


def _before(sums: NDArray[Any], rows: Ints, edges: Ints) -> NDArray[Any]:
    """Sums of the rows before each of some rising places among ``rows``."""
    kind = np.float64 if sums.dtype.kind == "f" else np.int64
    if not len(edges):
        return np.zeros((0, *sums.shape[1:]), dtype=kind)
    starts = np.append(0, edges[:-1])
    total = np.add.reduceat(sums[rows[: edges[-1]]], starts, axis=0, dtype=kind)
    return np.cumsum(total, axis=0)


def _less(whole: Statistics, left: Statistics) -> Statistics:
    """What is left of a whole without each of some groups."""
    return Statistics(
        whole.size - left.size,
        left.domains,
        {name: whole.histograms[name] - h for name, h in left.histograms.items()},
        {name: whole.moments[name] - m for name, m in left.moments.items()},
    )


def _some(stats: Statistics, which: NDArray[np.bool_]) -> Statistics:
    """The sums of some groups."""
    return Statistics(
        stats.size[which],
        stats.domains,
        {name: h[which] for name, h in stats.histograms.items()},
        {name: m[which] for name, m in stats.moments.items()},
    )


def _between(ends: Statistics) -> Statistics:
    """The groups between running sums."""
    return Statistics(
        np.diff(ends.size, prepend=0),
        ends.domains,
        {name: np.diff(h, axis=0, prepend=0) for name, h in ends.histograms.items()},
        {name: np.diff(m, axis=0, prepend=0.0) for name, m in ends.moments.items()},
    )


def _width(line: Line, low: int, high: int) -> float:
    """Normalised width of a line over some codes, times its weight, as the kernel computes it."""
    if low == high:
        return 0.0
    if high == line.missing_code:
        return line.weight
    if line.kind is Kind.ORDERED:
        return max(line.weight * (float(line.places[high] - line.places[low]) / line.span), TINY)
    if line.kind is Kind.NOMINAL:
        return line.weight * ((high - low + 1) / line.size)
    assert line.tree is not None
    node = int(line.tree.lowest(np.array([low]), np.array([high]))[0])
    return line.weight * ((int(line.tree.high[node]) - int(line.tree.low[node]) + 1) / line.size)


def exactly(requirements: Sequence[Requirement]) -> Allowed:
    """Allowable by definition: every requirement holds."""

    def allowed(stats: Statistics, parts: int) -> NDArray[np.bool_]:
        held = np.ones(len(stats.size), dtype=np.bool_)
        for requirement in requirements:
            held &= requirement.satisfied(stats)
        return held

    return allowed
