"""The command line as a process: it does without what a command does not need, and still ends as it should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv

from rothko.cli import COMMANDS


def ran(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "rothko", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_a_small_table_needs_little_beside_what_releases_it(tmp_path: Path) -> None:
    pcsv.write_csv(pa.table({"age": list(range(40)), "name": [f"n{i}" for i in range(40)]}), tmp_path / "people.csv")
    asked = ("anonymize", "people.csv", "--method", "mondrian", "--qi", "age", "--drop", "name", "--k", "2", "--out")
    ran(*asked, "first", folder=tmp_path)  # it may compile
    made = ran(*asked, "out", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stdout.rstrip().endswith("recoding.json")  # all of it, though the process ends abruptly
    assert len((tmp_path / "out" / "release.csv").read_text().splitlines()) == 41
    imported = set(re.findall(r"\| +(\S+)$", made.stderr, flags=re.MULTILINE))
    assert {"numba", "pyarrow", "duckdb"} <= imported
    # Data frames, linear algebra, what Numba compiles with, bars that nobody sees, and other commands.
    inside = ("pandas.core", "scipy.", "sklearn.", "resvg_py", "narwhals", "numba.np.linalg", "numba.np.arraymath")
    inside += ("rich.progress",)
    inside += tuple(f"rothko.cli.{command}" for command in COMMANDS if command != "anonymize")
    assert not [name for name in imported if name.startswith(inside)]


def test_the_exit_code_of_an_error_stays(tmp_path: Path) -> None:
    assert ran("check", "nothing.csv", "--qi", "age", "--k", "2", folder=tmp_path).returncode == 2
