"""Small runs of the experiments on sets, and their claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments import sets, sets_figures
from experiments.claims import checked, table
from experiments.sets import Sets, adult, some_of, trial
from experiments.sets_claims import (
    CLAIMS,
    about_twice,
    ahead,
    ahead_of_itself,
    alike,
    best,
    faster,
    matches,
    slower,
    slowest,
)
from rothko.generate.longtail import longtail
from tests.experiments.drawn import draw

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of real tables, with made-up people."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "adult").mkdir()
    stream = np.random.default_rng(0)
    columns: dict[str, Any] = {name: stream.choice(list("abcd"), 300) for name in sets.COLUMNS}
    columns |= {"age": stream.integers(17, 90, 300), "hours-per-week": stream.integers(1, 99, 300)}
    columns["workclass"] = pa.array(columns["workclass"], mask=np.arange(300) % 10 == 0)
    pq.write_table(pa.table(columns | {"fnlwgt": np.arange(300)}), folder / "adult/adult_uci.parquet")
    return folder


def test_from_run_to_picture(data: Path, tmp_path: Path) -> None:
    results = json.loads(json.dumps(sets.run(Sets.quick(data))))
    assert set(results["figures"]) == set(sets.FIGURES) == set(sets.SHOWN)
    assert results["settings"]["data"] is True
    assert results["figures"]["15"]["records"] == 200
    assert results["figures"]["17"]["records"] == 300
    for number, found in results["figures"].items():
        assert set(found["utility"]) == set(sets.SHOWN[number])
        assert all(0 <= share <= 1 for series in found["utility"].values() for share in series.values())
    rows = checked(results, CLAIMS)
    assert table(rows)
    assert not [row for row in rows if row["measured"].startswith("not run: Fig.")]
    assert draw(results, tmp_path, sets_figures.DRAWN, prefix="sets") == "sets-07"


def test_figures_of_real_data_are_left_out_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert sets.run(Sets.quick(), ["7", "9"])["figures"] == {}
    assert capsys.readouterr().out.count("it needs --data") == 2


def test_adult_has_an_item_for_each_cell(data: Path) -> None:
    records = adult(data)
    assert records.count == 300
    assert np.diff(records.starts).tolist() == [9 if i % 10 == 0 else 10 for i in range(300)]
    assert {"age=[20, 25)", "hours-per-week=[30, 40)", "sex=a"} <= set(records.names.to_pylist())


def test_some_records_are_records() -> None:
    records = longtail(100)
    some = some_of(records, 30)
    assert some.count == 30
    assert set(map(tuple, some.to_lists())) <= set(map(tuple, records.to_lists()))
    assert some_of(records, 100) is records


def test_a_trial_of_k_1_keeps_everything() -> None:
    records = longtail(50)
    for name in ("cluster-all", "k1-topdown"):
        assert trial(records, 1, sets.METHODS[name])[0] == pytest.approx(1)


MADE: dict[str, Any] = {
    "7": {
        "utility": {"a": {"10": 0.6, "50": 0.3}, "b": {"10": 0.5, "50": 0.3}},
        "seconds": {"a": {"10": 1.0, "50": 1.0}, "b": {"10": 100.0, "50": 40.0}},
        "records": 7,
    }
}


def test_kinds_of_claims() -> None:
    assert ahead("7", "a", "b", by=0.1, at=lambda k: k == 10)(MADE).holds is True
    assert ahead("7", "a", "b")(MADE).holds is False
    assert ahead("7", "a", "b", by=-0.01)(MADE).holds is True
    assert ahead("7", "a", "b", at=lambda k: k > 99)(MADE).holds is None
    assert alike("7", "a", "b", 0.01)(MADE).holds is True
    assert faster("7", "a", "b", 0.02)(MADE).holds is False
    assert faster("7", "a", "b", 0.03)(MADE).holds is True
    assert best("7", "a", ["b"], at=lambda k: k == 10)(MADE).holds is True
    assert matches("7", "a", "b", 0.1)(MADE).holds is False
    assert matches("7", "a", "b", 0.1, at=lambda k: k == 50)(MADE).holds is True
    assert slower("7", "b", "a", by=30)(MADE).holds is True
    assert slower("7", "b", "a", by=50)(MADE).holds is False
    assert about_twice("7", "b", "a")(MADE).holds is False
    assert slowest("7", "b", ["a"], 30)(MADE).holds is True
    assert slowest("7", "b", ["a"], 30, least=True)(MADE).holds is False
    assert slowest("7", "a", ["b"], 1, least=True)(MADE).holds is True
    assert ahead_of_itself("7", "a", "10", "50")(MADE).holds is True
    assert ahead_of_itself("7", "a", "50", "10")(MADE).holds is False
    assert ahead_of_itself("7", "a", "50", "99")(MADE).holds is None
    assert "+20.0 %" in ahead("7", "a", "b")(MADE).measured
