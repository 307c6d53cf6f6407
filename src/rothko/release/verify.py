"""Verification: every requirement computed again, from the published bytes alone, by SQL.

Nothing here knows how the classes were made. The verifier is given a table (the written file, or any
table at all), the columns that may be known from elsewhere, and the requirements; classes are what
``GROUP BY`` says they are. A missing value is a value: it groups, and it counts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from rothko.privacy.requirement import Requirement
from rothko.release.sql import connect, file_literal, literal


@dataclass(frozen=True, slots=True)
class Finding:
    """What a table holds of one requirement."""

    requirement: Requirement
    asked: float
    achieved: float
    holds: bool
    classes: int
    """How many classes there are over the requirement's quasi-identifiers."""
    violating_classes: int
    violating_records: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it stands in a certificate."""
        return {
            "requirement": self.requirement.name,
            "of": self.requirement.column,
            "over": None if self.requirement.over is None else list(self.requirement.over),
            "asked": _number(self.asked),
            "achieved": _number(self.achieved),
            "holds": self.holds,
            "classes": self.classes,
            "violating_classes": self.violating_classes,
            "violating_records": self.violating_records,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """What a table holds."""

    rows: int
    columns: tuple[str, ...]
    classes: int
    """Distinct combinations of all published quasi-identifiers."""
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return all(finding.holds for finding in self.findings)


def verify(
    data: Path | pa.Table,
    requirements: Sequence[Requirement],
    quasi_identifiers: Mapping[str, Sequence[str]],
    *,
    missing: Sequence[str] = (),
    threads: int = 1,
) -> Verification:
    """Compute every requirement from a table.

    Parameters
    ----------
    data
        A written release (CSV, TSV, Parquet, Arrow), or an Arrow table.
    quasi_identifiers
        Quasi-identifier → the columns that publish it.
    missing
        Tokens that stand for a missing value.
    """
    with connect(threads) as connection:
        connection.execute("SET preserve_insertion_order = false")
        columns = _open(connection, data)
        findings: dict[int, Finding] = {}
        groups: dict[tuple[str, ...], list[int]] = {}
        everything = tuple(quasi_identifiers)
        for i, requirement in enumerate(requirements):
            over = everything if requirement.over is None else tuple(q for q in everything if q in requirement.over)
            groups.setdefault(over, []).append(i)
        groups.setdefault(everything, [])
        rows = classes = 0
        for over, members in groups.items():
            by = [_number_of(column, columns) for q in over for column in quasi_identifiers[q]]
            of = [None if (c := requirements[i].column) is None else _number_of(c, columns) for i in members]
            question = _question(by, [requirements[i] for i in members], of, missing)
            answer = connection.execute(question).fetchone()
            assert answer is not None
            rows, count = int(answer[0]), int(answer[1])
            if over == everything:
                classes = count
            for j, i in enumerate(members):
                achieved, violating, records = answer[2 + 3 * j : 5 + 3 * j]
                findings[i] = Finding(
                    requirement=requirements[i],
                    asked=requirements[i].asked,
                    achieved=float("nan") if achieved is None else float(achieved),
                    holds=rows > 0 and not violating,
                    classes=count,
                    violating_classes=int(violating or 0),
                    violating_records=int(records or 0),
                )
        return Verification(rows, columns, classes, tuple(findings[i] for i in range(len(requirements))))


def _question(
    by: Sequence[str], requirements: Sequence[Requirement], of: Sequence[str | None], missing: Sequence[str]
) -> str:
    """One query: per class what each requirement reaches, then the weakest class and those that fail."""
    scores = ["count(*) AS size"]
    answers = ["coalesce(sum(size), 0)", "count(*)"]
    for j, (requirement, column) in enumerate(zip(requirements, of, strict=True)):
        value = None if column is None else _one_missing(column, missing)
        scores.append(f"{requirement.sql(value)} AS score{j}")
        fails = f"NOT coalesce(score{j} >= {requirement.asked!r}, false)"
        answers += [f"min(score{j})", f"count(*) FILTER ({fails})", f"sum(size) FILTER ({fails})"]
    return f"SELECT {', '.join(answers)} FROM (SELECT {', '.join(scores)} FROM released GROUP BY {', '.join(by)})"


def _one_missing(column: str, missing: Sequence[str]) -> str:
    """A sensitive column as text in which everything that means missing is the empty text."""
    text = f"coalesce(CAST({column} AS VARCHAR), '')"
    number = f"typeof({column}) IN ('FLOAT', 'DOUBLE')"
    absent = [f"{number} AND {text} = 'nan'", *(f"{text} = {literal(token)}" for token in missing)]
    return f"CASE WHEN {' OR '.join(absent)} THEN '' WHEN {number} AND {text} = '-0.0' THEN '0.0' ELSE {text} END"


def _open(connection: duckdb.DuckDBPyConnection, data: Path | pa.Table) -> tuple[str, ...]:
    """Let the data be the table ``released`` with the columns c0, c1, …; returns their real names.

    SQL does not tell ``a`` from ``A``: grouping by both would group by one of them twice.
    """
    name = "" if isinstance(data, pa.Table) else data.name.lower()
    if isinstance(data, pa.Table) or name.endswith((".arrow", ".feather")):
        table = data if isinstance(data, pa.Table) else feather.read_table(data)
        names = table.column_names
        connection.register("released", table.rename_columns([f"c{i}" for i in range(len(names))]))
        return tuple(names)
    if name.endswith((".csv", ".tsv")):
        delimiter = "\t" if name.endswith(".tsv") else ","
        names = next(csv.reader(io.StringIO(_first_line(data), newline=""), delimiter=delimiter))
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
        rows = (
            f"read_csv({file_literal(data)}, delim = {literal(delimiter)}, header = true, quote = '\"', "
            f"escape = '\"', new_line = '\\n', auto_detect = false, strict_mode = true, columns = {{{columns}}})"
        )
        connection.execute(f"CREATE VIEW released AS SELECT * FROM {rows}")
        return tuple(names)
    names = pq.read_schema(data).names
    columns = ", ".join(f"c{i}" for i in range(len(names)))
    connection.execute(f"CREATE VIEW released({columns}) AS SELECT * FROM read_parquet({file_literal(data)})")
    return tuple(names)


def _number_of(column: str, columns: Sequence[str]) -> str:
    return f"c{columns.index(column)}"


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.readline()


def _number(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
