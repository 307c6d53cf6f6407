"""A folder of a hundred files against one file of the same records: read, gone through, and released."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from benchmarks.timing import Case, report, side_by_side
from rothko.data.source.open import open_source
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal
from rothko.policy.policy import Policy

QUASI = ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"]
FILES = 100


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    """Time each way to use a folder beside the same way to use a file."""
    n = 200_000 if quick else 2_000_000
    table = agrawal(n, seed=1)
    cases = []
    for kind in ("parquet", "csv"):
        one, several = folder / f"one.{kind}", folder / f"several-{kind}"
        several.mkdir()
        step = -(-n // FILES)
        for i in range(FILES):
            _write(table.slice(i * step, step), several / f"{i:03d}.{kind}")
        _write(table, one, step)
        cases += [_case("read as a whole", kind, _read, one, several)]
        cases += [_case("gone through in pieces", kind, _passed, one, several)]
        if kind == "parquet":
            single, many = side_by_side(partial(_plainly, one), partial(_plainly, several))
            print(f"{'PyArrow alone, file by file':<58} {many / single:7.2f}×", flush=True)
        cases += [_case("released by memory", kind, partial(_released, engine="memory"), one, several)]
    one, several = folder / "one.parquet", folder / "several-parquet"
    return [*cases, _case("released by rothko-t", "parquet", partial(_released, engine="rothko-t"), one, several)]


def _write(table: object, path: Path, rows: int | None = None) -> None:
    """Write a file; one of Parquet with dictionaries for so many rows each, as the files that it is compared with."""
    if path.suffix == ".csv":
        pl.from_arrow(table).write_csv(path)
    else:
        pq.write_table(table, path, row_group_size=rows)


def _plainly(path: Path) -> None:
    """What Arrow takes for this, which no reader by Arrow can take less than."""
    for one in [path] if path.is_file() else sorted(path.iterdir()):
        with pq.ParquetFile(one) as file:
            for _ in file.iter_batches(1 << 18):
                pass


def _read(path: Path) -> None:
    open_source(path).read()


def _passed(path: Path) -> None:
    for _ in open_source(path).batches(threads=2):
        pass


def _released(path: Path, engine: str) -> None:
    policy = Policy.quick([*QUASI, "class"], qi=QUASI, keep="class", k=50)
    out = path.with_name(f"release-{engine}.parquet")
    prepare(path, policy, engine=engine, memory="2GB").save(out, overwrite=True, recoding=False)


def _case(title: str, kind: str, work: Callable[[Path], None], one: Path, several: Path) -> Case:
    single, many = side_by_side(partial(work, one), partial(work, several))
    return report(f"{FILES} {kind} files {title}, against one", many / single, 1.05, f"{many:.2f} s, {single:.2f} s")
