"""Columns that leave are new arrays: nothing of the input is left in them but the values that they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.release.rebuilt import rebuilt

SECRET = b"SECRET"


def hidden_text() -> pa.Array:
    """A text under a null."""
    ends = pa.py_buffer(np.array([0, 1, 7, 8], dtype=np.int32))
    return pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), ends, pa.py_buffer(b"aSECRETb")])


def hidden_number() -> pa.Array:
    data = pa.py_buffer(b"aaaaaaaa" + b"SECRET__" + b"bbbbbbbb")
    return pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), data])


def hidden_list() -> pa.Array:
    starts = pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32))
    return pa.Array.from_buffers(
        pa.list_(pa.string()), 3, [pa.py_buffer(b"\x05"), starts], children=[pa.array(["a", "SECRET", "b"])]
    )


def hidden_struct() -> pa.Array:
    return pa.StructArray.from_arrays([pa.array(["a", "SECRET", "b"])], ["x"], mask=pa.array([False, True, False]))


def words(*indices: int | None) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(["z", "SECRET", "a", "z"]))


def nested_words() -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), words(0, 2, 3))


def tagged() -> pa.Array:
    """Metadata of a nested field."""
    field = pa.field("x", pa.string(), metadata={"origin": "SECRET"})
    return pa.StructArray.from_arrays([pa.array(["a", "b", None])], fields=[field])


def sliced() -> pa.Array:
    return pa.array(["SECRET", "a", "b", "c", "SECRET"]).slice(1, 3)


def not_numbers() -> pa.Array:
    """What is not a number can carry 51 bits."""
    carrying = np.array([0x7FF8000000000000 | int.from_bytes(SECRET, "little") & ((1 << 50) - 1)], dtype=np.uint64)
    return pa.array(np.concatenate([carrying.view(np.float64), [1.0, 2.0]]))


def fixed() -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(["a", "SECRET", "b"]), 1, mask=pa.array([False, True, False]))


def mapped() -> pa.Array:
    starts = pa.array([0, 1, 2, 3], pa.int32())
    mask = pa.array([False, True, False])
    return pa.MapArray.from_arrays(starts, pa.array(["k", "SECRET", "k"]), pa.array([1, 2, 3]), mask=mask)


HIDING: dict[str, Any] = {
    made.__name__: made
    for made in (
        hidden_text, hidden_number, hidden_list, hidden_struct, nested_words, tagged, sliced, not_numbers, fixed,
        mapped,
    )
} | {"unused words": lambda: words(0, 2, None), "words twice": lambda: words(0, 3, 2)}  # fmt: skip


def held(array: pa.Array) -> bytes:
    """All bytes that an array points to, and those of a file of it: its type and its dictionaries."""
    parts = [part.to_pybytes() for part in array.buffers() if part is not None]
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, pa.schema([pa.field("x", array.type)])) as stream:
        stream.write(pa.record_batch([array], ["x"]))
    return b" ".join([*parts, sink.getvalue().to_pybytes()])


@pytest.mark.parametrize("kind", HIDING)
def test_only_values_are_left(kind: str) -> None:
    array = HIDING[kind]()
    carried = (0x7FF8000000000000 | int.from_bytes(SECRET, "little") & ((1 << 50) - 1)).to_bytes(8, "little")
    secret = carried if kind == "not_numbers" else SECRET
    assert kind == "words twice" or secret in held(array)
    found = rebuilt(pa.chunked_array([array]))
    found.validate(full=True)
    assert str(found.to_pylist()) == str(array.to_pylist())
    assert secret not in held(found)
    turned = rebuilt(pa.chunked_array([array]), np.array([2, 1, 0]))
    assert str(turned.to_pylist()) == str(array.to_pylist()[::-1])
    assert secret not in held(turned)


def test_a_dictionary_has_each_text_once_in_order() -> None:
    found = rebuilt(pa.chunked_array([words(0, 3, 2), words(2, None, 0)]))
    assert found.dictionary.to_pylist() == ["a", "z"]
    assert found.to_pylist() == ["z", "z", "a", "a", None, "z"]


def test_a_dictionary_may_have_missing_entries() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([None, "a"]))
    found = rebuilt(pa.chunked_array([array]))
    assert found.to_pylist() == [None, "a", None]
    assert found.dictionary.to_pylist() == ["a"]


NESTED = pa.list_(pa.struct([("x", pa.int64()), ("y", pa.list_(pa.dictionary(pa.int8(), pa.string())))]))
VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None, [("b", 2), ("c", None)], []]),
    (pa.list_(pa.int64(), 2), [[1, 2], None, [3, None]]),
    (pa.large_list(pa.int16()), [[1], None, [], [2, 3]]),
    (NESTED, [[{"x": 1, "y": ["p"]}], None, [{"x": None, "y": None}, None]]),
    (pa.float64(), [float("nan"), None, 1.5, -0.0]),
    (pa.null(), [None, None]),
    (pa.string_view(), ["a", None, "b"]),
    (pa.bool_(), [True, None, False]),
    (pa.decimal256(50, 3), [1, 2, None]),
    (pa.list_(pa.int64()), []),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=str)
def test_values_stay_as_they_are(kind: pa.DataType, values: list[Any]) -> None:
    array = pa.array(values, kind)
    for some in (array, array[1:], pa.concat_arrays([array, array])[2:]):
        found = rebuilt(pa.chunked_array([some]))
        found.validate(full=True)
        assert str(found.to_pylist()) == str(some.to_pylist())


# ── in the files that leave


def dictionaries(path: Path) -> dict[str, list[str]]:
    """The dictionary of every text column, as its page lists it."""
    texts = [field.name for field in pq.read_schema(path) if pa.types.is_string(field.type)]
    table = pq.ParquetFile(path, read_dictionary=texts).read()
    return {name: table[name].chunk(0).dictionary.to_pylist() for name in texts}


def test_pages_of_a_file_do_not_list_values_as_the_input_had_them(engine: str, tmp_path: Path) -> None:
    """Records sorted by name: a kept text that everybody has alone would tell the name by its place in the page."""
    rows = 1000
    table = pa.table(
        {
            "age": np.arange(rows) % 50,
            "note": pa.array([f"note {i * 7919 % rows:04d}" for i in range(rows)]).dictionary_encode(),
            "disease": pa.array([f"d{i * 31 % 97}" for i in range(rows)]).dictionary_encode(),
        }
    )
    policy = rk.Policy.quick(table.column_names, qi=["age"], sensitive=["disease"], keep="note", k=5)
    pq.write_table(table, tmp_path / "in.parquet")
    release = rk.anonymize(tmp_path / "in.parquet", policy, engine=engine)
    release.save(tmp_path / "out.parquet")
    listed = dictionaries(tmp_path / "out.parquet")
    if engine == "memory":
        assert set(listed) == {"age", "note", "disease"}
        assert all(words == sorted(words) for words in listed.values())
    place = {word: i for i, word in enumerate(table["note"].to_pylist())}
    order = [place[word] for word in listed["note"]]
    assert abs(np.corrcoef(np.arange(rows), order)[0, 1]) < 0.15
