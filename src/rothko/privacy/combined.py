"""k-anonymity with a condition on a sensitive column in one name, as the literature has them.

(α, k)-anonymity: Wong, Li, Fu, Wang, KDD 2006, in its general form, in which every sensitive value is
protected. p-sensitive k-anonymity: Truta and Vinay, ICDE Workshops 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.privacy.confidence import Sampling
from rothko.privacy.diversity import confident_share, distinct, distinct_sql, share_sql, within_share
from rothko.privacy.kanonymity import KAnonymity
from rothko.privacy.requirement import Requirement, Rule, as_written, kernel_ratio, number, whole_number
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaK(Requirement):
    """No value of a sensitive column has more than ``alpha`` of a class, and every class has at least ``k`` records.

    >>> AlphaK(alpha=0.5, k=10, of="disease").describe()
    'alpha-k of disease with alpha = 0.5, k = 10'
    """

    name: ClassVar[str] = "alpha-k"
    falling: ClassVar[bool] = True

    alpha: float
    """The largest share; above 0 and at most 1."""
    k: int
    """The fewest records, or people where these have an owner, of a class; at least 2."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        number(self.name, "alpha", self.alpha, above=0, most=1)
        whole_number(self.name, "k", self.k, least=2)

    def parts(self, owner: str | None = None) -> tuple[Requirement, ...]:
        """The share, and k."""
        return (self, KAnonymity(k=self.k, of=owner, over=self.over))

    @property
    def least(self) -> int:
        """K records, and so many that one of them has no larger share."""
        return max(self.k, math.ceil(1 / as_written(self.alpha)))

    @property
    def asked(self) -> float:
        """The alpha asked for."""
        return self.alpha

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """The largest share in each class."""
        return np.asarray(stats.histograms[self.of].max(axis=1) / np.maximum(stats.heads, 1))

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """In whole numbers."""
        return np.asarray(self._within(stats) & (stats.heads >= self.k))

    def _within(self, stats: Statistics) -> NDArray[np.bool_]:
        return within_share(stats, self.of, *kernel_ratio(as_written(self.alpha)))

    def _naive(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The share of the sample, and k · n/N records."""
        return np.asarray(self._within(stats) & (stats.size >= sampling.fewest(self.k)))

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """Share and k by themselves: where one of them is violated, its own test refuses at the level asked for."""
        share = confident_share(stats, self.of, self.alpha, sampling)
        return np.asarray(share & (stats.size >= sampling.fewest(self.k)))

    def rule(self, domain: Domain) -> Rule | None:
        """Keeps the count of the most frequent value."""
        from rothko.kernels.rules import SHARE

        return Rule(SHARE, domain.size, ratio=kernel_ratio(as_written(self.alpha)))

    def sql(self) -> str:
        """The share alone, in whole numbers; k is a part of its own."""
        asked = as_written(self.alpha)
        return share_sql("top / heads", asked.numerator, asked.denominator)

    def describe(self) -> str:
        """Name, column, alpha and k."""
        return f"{self.name} of {self.of} with alpha = {self.alpha:g}, k = {self.k}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PSensitive(Requirement):
    """Every class has at least ``p`` distinct values of a sensitive column and ``k`` records; missing is one value.

    >>> PSensitive(p=2, k=10, of="disease").describe()
    'p-sensitive of disease with p = 2, k = 10'
    """

    name: ClassVar[str] = "p-sensitive"
    by_presence: ClassVar[bool] = True

    p: int
    """The fewest distinct values of a class; at least 2."""
    k: int
    """The fewest records, or people where these have an owner, of a class; at least 2."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        whole_number(self.name, "p", self.p, least=2)
        whole_number(self.name, "k", self.k, least=2)

    def parts(self, owner: str | None = None) -> tuple[Requirement, ...]:
        """The values, and k."""
        return (self, KAnonymity(k=self.k, of=owner, over=self.over))

    @property
    def least(self) -> int:
        """K records, and as many as values."""
        return max(self.k, self.p)

    @property
    def asked(self) -> float:
        """The p asked for."""
        return self.p

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """How many values occur in each class."""
        return distinct(stats.histograms[self.of])

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """Values and records."""
        return np.asarray((self.scores(stats) >= self.p) & (stats.heads >= self.k))

    def _naive(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The values of the sample, and k · n/N records."""
        return self._confident(stats, sampling)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The values and the people of the sample are in the population for certain; k records by their own test."""
        enough = stats.size >= sampling.fewest(self.k) if stats.people is None else stats.people >= self.k
        return np.asarray((self.scores(stats) >= self.p) & enough)

    def rule(self, domain: Domain) -> Rule | None:
        """Counts values as they appear."""
        from rothko.kernels.rules import DISTINCT

        return Rule(DISTINCT, domain.size, ratio=(self.p, 1))

    def sql(self) -> str:
        """The values alone; k is a part of its own."""
        return distinct_sql(self.p)

    def describe(self) -> str:
        """Name, column, p and k."""
        return f"{self.name} of {self.of} with p = {self.p}, k = {self.k}"
