"""Spark Connect, and a cluster of several processes that die: see spark_runs.py, which these tests run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(name: str) -> subprocess.CompletedProcess[str]:
    """Run one of the programs in this folder."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.release.spark_runs", name], env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["connect", "killed"])
def test_a_release_is_the_same(name: str, folder: Path) -> None:
    done = run(name)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "the same" in done.stdout
