"""A cluster on this machine: releases by Spark against one read, shuffle and write of the same data, and against disk.

20 million records in a Parquet file, k = 1000, Median, `local[*]`; everything in one session, in turns, best of three
after one to warm up. The quick form has a tenth of the records: starting jobs takes most of its time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.foundation import QUASI
from benchmarks.timing import Case, report, side_by_side
from rothko import Policy
from rothko.engines.spark.session import session
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal_batches
from rothko.release.write import write_batches


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    people = folder / "people.parquet"
    write_batches(agrawal_batches(2_000_000 if quick else 20_000_000, seed=1), people)
    spark = session()

    def copy() -> None:
        frame = spark.read.parquet(str(people))
        frame.repartition("salary").write.mode("overwrite").parquet(str(folder / "copy"))

    def release(engine: object) -> None:
        policy = Policy.quick([*QUASI, "class"], qi=QUASI, keep="class", k=1000).but(engine=engine)
        data = spark.read.parquet(str(people)) if policy.engine.name == "spark" else people
        prepare(data, policy, memory="1GB").save(folder / "release", overwrite=True, recoding=False)
        shutil.rmtree(folder / "release")

    on_spark: list[Callable[[], None]] = [
        partial(release, {"spark": {"algorithm": one}}) for one in ("rothko-t", "rothko-s")
    ]
    plain, t, s, disk = side_by_side(copy, *on_spark, partial(release, "rothko-s"), runs=3)
    return [
        report("rothko-t on Spark against read, shuffle and write", t / plain, 4, f"{t:.1f} s, {plain:.1f} s"),
        report("rothko-s on Spark against read, shuffle and write", s / plain, 4, f"{s:.1f} s, {plain:.1f} s"),
        report("rothko-t on Spark against rothko-s on disk", t / disk, 2.5, f"{t:.1f} s, {disk:.1f} s"),
        report("rothko-s on Spark against rothko-s on disk", s / disk, 2.5, f"{s:.1f} s, {disk:.1f} s"),
    ]
