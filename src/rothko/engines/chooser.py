"""Choosing a cut from frequency groups: the same cuts as :mod:`rothko.kernels.mondrian.grow` chooses from records.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, sections 2.2, 3 and 5.1. The frequency set of a line has, for every
value in a node, how many records have it and what adds up over them: histograms of sensitive values and labels,
moments, sums of targets. It does not matter where they were counted: in memory, over passes from disk, in a sample.

Candidates are asked in the order in which they would be chosen, the first that is allowable wins, and few are asked as
a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Kind, Line
from rothko.engines.candidates import Allowed, Cut, Values
from rothko.engines.crowd import Crowd, Spans
from rothko.engines.frequency_set import Floats, FrequencyGroup, Ints
from rothko.engines.impurity import Target
from rothko.kernels.boxes import TINY
from rothko.kernels.mondrian.gain import SURE
from rothko.kernels.mondrian.nodes import GAIN, MEDIAN, SELECTION
from rothko.methods.mondrian.problem import Region
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics
from rothko.workload.criteria import Criteria


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
    letter: bool = False
    """Whether every criterion goes by the letter of the paper."""

    def undecided(self, group: FrequencyGroup) -> list[Spans]:
        """Line by line, the codes in parts of so few records that it must be asked how many people these are of."""
        return [Values(self, line, given).undecided() for line, given in zip(self.lines, group, strict=True)]

    def first_phase(self) -> int:
        """The criterion that begins."""
        return MEDIAN if self.criteria is None else self.criteria.first_phase

    def choose(self, group: FrequencyGroup, phase: int, region: Region) -> Cut | None:
        """The cut of a node, or None where there is no allowable one."""
        values = [Values(self, line, given) for line, given in zip(self.lines, group, strict=True)]
        if values[0].records < 2 * self.least:
            return None
        if phase == SELECTION:
            hit = self._overlapped(values, region)
            cut = self._best(values, self._savings(values, hit, region), SELECTION)
            if cut is not None:
                return self._at_the_edge(values, cut, hit)
            assert self.criteria is not None
            phase = GAIN if len(self.criteria.targets) else MEDIAN
        if phase == GAIN:
            cut = self._most_gained(values)
            if cut is not None or self.letter:
                return cut
        return self._widest(values)

    # ── Median ──────────────────────────────────────────────────────────────────────────────────

    def _widest(self, values: Sequence[Values]) -> Cut | None:
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
            if self.letter:
                places = np.intersect1d(places, [np.searchsorted(v.before, (v.records - 1) // 2, side="right")])
            places = places[np.lexsort((places, np.abs(2 * v.before[places] - v.records)))]
            for place in v.first_that_holds(places):
                cut = v.cut_at(a, place, MEDIAN)
                return replace(cut, begins=(cut.begins[0], int(v.codes[place - 1]) + 1)) if self.letter else cut
        return None

    # ── Selection ───────────────────────────────────────────────────────────────────────────────

    def _savings(self, values: Sequence[Values], hit: Ints, region: Region) -> list[Floats]:
        """By how much each candidate of each line raises the imprecision: less than 0 where it saves."""
        c, found = self.criteria, []
        assert c is not None
        for a, v in enumerate(values):
            lows, highs, weights = c.box_low[hit, a], c.box_high[hit, a], c.weights[hit]
            if v.line.kind is Kind.TREE:
                first, last = v.child_spans
                if self.letter and len(first):
                    first = np.append(region[0][a], first[1:])
                    last = np.append(first[1:] - 1, region[1][a])
                saved = 0.0
                for child, size in enumerate(v.child_sizes.tolist()):
                    for q in range(len(hit)):
                        if last[child] < lows[q] or first[child] > highs[q]:
                            saved += weights[q] * size
                found.append(np.array([-saved]))
                continue
            saves, places = _Saves(lows, highs, weights, v.records), v.candidates()
            if self.letter:
                found.append(-saves.by_regions(v, places))
            else:
                found.append(-saves(v.codes[places - 1] + 1, v.codes[places], v.before[places]))
        return found

    def _overlapped(self, values: Sequence[Values], region: Region) -> Ints:
        """The queries that a node overlaps, by the smallest box around its records; to the letter by its region."""
        c = self.criteria
        assert c is not None
        low, high = region if self.letter else (np.array([v.span[i] for v in values]) for i in (0, 1))
        return np.flatnonzero(((high >= c.box_low) & (low <= c.box_high)).all(axis=1))

    def _at_the_edge(self, values: Sequence[Values], cut: Cut, hit: Ints) -> Cut:
        """A cut where the regions beside it save most, between the same records: there, or where a query begins."""
        c, v, a = self.criteria, values[cut.line], cut.line
        assert c is not None
        if v.line.kind is Kind.TREE or cut.begins[1] == v.line.missing_code:
            return cut
        last, first = int(v.codes[np.searchsorted(v.codes, cut.begins[1]) - 1]), cut.begins[1]
        lows = c.box_low[hit, a]
        edges = np.append(first, np.unique(lows[(lows > last) & (lows < first)])[::-1])
        saves = _Saves(lows, c.box_high[hit, a], c.weights[hit], v.records)
        edge = edges[np.argmax(saves(edges, edges, np.full(len(edges), cut.sizes[0])))]
        return replace(cut, begins=(cut.begins[0], int(edge)))

    def _best(self, values: Sequence[Values], scores: Sequence[Floats], phase: int, bound: float = 0.0) -> Cut | None:
        """The allowable candidate with the lowest score below the bound; ties as in
        :mod:`rothko.kernels.mondrian.gain`.
        """
        waiting = []
        for a, (v, score) in enumerate(zip(values, scores, strict=True)):
            if v.line.kind is Kind.TREE:
                if len(v.codes) > 1 and score[0] < bound:
                    waiting.append((float(score[0]), v.unevenness, a, -1))
                continue
            order = v.preferred(score, bound)
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

    def _most_gained(self, values: Sequence[Values]) -> Cut | None:
        """The cut with the lowest impurity, where it gains enough."""
        c = self.criteria
        assert c is not None
        targets = [Target(c, t, name, self.domains[name]) for t, name in enumerate(self.targets)]
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
            scores.append(seen + unseen if looked_at or self.letter else np.full(len(seen), np.inf))
        cut = self._best(values, scores, GAIN, bound=np.inf)
        if cut is None or self.letter:
            return cut
        v = values[cut.line]
        place = 0 if v.line.kind is Kind.TREE else int(np.searchsorted(v.codes[v.candidates()], cut.begins[1]))
        gain = whole - float(scores[cut.line][place])
        gain = 0.0 if gain <= SURE * abs(whole) else gain / v.records
        return cut if gain > 0.0 and gain >= c.minimum_gain else None


class _Saves:
    """What cuts of a line save: queries that the left part ends before, and that the right part begins after."""

    def __init__(self, lows: Ints, highs: Ints, weights: Floats, records: int) -> None:
        by_low, by_high = np.argsort(lows, kind="stable"), np.argsort(highs, kind="stable")
        self._lows, self._highs, self._records = lows[by_low], highs[by_high], records
        self._from_low = np.append(np.cumsum(weights[by_low][::-1])[::-1], 0.0)
        self._to_high = np.append(0.0, np.cumsum(weights[by_high]))

    def __call__(self, after: NDArray[np.integer], begins: NDArray[np.integer], left: Ints) -> Floats:
        """By the first code after the left part, the first of the right one, and the records on the left."""
        below, above = np.searchsorted(self._lows, after), np.searchsorted(self._highs, begins)
        saved: Floats = self._from_low[below] * left + self._to_high[above] * (self._records - left)
        return saved

    def by_regions(self, v: Values, places: Ints) -> Floats:
        """What the cut before each value saves at most, wherever between it and the value before it lies."""
        codes, left = v.codes.astype(np.int64), v.before
        most = self(codes[places], codes[places], left[places])
        edges = np.unique(self._lows)
        between = np.searchsorted(codes, edges)
        inside = np.isin(between, places)
        edges, between = edges[inside], between[inside]
        there = (codes[between] != edges) & (codes[between] != v.line.missing_code)
        edges, between = edges[there], between[there]
        np.maximum.at(most, np.searchsorted(places, between), self(edges, edges, left[between]))
        return most


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
