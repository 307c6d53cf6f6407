"""DuckDB as it is used here: a private connection, batches that it reads, and texts and paths as SQL."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

AS_IT_IS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_file_cache": False,
    "preserve_insertion_order": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}
"""What DuckDB would do by itself, turned off: fetch extensions, remember files, print, take variables for tables."""

_OPENING = threading.Lock()


@contextmanager
def connect(
    threads: int | None = None, *, memory: int | None = None, spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own that prints nothing, and leaves nothing on disk; rows come in any order.

    Parameters
    ----------
    memory
        The most bytes that it may take; what does not fit goes to disk. None: all that there is, and nothing to disk.
    spill
        A private folder for what goes to disk; where it is None one is made, and removed at the end.
    """
    if memory is None:
        with _OPENING:  # two threads that ask at once would make two
            database = _database(os.getpid(), threads)
        with database.cursor() as connection:
            yield _silent(connection)
        return
    with ExitStack() as stack:
        folder = spill or stack.enter_context(tempfile.TemporaryDirectory(prefix="rothko-"))
        # What DuckDB writes there it removes when the connection is closed.
        config = AS_IT_IS | {"memory_limit": f"{memory}B", "temp_directory": str(folder)}
        yield _silent(stack.enter_context(duckdb.connect(config=config | _cores(threads))))


@dataclass(frozen=True, slots=True)
class Limits:
    """What SQL may take: see :func:`connect`."""

    threads: int = 1
    memory: int | None = None
    spill: Path | None = None

    def connect(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A connection that keeps to them."""
        return connect(self.threads, memory=self.memory, spill=self.spill)


UNLIMITED = Limits()
"""One thread, and all the memory that there is."""


@cache
def _database(process: int, threads: int | None) -> duckdb.DuckDBPyConnection:
    """An empty database for as long as the process lives (a forked one has its own): making one takes 24 ms.

    Connections to it have their temporary tables and views to themselves, and take them along when they are closed.
    """
    return duckdb.connect(config=AS_IT_IS | _cores(threads))


def _silent(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Draw no bar: DuckDB does where somebody types, and in a notebook without ipywidgets refuses to be told not to."""
    [(drawn,)] = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    return connection.execute("SET enable_progress_bar = false") if drawn else connection


def _cores(threads: int | None) -> dict[str, Any]:
    return {} if threads is None else {"threads": threads}


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches that DuckDB takes for a table: it asks for them as often as it scans, and holds one at a time."""

    schema: pa.Schema
    read: Callable[[], Iterator[pa.RecordBatch]]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream of one scan."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.read())
        return reader.__arrow_c_stream__(requested_schema)

    def renamed(self, names: Sequence[str]) -> Batches:
        """The same with other names of columns."""
        schema = pa.schema([one.with_name(name) for one, name in zip(self.schema, names, strict=True)])
        return Batches(
            schema, lambda: (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in self.read())
        )


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


def files_in(path: Path) -> list[Path]:
    """The files of a release under a name: itself, or those of a folder, in their order, but for their list."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if not file.name.startswith(("_", ".")))


def files_literal(path: Path) -> str:
    """All files of a release as an SQL literal."""
    return f"[{', '.join(map(file_literal, files_in(path)))}]"


def parquet_rows(path: Path) -> str:
    """The rows of a Parquet file, or of several, and nothing that DuckDB takes from the folders that it lies in.

    Left to itself it replaces the column ``age`` of a file in a folder ``age=5`` by fives.

    >>> parquet_rows(Path("age=5/release.parquet")).endswith("hive_partitioning = false, union_by_name = false)")
    True
    """
    return f"read_parquet({files_literal(path)}, hive_partitioning = false, union_by_name = false)"


def name_of(name: str) -> str:
    """A name of a column or a table.

    >>> name_of('net "hours" a week')
    '"net ""hours"" a week"'
    """
    return '"' + name.replace('"', '""') + '"'
