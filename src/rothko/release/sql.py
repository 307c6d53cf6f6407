"""DuckDB as it is used here: a private connection, and texts and paths as SQL."""

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


def literal(text: str) -> str:
    """A text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def file_literal(path: Path) -> str:
    """A path as an SQL literal that DuckDB takes as it is, and not as a pattern.

    >>> file_literal(Path("a[1].csv"))
    "'a[[]1].csv'"
    """
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path)))
