"""Columns of any Arrow type in types that every function of Arrow takes: values, and not how they are kept."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values that a column stands for: of dictionaries and runs their values, of views plain texts.

    Other types, nested ones and extensions among them, stay as they are.

    >>> plain_type(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: string>)
    """
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if isinstance(kind, pa.BaseExtensionType):
        return kind if plain_type(kind.storage_type) == kind.storage_type else plain_type(kind.storage_type)
    if types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    if types.is_map(kind):
        item = kind.item_field
        return pa.map_(plain_type(kind.key_type), item.with_type(plain_type(item.type)), keys_sorted=kind.keys_sorted)
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type)))
    if types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(plain_type(kind.value_type)))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type)), kind.list_size)
    return kind


def is_text_type(kind: pa.DataType) -> bool:
    """Whether the values of a type are texts, however they are kept."""
    plain = plain_type(kind)
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def as_plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in the plain type."""
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    return column if column.type == plain_type(kind) else column.cast(plain_type(kind))
