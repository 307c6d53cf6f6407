"""One run of an engine in a process of its own: what it took, as JSON. ``python -m experiments.disk_runs '{…}'``.

:func:`measure` starts such a process. Two kinds of run: the whole *flow*, from a file to a verified release, and the
*engine* alone, from a file to classes, with as many records and frequency groups in memory as an experiment says.
The time of an engine is taken after a small run that loads the compiled code; a flow begins cold, so that its peak of
memory is its own. One thread, so that what is neither user's nor system's time is waiting.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from experiments.data import ATTRIBUTES
from rothko.data.source.open import open_source
from rothko.data.survey.survey import survey
from rothko.engines.disk.run import growth_of, measured
from rothko.engines.disk.spill import Spill
from rothko.engines.disk.store import DiskStore
from rothko.engines.driver import Driver
from rothko.engines.frequency import sizes
from rothko.engines.options import RothkoS, RothkoT
from rothko.engines.plan import Budget
from rothko.engines.store import Job
from rothko.engines.tree import Tree
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal, agrawal_batches
from rothko.policy.policy import Policy
from rothko.workload import Classify

ROOM = 1_000_000_000
"""Bytes that the values of the columns may take: all of them, so that no column needs a grid."""
BUFFERS = 64_000_000
"""Bytes for records on their way from or to disk."""
WARM = 3_000
"""Records of the run that loads the compiled code."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is run."""

    path: str
    engine: str
    """``memory``, ``rothko-t`` or ``rothko-s``."""
    k: int = 1000
    guided: bool = False
    """InfoGain for the class, in place of Median."""
    tuples: int | None = None
    """Records that fit in memory (TM), and in a sample; without it the whole flow is run."""
    cache: int = 1
    """Frequency groups of the whole table that fit in memory (F_CACHE)."""
    memory: int | None = None
    """The limit of the whole flow, for engines on disk."""


def write_people(path: Path, rows: int) -> None:
    """Synthetic people with the label C2, as Parquet."""
    batches = agrawal_batches(rows, function=2, seed=1)
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def measure(run: Run) -> dict[str, Any]:
    """What a run takes, in a process of its own."""
    command = [sys.executable, "-m", "experiments.disk_runs", json.dumps(asdict(run))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent)
    if done.returncode:
        raise RuntimeError(f"{run} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Do the run that the command line describes."""
    run = Run(**json.loads(sys.argv[1]))
    with TemporaryDirectory(prefix="rothko-run-", dir=Path(run.path).parent) as folder:
        if run.tuples is not None:
            small = Path(folder) / "small.parquet"
            pq.write_table(agrawal(WARM, function=2, seed=2), small)
            _do(replace(run, path=str(small), k=10, tuples=WARM // 5), Path(folder))
        print(json.dumps(timed(run, Path(folder))))


def timed(run: Run, folder: Path) -> dict[str, Any]:
    """Do a run; its time, its peak of memory, and what it read and wrote."""
    before, calls, begun = os.times(), _calls(), time.perf_counter()
    found = _do(run, folder)
    wall, after, later = time.perf_counter() - begun, os.times(), _calls()
    user, system = after.user - before.user, after.system - before.system
    return found | {
        "seconds": round(wall, 3),
        "user": round(user, 3),
        "system": round(system, 3),
        "wait": round(max(0.0, wall - user - system), 3),
        "peak": _peak(),
        "calls": {name: later[name] - calls[name] for name in calls},
    }


def _do(run: Run, folder: Path) -> dict[str, Any]:
    workload = [Classify("class")] if run.guided else []
    policy = Policy.quick([*ATTRIBUTES, "class"], qi=ATTRIBUTES, keep="class", k=run.k, workload=workload)
    if run.tuples is not None:
        return _engine(run, policy, folder)
    prepared = prepare(run.path, policy, engine=run.engine, memory=run.memory, threads=1, spill_dir=folder)
    saved = prepared.save(folder / "release.parquet", overwrite=True)
    return {"classes": saved.certificate.verification.classes}


def _engine(run: Run, policy: Policy, folder: Path) -> dict[str, Any]:
    """From a file to classes, which are counted and dropped."""
    assert run.tuples is not None
    options = RothkoT() if run.engine == "rothko-t" else RothkoS()
    source = open_source(run.path)
    with Spill.open(folder) as spill:
        spill.keep_open()
        found = survey(source, policy, sample=run.tuples, seed=0, memory=ROOM)
        shares = Budget(memory=0, baseline=0, frequency=ROOM, buffers=BUFFERS, tuples=run.tuples)
        job = Job(found.outline, policy.privacy, policy.method, policy.workload)
        chooser, wanted = job.chooser()
        tree = Tree.over(found.outline.lines, chooser.first_phase(), found.outline.rows)
        [group] = sizes(wanted, *tree.regions([0])).tolist()
        shares = replace(shares, frequency=run.cache * group)
        driver = Driver(job, shares.tuples, shares.frequency)
        store = DiskStore(job, spill, shares.tuples, shares.buffers, found.stream)
        parts = driver.parts(growth_of(options, driver, [found.sample]), store, tree)
        classes = sum(part.classes for part in parts)
        io = measured(options, policy, shares, group, found.outline, source, spill, driver.counters)
    kept = ("passes", "repartitions", "reads", "writes", "predicted_reads", "predicted_writes", "sample", "pruned")
    return {"classes": classes, "group": group, "io": {name: getattr(io, name) for name in kept}}


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    return int(Path("/proc/self/status").read_text("ascii").split("VmHWM:")[1].split()[0]) * 1024


def _calls() -> dict[str, int]:
    """Bytes that this process has asked the system to read and write (``rchar``, ``wchar``), and those of the disk."""
    return {name: int(number) for name, number in re.findall(r"(\w+): (\d+)", Path("/proc/self/io").read_text("ascii"))}


if __name__ == "__main__":
    main()
