"""Set-valued records that Spark reads: from a DataFrame, a file or a folder, in every form of :mod:`rothko.sets.files`.

What a row says is worked out by the functions that read files, some rows at a time, where the rows lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rothko.data.address import ELSEWHERE, address
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import with_names
from rothko.data.source.source import Source
from rothko.data.source.spark import is_frame, open_spark, quoted
from rothko.data.source.spark_errors import understood
from rothko.engines.spark.cluster import of_batches, pieces
from rothko.engines.spark.read import files_of, not_for_spark, open_by_spark
from rothko.engines.spark.session import session, session_of
from rothko.errors import InputError
from rothko.mistakes import said
from rothko.sets.files import Pieces, Reading, form_of, has_lines, long_columns, pieces_of, split_lines
from rothko.sets.records import Records, from_arrays, from_list_column
from rothko.sets.tables import cells


@dataclass(frozen=True, slots=True)
class SetFrame:
    """Records on a cluster."""

    session: Any
    frame: Any
    """The columns that are read."""
    reader: Pieces
    """How some of its rows become records."""
    label: str
    path: Path | None
    """Where they lie, if that is a file or folder of this machine."""


def open_sets(data: Any, how: Reading, master: str | None) -> SetFrame:
    """Open records that Spark reads; an error where it cannot."""
    if is_frame(data):
        at, source = session_of(data), open_spark(data)
    elif isinstance(data, str | Path):
        at = session(master)
        if how.form == "lines" or _of_lines(data, how):
            return _lines(at, data, how)
        source = open_by_spark(at, data, CsvOptions(delimiter=how.delimiter, encoding=how.encoding))
    else:
        raise not_for_spark(data)
    form = form_of(with_names(source), how)
    if form == "long":
        return _long(at, source, how)
    reader = pieces_of(source, how, form)
    frame = source.frame.select([quoted(name) for name in reader.columns])
    return _of_source(at, frame, reader, source)


def _of_source(at: Any, frame: Any, reader: Pieces, source: Source) -> SetFrame:
    assert not isinstance(source.path, tuple), "Spark reads a path at a time"
    return SetFrame(at, frame, reader, source.label, source.path)


def _of_lines(data: str | Path, how: Reading) -> bool:
    """Whether a file, or all files of a folder, have a record on each line, as their names say."""
    path = Path(data)
    if not path.is_dir():
        return has_lines(str(data).rstrip("/"), how)
    files = files_of(path)
    return bool(files) and all(has_lines(file.name, how) for file in files)


def _lines(at: Any, data: str | Path, how: Reading) -> SetFrame:
    if how.encoding is not None and how.encoding.lower().replace("-", "") != "utf8":
        raise InputError(
            f"engine spark reads lines of UTF-8, not of {how.encoding}; use engine memory, or turn the file into "
            "UTF-8 before."
        )
    name = address(data)
    path = None if ELSEWHERE.match(name) else Path(data)
    if path is not None and not path.exists():
        raise InputError(f"There is no file or folder {name!r}.")
    with understood():
        text = at.read.option("lineSep", "\n").text(name if path is None else str(path.absolute()))
        frame = text.selectExpr("CAST(value AS BINARY) AS value")
    label = name if path is None else path.name
    return SetFrame(at, frame, Pieces(["value"], partial(_from_lines, label, how.delimiter)), label, path)


def _from_lines(label: str, delimiter: str | None, piece: pa.Table) -> Records:
    try:
        texts = piece.column(0).cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowException:
        raise InputError(f"{label}: the text is not UTF-8; turn it into UTF-8 before.") from None
    numbers: dict[str, int] = {}
    items, counts = split_lines(texts.combine_chunks(), delimiter, numbers)
    return from_arrays(np.concatenate(([0], np.cumsum(counts))), items, list(numbers))


def _long(at: Any, source: Source, how: Reading) -> SetFrame:
    """The rows of each record brought together by Spark."""
    from pyspark.sql import functions

    columns = long_columns(source, how)
    if how.worth is not None:
        raise InputError(
            "engine spark takes no utilities from a column; give them as a file or a mapping "
            f"({said('--utility')}), and leave out {said('--worth', within='reading=Reading')}."
        )
    with understood():
        chosen = source.frame.select([quoted(name) for name in columns])
        rows = chosen.mapInArrow(of_batches(_as_texts, columns), "record string, item string")
        # One item of each kind, so that how a record's rows are spread does not matter.
        frame = rows.groupBy("record").agg(functions.collect_set("item").alias("items")).select("items")
    return _of_source(at, frame, Pieces(["items"], _from_items), source)


def _as_texts(columns: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in pieces(batches):
        record, item = (cells(table.column(i), name) for i, name in enumerate(columns))
        if record.null_count:
            raise InputError(f"{record.null_count:,} rows have no {columns[0]!r}.")
        texts = [record.cast(pa.string()), item.cast(pa.string())]
        yield pa.RecordBatch.from_arrays(texts, names=["record", "item"])


def _from_items(piece: pa.Table) -> Records:
    return from_list_column(piece.column(0))
