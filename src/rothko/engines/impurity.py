"""How mixed a target is in the parts of a cut: InfoGain for labels, Regression for numbers.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3. Computed from sums, with the same rounding as in
:mod:`rothko.kernels.mondrian.gain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.line import Kind
from rothko.engines.candidates import Values
from rothko.engines.frequency_set import CELLS, Floats, Ints, sums_before
from rothko.kernels.mondrian.target_cells import LABEL
from rothko.workload.criteria import Criteria, logarithm


class Target:
    """The impurity of one target over both sides of a cut."""

    def __init__(self, criteria: Criteria, t: int, name: str, domain: Domain) -> None:
        self.name, self.labels = name, len(domain.values)
        self.is_label = criteria.targets[t, 0] == LABEL
        self.factor = float(criteria.factors[t])

    def uncut(self, v: Values) -> float:
        """Of all records of a node."""
        return float(self._over(v, np.array([len(v.codes)]))[0])

    def scores(self, v: Values) -> Floats:
        """Of every candidate of a line, or of the one specialisation of a tree."""
        if v.line.kind is Kind.TREE:
            if len(v.codes) < 2:
                return np.array([np.inf])
            return self._over(v, v.split()[2][1:])
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
            left = before + sums_before(sums, rows[base:], some - base)
            found[begin : begin + step] = self._score([left, whole - left])
            before, base = left[-1], int(some[-1])
        return found

    def _sums(self, v: Values) -> NDArray[Any]:
        if self.is_label:
            return v.given.histograms[self.name][:, : self.labels]
        return v.given.numbers[self.name]

    def _over(self, v: Values, edges: Ints) -> Floats:
        """Over parts that end at rising places."""
        sums = np.diff(sums_before(self._sums(v), v.rows, edges), axis=0, prepend=0)
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
