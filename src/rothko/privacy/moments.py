"""Diversity of numbers: the values of a class are not only distinct, they lie apart.

Variance diversity: LeFevre, DeWitt, Ramakrishnan, TODS 2008, Definition 2.4 (population variance). Squared-error
diversity: the same, KDD 2006 (workload-aware anonymization), section 2.

Missing values have no place among numbers: the variance of a class is that of the numbers that are there, and 0
where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.privacy.confidence import Sampling, chi_square
from rothko.privacy.requirement import Requirement, Rule, number
from rothko.privacy.statistics import Statistics

ROUNDING = 2.0**-52
EXACT = 2.0**53
ALLOWANCE = 1e-9
"""How far below its bound, in parts of it, a variance may come out in SQL: sums of a million floating-point numbers
are known no better. The kernels allow nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spread(Requirement):
    """Both requirements are about Σ (s − mean)²."""

    needs: ClassVar = "moments"
    per_record: ClassVar[bool]
    """Whether the sum is divided by the number of records."""

    of: str
    """The sensitive column, of numbers."""

    @property
    def least(self) -> int:
        """One number has no spread."""
        return 2 if self.asked > 0 else 1

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """The sum of squares around the mean of each class, or the mean of these."""
        n, s, squares = stats.moments[self.of].T
        there = np.maximum(n, 1)
        with np.errstate(invalid="ignore"):
            found = np.maximum(squares - s * (s / there), 0.0)
        return np.asarray(found / there if self.per_record else found)

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """Beyond what rounding may have added."""
        n, s, squares = stats.moments[self.of].T
        with np.errstate(over="ignore", invalid="ignore"):
            product = n * squares
            loose = np.where(stats.domains[self.of].whole & (squares < EXACT), 4.0, 4.0 * (n + 4.0)) * ROUNDING
            error = np.where(stats.domains[self.of].whole & (product < EXACT), 0.0, loose * product)
            bound = self.asked * n * (1.0 - 2.0 * ROUNDING)  # 0.56 · 25 must not come out above 14
            bound = bound * n if self.per_record else bound
            return np.asarray((product - s * s - error >= bound) & (n > 0) if self.asked > 0 else n >= 0)

    def _squares(self, stats: Statistics) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How many numbers each group has, and the sum of their squares around their mean."""
        n, s, squares = stats.moments[self.of].T
        with np.errstate(invalid="ignore"):
            return n.astype(np.int64), np.maximum(squares - s * (s / np.maximum(n, 1)), 0.0)

    def rule(self, domain: Domain) -> Rule | None:
        """Keeps the moments."""
        if self.asked == 0:
            return None
        from rothko.kernels.rules import SQUARED_ERROR, VARIANCE

        kind = VARIANCE if self.per_record else SQUARED_ERROR
        facts = np.append(self.asked, domain.deviations)
        return Rule(kind, domain.size, depth=int(domain.whole), facts=facts)

    def sql(self) -> str:
        """From the squares around the mean that the verifier has of each class."""
        score = "squares / greatest(present, 1)" if self.per_record else "squares"
        least = float(self.asked) * (1 - ALLOWANCE)
        return f"SELECT size, {score} AS score, score >= {least!r} AS holds FROM class"


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceDiversity(_Spread):
    """The population variance of a numeric sensitive column is at least ``v`` in every class.

    >>> VarianceDiversity(v=100, of="salary").describe()
    'variance-diversity of salary with v = 100'
    """

    name: ClassVar[str] = "variance-diversity"
    per_record: ClassVar[bool] = True

    v: float
    """The smallest variance, in the square of the column's unit; at least 0."""

    def _validate(self) -> None:
        number(self.name, "v", self.v, least=0)

    @property
    def asked(self) -> float:
        """The v asked for."""
        return self.v

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The paper's: (n − 1) · variance / v is chi-square distributed where the numbers are normal and independent.

        A rule of thumb for any others, and without a finite population correction.
        """
        if self.v == 0:
            return self.satisfied(stats)
        n, squares = self._squares(stats)
        return np.asarray(squares >= self.v * chi_square(sampling.level, n - 1))

    def describe(self) -> str:
        """Name, column and v."""
        return f"{self.name} of {self.of} with v = {self.v:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredErrorDiversity(_Spread):
    """Σ (s − mean)² of a numeric sensitive column is at least ``error`` in every class.

    >>> SquaredErrorDiversity(error=100, of="salary").describe()
    'squared-error-diversity of salary with error = 100'
    """

    name: ClassVar[str] = "squared-error-diversity"
    per_record: ClassVar[bool] = False

    error: float
    """The smallest sum of squares, in the square of the column's unit; at least 0."""

    def _validate(self) -> None:
        number(self.name, "error", self.error, least=0)

    @property
    def asked(self) -> float:
        """The error asked for."""
        return self.error

    def _naive(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The sum of the sample, scaled by N/n."""
        return np.asarray(self._squares(stats)[1] >= self.error * sampling.share)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """Ours, since the paper has none: the sum of the sample scaled by N/n, on the good side by a margin.

        It estimates a total over the class, of which both the size and the variance are unknown. For normal numbers one
        term (s − mean)² has a mean square of 3σ⁴, so that n of them are off by √(3/n) of the total, as one standard
        deviation. A sum that the sample alone reaches is certain: more records only add to it.
        """
        if self.error == 0:
            return self.satisfied(stats)
        n, squares = self._squares(stats)
        total = squares * (n / np.maximum(n - 1, 1)) / sampling.share
        return np.asarray((total >= self.error * (1.0 + sampling.margin(3.0, n))) | self.satisfied(stats))

    def describe(self) -> str:
        """Name, column and error."""
        return f"{self.name} of {self.of} with error = {self.error:g}"
