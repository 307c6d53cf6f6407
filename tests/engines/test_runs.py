"""Whole runs of the engines: files in, verified files out, whatever the format and the workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InfeasibleError, InputError, PolicyError
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal
from rothko.methods import Mondrian
from rothko.policy.policy import Policy
from rothko.release.stored import StoredRelease
from tests.command import Rothko
from tests.engine import FITS, small

ROWS = 6_000


@pytest.fixture(scope="module")
def people() -> pa.Table:
    table = agrawal(ROWS, function=2, noise=0.1, seed=5)
    return table.append_column("job", pa.array([["nurse", "cook", "smith"][i % 3] for i in range(ROWS)]))


def policy(**more: Any) -> Policy:
    columns: dict[str, Any] = {
        name: {"role": "quasi-identifier"} for name in ("salary", "age", "elevel", "loan", "job")
    }
    columns |= {name: {"role": "keep"} for name in ("commission", "car", "zipcode", "hvalue", "hyears")}
    columns["class"] = {"role": "sensitive"}
    return Policy(columns=columns, privacy=more.pop("privacy", [{"k-anonymity": {"k": 20}}]), **more)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))  # type: ignore[arg-type]


WORKLOADS: dict[str, tuple[Any, ...]] = {
    "median": (),
    "classify": ({"classify": {"target": "class"}},),
    "regress and select": ({"regress": {"target": "hvalue"}}, {"select": {"where": "age between 30 and 50"}}),
    "aggregate": ({"aggregate": {"of": "age", "functions": ["avg"]}},),
}


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("publish", ["range", "region"])
def test_rothko_t_releases_what_the_memory_engine_releases(
    people: pa.Table, tmp_path: Path, workload: str, publish: str
) -> None:
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=900)
    asked = policy(workload=WORKLOADS[workload], publish=publish)
    expected = rk.anonymize(tmp_path / "people.parquet", asked, engine="memory")
    found = rk.anonymize(tmp_path / "people.parquet", asked.but(engine=small("rothko-t")))
    assert isinstance(found, StoredRelease)
    assert found.certificate.io is not None
    assert found.certificate.io.repartitions >= 1
    assert rows_of(found.table) == rows_of(expected.table)
    assert found.certificate.loss.gcp == pytest.approx(expected.certificate.loss.gcp)
    assert found.certificate.loss.classes == expected.certificate.loss.classes
    for one, other in zip(found.certificate.loss.workload, expected.certificate.loss.workload, strict=True):
        numbers = {key: value for key, value in other.to_dict().items() if isinstance(value, float)}
        assert one.to_dict() == {**other.to_dict(), **{key: pytest.approx(value) for key, value in numbers.items()}}
    assert found.recoding is not None
    assert expected.recoding is not None
    fresh = agrawal(500, seed=9).append_column("job", pa.array(["nurse"] * 500))
    assert found.recoding.apply(fresh).equals(expected.recoding.apply(fresh))


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_every_format_goes_in_and_out(people: pa.Table, tmp_path: Path, ending: str, engine: str) -> None:
    source = tmp_path / f"people.{ending}"
    write = {"parquet": pq.write_table, "csv": pcsv.write_csv, "arrow": feather.write_feather}[ending]
    write(people, source)
    asked = policy(
        engine=small(engine, **({"test": "normal"} if engine == "rothko-s" else {})),
        privacy=[{"k-anonymity": {"k": 20}}, {"entropy-l-diversity": {"l": 1.2, "of": "class"}}],
    )
    release = rk.anonymize(source, asked)
    saved = release.save(tmp_path / "out")
    assert saved.certificate.verification.holds
    assert saved.certificate.verification.rows == ROWS
    assert saved.certificate.engine == engine
    assert saved.data.suffix == source.suffix
    assert rk.check(saved.data, asked).holds
    assert not [path for path in (tmp_path / "out").iterdir() if "partial" in path.name]


def test_the_sample_s_errors_are_undone(people: pa.Table, tmp_path: Path) -> None:
    pq.write_table(people, tmp_path / "people.parquet")
    asked = policy(engine=small("rothko-s", test="naive", alpha=0.5), privacy=[{"k-anonymity": {"k": 650}}])
    release = rk.anonymize(tmp_path / "people.parquet", asked)
    assert release.certificate.verification.holds
    assert release.certificate.io is not None
    assert release.certificate.io.sample == FITS


def test_the_order_of_the_input_does_not_show(people: pa.Table, tmp_path: Path) -> None:
    order = pa.array(range(ROWS - 1, -1, -1))
    for name, table in (("a", people), ("b", people.take(order))):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        rk.anonymize(tmp_path / f"{name}.parquet", policy(engine=small("rothko-t"))).save(
            tmp_path / f"{name}.out.parquet"
        )
    assert (tmp_path / "a.out.parquet").read_bytes() == (tmp_path / "b.out.parquet").read_bytes()


def test_what_the_engines_on_disk_cannot_do_is_told(people: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(people, path)
    with pytest.raises(PolicyError, match=r"relaxed Mondrian .* engine: memory"):
        rk.anonymize(path, policy(method={"mondrian": {"relaxed": True}}), engine="rothko-t")
    beyond = policy(workload=[{"classify": {"target": "class", "features": ["age", "car"]}}])
    with pytest.raises(PolicyError, match=r"classify class: the feature 'car' is no quasi-identifier"):
        rk.anonymize(path, beyond, engine="rothko-s")
    with pytest.raises(InfeasibleError, match=r"This table cannot meet"):
        rk.anonymize(path, policy(privacy=[{"k-anonymity": {"k": ROWS + 1}}]), engine="rothko-t")
    with pytest.raises(InputError, match=r"no value of this table satisfies it"):
        rk.anonymize(path, policy(workload=[{"select": {"where": "age > 500"}}]), engine="rothko-t")


def test_auto_takes_the_disk_where_the_limit_is_small(rothko: Rothko, people: pa.Table, folder: Path) -> None:
    long = people.append_column("essay", pa.array([f"{i:05000}" for i in range(ROWS)]))
    pq.write_table(long, "people.parquet", compression="none")
    asked = policy()
    asked.but(columns={**asked.columns, "essay": {"role": "keep"}}).save("policy.yaml")
    arguments = ["anonymize", "people.parquet", "--policy", "policy.yaml", "--out", "out", "--json"]
    ran = rothko(*arguments, "--memory", "430MB", "--spill-dir", folder)
    assert ran.code == 0, ran.err
    certificate = json.loads(Path("out/certificate.json").read_text())
    assert certificate["engine"]["name"] == "rothko-s"
    assert certificate["engine"]["reason"].startswith("the table needs about")
    assert certificate["io"]["passes"] == 2
    assert rothko(*arguments, "--overwrite", "--memory", "4GB").code == 0
    assert json.loads(Path("out/certificate.json").read_text())["engine"]["name"] == "memory"


def test_nothing_is_left_behind(people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(people, tmp_path / "people.parquet")
    spill = tmp_path / "spill"
    spill.mkdir()
    release = rk.anonymize(tmp_path / "people.parquet", policy(engine=small("rothko-t")), spill_dir=spill)
    assert len(list(spill.iterdir())) == 1
    release.close()  # type: ignore[union-attr]
    assert list(spill.iterdir()) == []

    def fails(*_: Any, **__: Any) -> None:
        raise InputError("broken on purpose")

    monkeypatch.setattr(Mondrian, "partition", fails)
    with pytest.raises(InputError, match="on purpose"):
        rk.anonymize(tmp_path / "people.parquet", policy(engine=small("rothko-t")), spill_dir=spill)
    import gc

    gc.collect()
    assert list(spill.iterdir()) == []


def test_progress_tells_passes_over_the_source_and_how_much_is_finished(
    people: pa.Table, tmp_path: Path, disk_engine: str
) -> None:
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=900)
    told: list[tuple[str, int, int]] = []
    prepared = prepare(
        tmp_path / "people.parquet",
        policy(engine=small(disk_engine)),
        threads=1,
        progress=lambda *what: told.append(what),
    )
    saved = prepared.save(tmp_path / "out.parquet")
    io = saved.certificate.io
    assert io is not None
    assert sum(done == 0 for stage, done, _ in told if stage in ("survey", "count", "repartition")) == io.passes
    finished = [done for stage, done, _ in told if stage == "load"]
    assert finished == sorted(set(finished))
    assert finished[-1] == ROWS
    assert {total for stage, _, total in told if stage == "load"} == {ROWS}


def test_a_policy_may_ask_for_fewer_records_at_once(people: pa.Table, tmp_path: Path) -> None:
    pq.write_table(people, tmp_path / "people.parquet")
    asked = policy(engine={"rothko-s": {"records_at_once": 300}})
    saved = prepare(tmp_path / "people.parquet", asked, threads=1).save(tmp_path / "out.parquet")
    assert saved.certificate.io is not None
    assert saved.certificate.io.sample == 300
    with pytest.raises(PolicyError, match="records_at_once must be a whole number of at least 1"):
        policy(engine={"rothko-t": {"records_at_once": 0}})


def test_all_that_is_read_of_a_text_file_is_counted(people: pa.Table, tmp_path: Path) -> None:
    """Twice before the first pass, for quotes and for types; the look at the first records reads no more than these."""
    pq.write_table(people, tmp_path / "people.parquet")
    pcsv.write_csv(people, tmp_path / "people.csv")
    io = {}
    for ending in ("parquet", "csv"):
        path = tmp_path / f"people.{ending}"
        saved = prepare(path, policy(), engine="rothko-t", threads=1).save(tmp_path / f"{ending}.csv")
        assert saved.certificate.io is not None
        io[ending] = saved.certificate.io
    assert io["csv"].passes == io["parquet"].passes + 2
    size = (tmp_path / "people.csv").stat().st_size
    assert io["csv"].passes * size < io["csv"].reads < (io["csv"].passes + 2) * size + io["csv"].writes * 2
