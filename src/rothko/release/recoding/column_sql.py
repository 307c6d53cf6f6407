"""A recoding by column as a query, and the parts of a quasi-identifier as conditions, in the dialect of DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rothko.data.line import Kind, as_text
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.release.publish import ROOT, Published
from rothko.release.recoding.attribute import Attribute
from rothko.release.sql import literal, name_of

INTERVAL = re.compile(r"^([\[(])(.+), (.+)\)$")


def value_of(value: Any) -> str:
    """An Arrow scalar."""
    if not value.is_valid:
        return "NULL"
    kind = value.type
    if pa.types.is_integer(kind):
        return str(value.as_py())
    if pa.types.is_floating(kind):
        return f"CAST('{value.as_py()!r}' AS DOUBLE)"
    if pa.types.is_boolean(kind):
        return "TRUE" if value.as_py() else "FALSE"
    text = literal(as_text(pa.array([value.as_py()], kind))[0].as_py())
    if pa.types.is_string(kind):
        return text
    if pa.types.is_date(kind):
        return f"CAST({text} AS DATE)"
    if pa.types.is_timestamp(kind):
        return f"CAST({text} AS {'TIMESTAMPTZ' if kind.tz else 'TIMESTAMP'})"
    if pa.types.is_time(kind):
        return f"CAST({text} AS TIME)"
    if pa.types.is_decimal(kind):
        return f"CAST({text} AS DECIMAL({kind.precision}, {kind.scale}))"
    return text


def condition(attribute: Attribute, column: str, spec: Column, missing: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Conditions, to be asked one after the other, and the part that each stands for; -1 where it is not known.

    Parameters
    ----------
    column
        The column as SQL writes it.
    missing
        Tokens that stand for a missing value.
    """
    text = f"CAST({column} AS VARCHAR)"
    absent = [f"{column} IS NULL", f"{text} = ''", *(f"{text} = {literal(token)}" for token in missing)]
    if pa.types.is_floating(attribute.type):
        absent[1] = f"isnan({column})"
    yield " OR ".join(absent), attribute.missing_part
    if attribute.kind is Kind.TREE:
        yield from _of_tree(attribute, column, text, spec)
    elif attribute.kind is Kind.NOMINAL or pa.types.is_string(attribute.type):
        yield from _listed(attribute.labels.to_pylist(), attribute.part, text)
    else:
        for part, edge in enumerate(attribute.edges):
            yield f"{column} < {value_of(edge)}", part
        yield "TRUE", len(attribute.edges)


def _of_tree(attribute: Attribute, column: str, text: str, spec: Column) -> Iterator[tuple[str, int]]:
    assert spec.hierarchy is not None
    kind = spec.hierarchy.kind
    if kind == "auto":
        for first, last, part in zip(attribute.edges, attribute.ends, attribute.part.tolist(), strict=True):
            yield f"{column} BETWEEN {value_of(first)} AND {value_of(last)}", part
        return
    labels = attribute.labels.to_pylist()
    if attribute.hierarchy is not None:
        part_of = dict(zip(labels, attribute.part.tolist(), strict=True))
        below: dict[int, list[str]] = {}
        for row in attribute.hierarchy.to_rows():
            for label in row:
                if label in part_of:
                    below.setdefault(part_of[label], []).append(row[0])
                    break
        for part, leaves in below.items():
            yield f"{text} IN ({', '.join(map(literal, leaves))})", part
        return
    rules: dict[str, Callable[[str], str]] = {
        "mask": lambda label: _masked(label, text, str(spec.hierarchy and spec.hierarchy.value)),
        "intervals": lambda label: _between(label, column, text),
        "breaks": lambda label: _between(label, column, text),
        "dates": lambda label: _in_period(label, column, text),
    }
    if kind not in rules:
        yield from _listed(labels, attribute.part, text)
        return
    for label, part in zip(labels, attribute.part.tolist(), strict=True):
        yield rules[kind](label), part


def _listed(labels: Sequence[str], parts: np.ndarray[Any, np.dtype[np.int32]], text: str) -> Iterator[tuple[str, int]]:
    """One condition per part, by the labels that it has."""
    by_part: dict[int, list[str]] = {}
    for label, part in zip(labels, parts.tolist(), strict=True):
        by_part.setdefault(part, []).append(label)
    for part, held in sorted(by_part.items()):
        yield f"{text} IN ({', '.join(map(literal, held))})", part


def _masked(label: str, text: str, side: str) -> str:
    """A node of masked texts: as long as the label, and the same where that is not masked."""
    bare = label.rstrip("*") if side == "right" else label.lstrip("*")
    if bare == label:
        return f"{text} = {literal(label)}"
    end = "left" if side == "right" else "right"
    return f"(length({text}) = {len(label)} AND {end}({text}, {len(bare)}) = {literal(bare)})"


def _between(label: str, column: str, text: str) -> str:
    """A half-open interval of numbers, or a number by itself."""
    found = INTERVAL.match(label)
    if found is None:
        return f"{text} = {literal(label)}"
    low, high = found[2], found[3]
    wanted = [f"{column} >= {low}"] if low != "-inf" else []
    wanted += [f"{column} < {high}"] if high != "inf" else []
    return f"({' AND '.join(wanted) or 'TRUE'})"


def _in_period(label: str, column: str, text: str) -> str:
    """A period of the calendar, or a date by itself."""
    year = f"lpad(CAST(year({column}) AS VARCHAR), 4, '0')"
    forms = {
        r"\d{4,}s": f"lpad(CAST(year({column}) // 10 * 10 AS VARCHAR), 4, '0') || 's'",
        r"\d{4,}": year,
        r"\d{4,}-Q\d": f"{year} || '-Q' || CAST(quarter({column}) AS VARCHAR)",
        r"\d{4,}-\d\d": f"strftime({column}, '%Y-%m')",
        r"\d{4,}-\d\d-\d\d": f"strftime({column}, '%Y-%m-%d')",
    }
    shape = next((said for form, said in forms.items() if re.fullmatch(form, label)), text)
    return f"{shape} = {literal(label)}"


def query(
    attributes: Sequence[Attribute], published: Mapping[str, Sequence[Published]], policy: Policy, table: str
) -> str:
    """A query that recodes the records of a table, by a ``CASE`` for every column."""
    places, shows = [], []
    for i, attribute in enumerate(attributes):
        spec, column = policy.columns[attribute.name], name_of(attribute.name)
        whens = [
            f"WHEN {wanted} THEN {'NULL' if part < 0 else part}"
            for wanted, part in condition(attribute, column, spec, policy.missing)
        ]
        places.append(f"    CASE {' '.join(whens)} END AS part_{i}")
    unknown = " OR ".join(f"part_{i} IS NULL" for i in range(len(attributes)))
    at = {attribute.name: i for i, attribute in enumerate(attributes)}
    for name in policy.columns:
        if name in at:
            for c in published[name]:
                suppressed = f"'{ROOT}'" if pa.types.is_string(c.values.type) else "NULL"
                values = c.values.take(pa.array(c.of_class))
                whens = [f"WHEN {part} THEN {value_of(value)}" for part, value in enumerate(values)]
                known = f"CASE part_{at[name]} {' '.join(whens)} END"
                shows.append(f"    CASE WHEN {unknown} THEN {suppressed} ELSE {known} END AS {name_of(c.name)}")
        elif name not in policy.identifiers:
            shows.append(f"    {name_of(name)}")
    inner = ",\n".join(places)
    outer = ",\n".join(shows)
    return f"SELECT\n{outer}\nFROM (\n  SELECT *,\n{inner}\n  FROM {name_of(table)}\n)\n"
