"""What a database has grouped: every different row of a table once, with how often it is there, or class by class.

It is a private Parquet file, written twice. First the rows of a release go to it, on their way to the database; then
what the database says that it holds comes back, by its own ``GROUP BY``, and that is verified.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rothko.errors import VerificationError
from rothko.release.formats.parquet import Parquet, same_names
from rothko.release.sql import parquet_rows

ENDING = ".counted.parquet"
TIMES = "\x1ftimes"
"""The last column of what came back counted; no column of a table is called so."""


class Counted(Parquet):
    """Rows and how often each is there."""

    def schema(self, path: Path) -> pa.Schema:
        """The columns of the table."""
        schema = pq.read_schema(path)
        return schema.remove(len(schema) - 1) if schema.names[-1] == TIMES else schema

    def tables(self, path: Path) -> Iterator[pa.Table]:
        """The rows, each as often as it is there."""
        for table in super().tables(path):
            if table.column_names[-1] != TIMES:
                yield table
                continue
            times = table[TIMES].to_numpy()
            yield table.drop_columns([TIMES]).take(pa.array(np.repeat(np.arange(len(times)), times)))

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let it be a table of all rows, made of one that has each once."""
        if not _is_counted(path):
            return super().view(connection, path, used, table, longest)
        names = self.schema(path).names
        rows = parquet_rows(path)
        if not same_names(connection.sql(f"SELECT * FROM {rows} LIMIT 0").columns, [*names, TIMES]):
            raise VerificationError("Verification failed: the table is read with other columns than it has.")
        columns = ", ".join(f"c{i}" for i in range(len(names)))
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {table}_lines({columns}, times) AS SELECT * FROM {rows}")
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * EXCLUDE (times, time) "
            f"FROM {table}_lines, unnest(range(times)) AS repeated(time)"
        )
        return tuple(names)

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """The database has, where it has counted."""
        return _is_counted(path)


def _is_counted(path: Path) -> bool:
    return bool(pq.read_schema(path).names[-1] == TIMES)
