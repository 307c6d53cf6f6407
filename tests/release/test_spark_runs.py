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

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
MADE = ("people", "undisturbed", "disturbed", "refine", "hilbert-fast", "sets")
"""What is released before the driver dies."""


def run(name: str) -> subprocess.CompletedProcess[str]:
    """Run one of the programs in this folder."""
    told = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.release.spark_runs", name], env=os.environ | told,
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def test_a_release_through_spark_connect(folder: Path) -> None:
    done = run("connect")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the same" in done.stdout


def test_executors_and_a_driver_that_are_killed(folder: Path) -> None:
    done = run("killed")
    assert "the same" in done.stdout, done.stderr[-3000:]
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    # Of the release that was being made when the driver died there is nothing that anybody looks for.

    def left() -> list[Path]:
        return [path for path in Path().rglob("*") if path.is_file() and not path.parts[0].startswith(MADE)]

    assert left()
    assert all(any(part.startswith(private.PARTIAL) for part in path.parts) for path in left())
    until = time.monotonic() + 30
    while left() and time.monotonic() < until:  # until what it has started is gone
        time.sleep(0.5)
        private.remove_leftovers(Path("release"))
    assert left() == []
