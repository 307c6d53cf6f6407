"""Nothing of how a table lay leaves: order, row groups, dictionaries, compression or metadata change no byte."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.release.formats.table import ENDINGS

ASKED: dict[str, Any] = {
    "qi": ["age", "zip"], "sensitive": "disease", "drop": "name", "keep": ["cost", "seen"], "k": 5,
    "method": "mondrian",
}  # fmt: skip
ROWS = 300


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same records in two files, of which nothing else is the same."""
    folder, drawn = tmp_path_factory.mktemp("twice"), np.random.default_rng(0)
    words = pa.array(["flu", "cold", "gout", "nobody has this"])
    table = pa.table(
        {
            "name": [f"person {i}" for i in range(ROWS)],
            "age": drawn.integers(18, 60, ROWS),
            "zip": [f"{z:05}" for z in drawn.integers(0, 60, ROWS)],
            "disease": pa.DictionaryArray.from_arrays(pa.array(drawn.integers(0, 3, ROWS, dtype=np.int8)), words),
            "cost": drawn.normal(100, 20, ROWS).round(2),
            "seen": pa.array(drawn.integers(0, 10**6, ROWS) * 10**6, pa.timestamp("us")),
        }
    )
    pq.write_table(table, folder / "one.parquet", row_group_size=70)
    other = table.take(drawn.permutation(ROWS)).replace_schema_metadata({"by": "nobody"})
    spelled = other["disease"].cast(pa.string()).dictionary_encode()
    other = other.set_column(3, "disease", spelled)
    pq.write_table(other, folder / "two.parquet", row_group_size=220, compression="zstd", write_statistics=False)
    return folder / "one.parquet", folder / "two.parquet"


def told(path: Path) -> dict[str, Any]:
    """A certificate, but for how long things took."""
    return {name: value for name, value in json.loads(path.read_text()).items() if name != "seconds"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_files(ending: str, twice: tuple[Path, Path], tmp_path: Path) -> None:
    for path in twice:
        (tmp_path / path.stem).mkdir()
        rk.anonymize(path, **ASKED).save(tmp_path / path.stem / f"release{ending}", report=True, recoding=False)
    one, two = (tmp_path / path.stem for path in twice)
    assert (one / f"release{ending}").read_bytes() == (two / f"release{ending}").read_bytes()
    assert told(one / "release.certificate.json") == told(two / "release.certificate.json")
    assert (one / "release.report.json").read_bytes() == (two / "release.report.json").read_bytes()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_tables_of_databases(kind: str, twice: tuple[Path, Path], tmp_path: Path) -> None:
    found = []
    for path in twice:
        place = tmp_path / f"{path.stem}.db"
        rk.anonymize(path, **ASKED).save(
            f"{kind}:///{place}?table=release", recoding=False, certificate=f"{place}.json"
        )
        connection: Any = sqlite3.connect(place) if kind == "sqlite" else duckdb.connect(place)
        found.append(connection.execute("SELECT * FROM release ORDER BY rowid").fetchall())
        connection.close()
    assert found[0] == found[1]
    assert len(found[0]) == ROWS
