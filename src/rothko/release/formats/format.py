"""What a file format of a release is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa

from rothko.release.rows import Rows

Labels = Mapping[str, Mapping[float, str]]
"""Column → the codes that it was read from, and what each is called."""


class Writer(Protocol):
    """A file that rows are appended to; the first ones settle the types of its columns."""

    escaped: set[str]
    """The columns with cells that were escaped."""

    def write(self, rows: Rows) -> None:
        """Append rows."""
        ...

    def close(self) -> None:
        """Write what is left to write."""
        ...


class FileFormat(Protocol):
    """How rows are written to a kind of file, and read back by the verifier, which shares no code with the writer."""

    def writer(self, path: Path, *, threads: int, escape: bool, labels: Labels) -> Writer:
        """A new file.

        Parameters
        ----------
        escape
            Put an apostrophe before cells that spreadsheets take for formulas.
        labels
            Of kept columns that were read as labels, for files that have such.
        """
        ...

    def lacks(self, kind: pa.DataType, *, private: bool) -> bool:
        """Whether it has no type for some values; a ``private`` file is read by who knows what they were."""
        ...

    def stored(self, schema: pa.Schema) -> pa.Schema | None:
        """The columns of a file that was written from these, with their types; None where a file has no types."""
        ...

    def schema(self, path: Path) -> pa.Schema:
        """The columns of a file that has types, as its bytes name them."""
        ...

    def tables(self, path: Path) -> Iterator[pa.Table]:
        """The rows of a file that has types, some at a time; first none of them, which tells the columns."""
        ...

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a file be a table with the columns c0, c1, …, those that are used at least; their real names.

        Parameters
        ----------
        longest
            The most bytes of a line of text.
        """
        ...

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """Let ``table_lines`` have every different row of a file once, with ``times``, how often it is there.

        ``table`` is then made of these. False where nothing is gained by it, and nothing was made.
        """
        ...


class Untyped:
    """What formats share whose columns have no types: what a column holds is compared as texts."""

    def lacks(self, kind: pa.DataType, *, private: bool) -> bool:
        """Whether there is no text for some values."""
        return isinstance(kind, pa.BaseExtensionType)

    def stored(self, schema: pa.Schema) -> None:
        """No types."""
        return

    def schema(self, path: Path) -> pa.Schema:
        """No types."""
        raise NotImplementedError

    def tables(self, path: Path) -> Iterator[pa.Table]:
        """No types."""
        raise NotImplementedError

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """A file is read as a whole, unless a format knows better."""
        return False
