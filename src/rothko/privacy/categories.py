"""p-alpha: values that mean much the same count as one.

The idea of Sun, Wang, Li, Truta, Transactions on Data Privacy 1, 2008 (p+-sensitive k-anonymity): sensitive
values fall into categories, and every class shows at least p of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.errors import PolicyError
from rothko.mistakes import said
from rothko.privacy.confidence import Sampling
from rothko.privacy.requirement import Requirement, Rule, whole_number
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class PAlpha(Requirement):
    """Every class has values of at least ``p`` categories of a sensitive column; missing is a category of its own.

    >>> PAlpha(p=2, categories={"flu": "infection", "asthma": "lung"}, of="disease").describe()
    'p-alpha of disease with p = 2'
    """

    name: ClassVar[str] = "p-alpha"
    by_presence: ClassVar[bool] = True

    p: int
    """The fewest categories of a class; at least 2."""
    categories: Mapping[str, str] = field(hash=False)
    """Value → category, for every value of the column."""
    of: str
    """The sensitive column."""

    def _validate(self) -> None:
        whole_number(self.name, "p", self.p, least=2)
        if not isinstance(self.categories, Mapping) or not self.categories:
            raise PolicyError(f"{self.name}: categories must be a mapping from values to their categories.")
        if any(isinstance(category, Mapping | list | tuple) for category in self.categories.values()):
            raise PolicyError(f"{self.name}: categories must have one category, as text, for each value.")
        object.__setattr__(self, "categories", {str(v): str(c) for v, c in self.categories.items()})

    @property
    def least(self) -> int:
        """As many records as categories."""
        return self.p

    @property
    def asked(self) -> float:
        """The p asked for."""
        return self.p

    def category_of(self, domain: Domain) -> tuple[NDArray[np.int32], int]:
        """The category of each code, and how many there are with that of missing, the last."""
        names = sorted(set(self.categories.values()))
        place = {name: i for i, name in enumerate(names)}
        found = pc.index_in(domain.texts, value_set=pa.array(list(self.categories), pa.string()))
        if found.null_count:
            raise PolicyError(
                f"{self.name} of {self.of}: categories leave out {found.null_count} of {len(found)} values "
                f"({said('--show-values')} lists them).",
                values=domain.texts.filter(pc.is_null(found)).to_pylist(),
            )
        of_entry = np.array([place[category] for category in self.categories.values()], dtype=np.int32)
        return np.append(of_entry[found.to_numpy()], np.int32(len(names))), len(names) + 1

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """How many categories occur in each class."""
        category, categories = self.category_of(stats.domains[self.of])
        counts = stats.histograms[self.of]
        there = np.zeros((len(counts), categories), dtype=np.int64)
        np.add.at(there.T, category, counts.T)
        return np.asarray(np.count_nonzero(there, axis=1), dtype=np.float64)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """Certain: the categories of the sample are in the population."""
        return self.satisfied(stats)

    def _few(self, whole: Statistics) -> str:
        return ""

    def rule(self, domain: Domain) -> Rule | None:
        """Counts categories as they appear."""
        from rothko.kernels.rules import DISTINCT

        category, categories = self.category_of(domain)
        return Rule(DISTINCT, categories, bins=category, ratio=(self.p, 1))

    def lookup(self, domain: Domain) -> dict[str, pa.Table]:
        """The category of each value."""
        category, _ = self.category_of(domain)
        return {"category": pa.table({"value": domain.texts, "category": category[:-1]})}

    def sql(self) -> str:
        """The number of distinct categories; missing has none in the table, and is one."""
        return f"""
            SELECT max(size) AS size, count(DISTINCT coalesce(category, -1)) AS score, score >= {self.p} AS holds
            FROM counted LEFT JOIN category USING (value) GROUP BY class"""

    def describe(self) -> str:
        """Name, column and p."""
        return f"{self.name} of {self.of} with p = {self.p}"
