"""The hash of records, whatever the pieces in which they come: a table in a database has no bytes to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.plain import as_plain
from rothko.data.source.source import Source


def records_hash(source: Source, columns: Sequence[str]) -> str:
    """The hash of some columns of a table, record after record; of the others, their names.

    >>> from rothko.data.source.open import open_source
    >>> people = open_source({"age": [30, None], "zip": ["02139", ""]})
    >>> records_hash(people, ["age"]) == records_hash(people, ["age", "zip"])
    False
    """
    parts: dict[str, list[hashlib._Hash]] = {name: [hashlib.sha256() for _ in range(3)] for name in columns}
    kinds: dict[str, str] = {}
    for piece in source.batches(columns):
        for name in columns:
            kinds[name] = str(piece[name].type)
            for chunk in as_plain(piece[name]).chunks:
                for part, raw in zip(parts[name], _raw(chunk), strict=False):
                    part.update(raw)
    told = [[name, kinds.get(name), [part.hexdigest() for part in parts.get(name, ())]] for name in source.names]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _raw(values: pa.Array) -> Iterator[bytes | pa.Buffer]:
    """Which values are missing, the others, and how long each is where they are of several lengths."""
    yield values.is_null().cast(pa.uint8()).to_numpy().tobytes()
    kind, types = values.type, pa.types
    if types.is_nested(kind) or types.is_null(kind):
        yield repr(values.to_pylist())[1:-1].encode() + b", "
    elif types.is_primitive(kind) and not types.is_boolean(kind):
        whole = values.view({8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[kind.bit_width])
        yield whole.fill_null(0).to_numpy().tobytes()
    else:
        texts = values if types.is_binary(kind) or types.is_large_binary(kind) else values.cast(pa.large_string())
        whole = pa.concat_arrays([texts.cast(pa.large_binary()).fill_null(b"")])
        lengths = pc.binary_length(whole).to_numpy()
        yield (whole.buffers()[2] or pa.py_buffer(b"")).slice(0, int(lengths.sum()))
        yield lengths.tobytes()
