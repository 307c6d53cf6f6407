"""Identifiers that repeat: a sign that a person has several records, of which k-anonymity would count each."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from rothko.data.schema import Role
from rothko.data.source.source import PIECE_ROWS, Source
from rothko.data.typed import with_one_missing
from rothko.errors import InputError
from rothko.policy.column_names import NUMBER_OF_A_PERSON, named
from rothko.policy.policy import Policy


def repeated(source: Source, policy: Policy) -> str:
    """What to tell of identifiers that repeat where records are counted; nothing where none does.

    The first records are looked at, a quarter of a million: reading all of a large file once more would cost more than
    it tells.
    """
    names = () if policy.owner is not None else tuple(_identifiers(policy))
    first = source.peek(names, rows=PIECE_ROWS) if names else None
    if first is None:
        return ""
    told = []
    for name in names:
        values, records = _values(name, first[name], policy)
        if 1 < values < records:
            told.append((name, f"{name!r} repeats ({values:,} values in {records:,} records)"))
    if not told:
        return ""
    return (
        f"{', '.join(said for _, said in told[:3])}: where a person has several records, records are counted and not "
        "people, and a class may be a single person's; to count people, say whose records are: "
        f"k-anonymity: {{k: …, of: {told[0][0]}}}."
    )


def _identifiers(policy: Policy) -> Iterator[str]:
    """The columns that name a person by their role, or that are kept and are called as a number given to one."""
    for name, column in policy.columns.items():
        if column.role is Role.IDENTIFIER or (column.role is Role.KEEP and named(NUMBER_OF_A_PERSON, name)):
            yield name


def _values(name: str, column: pa.ChunkedArray, policy: Policy) -> tuple[int, int]:
    """How many different values there are, and how many records have one; 0 of what cannot be compared."""
    try:
        present = with_one_missing(name, column, policy.missing).drop_null()
    except InputError:
        return 0, 0
    return len(present.unique()), len(present)
