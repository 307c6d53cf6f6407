"""The parts of a quasi-identifier as SQL: which of them a value lies in.

In what DuckDB and PostgreSQL both take, and understand alike. Values are compared as what they are, by literals of
their type, and not as texts, of which each database has its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import held, is_exact
from rothko.data.hierarchy.icd10 import CODE
from rothko.data.line import Kind, as_text
from rothko.errors import PolicyError
from rothko.policy.column import Column
from rothko.release.recoding.attribute import Attribute
from rothko.release.sql import literal, name_of

INTERVAL = re.compile(r"^([\[(])(.+), (.+)\)$")
FLOAT = "DOUBLE PRECISION"
WRITTEN_ALIKE = (pa.types.is_string, pa.types.is_integer, pa.types.is_decimal, pa.types.is_date, pa.types.is_boolean)
"""Types whose values have the same text everywhere."""


def value_of(value: Any) -> str:
    """An Arrow scalar."""
    if not value.is_valid:
        return "NULL"
    kind = value.type
    if pa.types.is_integer(kind):
        return str(value.as_py())
    if pa.types.is_floating(kind):
        return f"CAST('{float(value.as_py())!r}' AS {FLOAT})"
    if pa.types.is_boolean(kind):
        return "TRUE" if value.as_py() else "FALSE"
    text = literal(as_text(pa.array([value.as_py()], kind))[0].as_py())
    if pa.types.is_date(kind):
        return f"CAST({text} AS DATE)"
    if pa.types.is_timestamp(kind):
        return f"CAST({text} AS {'TIMESTAMPTZ' if kind.tz else 'TIMESTAMP'})"
    if pa.types.is_time(kind):
        return f"CAST({text} AS TIME)"
    if pa.types.is_decimal(kind):
        return f"CAST('{value.as_py():f}' AS DECIMAL({kind.precision}, {kind.scale}))"
    return text


def part_of(attribute: Attribute, spec: Column, missing: Sequence[str]) -> str:
    """The part that the value of a column lies in; NULL where it is not known.

    Parameters
    ----------
    missing
        Tokens that stand for a missing value.
    """
    _check(attribute, spec)
    column = name_of(attribute.name)
    texts = pa.types.is_string(attribute.type)
    value = f"CAST({column} AS VARCHAR)" if texts else column
    if attribute.kind is Kind.TREE:
        known = _first(_of_tree(attribute, value, spec))
    elif texts:
        known = _first(_listed(attribute.labels.to_pylist(), attribute.part, value, attribute.type))
    else:
        known = _below(value, [value_of(edge) for edge in attribute.edges], 0)
    absent = " OR ".join([f"{column} IS NULL", *_tokens(value, attribute.type, missing)])
    return f"CASE WHEN {absent} THEN {_number(attribute.missing_part)} ELSE {known} END"


def _check(attribute: Attribute, spec: Column) -> None:
    """Refuse what the databases do not understand alike."""
    kind = attribute.type
    by_text = spec.hierarchy is not None and spec.hierarchy.kind in ("mask", "prefix", "icd-10")
    if by_text and not any(alike(kind) for alike in WRITTEN_ALIKE):
        raise PolicyError(
            f"Column {attribute.name!r} groups values of type {kind} by their text, which is not the same in SQL."
        )
    if (pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "ns":
        raise PolicyError(f"Column {attribute.name!r} holds {kind}, and SQL has no nanoseconds; use microseconds.")


def _tokens(value: str, kind: pa.DataType, missing: Sequence[str]) -> Iterator[str]:
    """Whether a value that is there stands for none."""
    if pa.types.is_string(kind):
        words = [literal(token) for token in ("", *missing)]
    elif is_exact(kind) or pa.types.is_floating(kind):
        words = [value_of(pa.scalar(number, kind)) for number in held(missing, kind)]
        words += [f"CAST('NaN' AS {FLOAT})"] if pa.types.is_floating(kind) else []
    else:
        words = _values(missing, kind)
    if words:
        yield _among(value, words)


def _number(part: int) -> str:
    return "NULL" if part < 0 else str(part)


def _first(conditions: Iterable[tuple[str, int]]) -> str:
    """The part of the first condition that holds."""
    whens = [f"WHEN {wanted} THEN {part}" for wanted, part in conditions]
    return f"CASE {' '.join(whens)} END" if whens else "NULL"


def _below(value: str, edges: Sequence[str], first: int) -> str:
    """The part between rising edges, halving them."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below, above = _below(value, edges[:middle], first), _below(value, edges[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {value} < {edges[middle]} THEN {below} ELSE {above} END"


def _of_tree(attribute: Attribute, value: str, spec: Column) -> Iterator[tuple[str, int]]:
    assert spec.hierarchy is not None
    kind = spec.hierarchy.kind
    parts = attribute.part.tolist()
    if kind == "auto":
        # Texts are in the order of their bytes, whatever the language of the database.
        ordered = f'{value} COLLATE "C"' if pa.types.is_string(attribute.type) else value
        for first, last, part in zip(attribute.edges, attribute.ends, parts, strict=True):
            yield f"{ordered} BETWEEN {value_of(first)} AND {value_of(last)}", part
        return
    labels = attribute.labels.to_pylist()
    if attribute.hierarchy is not None:
        part_of = dict(zip(labels, parts, strict=True))
        rows = [(row[0], next((part_of[label] for label in row if label in part_of), -1)) for row in
                attribute.hierarchy.to_rows()]  # fmt: skip
        leaves = [(leaf, part) for leaf, part in rows if part >= 0]
        yield from _listed([leaf for leaf, _ in leaves], np.array([part for _, part in leaves]), value, attribute.type)
        return
    rules: dict[str, Callable[[str], str]] = {
        "prefix": lambda label: _begins(label, f"CAST({value} AS VARCHAR)"),
        "icd-10": lambda label: _of_icd10(label, f"CAST({value} AS VARCHAR)"),
        "mask": lambda label: _masked(label, value, str(spec.hierarchy and spec.hierarchy.value)),
        "intervals": lambda label: _between(label, value, attribute.type),
        "breaks": lambda label: _between(label, value, attribute.type),
        "dates": lambda label: _in_period(label, value, attribute.type),
    }
    if kind not in rules:
        yield from _listed(labels, attribute.part, value, attribute.type)
        return
    for label, part in zip(labels, parts, strict=True):
        yield rules[kind](label), part


def _listed(
    labels: Sequence[str], parts: np.ndarray[Any, np.dtype[Any]], value: str, kind: pa.DataType
) -> Iterator[tuple[str, int]]:
    """One condition per part, by the labels that it has."""
    by_part: dict[int, list[str]] = {}
    for label, part in zip(labels, parts.tolist(), strict=True):
        by_part.setdefault(part, []).append(label)
    for part, words in sorted(by_part.items()):
        yield _among(value, _values(words, kind)), part


def _values(words: Sequence[str], kind: pa.DataType) -> list[str]:
    """The values of a type whose texts these are; a word that is the text of none is like no value."""
    if pa.types.is_string(kind):
        return [literal(word) for word in words]
    found = []
    for word in words:
        try:
            value = pc.cast(pa.array([word]), kind)
        except pa.ArrowInvalid:
            continue
        if as_text(value)[0].as_py() == word:
            found.append(value_of(value[0]))
    return found


def _among(value: str, words: Sequence[str]) -> str:
    return f"{value} IN ({', '.join(words)})" if words else "FALSE"


def _alone(label: str, value: str, kind: pa.DataType) -> str:
    return _among(value, _values([label], kind))


def _masked(label: str, value: str, side: str) -> str:
    """A node of masked texts: as long as the label, and the same where that is not masked."""
    text = f"CAST({value} AS VARCHAR)"
    bare = label.rstrip("*") if side == "right" else label.lstrip("*")
    if bare == label:
        return f"{text} = {literal(label)}"
    end = "left" if side == "right" else "right"
    return f"(length({text}) = {len(label)} AND {end}({text}, {len(bare)}) = {literal(bare)})"


def _begins(label: str, value: str) -> str:
    """A node of texts that begin alike, or a text by itself."""
    if not label.endswith("*"):
        return f"{value} = {literal(label)}"
    return f"left({value}, {len(label) - 1}) = {literal(label[:-1])}"


def _of_icd10(label: str, value: str) -> str:
    """A chapter, ten categories, one, a part of one, or a code by itself."""
    bare = f"replace(replace(upper({value}), '.', ''), ' ', '')"
    if found := re.fullmatch(r"([A-Z]\d)\d-([A-Z]\d)\d", label):
        wanted = f"""left({bare}, 2) COLLATE "C" BETWEEN {literal(found[1])} AND {literal(found[2])}"""
    elif found := re.fullmatch(r"([A-Z]\d[\dAB])\.(\d?)-", label):
        begins = found[1] + found[2]
        wanted = f"left({bare}, {len(begins)}) = {literal(begins)}"
    else:
        return f"{value} = {literal(label)}"
    return f"({value} ~ {literal(CODE)} AND {wanted})"


def _between(label: str, value: str, kind: pa.DataType) -> str:
    """A half-open interval of numbers, or a number by itself."""
    found = INTERVAL.match(label)
    if found is None:
        return _alone(label, value, kind)

    def number(text: str) -> str:
        return f"CAST('{text}' AS {FLOAT})" if pa.types.is_floating(kind) else text

    compared = f"CAST({value} AS {FLOAT})" if pa.types.is_floating(kind) else value
    low, high = found[2], found[3]
    wanted = [f"{compared} >= {number(low)}"] if low != "-inf" else []
    wanted += [f"{compared} < {number(high)}"] if high != "inf" else []
    if pa.types.is_floating(kind):  # what has no end is in no interval
        wanted += [f"{compared} > CAST('-inf' AS {FLOAT})"] if low == "-inf" else []
        wanted += [f"{compared} < CAST('inf' AS {FLOAT})"] if high == "inf" else []
    return f"({' AND '.join(wanted) or 'TRUE'})"


def _in_period(label: str, value: str, kind: pa.DataType) -> str:
    """A period of the calendar, or a date by itself."""
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    local = f"({value} AT TIME ZONE {literal(zone)})" if zone else value
    found = re.fullmatch(r"(\d{4,})(s|-Q\d|-\d\d|)(-\d\d)?", label)
    if found is None:
        return _alone(label, value, kind)
    year, period, day = found.groups()
    if day:
        return f"CAST({local} AS DATE) = CAST({literal(label)} AS DATE)"
    of_year = f"EXTRACT(YEAR FROM {local})"
    if period == "s":
        return f"({of_year} >= {int(year)} AND {of_year} < {int(year) + 10})"
    parts = [f"{of_year} = {int(year)}"]
    if period.startswith("-Q"):
        parts.append(f"EXTRACT(QUARTER FROM {local}) = {period[2:]}")
    elif period:
        parts.append(f"EXTRACT(MONTH FROM {local}) = {int(period[1:])}")
    return f"({' AND '.join(parts)})"
