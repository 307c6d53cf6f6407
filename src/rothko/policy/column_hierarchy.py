"""The hierarchy of one column, as the policy asks for it, over the values that a table has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import build_hierarchy, rank
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.data.line import as_text
from rothko.data.schema import written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.typed import typed_column
from rothko.errors import PolicyError
from rothko.mistakes import hint
from rothko.policy.asked import AnyPolicy
from rothko.policy.code_systems import grouped, system_of
from rothko.policy.column import Column
from rothko.policy.draft import as_policy, draft
from rothko.policy.opened import opened
from rothko.privacy import KAnonymity


@dataclass(frozen=True, slots=True)
class Found:
    """A hierarchy, and the values of a column."""

    hierarchy: Hierarchy
    values: pa.Array
    """The distinct ones as text, without the missing one."""
    counts: NDArray[np.int64]
    """How many records have each."""

    def records(self) -> NDArray[np.int64]:
        """How many records are below each node, and at it; those whose values have no leaf are in none."""
        labels = pa.array(self.hierarchy.labels, pa.string())
        node = pc.index_in(self.values, value_set=labels).fill_null(-1).to_numpy()
        below = np.zeros(len(labels), dtype=np.int64)
        np.add.at(below, node[node >= 0], self.counts[node >= 0])
        for child in range(len(labels) - 1, 0, -1):  # children come after their parents
            below[self.hierarchy.parents[child]] += below[child]
        return below

    @property
    def without_leaf(self) -> pa.Array:
        """Values of the table that have no leaf."""
        return self.values.filter(pc.invert(pc.is_in(self.values, value_set=self.hierarchy.leaves)))

    @property
    def unused(self) -> int:
        """How many leaves the table does not have."""
        there = pc.is_in(self.hierarchy.leaves, value_set=self.values)
        return len(there) - int(there.true_count)


def hierarchy_of(
    data: Any,
    column: str,
    policy: AnyPolicy | None = None,
    asked: HierarchySpec | Hierarchy | None = None,
    *,
    csv: CsvOptions | None = None,
) -> Found:
    """The hierarchy of a column of a table.

    Parameters
    ----------
    policy
        What says how the column is read and generalised; without one, what :func:`rothko.policy.draft.draft` proposes.
    asked
        Another hierarchy than the policy's, or one that is there. Where there is none at all, that of the system of
        codes that the values are of; else ``auto``.
    """
    known = draft(data, csv=csv).policy if policy is None else as_policy(policy)
    if column not in known.columns:
        raise PolicyError(f"There is no column {column!r}; {hint(column, known.columns)}")
    before = known.columns[column]
    given = asked if isinstance(asked, HierarchySpec) else before.hierarchy
    about = Column(role="quasi-identifier", type=before.type, hierarchy=given or HierarchySpec("auto"))
    # What is asked of a sensitive column would not fit a quasi-identifier, and is not asked here.
    known = known.but(columns={**known.columns, column: about}, privacy=(KAnonymity(k=2),), workload=())
    source = opened(data, known, csv=csv)
    as_it_is = written_as_text(known) & {column}
    typed = typed_column(column, source.read([column], as_text=as_it_is)[column], known)
    codes = np.empty(len(typed), dtype=np.int32)
    values = rank(typed, codes)
    texts = as_text(values)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if isinstance(asked, Hierarchy):
        return Found(asked, texts, counts)
    system = system_of(column, texts) if given is None and pa.types.is_string(values.type) else None
    if system is not None and (of_codes := grouped(system, texts)):
        about = Column(role="quasi-identifier", type=before.type, hierarchy=of_codes[0])
    return Found(build_hierarchy(column, values, texts, counts, about), texts, counts)
