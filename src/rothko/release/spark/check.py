"""What a table on a cluster satisfies: its rows are counted there by what they show, and asked as written files are.

What comes to the driver is what requirements know of a whole table, the values of sensitive columns and how often each
occurs, and what the classes hold together (:func:`rothko.release.spark.verify.ask`). Rows stay where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from rothko.data.line import as_text
from rothko.data.source.source import Source
from rothko.data.source.spark import quoted
from rothko.data.source.spark_errors import understood
from rothko.data.source.written import Written
from rothko.data.typed import with_one_missing
from rothko.engines.spark.cluster import Batches, Cluster, Held, Opened, of_batches
from rothko.engines.spark.input_rows import Rows, rows_of
from rothko.errors import InputError
from rothko.policy.policy import Policy
from rothko.release.rows import decoded
from rothko.release.spark.verify import ask, sensitive_of
from rothko.release.verify import Known, Verification


def check_on(
    cluster: Cluster,
    source: Source,
    policy: Policy,
    published: Mapping[str, Sequence[str]],
    written: Written,
    look: Callable[[Mapping[str, Known]], None],
) -> Verification:
    """Compute every requirement from a table that Spark has.

    Parameters
    ----------
    published
        Quasi-identifier → the columns that publish it.
    written
        How some of its columns are written, where that is otherwise than in a release.
    look
        Called with the values of sensitive columns.
    """
    asked = policy.privacy
    shown = [column for columns in published.values() for column in columns]
    sensitive = sensitive_of(asked)
    rows = rows_of(cluster, source, [*shown, *sensitive], written)
    place = {name: f"c{source.names.index(name)}" for name in rows.columns}
    tokens = dict.fromkeys(shown, policy.missing)
    counted = Held(count_rows(cluster, rows, source.frame, tokens, sensitive, place))
    with closing(counted):
        found = ask(cluster, counted.frame, asked, source.names, published, policy, look=look)
    if found.rows == 0:
        raise InputError(f"{source.label} has columns but no records.")
    return found


def count_rows(
    cluster: Cluster,
    rows: Rows,
    frame: Any,
    texts: Mapping[str, Sequence[str]],
    others: Sequence[str],
    place: Mapping[str, str],
    opened: Opened | None = None,
) -> Any:
    """Every different row of some columns, and how often it is there (``times``).

    Parameters
    ----------
    frame
        The table, which tells the types of its columns.
    texts
        Columns that are told apart by their text, and what stands for a missing value in each.
    others
        Columns that keep their types.
    place
        What each column is called in what comes back.
    opened
        What makes tables of rows, where that is not what ``rows`` has.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    with understood():
        kept = frame.select([quoted(name) for name in others])
        fields = [StructField(place[name], StringType()) for name in texts]
        fields += [StructField(place[field.name], field.dataType) for field in kept.schema.fields]
        schema = StructType([*fields, StructField("times", LongType())])
        types = cluster.collect(kept.limit(0)).schema
        _plain(rows.schema().empty_table(), texts, types, place)  # refuses what cannot be told apart
        counted = rows.frame.mapInArrow(of_batches(counts_of, texts, types, place, opened or rows.opened), schema)
        return counted.groupBy(*place.values()).agg(functions.sum("times").alias("times"))


def counts_of(
    texts: Mapping[str, Sequence[str]], types: pa.Schema, place: Mapping[str, str], opened: Opened, batches: Batches
) -> Batches:
    """What :func:`count_rows` asks of a partition, some rows at a time."""
    for table in opened(batches):
        plain = _plain(table, texts, types, place)
        counted = plain.group_by(plain.column_names).aggregate([([], "count_all")])
        columns = [*(counted[name] for name in plain.column_names), counted["count_all"]]
        yield from pa.table(columns, names=[*plain.column_names, "times"]).combine_chunks().to_batches()


def _plain(table: pa.Table, texts: Mapping[str, Sequence[str]], types: pa.Schema, place: Mapping[str, str]) -> pa.Table:
    """Rows by which values are told apart, with one missing value."""
    shown = {name: with_one_missing(name, table[name], tokens) for name, tokens in texts.items()}
    kept = {field.name: with_one_missing(field.name, table[field.name], ()) for field in types}
    columns = decoded(pa.table(shown | kept))
    return pa.table(
        {place[name]: columns[name].cast(types.field(name).type) if name in kept else as_text(columns[name])
         for name in columns.column_names}
    )  # fmt: skip
