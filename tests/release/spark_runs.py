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
from rothko import private
from rothko.engines.spark import input_rows
from rothko.engines.spark.java import use_java
from rothko.flow import prepare
from rothko.policy.opened import where_it_lies
from tests.spark import FEW_RECORDS, QUICK, quick_java

ROWS = 3_000


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
    """Kills an executor soon after each of some stages has begun."""

    def __init__(self, *stages: str) -> None:
        self._begun: dict[str, threading.Timer | None] = dict.fromkeys(stages)
        self.killed: list[str] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        if done == 0 and stage in self._begun and self._begun[stage] is None:
            timer = self._begun[stage] = threading.Timer(0.2, self._kill, [stage])
            timer.start()

    def _kill(self, stage: str) -> None:
        until = time.monotonic() + 20
        while not (there := executors()) and time.monotonic() < until:  # one that was killed is not yet replaced
            time.sleep(0.05)
        if there:
            there[0].kill()
            self.killed.append(stage)

    def finish(self) -> None:
        """An error where one was not killed in every stage."""
        for timer in filter(None, self._begun.values()):
            timer.join()
        assert set(self.killed) == self._begun.keys(), self.killed


def cluster() -> Any:
    """Two executors that are processes, and are started again when they die."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        **FEW_RECORDS,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.speculation": "true",
        "spark.speculation.minTaskRuntime": "0ms",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.executor.extraJavaOptions": QUICK,
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def killed() -> None:
    """Executors die in every stage, and what is released is what it would have been; then the driver dies, too."""
    use_java()
    pq.write_table(people(), "people.parquet", row_group_size=500)
    made = cluster()
    # Here Spark reads the file, and where executors are killed tasks do.
    undisturbed = prepare(made.read.parquet("people.parquet"), policy()).save("undisturbed/")
    input_rows.TASK_ROWS = 500  # read by eight tasks
    killer = Killer("survey", "count", "save")
    release = prepare(where_it_lies("people.parquet", policy(), None), policy(), progress=killer)
    killer("save", 0, 1)
    disturbed = release.save("disturbed/")
    killer.finish()
    assert disturbed.certificate.sha256 == undisturbed.certificate.sha256
    for method, stage in (("refine", "count"), ({"hilbert-fast": {"segment": 1_000}}, "save")):
        killer = Killer(stage)
        engine = {"spark": {"records_at_once": 2_000 if method == "refine" else 1_200}}
        asked = policy().but(method=method, privacy=[rk.privacy.KAnonymity(k=20)], engine=engine)
        release = prepare(where_it_lies("people.parquet", asked, None), asked, progress=killer)
        killer("save", 0, 1)
        saved = release.save(f"{asked.method.name}/")
        killer.finish()
        plain = rk.anonymize(people(), asked.but(engine="memory"))
        # Which of several equal records is in which class, a secret decides.
        found, wanted = (rows_of(table.select(["age", "zip"])) for table in (pq.read_table(saved.data), plain.arrow))
        assert found == wanted, method
    killer = Killer("count")
    baskets = [[f"{one}" for one in range(i % 7)] for i in range(900)]
    frame = made.createDataFrame(pa.table({"items": pa.array(baskets, pa.list_(pa.string()))})).repartition(3)
    asked_of_sets: dict[str, Any] = {"k": 5, "method": {"set-mondrian": {"criterion": "even"}}}
    made_sets = rk.sets.prepare(frame, **asked_of_sets, engine={"spark": {"records_at_once": 300}}, progress=killer)
    sets = made_sets.save("sets.parquet")
    killer.finish()
    plain_sets = rk.sets.anonymize(baskets, **asked_of_sets).to_lists()
    written = pq.read_table(sets.data)["items"].to_pylist()
    assert Counter(tuple(sorted(one)) for one in written) == Counter(tuple(sorted(one)) for one in plain_sets)
    print("the same", flush=True)
    die(prepare(where_it_lies("people.parquet", policy(), None), policy()))


def die(release: Any) -> None:
    """Save a release, and be killed as soon as an executor has written a file of it."""

    def kill() -> None:
        while not [path for path in Path().rglob("part-*") if any(p.startswith(private.PARTIAL) for p in path.parts)]:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    release.save("release/")


if __name__ == "__main__":
    quick_java()
    globals()[sys.argv[1]]()
