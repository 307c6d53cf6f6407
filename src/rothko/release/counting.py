"""What the verifier counts, by SQL: tables about the classes of a table, which the requirements are asked of.

A class is what ``GROUP BY`` of the published columns says it is. Which tables there are, and what their columns are
called, :meth:`rothko.privacy.requirement.Requirement.sql` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.domain import Domain
from rothko.data.exact import DIGITS, PLAIN, is_exact
from rothko.release.sql import literal
from rothko.release.value_sql import is_missing, type_of

NO_MARKS = ("0::UBIGINT", "0")
"""Of rows whose fingerprint is not asked for."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Tables about the classes of ``released``, made anew for each column.

    Classes are numbered, so that nothing that follows groups by published values again.
    """

    connection: duckdb.DuckDBPyConnection
    marks: tuple[str, str]
    """SQL of the hashes of a row; see :class:`rothko.release.verify.RowHashes`."""
    whose: str | None
    """SQL of the owner of a record, where people are counted."""
    rows: str = "released"
    """A table with every different row, where that is known."""
    times: str = "1"
    """How often each is there."""
    known: frozenset[str] = frozenset()
    """Columns whose values over the whole table are in tables of their own, because only some classes are here."""

    @property
    def _records(self) -> str:
        """SQL of how many records there are in a group of rows."""
        return "count(*)" if self.times == "1" else f"sum({self.times})::BIGINT"

    @property
    def _stayed(self) -> str:
        """SQL of the sum of the hashes of what they keep."""
        return f"sum({self.marks[1]})" if self.times == "1" else f"sum({self.marks[1]}::HUGEINT * {self.times})"

    def group(self, by: Sequence[str]) -> None:
        """Make ``class(class, size, heads, h, s)``."""
        heads = self._records if self.whose is None else f"count(DISTINCT {self.whose})"
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE class AS SELECT row_number() OVER () AS class, {self._records} AS size, "
            f"{heads} AS heads, {self.marks[0]} AS h, {self._stayed} AS s FROM {self.rows} GROUP BY {', '.join(by)}"
        )

    def count(self, by: Sequence[str], value: str, known: str | None = None) -> None:
        """Make ``class(class, size, heads, h, s)``, ``counted(class, value, c, size, heads)`` and ``everyone``.

        Parameters
        ----------
        known
            The column as SQL writes it, where its values over the whole table are known.
        """
        keys, sql = ", ".join(by), self.connection
        if self.whose is None:
            sql.execute(
                "CREATE OR REPLACE TEMP TABLE listed AS "
                "SELECT row_number() OVER () AS class, sum(c)::BIGINT AS size, size AS heads, list(value) AS value, "
                f"list(c) AS c, {self.marks[0]} AS h, sum(s) AS s FROM (SELECT {keys}, {value} AS value, "
                f"{self._records} AS c, {self._stayed} AS s FROM {self.rows} GROUP BY {keys}, value) GROUP BY {keys}"
            )
            held = "SELECT class, unnest(value) AS value, unnest(c) AS c, size, heads FROM listed"
            whole = "counted" if known is None else f"whole{known[1:]}"
            everyone = f"SELECT value, sum(c) AS c FROM {whole} GROUP BY value"
        else:
            # Each value once for each person that has it.
            sql.execute(
                "CREATE OR REPLACE TEMP TABLE listed AS SELECT row_number() OVER () AS class, "
                "sum(r)::BIGINT AS size, count(DISTINCT whose) AS heads, list(value) AS value, "
                f"{self.marks[0]} AS h, sum(s) AS s FROM ({self._pairs(keys, value)}) GROUP BY {keys}"
            )
            held = (
                "SELECT class, value, count(*) AS c, size, heads FROM (SELECT class, unnest(value) AS value, size, "
                "heads FROM listed) GROUP BY class, value, size, heads"
            )
            everyone = f"SELECT {value} AS value, count(DISTINCT {self.whose}) AS c FROM released GROUP BY value"
        sql.execute("CREATE OR REPLACE TEMP TABLE class AS SELECT class, size, heads, h, s FROM listed")
        sql.execute(f"CREATE OR REPLACE TEMP TABLE counted AS {held}")
        sql.execute(f"CREATE OR REPLACE TEMP VIEW everyone AS {everyone}")

    def _pairs(self, keys: str, value: str, rest: str = "", table: str = "released") -> str:
        """What people have in each class: value and owner, with the records that say so."""
        return (
            f"SELECT {keys}, {value} AS value, {self.whose} AS whose, count(*) AS r, sum({self.marks[1]}) AS s{rest} "
            f"FROM {table} GROUP BY {keys}, value, whose"
        )

    def measure(self, by: Sequence[str], name: str, column: str, value: str, missing: Sequence[str]) -> None:
        """Make ``class(class, size, heads, present, squares, h, s)``: the numbers, and their squares around the mean.

        DuckDB's variance is Welford's. The numbers are shifted by the mean of the table first, so that large ones which
        differ little keep their digits: whole numbers and decimals exactly.
        """
        sql = self.connection
        kind = type_of(sql, column)
        if pa.types.is_string(kind):
            column, absent = f"trim({value})", f"{value} = ''"
        else:
            absent = is_missing(column, kind, missing)
        sql.execute(
            f"CREATE OR REPLACE TEMP VIEW numbers AS SELECT *, TRY_CAST({column} AS DOUBLE) AS x, {absent} AS absent "
            "FROM released"
        )
        [(bad, centre)] = sql.execute(
            "SELECT count(*) FILTER (NOT absent AND (x IS NULL OR NOT isfinite(x))), "
            "coalesce(avg(x) FILTER (NOT absent AND isfinite(x)), 0) FROM numbers"
        ).fetchall()
        if bad or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            self.count(by, value)
            numbers = domain_of(sql, name).numbers  # tells what is wrong with them
            raise AssertionError(f"{len(numbers)} numbers were not read as such")
        keys, x = ", ".join(by), f"CASE WHEN NOT absent THEN {_shifted(sql, column, kind, centre)} END"
        rows, size, heads = f"SELECT {keys}, {x} AS x, {self.marks[1]} AS s FROM numbers", "count(*)", "count(*)"
        if self.whose is not None:
            rows, size = self._pairs(keys, value, f", any_value({x}) AS x", "numbers"), "sum(r)::BIGINT"
            heads = "count(DISTINCT whose)"
        sql.execute(
            f"CREATE OR REPLACE TEMP TABLE class AS SELECT row_number() OVER () AS class, {size} AS size, "
            f"{heads} AS heads, count(x) AS present, coalesce(var_pop(x) * count(x), 0) AS squares, "
            f"{self.marks[0]} AS h, sum(s) AS s FROM ({rows}) GROUP BY {keys}"
        )


def _shifted(connection: duckdb.DuckDBPyConnection, column: str, kind: pa.DataType, centre: float) -> str:
    """The numbers of the view ``numbers``, about their mean: subtracted before they are rounded, where that matters."""
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    if pa.types.is_string(kind):
        [(plain, before, after)] = connection.execute(
            f"SELECT bool_and(regexp_full_match(word, {literal(PLAIN[1:-1])})), "
            "max(length(regexp_extract(word, '^[+-]?([0-9]*)', 1))), "
            "max(length(regexp_extract(word, '[.]([0-9]*)$', 1))) "
            f"FROM (SELECT {column} AS word FROM numbers WHERE NOT absent)"
        ).fetchall()
        if not plain or before + after > DIGITS:
            return f"x - {centre!r}"
        scale = after
    elif not is_exact(kind):
        return f"x - {centre!r}"
    exact = f"{'TRY_CAST' if pa.types.is_string(kind) else 'CAST'}({column} AS DECIMAL({DIGITS}, {scale}))"
    [(least, most)] = connection.execute(f"SELECT min({exact}), max({exact}) FROM numbers WHERE NOT absent").fetchall()
    if least is None or (scale == 0 and max(-least, most) < 2**53):
        return f"x - {centre!r}"
    with localcontext(prec=4 * DIGITS):
        unit = Decimal((0, (1,), -scale))
        furthest = Decimal(10) ** (DIGITS - scale) - unit  # no difference may be larger
        middle = (least + most) / 2
        if most - least <= furthest:
            [(mean,)] = connection.execute(
                f"SELECT avg(CAST({exact} - CAST('{least:f}' AS DECIMAL({DIGITS}, {scale})) AS DOUBLE)) FROM numbers "
                "WHERE NOT absent"
            ).fetchall()
            middle = min(least + Decimal(mean), most)
        middle = middle.quantize(unit)
    return f"CAST({exact} - CAST('{middle:f}' AS DECIMAL({DIGITS}, {scale})) AS DOUBLE)"


def domain_of(connection: duckdb.DuckDBPyConnection, column: str, counted: str = "counted") -> Domain:
    """The values of a sensitive column, as text."""
    found = connection.sql(f"SELECT value, sum(c)::BIGINT AS c FROM {counted} GROUP BY value").to_arrow_table()
    there = pc.not_equal(found["value"], "")
    present = found.filter(there).combine_chunks()
    absent = pc.sum(found.filter(pc.invert(there))["c"], min_count=0).as_py()
    counts = np.append(present["c"].to_numpy(), absent)
    return Domain(column, present["value"].cast(pa.string()).combine_chunks(), counts)
