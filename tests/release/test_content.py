"""The hash of a table's content: a slow twin, and PostgreSQL itself."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.release import content
from rothko.release.content import content_hash
from rothko.release.formats.by_database import TIMES
from tests.databases import copied_hash

WORDS = st.one_of(
    st.none(), st.sampled_from(["", "a", "b", "a\tb", "a\nb", "\\", "\\N", "ä", "z", "\x1f", "\x01", "\r\v\b\f"])
)
ROWS = st.lists(st.tuples(WORDS, st.one_of(st.none(), st.integers(-3, 12)), WORDS), max_size=12)
SIGNS = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\v": "\\v", "\b": "\\b", "\f": "\\f"}


def twin(rows: list[tuple[Any, ...]]) -> str:
    """As the page of databases says it."""
    texts = [tuple(None if value is None else str(value) for value in row) for row in rows]
    counts = Counter(texts)
    order = sorted(counts, key=lambda row: [(value is None, (value or "").encode()) for value in row])
    lines = [
        "\t".join(
            ["\\N" if v is None else "".join(SIGNS.get(sign, sign) for sign in v) for v in row] + [str(counts[row])]
        )
        for row in order
    ]
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def written(rows: list[tuple[Any, ...]], path: Path, times: list[int] | None = None) -> Path:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    kinds = (pa.string(), pa.int64(), pa.string())
    table = pa.table([pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)], ["a", "b", "c"])
    pq.write_table(table if times is None else table.append_column(TIMES, pa.array(times, pa.int64())), path)
    return path


@pytest.mark.parametrize("bits", [63, 4])
@given(rows=ROWS)
def test_it_is_that_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory, bits: int, rows: list[tuple[Any, ...]]
) -> None:
    path = tmp_path_factory.mktemp("content") / "rows.parquet"
    different = list(dict.fromkeys(rows))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "BITS", bits)  # rows that are one number, and rows that are several
        patched.setattr(content, "AT_ONCE", 3)
        wanted = twin(rows)
        assert content_hash(written(rows, path)) == wanted
        assert content_hash(written(rows[::-1], path)) == wanted
        assert content_hash(written(different, path, [rows.count(row) for row in different])) == wanted


def test_numbers_that_are_written_alike_are_one(tmp_path: Path) -> None:
    other = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    pq.write_table(pa.table({"x": [math.nan, other, 0.5], "y": ["b", "a", "c"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [other, math.nan, 0.5], "y": ["b", "a", "c"]}), tmp_path / "b.parquet")
    assert content_hash(tmp_path / "a.parquet") == content_hash(tmp_path / "b.parquet")


def test_postgresql_computes_it(postgres: str, tmp_path: Path) -> None:
    rows = [(f"a{i % 5}\t\\", i % 3 or None, None if i % 7 == 0 else str(date(2020, 1, 1 + i % 9))) for i in range(200)]
    cells = [[f"'{v}'" if isinstance(v, str) else "NULL" if v is None else str(v) for v in row] for row in rows]
    values = ", ".join(f"({', '.join(row)})" for row in cells)
    shown = f"(VALUES {values}) AS shown (a, b, c)"
    asked = 'a COLLATE "C", b::text COLLATE "C", c::text COLLATE "C"'
    found = copied_hash(postgres, f"SELECT a, b, c, count(*) FROM {shown} GROUP BY a, b, c ORDER BY {asked}")
    assert content_hash(written(rows, tmp_path / "rows.parquet")) == found
