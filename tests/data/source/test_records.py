"""The hash of records hangs on what they are, and not on the pieces in which they come."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.source.open import open_source
from rothko.data.source.records import records_hash

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [0, 1, None]),
    "float": (pa.float64(), [0.0, -0.0, 1.5, None]),
    "text": (pa.string(), ["", "a", "ab", "é", None]),
    "bytes": (pa.binary(), [b"", b"a\0", None]),
    "truth": (pa.bool_(), [True, False, None]),
    "decimal": (pa.decimal128(6, 2), [Decimal("0.00"), Decimal("1.50"), None]),
    "day": (pa.date32(), [dt.date(1970, 1, 1), dt.date(2020, 2, 29), None]),
    "time": (pa.time64("us"), [dt.time(0), dt.time(1, 2), None]),
    "lists": (pa.list_(pa.int8()), [[], [1], [None], None]),
}
RECORDS = st.lists(
    st.tuples(*(st.integers(0, len(values) - 1) for _, values in KINDS.values())), min_size=1, max_size=9
)


def hashed(records: list[tuple[int, ...]], pieces: int) -> str:
    """The hash of a table that comes so many records at a time."""
    columns = zip(*records, strict=True)
    table = pa.table(
        {
            name: pa.array([values[i] for i in column], kind)
            for (name, (kind, values)), column in zip(KINDS.items(), columns, strict=True)
        }
    )
    whole = open_source(table)
    source = replace(whole, _pieces=lambda names, *_: iter(table.select(names).to_batches(max_chunksize=pieces)))
    return records_hash(source, whole.names)


@given(RECORDS, RECORDS, st.integers(1, 4))
def test_it_is_the_same_where_the_records_are(one: list[Any], two: list[Any], pieces: int) -> None:
    assert (hashed(one, pieces) == hashed(two, 9)) == (one == two)
    assert hashed(one, pieces) == hashed(one, 9)
