"""Tables larger than memory: the engines on disk against a plain copy of the file by DuckDB, and against each other.

50 million records in a Parquet file, k = 1000, Median, under a limit of 512 MB; each run is a process of its own, whose
peak memory is what the system counted for it. The quick form has a twentieth of the records.

`python -m benchmarks.scale FOLDER` does the same once with a billion records under 1 GB: about an hour, and 60 GB in
the folder. Records that are there already (`people.parquet`) are not generated again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from benchmarks.foundation import QUASI
from benchmarks.timing import Case, report
from rothko.generate.agrawal import agrawal_batches
from rothko.release.write import write_batches

COPY = "import duckdb, sys; duckdb.sql(f\"COPY (FROM '{sys.argv[1]}') TO '{sys.argv[2]}'\")"


class Run(NamedTuple):
    """A process that has ended."""

    seconds: float
    peak: float
    """Megabytes."""
    processor: float
    """Seconds of all processors."""


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    rows = 2_500_000 if quick else 50_000_000
    people = folder / "people.parquet"
    write_batches(agrawal_batches(rows, seed=1), people)
    copy = process(sys.executable, "-c", COPY, str(people), str(folder / "copy.parquet"))
    (folder / "copy.parquet").unlink()
    runs, io = {}, {}
    for engine in ("rothko-s", "rothko-t"):
        runs[engine], certificate = _release(people, engine, "512MB")
        io[engine] = certificate["io"]
    s, t = runs["rothko-s"], runs["rothko-t"]
    size, spilled = pq.read_metadata(people).num_rows, io["rothko-s"]
    reads = spilled["passes"] + spilled["repartitions"]
    cases = [
        report(
            "rothko-s against DuckDB's copy", s.seconds / copy.seconds, 8, f"{s.seconds:.1f} s, {copy.seconds:.1f} s"
        ),
        report("rothko-t against rothko-s", t.seconds / s.seconds, 3, f"{t.seconds:.1f} s, {s.seconds:.1f} s"),
        report("peak of rothko-s under 512 MB", s.peak, 768, f"{size:,} records", " MB"),
        report("peak of rothko-t under 512 MB", t.peak, 768, f"{size:,} records", " MB"),
        report("reads of the table by rothko-s", reads, 3, f"{spilled['passes']} of the source", "×"),
        report("writes of the table by rothko-s", spilled["repartitions"], 1, "besides the output", "×"),
    ]
    fits = folder / "fits.parquet"
    write_batches(agrawal_batches(rows // 10, seed=2), fits)
    memory, _ = _release(fits, "memory", "16GB")
    for engine in runs:
        disk, _ = _release(fits, engine, "512MB")
        detail = f"{disk.seconds:.1f} s, {memory.seconds:.1f} s"
        cases.append(
            report(f"{engine} against memory, {rows // 10:,} records", disk.seconds / memory.seconds, 4, detail)
        )
    return cases


def _release(path: Path, engine: str, memory: str, *options: str) -> tuple[Run, dict[str, Any]]:
    rothko = str(Path(sys.executable).with_name("rothko"))
    out = path.with_name(f"{path.stem}-{engine}")
    found = process(
        rothko, "anonymize", str(path), "--qi", ",".join(QUASI), "--keep", "class", "--k", "1000", "--engine", engine,
        "--memory", memory, "--out", str(out), "--overwrite", *options,
    )  # fmt: skip
    return found, json.loads((out / "certificate.json").read_text())


def process(*command: str) -> Run:
    """Run a command to its end; what it prints is dropped."""
    begun = time.perf_counter()
    nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nothing)
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{' '.join(command[:3])} ended with {os.waitstatus_to_exitcode(status)}")
    return Run(time.perf_counter() - begun, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)


def billion(folder: Path, engines: Sequence[str]) -> Iterator[str]:
    """What a billion records take, and a plain copy of them."""
    people = folder / "people.parquet"
    if not people.exists():
        write_batches(agrawal_batches(1_000_000_000, seed=1), people)
    copy = process(sys.executable, "-c", COPY, str(people), str(folder / "copy.parquet"))
    (folder / "copy.parquet").unlink()
    yield f"copy: {copy}, {people.stat().st_size:,} bytes"
    for engine in engines:
        run, certificate = _release(people, engine, "1GB", "--spill-dir", str(folder))
        yield f"{engine}: {run}, {run.seconds / copy.seconds:.2f} times, {certificate['classes']:,} classes"
        yield f"{engine}: {json.dumps(certificate['io'])}, {json.dumps(certificate['seconds'])}"


if __name__ == "__main__":
    for line in billion(Path(sys.argv[1]), sys.argv[2:] or ["rothko-s"]):
        print(line, flush=True)
