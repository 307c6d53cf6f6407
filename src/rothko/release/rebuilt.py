"""Columns rebuilt from their values: what an array holds beside them does not leave with them.

An Arrow array may hold more than it shows: values under nulls, bytes before and after a slice, entries of a dictionary
that no record has, in the order in which the input first had them, metadata of nested fields. So every column that is
released as it is becomes a new array, and dictionaries stand in the order of their values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.plain import as_plain
from rothko.errors import InputError


def rebuilt(column: pa.ChunkedArray, order: NDArray[np.integer] | None = None) -> pa.Array:
    """A column in one piece, from its values alone; dictionaries of texts stay dictionaries, sorted.

    Parameters
    ----------
    order
        The records in the order in which they leave; None for that of the column.

    Examples
    --------
    >>> kept = pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(["z", "nobody's", "a"]))
    >>> rebuilt(pa.chunked_array([kept])).dictionary.to_pylist()
    ['a', 'z']
    """
    words = pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type)
    column = column.unify_dictionaries() if words else as_plain(column)
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    array = array.take(pa.array(np.arange(len(array), dtype=np.int64) if order is None else order))
    if words:
        return _sorted(array)
    if pa.types.is_float16(array.type):
        return _of_values(array.cast(pa.float32()))  # the verifier reads no halves
    return _of_values(array)


def _sorted(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """A dictionary of the texts that records have, each once, in their order."""
    used = np.unique(array.indices.drop_null().to_numpy(zero_copy_only=False))
    words = array.dictionary.take(pa.array(used))
    distinct = words.unique().drop_null()
    distinct = distinct.take(pc.array_sort_indices(distinct))
    place = np.zeros(len(array.dictionary), dtype=np.int32)
    found = pc.index_in(words, value_set=distinct)
    place[used] = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
    indices = pa.array(place).take(array.indices)
    if found.null_count:  # an entry of the dictionary may itself be missing
        indices = pc.if_else(pc.equal(indices, -1), pa.scalar(None, pa.int32()), indices)
    return pa.DictionaryArray.from_arrays(indices, distinct)


def _of_values(array: Any) -> pa.Array:
    """A plain array from the values of one that lies in one piece: without metadata, or what nulls hide."""
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _of_values(array.storage))
    if types.is_struct(kind):
        # Flattened, what a missing struct has in its fields is missing too.
        columns = [_of_values(column) for column in array.flatten()]
        fields = [pa.field(field.name, column.type) for field, column in zip(kind, columns, strict=True)]
        return pa.StructArray.from_arrays(columns, fields=fields, mask=array.is_null())
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind) or types.is_fixed_size_list(kind):
        return _of_lists(array)
    if types.is_nested(kind):
        raise InputError(f"A column that is released as it is holds {kind}; turn it into text, or drop it.")
    if types.is_floating(kind) and not types.is_float16(kind):
        array = _one_nan(array)
    # Taken, what is missing is filled with zeros.
    return array.take(pa.array(np.arange(len(array), dtype=np.int64))) if array.null_count else array


def _of_lists(array: Any) -> pa.Array:
    kind, types = array.type, pa.types
    missing = array.is_null()
    held = array.drop_null() if array.null_count else array
    held = held.take(pa.array(np.arange(len(held), dtype=np.int64)))  # without what lies around a slice
    if types.is_fixed_size_list(kind):
        values = _of_values(held.flatten())
        # A missing list has room for its values all the same.
        present = np.repeat(pc.is_valid(array).to_numpy(zero_copy_only=False), kind.list_size)
        places = np.where(present, np.cumsum(present) - 1, 0)
        values = values.take(pa.array(places, mask=~present))
        named = pa.field(kind.value_field.name, values.type)
        return pa.FixedSizeListArray.from_arrays(values, type=pa.list_(named, kind.list_size), mask=missing)
    lengths = np.diff(np.asarray(array.offsets, dtype=np.int64)) * pc.is_valid(array).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    mask = missing if array.null_count else None
    if types.is_map(kind):
        keys, items = _of_values(held.keys), _of_values(held.items)
        plain = pa.map_(keys.type, items.type, keys_sorted=kind.keys_sorted)
        return pa.MapArray.from_arrays(pa.array(starts, pa.int32()), keys, items, type=plain, mask=mask)
    values = _of_values(held.flatten())
    named = pa.field(kind.value_field.name, values.type)
    if types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(pa.array(starts), values, type=pa.large_list(named), mask=mask)
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), values, type=pa.list_(named), mask=mask)


def _one_nan(array: pa.Array) -> pa.Array:
    """The same numbers; what is not a number has many bit patterns, and becomes one of them."""
    wrong = pc.is_nan(array)
    if not pc.any(wrong, min_count=0).as_py():
        return array
    return pc.if_else(wrong, pa.scalar(float("nan"), array.type), array)
