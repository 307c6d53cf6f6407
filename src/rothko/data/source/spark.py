"""A table on a Spark cluster as a source: known by its columns and its first records; the rest stays there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rothko.data.source.file_bytes import stamp
from rothko.data.source.source import PIECE_ROWS, Source
from rothko.data.source.spark_errors import understood
from rothko.errors import InputError


def is_frame(data: object) -> bool:
    """Whether this is a DataFrame of Spark, classic or of Connect; Spark is not imported to tell.

    >>> is_frame({"age": [30]})
    False
    """
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


def open_spark(
    frame: Any,
    *,
    label: str = "the Spark DataFrame",
    path: Path | None = None,
    parts: Sequence[Path] = (),
    text: bool = False,
) -> Source:
    """A DataFrame as a source; reading it as a whole brings it here, and what looks at it sees its first records.

    Parameters
    ----------
    path
        Where it lies, if that is a folder or file of this machine.
    parts
        Its Parquet files, where it is all that they hold.
    text
        Whether its columns have no types.
    """
    with understood():
        names = tuple(frame.columns)
    _told_apart(names)

    def first(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with understood():
            some = selected(frame, columns).limit(PIECE_ROWS)
        return iter(brought(some).to_batches())

    return Source(
        label,
        names,
        path,
        lambda columns, _: brought(selected(frame, columns)),
        restore=lambda table: _restored(frame.sparkSession, table),
        _pieces=lambda columns, *_: first(columns),
        _first=first,
        written_by="write.parquet",
        _stamps={} if path is None else {path: stamp(path)},
        frame=frame,
        parts=tuple(parts),
        text=text,
    )


def _told_apart(names: Sequence[str]) -> None:
    """Refuse columns that Spark does not tell apart."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise InputError(f"Spark does not tell the columns {other!r} and {name!r} apart; rename one of them.")


def selected(frame: Any, columns: Sequence[str]) -> Any:
    """Some columns of a frame."""
    with understood():
        return frame.select([quoted(name) for name in columns])


def brought(frame: Any) -> pa.Table:
    """All records of a frame, brought here."""
    with understood():
        return frame.toArrow()


def _restored(session: Any, table: pa.Table) -> Any:
    with understood():
        return session.createDataFrame(table)


def quoted(name: str) -> str:
    """A column by its name, whatever characters it has.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"
