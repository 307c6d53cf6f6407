"""What is published is true: every written row against the record that it stands for, by SQL.

Two promises, both kept by code that shares nothing with the writer:

- *The rows are those of the records.* Each record shows what its class publishes and keeps what it came with. The sum
  of a hash over all such rows, computed from the original, must be that over the rows of the written file. Sums do not
  depend on the order, and add up over parts of a table that is never whole in memory. So every kept and sensitive
  column has the values that it had, joined to each other and to the class as they were.
- *The classes cover them* (:mod:`rothko.release.coverage`).

Two hashes of 61 bits hide a change by chance once in 10^18 times. Who can make the file differ on purpose and still hit
the sum has no need to go through the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.line import Line
from rothko.data.plain import as_plain, plain_type
from rothko.data.source.formats import in_cells
from rothko.errors import VerificationError
from rothko.release.coverage import Values, check_coverage, check_silence
from rothko.release.formats.table import file_format
from rothko.release.formulas import unescaped_sql
from rothko.release.kinds import cell_texts
from rothko.release.publish import Published
from rothko.release.sql import Batches, connect, name_of
from rothko.release.verify import (
    USUAL,
    Fingerprint,
    fingerprint,
    open_table,
    with_long_lines,
)

Result = TypeVar("Result")

SQL_TYPES: dict[pa.DataType, str] = {
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float16(): "FLOAT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.date64(): "DATE",
    pa.timestamp("s"): "TIMESTAMP",
    pa.timestamp("ms"): "TIMESTAMP",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS",
    pa.time32("s"): "TIME",
    pa.time32("ms"): "TIME",
    pa.time64("us"): "TIME",
}
"""Types whose values are the same value in another file format; others must come back as they are."""


@dataclass(frozen=True, slots=True)
class Told:
    """What records should be shown as: what they came with, and what their classes publish."""

    names: tuple[str, ...]
    """The columns of the release that are kept, in their order."""
    kept: pa.Table
    """Those columns as they were read, record by record."""
    classes: NDArray[np.int32]
    """The class of each record."""
    shown: tuple[Published, ...]
    """The published columns, in their order."""

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        published: Mapping[str, Sequence[Published]],
        kept: pa.Table,
        classes: NDArray[np.int32],
    ) -> Told:
        """What records leave as, given the columns of the source in their order."""
        names = tuple(name for name in columns if name in kept.column_names)
        shown = tuple(column for name in columns for column in published.get(name, ()))
        return cls(names, kept, classes, shown)

    def of_nobody(self) -> Told:
        """The same columns, without records."""
        shown = tuple(column.of_nobody() for column in self.shown)
        return Told(self.names, self.kept.schema.empty_table(), np.empty(0, dtype=np.int32), shown)

    def types(self, written: Mapping[str, pa.DataType] | None = None) -> dict[str, pa.DataType]:
        """Column → the type of its values; ``written`` has those of columns that were text and are none in the file."""
        kept = {name: _plain_type(self.kept[name].type) for name in self.names}
        return {column.name: column.values.type for column in self.shown} | kept | dict(written or {})


class Truth:
    """What the rows of a whole table in memory must be.

    Whether classes cover their records does not depend on what is written: it is found out meanwhile, from the moment
    at which this is made.

    Parameters
    ----------
    values
        Quasi-identifier → its values, record by record.
    by_column
        Whether every quasi-identifier is recoded by itself.
    silent
        The class of suppressed records, which shows nothing; the last one, where there is one.
    """

    def __init__(
        self,
        told: Told,
        values: Mapping[str, Values],
        lines: Sequence[Line],
        published: Mapping[str, Sequence[Published]],
        *,
        by_column: bool = False,
        silent: int | None = None,
        threads: int = 1,
    ) -> None:
        self._silent = silent
        self.told, self.values, self.lines, self.published = told, values, lines, published
        self.by_column, self._threads = by_column, threads
        self._covered = begun(self._check_coverage)

    def _check_coverage(self) -> None:
        values, classes = self.values, self.told.classes
        if self._silent is not None:
            check_silence(self.published, self._silent)
            speak = np.flatnonzero(classes != self._silent)
            classes, there = classes[speak], pa.array(speak)
            values = {name: one.take(there) for name, one in values.items()}
        with connect(self._threads) as connection:
            check_coverage(values, classes, self.lines, self.published, by_column=self.by_column, connection=connection)

    def of_rows(self, *, text: bool, types: Mapping[str, pa.DataType] | None = None) -> Fingerprint:
        """The fingerprint that the rows must have, of classes that cover their records; an error where they do not."""
        with connect(self._threads) as connection:
            wanted = ToldHashes(self.told, text, types).expected(connection)
        self._covered.result()
        return wanted


def begun(work: Callable[..., Result], **arguments: Any) -> Future[Result]:
    """Work that goes on in a thread of its own."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work, **arguments)
    pool.shutdown(wait=False)
    return future


@dataclass(frozen=True, slots=True)
class ToldHashes:
    """Hashes of rows: of those that records should be shown as, and of those of a written table."""

    told: Told
    """What the records should be shown as; of a table, whose columns are looked for."""
    text: bool
    """Whether the rows are in a file whose columns have no types: nothing and an empty text are the same there."""
    types: Mapping[str, pa.DataType] | None = None
    """Columns that were read as text, and get a type in the file."""

    @property
    def names(self) -> Collection[str]:
        """The columns that are looked at."""
        return self.told.types(self.types).keys()

    @property
    def odd(self) -> set[str]:
        """The columns that SQL does not know the types of, where the table has types."""
        return {name for name, kind in self.told.types(self.types).items() if _by_text(kind, self.text)}

    def of_rows(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str], table: str = "released"
    ) -> tuple[str, str]:
        """SQL of the hash of what a row's class publishes, and of the hash of what the row keeps."""
        wanted = self.told.types(self.types)
        place = {name: i for i, name in enumerate(columns)}
        if not wanted.keys() <= place.keys():
            raise other_columns()
        kinds = connection.sql(f"SELECT {', '.join(f'c{place[name]}' for name in wanted)} FROM {table} LIMIT 0").types
        words = dict(zip(wanted, (str(kind) == "VARCHAR" for kind in kinds), strict=True))

        def hashed(names: Sequence[str]) -> str:
            return _hash([_value(f"c{place[n]}", words[n], wanted[n], self.text) for n in names])

        return hashed([column.name for column in self.told.shown]), hashed(self.told.names)

    def expected(self, connection: duckdb.DuckDBPyConnection) -> Fingerprint:
        """The fingerprint of the rows that the records should be shown as."""
        told, text = self.told, self.text
        wanted = told.types(self.types)
        labels = {f"c{i}": _readable(pa.chunked_array([column.by()]), text=text) for i, column in enumerate(told.shown)}
        connection.register("labels", pa.table({"class": np.arange(_classes(told), dtype=np.int32), **labels}))
        kept = {f"c{i}": _readable(told.kept[name], text=text) for i, name in enumerate(told.names)}
        connection.register("records", pa.table({"class": told.classes, **kept}))
        shown = _hash([_value(f"c{i}", False, column.values.type, text) for i, column in enumerate(told.shown)])
        words = [_sql_type(_plain_type(told.kept[name].type)) == "VARCHAR" for name in told.names]
        stayed = _hash([_value(f"c{i}", words[i], wanted[name], text) for i, name in enumerate(told.names)])
        table = connection.sql(f"SELECT class, {shown} AS h FROM labels").to_arrow_table()
        published = np.empty(len(table), dtype=np.uint64)
        published[table["class"].to_numpy()] = table["h"].to_numpy()  # rows come in any order
        records = connection.sql(f"SELECT class, {stayed} AS s FROM records").to_arrow_reader()
        connection.register("told", _added_up(published, records))
        result = fingerprint(connection, "(SELECT size, h, (upper::HUGEINT << 32) + lower AS s FROM told)")
        for name in ("labels", "records", "told"):
            connection.unregister(name)
        return result

    def open(
        self, data: Path | pa.Table, connection: duckdb.DuckDBPyConnection, *, texts: bool = False, longest: int = USUAL
    ) -> tuple[str, ...]:
        """Let a file or a table be ``written``; returns the real names of its columns.

        Parameters
        ----------
        texts
            Whether a table has the texts of a file without types.
        """
        odd = set() if texts or in_cells(data) else self.odd
        if odd:
            return _open_odd(connection, data, self.told.types(self.types), odd)
        return open_table(connection, data, self.names, "written", longest=longest)

    def found(self, data: Path | pa.Table, connection: duckdb.DuckDBPyConnection) -> Fingerprint:
        """The fingerprint of the rows of a written file, or of a table."""

        def work(longest: int) -> Fingerprint:
            columns = self.open(data, connection, longest=longest)
            shown, stayed = self.of_rows(connection, columns, "written")
            result = fingerprint(connection, f"(SELECT 1 AS size, {shown} AS h, {stayed} AS s FROM written)")
            connection.execute("DROP VIEW written")
            return result

        return with_long_lines(work)


def _added_up(published: NDArray[np.uint64], records: Iterable[pa.RecordBatch]) -> pa.Table:
    """The records of each class, the hash of what it publishes, and the sum of those of what its records keep.

    Upper and lower halves are added up by themselves: whole hashes would pass 64 bits. Classes are numbers from 0 on,
    and need no table of those seen: SQL takes three times as long.
    """
    size, upper, lower = np.zeros((3, len(published)), dtype=np.uint64)
    for batch in records:
        classes, kept = batch["class"].to_numpy(), batch["s"].to_numpy()
        np.add.at(size, classes, np.uint64(1))
        np.add.at(upper, classes, kept >> np.uint64(32))
        np.add.at(lower, classes, kept & np.uint64((1 << 32) - 1))
    return pa.table({"size": size, "h": published, "upper": upper, "lower": lower})


def _open_odd(
    connection: duckdb.DuckDBPyConnection, data: Path | pa.Table, wanted: Mapping[str, pa.DataType], odd: set[str]
) -> tuple[str, ...]:
    """Let a file or a table be ``written``, read by Arrow, with some of its columns as texts."""
    names = tuple(data.column_names if isinstance(data, pa.Table) else file_format(data).schema(data).names)

    def readable(table: pa.Table) -> pa.Table:
        columns = {
            f"c{i}": _readable(_as(table[name], wanted[name]), text=True) if name in odd else table[name]
            for i, name in enumerate(names)
            if name in wanted
        }
        return pa.table(columns)

    if isinstance(data, pa.Table):
        connection.register("written", readable(data))
    else:
        first = readable(next(file_format(data).tables(data)).slice(0, 0))

        def read() -> Iterator[pa.RecordBatch]:
            for table in file_format(data).tables(data):
                yield from readable(table).combine_chunks().to_batches()

        connection.register("written", Batches(first.schema, read))
    return names


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of a private file as the type that it had; see :func:`rothko.release.kinds.restored`."""
    return column if _plain_type(column.type) == kind else column.cast(kind)


def other_columns() -> VerificationError:
    """What is said of a written table whose columns are not those that it should have."""
    return VerificationError(
        "Verification failed: the written table has other columns than it should; nothing was released. Please report "
        "this."
    )


def same(there: Fingerprint | None, wanted: Fingerprint) -> None:
    """Refuse rows that are not those that the records should be shown as."""
    if there != wanted:
        raise VerificationError(
            "Verification failed: the written rows are not those of the records, in what they keep or in what their "
            "classes publish; nothing was released. Please report this."
        )


def typed_as(written: pa.Table, read: pa.Table) -> dict[str, pa.DataType]:
    """The columns that were read as text and are written with a type, and which."""
    kinds = {name: _plain_type(written[name].type) for name in written.column_names}
    texts = {name for name in read.column_names if _sql_type(_plain_type(read[name].type)) == "VARCHAR"}
    return {name: kind for name, kind in kinds.items() if name in texts and _sql_type(kind) != "VARCHAR"}


def _classes(told: Told) -> int:
    return len(told.shown[0].of_class) if told.shown else 1


def _plain_type(kind: pa.DataType) -> pa.DataType:
    plain = plain_type(kind)
    return plain.storage_type if isinstance(plain, pa.BaseExtensionType) else plain


def _readable(column: pa.ChunkedArray, *, text: bool) -> pa.ChunkedArray:
    """A column as SQL takes it: what has no type there, or is written as a text of its own, as that text."""
    if not pa.types.is_dictionary(column.type):
        column = as_plain(column)
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    kind = _plain_type(column.type)
    if _by_text(kind, text):
        texts = [cell_texts(chunk).cast(pa.large_string()) for chunk in column.chunks]
        return pa.chunked_array(texts, pa.large_string())
    return column.cast(pa.float32()) if pa.types.is_float16(kind) else column


def _by_text(kind: pa.DataType, text: bool) -> bool:
    """Whether values are compared as the texts that a text file has for them."""
    return _sql_type(kind) is None or (text and kind not in SQL_TYPES and not pa.types.is_decimal128(kind))


def _sql_type(kind: pa.DataType) -> str | None:
    """The type in SQL that has the very values of a type; None where none has."""
    types = pa.types
    if types.is_timestamp(kind) and kind.tz is not None:
        return None if kind.unit == "ns" else "TIMESTAMPTZ"
    if types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "BLOB"
    if types.is_dictionary(kind):
        return _sql_type(kind.value_type)
    if types.is_struct(kind) and kind.num_fields:
        inner = [(field.name, _sql_type(field.type)) for field in kind]
        known = all(one is not None for _, one in inner)
        return f"STRUCT({', '.join(f'{name_of(name)} {one}' for name, one in inner)})" if known else None
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        one = _sql_type(kind.value_type)
        return None if one is None else f"{one}[]"
    return SQL_TYPES.get(kind)


def _hash(values: Sequence[str]) -> str:
    """Never the hash of one number alone: that of 0 is 0, and would wipe out what it is multiplied by."""
    return f"hash({', '.join([*values, '1'])})"


def _value(column: str, words: bool, wanted: pa.DataType, text: bool) -> str:
    """A column as the value that it stands for.

    Parameters
    ----------
    words
        Whether it is text, whatever its values are.
    wanted
        The type of its values.
    text
        Whether the file has no types.
    """
    kind = "VARCHAR" if _by_text(wanted, text) else _sql_type(wanted)
    if kind == "VARCHAR":
        # In a text file, nothing and an empty text are the same, and an apostrophe may stand before a formula.
        return f"coalesce({unescaped_sql(column)}, '')" if text else column
    value = f"{'TRY_CAST' if words else 'CAST'}({column} AS {kind})"
    if text and pa.types.is_floating(wanted):
        return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"  # what is not a number is written as nothing
    return value
