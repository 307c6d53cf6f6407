"""Releases in an object store: the bytes that were verified, the certificate last, and nothing where that fails."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data import address as addresses
from rothko.errors import OutputError
from tests.command import Rothko
from tests.stores import bucket, s3_server

__all__ = ["bucket", "s3_server"]


def release(rows: int = 40) -> Any:
    table = pa.table({"age": list(range(rows)), "s": ["flu", "cold", "gout", "cough"] * (rows // 4)})
    return rk.anonymize(table, qi="age", sensitive="s", k=2)


def there(bucket: str) -> dict[str, bytes]:
    client = boto3.client("s3")
    found = client.list_objects_v2(Bucket=bucket).get("Contents", [])
    names = [one["Key"] for one in found if not one["Key"].endswith("/")]  # what stands for a folder
    return {name: client.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this machine keeps what is temporary: nothing may stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_release_is_what_was_verified(bucket: str, temporary: Path) -> None:
    saved = release().save(f"s3://{bucket}/people/", report=False)
    found = there(bucket)
    assert sorted(found) == ["people/certificate.json", "people/release.parquet"]
    told = json.loads(found["people/certificate.json"])
    assert told["file_sha256"] == hashlib.sha256(found["people/release.parquet"]).hexdigest()
    assert pq.read_table(pa.BufferReader(found["people/release.parquet"])).num_rows == 40
    assert addresses.address(saved.data) == f"s3://{bucket}/people/release.parquet"
    assert list(temporary.iterdir()) == []
    assert b"canary" not in b"".join(found.values())


def test_the_recoding_goes_where_it_is_asked_to_go_and_nowhere_else(bucket: str, temporary: Path) -> None:
    made = release()
    made.save(f"s3://{bucket}/a.csv", recoding=f"s3://{bucket}/hidden/")
    assert sorted(there(bucket)) == ["a.certificate.json", "a.csv", "hidden/recoding.json"]
    for elsewhere in ("s3://another/hidden/", temporary / "hidden"):
        with pytest.raises(OutputError, match=r"The recoding goes to .* name two places in one store, or leave"):
            made.save(f"s3://{bucket}/b.csv", recoding=elsewhere)
    with pytest.raises(OutputError, match=r"The recoding goes to"):
        made.save(temporary / "b.csv", recoding=f"s3://{bucket}/hidden/")
    assert sorted(there(bucket)) == ["a.certificate.json", "a.csv", "hidden/recoding.json"]


def test_what_is_there_stays_unless_it_may_go(bucket: str) -> None:
    release().save(f"s3://{bucket}/people/", report=True)
    before = there(bucket)
    assert sorted(before) == [f"people/{name}" for name in ("certificate.json", "release.parquet", "report.html",
                                                             "report.json")]  # fmt: skip
    with pytest.raises(OutputError, match=rf"^'s3://{bucket}/people/release.parquet' exists; use overwrite=True"):
        release(60).save(f"s3://{bucket}/people/")
    assert there(bucket) == before
    boto3.client("s3").put_object(Bucket=bucket, Key="people/other.txt", Body=b"mine")
    release(60).save(f"s3://{bucket}/people/", report=False, overwrite=True)
    after = there(bucket)
    # Of the older release nothing is left, and what is somebody else's stays.
    assert sorted(after) == ["people/certificate.json", "people/other.txt", "people/release.parquet"]
    assert json.loads(after["people/certificate.json"])["rows"] == 60


def test_where_copying_fails_nothing_stays(bucket: str, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    real, copied = addresses.Store.put, []

    def put(store: addresses.Store, local: Path, path: Path) -> None:
        real(store, local, path)
        copied.append(path.name)
        if path.name == "certificate.json":
            raise OutputError("The line is cut.")

    monkeypatch.setattr(addresses.Store, "put", put)
    with pytest.raises(OutputError, match="The line is cut"):
        release().save(f"s3://{bucket}/people/", report=False)
    assert copied[-2:] == ["release.parquet", "certificate.json"]
    assert there(bucket) == {}
    assert list(temporary.iterdir()) == []


def test_bytes_that_change_on_the_way_are_not_released(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    def cut(file: Any, stream: Any, _: int) -> None:
        stream.write(file.read()[:-1])

    made = release()
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", cut)
        with pytest.raises(OutputError, match=r"release\.parquet' does not hold what was copied to it"):
            made.save(f"s3://{bucket}/people/", report=False)
    assert there(bucket) == {}


@pytest.mark.parametrize(("where", "said"), [("s3://nobody-has-this/x/", "does not do what it is asked"),
                                             ("s3://", "names no bucket")])  # fmt: skip
def test_a_store_that_is_not_there_is_told_before_any_work(bucket: str, where: str, said: str) -> None:
    with pytest.raises(OutputError, match=said) as told:
        release().save(where)
    assert "canary" not in str(told.value)


def test_the_command(bucket: str, temporary: Path) -> None:
    (temporary / "people.csv").write_text("age,s\n" + "".join(f"{i},flu\n" for i in range(30)))
    command = [sys.executable, "-m", "rothko", "anonymize", "people.csv", "--qi", "age", "--sensitive", "s", "--k", "3",
               "--out", f"s3://{bucket}/out.parquet"]  # fmt: skip
    done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == [f"s3://{bucket}/out.parquet", f"s3://{bucket}/out.certificate.json"]
    again = subprocess.run(command, cwd=temporary, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1), again.stderr
    assert "exists; use --overwrite" in again.stderr


def test_new_records_go_to_a_store(bucket: str, folder: Path, rothko: Rothko) -> None:
    release().save("first.csv", report=False)
    Path("new.csv").write_text("age,s\n3,flu\n5,gout\n")
    out = f"s3://{bucket}/new/records.parquet"
    ran = rothko("apply", "first-recoding", "new.csv", "--out", out)
    assert (ran.code, ran.err, ran.out.splitlines()[-1]) == (0, "", out)
    [(name, content)] = there(bucket).items()
    assert (name, pq.read_table(pa.BufferReader(content)).num_rows) == ("new/records.parquet", 2)
    assert "exists; use --overwrite" in rothko("apply", "first-recoding", "new.csv", "--out", out).err
    assert rothko("apply", "first-recoding", "new.csv", "--out", out, "--overwrite").code == 0
    assert "does not write" in rothko("apply", "first-recoding", "new.csv", "--out", f"s3://{bucket}/new").err


def test_what_is_read_is_not_overwritten(bucket: str, folder: Path, rothko: Rothko) -> None:
    release(60).save("first.csv")
    Path("new.csv").write_text("age,s\n" + "".join(f"{age},flu\n" for age in range(60)))
    boto3.client("s3").upload_file("new.csv", bucket, "in/new.csv")
    data, words = f"s3://{bucket}/in/new.csv", ("--qi", "age", "--keep", "s", "--k", "2", "--overwrite")
    before = there(bucket)
    for out in (data, data.replace("s3:", "s3a:")):
        ran = rothko("anonymize", data, *words, "--out", out)
        assert (ran.code, "The output is the input" in ran.err) == (2, True), ran.err
        ran = rothko("apply", "first-recoding", data, "--out", out, "--overwrite")
        assert (ran.code, "The output is the input" in ran.err) == (2, True), ran.err
    ran = rothko("anonymize", f"s3://{bucket}/in/", *words, "--out", f"s3://{bucket}/in/other.csv")
    assert (ran.code, "lies in the folder that is read" in ran.err) == (2, True), ran.err
    assert there(bucket) == before
