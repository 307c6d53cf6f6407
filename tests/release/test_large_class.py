"""A class that does not fit in memory leaves as any other does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.engines.disk.spill import Spill
from rothko.engines.part import LargeClass
from rothko.flow import prepare
from rothko.policy.policy import Policy
from rothko.release.large_class import Shuffle
from rothko.release.stream import Sink
from tests.engine import FITS, small

ROWS = 6_000


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[LargeClass]:
    """The classes that did not fit, as they are published."""
    found: list[LargeClass] = []
    add = Sink.add

    def noted(self: Sink, part: Any) -> None:
        found.extend([part] if isinstance(part, LargeClass) else [])
        add(self, part)

    monkeypatch.setattr(Sink, "add", noted)
    return found


def people(seed: int = 0) -> pa.Table:
    """Half of them are alike in age and place, so that no cut divides them; the others are not."""
    random = np.random.default_rng(seed)
    alike = random.random(ROWS) < 0.5
    return pa.table(
        {
            "age": np.where(alike, 40, random.integers(18, 90, ROWS)),
            "place": pa.array(np.where(alike, "here", random.choice(["here", "there", "nowhere"], ROWS))),
            "missing": pa.array(random.integers(0, 3, ROWS), mask=random.random(ROWS) < 0.4),
            "disease": pa.array(random.choice(["flu", "cold", "asthma"], ROWS)).dictionary_encode(),
            "income": random.integers(0, 50, ROWS) / 8,
        }
    )


def policy(**more: Any) -> Policy:
    roles = {
        "age": "quasi-identifier", "place": "quasi-identifier", "missing": "quasi-identifier",
        "disease": "sensitive", "income": "keep",
    }  # fmt: skip
    more = {"privacy": [{"k-anonymity": {"k": 900}}]} | more
    return Policy(columns={name: {"role": role} for name, role in roles.items()}, **more)


def told(path: Path) -> dict[str, Any]:
    """What a certificate says about the release itself."""
    said = json.loads(path.read_text())
    return {key: said[key] for key in ("requirements", "rows", "classes", "columns", "loss")}


def rows_of(path: Path) -> list[str]:
    table = pq.read_table(path)
    return sorted(map(repr, table.to_pylist()))


WORKLOADS: dict[str, list[Any]] = {
    "median": [],
    "classify": [
        {"classify": {"target": "disease"}},
        {"select": {"where": "age between 30 and 50 and place = 'here'"}},
    ],
    "some features": [{"classify": {"target": "disease", "features": ["place"]}}],
    "regress": [{"regress": {"target": "income"}}, {"regress": {"target": "income", "features": ["age"]}}],
    "aggregate": [{"aggregate": {"of": ["age", "missing"]}}, {"select": {"where": "age > 60"}}],
}


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("publish", ["range", "region", "mean", "bounds"])
def test_it_is_what_the_memory_engine_releases(
    tmp_path: Path, large: list[LargeClass], workload: str, publish: str
) -> None:
    pq.write_table(people(), tmp_path / "people.parquet", row_group_size=900)
    asked = policy(workload=WORKLOADS[workload], publish=publish)
    saved = {
        engine: prepare(tmp_path / "people.parquet", asked.but(engine=small(engine)), threads=1).save(
            tmp_path / f"{engine}.parquet"
        )
        for engine in ("memory", "rothko-t")
    }
    assert sum(part.rows for part in large) > ROWS / 3
    assert all(part.rows > FITS for part in large)
    assert rows_of(saved["rothko-t"].data) == rows_of(saved["memory"].data)
    expected, found = (told(saved[engine].certificate_path) for engine in ("memory", "rothko-t"))
    assert found == expected
    recodings = [json.loads((tmp_path / f"{engine}-recoding" / "recoding.json").read_text()) for engine in saved]
    assert recodings[0]["rules"] == recodings[1]["rules"]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_the_order_of_the_input_does_not_show(
    tmp_path: Path, large: list[LargeClass], disk_engine: str, ending: str
) -> None:
    """All of it is one class, most of whose rows are alike to the last cell."""
    table = people().set_column(0, "age", pa.array([40] * ROWS)).set_column(1, "place", pa.array(["here"] * ROWS))
    table = table.set_column(2, "missing", pa.nulls(ROWS, pa.int64()))
    mask = np.arange(ROWS) % 10 > 0
    table = table.set_column(4, "income", pa.array(np.where(mask, 1.0, table["income"].to_numpy())))
    table = table.set_column(3, "disease", pa.array(np.where(mask, "flu", table["disease"].combine_chunks())))
    written = []
    for turn in range(2):
        order = np.random.default_rng(turn).permutation(ROWS)
        pcsv.write_csv(table.take(order), tmp_path / f"people{turn}.csv")
        out = tmp_path / f"out{turn}{ending}"
        saved = prepare(tmp_path / f"people{turn}.csv", policy(engine=small(disk_engine)), threads=1).save(out)
        written.append(saved.data.read_bytes())
    assert [part.rows for part in large] == [ROWS, ROWS]
    assert written[0] == written[1]


def test_rows_that_keep_nothing(tmp_path: Path, large: list[LargeClass]) -> None:
    pq.write_table(pa.table({"a": [1] * ROWS, "b": [None, 2] * (ROWS // 2)}), tmp_path / "people.parquet")
    asked = Policy.quick(["a", "b"], qi=["a", "b"], k=4000)
    saved = prepare(tmp_path / "people.parquet", asked.but(engine=small("rothko-t"))).save(tmp_path / "out.parquet")
    assert len(large) == 1
    assert pq.read_table(saved.data).to_pylist() == [{"a": "1", "b": "*"}] * ROWS


@given(
    values=st.lists(st.sampled_from([0, 1, 2, *range(100)]), min_size=1, max_size=300),
    at_once=st.integers(1, 40),
    seed=st.integers(0, 3),
    data=st.data(),
)
@settings(deadline=None, max_examples=60)
def test_every_row_leaves_once_in_an_order_of_its_own(
    values: list[int], at_once: int, seed: int, data: st.DataObject
) -> None:
    def left(given: list[int], batch: int) -> list[int]:
        with Spill.open() as spill:
            shuffle = Shuffle(spill, len(given), at_once, seed=seed)
            for begin in range(0, len(given), batch):
                shuffle.add(pa.table({"v": given[begin : begin + batch]}))
            found = []
            for kept, order, count in shuffle.pieces():
                some = kept["v"].to_numpy()
                assert len(some) == count
                assert len(some) <= at_once or len(set(some)) == 1
                found += (some if order is None else some[order]).tolist()
            assert [path.name for path in spill.folder.iterdir()] == ["lock"]
            return found

    once = left(values, data.draw(st.integers(1, 300)))
    assert sorted(once) == sorted(values)
    assert once == left(data.draw(st.permutations(values)), data.draw(st.integers(1, 300)))


PEAK = """
import resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from pathlib import Path
from rothko.flow import prepare
from rothko.policy.policy import Policy

folder, rows = Path(sys.argv[1]), int(sys.argv[2])
path = folder / "people.parquet"
with pq.ParquetWriter(path, pa.schema({"a": pa.int32(), "b": pa.int32(), "w": pa.int64()})) as writer:
    for begin in range(0, rows, 1 << 18):
        some = min(1 << 18, rows - begin)
        kept = np.random.default_rng(begin).integers(0, 2**62, some)
        columns = [np.zeros(some, np.int32), np.ones(some, np.int32), kept]
        writer.write_table(pa.table(columns, schema=writer.schema), row_group_size=1 << 18)
prepare(path, Policy.quick(["a", "b", "w"], qi=["a", "b"], keep="w", k=1000), engine="rothko-t", memory=450_000_000,
        threads=1).save(folder / "out.parquet")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_class(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        command = [sys.executable, "-c", PEAK, str(tmp_path), str(rows)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        (tmp_path / "out.parquet").unlink()
        (tmp_path / "out.certificate.json").unlink()
        (tmp_path / "out-recoding/recoding.json").unlink()
        return int(done.stdout) * 1024

    small, large = peak(500_000), peak(5_000_000)
    # Loaded whole, ten times the records took 285 MB more; as they are now, no more at all.
    assert large - small < 100_000_000
