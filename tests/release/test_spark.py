"""Releases on a real Spark: what memory would release, written and verified where the records lie."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InputError, OutputError, PolicyError, VerificationError
from rothko.flow import prepare
from rothko.release.parts import MANIFEST
from rothko.release.spark import finish as finishing
from rothko.release.spark.release import Spread, SpreadRelease
from tests.spark import spark
from tests.stores import bucket, s3_server

__all__ = ["bucket", "s3_server", "spark"]

ROWS = 3_000


def people(rows: int = ROWS, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    missing = random.random(rows) < 0.03
    return pa.table(
        {
            "name": [f"canary-{i}" for i in range(rows)],
            "age": pa.array(random.integers(18, 90, rows), mask=missing),
            "zip": random.integers(0, 60, rows),
            "town": random.choice(["Bonn", "Köln", "Trier", "Ulm"], rows),
            "wage": random.integers(1_000, 4_000, rows),
            "disease": random.choice(["flu", "cold", "asthma", "cancer", "gout"], rows),
            "note": random.choice(np.array(["x", "y", None], dtype=object), rows),
        }
    )


def policy(engine: Any = "memory", **changes: Any) -> rk.Policy:
    asked: dict[str, Any] = {
        "columns": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier"},
            "zip": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 30]}},
            "town": {"role": "quasi-identifier"},
            "wage": {"role": "sensitive"},
            "disease": {"role": "sensitive"},
            "note": {"role": "keep"},
        },
        "privacy": [{"k-anonymity": {"k": 5}}, {"t-closeness": {"t": 0.6, "of": "disease"}}],
        "engine": engine,
    }
    return rk.Policy(**asked | changes)


def on_spark(algorithm: str = "rothko-t", fits: int = 700) -> dict[str, Any]:
    return {"spark": {"algorithm": algorithm, "records_at_once": fits}}


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    plain = [column.cast(pa.string()).to_pylist() for column in table.columns]
    return Counter(zip(*plain, strict=True))


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    """The records in seven partitions, which a shuffle has filled."""
    return spark.createDataFrame(people()).repartition(7).cache()


REQUIREMENTS = [
    {"k-anonymity": {"k": 5}},
    {"entropy-l-diversity": {"l": 2.5, "of": "disease"}},
    {"t-closeness": {"t": 0.5, "of": "wage", "distance": "ordered"}},
    {"variance-diversity": {"v": 1e5, "of": "wage"}},
]


WORKLOAD = [{"classify": {"target": "disease"}}, {"select": {"where": "age >= 40"}}]


def test_the_rows_are_those_of_the_memory_engine(frame: Any) -> None:
    changes = {"privacy": REQUIREMENTS, "workload": WORKLOAD}
    with rk.anonymize(frame, policy(on_spark(), **changes)) as release:
        assert isinstance(release, SpreadRelease)
        plain = rk.anonymize(people(), policy(**changes))
        assert rows_of(release.arrow) == rows_of(plain.arrow)
        found, wanted = release.certificate, plain.certificate
        assert (found.engine, found.verification.true) == ("spark", True)
        assert [one.to_dict() for one in found.verification.findings] == [
            pytest.approx(one.to_dict()) for one in wanted.verification.findings
        ]
        assert found.loss.gcp == pytest.approx(wanted.loss.gcp)
        assert found.loss.class_sizes == wanted.loss.class_sizes
        assert [task.to_dict() for task in found.loss.workload] == [task.to_dict() for task in wanted.loss.workload]
        assert release.recoding.apply(people()).equals(plain.recoding.apply(people()))


def test_rothko_s_holds(frame: Any, folder: Path) -> None:
    # The k of alpha-k is asked of the written files as well: a finding of its own.
    asked = policy(on_spark("rothko-s"), privacy=[{"alpha-k": {"alpha": 0.9, "k": 5, "of": "disease"}}])
    saved = prepare(frame, asked).save("out/")
    assert saved.certificate.verification.holds
    found = [one.to_dict()["requirement"] for one in saved.certificate.verification.findings]
    assert sorted(found) == ["alpha-k", "k-anonymity"]
    assert saved.certificate.io is not None
    assert (saved.certificate.io.sample, saved.certificate.io.reads) == (ROWS, None)


def test_a_release_is_a_folder_of_files_with_their_hashes(
    frame: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = prepare(frame, policy(on_spark(), publish="bounds"))
    saved = release.save("out/")
    assert saved.data == Path("out/release.parquet")
    manifest = saved.data / MANIFEST
    assert hashlib.sha256(manifest.read_bytes()).hexdigest() == saved.certificate.sha256
    subprocess.run(["sha256sum", "--check", "--quiet", MANIFEST], cwd=saved.data, check=True)
    names = sorted(path.name for path in saved.data.iterdir())
    assert names == [MANIFEST, *(f"part-{i:05d}.parquet" for i in range(len(names) - 1))]
    assert len(names) > 3
    assert not any(b"canary" in path.read_bytes() for path in Path().rglob("*") if path.is_file())
    assert rows_of(pq.read_table(saved.data)) == rows_of(rk.anonymize(people(), policy(publish="bounds")).arrow)
    assert rk.check(pq.read_table(saved.data), policy()).holds
    with pytest.raises(OutputError, match="exists"):
        release.save("out/")
    again = release.save("out/", overwrite=True)
    assert again.certificate.sha256 == saved.certificate.sha256
    assert sorted(path.name for path in Path("out").iterdir()) == ["certificate.json", "release.parquet"]
    # A file that is changed between its writing and its verification is not released, nor is anything else.
    real = finishing.finish

    def damaged(grown: Any, making: Any, recoding: Path) -> Any:
        joined = real(grown, making, recoding)
        part = making.folder / making.file(1)
        table = pq.read_table(part)
        last = table.num_columns - 1
        turned = table.set_column(last, "note", table["note"].take(pa.array(range(table.num_rows)[::-1])))
        pq.write_table(turned, part)
        return joined

    monkeypatch.setattr("rothko.release.spark.release.finish", damaged)
    with pytest.raises(VerificationError, match="not those of the records"):
        release.save("other/")
    assert list(Path().glob("other*")) == []


def test_a_class_that_no_task_can_hold_is_written_in_pieces(spark: Any, folder: Path) -> None:
    random = np.random.default_rng(1)
    alike = {"age": pa.array([30] * 900 + [50] * 40), "disease": random.choice(["flu", "cold"], 940)}
    frame = spark.createDataFrame(pa.table(alike)).repartition(3)
    asked = rk.Policy.quick(frame.columns, qi="age", sensitive="disease", k=5).but(engine=on_spark(fits=200))
    saved = prepare(frame, asked).save("out.csv")
    parts = sorted(saved.data.glob("part-*.csv"))
    assert len(parts) == 10
    assert saved.certificate.verification.classes == 2
    assert saved.certificate.loss.largest_class == 900
    rows = Counter(line for part in parts for line in part.read_text().splitlines()[1:])
    assert rows == Counter(f"{age},{disease}" for age, disease in zip(*(c for c in alike_lists(alike)), strict=True))


def alike_lists(table: dict[str, Any]) -> list[list[Any]]:
    return [list(table["age"].to_pylist()), list(table["disease"])]


def test_what_comes_to_the_driver_does_not_grow_with_the_records(spark: Any) -> None:
    found = []
    for rows in (1_000, 4_000):
        table = people(rows).select(["zip", "town", "disease"])
        frame = spark.createDataFrame(table).repartition(2)
        asked = rk.Policy.quick(table.column_names, qi=["zip", "town"], sensitive="disease", k=5)
        release = prepare(frame, asked.but(engine=on_spark(fits=rows // 4)))
        assert isinstance(release, Spread)
        found.append(release.grown.records.cluster.collected)
        release.spill.close()
    few, many = found
    # As many values, and as many nodes: a sum has as many numbers, however much is added up.
    assert many.rows <= few.rows + 4
    assert many.bytes < 1.3 * few.bytes


def test_files_that_spark_reads(spark: Any, folder: Path) -> None:
    table = people(600).drop_columns(["name", "wage", "note"])
    Path("data").mkdir()
    pq.write_table(table.slice(0, 300), "data/a.parquet")
    pq.write_table(table.slice(300), "data/b.parquet")
    words: dict[str, Any] = {"qi": ["age", "zip", "town"], "sensitive": "disease", "k": 5}
    wanted = rows_of(rk.anonymize(table, **words).arrow)
    with rk.anonymize("data", engine="spark", **words) as release:
        assert rows_of(release.arrow) == wanted
    import pyarrow.csv as text

    text.write_csv(table, "table.csv")
    as_read = rk.anonymize("table.csv", **words)
    with rk.anonymize("table.csv", engine="spark", **words) as release:
        assert rows_of(release.arrow) == rows_of(as_read.arrow)
    german = {"a": ["1.001,50", "2,25", "k.A.", "7"] * 5, "d": ["29.02.2024", "1.3.2024", "2.4.2023", "5.5.2025"] * 5}
    text.write_csv(pa.table(german), "german.csv", text.WriteOptions(delimiter=";"))
    dates = {"role": "keep", "type": {"date": "%d.%m.%Y"}}
    spoken = rk.Policy(
        columns={"a": {"role": "quasi-identifier", "type": "number"}, "d": dates},
        privacy=[{"k-anonymity": {"k": 5}}],
        input={"delimiter": ";", "decimal": ",", "thousands": ".", "missing": ["k.A."]},
    )
    with rk.anonymize("german.csv", spoken.but(engine="spark")) as release:
        assert rows_of(release.arrow) == rows_of(rk.anonymize("german.csv", spoken).arrow)
    frame = spark.read.parquet(str(folder / "data"))
    frame.createOrReplaceTempView("folk")
    with rk.anonymize("folk", engine="spark", **words) as release:
        assert rows_of(release.arrow) == wanted
    pq.write_table(table.rename_columns(["age", "plz", "town", "disease"]), "data/c.parquet")
    with pytest.raises(InputError, match=r"c\.parquet has other columns than a\.parquet: 'plz'"):
        rk.anonymize("data", engine="spark", **words)
    with pytest.raises(InputError, match="There is no file, folder or table 'nobody'"):
        rk.anonymize("nobody", engine="spark", **words)


def test_a_release_in_an_object_store(frame: Any, bucket: str, folder: Path) -> None:
    from pyarrow import fs

    scratch = folder / "scratch"
    scratch.mkdir()
    saved = prepare(frame, policy(on_spark()), spill_dir=scratch).save(f"s3://{bucket}/people/")
    store = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"].removeprefix("http://"), scheme="http")
    found = pq.read_table(f"{bucket}/people/release.parquet", filesystem=store)
    assert rows_of(found) == rows_of(rk.anonymize(people(), policy()).arrow)
    with store.open_input_file(f"{bucket}/people/release.parquet/{MANIFEST}") as file:
        assert hashlib.sha256(file.read()).hexdigest() == saved.certificate.sha256
    assert not any(path.is_file() for path in folder.rglob("*"))


def test_a_value_that_spark_fails_at_is_not_told(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    frame = spark.createDataFrame(people(60)).selectExpr("cast(town AS int) AS town", "zip")
    with pytest.raises(InputError, match="Spark could not do what it was asked") as found:
        rk.anonymize(frame, qi=["town", "zip"], k=5, engine="spark")
    told = str(found.value) + "".join(capfd.readouterr())
    assert not any(town in told for town in ("Bonn", "Köln", "Trier", "Ulm"))


def test_a_small_frame_goes_to_memory_and_comes_back_as_a_frame(spark: Any) -> None:
    table = people(300).select(["age", "town", "disease"])
    release = rk.anonymize(spark.createDataFrame(table), qi=["age", "town"], sensitive="disease", k=5)
    assert release.certificate.engine == "memory"
    assert release.table.count() == 300
    with pytest.raises(PolicyError, match="sees all records at once"):
        rk.anonymize(
            spark.createDataFrame(table), qi="age", keep=["town", "disease"], k=5, method="topdown", engine="spark"
        )
    with pytest.raises(InputError, match="takes a Spark DataFrame"):
        rk.anonymize(table, qi="age", keep_rest=True, k=5, engine="spark")
