"""DuckDB as it is used here: a private connection, and names, texts and paths as SQL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb


def connect(threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of its own that leaves nothing on disk and prints nothing."""
    config: dict[str, Any] = {"temp_directory": ""}
    if threads is not None:
        config["threads"] = threads
    connection = duckdb.connect(config=config)
    connection.execute("SET enable_progress_bar = false")
    return connection


def quoted(name: str) -> str:
    """A name as an SQL identifier.

    >>> quoted('6" pipe')
    '"6"" pipe"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def exact_path(path: Path) -> str:
    """A path that DuckDB takes as it is, and not as a pattern.

    >>> exact_path(Path("a[1].csv"))
    'a[[]1].csv'
    """
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def file_literal(path: Path) -> str:
    """A path as an SQL literal, not as a pattern."""
    return literal(exact_path(path))
