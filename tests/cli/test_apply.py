"""``rothko apply`` under a memory limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rothko.data.source.source import Source
from rothko.engines import plan
from rothko.generate.patients import patients
from tests.command import Rothko


@pytest.mark.parametrize("limit", ["10MB", "100GB", "container"])
def test_a_limit_decides_whether_a_file_is_recoded_in_pieces(
    limit: str, rothko: Rothko, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(patients(500, seed=1), "people.parquet")
    pq.write_table(patients(300, seed=2), "new.parquet")
    assert (
        rothko(
            "anonymize",
            "people.parquet",
            "--method",
            "mondrian",
            "--qi",
            "sex,zip",
            "--drop",
            "name",
            "--keep-rest",
            "--k",
            5,
            "--out",
            "out",
        ).code
        == 0
    )
    whole, batches = Source.read, Source.batches
    calls = []

    def read(self: Source, columns: Any = None, **options: Any) -> Any:
        calls.append("whole")
        assert "name" not in (columns or self.names), "which is dropped"
        return whole(self, columns, **options)

    def pieces(self: Source, columns: Any = None, **options: Any) -> Any:
        calls.append("pieces")
        return batches(self, columns, **options)

    monkeypatch.setattr(Source, "read", read)
    monkeypatch.setattr(Source, "batches", pieces)
    if limit == "container":
        (tmp_path / "memory.max").write_text("100000\n")
        (tmp_path / "memory.current").write_text("0\n")
        monkeypatch.setattr(plan, "_control_groups", lambda: iter([(tmp_path, "memory.max", "memory.current")]))
    asked = () if limit == "container" else ("--memory", limit)
    ran = rothko("apply", "out-recoding", "new.parquet", "--out", "recoded.parquet", *asked)
    assert ran.code == 0, ran.err
    assert "300 records in" in ran.out
    assert pq.read_metadata("recoded.parquet").num_rows == 300
    assert calls[0] == ("whole" if limit == "100GB" else "pieces")


def test_a_limit_that_is_no_size_is_refused(rothko: Rothko, tmp_path: Path) -> None:
    ran = rothko("apply", tmp_path / "r.json", tmp_path / "d.csv", "--out", tmp_path / "o.csv", "--memory", "much")
    assert ran.code == 2
    assert ran.err == "Error: --memory must be a size such as 512MB or 2GiB, not 'much'.\n"
