"""Tables in an object store: read by ranges or from the beginning on, several as one, and nothing told of keys."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import InputError, RothkoError
from tests.command import Rothko
from tests.stores import bucket, s3_server

__all__ = ["bucket", "s3_server"]

PEOPLE = pa.table(
    {
        "age": [20 + i % 37 for i in range(600)],
        "zip": [f"{i % 11:05d}" for i in range(600)],
        "disease": ["flu", "cold", "gout"] * 200,
    }
)
WORDS: dict[str, Any] = {"qi": ["age", "zip"], "sensitive": "disease", "k": 5, "method": "mondrian"}
OPTIONS = ("--qi", "age,zip", "--sensitive", "disease", "--k", "5", "--method", "mondrian")


def written(table: pa.Table, ending: str) -> bytes:
    sink = io.BytesIO()
    if ending == ".parquet":
        pq.write_table(table, sink, row_group_size=100)
    elif ending == ".arrow":
        feather.write_feather(table, sink)
    else:
        pcsv.write_csv(table, sink)
    return gzip.compress(sink.getvalue()) if ending == ".csv.gz" else sink.getvalue()


def put(bucket: str, name: str, content: bytes) -> str:
    boto3.client("s3").put_object(Bucket=bucket, Key=name, Body=content)
    return f"s3://{bucket}/{name}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(data: str) -> str:
    with pytest.raises(InputError) as told:
        open_source(data).read()
    assert "canary" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".csv.gz"])
def test_an_object_is_read_like_a_file(bucket: str, ending: str, folder: Path) -> None:
    data = put(bucket, f"in/people{ending}", written(PEOPLE, ending))
    source = open_source(data)
    assert source.read().equals(PEOPLE)
    assert pa.concat_tables(source.batches(rows=100)).equals(PEOPLE)
    Path(f"people{ending}").write_bytes(written(PEOPLE, ending))
    for engine in ("memory", "rothko-t"):
        saved = [rk.anonymize(one, engine=engine, **WORDS).save(f"{engine}-{i}/", report=False).data
                 for i, one in enumerate((data, f"people{ending}"))]  # fmt: skip
        assert saved[0].name == saved[1].name
        assert saved[0].read_bytes() == saved[1].read_bytes()


def test_folders_and_patterns(bucket: str) -> None:
    for i in range(4):
        put(bucket, f"data/year=2026/month={i + 1:02d}/part.parquet", written(PEOPLE.slice(i * 150, 150), ".parquet"))
    put(bucket, "data/_SUCCESS", b"")
    put(bucket, "data/year=2026/notes.md", b"x")
    for data in (f"s3://{bucket}/data/", f"s3://{bucket}/data", f"s3://{bucket}/data/**/*.parquet"):
        source = open_source(data)
        assert source.names == ("age", "zip", "disease", "year", "month")
        table = source.read()
        assert table.select(PEOPLE.column_names).equals(PEOPLE)
        assert table["month"].to_pylist()[::150] == ["01", "02", "03", "04"]
        assert sum(batch.num_rows for batch in source.batches()) == 600
    assert open_source(f"s3://{bucket}/data/year=*/month=0[12]/*").rows == 300
    assert open_source(f"s3://{bucket}/data/year=2026/month=01").names == ("age", "zip", "disease")
    assert refusal(f"s3://{bucket}/data/*.csv") == f"No file matches 's3://{bucket}/data/*.csv'."


@pytest.mark.parametrize(
    ("inside", "kind"), [("_delta_log/0.json", "a Delta"), ("metadata/v1.metadata.json", "an Iceberg")]
)
def test_tables_of_lakes_are_told_from_what_lies_beside_them(bucket: str, inside: str, kind: str) -> None:
    put(bucket, f"all/lake/{inside}", b"{}")
    for name in ("all/lake/year=2026/old.csv", "all/people/year=2026/new.csv"):
        data = put(bucket, name, written(PEOPLE, ".csv"))
    assert open_source(f"s3://{bucket}/all/people/*/*.csv").rows == open_source(data).rows
    assert open_source(f"s3://{bucket}/all/peo*/**/*.csv").names == (*PEOPLE.column_names, "year")
    for name in ("all/*/*/*.csv", "all/lake/", "all/lake/year=2026/", "all/lake/*/old.csv", "all/lake/year=2026/*.csv",
                 "all/lake/year=2026/old.csv", "all/"):  # fmt: skip
        assert f"'s3://{bucket}/all/lake' is {kind} table" in refusal(f"s3://{bucket}/{name}")


def test_what_is_not_there(bucket: str) -> None:
    data = f"s3://{bucket}/none.csv"
    assert refusal(data) == f"There is no object '{data}', and none below it."
    assert "nobody-has-this" in refusal("s3://nobody-has-this/people.csv")
    assert refusal("s3://").startswith("'s3:' names no bucket")
    whole = written(PEOPLE, ".parquet")
    assert refusal(put(bucket, "cut.parquet", whole[: len(whole) // 2])).startswith("cut.parquet is not a Parquet file")
    assert "1.csv.gz" in refusal(put(bucket, "1.csv.gz", written(PEOPLE, ".csv.gz")[:-9]))
    assert refusal(put(bucket, "people.doc", b"x")).startswith("people.doc has an ending that rothko does not know")


def test_an_object_that_changes_between_two_passes(bucket: str) -> None:
    data = put(bucket, "people.csv", b"a,b\n" + b"1,2\n" * 9)
    source = open_source(data)
    list(source.batches())
    put(bucket, "people.csv", b"a,b\n" + b"1,3\n" * 9)  # as long, and in the same second
    with pytest.raises(InputError, match=r"^people.csv has changed while it was read; start again\.$"):
        list(source.batches())
    source = open_source(data)
    boto3.client("s3").delete_object(Bucket=bucket, Key="people.csv")
    with pytest.raises(InputError, match=r"^people.csv is gone while it was read; start again\.$"):
        list(source.batches())


def test_an_object_that_goes_in_the_middle(bucket: str) -> None:
    data = put(bucket, "people.parquet", written(PEOPLE, ".parquet"))
    passing = open_source(data)._pieces(["age"], (), 10, 1)  # type: ignore[misc]
    next(passing)
    source = open_source(data)
    boto3.client("s3").delete_object(Bucket=bucket, Key="people.parquet")
    with pytest.raises(RothkoError, match=r"There is no object|is gone"):
        source.read()
    passing.close()  # type: ignore[attr-defined]


def test_every_command_reads_a_store(bucket: str, rothko: Rothko, folder: Path) -> None:
    data = put(bucket, "in/people.parquet", written(PEOPLE, ".parquet"))
    assert rothko("draft", data, "--out", "policy.yaml").code == 0
    ran = rothko("anonymize", data, *OPTIONS, "--out", f"s3://{bucket}/out/", "--recoding", f"s3://{bucket}/hidden/")
    assert ran.code == 0, ran.err
    boto3.client("s3").download_file(bucket, "hidden/recoding.json", "recoding.json")
    assert rothko("check", f"s3://{bucket}/out/release.parquet", *OPTIONS[:6]).code == 0
    Path("asked.yaml").write_text(
        "columns: {age: {role: quasi-identifier}, zip: {role: quasi-identifier}, disease: {role: sensitive}}\n"
        "privacy: [{k-anonymity: {k: 5}}]\n"
    )
    ran = rothko("measure", data, f"s3://{bucket}/out/release.parquet", "--policy", "asked.yaml")
    assert ran.code == 0, ran.err
    ran = rothko("apply", "recoding.json", data, "--out", "new.csv")
    assert ran.code == 0, ran.err
    ran = rothko("compare", data, "--qi", "age,zip", "--k", "5", "--method", "mondrian")
    assert ran.code == 0, ran.err


def test_keys_in_an_address_are_refused_and_not_shown(folder: Path, rothko: Rothko) -> None:
    (folder / "people.csv").write_bytes(written(PEOPLE, ".csv"))
    words = ("people.csv", "--qi", "age", "--keep-rest", "--k", "2", "--out")
    for address in ("s3://key:hunter2@bucket/x.csv", "gs://key:hunter2@bucket/*.csv", "az://box:hunter2@acc.net/x.csv"):
        for ran in (rothko("check", address, "--qi", "age", "--k", "2"), rothko("anonymize", *words, address)):
            assert (ran.code, "The address holds a key" in ran.err) == (2, True), ran.err
            assert "hunter2" not in ran.err
        ran = rothko("anonymize", *words, "out.csv", "--recoding", address)
        assert ran.code == 2
        assert "hunter2" not in ran.err


def test_keys_that_are_refused(s3_server: str, bucket: str, folder: Path) -> None:
    """In a process of its own, against a server that does not answer."""
    environment = os.environ | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    command = [sys.executable, "-m", "rothko", "check", f"s3://{bucket}/people.csv", "--qi", "age", "--k", "2"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert ran.stderr.startswith(f"Error: The object store at s3://{bucket} does not do what it is asked")
    assert "canary" not in ran.stderr + ran.stdout
