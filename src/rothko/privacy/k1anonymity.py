"""(k,1)-anonymity of records that are sets: at least k original records contain each published set.

Gionis, Mazza, Tassa, ICDE 2008; Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), chapter III.
It looks at the original records, so it is no predicate over the classes of a table, and no policy can ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.privacy.kanonymity import KAnonymity
from rothko.privacy.requirement import Requirement, whole_number
from rothko.privacy.statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class K1Anonymity(Requirement):
    """At least ``k`` original records contain each published set.

    >>> K1Anonymity(k=10).describe()
    'k1-anonymity with k = 10'
    """

    name: ClassVar[str] = "k1-anonymity"
    needs: ClassVar = "size"

    k: int
    """The fewest original records that contain a published set; at least 2."""

    def _validate(self) -> None:
        whole_number(self.name, "k", self.k, least=2)

    @property
    def asked(self) -> float:
        """The k asked for."""
        return self.k

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """How many original records contain each set: the size that is counted here."""
        return stats.size.astype(np.float64)

    def describe(self) -> str:
        """Name and k."""
        return f"{self.name} with k = {self.k}"


ADVERSARIES = {
    KAnonymity.name: "Whoever sees a published set and knows the original records finds at least k that it may be of.",
    K1Anonymity.name: (
        "Weaker than k-anonymity. At least k original records contain each published set. So someone who sees the set "
        "of one person and knows all original records, but not what was published for the others, cannot tell which of "
        "at least k people it belongs to. It does not protect against someone who also learns what was published for "
        "other people, who compares several releases of the same records, or who knows the method and rules out people "
        "for whom it would have published something else: fewer than k people may publish the same set, and then "
        "little may be left to hide among. Where such a person must be reckoned with, use a method that meets "
        "k-anonymity."
    ),
}
"""What a release of sets protects against, in words."""
