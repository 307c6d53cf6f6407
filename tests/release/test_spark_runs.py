"""Spark Connect, and a cluster of several processes that die: see spark_runs.py, which these tests run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rothko import private

ROOT = Path(__file__).parents[2]


def run(name: str) -> subprocess.CompletedProcess[str]:
    """Run one of the programs in this folder."""
    told = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.release.spark_runs", name], env=os.environ | told,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["connect", "killed"])
def test_a_release_is_the_same(name: str, folder: Path) -> None:
    done = run(name)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the same" in done.stdout


def test_a_driver_that_is_killed_leaves_nothing_that_anybody_looks_for(folder: Path) -> None:
    done = run("driver")
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    left = [path for path in Path().rglob("*") if path.is_file()]
    assert left
    assert all(any(part.startswith(private.PARTIAL) for part in path.parts) for path in left)
    time.sleep(1)  # until what it has started is gone
    private.remove_leftovers(Path("release"))
    assert [path for path in Path().rglob("*") if path.is_file()] == []
