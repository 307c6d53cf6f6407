"""Verification on a cluster: what was written is read again there, and every requirement computed from it.

Tasks read the files and count the rows of each by what they show; Spark SQL adds up what it is told of all files and
brings the rows of each class together; the verifier's own SQL (:mod:`rothko.release.verify`) then asks the requirements
of the classes of each partition. What a requirement must know of the whole table, such as how often each sensitive
value occurs, Spark counts before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.source.formats import is_text
from rothko.data.source.spark_errors import understood
from rothko.engines.spark.cluster import Batches, Cluster, Held, of_batches
from rothko.policy.policy import Policy
from rothko.privacy.requirement import Requirement
from rothko.release.meant import Meant
from rothko.release.parts import files_of, read_by_tasks
from rothko.release.people import told_by_records
from rothko.release.sql import connect
from rothko.release.truth import ToldHashes, other_columns
from rothko.release.value_sql import value_of
from rothko.release.verify import (
    MODULUS,
    Fingerprint,
    Known,
    Verification,
    parts_of,
    together,
    verify_counted,
    with_long_lines,
)

CSV = {
    "header": True,
    "enforceSchema": False,
    "multiLine": True,
    "quote": '"',
    "escape": '"',
    "encoding": "UTF-8",
    "ignoreLeadingWhiteSpace": False,
    "ignoreTrailingWhiteSpace": False,
    "mode": "FAILFAST",
}
"""As rothko writes text files; FAILFAST: a line that is not as the others is an error."""


def read_written(session: Any, folder: Path, ending: str, columns: Sequence[str]) -> Any:
    """The files of a release as a frame."""
    reader = session.read.option("pathGlobFilter", f"part-*{ending}").option("recursiveFileLookup", True)
    path = str(folder.absolute())
    if ending == ".parquet":
        return reader.option("mergeSchema", True).parquet(path)
    from pyspark.sql.types import StringType, StructField, StructType

    delimiter = "\t" if ending == ".tsv" else ","
    schema = StructType([StructField(name, StringType()) for name in columns])
    return reader.options(**CSV).option("sep", delimiter).schema(schema).csv(path)


def verify_written(cluster: Cluster, folder: Path, ending: str, meant: Meant, policy: Policy) -> Verification:
    """Verify what was written, and fail closed."""
    asked = told_by_records(policy)
    with understood():
        there = read_written(cluster.session, folder, ending, meant.columns)
        columns = tuple(there.columns)
        place = {name: f"c{i}" for i, name in enumerate(columns)}
        hashes = ToldHashes(meant.told, is_text(folder.with_suffix(ending)), meant.types)
        if not set(hashes.names) <= place.keys():
            raise other_columns()
        shown = [place[column] for names in meant.published.values() for column in names]
        keys = there.toDF(*place.values()).select(*shown, *(place[name] for name in sensitive_of(asked)))
        files = read_by_tasks(cluster.session, folder, ending)
        # As many tasks as files: what is left of them is little, and Spark would make 200 of it.
        parts = max(len(files_of(folder, ending)), 1)
        counted = Held(_counted(cluster, files, hashes, columns, keys).coalesce(parts))
    with closing(counted):
        checked = ask(cluster, counted.frame, asked, columns, meant.published, policy, parts)
    meant.check_extent(checked)
    return meant.accepted(checked)


def ask(
    cluster: Cluster,
    counted: Any,
    asked: Sequence[Requirement],
    columns: tuple[str, ...],
    published: Mapping[str, Sequence[str]],
    policy: Policy,
    parts: int | None = None,
    look: Callable[[Mapping[str, Known]], None] = lambda _: None,
) -> Verification:
    """What a table holds whose different rows are counted.

    Parameters
    ----------
    counted
        Rows of what is published and sensitive, each once, in columns named by their numbers, with how often it is
        there (``times``) and, where there is one, the sum of its hashes (``mark``).
    columns
        All columns of the table, by their numbers.
    published
        Quasi-identifier → the columns that publish it.
    parts
        In how many partitions classes are brought together; Spark says, where it is None.
    look
        Called with the values of sensitive columns.
    """
    place = {name: f"c{i}" for i, name in enumerate(columns)}
    values = {}
    for name in sensitive_of(asked):
        times = counted.groupBy(place[name]).agg({"times": "sum"}).sort(place[name])
        values[name] = known(name, cluster.collect(times), policy)
    look(values)
    # What is asked over some quasi-identifiers is asked of rows that show the same on these: brought together anew.
    everything = tuple(published)
    sets: dict[tuple[str, ...], list[Requirement]] = {everything: []}
    for requirement in asked:
        sets.setdefault(tuple(requirement.over or everything), []).append(requirement)
    found = []
    for over, some in sets.items():
        by = [place[column] for name in over for column in published[name]]
        brought = counted.repartition(*([] if parts is None else [parts]), *by)
        found.append(_asked_of(cluster, brought, some, columns, published, values))
    about = {finding.requirement: finding for one in found for finding in one.findings}
    findings = tuple(about[requirement] for requirement in parts_of(asked, None))
    return replace(found[0], findings=findings, columns=columns)


def sensitive_of(asked: Sequence[Requirement]) -> tuple[str, ...]:
    """The columns that requirements are about, each once."""
    return tuple(dict.fromkeys(r.column for r in asked if r.column is not None))


def _asked_of(
    cluster: Cluster, brought: Any, asked: Sequence[Requirement], columns: tuple[str, ...],
    published: Mapping[str, Sequence[str]], values: Mapping[str, Known],
) -> Verification:  # fmt: skip
    """What the classes of a table hold, whose rows are brought together."""
    about = partial(classes_of, asked, columns, published, values)
    found = cluster.gather(brought, about, lambda _, some: together(some))
    checked: Verification = found[0] if found else Verification(0, columns, 0, ())
    return checked


def _counted(cluster: Cluster, files: Any, hashes: ToldHashes, columns: tuple[str, ...], keys: Any) -> Any:
    """Every different row of what is published and sensitive, how often it is there, and the sum of hashes.

    A task counts the rows of a file first, of which most are there many times; Spark brings the counts together.

    Parameters
    ----------
    files
        Their names, a partition each.
    keys
        The columns that are published or sensitive, as a frame.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([*keys.schema.fields, StructField("times", LongType()), StructField("mark", LongType())])
    types = cluster.collect(keys.limit(0)).schema
    counted = files.mapInArrow(of_batches(counts_of, hashes, columns, types), schema).groupBy(*types.names)
    mark = functions.sum(functions.col("mark").cast("decimal(38, 0)"))
    return counted.agg(functions.sum("times").alias("times"), (mark % MODULUS).cast("bigint").alias("mark"))


def counts_of(hashes: ToldHashes, names: tuple[str, ...], keys: pa.Schema, batches: Batches) -> Batches:
    """What :func:`_counted` asks of some files."""
    for batch in batches:
        for file in batch["file"].to_pylist():
            with connect(1) as connection:
                yield from with_long_lines(partial(_of_file, hashes, names, keys, Path(file), connection))


def _of_file(
    hashes: ToldHashes,
    names: tuple[str, ...],
    keys: pa.Schema,
    file: Path,
    connection: duckdb.DuckDBPyConnection,
    longest: int,
) -> list[pa.RecordBatch]:
    if hashes.open(file, connection, longest=longest) != names:
        raise other_columns()
    shown, stayed = hashes.of_rows(connection, names, "written")
    listed = ", ".join(keys.names)
    found = connection.sql(
        f"SELECT {listed}, times, ((h % {MODULUS}) * (s % {MODULUS}) % {MODULUS})::BIGINT AS mark FROM "
        f"(SELECT {listed}, count(*) AS times, any_value({shown})::HUGEINT AS h, sum({stayed})::HUGEINT AS s "
        f"FROM written GROUP BY {listed})"
    ).to_arrow_table()
    schema = pa.schema([*keys, ("times", pa.int64()), ("mark", pa.int64())])
    return found.cast(schema).combine_chunks().to_batches()  # type: ignore[no-any-return]


def known(name: str, counted: pa.Table, policy: Policy) -> Known:
    """The values of a sensitive column over the whole table: as they are written, as what they count, how often.

    Parameters
    ----------
    counted
        Each of its values once, and how many rows have it.
    """
    with connect(1) as connection:
        connection.register("released", counted.rename_columns(["raw", "c"]))
        value = value_of(connection, name, "raw", policy.columns.get(name), policy.missing)
        found = connection.sql(f"SELECT raw, {value} AS value, c FROM released").to_arrow_table()
        connection.unregister("released")
    return Known(found["raw"].combine_chunks(), found["value"].combine_chunks(), found["c"].to_numpy())


def classes_of(
    requirements: Sequence[Requirement],
    columns: Sequence[str],
    published: Mapping[str, Sequence[str]],
    values: Mapping[str, Known],
    tables: Iterator[pa.Table],
) -> Iterator[tuple[int, Verification]]:
    """What the classes of a partition hold, each different row of which is there once, with how often it is there."""
    held = list(tables)
    if not held:
        return
    table = pa.concat_tables(held).combine_chunks()
    for name, about in values.items():
        column = f"c{columns.index(name)}"
        place = pc.index_in(table[column], value_set=about.raw)
        assert place.null_count == 0, "a value was not there before"
        table = table.set_column(table.column_names.index(column), column, about.texts.take(place.combine_chunks()))
    times, total = table["times"].to_numpy(), None
    if "mark" in table.column_names:
        total = Fingerprint(int(times.sum()), sum(table["mark"].to_pylist()) % MODULUS)
    rows = table.select([name for name in table.column_names if name not in ("times", "mark")])
    rows = rows.rename_columns([columns[int(name[1:])] for name in rows.column_names])
    if any(requirement.needs == "moments" for requirement in requirements):
        rows, times = rows.take(pa.array(np.repeat(np.arange(len(times)), times))), np.ones(int(times.sum()), np.int64)
    yield 0, replace(verify_counted(rows, times, requirements, published, values), fingerprint=total)
