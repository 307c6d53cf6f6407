"""A cluster on this machine: releases by Spark against one read, shuffle and write of the same data, and against disk.

20 million records in a Parquet file, k = 1000, Median, `local[2]`; everything in one session, in turns, best of three
after one to warm up. The quick form has a tenth of the records: starting jobs takes most of its time.

`python -m benchmarks.spark FOLDER` measures time against records and against partitions, once each after a warm-up, and
draws both figures of docs/spark.md.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.foundation import QUASI
from benchmarks.timing import Case, report, side_by_side
from rothko import Policy
from rothko.engines.spark.session import session
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal_batches
from rothko.plots.model import Axis, Plot, Points
from rothko.plots.svg import drawn
from rothko.policy.opened import where_it_lies
from rothko.release.write import write_batches

ALGORITHMS = ("rothko-t", "rothko-s")
ROWS = (5_000_000, 10_000_000, 20_000_000)
PARTITIONS = (2, 4, 8, 16, 32)


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    people = folder / "people.parquet"
    write_batches(agrawal_batches(2_000_000 if quick else 20_000_000, seed=1), people)
    spark = session("local[2]")
    on_spark = [partial(released, lambda: people, one, folder) for one in ALGORITHMS]
    handed = partial(released, lambda: spark.read.parquet(str(people)), "rothko-s", folder)
    copy = partial(copied, lambda: spark.read.parquet(str(people)), folder)
    disk = partial(released, lambda: people, None, folder)
    plain, t, s, frame, on_disk = side_by_side(copy, *on_spark, handed, disk, runs=3)
    return [
        report("rothko-t on Spark against read, shuffle and write", t / plain, 4, f"{t:.1f} s, {plain:.1f} s"),
        report("rothko-s on Spark against read, shuffle and write", s / plain, 4, f"{s:.1f} s, {plain:.1f} s"),
        report("rothko-s on a DataFrame against the same", frame / plain, 4, f"{frame:.1f} s, {plain:.1f} s"),
        report("rothko-t on Spark against rothko-s on disk", t / on_disk, 2.5, f"{t:.1f} s, {on_disk:.1f} s"),
        report("rothko-s on Spark against rothko-s on disk", s / on_disk, 2.5, f"{s:.1f} s, {on_disk:.1f} s"),
    ]


def copied(read: Callable[[], Any], folder: Path) -> None:
    """Read, shuffle and write by Spark."""
    read().repartition("salary").write.mode("overwrite").parquet(str(folder / "copy"))


def released(read: Callable[[], Any], algorithm: str | None, folder: Path) -> None:
    """A release on Spark, or by rothko-s on disk."""
    engine = "rothko-s" if algorithm is None else {"spark": {"algorithm": algorithm}}
    policy = Policy.quick([*QUASI, "class"], qi=QUASI, keep="class", k=1000).but(engine=engine)
    data = where_it_lies(read(), policy, None)
    prepare(data, policy, memory="1GB").save(folder / "release", overwrite=True, recoding=False)
    shutil.rmtree(folder / "release")


def scaling(folder: Path) -> Iterator[Plot]:
    """Time against records, and against partitions."""
    spark = session("local[2]")
    paths = {rows: folder / f"people-{rows}.parquet" for rows in ROWS}
    for rows, path in paths.items():
        write_batches(agrawal_batches(rows, seed=1), path)
    lines: dict[str, list[float]] = {name: [] for name in ("read, shuffle and write", *ALGORITHMS)}
    for rows in (ROWS[0], *ROWS):  # the first one warms up
        path = paths[rows]
        read = partial(spark.read.parquet, str(path))
        works = [partial(copied, read, folder)]
        works += [partial(released, partial(Path, path), one, folder) for one in ALGORITHMS]
        for seconds, work in zip(lines.values(), works, strict=True):
            seconds.append(timed(work))
            print(f"{rows:,} records: {seconds[-1]:.1f} s", flush=True)
    yield figure(
        "spark-records", "Time against records", Axis("million records", 0, 22),
        [rows / 1e6 for rows in ROWS], {name: seconds[1:] for name, seconds in lines.items()},
    )  # fmt: skip
    parts: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
    for count in PARTITIONS:
        for name, seconds in parts.items():
            read = partial(_spread, spark, paths[ROWS[0]], count)
            seconds.append(timed(partial(released, read, name, folder)))
            print(f"{count} partitions, {name}: {seconds[-1]:.1f} s", flush=True)
    yield figure(
        "spark-partitions", "Time against partitions, 5 million records",
        Axis("partitions of the input", 1.5, 40, "log"), list(PARTITIONS), parts,
    )  # fmt: skip


def _spread(spark: Any, path: Path, partitions: int) -> Any:
    return spark.read.parquet(str(path)).repartition(partitions)


def timed(work: Callable[[], None]) -> float:
    """Seconds."""
    begun = perf_counter()
    work()
    return perf_counter() - begun


def figure(name: str, title: str, x: Axis, at: list[float] | list[int], lines: dict[str, list[float]]) -> Plot:
    """Lines of seconds."""
    most = max(max(seconds) for seconds in lines.values())
    marks = tuple(
        Points(label, tuple(map(float, at)), tuple(seconds), tuple(f"{label}: {s:.1f} s" for s in seconds), tone, tone)
        for tone, (label, seconds) in enumerate(lines.items())
    )
    about = "; ".join(f"{label} {', '.join(f'{s:.1f}' for s in seconds)} s" for label, seconds in lines.items())
    return Plot(name, title, about, x, Axis("seconds", 0, 1.1 * most), marks)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as scratch:
        for plot in scaling(Path(scratch)):
            target = Path(__file__).parent.parent / "docs" / "figures" / f"{plot.name}.svg"
            target.write_text(drawn(plot, alone=True) + "\n", encoding="utf-8")
