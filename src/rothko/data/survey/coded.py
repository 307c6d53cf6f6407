"""A table that is never whole in memory: what is known of all of it, and its records a batch at a time.

A first pass over a source makes its lines and domains (:class:`Outline`); every later pass gives its records as codes
on them (:class:`Coded`), which is all that cuts depend on, with the columns that are released as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.domain import Domain, Sensitive
from rothko.data.encode import Encoded
from rothko.data.line import Line


@dataclass(frozen=True, slots=True)
class Coded:
    """Some records of a table."""

    codes: NDArray[np.int32]
    """(quasi-identifiers, records)."""
    values: dict[str, NDArray[np.int32]]
    """Sensitive columns and targets: the code of each record in its domain."""
    kept: pa.Table
    """The columns that are released as they are, in the order of the source."""

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.codes.shape[1])

    def slice(self, begin: int, rows: int) -> Coded:
        """Some records side by side: a view, not a copy."""
        some = slice(begin, begin + rows)
        values = {name: codes[some] for name, codes in self.values.items()}
        return Coded(self.codes[:, some], values, self.kept.slice(begin, rows))

    def take(self, places: NDArray[np.integer]) -> Coded:
        """The records at some places."""
        values = {name: codes[places] for name, codes in self.values.items()}
        return Coded(np.ascontiguousarray(self.codes[:, places]), values, self.kept.take(pa.array(places)))


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a whole table without holding it."""

    rows: int
    lines: tuple[Line, ...]
    """One per quasi-identifier, in the order of the policy."""
    domains: dict[str, Domain]
    """The sensitive columns, the targets of models, and whose a record is, with counts over the whole table."""
    sensitive: tuple[str, ...]
    targets: tuple[str, ...]
    owner: str | None = None
    """Whose a record is, where people are counted: one of the domains."""

    def nobody(self) -> Coded:
        """None of its records."""
        values = {name: np.empty(0, dtype=np.int32) for name in self.domains}
        return Coded(np.empty((len(self.lines), 0), dtype=np.int32), values, pa.table({}))

    def encoded(self, coded: Coded) -> Encoded:
        """Some records as a method takes them; domains and lines stay those of the whole table."""
        held = {name: Sensitive(coded.values[name], domain) for name, domain in self.domains.items()}
        return Encoded(
            self.lines,
            coded.codes,
            {name: held[name] for name in self.sensitive},
            {name: held[name] for name in self.targets},
            owner=None if self.owner is None else held[self.owner],
        )


class Records(Protocol):
    """Records that can be gone through again and again: a source, or a part of it that was spilled to disk."""

    @property
    def rows(self) -> int:
        """Number of records."""
        ...

    def batches(self) -> Iterator[Coded]:
        """One pass over the records, some at a time."""
        ...
