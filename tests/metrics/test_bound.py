"""How little can be lost: what trying every box finds, and no more than any method loses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import encode
from rothko.data.line import Kind
from rothko.metrics import bound as bounds
from rothko.metrics.bound import bound
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from tests.command import Rothko, rothko
from tests.twins.cheapest_box import cheapest_box

__all__ = ["rothko"]

TREE = {"tree": {"A": ["0", "1"], "B": ["2", {"C": ["3", "4"]}]}}


def small(seed: int, kinds: list[str], rows: int) -> tuple[pa.Table, Policy]:
    """A table of few records: all their boxes can be tried."""
    cells = np.random.default_rng(seed)
    columns, specs = {}, dict[str, Any]()
    for i, kind in enumerate(kinds):
        values, absent = cells.integers(0, 5, rows), cells.random(rows) < cells.choice([0, 0.2])
        absent[0] = False
        columns[f"c{i}"] = pa.array(values**2 if kind == "number" else values.astype(str), mask=absent)
        specs[f"c{i}"] = {"role": "quasi-identifier", "weight": float(cells.choice([1, 2.5]))}
        specs[f"c{i}"] |= {"number": {}, "set": {"type": "text"}, "tree": {"type": "text", "hierarchy": TREE}}[kind]
    return pa.table(columns), Policy(columns=specs, privacy=[KAnonymity(k=2)])


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 9999), st.lists(st.sampled_from(["tree", "number", "set"]), min_size=1, max_size=3),
       st.integers(1, 10), st.integers(1, 10))  # fmt: skip
def test_it_is_the_cheapest_box_around_every_record(seed: int, kinds: list[str], rows: int, k: int) -> None:
    k = min(k, rows)
    encoded = encode(*small(seed, kinds, rows))
    wanted = np.mean([cheapest_box(encoded, k, record) for record in range(rows)])
    found = bound(encoded, [KAnonymity(k=max(k, 2))] if k > 1 else [], threads=1)
    assert (found.k, found.records, found.error) == (k, rows, 0)
    if [line.kind for line in encoded.lines if line.kind is not Kind.TREE] in ([], [Kind.ORDERED]):
        assert found.exact == 1
        assert found.gcp == pytest.approx(wanted)
    else:
        assert found.exact == 0
        assert found.gcp <= wanted + 1e-9


def people(rows: int = 600) -> tuple[pa.Table, Policy]:
    table, policy = small(7, ["tree", "tree", "number"], rows)
    ages = np.random.default_rng(1).integers(18, 90, rows)
    return table.set_column(2, "c2", pa.array(ages)), policy


def test_no_method_loses_less() -> None:
    table, policy = people()
    for k in (2, 10, 50):
        asked = policy.but(privacy=[KAnonymity(k=k)])
        for method in ("mondrian", "cluster", "hilbert"):
            lost = rk.measure(table, rk.anonymize(table, asked.but(method=method)), bound=True)
            assert lost.bound is not None
            assert lost.bound.exact == 1
            assert 0 < lost.bound.gcp <= lost.gcp


def test_some_records_stand_for_all() -> None:
    table, policy = people()
    encoded = encode(table, policy)
    whole = bound(encoded, policy.privacy)
    some = [bound(encoded, policy.privacy, records=200, seed=seed) for seed in range(30)]
    assert {one.records for one in some} == {200}
    assert some[0] == bound(encoded, policy.privacy, records=200, seed=0, threads=2)
    off = [(one.gcp - whole.gcp) / one.error for one in some]
    assert abs(np.mean(off)) < 0.6  # standard errors; 0.18 is one of the mean of thirty
    assert 0.6 < np.std(off) < 1.5


def test_where_looking_takes_too_long_it_is_less_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    table, policy = people()
    encoded, asked = encode(table, policy), [KAnonymity(k=50)]
    exact = bound(encoded, asked)
    monkeypatch.setattr(bounds, "EFFORT", 100)
    found = bound(encoded, asked)
    assert 0 <= found.exact < 1
    assert 0 < found.gcp < exact.gcp


def test_the_commands(rothko: Rothko, folder: Path) -> None:
    import pyarrow.parquet as pq

    table, policy = people()
    pq.write_table(table, "people.parquet")
    policy.save("policy.yaml")
    assert rothko("anonymize", "people.parquet", "-p", "policy.yaml", "--out", "out.parquet").code == 0
    asked = ["people.parquet", "out.parquet", "-p", "policy.yaml", "--bound"]
    told = rothko("measure", *asked).out
    assert "at best" in told
    assert "no release by boxes of 2 loses less; all records looked at" in told
    found = json.loads(rothko("measure", *asked, "--json").out)
    assert 0 < found["bound"]["gcp"] <= found["gcp"]
    side = ["people.parquet", "-p", "policy.yaml", "--k", "2,5,601", "--method", "mondrian", "--bound"]
    compared = json.loads(rothko("compare", *side, "--json").out)
    assert [one["k"] for one in compared["bounds"]] == [2, 5]
    assert compared["bounds"][0] == found["bound"]
    assert "GCP at best: " in rothko("compare", *side).out
    refused = rothko("compare", "people.parquet", "-p", "policy.yaml", "--max-loss", "0.2", "--bound")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
