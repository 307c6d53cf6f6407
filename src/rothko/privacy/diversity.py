"""l-diversity: no class pins a sensitive value on its records.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, ICDE 2006 (distinct, entropy, recursive); LeFevre,
DeWitt, Ramakrishnan, TODS 2008, Definitions 2.2 and 2.3. The frequency form is that of Xiao and Tao
(Anatomy, VLDB 2006), and Definition 3 of Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, section 2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.privacy.confidence import Sampling
from rothko.privacy.requirement import Requirement, Rule, as_written, kernel_ratio, number, whole_number
from rothko.privacy.statistics import Statistics

MARGIN = 1e-9
"""An entropy counts as reached only when it is above its bound by this much, which no rounding error is; the kernels
ask for twice as much. A class in which all values are as frequent is compared by their number, without a margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctLDiversity(Requirement):
    """Every class has at least ``l`` distinct values of a sensitive column; missing is one value.

    >>> DistinctLDiversity(l=3, of="disease").describe()
    'distinct-l-diversity of disease with l = 3'
    """

    name: ClassVar[str] = "distinct-l-diversity"
    by_presence: ClassVar[bool] = True

    l: int  # noqa: E741 (the literature's letter is the public parameter)
    """The fewest distinct values of a class; at least 2."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        whole_number(self.name, "l", self.l, least=2)

    @property
    def least(self) -> int:
        """As many records as values."""
        return self.l

    @property
    def asked(self) -> float:
        """The l asked for."""
        return self.l

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """How many values occur in each class."""
        return distinct(stats.histograms[self.of])

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """Certain: the values of the sample are in the population."""
        return self.satisfied(stats)

    def rule(self, domain: Domain) -> Rule | None:
        """Counts values as they appear."""
        from rothko.kernels.rules import DISTINCT

        return Rule(DISTINCT, domain.size, ratio=(self.l, 1))

    def sql(self) -> str:
        """The number of distinct values."""
        return distinct_sql(self.l)

    def describe(self) -> str:
        """Name, column and l."""
        return f"{self.name} of {self.of} with l = {self.l}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyLDiversity(Requirement):
    """The entropy of a sensitive column is at least log ``l`` in every class; missing is one value.

    What a class reaches is exp(entropy): as many equally frequent values would be as hard to guess.

    >>> EntropyLDiversity(l=2.5, of="disease").describe()
    'entropy-l-diversity of disease with l = 2.5'
    """

    name: ClassVar[str] = "entropy-l-diversity"

    l: float  # noqa: E741
    """The effective number of values; above 1, not necessarily whole."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        number(self.name, "l", self.l, above=1)

    @property
    def least(self) -> int:
        """As many records as values, of which there are at least l."""
        return math.ceil(self.l)

    @property
    def asked(self) -> float:
        """The l asked for."""
        return self.l

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """What each class reaches for certain; exactly the number of values where all are as frequent."""
        entropy, even = self._entropy(stats)
        return np.where(even > 0, even, np.exp(entropy - 2 * MARGIN))

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """Above the bound by more than rounding, or even and exactly on it."""
        entropy, even = self._entropy(stats)
        return np.asarray((entropy - math.log(self.l) >= 2 * MARGIN) | (even >= self.l))

    def _entropy(self, stats: Statistics) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The entropy of each class, and its number of values where all are as frequent, else 0."""
        counts = stats.histograms[self.of]
        positive = np.maximum(counts, 1).astype(np.float64)  # 0 · log 0 = 0
        weighted = np.sum(positive * np.log(positive), axis=1)
        counted = stats.counted(self.of)
        size = np.maximum(counted, 1)
        values = distinct(counts)
        even = np.where(values * counts.max(axis=1) == counted, values, 0.0)
        return np.log(size) - weighted / size, even

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """Ours, since the paper found none: the entropy of the sample, its bias taken off, above log l by a margin.

        The entropy of n records lies below that of the population by (m − 1)/2n for m values (Miller 1955); it varies
        by Σ p log² p − H² for one record (the delta method), and by (m − 1)/2n² where all values are as frequent and
        the former is 0. Both with the finite population correction. It is no more than the values of the column allow.
        """
        entropy, _ = self._entropy(stats)
        counts, size = stats.histograms[self.of], stats.size
        several = np.maximum(size, 1)
        shares = np.maximum(counts, 1) / several[:, None]
        spread = np.sum(counts * np.log(shares) ** 2, axis=1) / several - entropy**2
        more = np.maximum(distinct(counts) - 1, 0)
        variance = np.maximum(spread, 0) + more / (2 * several)
        bias = more / (2 * several) * sampling.correction
        most = math.log(max(int(np.count_nonzero(stats.domains[self.of].counts)), 1))
        corrected = np.minimum(entropy + bias, most)
        return np.asarray((corrected - math.log(self.l) >= sampling.margin(variance, size)) & (size > 1))

    def rule(self, domain: Domain) -> Rule | None:
        """Keeps Σ c log c."""
        from rothko.kernels.rules import ENTROPY, logarithms

        facts = np.concatenate([[math.log(self.l), 2 * MARGIN, self.l], logarithms])
        return Rule(ENTROPY, domain.size, facts=facts)

    def sql(self) -> str:
        """The entropy from the counts of a class."""
        return f"""
            SELECT size, CASE WHEN even THEN vals ELSE exp(entropy - {MARGIN}) END AS score,
                   entropy - ln({float(self.l)!r}) >= {MARGIN} OR (even AND vals >= {self.l!r}) AS holds
            FROM (SELECT max(size) AS size, count(*) AS vals, min(c) = max(c) AS even,
                         ln(sum(c)) - sum(c * ln(c)) / sum(c) AS entropy FROM counted GROUP BY class)"""

    def describe(self) -> str:
        """Name, column and l."""
        return f"{self.name} of {self.of} with l = {self.l:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveLDiversity(Requirement):
    """r1 < ``c`` · (r_l + … + r_m) in every class, r falling: frequencies of a sensitive column; missing is one value.

    What a class reaches is the largest l that holds with this c; l = 1 always does.

    >>> RecursiveLDiversity(c=3, l=2, of="disease").describe()
    'recursive-l-diversity of disease with c = 3, l = 2'
    """

    name: ClassVar[str] = "recursive-l-diversity"

    c: float
    """How many times the rarer values the most frequent one may not reach; above 0."""
    l: int  # noqa: E741
    """The value from which on they count as rarer; at least 1."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        number(self.name, "c", self.c, above=0)
        whole_number(self.name, "l", self.l, least=1)

    @property
    def least(self) -> int:
        """As many records as values, of which there are at least l."""
        return self.l

    @property
    def asked(self) -> float:
        """The l asked for."""
        return self.l

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """The largest l that holds in each class."""
        p, q = kernel_ratio(as_written(self.c))
        falling = -np.sort(-stats.histograms[self.of], axis=1)
        # r_i + … + r_m is what is left beside the i − 1 most frequent values; i = 2, 3, …
        rest = stats.counted(self.of)[:, None] - np.cumsum(falling, axis=1)
        return np.asarray(1.0 + np.count_nonzero(falling[:, :1] * q < p * rest, axis=1))

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The paper's: c · p2 − p1 above its margin, with the two shares of the sample as if they were independent."""
        if self.l == 1:
            return self.satisfied(stats)
        several = np.maximum(stats.size, 1)
        falling = -np.sort(-stats.histograms[self.of], axis=1)
        p1 = falling[:, 0] / several
        p2 = falling[:, self.l - 1 :].sum(axis=1) / several
        variance = self.c**2 * p2 * (1 - p2) + p1 * (1 - p1)
        return np.asarray((self.c * p2 - p1 > sampling.margin(variance, stats.size)) & (stats.size > 1))

    def rule(self, domain: Domain) -> Rule | None:
        """Bounds from the most frequent value, the exact sum where they do not decide."""
        if self.l == 1:
            return None
        from rothko.kernels.rules import RECURSIVE

        return Rule(RECURSIVE, domain.size, ratio=kernel_ratio(as_written(self.c)), depth=self.l)

    def sql(self) -> str:
        """Running sums over the falling frequencies, in whole numbers."""
        c = as_written(self.c)
        return f"""
            SELECT max(size) AS size,
                   1 + count(*) FILTER ((n - upto) * {c.numerator} > top::HUGEINT * {c.denominator}) AS score,
                   score >= {self.l} AS holds
            FROM (SELECT class, size, max(c) OVER (PARTITION BY class) AS top, sum(c) OVER (PARTITION BY class) AS n,
                         sum(c) OVER (PARTITION BY class ORDER BY c DESC ROWS UNBOUNDED PRECEDING) AS upto FROM counted)
            GROUP BY class"""

    def describe(self) -> str:
        """Name, column, c and l."""
        return f"{self.name} of {self.of} with c = {self.c:g}, l = {self.l}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyLDiversity(Requirement):
    """No value of a sensitive column has more than 1/``l`` of a class; missing is one value.

    Where records have an owner, no more than 1/``l`` of the people have it.

    >>> FrequencyLDiversity(l=3, of="disease").describe()
    'frequency-l-diversity of disease with l = 3'
    """

    name: ClassVar[str] = "frequency-l-diversity"

    l: float  # noqa: E741
    """One over the largest share; above 1, not necessarily whole."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        number(self.name, "l", self.l, above=1)

    @property
    def least(self) -> int:
        """One record has a share of 1/l at most among l of them."""
        return math.ceil(self.l)

    @property
    def asked(self) -> float:
        """The l asked for."""
        return self.l

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """Records of each class for one of its most frequent value."""
        return np.asarray(stats.heads / np.maximum(stats.histograms[self.of].max(axis=1), 1))

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """In whole numbers."""
        return within_share(stats, self.of, *self._share())

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The largest share of the sample below 1/l by a margin."""
        return confident_share(stats, self.of, 1 / self.l, sampling)

    def _share(self) -> tuple[int, int]:
        p, q = kernel_ratio(as_written(self.l), up=True)
        return q, p

    def rule(self, domain: Domain) -> Rule | None:
        """Keeps the count of the most frequent value."""
        from rothko.kernels.rules import SHARE

        return Rule(SHARE, domain.size, ratio=self._share())

    def sql(self) -> str:
        """In whole numbers."""
        asked = as_written(self.l)
        return share_sql("heads / top", asked.denominator, asked.numerator)

    def describe(self) -> str:
        """Name, column and l."""
        return f"{self.name} of {self.of} with l = {self.l:g}"


def distinct(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many values occur in each class."""
    return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)


def distinct_sql(least: int) -> str:
    """At least so many distinct values."""
    return f"SELECT max(size) AS size, count(*) AS score, count(*) >= {least} AS holds FROM counted GROUP BY class"


def within_share(stats: Statistics, column: str, p: int, q: int) -> NDArray[np.bool_]:
    """Whether the most frequent value of each class has at most p/q of it."""
    return np.asarray(stats.histograms[column].max(axis=1) * q <= stats.heads * p)


def confident_share(stats: Statistics, column: str, share: float, sampling: Sampling) -> NDArray[np.bool_]:
    """Whether the most frequent value of each class can be taken to have at most a share of it in the population.

    Ours, in the spirit of the paper's test for k: the largest share of the sample is below the bound by a margin, with
    the variance that a share on the bound has. One value above it is enough to violate, and its own share of the sample
    lies this low with probability level at most; so there is nothing to correct for the number of values.
    """
    largest = stats.histograms[column].max(axis=1) / np.maximum(stats.size, 1)
    return np.asarray(largest <= share - sampling.margin(share * (1 - share), stats.size))


def share_sql(score: str, p: int, q: int) -> str:
    """At most p/q of a class for its most frequent value."""
    return f"""
        SELECT size, {score} AS score, top::HUGEINT * {q} <= heads * {p} AS holds
        FROM (SELECT max(size) AS size, max(heads) AS heads, max(c) AS top FROM counted GROUP BY class)"""
