"""l-diversity: no class pins a sensitive value on its records.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, ICDE 2006 (the distinct form).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.privacy.requirement import Requirement, Rule, column_names, whole_number
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctLDiversity(Requirement):
    """Every class has at least ``l`` distinct values of a sensitive column; missing is one value.

    >>> DistinctLDiversity(l=3, of="disease").describe()
    'distinct-l-diversity of disease with l = 3'
    """

    name: ClassVar[str] = "distinct-l-diversity"

    l: int  # noqa: E741 (the literature's letter is the public parameter)
    """The fewest distinct values of a class; at least 2."""
    of: str
    """The sensitive column."""

    def __post_init__(self) -> None:
        whole_number(self.name, "l", self.l, least=2)
        object.__setattr__(self, "over", column_names(self.name, self.over))

    @property
    def column(self) -> str | None:
        """The sensitive column."""
        return self.of

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
        return np.asarray(np.count_nonzero(stats.histograms[self.of], axis=1), dtype=np.float64)

    def rule(self) -> Rule | None:
        """Counts values as they appear."""
        from rothko.kernels.requirements import DISTINCT

        return Rule(DISTINCT, float(self.l))

    def sql(self, column: str | None) -> str:
        """The number of distinct values."""
        return f"count(DISTINCT {column})"

    def describe(self) -> str:
        """Name, column and l."""
        return f"{self.name} of {self.of} with l = {self.l}"
