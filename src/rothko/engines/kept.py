"""Columns of any Arrow type, as they are spilled to disk and back."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.plain import as_plain, plain_type
from rothko.errors import InputError


class Stored:
    """Columns of any type in types that can be taken, joined and written without a schema, and back.

    Dictionaries are written as the values they stand for, because every file would need its own; so are runs. Views
    become plain texts. Other types, nested ones and extensions among them, stay as they are.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema.remove_metadata()
        self.stored = pa.schema([pa.field(str(i), plain_type(field.type)) for i, field in enumerate(schema)])
        for name, kind in zip(schema.names, schema.types, strict=True):
            try:
                _try(kind)
            except pa.ArrowException:
                raise InputError(
                    f"Column {name!r} holds {kind}, which cannot be written to disk; turn it into text or drop it."
                ) from None

    def store(self, table: pa.Table) -> pa.RecordBatch:
        """Some rows as they are written."""
        if table.schema != self.schema:
            table = table.cast(self.schema)
        columns = [as_plain(column) for column in table.columns]
        (batch,) = pa.Table.from_arrays(columns, schema=self.stored).combine_chunks().to_batches()
        return batch

    def restore(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        """Rows as they were given."""
        table = pa.Table.from_batches(batches, schema=self.stored)
        columns = []
        for column, name, kind in zip(table.columns, self.schema.names, self.schema.types, strict=True):
            try:
                columns.append(_as_given(column, kind))
            except pa.ArrowInvalid:
                raise InputError(
                    f"Column {name!r} has batches with different dictionaries, and together they hold more values "
                    f"than {kind.index_type} can number; turn it into text."
                ) from None
        return pa.Table.from_arrays(columns, schema=self.schema)


def _try(kind: pa.DataType) -> None:
    """Do with a missing value what is done with columns of a type."""
    column = as_plain(pa.chunked_array([pa.nulls(1, kind)]))
    batch = pc.take(pa.record_batch(column.chunks, ["0"]), pa.array([0], pa.int32()))
    pa.ipc.read_record_batch(batch.serialize(), batch.schema)
    _as_given(column, kind)


def _as_given(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        return column.dictionary_encode().cast(kind)
    if pa.types.is_run_end_encoded(kind):
        values = _as_given(column, kind.value_type)
        return pa.chunked_array(
            [pc.run_end_encode(chunk, run_end_type=kind.run_end_type) for chunk in values.chunks], kind
        )
    return column.cast(kind)
