"""Files of statistics programs as the verifier reads them, by ReadStat: values as texts, labels for their codes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from rothko.data.source.statistics_file import texts_of
from rothko.errors import VerificationError
from rothko.mistakes import some_of


class ByLabels:
    """Variables with types; nothing and an empty text are the same."""

    def lacks(self, kind: pa.DataType, *, private: bool) -> bool:
        """Whether it has no text for some values."""
        return isinstance(kind, pa.BaseExtensionType)

    def stored(self, schema: pa.Schema) -> None:
        """Its types hang on the values: these are compared as texts."""
        return

    def schema(self, path: Path) -> pa.Schema:
        """Its types hang on the values."""
        raise NotImplementedError

    def tables(self, path: Path) -> Iterator[pa.Table]:
        """Its types hang on the values."""
        raise NotImplementedError

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """It is read as a whole."""
        return False

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a file be a table of texts."""
        return view_of_labels(connection, path, table)


def view_of_labels(connection: duckdb.DuckDBPyConnection, path: Path, table: str) -> tuple[str, ...]:
    """Let a file be a table of texts; a label of a value that does not occur would be one of nobody who is left."""
    read, idle = texts_of(path)
    if idle:
        raise VerificationError(
            f"Verification failed: {path.name} has labels of values that do not occur, in {some_of(idle)}; nothing was "
            "released. Please report this."
        )
    names = tuple(read.column_names)
    connection.register(table, read.rename_columns([f"c{i}" for i in range(len(names))]))
    return names
