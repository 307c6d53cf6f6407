"""CSV and TSV; the cells are put together in :mod:`rothko.release.csv_writer`."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import duckdb

from rothko.errors import VerificationError
from rothko.release.csv_writer import write_csv
from rothko.release.formats.csv_lines import counted_lines, lines_once, repeats
from rothko.release.formats.format import Labels, Untyped
from rothko.release.rows import Rows
from rothko.release.sql import files_in, files_literal, literal

AS_WRITTEN = (
    "compression = 'none', hive_partitioning = false, filename = false, null_padding = false, ignore_errors = false"
)
"""What DuckDB would otherwise guess from the name of a file and the folders that it lies in, or pass over."""


@dataclass(frozen=True, slots=True)
class Csv(Untyped):
    """Text, with a delimiter."""

    delimiter: str

    def writer(self, path: Path, *, threads: int, escape: bool, labels: Labels) -> _Writer:
        """A new file."""
        return _Writer(path, self.delimiter, threads, escape)

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a file be a table of texts."""
        first, *others = map(self._header, files_in(path))
        if not all(other == first for other in others):
            raise VerificationError(f"Verification failed: the files of {path.name} have different columns.")
        names = first
        columns = {f"c{i}": "VARCHAR" for i in range(len(names))}
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM {self._rows(path, columns, longest, header=True)}"
        )
        return tuple(names)

    def _header(self, path: Path) -> list[str]:
        with path.open(encoding="utf-8", newline="") as file:  # a name may have line ends
            return next(csv.reader(file, delimiter=self.delimiter))

    def _rows(self, path: Path, columns: Mapping[str, str], longest: int, *, header: bool) -> str:
        kinds = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
        return (
            f"read_csv({files_literal(path)}, delim = {literal(self.delimiter)}, header = {header}, quote = '\"', "
            f"escape = '\"', new_line = '\\n', auto_detect = false, strict_mode = true, {AS_WRITTEN}, "
            f"max_line_size = {longest}, columns = {{{kinds}}})"
        )

    def condense(
        self, connection: duckdb.DuckDBPyConnection, path: Path, columns: int, table: str, longest: int
    ) -> bool:
        """Read lines that are alike and stand together once, where lines are records and repeat."""
        lines = lines_once(path) if path.is_file() and repeats(path) else None
        if lines is None:
            return False
        kinds = {"times": "BIGINT"} | {f"c{i}": "VARCHAR" for i in range(columns)}
        try:
            with counted_lines(lines, self.delimiter, path.parent) as file:
                rows = self._rows(Path(file.name), kinds, longest + 32, header=False)
                connection.execute(f"CREATE OR REPLACE TEMP TABLE {table}_lines AS SELECT * FROM {rows}")
        except OSError:
            return False
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * EXCLUDE (times, time) "
            f"FROM {table}_lines, unnest(range(times)) AS repeated(time)"
        )
        return True


class _Writer:
    def __init__(self, path: Path, delimiter: str, threads: int, escape: bool) -> None:
        self.escaped: set[str] = set()
        self._path, self._delimiter, self._threads, self._escape = path, delimiter, threads, escape
        self._file: BinaryIO | None = None

    def write(self, rows: Rows) -> None:
        header = self._file is None
        self._file = self._file or self._path.open("wb")
        self.escaped |= write_csv(
            rows, self._file, delimiter=self._delimiter, header=header, escape=self._escape, threads=self._threads
        )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
