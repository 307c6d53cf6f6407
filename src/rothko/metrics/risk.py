"""The risk of being found again, from the sizes of classes.

Prosecutor, journalist and marketer are the three who may try (El Emam, *Guide to the De-Identification of Personal
Health Information*, 2013, chapters 13 to 17; Dankar, El Emam, *Transactions on Data Privacy* 6(1), 2013):

- the **prosecutor** knows that somebody is in the table, and finds them with the probability 1 ÷ size of their class;
- the **journalist** does not know it, and looks for anybody; without a register of the whole population the risk is at
  most that of the prosecutor, and is told as such;
- the **marketer** wants as many as possible: the expected share of records that are found is classes ÷ records.

Whoever is found is found in a class: where classes overlap (local recoding) the risk is lower than what is told here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.09
"""The risk that regulators of clinical data take for acceptable in a public release: one of eleven."""


@dataclass(frozen=True, slots=True)
class Risk:
    """How likely somebody is found again."""

    records: int
    classes: int
    unique: int
    """Records that nobody shares a class with."""
    highest: float
    """Of any record, for the prosecutor; for the journalist at most this."""
    average: float
    """Over the records, for the prosecutor; for the journalist at most this, and what the marketer expects."""
    threshold: float
    above: int
    """Records whose risk is above the threshold."""

    @property
    def share_above(self) -> float:
        """Of all records."""
        return self.above / self.records if self.records else 0.0

    @property
    def share_unique(self) -> float:
        """Of all records."""
        return self.unique / self.records if self.records else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def risk(sizes: NDArray[np.integer], threshold: float = THRESHOLD) -> Risk:
    """The risk of records in classes of these sizes.

    >>> risk(np.array([1, 4, 20]))
    Risk(records=25, classes=3, unique=1, highest=1.0, average=0.12, threshold=0.09, above=5)
    """
    records = int(sizes.sum())
    if not records:
        return Risk(0, 0, 0, 0.0, 0.0, threshold, 0)
    above = sizes * threshold < 1 - 1e-12  # 1 ÷ size > threshold, without dividing
    return Risk(
        records=records,
        classes=len(sizes),
        unique=int(np.count_nonzero(sizes == 1)),
        highest=1 / int(sizes.min()),
        average=len(sizes) / records,
        threshold=threshold,
        above=int(sizes[above].sum()),
    )
