"""The result of a query in a private folder, for a run that must not hold it in memory.

A DuckDB relation and a Polars LazyFrame can be run again for each pass, but nobody promises that the records come in
the same order, or are the same: a query may draw a sample, or read a file that is written to. So it is run once, some
records at a time, and what it gave is read from disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rothko.data.source.frames import label_of, way_back
from rothko.data.source.open import with_names
from rothko.data.source.source import PIECE_ROWS, Source, sound
from rothko.engines.disk.spill import Spill
from rothko.errors import InputError, RothkoError


def put_on_disk(query: Any, spill_dir: Path | None) -> Source:
    """Run a query, and open its result; the private folder is removed when the source is gone."""
    label = label_of(query)
    with Spill.open(spill_dir) as spill:
        spill.keep_open()
        pieces = _pieces_of(query)
        try:
            first = next(pieces, None)
            if first is None:
                raise InputError(f"{label} has columns but no records.")
            names = tuple(first.column_names)
            stored = spill.table(first.schema)
            while first is not None:
                stored.write(sound(first))
                first = next(pieces, None)
        except RothkoError:
            raise
        except Exception:  # of whatever the query is made of; what it says may quote cells
            raise InputError(f"{label} cannot be computed, or its result has no Arrow types.") from None

    def batches(columns: Sequence[str], _: Collection[str], __: int, ___: int) -> Iterator[pa.Table]:
        return (piece.select(list(columns)) for piece in stored.batches())

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        return pa.concat_tables(batches(columns, (), 0, 0), promote_options="permissive").unify_dictionaries()

    return with_names(
        Source(
            label, names, None, read, way_back(query), _pieces=batches, rows=stored.rows, bytes=stored.bytes, held=spill
        )
    )


def _pieces_of(query: Any) -> Iterator[pa.Table]:
    if isinstance(query, duckdb.DuckDBPyRelation):
        for batch in query.to_arrow_reader(PIECE_ROWS):
            yield pa.Table.from_batches([batch])
    else:
        for frame in query.collect_batches(chunk_size=PIECE_ROWS, maintain_order=True, lazy=True):
            yield frame.to_arrow()
