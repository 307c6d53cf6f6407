"""The table that a policy is about, where it lies, and opened: in the form that its ``input`` says, its values written
as in a release.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rothko.data.schema import Column, WrittenType
from rothko.data.source.csv import CsvOptions
from rothko.data.source.database.url import is_database
from rothko.data.source.listing import files_named
from rothko.data.source.open import open_either, open_source
from rothko.data.source.source import Source
from rothko.data.source.spark import is_frame
from rothko.data.source.written import Written
from rothko.engines import ENGINES
from rothko.engines.options import Auto as AnyEngine
from rothko.engines.options import OnDisk, Spark
from rothko.engines.plan import check_engine
from rothko.errors import InputError
from rothko.policy.policy import Policy


def opened(data: Any, policy: Policy, *, csv: CsvOptions | None = None, or_release: bool = False) -> Source:
    """Open the table of a policy; what is open already, was opened so and comes back.

    Parameters
    ----------
    csv
        How a text file is written; wins over the policy's ``input``.
    or_release
        Whether the table may be a release, which is written as rothko writes, whatever the policy's ``input`` says.
    """
    if isinstance(data, Source):
        return data
    read = policy.input.options(csv)
    if or_release:
        source = open_either(data, [csv or CsvOptions(), read], list(policy.columns))
    else:
        source = open_source(data, csv=read, asked=policy.columns)
    return written_by(policy, read, or_release=or_release).opened(source)


def written_by(policy: Policy, read: CsvOptions | None = None, *, or_release: bool = False) -> Written:
    """How the columns of a policy are written: as its ``input`` says, where nothing else does."""
    read = policy.input.options() if read is None else read
    columns: Mapping[str, Column] = policy.columns
    return Written(
        dates={
            name: (str(column.type), column.type.form)
            for name, column in columns.items()
            if isinstance(column.type, WrittenType)
        },
        numbers=frozenset(name for name, column in columns.items() if column.type == "number"),
        decimal=read.decimal,
        thousands=read.thousands,
        absent=read.missing or (),
        absent_in={name: column.missing for name, column in policy.columns.items() if column.missing},
        missing=policy.missing,
        or_released=or_release,
    )


def where_it_lies(
    data: Any, policy: Policy | None, engine: str | None, *, spark_master: str | None = None,
    csv: CsvOptions | None = None,
) -> Any:  # fmt: skip
    """The table as it was given, or opened by Spark where that is asked to read it."""
    asked = engine or ("auto" if policy is None else policy.engine.name)
    check_engine(asked)
    if asked != Spark.name:
        return data
    if is_database(data):
        raise InputError(
            "engine: spark does not read a database by its address; read the table with Spark, and give the DataFrame."
        )
    from rothko.engines.spark.read import not_for_spark, open_by_spark

    if isinstance(files_named(data), tuple):
        raise InputError("engine: spark reads a path at a time; put the files into one folder, and name that.")
    if isinstance(data, str | Path):
        from rothko.engines.spark.session import session

        return open_by_spark(session(spark_master), data, csv if policy is None else policy.input.options(csv))
    if not is_frame(data) and not (isinstance(data, Source) and data.frame is not None):
        raise not_for_spark(data)
    return data


def not_in_memory(
    data: Any, policy: Policy | None, engine: str | None, *, memory: int | None, spill_dir: str | Path | None
) -> Any:
    """A table as it was given; the result of a query on disk, where an engine there or a limit is asked for."""
    asked = ENGINES.get(engine or ("auto" if policy is None else policy.engine.name), AnyEngine)
    limited = issubclass(asked, OnDisk) or (asked is AnyEngine and memory is not None)
    if not limited or isinstance(data, Source) or files_named(data) is not None:
        return data
    from rothko.data.source.frames import is_query

    if not (is_query(data, "to_arrow_reader") or is_query(data, "collect_batches")):
        return data
    from rothko.engines.disk.query_result import put_on_disk

    source = put_on_disk(data, None if spill_dir is None else Path(spill_dir))
    return source if policy is None else written_by(policy).opened(source)
