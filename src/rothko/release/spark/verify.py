"""Verification on a cluster: what was written is read again by Spark, and every requirement computed from it.

Spark reads the files, groups the rows by what they show, and brings the rows of each class together; the verifier's own
SQL (:mod:`rothko.release.verify`) then asks the requirements of the classes of each partition. What a requirement must
know of the whole table, such as how often each sensitive value occurs, Spark counts before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.source.formats import is_text
from rothko.engines.spark.cluster import Cluster, of_batches, pieces, understood
from rothko.errors import OutputError
from rothko.policy.policy import Policy
from rothko.privacy.requirement import Requirement
from rothko.release.meant import Meant
from rothko.release.people import told_by_records
from rothko.release.sql import connect
from rothko.release.truth import ToldHashes
from rothko.release.value_sql import value_of
from rothko.release.verify import MODULUS, Fingerprint, Known, Verification, together, verify_counted

READ_BY_SPARK = (".parquet", ".csv", ".tsv")
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


def check_ending(ending: str) -> None:
    """Refuse a format that Spark cannot read again."""
    if ending not in READ_BY_SPARK:
        raise OutputError(
            f"engine spark writes {', '.join(READ_BY_SPARK)}, which Spark can read again to verify them, not {ending}."
        )


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
    sensitive = tuple(dict.fromkeys(r.column for r in asked if r.column is not None))
    with understood():
        frame = read_written(cluster.session, folder, ending, meant.columns)
        columns = tuple(frame.columns)
        plain = frame.toDF(*(f"c{i}" for i in range(len(columns))))
        hashes = ToldHashes(meant.told, is_text(folder.with_suffix(ending)), meant.types)
        shown = [f"c{columns.index(column)}" for names in meant.published.values() for column in names]
        keys = [*shown, *(f"c{columns.index(name)}" for name in sensitive)]
        counted = _counted(plain, hashes, columns, keys)
    values = {}
    for name in sensitive:
        column = f"c{columns.index(name)}"
        values[name] = known(name, cluster.collect(plain.groupBy(column).count().sort(column)), policy)
    about = partial(classes_of, asked, columns, meant.published, values)
    found = cluster.gather(counted.repartition(*shown), about, lambda _, some: together(some))
    checked: Verification = found.get(0) or Verification(0, columns, 0, ())
    meant.check_extent(replace(checked, columns=columns))
    return meant.accepted(replace(checked, columns=columns))


def _counted(plain: Any, hashes: ToldHashes, columns: Sequence[str], keys: Sequence[str]) -> Any:
    """Every different row of what is published and sensitive, how often it is there, and the sum of hashes.

    A partition counts its own rows first, of which most are there many times; Spark brings the counts together.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StructField, StructType

    kinds = {one.name: one for one in plain.schema.fields}
    sums = [StructField("times", LongType()), StructField("mark", LongType())]
    schema = StructType([*(kinds[key] for key in keys), *sums])
    counted = plain.mapInArrow(of_batches(counts_of, hashes, columns, keys), schema).groupBy(*keys)
    mark = functions.sum(functions.col("mark").cast("decimal(38, 0)"))
    return counted.agg(functions.sum("times").alias("times"), (mark % MODULUS).cast("bigint").alias("mark"))


def counts_of(
    hashes: ToldHashes, names: Sequence[str], keys: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What :func:`_counted` asks of a partition."""
    with connect(1) as connection:
        for table in pieces(batches):
            columns = hashes.open(table.rename_columns(list(names)), connection, texts=hashes.text)
            shown, stayed = hashes.of_rows(connection, columns, "written")
            listed = ", ".join(keys)
            found = connection.sql(
                f"SELECT {listed}, times, ((h % {MODULUS}) * (s % {MODULUS}) % {MODULUS})::BIGINT AS mark FROM "
                f"(SELECT {listed}, count(*) AS times, any_value({shown})::HUGEINT AS h, sum({stayed})::HUGEINT AS s "
                f"FROM written GROUP BY {listed})"
            ).to_arrow_table()
            connection.unregister("written")
            kinds = [table.schema.field(key) for key in keys]
            schema = pa.schema([*kinds, ("times", pa.int64()), ("mark", pa.int64())])
            yield from found.cast(schema).combine_chunks().to_batches()


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
    times, marks = table["times"].to_numpy(), table["mark"].to_numpy()
    rows = table.drop_columns(["times", "mark"])
    rows = rows.rename_columns([columns[int(name[1:])] for name in rows.column_names])
    total = Fingerprint(int(times.sum()), sum(marks.tolist()) % MODULUS)
    if any(requirement.needs == "moments" for requirement in requirements):
        rows, times = rows.take(pa.array(np.repeat(np.arange(len(times)), times))), np.ones(int(times.sum()), np.int64)
    yield 0, replace(verify_counted(rows, times, requirements, published, values), fingerprint=total)
