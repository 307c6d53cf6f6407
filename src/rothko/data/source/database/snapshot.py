"""What is asked of a database that a table is read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa


class Session(Protocol):
    """A snapshot of a table: whoever changes it meanwhile, each pass sees the same records in the same order."""

    names: tuple[str, ...]
    rows: int
    bytes: int
    """What a pass reads, about."""
    unread: tuple[str, ...]
    """Columns of types that are not read, which can only be dropped."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The records, some at a time.

        Parameters
        ----------
        rows
            How many at a time, where the database can be told.
        """
        ...
