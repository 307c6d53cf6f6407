"""Runs on Spark that need a process of their own: a server of Spark Connect, and a cluster whose executors are killed.

A process has one session, and the tests' is another; so each is a program, run by tests/release/test_spark_runs.py.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import rothko as rk
from rothko.engines.spark import input_rows
from rothko.engines.spark.session import session
from rothko.flow import prepare
from rothko.policy.opened import where_it_lies

ROWS = 4_000


def people() -> pa.Table:
    random = np.random.default_rng(0)
    return pa.table(
        {
            "age": random.integers(18, 90, ROWS),
            "zip": random.integers(0, 50, ROWS),
            "wage": random.normal(3_000, 900, ROWS).round(2),
            "disease": random.choice(["flu", "cold", "gout"], ROWS),
        }
    )


def policy(algorithm: str = "rothko-t") -> rk.Policy:
    quick = rk.Policy.quick(people().column_names, qi=["age", "zip"], sensitive=["disease", "wage"], k=5, l=2)
    varied = rk.privacy.VarianceDiversity(v=1e4, of="wage")
    engine = {"spark": {"algorithm": algorithm, "records_at_once": 1_200}}
    return quick.but(privacy=(*quick.privacy, varied), engine=engine)


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))


def connect() -> None:
    """The release of the memory engine, through a server of Spark Connect on loopback."""
    from pyspark.sql import SparkSession

    made = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    assert "connect" in type(made).__module__
    frame = made.createDataFrame(people()).repartition(3)
    with rk.anonymize(frame, policy()) as release:
        assert "connect" in type(release.table).__module__
        assert rows_of(release.arrow) == rows_of(rk.anonymize(people(), policy().but(engine="memory")).arrow)
        saved = release.save("release/")
    assert saved.certificate.verification.true
    print("the same", flush=True)
    made.stop()


def executors() -> list[psutil.Process]:
    """The processes of executors that this one has started."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if "CoarseGrainedExecutorBackend" in " ".join(_command(one))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


class Killer:
    """Kills an executor soon after each stage has begun."""

    def __init__(self) -> None:
        self.killed: list[str] = []
        self._begun: dict[str, threading.Timer] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if done == 0 and stage not in self._begun:
            self._begun[stage] = threading.Timer(0.4, self._kill, [stage])
            self._begun[stage].start()

    def _kill(self, stage: str) -> None:
        until = time.monotonic() + 20
        while not (there := executors()) and time.monotonic() < until:  # one that was killed is not yet replaced
            time.sleep(0.05)
        if there:
            there[0].kill()
            self.killed.append(stage)

    def finish(self) -> list[str]:
        """The stages in which one was killed."""
        for timer in self._begun.values():
            timer.join()
        return self.killed


def killed() -> None:
    """Executors die in every stage, and the bytes are those of another cluster, on which none did.

    There Spark reads the file, and here tasks do.
    """
    from pyspark.sql import SparkSession

    pq.write_table(people(), "people.parquet", row_group_size=500)
    plain = session("local[2]")
    undisturbed = prepare(plain.read.parquet("people.parquet"), policy()).save("undisturbed/")
    plain.stop()
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.speculation": "true",
        "spark.speculation.minTaskRuntime": "0ms",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    input_rows.TASK_ROWS = 500  # read by eight tasks
    killer = Killer()
    release = prepare(where_it_lies("people.parquet", policy(), None), policy(), progress=killer)
    killer("save", 0, 1)
    disturbed = release.save("disturbed/")
    assert {"survey", "count", "save"} <= set(killer.finish()), killer.killed
    assert disturbed.certificate.sha256 == undisturbed.certificate.sha256
    print("the same", flush=True)
    made.stop()


def driver() -> None:
    """A driver that is killed as soon as an executor has written a file."""
    release = prepare(session("local[2]").createDataFrame(people()).repartition(3), policy())

    def kill() -> None:
        while not list(Path().rglob("part-*")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    release.save("release/")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
