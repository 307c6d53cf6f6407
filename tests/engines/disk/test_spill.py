from __future__ import annotations

import datetime
import errno
import gc
import os
import socket
import stat
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rothko import private as module
from rothko.data.domain import Domain
from rothko.data.line import Kind, Line
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.disk.spill import Spill
from rothko.engines.growing import SHARED
from rothko.engines.packing import record_bytes
from rothko.errors import InputError, OutputError
from rothko.private import remove_leftovers

NONE = pa.table({})


def outline(*sizes: int, domain: int = 3) -> Outline:
    lines = tuple(Line(f"q{i}", Kind.NOMINAL, pa.nulls(size), np.empty(0), False) for i, size in enumerate(sizes))
    return Outline(0, lines, {"s": Domain("s", pa.nulls(domain - 1), np.zeros(domain, np.int64))}, ("s",), ())


def records(rows: int, *sizes: int, kept: pa.Table = NONE, seed: int = 0) -> Coded:
    stream = np.random.default_rng(seed)
    codes = np.array([stream.integers(0, size, rows) for size in sizes], dtype=np.int32)
    return Coded(codes, {"s": stream.integers(0, 3, rows).astype(np.int32)}, kept)


def rows_of(batches: Sequence[Coded]) -> list[tuple[object, ...]]:
    """Every record as a tuple."""
    found: list[tuple[object, ...]] = []
    for coded in batches:
        kept = coded.kept.to_pylist() if coded.kept.num_columns else [None] * coded.rows
        assert coded.codes.dtype == np.int32
        assert {values.dtype for values in coded.values.values()} == {np.dtype(np.int32)}
        found.extend(zip(coded.codes.T.tolist(), coded.values["s"].tolist(), kept, strict=True))
    return [(tuple(codes), value, str(kept)) for codes, value, kept in found]


# ------------------------------------------------------------------------------------------------------- the folder


def test_folder_and_files_are_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        spill.table(pa.schema({"a": pa.int8()})).write(pa.table({"a": pa.array(np.zeros(2 << 20, np.int8))}))
        assert stat.S_IMODE(spill.folder.stat().st_mode) == 0o700
        assert [stat.S_IMODE(file.stat().st_mode) for file in spill.folder.iterdir()] == [0o600, 0o600]
        assert spill.folder.name.startswith(f"rothko-spill-{os.getpid()}-")
    assert not any(tmp_path.iterdir())


def test_the_system_temporary_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Spill.open() as spill:
        assert spill.folder.parent == tmp_path
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_removes_it_even_where_it_was_to_stay(tmp_path: Path, error: type[BaseException]) -> None:
    def work() -> None:
        with Spill.open(tmp_path) as spill:
            spill.keep_open()
            raise error

    with pytest.raises(error):
        work()
    assert not any(tmp_path.iterdir())


def test_it_can_outlive_the_with_as_long_as_something_reads_from_it(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(5), parts=1, memory=1 << 20)
        coded = records(10, 5)
        writer.write(np.zeros(10, np.int32), coded)
        (part,) = writer.close()
        spill.keep_open()
    del spill, writer
    gc.collect()
    assert rows_of([part.load()]) == rows_of([coded])
    del part
    gc.collect()
    assert not any(tmp_path.iterdir())


def test_close_twice(tmp_path: Path) -> None:
    spill = Spill.open(tmp_path)
    spill.close()
    spill.close()
    assert not any(tmp_path.iterdir())


def test_an_interrupted_removal_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = Spill.open(tmp_path)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            spill.close()
    assert spill.folder.exists()
    del spill
    gc.collect()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["missing", "file"])
def test_a_place_that_is_no_folder_is_refused_without_its_name(tmp_path: Path, what: str) -> None:
    place = tmp_path / "patients"
    if what == "file":
        place.touch()
    with pytest.raises(OutputError, match="spill_dir=…") as caught:
        Spill.open(place)
    assert "patients" not in str(caught.value)


# --------------------------------------------------------------------------------------------------------- leftovers


def leftover(parent: Path, process: int, owner: bytes | None = b"") -> Path:
    folder = parent / f"rothko-spill-{process}-{'0' * 16}"
    folder.mkdir(mode=0o700)
    (folder / "1").write_bytes(b"records")
    if owner is not None:
        (folder / "lock").write_bytes(owner)
    return folder


def test_a_leftover_is_removed_even_where_its_process_id_is_in_use_again(tmp_path: Path) -> None:
    folder = leftover(tmp_path, os.getpid())
    with Spill.open(tmp_path):
        assert not folder.exists()


def test_one_process_may_have_two(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as first, Spill.open(tmp_path) as second:
        assert first.folder.exists()
        assert second.folder != first.folder


def test_only_our_own_folders_are_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rothko-spill-1-short").mkdir()
    (tmp_path / f"rothko-spill-1-{'0' * 16}").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (elsewhere / "file").touch()
    (tmp_path / f"rothko-spill-1-{'1' * 16}").symlink_to(elsewhere)
    before = sorted(tmp_path.rglob("*"))
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    folder = leftover(tmp_path, 12345)
    with monkeypatch.context() as patch:
        patch.setattr("os.geteuid", lambda: folder.stat().st_uid + 1)
        remove_leftovers(tmp_path)
        assert folder.exists()
    remove_leftovers(tmp_path)
    assert not folder.exists()


def test_a_folder_without_a_lock_is_removed_only_while_it_is_empty(tmp_path: Path) -> None:
    folder = leftover(tmp_path, 1, owner=None)
    remove_leftovers(tmp_path)
    assert folder.exists()
    (folder / "1").unlink()
    remove_leftovers(tmp_path)
    assert not folder.exists()


def test_a_start_that_loses_its_folder_to_another_one_makes_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = module.fcntl.flock
    lost = []

    def swept_first(lock: int, how: int) -> None:
        if not lost:
            lost.append(True)
            remove_leftovers(tmp_path)
        flock(lock, how)

    monkeypatch.setattr("fcntl.flock", swept_first)
    with Spill.open(tmp_path) as spill:
        assert lost
        assert [path.name for path in tmp_path.iterdir()] == [spill.folder.name]
        assert (spill.folder / "lock").exists()


@pytest.mark.parametrize(
    ("process", "owner", "stays"),
    [
        ("own", "own", True),
        ("own", "earlier", False),
        ("dead", "own", False),
        ("dead", "elsewhere", True),
        ("own", "unsaid", True),
    ],
)
def test_without_locks_the_process_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: str, owner: str, stays: bool
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    said = {
        "own": module._owner(os.getpid()),
        "earlier": f"{socket.gethostname()} 1".encode(),
        "elsewhere": b"another.host 1",
        "unsaid": b"",
    }
    folder = leftover(tmp_path, os.getpid() if process == "own" else 2**22 + 1, said[owner])
    with Spill.open(tmp_path) as spill:
        assert folder.exists() == stays
        remove_leftovers(tmp_path)
        assert spill.folder.exists()


# ----------------------------------------------------------------------------------------------------------- records


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_record_is_in_its_part_in_its_order(tmp_path: Path, data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, 6))
    memory = data.draw(st.sampled_from([0, 100, 1000, 20_000, 1 << 20]))
    batches, expected = [], [[] for _ in range(parts)]
    for i in range(data.draw(st.integers(0, 4))):
        part_of = np.array(data.draw(st.lists(st.integers(-1, parts - 1), max_size=60)), dtype=np.int32)
        texts = [None if j % 5 == 4 else "x" * (j * 7 % 11) for j in range(len(part_of))]
        coded = records(len(part_of), 4, 300, kept=pa.table({"t": pa.array(texts, pa.string())}), seed=i)
        batches.append((part_of, coded))
        for part, row in zip(part_of.tolist(), rows_of([coded]), strict=True):
            if part >= 0:
                expected[part].append(row)
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(4, 300), parts=parts, memory=memory)
        for part_of, coded in batches:
            writer.write(part_of, coded)
            assert writer.buffered <= memory
        spilled = writer.close()
        assert [rows_of(list(part.batches())) for part in spilled] == expected
        assert [rows_of([part.load()]) for part in spilled] == expected
        assert [part.rows for part in spilled] == [len(rows) for rows in expected]
        assert sum(part.bytes for part in spilled) == spill.written == spill.read / 2
    assert not any(tmp_path.iterdir())


def test_codes_are_as_narrow_as_their_line(tmp_path: Path) -> None:
    sizes = (1, 256, 257, 65536, 65537)
    table = outline(*sizes, domain=257)
    assert record_bytes(table) == 1 + 1 + 2 + 2 + 4 + 2
    codes = np.array([[0, size - 1] for size in sizes], dtype=np.int32)
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(table, parts=1, memory=1 << 20)
        writer.write(np.zeros(2, np.int32), Coded(codes, {"s": np.array([0, 256], np.int32)}, NONE))
        loaded = writer.close()[0].load()
        assert loaded.codes.tolist() == codes.tolist()
        assert loaded.values["s"].tolist() == [0, 256]


def test_a_record_for_a_part_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    for wrong in (2, -2):
        with Spill.open(tmp_path) as spill, pytest.raises(ValueError, match=r"2 parts|non-negative|negative"):
            spill.writer(outline(4), parts=2, memory=1000).write(np.array([wrong], np.int32), records(1, 4))


@pytest.mark.parametrize("skewed", [False, True])
def test_buffers_stay_within_memory_and_writes_are_few_and_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skewed: bool
) -> None:
    parts, memory, rows = 20, 4 << 20, 100_000
    kept = pa.table({"t": pa.array(np.arange(rows).astype(str))})
    coded = records(rows, 1000, 70_000, kept=kept)
    part_of = np.random.default_rng(0).integers(0, parts, rows).astype(np.int32)
    if skewed:
        part_of[part_of > 0] = 1
    writes = []
    count = Spill.count
    monkeypatch.setattr(
        Spill,
        "count",
        lambda self, read=0, written=0: (writes.append(written), count(self, read=read, written=written)),
    )
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(1000, 70_000), parts=parts, memory=memory)
        before = pa.total_allocated_bytes()
        for _ in range(10):
            writer.write(part_of, coded)
            assert writer.buffered <= memory
            assert pa.total_allocated_bytes() - before <= memory
        spilled = writer.close()
        assert pa.total_allocated_bytes() == before
        assert sum(part.rows for part in spilled) == 10 * rows
        # Two messages, codes and texts, of every part each time that the buffers are full.
        assert len(writes) <= 2 * parts * (spill.written / (memory / 2) + 1)
        most = max(batch.rows for part in spilled for batch in part.batches())
        assert most * spill.written / (10 * rows) <= 2 << 20


def test_more_parts_than_files_may_be_open(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    parts = 400
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        with Spill.open(tmp_path) as spill:
            writer = spill.writer(outline(5), parts=parts, memory=1 << 20)
            writer.write(np.arange(parts, dtype=np.int32), records(parts, 5))
            assert [part.rows for part in writer.close()] == [1] * parts
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_part_can_be_removed_early(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(5), parts=2, memory=1 << 20)
        writer.write(np.array([0, 1, 1], np.int32), records(3, 5))
        first, second = writer.close()
        first.remove()
        first.remove()
        assert len(list(spill.folder.iterdir())) == 2
        assert second.load().rows == 2
        with pytest.raises(OutputError, match="it was removed"):
            first.load()


def test_neither_names_nor_values_of_columns_are_on_disk(tmp_path: Path) -> None:
    kept = pa.table({"Patient": pa.array([b"\x01", b"\x02"])})
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(5), parts=1, memory=1 << 20)
        writer.write(np.zeros(2, np.int32), records(2, 5, kept=kept))
        writer.close()
        assert not any(b"Patient" in file.read_bytes() for file in spill.folder.iterdir())


# ----------------------------------------------------------------------------------------------------- kept columns


class Level(pa.ExtensionType):
    """A type of somebody else's, kept in a dictionary."""

    def __init__(self) -> None:
        super().__init__(pa.dictionary(pa.int8(), pa.string()), "tests.level")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Level:
        return cls()


DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12, 30, 1, 5)
NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
WORDS = pa.dictionary(pa.int8(), pa.string())
COLUMNS: dict[str, pa.Array] = {
    **{str(kind): pa.array([1, None, 100], kind) for kind in [*NUMBERS, pa.float16(), pa.float32(), pa.float64()]},
    **{str(kind): pa.array(["ä", None, "long " * 5], kind) for kind in [pa.string(), pa.large_string()]},
    "string_view": pa.array(["ä", None, "long " * 5], pa.string_view()),
    "binary_view": pa.array([b"\0", None, b"long " * 5], pa.binary_view()),
    **{str(kind): pa.array([b"a\0", None, b"bb"], kind) for kind in [pa.binary(), pa.large_binary(), pa.binary(2)]},
    **{str(kind): pa.array([DAY, None, DAY], kind) for kind in [pa.date32(), pa.date64()]},
    **{f"time {unit}": pa.array([NOON, None, NOON], pa.timestamp(unit)) for unit in ("us", "ns")},
    "zoned": pa.array([NOON, None, NOON], pa.timestamp("us", "Europe/Berlin")),
    "time of day": pa.array([NOON.time(), None, NOON.time()], pa.time64("us")),
    "duration": pa.array([datetime.timedelta(1), None, datetime.timedelta(2)], pa.duration("ms")),
    "interval": pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
    "decimal128": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(10, 2)),
    "decimal256": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal256(50, 2)),
    "boolean": pa.array([True, None, False]),
    "null": pa.nulls(3),
    "list": pa.array([["a"], None, ["b", None]]),
    "large list": pa.array([[1], None, [2, 3]], pa.large_list(pa.int8())),
    "list view": pa.array([[1], None, [2, 3]], pa.list_view(pa.int8())),
    "fixed list": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
    "struct": pa.array([{"x": 1, "y": ["a"]}, None, {"x": None, "y": []}]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(list("xyz"))]),
    "uuid": pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()),
    "dictionary": pa.array(["a", None, "b"], WORDS),
    "dictionary of numbers": pa.array([7, None, 9], pa.dictionary(pa.uint16(), pa.int64())),
    "dictionary with null": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(["a", None])),
    "list of dictionaries": pa.array([["a"], None, ["b"]], pa.list_(WORDS)),
    "struct of dictionaries": pa.array([{"x": "a"}, None, {"x": "b"}], pa.struct({"x": WORDS})),
    "list of views": pa.array([["a"], None, ["b"]], pa.list_(pa.string_view())),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"])),
    "extension": pa.ExtensionArray.from_storage(Level(), pa.array(["a", None, "b"], WORDS)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kept_columns_of_every_type_come_back(tmp_path: Path, name: str) -> None:
    column = COLUMNS[name]
    table = pa.table({"c": pa.chunked_array([column, column.slice(1)]), "d": pa.array(range(5))})
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(5), parts=2, memory=1 << 20)
        for _ in range(2):
            writer.write(np.array([1, 0, 1, -1, 1], np.int32), records(5, 5, kept=table))
        first, second = (part.load().kept for part in writer.close())
        again = spill.table(table.schema)
        again.write(table)
        again.write(table.slice(1))
        whole = pa.concat_tables(again.batches())
        assert again.rows == whole.num_rows == 9
    values = table["c"].to_pylist()
    assert first.schema == second.schema == whole.schema == table.schema
    assert first["c"].to_pylist() == [values[1]] * 2
    assert second["c"].to_pylist() == [values[0], values[2], values[4]] * 2
    assert second["d"].to_pylist() == [0, 2, 4] * 2
    assert whole["c"].to_pylist() == values + values[1:]


def test_batches_may_have_dictionaries_of_their_own(tmp_path: Path) -> None:
    kind = WORDS
    with Spill.open(tmp_path) as spill:
        writer = spill.writer(outline(5), parts=1, memory=1 << 20)
        for words in (["a", "b"], ["b", "c"]):
            kept = pa.table({"w": pa.array(words, kind)})
            writer.write(np.zeros(2, np.int32), records(2, 5, kept=kept))
        loaded = writer.close()[0].load().kept
        assert loaded["w"].type == kind
        assert loaded["w"].to_pylist() == ["a", "b", "b", "c"]


def test_more_words_than_a_dictionary_can_number_is_said_without_them(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        table = spill.table(pa.schema({"word": WORDS}))
        for begin in (0, 100):
            words = [f"secret{i}" for i in range(begin, begin + 100)]
            table.write(pa.table({"word": pa.array(words, WORDS)}))
        with pytest.raises(InputError, match="'word'") as caught:
            list(table.batches())
        assert "secret" not in str(caught.value)


def test_a_type_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    kind = pa.list_view(WORDS)
    with Spill.open(tmp_path) as spill, pytest.raises(InputError, match="'c'"):
        spill.table(pa.schema({"c": kind}))


def test_tables_that_grow(tmp_path: Path) -> None:
    schema = pa.schema({"a": pa.int64()})
    with Spill.open(tmp_path) as spill:
        table = spill.table(schema)
        assert list(table.batches()) == []
        for i in range(100):
            table.write(pa.table({"a": np.arange(i * 10_000, (i + 1) * 10_000)}))
            if i == 50:
                assert sum(batch.num_rows for batch in table.batches()) == table.rows == 510_000
        table.write(schema.empty_table())
        batches = list(table.batches())
        assert pa.concat_tables(batches)["a"].to_pylist() == list(range(1_000_000))
        assert max(batch.nbytes for batch in batches) < 2 << 20
        assert len(batches) < 10
        assert table.bytes == spill.written
        table.remove()
        assert [file.name for file in spill.folder.iterdir()] == ["lock"]


def test_codes_alone_are_read_without_what_is_kept(tmp_path: Path) -> None:
    kept = pa.table({"note": [f"note {i}" for i in range(5_000)]})
    for some in (kept, NONE):
        with Spill.open(tmp_path) as spill:
            writer = spill.writer(outline(7, 300), parts=1, memory=1 << 16)
            writer.write(np.zeros(5_000, dtype=np.int32), records(5_000, 7, 300, kept=some))
            [spilled] = writer.close()
            whole = list(spilled.batches())
            read = spill.read
            codes = list(spilled.codes())
            assert (spill.read - read < read / 2) == bool(some.num_columns)
            for column in range(2):
                np.testing.assert_array_equal(
                    np.concatenate([one.codes[column] for one in codes]),
                    np.concatenate([one.codes[column] for one in whole]),
                )
            assert [one.values["s"].tolist() for one in codes] == [one.values["s"].tolist() for one in whole]


def test_tables_among_which_rows_are_divided_hold_little_together(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        tables = [spill.table(pa.schema({"a": pa.int64()}), held=SHARED) for _ in range(32)]
        for i in range(10):
            for table in tables:
                table.write(pa.table({"a": np.arange(i * 10_000, (i + 1) * 10_000)}))
        assert sum(8 * table.rows for table in tables) - spill.written < 32 * SHARED
        for table in tables:
            assert pa.concat_tables(table.batches())["a"].to_pylist() == list(range(100_000))
