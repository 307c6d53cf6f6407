"""The values of a sensitive column as the verifier counts them: texts by SQL, the same for the same value.

What is one value is the policy's to say: with ``type: number`` 1, 1.0 and 1e0 are one, with ``fold: true`` texts that
look alike are. The encoder decides the same in PyArrow (:mod:`rothko.data.typed`); nothing here calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from rothko.data.exact import NUMBER, held, is_exact
from rothko.data.fold import BLANKS, UNSEEN
from rothko.data.schema import Role
from rothko.data.typed import DATE, TIMESTAMP, WHOLE
from rothko.errors import InputError
from rothko.policy.column import Column
from rothko.release.formulas import unescaped_sql
from rothko.release.sql import literal

AS_THEY_ARE = Column(role=Role.SENSITIVE)
"""How the values of a column are read that the policy says nothing of."""
BLANK = r"' ' || chr(9) || chr(10) || chr(12) || chr(13)"
"""What the patterns of numbers and dates allow around them."""


def value_of(
    connection: duckdb.DuckDBPyConnection, name: str, column: str, spec: Column | None, missing: Sequence[str]
) -> str:
    """A sensitive column of the table ``released`` as text in which everything that means missing is the empty text.

    Parameters
    ----------
    name
        What the column is called in messages.
    column
        The column as SQL writes it.
    spec
        What the policy says of it.
    missing
        Tokens that stand for a missing value.
    """
    spec = spec or AS_THEY_ARE
    kind = type_of(connection, column)
    if not pa.types.is_string(kind):
        days = spec.type == "date" and pa.types.is_timestamp(kind)
        return _one_missing(_day(column), pa.date32(), missing) if days else _one_missing(column, kind, missing)
    text = unescaped_sql(column)
    if spec.fold:
        tokens = " OR ".join(f"{_folded(text)} = {_folded(literal(token))}" for token in missing)
        return f"CASE WHEN {tokens or 'false'} THEN '' ELSE coalesce({_folded(text)}, '') END"
    tokens = ", ".join(literal(token) for token in ("", *missing))
    present = f"CASE WHEN {text} NOT IN ({tokens}) THEN {text} END"
    if spec.type in ("auto", "text"):
        return f"coalesce({present}, '')"
    return _read_as(connection, name, present, spec.type)


def _read_as(connection: duckdb.DuckDBPyConnection, name: str, present: str, kind: str) -> str:
    """Texts by the number or the date that they stand for; the empty text where there is none."""
    pattern = {"number": NUMBER, "date": DATE, "timestamp": TIMESTAMP}[kind]
    [(bad, whole)] = connection.execute(
        f"SELECT count(*) FILTER (NOT coalesce(regexp_full_match({_word('present', kind)}, {_bare(pattern)}) "
        f"AND {_cast('present', kind)} IS NOT NULL, false)), "
        f"coalesce(bool_and(regexp_full_match(present, {_bare(WHOLE)})), false) "
        f"FROM (SELECT DISTINCT {present} AS present FROM released) WHERE present IS NOT NULL"
    ).fetchall()
    if bad:
        raise InputError(
            f"Column {name!r}: {bad} distinct value(s) cannot be read as a {kind}; list them under 'missing' or "
            "set 'type: text'."
        )
    if kind != "number":
        return f"coalesce(CAST({_cast(present, kind)} AS VARCHAR), '')"
    if whole:  # by way of a float, their digits would not survive
        return f"coalesce(CAST(CAST(regexp_extract({_word(present, kind)}, '^[+-]?[0-9]+') AS HUGEINT) AS VARCHAR), '')"
    number = _cast(present, kind)
    text = f"regexp_replace(CAST({number} AS VARCHAR), '[.]0$', '')"
    return f"CASE WHEN {number} = 0 THEN '0' ELSE coalesce({text}, '') END"


def _word(text: str, kind: str) -> str:
    """A text without what the patterns allow around a number or a date."""
    bare = f"trim({text}, {BLANK})"
    return bare if kind == "number" else f"replace(rtrim({bare}, 'Z'), 'T', ' ')"


def _cast(text: str, kind: str) -> str:
    return f"TRY_CAST({_word(text, kind)} AS {({'number': 'DOUBLE'}).get(kind, kind.upper())})"


def _bare(pattern: str) -> str:
    """A pattern of a whole text, as SQL writes it."""
    return literal(pattern.removeprefix("^").removesuffix("$"))


def _day(column: str) -> str:
    """The day of a point in time."""
    return f"CAST({column} AS DATE)"


def _folded(text: str) -> str:
    """What :func:`rothko.data.fold.folded` does."""
    seen = f"nfc_normalize(regexp_replace({text}, {literal(UNSEEN)}, '', 'g'))"
    return f"trim(regexp_replace(nfc_normalize(lower(upper({seen}))), {literal(BLANKS)}, ' ', 'g'), ' ')"


def _one_missing(column: str, kind: pa.DataType, missing: Sequence[str]) -> str:
    """A column that is no text."""
    text = f"coalesce(CAST({column} AS VARCHAR), '')"
    absent = [is_missing(column, kind, missing)]
    if not (is_exact(kind) or pa.types.is_floating(kind)):
        absent += [f"{text} = {literal(token)}" for token in missing]
    zero = f" WHEN {text} = '-0.0' THEN '0.0'" if pa.types.is_floating(kind) else ""
    return f"CASE WHEN {' OR '.join(absent)} THEN ''{zero} ELSE {text} END"


def type_of(connection: duckdb.DuckDBPyConnection, column: str) -> pa.DataType:
    """The type of a column of the table ``released``, in the words of Arrow."""
    return connection.sql(f"SELECT {column} AS value FROM released LIMIT 0").to_arrow_table().schema.field(0).type


def is_missing(column: str, kind: pa.DataType, missing: Sequence[str]) -> str:
    """Whether a column that is no text has no value, or a number that stands for none, however that is written."""
    absent = [f"{column} IS NULL"]
    if pa.types.is_floating(kind):
        absent.append(f"isnan({column})")
    if is_exact(kind) or pa.types.is_floating(kind):
        absent += [f"{column} = {_number(number, kind)}" for number in held(missing, kind)]
    return " OR ".join(absent)


def _number(number: Any, kind: pa.DataType) -> str:
    """A number as a value of a type."""
    if pa.types.is_integer(kind):
        return str(number)
    if pa.types.is_decimal(kind):
        return f"CAST('{number:f}' AS DECIMAL({kind.precision}, {kind.scale}))"
    return f"CAST('{number!s}' AS {'DOUBLE' if pa.types.is_float64(kind) else 'FLOAT'})"
