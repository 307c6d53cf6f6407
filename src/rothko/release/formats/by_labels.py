"""Files of statistics programs as the verifier reads them, by ReadStat: values as texts, labels for their codes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa

from rothko.data.source.statistics_file import texts_of
from rothko.errors import VerificationError
from rothko.mistakes import some_of
from rothko.release.formats.format import Labels, Untyped
from rothko.release.formats.variables import Program, VariablesWriter
from rothko.release.sql import Batches


class ByLabels(Untyped):
    """Variables with types, as a program has them; nothing and an empty text are the same."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def writer(self, path: Path, *, threads: int, escape: bool, labels: Labels) -> VariablesWriter:
        """A new file; no program computes what its texts say."""
        return VariablesWriter(path, self.program, threads=threads, labels=labels)

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a file be a table of texts."""
        return view_of_labels(connection, path, table)


def view_of_labels(connection: duckdb.DuckDBPyConnection, path: Path, table: str) -> tuple[str, ...]:
    """Let a file be a table of texts, some records of which are in memory at a time.

    A label of a value that does not occur would be one of nobody who is left.
    """
    read = texts_of(path)
    if read.idle:
        raise VerificationError(
            f"Verification failed: {path.name} has labels of values that do not occur, in {some_of(read.idle)}; "
            "nothing was released. Please report this."
        )
    places = [f"c{i}" for i in range(len(read.names))]

    def batches() -> Iterator[pa.RecordBatch]:
        yield from (batch.rename_columns(places) for batch in read.batches())

    first = list(islice(batches(), 2))
    if len(first) == 1:
        connection.register(table, pa.Table.from_batches(first))  # read once, and not for every requirement
        return read.names
    connection.register(table, Batches(pa.schema([(place, pa.string()) for place in places]), batches))
    return read.names
