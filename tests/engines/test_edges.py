"""Tables of odd shapes and values: every engine releases them, on disk as in memory."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InfeasibleError
from rothko.policy.policy import Policy
from rothko.release.stored import StoredRelease
from tests.engine import small

ROWS = 2_400
random = np.random.default_rng(8)
AGES = random.integers(0, 300, ROWS)
DAYS = [datetime.date(1999, 12, 1) + datetime.timedelta(int(days)) for days in AGES]
TOWNS = ["Zürich", "北京", "São Paulo", 'A,"b"\n', "🦀", "", " x ", "Ångström", "straße", "x\u0301"]
TREE = {"north": {"coast": ["0", "1", "2"], "land": ["3", "4"]}, "south": ["5", "6", {"far": ["7", "8", "9"]}]}
EVERY = {
    "a": pa.array(AGES),
    "b": pa.array(random.integers(0, 40, ROWS)),
    "s": pa.array(random.choice(["flu", "cold", "asthma", "gout"], ROWS, p=[0.5, 0.3, 0.1, 0.1])),
    "n": pa.array(random.integers(0, 9, ROWS)),
    "w": pa.array(random.integers(0, 10**9, ROWS)),
}
QI = {"role": "quasi-identifier"}


def texts(of: list[str]) -> pa.Array:
    return pa.array([of[i % len(of)] for i in AGES])


def odd_numbers() -> pa.Array:
    odd = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 5e-324, None]
    return pa.array([odd[i % 7] if i % 3 == 0 else i / 7 for i in AGES.tolist()], pa.float64())


def holes(of: pa.Array, every: int) -> pa.Array:
    return pa.array([None if i % every == 0 else value for i, value in enumerate(of.to_pylist())], of.type)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # name → other columns, and what else the policy says ("columns": other entries)
    "as it is": ({}, {}),
    "all alike": ({"a": pa.array([7] * ROWS), "b": pa.array([1] * ROWS)}, {}),
    "two heaps": ({"a": pa.array(AGES % 2), "b": pa.array([1] * ROWS)}, {}),
    "k is n": ({}, {"privacy": [{"k-anonymity": {"k": ROWS}}]}),
    "k is half of n": ({}, {"privacy": [{"k-anonymity": {"k": ROWS // 2}}]}),
    "constant": ({"b": pa.array([3] * ROWS)}, {}),
    "missing everywhere": ({"b": pa.nulls(ROWS, pa.int64())}, {}),
    "missing everywhere, texts": ({"b": pa.nulls(ROWS, pa.string())}, {}),
    "missing at times": ({"a": holes(EVERY["a"], 3), "b": holes(EVERY["b"], 2), "s": holes(EVERY["s"], 5)}, {}),
    "odd numbers": ({"a": odd_numbers()}, {"missing": ["inf", "-inf"]}),
    "unicode": ({"b": texts(TOWNS)}, {}),
    "unicode, flat": ({"b": texts(TOWNS)}, {"columns": {"b": {**QI, "hierarchy": "flat"}}}),
    "dates": ({"a": pa.array(DAYS), "b": holes(pa.array(DAYS), 4)}, {}),
    "dates by month": ({"a": pa.array(DAYS)}, {"columns": {"a": {**QI, "hierarchy": {"dates": ["month", "year"]}}}}),
    "timestamps": ({"a": pa.array(DAYS).cast(pa.timestamp("us"))}, {}),
    "truth": ({"b": pa.array((AGES % 3 == 0).tolist())}, {}),
    "decimals": ({"b": pa.array(AGES % 50).cast(pa.decimal128(21, 2))}, {}),
    "tree": ({"b": texts(list("0123456789"))}, {"columns": {"b": {**QI, "hierarchy": {"tree": TREE}}}}),
    "auto": ({"b": texts(TOWNS)}, {"columns": {"b": {**QI, "hierarchy": "auto"}}}),
    "auto, numbers": ({}, {"columns": {"a": {**QI, "hierarchy": "auto"}}}),
    "intervals": ({}, {"columns": {"a": {**QI, "hierarchy": {"intervals": [5, 50]}}}}),
    "mask": ({"b": texts(["1234", "1255", "9", "93"])}, {"columns": {"b": {**QI, "hierarchy": {"mask": "right"}}}}),
    "bounds": ({"a": holes(EVERY["a"], 3)}, {"publish": "bounds"}),
    "mean": ({"a": holes(EVERY["a"], 3)}, {"publish": "mean"}),
    "bounds of dates": ({"a": pa.array(DAYS)}, {"publish": "bounds"}),
    "region": ({"a": odd_numbers()}, {"missing": ["inf", "-inf"], "publish": "region"}),
    "diverse": (
        {"s": holes(EVERY["s"], 9)},
        {
            "privacy": [
                {"k-anonymity": {"k": 5}},
                {"t-closeness": {"t": 0.3, "of": "s"}},
                {"t-closeness": {"t": 0.25, "of": "n", "distance": "ordered"}},
                {"recursive-l-diversity": {"c": 3, "l": 2, "of": "s"}},
                {"recursive-l-diversity": {"c": 2, "l": 3, "of": "n"}},
            ]
        },
    ),
    "spread": (
        {},
        {"privacy": [{"k-anonymity": {"k": 4}}, {"variance-diversity": {"v": 4, "of": "n"}},
                     {"entropy-l-diversity": {"l": 2, "of": "s", "over": ["a"]}}]},
    ),
}  # fmt: skip


def table_of(case: str) -> pa.Table:
    return pa.table(EVERY | CASES[case][0])


def policy_of(case: str, **more: Any) -> Policy:
    asked = {"privacy": [{"k-anonymity": {"k": 10}}], **CASES[case][1], **more}
    columns: dict[str, Any] = {"a": QI, "b": QI, "w": {"role": "keep"}}
    columns |= {name: {"role": "sensitive"} for name in ("s", "n")}
    return Policy(columns=columns | asked.pop("columns", {}), **asked)


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, rk.Release]]:
    """The file of a case, and what the engine in memory makes of it, which is made once."""

    @functools.cache
    def made(case: str) -> tuple[Path, rk.Release]:
        source = tmp_path_factory.mktemp("odd") / "people.parquet"
        pq.write_table(table_of(case), source, row_group_size=500)
        return source, rk.anonymize(source, policy_of(case), engine="memory")

    return made


@pytest.mark.parametrize("case", CASES)
def test_odd_tables(case: str, engine: str, in_memory: Callable[[str], tuple[Path, rk.Release]]) -> None:
    source, expected = in_memory(case)
    found = rk.anonymize(source, policy_of(case, engine=small(engine))) if engine != "memory" else expected
    assert found.certificate.verification.holds
    assert found.certificate.verification.rows == ROWS
    assert found.table.schema == expected.table.schema
    assert rows_of(found.table.select(["s", "n", "w"])) == rows_of(table_of(case).select(["s", "n", "w"]))
    if engine == "rothko-t":
        assert isinstance(found, StoredRelease)
        assert rows_of(found.table) == rows_of(expected.table)
        assert found.certificate.loss.gcp == pytest.approx(expected.certificate.loss.gcp)
        found.close()


@pytest.mark.parametrize("case", ["unicode", "dates", "missing at times", "decimals", "tree"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_odd_text_files(tmp_path: Path, case: str, ending: str, engine: str) -> None:
    source = tmp_path / "people.csv"
    pcsv.write_csv(table_of(case), source)
    released = {
        name: rk.anonymize(source, policy_of(case, engine=small(name))).save(tmp_path / f"{name}.{ending}")
        for name in {"memory", engine}
    }
    assert all(saved.certificate.verification.holds for saved in released.values())
    if ending == "parquet":
        memory, found = (pq.read_table(released[name].data) for name in ("memory", engine))
        assert memory.schema == found.schema
        assert engine == "rothko-s" or rows_of(memory) == rows_of(found)
    else:
        memory, found = (sorted(released[name].data.read_bytes().split(b"\n")) for name in ("memory", engine))
        assert len(memory) == len(found)
        assert engine == "rothko-s" or memory == found


def test_few_rows(tmp_path: Path, engine: str) -> None:
    source, table = tmp_path / "people.parquet", table_of("as it is")
    pq.write_table(table.slice(0, 1), source)
    with pytest.raises(InfeasibleError, match="cannot meet"):
        rk.anonymize(source, policy_of("as it is"), engine=engine)
    alone = policy_of("as it is", privacy=[{"entropy-l-diversity": {"l": 1.0001, "of": "s"}}])
    with pytest.raises(InfeasibleError, match="cannot meet"):
        rk.anonymize(source, alone, engine=engine)
    anything = policy_of("as it is", privacy=[{"variance-diversity": {"v": 0, "of": "n"}}])
    assert rk.anonymize(source, anything, engine=engine).certificate.verification.rows == 1
    pq.write_table(table.slice(0, 10), source)
    release = rk.anonymize(source, policy_of("as it is"), engine=engine)
    assert release.certificate.verification.classes == 1
    assert rows_of(release.table) == rows_of(rk.anonymize(source, policy_of("as it is"), engine="memory").table)
