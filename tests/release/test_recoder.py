"""Tables whose columns are recoded by themselves: what they lose is measured in bins of combinations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rothko.flow import prepare
from rothko.policy.policy import Policy
from rothko.release import recoder
from rothko.release.recoder import Counts


def test_bins_are_divided_by_other_bits() -> None:
    draws = np.random.default_rng(1)
    shows = draws.integers(0, 9, (4, 5_000)).astype(np.int32)
    counts = Counts(shows, np.empty((0, 5_000), dtype=np.int32), np.ones(5_000, dtype=np.int64))
    first, second = counts.bins(32), counts.bins(32, 32)
    one = np.flatnonzero(first == 7)
    assert len(set(second[one].tolist())) > 20
    same = {tuple(show): (a, b) for show, a, b in zip(shows.T.tolist(), first.tolist(), second.tolist(), strict=True)}
    for show, a, b in zip(shows.T.tolist(), first.tolist(), second.tolist(), strict=True):
        assert same[tuple(show)] == (a, b)


def test_bins_of_many_combinations_are_divided_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(2)
    table = pa.table({name: draws.integers(0, 64, 4_000) for name in "abc"} | {"kept": ["x", "y"] * 2_000})
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    over = [{"k-anonymity": {"k": 60, "over": [name]}} for name in "abc"]
    columns = {name: {"role": "quasi-identifier"} for name in "abc"} | {"kept": {"role": "keep"}}
    policy = Policy(columns=columns, privacy=over, method="refine")
    measured: list[int] = []
    measure = Counts.measure

    def noted(self: Counts, *arguments: Any) -> Any:
        measured.append(len(self.times))
        return measure(self, *arguments)

    def released(engine: Any) -> dict[str, Any]:
        out = tmp_path / "out.parquet"
        prepare(path, policy.but(engine=engine), memory=600_000_000 if engine != "memory" else None).save(out)
        told: dict[str, Any] = json.loads((tmp_path / "out.certificate.json").read_text())
        for file in (out, tmp_path / "out.certificate.json", *(tmp_path / "out-recoding").iterdir()):
            file.unlink()
        return told

    monkeypatch.setattr(Counts, "measure", noted)
    monkeypatch.setattr(recoder, "FEW", 100)
    found, memory = released({"rothko-s": {"records_at_once": 400}}), released("memory")
    assert len(measured) > 32
    assert max(measured) <= 100
    assert found["classes"] == memory["classes"]
    assert found["loss"]["ncp"] == pytest.approx(memory["loss"]["ncp"])
