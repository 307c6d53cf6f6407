"""Releases in several files: the rows of one file, a list of hashes that the certificate vouches for, and no more."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import InputError, OutputError, PrivacyWarning, VerificationError
from rothko.release import parts
from rothko.release.formats import parquet
from rothko.report.released import read_release
from tests.command import Rothko

ROWS = 3000
TABLE = pa.table(
    {
        "age": [i % 83 for i in range(ROWS)],
        "zip": [f"{i % 97:05d}" for i in range(ROWS)],
        "disease": [("flu", "cold", "=gout")[i % 3] for i in range(ROWS)],
    }
)
ASKED: dict[str, Any] = {"qi": ["age", "zip"], "sensitive": "disease", "k": 5, "method": "mondrian"}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few kilobytes."""
    monkeypatch.setattr(parts, "SMALLEST", 1000)
    monkeypatch.setattr(parts, "STEP", 100)
    monkeypatch.setattr(parquet, "SMALL_GROUP", 100)


@pytest.fixture(params=["parquet", "csv"])
def people(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of people, in the folder of a run."""
    monkeypatch.chdir(tmp_path)
    if request.param == "csv":
        pcsv.write_csv(TABLE, "people.csv")
    else:
        pq.write_table(TABLE, "people.parquet")
    return f"people.{request.param}"


def sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("engine", ["memory", "rothko-t"])
@pytest.mark.parametrize("out", [".parquet", ".csv"])
def test_several_files_have_the_rows_of_one(people: str, engine: str, out: str) -> None:
    release = rk.anonymize(people, engine=engine, **ASKED)
    one = release.save(f"one{out}", report=False).data
    saved = release.save(f"several{out}", parts=8000)
    files = sorted(path for path in saved.data.iterdir() if path.name != parts.MANIFEST)
    assert [path.name for path in files] == [parts.part_name(i, out) for i in range(len(files))]
    assert len(files) > 2
    assert max(path.stat().st_size for path in files) < 12_000
    listed = (saved.data / parts.MANIFEST).read_text().splitlines()
    assert listed == [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    manifest = hashlib.sha256((saved.data / parts.MANIFEST).read_bytes()).hexdigest()
    certificate = json.loads(Path("several.certificate.json").read_text())
    assert (certificate["file"], certificate["file_sha256"]) == (f"several{out}", manifest)
    assert certificate["rows"] == ROWS
    whole, parted = open_source(one).read(), open_source(saved.data).read()
    assert sorted_rows(whole) == sorted_rows(parted)
    if engine == "memory":  # in the order of one file
        assert whole.equals(parted)
    policy = release.certificate.policy
    assert rk.check(saved.data, policy).holds
    assert rk.measure(people, saved.data, policy) == rk.measure(people, one, policy)
    assert read_release(saved.data).records == ROWS


def test_a_part_that_was_changed_is_not_vouched_for(people: str) -> None:
    saved = rk.anonymize(people, **ASKED).save("out/", parts=8000)
    assert (saved.report_path, saved.report_failed) == (Path("out/report.html"), None)
    [first, *_] = sorted(saved.data.glob("part-*"))
    first.write_bytes(first.read_bytes() + b"x")
    with pytest.raises(InputError, match="other bytes than its certificate vouches for"):
        read_release("out")


def test_what_is_damaged_on_the_way_is_not_released(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = parts.write_manifest

    def lost(folder: Path, files: Any) -> str:
        digest = real(folder, files)
        sorted(folder.glob("part-*"))[1].unlink()
        return digest

    monkeypatch.setattr(parts, "write_manifest", lost)
    release = rk.anonymize(people, **ASKED)
    with pytest.raises(VerificationError):
        release.save("out/", parts=8000)
    assert not Path("out").exists()


def test_parts_replace_what_was_there(people: str) -> None:
    release = rk.anonymize(people, **ASKED)
    many = sorted(path.name for path in release.save("out/", parts=4000).data.iterdir())
    with pytest.raises(OutputError, match="exists; use overwrite=True"):
        release.save("out/", parts=8000)
    few = sorted(path.name for path in release.save("out/", parts=20_000, overwrite=True).data.iterdir())
    assert len(few) < len(many)


def test_what_has_no_parts(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = rk.anonymize(people, **ASKED)
    with pytest.raises(OutputError, match=r"^Parts are written as .parquet, .csv, .tsv, not .arrow;"):
        release.save("out.arrow", parts="64MB")
    monkeypatch.setattr(parts, "SMALLEST", 1_000_000)
    with pytest.raises(OutputError, match=r"^A part has 1 MB at least, not 64,000 bytes\.$"):
        release.save("out.csv", parts="64KB")
    with pytest.warns(PrivacyWarning):
        two = rk.anonymize(TABLE, qi=["age", "zip"], sensitive="disease", l=2, method="anatomy")
    with pytest.raises(OutputError, match=r"^Anatomy writes two tables, and none of a size; leave out parts=….$"):
        two.save("two/", parts="64MB")


def test_the_command(people: str, rothko: Rothko) -> None:
    options = ("--qi", "age,zip", "--sensitive", "disease", "--k", "5")
    ran = rothko("anonymize", people, *options, "--out", "out/", "--parts", "8KB")
    assert ran.code == 0, ran.err
    assert len(list(Path("out").glob("release.*/part-*"))) > 2
    assert rothko("check", "out", *options).code == 0
    assert rothko("report", "out", "--overwrite").code == 0
    assert rothko("anonymize", people, *options, "--out", "b/", "--parts", "many").code == 2
