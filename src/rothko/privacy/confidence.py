"""From a sample to the population: when a requirement can be taken to hold (LeFevre, DeWitt, Ramakrishnan, TODS 2008,
section 5.2.1).

Rothko-S looks at a simple random sample, drawn without replacement, and makes a cut where it can tell with confidence
that every part satisfies the requirements in the population. The null hypothesis is that a part does not; it is
rejected at level α/m, with m the number of parts of one cut (Bonferroni), so that a cut that is not allowed is made
with probability α at most. What was accepted in error is found when all records are counted, and undone: a test
decides how much work is undone, never what is released.

There are three tests:

- ``normal``: the paper's, with the normal approximation and the finite population correction (N − n)/N;
- ``exact``: k-anonymity by the hypergeometric distribution, which the count of a sample follows exactly. A part with
  few records in the sample, where the normal curve is far from the truth, is judged at the level that was asked for.
  All else as in ``normal``;
- ``naive``: the requirement asked of the sample itself, sizes scaled by n/N; the paper's point of comparison (6.6).

Where the sample is the population, each of them is the definition. Beyond the paper: k records of a class that were
seen are k records, whatever the normal approximation says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Test = Literal["exact", "normal", "naive"]

TABLED = 1000
"""Degrees of freedom up to which chi-square quantiles are refined; above, Wilson and Hilferty's are right to 1e-5
at any level in use."""
REACH = 40.0
"""How many standard deviations around the mean of a hypergeometric distribution count: beyond, e^−800 is left."""


@dataclass(frozen=True)
class Sampling:
    """How much of a population was seen, and how sure one must be.

    >>> Sampling(1_000, 100_000, parts=2, alpha=0.05).fewest(100)
    4
    """

    sample: int
    """Records in the sample."""
    population: int
    """Records in the population."""
    parts: int = 1
    """Parts of one cut, which are tested together."""
    alpha: float = 0.05
    """How often one of these may be accepted in error."""
    test: Test = "exact"

    def __post_init__(self) -> None:
        if not 0 <= self.sample <= self.population:
            raise ValueError(f"a sample of {self.sample} records cannot come from {self.population}")
        if self.parts < 1 or not 0 < self.alpha < 1 or self.test not in get_args(Test):
            raise ValueError(f"parts {self.parts}, alpha {self.alpha} or test {self.test!r} is out of range")

    @property
    def complete(self) -> bool:
        """Whether the sample is the population."""
        return self.sample == self.population

    @property
    def level(self) -> float:
        """α of one part."""
        return self.alpha / self.parts

    @cached_property
    def z(self) -> float:
        """The number that a standard normal variable exceeds with probability :attr:`level`."""
        return -NormalDist().inv_cdf(self.level)

    @property
    def share(self) -> float:
        """How much of the population was seen."""
        return self.sample / self.population if self.population else 1.0

    @property
    def correction(self) -> float:
        """The finite population correction of a variance."""
        return 1.0 - self.share

    def margin(self, variance: NDArray[np.float64] | float, size: NDArray[np.integer]) -> NDArray[np.float64]:
        """How far an average over ``size`` records of a class must be on the good side, given the variance of one.

        A class of fewer than two records says nothing about itself, unless there is nothing to vary.
        """
        some = np.asarray(variance) / np.maximum(size - 1.0, 1.0)
        margin = self.z * np.sqrt(some * self.correction)
        return np.asarray(np.where((size < 2) & (np.asarray(variance) > 0), np.inf, margin), dtype=np.float64)

    def fewest(self, k: int) -> int:
        """How many records of a class the sample must have for k to be in the population."""
        return fewest(k, self.sample, self.population, self.level, self.test)


@lru_cache(maxsize=4096)
def fewest(k: int, sample: int, population: int, level: float, test: Test) -> int:
    """The smallest count in a sample with which a class is taken to have k records in the population.

    Parameters
    ----------
    level
        How often fewer than k records may be taken for k.

    Examples
    --------
    One record in a thousand is seen: of a class of k = 1000 the naive check expects one.

    >>> [fewest(1000, 1_000, 1_000_000, 0.025, test) for test in ("naive", "normal", "exact")]
    [1, 3, 4]
    """
    if sample == population or k > population:
        return k
    naive = -(-k * sample // population)
    if test == "naive":
        return naive
    if test == "normal":
        least = least_share(k, sample, population, level) * sample
        # Rounding must not ask for one more record than the formula does.
        return min(k, math.ceil(least * (1 - 1e-12)) if math.isfinite(least) else k)
    low, tails = hypergeometric_tails(population, k - 1, sample)
    enough = np.flatnonzero(tails <= level)
    return low + (int(enough[0]) if len(enough) else len(tails))


def least_share(k: int, sample: int, population: float, level: float) -> float:
    """The least share of a sample with which the paper's test accepts: p0 + z · √(p0 (1 − p0)/(n − 1) · (N − n)/N)."""
    share = k / population
    if sample < 2 or share > 1:
        return math.inf
    variance = share * (1 - share) / (sample - 1) * (population - sample) / population
    return share - NormalDist().inv_cdf(level) * math.sqrt(variance)


def hypergeometric_tails(population: int, marked: int, sample: int) -> tuple[int, NDArray[np.float64]]:
    """P(X ≥ x) for x = low, low + 1, … where a sample has X of the marked records; low comes first.

    From the ratios of neighbouring probabilities, which need no logarithm of a factorial and lose no digits however
    large the population is; only as far around the mean as there is anything to add.

    >>> low, tails = hypergeometric_tails(10, 5, 4)
    >>> low, tails.round(4).tolist()
    (0, [1.0, 0.9762, 0.7381, 0.2619, 0.0238])
    """
    mean = sample * (marked / population)
    deviation = math.sqrt(mean * (1 - marked / population) * (population - sample) / max(population - 1, 1))
    around = REACH * (deviation + 1) + REACH
    low = max(0, sample + marked - population, math.floor(mean - around))
    high = min(marked, sample, math.ceil(mean + around))
    x = np.arange(low, high, dtype=np.float64)
    rises = np.log((marked - x) * (sample - x)) - np.log((x + 1) * (population - marked - sample + x + 1))
    logs = np.append(0.0, np.cumsum(rises))
    chances = np.exp(logs - logs.max())
    tails = np.cumsum(chances[::-1])[::-1]
    return low, np.asarray(tails / tails[0])


def chi_square(level: float, degrees: NDArray[np.integer]) -> NDArray[np.float64]:
    """The number that a chi-square variable exceeds with probability ``level``; infinite without a degree of freedom.

    >>> chi_square(0.05, np.array([0, 1, 10, 5000])).round(4).tolist()
    [inf, 3.8415, 18.307, 5165.6143]
    """
    known = _tabled(level)
    return np.where(
        degrees <= TABLED,
        known[np.clip(degrees, 0, TABLED)],
        _wilson_hilferty(level, np.maximum(degrees, 1).astype(np.float64)),
    )


@lru_cache(maxsize=64)
def _tabled(level: float) -> NDArray[np.float64]:
    """The quantiles of 0 to :data:`TABLED` degrees of freedom: Wilson and Hilferty's, refined by Newton's method."""
    a = np.arange(1, TABLED + 1) / 2
    log_gamma = np.array([math.lgamma(number) for number in a])
    x = np.maximum(_wilson_hilferty(level, 2 * a) / 2, 1e-3 * a)
    for _ in range(6):
        density = np.exp((a - 1) * np.log(x) - x - log_gamma)
        above = np.maximum(1.0 - _lower_gamma(a, x, log_gamma), 1e-15)
        # On the logarithm of the tail, which is nearly straight.
        x = np.maximum(x + above * np.log(above / level) / density, x / 4)
    found = np.append(np.inf, 2 * x)
    found.flags.writeable = False
    return found


def _wilson_hilferty(level: float, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = 2 / (9 * degrees)
    return np.asarray(degrees * np.maximum(1 - spread - NormalDist().inv_cdf(level) * np.sqrt(spread), 0) ** 3)


def _lower_gamma(a: NDArray[np.float64], x: NDArray[np.float64], log_gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """The regularised lower incomplete gamma function by its series, all of whose terms are positive."""
    term = 1 / a
    total = term.copy()
    n = 0
    while np.any(term > 1e-17 * total):
        n += 1
        term = term * x / (a + n)
        total += term
    return np.asarray(np.minimum(total * np.exp(a * np.log(x) - x - log_gamma), 1.0))
