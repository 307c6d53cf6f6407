"""What `cluster` loses on tables with a hierarchy for every quasi-identifier, beside the bound and what others lose.

`python -m benchmarks.loss FOLDER --k 5,10,50 --effort default --table acs`. A table is a folder with `NAME.parquet`,
whose last column is no quasi-identifier, and `hierarchies/COLUMN.csv`; `references.json` beside the tables has what
another tool loses by table and k. Seconds are those of all processors.

`python -m benchmarks.loss FOLDER --rows 1e6 --memory 3GB` enlarges each table instead, by drawing records of which one
value in twenty comes from another, and releases it by the command line, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.scale import process
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.methods import Cluster
from rothko.metrics.bound import bound
from rothko.policy.policy import Policy

NOISE = 0.05
"""The share of values that come from another record, where a table is enlarged."""


def table_of(folder: Path) -> tuple[pa.Table, Policy]:
    """A table, and a policy for it."""
    table = pq.read_table(folder / f"{folder.name}.parquet")
    *quasi, last = table.column_names
    trees = {name: str(folder / "hierarchies" / f"{name}.csv") for name in quasi}
    return table, Policy.quick(table.column_names, qi=quasi, keep=last, k=2, hierarchies=trees)


def enlarged(table: pa.Table, rows: int) -> pa.Table:
    """So many records like those of a table."""
    random = np.random.default_rng(1)
    columns = {}
    drawn = random.integers(0, table.num_rows, rows)
    for name in table.column_names:
        others = np.where(random.random(rows) < NOISE, random.integers(0, table.num_rows, rows), drawn)
        columns[name] = table[name].take(pa.array(others))
    return pa.table(columns)


def lose(name: str, encoded: Encoded, policy: Policy, k: int, effort: str, reference: float | None) -> None:
    """Print what is lost at one k."""
    privacy = policy.but(privacy=[{"k-anonymity": {"k": k}}]).privacy
    options: dict[str, Any] = {"effort": effort} if effort.isalpha() else {"seconds": float(effort)}
    begun = time.process_time()
    lost = Cluster(**options).partition(encoded, privacy, threads=2).gcp(encoded.lines)
    seconds = time.process_time() - begun
    least = bound(encoded, privacy, records=200)
    beside = "" if reference is None else f"  other {reference:.4f} ({lost / reference - 1:+.1%})"
    within = f"bound {least.gcp:.4f}±{least.error:.4f}"
    print(f"{name:<6} k={k:<4} {effort:<8} {lost:.4f} {seconds:6.1f} s  {within}{beside}", flush=True)


def write_enlarged(folder: Path, rows: int, path: Path) -> None:
    """Write so many records like those of a table."""
    pq.write_table(enlarged(table_of(folder)[0], rows), path)


def release(source: Path, rows: int, policy: Policy, k: int, memory: str) -> None:
    """Release a large table by the command line: how long it takes, and the most memory."""
    name = source.name
    with tempfile.TemporaryDirectory() as folder:
        data, asked, out = Path(folder) / "data.parquet", Path(folder) / "policy.yaml", Path(folder) / "out"
        # In a process of its own: the system counts the peak of whoever starts another one as a peak of that, too.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            other.submit(write_enlarged, source, rows, data).result()
        policy.but(privacy=[{"k-anonymity": {"k": k}}], method="cluster").save(asked)
        options = ["--policy", asked, "--memory", memory, "--out", out, "--no-report", "-q"]
        run = process(sys.executable, "-m", "rothko", "anonymize", str(data), *map(str, options))
        certificate = json.loads((out / "certificate.json").read_text())
    lost, engine = certificate["loss"]["gcp"], certificate["engine"]["name"]
    print(
        f"{name:<6} k={k:<4} {rows:,} records by {engine}: {lost:.4f} in {run.seconds:.1f} s, "
        f"{run.processor:.1f} s of processors, peak {run.peak:,.0f} MB", flush=True,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loss", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", help="some of them, with commas")
    parser.add_argument("--k", default="5,10,50")
    parser.add_argument("--effort", default="default", help="fast, default, thorough, or seconds")
    parser.add_argument("--rows", type=float, help="enlarge each table")
    parser.add_argument("--memory", default="3GB")
    arguments = parser.parse_args()
    folders = [one for one in sorted(arguments.folder.iterdir()) if (one / "hierarchies").is_dir()]
    known = arguments.folder / "references.json"
    references = json.loads(known.read_text()) if known.exists() else {}
    for folder in folders:
        if arguments.table and folder.name not in arguments.table.split(","):
            continue
        table, policy = table_of(folder)
        for k in map(int, arguments.k.split(",")):
            if arguments.rows:
                release(folder, int(arguments.rows), policy, k, arguments.memory)
            else:
                encoded = encode(typed(table, policy), policy, threads=2)
                lose(folder.name, encoded, policy, k, arguments.effort, references.get(folder.name, {}).get(str(k)))


if __name__ == "__main__":
    main()
