"""Who stands behind a release: people are counted beside the original, for the column that names them does not leave.

The written rows alone cannot tell whose they are. But they are, row by row, what the records are shown as
(:mod:`rothko.release.truth`): so whoever counts people among these, with the owner that each record came with, has
counted those of the written classes. It is the verifier's own SQL, over published values and the owner as it was read.
Of the written bytes themselves is asked what can be: k records, and which values occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.engines.growing import TableFile, Tables
from rothko.errors import VerificationError
from rothko.policy.policy import Policy
from rothko.privacy.kanonymity import KAnonymity
from rothko.privacy.requirement import Requirement
from rothko.release.publish import Published
from rothko.release.sql import Batches, Limits
from rothko.release.verify import Verification, verify


def said_of_people(policy: Policy) -> tuple[str, ...]:
    """What a certificate says of how people were counted."""
    if policy.owner is None:
        return ()
    return (
        f"People are counted by {policy.owner!r}, which does not leave: they were counted in the classes of the "
        "written rows beside the original records. The written rows alone tell how many records a class has, not how "
        "many people.",
    )


@dataclass(frozen=True, slots=True)
class People:
    """What records are shown as, and whose they are."""

    owner: str
    """The column that says whose."""
    rows: pa.Table | Batches

    def verified(self, found: Verification, policy: Policy, published: Mapping[str, Sequence[str]], limits: Limits) -> (
        Verification
    ):  # fmt: skip
        """What was found in the written rows, with the people that are behind them."""
        beside = verify(
            self.rows, policy.privacy, published, missing=policy.missing, values=policy.columns, owner=self.owner,
            limits=limits,
        )  # fmt: skip
        if (beside.rows, beside.classes) != (found.rows, found.classes):
            raise VerificationError(
                "Verification failed: the written classes are not those in which people were counted; nothing was "
                "released. Please report this."
            )
        return replace(found, findings=beside.findings)


def shown_with(
    owner: pa.ChunkedArray | pa.Array,
    published: Mapping[str, Sequence[Published]],
    kept: pa.Table,
    classes: NDArray[np.int32],
    policy: Policy,
) -> tuple[str, pa.Table]:
    """What some records are shown as, with whose they are; and what that column is called among the others."""
    columns = {column.name: column.by(classes) for columns in published.values() for column in columns}
    columns |= {name: kept[name] for name in policy.sensitive}
    name = str(policy.owner)
    while name in columns:  # an identifier may be called as what is published: age_min
        name += "'"
    return name, pa.table({**columns, name: owner})


class Growing:
    """People of a release that comes part by part: written down on the way, in the private folder."""

    def __init__(self, spill: Tables, policy: Policy) -> None:
        self._spill, self._policy = spill, policy
        self._file: TableFile | None = None
        self._name, self._schema = "", pa.schema([])

    def add(
        self,
        owner: NDArray[np.int32],
        published: Mapping[str, Sequence[Published]],
        kept: pa.Table,
        classes: NDArray[np.int32],
    ) -> None:
        """Write down some records; people are known by their codes."""
        self._name, rows = shown_with(pa.array(owner), published, kept, classes, self._policy)
        plain = [_plain(column) for column in rows.columns]
        rows = pa.table(plain, names=rows.column_names)
        if self._file is None:
            self._schema = rows.schema
            self._file = self._spill.table(self._schema)
        self._file.write(rows)

    def people(self) -> People:
        """All of them; they can be gone through as long as the folder is there."""
        return People(self._name, Batches(self._schema, self._batches))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        assert self._file is not None
        for table in self._file.batches():
            yield from table.cast(self._schema).combine_chunks().to_batches()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def told_by_records(policy: Policy) -> tuple[Requirement, ...]:
    """What of a policy the written rows can tell by themselves: all of it, unless people are counted."""
    if policy.owner is None:
        return policy.privacy
    return tuple(replace(r, of=None) if isinstance(r, KAnonymity) else r for r in policy.privacy if r.counts_alike)
