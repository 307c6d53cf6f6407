"""k-anonymity: no record can be told apart from fewer than k − 1 others.

Samarati 2001, Sweeney 2002; LeFevre, DeWitt, Ramakrishnan, TODS 2008, Definition 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.privacy.confidence import Sampling
from rothko.privacy.requirement import Requirement, whole_number
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymity(Requirement):
    """Every class has at least ``k`` records.

    >>> KAnonymity(k=10).describe()
    'k-anonymity with k = 10'
    """

    name: ClassVar[str] = "k-anonymity"
    needs: ClassVar = "size"

    k: int
    """The fewest records of a class; at least 2."""

    def _validate(self) -> None:
        whole_number(self.name, "k", self.k, least=2)

    @property
    def least(self) -> int:
        """K records."""
        return self.k

    @property
    def asked(self) -> float:
        """The k asked for."""
        return self.k

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """The size of each class."""
        return stats.size.astype(np.float64)

    def _naive(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """As many as k · n/N records."""
        return self._confident(stats, sampling)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The count of the sample against the least that the test accepts, one number for all groups."""
        return np.asarray(stats.size >= sampling.fewest(self.k))

    def sql(self) -> str:
        """The number of records."""
        return f"SELECT size, size AS score, size >= {self.k} AS holds FROM class"

    def describe(self) -> str:
        """Name and k."""
        return f"{self.name} with k = {self.k}"
