"""Queries under a limit: run once, never whole in memory, and released as their result would be."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import rothko as rk
from rothko.data.source import frames
from rothko.errors import InputError

SECRET = "Ann Perlman"
ROWS = 3000
TABLE = pa.table(
    {
        "age": pa.array([i * 7 % 80 for i in range(ROWS)]),
        "zip": pa.array([f"{i * 13 % 200:05}" for i in range(ROWS)]),
        "cost": pa.array([10**20 + i for i in range(ROWS)], pa.decimal128(38, 0)),
        "sick": pa.array([("flu", "cold", "gout")[i % 3] for i in range(ROWS)]).dictionary_encode(),
    }
)
ASKED: dict[str, Any] = {"qi": ["age", "zip"], "sensitive": "sick", "keep": "cost", "k": 10, "l": 2}
QUERIES: dict[str, tuple[type, Callable[[pa.Table], Any]]] = {
    "duckdb": (duckdb.DuckDBPyRelation, lambda table: duckdb.from_arrow(table).filter("age >= 0")),
    "polars": (pl.LazyFrame, lambda table: pl.DataFrame(table).lazy().filter(pl.col("age") >= 0)),
}


def rows(release: Any) -> list[Any]:
    return sorted(map(str, release.arrow.to_pylist()))


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_released_as_its_result(query: str, disk_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, made = QUERIES[query]
    expected = rows(rk.anonymize(TABLE, engine=disk_engine, **ASKED))
    monkeypatch.setattr(frames, "open_frame", lambda data: pytest.fail("collected"))
    release = rk.anonymize(made(TABLE), engine=disk_engine, **ASKED)
    assert rows(release) == expected
    assert isinstance(release.table, kind)


@pytest.mark.parametrize("query", QUERIES)
def test_a_limit_decides_where_a_query_goes(query: str, tmp_path: Path) -> None:
    _, made = QUERIES[query]
    release = rk.anonymize(made(TABLE), memory="8GB", spill_dir=tmp_path, **ASKED)
    assert release.certificate.engine == "memory", "it fits"
    assert rows(release) == rows(rk.anonymize(TABLE, **ASKED))
    del release
    gc.collect()
    assert list(tmp_path.iterdir()) == [], "nothing stays"


def test_a_query_is_run_once() -> None:
    """One that gives other records each time is released all the same, and verified."""
    drawn = duckdb.sql("SELECT (random() * 60)::INT AS age, (random() * 3)::INT::VARCHAR AS sick FROM range(2000)")
    release = rk.anonymize(drawn, qi="age", sensitive="sick", k=10, engine="rothko-t")
    assert release.certificate.verification.holds


@pytest.mark.parametrize("query", QUERIES)
def test_what_cannot_be_computed_quotes_no_cell(query: str, tmp_path: Path) -> None:
    table = pa.table({"age": [SECRET] * 40})
    failing = {
        "duckdb": lambda: duckdb.from_arrow(table).project("age::INT AS age"),
        "polars": lambda: pl.DataFrame(table).lazy().with_columns(pl.col("age").cast(pl.Int64)),
    }[query]
    with pytest.raises(InputError, match="cannot be computed") as told:
        rk.anonymize(failing(), qi="age", k=2, engine="rothko-t", spill_dir=tmp_path)
    assert SECRET not in str(told.value)
    assert told.value.__context__ is None or told.value.__suppress_context__
    assert list(tmp_path.iterdir()) == []


def test_an_empty_result_and_names_that_stand_twice_are_refused() -> None:
    with pytest.raises(InputError, match="has columns but no records"):
        rk.anonymize(duckdb.from_arrow(TABLE).filter("age < 0"), engine="rothko-t", **ASKED)
    with pytest.raises(InputError, match="has the column 'a' 2 times"):
        rk.anonymize(duckdb.sql("SELECT 1 AS a, 2 AS a"), qi="a", k=2, engine="rothko-t")


@pytest.mark.parametrize("query", QUERIES)
def test_values_in_another_form_are_read_of_a_query_too(query: str) -> None:
    _, made = QUERIES[query]
    born = [f"{1 + i % 28:02}.0{1 + i % 9}.19{50 + i % 40}" for i in range(ROWS)]
    table = TABLE.append_column("born", pa.array(born)).select(["age", "born"])
    policy = {
        "columns": {"age": {"role": "keep"}, "born": {"role": "quasi-identifier", "type": {"date": "%d.%m.%Y"}}},
        "privacy": [{"k-anonymity": {"k": 10}}],
    }
    assert all(
        "19" in label[:6] for label in rk.anonymize(made(table), policy, engine="rothko-t").arrow["born"].to_pylist()
    )
