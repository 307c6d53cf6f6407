"""Delta tables: the records that their log says, none that were deleted, and one sentence for all else."""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import InputError, MissingExtraError, OutputError
from tests.command import Rothko

deltalake = pytest.importorskip("deltalake", reason="deltalake has no package for this platform")

CANARY = "canary"
PEOPLE = pa.table(
    {
        "age": pa.array([20 + i % 37 for i in range(240)], pa.int32()),
        "zip": [f"{i % 11:05d}" for i in range(240)],
        "seen": [date(2026, 1, 1 + i % 28) for i in range(240)],
        "cost": pa.array([Decimal(i) / 4 for i in range(240)], pa.decimal128(12, 2)),
        "disease": [("flu", "cold", None)[i % 3] for i in range(240)],
        "year": [f"20{i % 2 + 25}" for i in range(240)],
    }
)


@pytest.fixture
def visits(folder: Path) -> Path:
    """A table of which records were deleted, one column was added, and whose folders hold values that are text."""
    deltalake.write_deltalake("visits", PEOPLE.slice(0, 120), partition_by=["year"])
    gone = PEOPLE.slice(0, 60).set_column(4, "disease", pa.array([CANARY] * 60))
    deltalake.write_deltalake("visits", gone, mode="append")
    deltalake.DeltaTable("visits").delete(f"disease = '{CANARY}'")
    more = PEOPLE.slice(120).append_column("ward", pa.array(["a", "b"] * 60))
    deltalake.write_deltalake("visits", more, mode="append", schema_mode="merge")
    return folder / "visits"


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=str)


def test_the_records_are_those_of_the_log(visits: Path) -> None:
    assert any(CANARY.encode() in path.read_bytes() for path in visits.rglob("*.parquet"))  # they still lie there
    source = open_source(visits)
    assert source.rows == 240
    assert {*source.names} == {*PEOPLE.column_names, "ward"}
    table = source.read(PEOPLE.column_names)
    assert table.schema.equals(PEOPLE.schema)
    assert rows(table) == rows(PEOPLE)
    passes = [pa.concat_tables(source.batches(PEOPLE.column_names, rows=50, threads=threads)) for threads in (1, 2)]
    assert passes[0] == passes[1]  # in one order
    assert rows(passes[0]) == rows(PEOPLE)
    assert source.read(["ward"])["ward"].null_count == 120
    assert "version 3" in source.notes[0]


def test_a_pass_sees_the_version_that_was_opened(visits: Path) -> None:
    source = open_source(visits)
    deltalake.write_deltalake("visits", PEOPLE.slice(0, 5), mode="append", schema_mode="merge")
    deltalake.DeltaTable("visits").delete("age < 30")
    assert source.read(["age"]).num_rows == sum(batch.num_rows for batch in source.batches(["age"])) == 240
    deltalake.DeltaTable("visits").vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(InputError, match=r"^visits lacks a file that its log names; if somebody has vacuumed it"):
        source.read(["age"])


@pytest.mark.parametrize("engine", ["memory", "rothko-t"])
def test_a_release_of_one(visits: Path, engine: str) -> None:
    asked = {"qi": ["age", "zip"], "sensitive": "disease", "drop": ["seen", "cost", "year", "ward"], "k": 5}
    release = rk.anonymize("visits", **asked, engine=engine, method="mondrian", memory="2GB")
    saved = release.save("out/", report=False)
    assert saved.data.suffix == ".parquet"
    plain = rk.anonymize(open_source("visits").read(), **asked, method="mondrian").save("plain.parquet")
    assert saved.data.read_bytes() == plain.data.read_bytes()
    with pytest.raises(OutputError, match="lies in the folder that is read"):
        release.save("visits/out/")


def test_what_has_not_changed_is_not_released_again(visits: Path, rothko: Rothko) -> None:
    words = "--qi age,zip --sensitive disease --drop seen,cost,year,ward --k 5 --method mondrian --out out --overwrite"
    asked = ("anonymize", "visits", *words.split(), "--if-changed", "--no-report")
    said = [rothko(*asked).out.startswith("Unchanged") for _ in range(2)]
    deltalake.DeltaTable("visits").delete("age = 20 AND zip = '00000'")
    said += [rothko(*asked).out.startswith("Unchanged") for _ in range(2)]
    assert said == [False, True, False, True]


def test_what_is_not_read(visits: Path, rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rothko("check", "visits", "--qi", "age", "--k", 2, "--keep-rest").code in (0, 4)
    deltalake.write_deltalake("vectors", PEOPLE, configuration={"delta.enableDeletionVectors": "true"})
    Path("broken/_delta_log").mkdir(parents=True)
    Path("broken/_delta_log/00000000000000000000.json").write_text(f'{{"{CANARY}')
    Path("empty/_delta_log").mkdir(parents=True)
    for name, said in (
        ("vectors", "vectors is a Delta table with features that are not read here, such as deletion vectors"),
        ("broken", "broken cannot be read as a Delta table: its log or a file of it is damaged"),
        ("empty", "empty cannot be read as a Delta table"),
    ):
        ran = rothko("draft", name)
        assert ran.code == 2
        assert ran.err.startswith(f"Error: {said}"), ran.err
        assert CANARY not in ran.err
        assert ran.err.count("\n") <= 3
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rothko\[delta\]"'):
        open_source("visits")
