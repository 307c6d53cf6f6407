"""What an engine can run it releases as memory does: the same rows, the same loss, the same recoding."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.engines import along as segments_counted
from rothko.engines.disk import along
from rothko.engines.plan import Budget
from rothko.errors import PolicyError
from tests.command import Rothko
from tests.engine import FITS, small

ROWS = 3_000
KEY = bytes(range(16))
CURVES = ("hilbert", "hilbert-fast", "idistance", "idistance-fast")


@pytest.fixture(scope="module")
def people() -> pa.Table:
    random = np.random.default_rng(0)
    age = random.integers(18, 90, ROWS)
    return pa.table(
        {
            "age": pa.array(age, mask=random.random(ROWS) < 0.03),
            "note": random.choice(np.array(["x", "y", None], dtype=object), ROWS),
            "zip": random.integers(0, 60, ROWS),
            "town": random.choice(np.array(["Bonn", "Hof", "Jena", "Köln", "Trier", None], dtype=object), ROWS),
            "wage": random.integers(0, 400, ROWS) / 4 + age,
            "disease": random.choice(["flu", "cold", "asthma", "gout"], ROWS),
            "again": random.choice(np.array(["y", "n", None], dtype=object), ROWS),
        }
    )


def policy(method: Any, **changes: Any) -> rk.Policy:
    quasi = {"role": "quasi-identifier"}
    asked: dict[str, Any] = {
        "columns": {
            "age": quasi,
            "zip": {**quasi, "hierarchy": {"intervals": [10, 30]}},
            "town": quasi,
            "wage": quasi,
            "disease": {"role": "sensitive"},
            "again": {"role": "keep"},
            "note": {"role": "keep"},
        },
        "privacy": [{"k-anonymity": {"k": 8}}],
        "method": method,
    }
    return rk.Policy(**asked | changes)


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    table = pa.table(table)
    return Counter(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))


def agree(table: pa.Table, asked: rk.Policy, engine: str) -> rk.Release:
    """Release a table on an engine and in memory; what came of the former."""
    wanted = rk.anonymize(table, asked.but(engine="memory"), key=KEY)
    found = rk.anonymize(table, asked.but(engine=small(engine)), key=KEY)
    assert found.certificate.engine == engine
    assert rows_of(found.table) == rows_of(wanted.table)
    one, other = found.certificate.loss, wanted.certificate.loss
    assert one.gcp == pytest.approx(other.gcp)
    assert (one.classes, one.discernibility) == (other.classes, other.discernibility)
    for mine, memory in zip(one.workload, other.workload, strict=True):
        numbers = {key: pytest.approx(value) for key, value in memory.to_dict().items() if isinstance(value, float)}
        assert mine.to_dict() == {**memory.to_dict(), **numbers}
    return found


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize(
    "privacy",
    [
        [{"k-anonymity": {"k": 8}}],
        [{"k-anonymity": {"k": 5}}, {"frequency-l-diversity": {"l": 2, "of": "disease"}}],
        [{"k-anonymity": {"k": 5}}, {"t-closeness": {"t": 0.4, "of": "disease"}}],
    ],
    ids=["k", "l", "t"],
)
def test_methods_along_a_curve(people: pa.Table, engine: str, name: str, privacy: Any) -> None:
    found = agree(people, policy({name: {"segment": 500}}, privacy=privacy), engine)
    assert found.recoding is None
    if engine != "memory":
        io = found.certificate.io
        assert io is not None
        # The survey, and one more: from the second pass on iDistance reads its own files.
        assert io.passes == 2


@pytest.mark.parametrize("name", CURVES)
def test_methods_along_a_curve_by_the_paper(people: pa.Table, engine: str, name: str) -> None:
    privacy = [{"k-anonymity": {"k": 5}}, {"frequency-l-diversity": {"l": 2, "of": "disease"}}]
    agree(people, policy({name: {"segment": 500, "reading": "paper"}}, privacy=privacy), engine)


def test_a_sample_that_does_not_fit_is_refused(
    people: pa.Table, disk_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_counted, "MOST_SAMPLED", 10)
    monkeypatch.setattr(segments_counted, "SAMPLED", 1 << 40)
    asked = policy({"idistance": {"segment": 500, "reading": "paper"}}, engine=small(disk_engine))
    with pytest.raises(PolicyError, match=r"a tenth of the records together, here 300, and memory holds 0.*: rothko"):
        rk.anonymize(people, asked)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"workload": [{"classify": {"target": "again"}}]},
        {"publish": "mean", "workload": [{"classify": {"target": "again"}}, {"classify": {"target": "note"}}]},
        {"publish": "region"},
        {"privacy": [{"k-anonymity": {"k": 2_000}}]},
    ],
    ids=["ncp", "labels", "mean", "region", "hardly anything"],
)
def test_refine_over_several_sets(people: pa.Table, engine: str, changes: Any) -> None:
    sets = [
        {"k-anonymity": {"k": 20, "over": ["age", "wage"]}},
        {"k-anonymity": {"k": 30, "over": ["zip", "town"]}},
        {"distinct-l-diversity": {"l": 2, "of": "disease", "over": ["age", "town"]}},
    ]
    found = agree(people, policy("refine", **{"privacy": sets} | changes), engine)
    memory = rk.anonymize(people, policy("refine", **{"privacy": sets} | changes), engine="memory")
    assert found.recoding is not None
    assert memory.recoding is not None
    assert found.recoding.apply(people).equals(memory.recoding.apply(people))


@pytest.mark.parametrize("criterion", ["score", "tds"])
def test_refine_to_the_letter_of_the_paper(people: pa.Table, engine: str, criterion: str) -> None:
    """All who live in Trier, the last town to be disclosed, have one label: it stays suppressed."""
    table = people.filter(pc.is_in(people["town"], pa.array(["Bonn", "Hof", "Trier"])))
    hof, trier = pc.equal(table["town"], "Hof"), pc.equal(table["town"], "Trier")
    label = pc.if_else(hof, "n", pc.if_else(trier, "y", pc.fill_null(table["again"], "y")))
    table = table.set_column(table.column_names.index("again"), "again", label)
    sets = [(20, ["age", "wage"]), (30, ["zip", "town"])]
    asked = policy(
        {"refine": {"reading": "paper", "criterion": criterion}},
        privacy=[{"k-anonymity": {"k": k, "over": over}} for k, over in sets],
        workload=[{"classify": {"target": "again"}}],
    )
    found = agree(table, asked, engine)
    assert set(pa.table(found.table)["town"].to_pylist()) == {"Bonn", "Hof", "⊥"}
    here = rk.anonymize(table, asked.but(method={"refine": {"criterion": criterion}}), engine="memory")
    assert set(pa.table(here.table)["town"].to_pylist()) == {"Bonn", "Hof", "Trier"}


@pytest.mark.parametrize("method", [{"hilbert-fast": {"segment": 500}}, "refine"], ids=["hilbert-fast", "refine"])
def test_the_order_of_the_input_does_not_show(people: pa.Table, tmp_path: Path, disk_engine: str, method: Any) -> None:
    turned = people.take(pa.array(range(ROWS - 1, -1, -1)))
    asked = policy(method, engine=small(disk_engine))
    files = []
    for name, table in (("a", people), ("b", turned)):
        # What tells equal records apart is drawn by their number, so rows that keep nothing must be the same.
        release = rk.anonymize(table.drop_columns(["again", "note"]), asked.but(columns=_without(asked)), key=KEY)
        files.append(release.save(tmp_path / f"{name}.parquet").data)
    shown = [pq.read_table(file) for file in files]
    if method == "refine":
        assert shown[0].equals(shown[1])
    assert shown[0].drop_columns(["disease"]).group_by(["age", "zip", "town", "wage"]).aggregate([]).num_rows > 1
    assert rows_of(shown[0].drop_columns(["disease"])) == rows_of(shown[1].drop_columns(["disease"]))


def _without(asked: rk.Policy) -> dict[str, Any]:
    return {name: column for name, column in asked.columns.items() if name not in ("again", "note")}


@pytest.mark.parametrize("method", ["hilbert-fast", "refine"])
def test_auto_takes_a_text_file_to_disk_under_a_limit(
    rothko: Rothko, people: pa.Table, folder: Path, method: str
) -> None:
    long = people.append_column("essay", pa.array([f"{i:08000}" for i in range(ROWS)]))
    pcsv.write_csv(long, "people.csv")
    asked = policy(method)
    asked.but(columns={**asked.columns, "essay": {"role": "keep"}}).save("policy.yaml")
    Path("spill").mkdir()
    ran = rothko(
        "anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out", "--json", "--memory", "450MB",
        "--spill-dir", "spill",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    certificate = json.loads(Path("out/certificate.json").read_text())
    assert certificate["engine"]["name"] == "rothko-s"
    assert certificate["io"]["writes"] > 0
    assert os.listdir("spill") == []


@pytest.mark.parametrize("name", ["hilbert", "idistance-fast"])
def test_a_row_that_fits_as_codes_alone_is_grouped_as_a_whole(people: pa.Table, disk_engine: str, name: str) -> None:
    privacy = [{"k-anonymity": {"k": 5}}, {"frequency-l-diversity": {"l": 3, "of": "disease"}}]
    agree(people, policy(name, privacy=privacy), disk_engine)


def test_what_needs_all_records_at_once_is_refused_with_what_can(
    people: pa.Table, disk_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(along, "budget", lambda *_, **__: Budget(0, 0, 0, 0, FITS))
    diverse = [{"frequency-l-diversity": {"l": 2, "of": "disease"}}]
    with pytest.raises(PolicyError, match=r"hilbert must see 3,000 neighbours .* set segment of hilbert to less, or"):
        rk.anonymize(people, policy("hilbert", privacy=diverse, engine=small(disk_engine)))
    with pytest.raises(PolicyError, match=r"repair of hilbert sees all records at once.*leave it out, or use cluster"):
        rk.anonymize(people, policy({"hilbert": {"repair": True}}, engine=small(disk_engine)))
    features = [{"classify": {"target": "again", "features": ["age"]}}]
    with pytest.raises(PolicyError, match=r"classify again.*leave out its features, or raise"):
        rk.anonymize(people, policy("refine", workload=features, engine=small(disk_engine)))
    with pytest.raises(PolicyError, match=r"topdown sees all records at once.*use mondrian"):
        rk.anonymize(people, policy("topdown", engine=small(disk_engine)))
