"""DuckDB as it is used here: a private connection, batches that it reads, and texts and paths as SQL."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa


@contextmanager
def connect(
    threads: int | None = None, *, memory: int | None = None, spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own that prints nothing, and leaves nothing on disk.

    Parameters
    ----------
    memory
        The most bytes that it may take; what does not fit goes to disk. None: all that there is, and nothing to disk.
    spill
        A private folder for what goes to disk; where it is None one is made, and removed at the end.
    """
    config: dict[str, Any] = {"temp_directory": ""}
    if threads is not None:
        config["threads"] = threads
    with ExitStack() as stack:
        if memory is not None:
            folder = spill or stack.enter_context(tempfile.TemporaryDirectory(prefix="rothko-"))
            # What DuckDB writes there it removes when the connection is closed.
            config |= {"memory_limit": f"{memory}B", "temp_directory": str(folder)}
        connection = stack.enter_context(duckdb.connect(config=config))
        connection.execute("SET enable_progress_bar = false")
        yield connection


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches that DuckDB takes for a table: it asks for them as often as it scans, and holds one at a time."""

    schema: pa.Schema
    read: Callable[[], Iterator[pa.RecordBatch]]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream of one scan."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.read())
        return reader.__arrow_c_stream__(requested_schema)


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
