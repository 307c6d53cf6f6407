"""k-anonymity: no record can be told apart from fewer than k − 1 others.

Samarati 2001, Sweeney 2002; LeFevre, DeWitt, Ramakrishnan, TODS 2008, Definition 2.1.

The definitions take one record for one person. Where a person has several, as with visits, k records may all be of one:
``of`` names the column that says whose a record is, and k different people are asked for. This is (X, Y)-anonymity of
Wang and Fung, KDD 2006, with X the quasi-identifiers and Y the owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.privacy.confidence import Sampling
from rothko.privacy.requirement import Requirement, Rule, whole_number
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymity(Requirement):
    """Every class has at least ``k`` records, or records of at least ``k`` different people.

    >>> KAnonymity(k=10).describe(), KAnonymity(k=10, of="patient").describe()
    ('k-anonymity with k = 10', 'k-anonymity of patient with k = 10')
    """

    name: ClassVar[str] = "k-anonymity"
    needs: ClassVar = "size"

    k: int
    """The fewest records, or people, of a class; at least 2."""
    of: str | None = None
    """The identifier that says whose a record is: people are counted, here and by all other requirements."""

    def _validate(self) -> None:
        whole_number(self.name, "k", self.k, least=2)

    @property
    def column(self) -> str | None:
        """None: it is not about a sensitive column."""
        return None

    @property
    def owner(self) -> str | None:
        """The column that says whose a record is."""
        return self.of

    @property
    def least(self) -> int:
        """K records."""
        return self.k

    @property
    def asked(self) -> float:
        """The k asked for."""
        return self.k

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """The records, or the people, of each class."""
        counted = stats.size if self.of is None else stats.people
        assert counted is not None, "people were not counted"
        return counted.astype(np.float64)

    def _naive(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """As many as k · n/N records."""
        return self._confident(stats, sampling)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """The count of the sample against the least that the test accepts; people of the sample are there for sure."""
        if self.of is not None:
            return self.satisfied(stats)
        return np.asarray(stats.size >= sampling.fewest(self.k))

    def rule(self, domain: Domain) -> Rule | None:
        """Counts people as they appear, given the domain of the owner."""
        if self.of is None:
            return None
        from rothko.kernels.rules import DISTINCT

        return Rule(DISTINCT, domain.size, ratio=(self.k, 1))

    def sql(self) -> str:
        """The number of records, or of people."""
        what = "size" if self.of is None else "heads"
        return f"SELECT size, {what} AS score, {what} >= {self.k} AS holds FROM class"

    def describe(self) -> str:
        """Name, owner and k."""
        return f"{self.name}{'' if self.of is None else f' of {self.of}'} with k = {self.k}"
