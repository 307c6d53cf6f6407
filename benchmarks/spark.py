"""A cluster on this machine: releases by Spark against one read, shuffle and write of the same data, and against disk.

20 million records in a Parquet file, k = 1000, Median, `local[2]`; everything in one session, in turns, best of three
after one to warm up. The quick form has a tenth of the records: starting jobs takes most of its time.

`python -m benchmarks.spark FOLDER records` measures time against records, `… partitions` against partitions, the best
of three in turns with one read, shuffle and write, and each draws its figure of docs/spark.md.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import StorageLevel

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
SPREAD = 2_000_000
"""Records of the figure of partitions."""
RUNS = 3
NAMES = ("read, shuffle and write", *ALGORITHMS)
FIGURES = Path(__file__).parent.parent / "docs" / "figures"


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


def against_records(folder: Path, sizes: Sequence[int]) -> Plot:
    """Time against records, of files."""
    spark = session("local[2]")
    lines: dict[str, list[float]] = {name: [] for name in NAMES}
    for rows in sizes:
        path = folder / f"people-{rows}.parquet"
        write_batches(agrawal_batches(rows, seed=1), path)
        works = [partial(copied, partial(spark.read.parquet, str(path)), folder)]
        works += [partial(released, partial(Path, path), one, folder) for one in ALGORITHMS]
        told(f"{rows:,} records", lines, side_by_side(*works, runs=RUNS))
        path.unlink()
    return figure(
        "spark-records", "Time against records", Axis("million records", 0, 1.1 * max(sizes) / 1e6),
        [rows / 1e6 for rows in sizes], lines,
    )  # fmt: skip


def against_partitions(folder: Path, rows: int) -> Plot:
    """Time against the partitions of a DataFrame, which Spark keeps so that it need not be divided anew."""
    spark = session("local[2]")
    path = folder / "people.parquet"
    write_batches(agrawal_batches(rows, seed=1), path)
    lines: dict[str, list[float]] = {name: [] for name in NAMES}
    for count in PARTITIONS:
        frame = spark.read.parquet(str(path)).repartition(count).persist(StorageLevel.DISK_ONLY)
        frame.count()
        works = [partial(copied, lambda frame=frame: frame, folder)]
        works += [partial(released, lambda frame=frame: frame, one, folder) for one in ALGORITHMS]
        told(f"{count} partitions", lines, side_by_side(*works, runs=RUNS))
        frame.unpersist()
    return figure(
        "spark-partitions", f"Time against partitions, {rows / 1e6:g} million records",
        Axis("partitions of the input", 1.5, 40, "log"), list(PARTITIONS), lines,
    )  # fmt: skip


def told(case: str, lines: dict[str, list[float]], found: Sequence[float]) -> None:
    """Take note of the seconds of a case, and say them beside those of the copy."""
    for (name, seconds), one in zip(lines.items(), found, strict=True):
        seconds.append(one)
        print(f"{case}, {name}: {one:.1f} s, {one / found[0]:.2f} times the copy", flush=True)


def figure(name: str, title: str, x: Axis, at: list[float] | list[int], lines: dict[str, list[float]]) -> Plot:
    """Lines of seconds."""
    most = max(max(seconds) for seconds in lines.values())
    marks = tuple(
        Points(label, tuple(map(float, at)), tuple(seconds), tuple(f"{label}: {s:.1f} s" for s in seconds), tone, tone)
        for tone, (label, seconds) in enumerate(lines.items())
    )
    about = "; ".join(f"{label} {', '.join(f'{s:.1f}' for s in seconds)} s" for label, seconds in lines.items())
    return Plot(name, title, about, x, Axis("seconds", 0, 1.1 * most), marks)


def main() -> None:
    """Measure and draw what is asked for."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    asked.add_argument("folder", type=Path, help="where the tables are made")
    asked.add_argument("figure", choices=("records", "partitions"))
    asked.add_argument("--rows", type=int, nargs="+", help="how many records; of partitions, one number")
    asked.add_argument("--out", type=Path, default=FIGURES, help="where the figure goes")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        if given.figure == "records":
            plot = against_records(Path(scratch), given.rows or ROWS)
        else:
            plot = against_partitions(Path(scratch), (given.rows or [SPREAD])[0])
    (given.out / f"{plot.name}.svg").write_text(drawn(plot, alone=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
