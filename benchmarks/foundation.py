"""From a file to a verified release: against a plain copy of the file by the fastest reader and writer there is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

import polars as pl
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from benchmarks.timing import Case, best, report, side_by_side
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal
from rothko.policy.policy import Policy
from rothko.release import meant
from rothko.release.counting import NO_MARKS
from rothko.release.truth import Truth

QUASI = ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"]


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    n = 100_000 if quick else 1_000_000
    table = agrawal(n, seed=1)
    parquet, csv = folder / "people.parquet", folder / "people.csv"
    pq.write_table(table, parquet)
    pl.from_arrow(table).write_csv(csv)
    del table
    cases = [
        _against_copy("Parquet to verified Parquet, k = 50", parquet, 5.0, _parquet_copies(parquet, folder)),
        _against_copy("CSV to verified CSV, k = 50", csv, 3.0, _csv_copies(csv, folder)),
    ]
    cases += [_truth(parquet), _truth(csv)]
    few, many = side_by_side(lambda: _release(parquet, 50), lambda: _release(parquet, 5))
    cases.append(report("k = 5 against k = 50", many / few, 2.0, f"{many:.2f} s, {few:.2f} s"))
    cases.append(_peak(parquet, n))
    if not quick:
        large = folder / "large.parquet"
        pq.write_table(agrawal(10 * n, seed=1), large)
        ten = best(lambda: _release(large, 50), runs=2)
        one = best(lambda: _release(parquet, 50))
        cases.append(report("10 M records against 1 M", ten / one, 12.0, f"{ten:.2f} s, {one:.2f} s"))
        cases.append(_peak(large, 10 * n))
    return cases + _command_line(folder)


def _release(path: Path, k: int) -> Path:
    policy = Policy.quick([*QUASI, "class"], qi=QUASI, keep="class", k=k)
    out = path.with_name("release" + path.suffix)
    return prepare(path, policy).save(out, overwrite=True).data


def _against_copy(title: str, path: Path, bound: float, copies: dict[str, Callable[[], object]]) -> Case:
    ours, *theirs = side_by_side(lambda: _release(path, 50), *copies.values())
    fastest = min(theirs)
    name = list(copies)[theirs.index(fastest)]
    certificate = json.loads((path.parent / "release.certificate.json").read_text())
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in certificate["seconds"].items())
    return report(title, ours / fastest, bound, f"{ours:.2f} s against {fastest:.2f} s ({name}); {stages}")


class _Unhashed:
    """Rows whose fingerprint is not asked for."""

    odd: ClassVar[set[str]] = set()
    names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *_: object) -> None:
        pass

    def of_rows(self, *_: object) -> tuple[str, str]:
        return NO_MARKS


def _truth(path: Path) -> Case:
    """What it takes to compare the written rows with the original, as a share of the run."""

    def without() -> Path:
        with (
            patch.object(Truth, "of_rows", lambda self, **_: None),
            patch.object(Truth, "_check_coverage", lambda self: None),
            patch.object(meant, "ToldHashes", _Unhashed),
            patch.object(meant, "same", lambda *_: None),
        ):
            return _release(path, 50)

    whole, least = side_by_side(lambda: _release(path, 50), without)
    title = f"comparing with the original, {path.suffix[1:]}, share of the run"
    return report(title, (whole - least) / whole, 0.15, f"{whole:.2f} s, {least:.2f} s without", "")


def _parquet_copies(path: Path, folder: Path) -> dict[str, Callable[[], object]]:
    out = folder / "copy.parquet"
    return {
        "PyArrow": lambda: pq.write_table(pq.read_table(path), out),
        "Polars": lambda: pl.read_parquet(path).write_parquet(out),
    }


def _csv_copies(path: Path, folder: Path) -> dict[str, Callable[[], object]]:
    out = folder / "copy.csv"
    return {
        "PyArrow": lambda: pcsv.write_csv(pcsv.read_csv(path), out),
        "Polars": lambda: pl.read_csv(path).write_csv(out),
    }


def _peak(path: Path, n: int) -> Case:
    """Peak resident memory of a process that makes one release, with compiled code in its cache.

    From /proc: what getrusage tells of a child begins with the memory of its parent.
    """
    code = (
        "import sys; from pathlib import Path; from benchmarks.foundation import _release; "
        "_release(Path(sys.argv[1]), 50); print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    peak, arrow = int(done.stdout) / 1024, pq.read_table(path).nbytes / 2**20
    ratio = (peak - 300) / arrow
    return report(f"memory above 300 MB, {n:,} records", ratio, 6.0, f"peak {peak:.0f} MB, Arrow size {arrow:.0f} MB")


def _command_line(folder: Path) -> list[Case]:
    rothko = str(Path(sys.executable).with_name("rothko"))
    small = folder / "small.csv"
    pcsv.write_csv(agrawal(30_000, seed=2), small)
    asked = ["--qi", ",".join(QUASI), "--keep", "class", "--k", "10", "--overwrite"]
    # A copy without what is compiled: an empty folder for it would be filled from beside the package.
    package = Path(str(find_spec("rothko").origin)).parent  # type: ignore[union-attr] # it is what runs
    shutil.copytree(package, folder / "copy" / "rothko", ignore=shutil.ignore_patterns("__pycache__"))
    fresh = os.environ | {"PYTHONPATH": str(folder / "copy"), "NUMBA_CACHE_DIR": str(folder / "numba")}
    command = [sys.executable, "-m", "rothko", "anonymize", str(small), *asked, "--out"]
    cases = [report("rothko --help", best(lambda: _call([rothko, "--help"])), 0.5, "", " s")]
    for title, bound in (("first run ever, 30,000 records, compiling", 25.0), ("second run", 3.0)):
        begun = time.perf_counter()
        _call([*command, str(folder / "small-release.csv")], env=fresh)
        cases.append(report(title, time.perf_counter() - begun, bound, "", " s"))
    return cases


def _call(command: list[str], env: dict[str, str] | None = None) -> None:
    subprocess.run(command, check=True, capture_output=True, env=env)
