"""Tables that grow on disk: what the release of a table larger than memory writes down on its way.

:class:`rothko.engines.disk.spill.Spill` is what makes them; nothing here needs to know where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

HELD = 1 << 20
"""Bytes of a table that are held until they are written: sequential for any disk."""
SHARED = 1 << 18
"""Bytes of each of many tables among which rows are divided, as many of which are held at a time."""


class TableFile(Protocol):
    """Rows that are appended some at a time, and read back in the same order as often as need be."""

    @property
    def rows(self) -> int:
        """How many there are."""
        ...

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        ...

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some at a time."""
        ...

    def remove(self) -> None:
        """Delete the file; the rows are gone."""
        ...


class Holder(Protocol):
    """What keeps a private folder, which is removed when this is closed or gone."""

    @property
    def folder(self) -> Path:
        """Where it lies; it has files only, no folders."""
        ...

    def close(self) -> None:
        """Remove it."""
        ...


class Tables(Holder, Protocol):
    """A private folder in which such tables are made."""

    def table(self, schema: pa.Schema, *, held: int = HELD) -> TableFile:
        """A table without rows; so many bytes of those that are appended are held until they are written."""
        ...
