"""Tasks that read Parquet files have every row once, in plain types, and say where a file is not as it was."""

from __future__ import annotations

import pickle
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from rothko.data.source.written import Written
from rothko.engines.spark import input_rows as reading
from rothko.engines.spark.input_rows import FileRows, PartFile, groups_of
from rothko.errors import InputError
from tests.strategies.tables import unhurried
from tests.twins.spark_cluster import PlainCluster, PlainFrame, batches_of


class Session:
    """What numbers the tasks."""

    def range(self, start: int, end: int, step: int, partitions: int) -> PlainFrame:
        assert (start, step, partitions) == (0, 1, end)
        return PlainFrame(tuple(pa.table({"id": [number]}) for number in range(end)))


def read(rows: FileRows) -> list[pa.Table]:
    """What each task has."""
    sent = cloudpickle.dumps(rows.opened)
    return [pa.concat_tables(pickle.loads(sent)(batches_of(part))) for part in rows.frame.partitions]


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "age": pa.array([*range(40), None], pa.int16()),
            "a.b": pa.array([f"town {i % 3}" for i in range(41)]).dictionary_encode(),
            "note": pa.array([[i, None] for i in range(41)]),
            "name": [f"canary-{i}" for i in range(41)],
        }
    )


@pytest.fixture
def files(table: pa.Table, tmp_path: Path) -> list[Path]:
    for name, begin, end in (("a", 0, 17), ("b", 17, 18), ("c", 18, 41)):
        pq.write_table(table.slice(begin, end - begin), tmp_path / f"{name}.parquet", row_group_size=5)
    return sorted(tmp_path.glob("*.parquet"))


@pytest.mark.parametrize("at_once", [1, 7, 20, 1000])
def test_every_row_is_read_once(table: pa.Table, files: list[Path], at_once: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "TASK_ROWS", at_once)
    rows = FileRows.of(PlainCluster(session=Session()), files, ["a.b", "age", "note"], Written())
    parts = read(rows)
    plain = table.select(["a.b", "age", "note"]).set_column(0, "a.b", table["a.b"].cast(pa.string()))
    assert pa.concat_tables(parts).equals(plain)
    assert rows.schema().equals(plain.schema)
    assert rows.count() == 41
    assert len(parts) == min(-(-41 // at_once), 10)
    assert read(rows.only(["age"]))[0].column_names == ["age"]


@unhurried
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 60))
def test_groups_of_rows_are_divided(counts: list[int], tasks: int) -> None:
    files = [PartFile(str(i), 1, groups, ()) for i, groups in enumerate(counts)]
    found = [
        [(file.path, group) for file, some in groups_of(files, task, tasks) for group in some] for task in range(tasks)
    ]
    assert list(chain(*found)) == [(str(i), group) for i, groups in enumerate(counts) for group in range(groups)]
    sizes = [len(one) for one in found]
    assert max(sizes) - min(sizes) <= 1


def test_a_file_that_a_task_does_not_find_as_it_was(table: pa.Table, files: list[Path]) -> None:
    rows = FileRows.of(PlainCluster(session=Session()), files, ["age"], Written())
    pq.write_table(table, files[1])
    with pytest.raises(InputError, match=r"^b\.parquet has changed while it was read; start again\.$"):
        read(rows)
    files[0].unlink()
    with pytest.raises(InputError, match=r"^An executor does not find a\.parquet where the driver does: .*DataFrame"):
        read(rows)
