"""Cluster under a memory limit: ranges of the Hilbert curve, each in a file of its own, and classes within them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.source.open import open_source
from rothko.engines.disk.run import run
from rothko.engines.options import RothkoT
from rothko.engines.part import Part
from rothko.errors import PolicyError
from rothko.policy.policy import Policy
from rothko.secret import Secret
from tests.strategies.tables import Case, cases, classes, unhurried

SECRET = Secret(bytes(16))
KEY = bytes(range(16))


def policy_of(case: Case, engine: Any) -> Policy:
    specs = {name: {"role": "quasi-identifier", **spec} for name, spec in case.specs.items()}
    others = {name: {"role": "sensitive"} for name in case.columns if name not in case.specs}
    columns = {**specs, **others, "record": {"role": "keep"}}
    return Policy(columns=columns, privacy=case.requirements, method={"cluster": {"effort": "fast"}}, engine=engine)


@given(cases(), st.integers(12, 40))
@settings(unhurried, max_examples=30)
def test_classes_hold_within_ranges_that_memory_holds(case: Case, fits: int) -> None:
    encoded, allowed = case.encoded(), case.allowed()
    if not allowed(list(range(encoded.rows))):
        reject()
    source = open_source(pa.table({**case.columns, "record": np.arange(encoded.rows)}))
    engine = RothkoT(records_at_once=fits)
    try:
        found = run(engine, source, policy_of(case, "auto"), check=lambda _: None, secret=SECRET)
    except PolicyError:  # only more than memory holds meet what is asked
        reject()
    made: list[list[int]] = []
    parts = 0
    for part in found.parts:
        parts += 1
        if isinstance(part, Part):
            numbers = part.kept["record"].to_numpy()
            assert part.rows <= fits
            made += [numbers[of].tolist() for of in classes(part.partition)]
        else:
            batches = list(part.batches())
            assert len({tuple(code) for coded in batches for code in coded.codes.T.tolist()}) == 1
            made.append([number for coded in batches for number in coded.kept["record"].to_pylist()])
    assert sorted(i for numbers in made for i in numbers) == list(range(encoded.rows))
    assert all(map(allowed, made))
    assert (parts > 1) == any("none crosses" in note for note in found.notes())
    assert found.top() is None
    found.spill.close()


def people(rows: int = 3_000) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    return {
        "age": random.integers(18, 90, rows).tolist(),
        "zip": [f"{code:05}" for code in random.integers(0, 400, rows)],
        "disease": random.choice(["flu", "cold", "asthma"], rows).tolist(),
    }


def asked(**changes: Any) -> Policy:
    masked = {"zip": {"mask": "right"}}
    policy = Policy.quick(
        ["age", "zip", "disease"], qi=["age", "zip"], sensitive="disease", k=5, l=2, hierarchies=masked
    )
    return policy.but(method="cluster", engine={"rothko-s": {"records_at_once": 1_000}}, **changes)


def test_a_release_tells_its_ranges_and_leaves_no_recoding(tmp_path: Path) -> None:
    made = [rk.anonymize(people(), asked(), key=KEY, threads=threads) for threads in (1, 2)]
    for i, release in enumerate(made):
        assert release.recoding is None
        assert release.certificate.engine == "rothko-s"
        assert any("ranges of the Hilbert curve" in note for note in release.certificate.notes)
        assert all(check["holds"] for check in release.certificate.to_dict()["requirements"])
        release.save(tmp_path / f"{i}")
        assert not [path for path in tmp_path.rglob("*") if "recoding" in path.name]
    data = [(tmp_path / f"{i}" / "release.parquet").read_bytes() for i in range(2)]
    assert data[0] == data[1], "whatever the number of threads"
    whole = rk.anonymize(people(), asked().but(engine="memory"), key=KEY)
    lost, least = made[0].certificate.loss.gcp, whole.certificate.loss.gcp
    assert least <= lost <= 1.25 * least


def test_more_equal_records_than_memory_holds_are_one_class() -> None:
    table = people()
    for name, value in {"age": 30, "zip": "00001"}.items():
        table[name][:1_500] = [value] * 1_500
    release = rk.anonymize(table, asked(), key=KEY)
    assert release.certificate.verification.rows == 3_000
    assert sum(value == "30" for value in release.table["age"].astype(str)) >= 1_500


def test_people_are_not_counted_in_ranges() -> None:
    policy = Policy(
        columns={"who": {"role": "identifier"}, "age": {"role": "quasi-identifier"}},
        privacy=[{"k-anonymity": {"k": 2, "of": "who"}}],
        method="cluster",
        engine="rothko-t",
    )
    table = {"who": ["a", "b", "c", "d"], "age": [1, 2, 3, 4]}
    with pytest.raises(PolicyError, match=r"cluster counts people \(of: who\) in memory alone.*or use mondrian"):
        rk.anonymize(table, policy)
