"""Verification: every requirement computed again, from the published bytes alone, by SQL.

Nothing here knows how the classes were made. The verifier is given a table (the written file, or any
table at all), the columns that may be known from elsewhere, and the requirements; classes are what
``GROUP BY`` says they are. A missing value is a value: it groups, and it counts.

Where people are counted, the table must have the column that says whose a record is. A release has not: see
:mod:`rothko.release.people`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko import notebook
from rothko.data.domain import Domain
from rothko.errors import VerificationError
from rothko.policy.column import Column
from rothko.privacy.requirement import Requirement
from rothko.release.counting import NO_MARKS, Counting, domain_of
from rothko.release.formats.table import file_format
from rothko.release.sql import UNLIMITED, Batches, Limits, connect
from rothko.release.value_sql import value_of

Result = TypeVar("Result")

USUAL, LONGEST = 2_000_000, 1 << 40
"""The most bytes of a line of a text file, and any number of them: told so, DuckDB reads with one thread."""
MODULUS = (1 << 61) - 1
"""A prime by which sums of products of hashes are taken: below it, no product is larger than the numbers of SQL."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How many rows there are, and a sum over their hashes: the same for the same rows in any order.

    The hash of a row is that of what its class publishes times that of what it keeps. So it is enough to add up what
    the rows of a class keep, and fingerprints of parts add up to that of the whole.
    """

    rows: int = 0
    total: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, (self.total + other.total) % MODULUS)


class RowHashes(Protocol):
    """What tells the fingerprint of a table's rows; see :class:`rothko.release.truth.ToldHashes`."""

    @property
    def names(self) -> Collection[str]:
        """The columns that are looked at."""
        ...

    def of_rows(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str], table: str = "released"
    ) -> tuple[str, str]:
        """SQL of the hash of what a row's class publishes, and of the hash of what the row keeps."""
        ...


def fingerprint(connection: duckdb.DuckDBPyConnection, classes: str) -> Fingerprint:
    """That of rows, from ``size``, ``h`` (of what is published) and ``s`` (the sum of what is kept) of each class."""
    [(rows, total)] = connection.execute(
        f"SELECT coalesce(sum(size), 0), coalesce(sum({_smaller('p')}), 0) "
        f"FROM (SELECT size, {_smaller('h')} * {_smaller('s')} AS p FROM {classes})"
    ).fetchall()
    return Fingerprint(int(rows), int(total) % MODULUS)


def _smaller(number: str) -> str:
    """SQL of a shorter number with the same remainder by the modulus, 2^61 - 1: its upper bits count as lower ones.

    A remainder of long numbers takes SQL two hundred times as long.
    """
    return f"(({number}::HUGEINT & {MODULUS}) + ({number}::HUGEINT >> 61))"


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

    def __bool__(self) -> bool:
        return self.holds

    @property
    def subject(self) -> str:
        """The requirement, and what it is about."""
        of = f" of {self.requirement.column}" if self.requirement.column else ""
        over = f" over {', '.join(self.requirement.over)}" if self.requirement.over else ""
        return f"{self.requirement.name}{of}{over}"

    @property
    def summary(self) -> str:
        """The same with what was found."""
        return f"{self.subject}: {self.achieved:g} of {self.asked:g}, {'holds' if self.holds else 'does not hold'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it stands in a certificate."""
        return {
            "requirement": self.requirement.name,
            "of": self.requirement.owner or self.requirement.column,
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
    fingerprint: Fingerprint | None = None
    """Of all rows, where it was asked for."""
    true: bool = False
    """Whether the rows were compared with the original, and are those of its records (:mod:`rothko.release.truth`)."""
    sizes: Mapping[int, int] = field(default_factory=dict, repr=False, compare=False)
    """How many classes there are of each size."""

    @property
    def holds(self) -> bool:
        """Whether every requirement holds; not where none was looked at."""
        return bool(self.findings) and all(finding.holds for finding in self.findings)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        found = ", ".join(finding.summary for finding in self.findings)
        return f"Verification({self.rows:,} records in {self.classes:,} classes; {found or 'nothing was asked'})"

    def _repr_html_(self) -> str:
        return notebook.shown(
            f"{self.rows:,} records in {self.classes:,} classes: "
            + ("every requirement holds" if self.holds else "not every requirement holds"),
            findings_shown(self.findings),
        )


def findings_shown(findings: Sequence[Finding]) -> str:
    """What was asked and what is achieved, in a notebook."""
    rows = [
        (
            one.subject,
            f"{one.asked:g}",
            f"{one.achieved:g}",
            "yes" if one.holds else f"no: {one.violating_records:,} records",
        )
        for one in findings
    ]
    return notebook.table(("requirement", "asked", "achieved", "holds"), rows, left=(0, 3))


def verify(
    data: Path | pa.Table | Batches,
    requirements: Sequence[Requirement],
    quasi_identifiers: Mapping[str, Sequence[str]],
    *,
    missing: Sequence[str] = (),
    values: Mapping[str, Column] | None = None,
    owner: str | None = None,
    hashes: RowHashes | None = None,
    limits: Limits = UNLIMITED,
) -> Verification:
    """Compute every requirement from a table.

    Parameters
    ----------
    data
        A written release (CSV, TSV, Parquet, Arrow), or an Arrow table, whole or in batches.
    quasi_identifiers
        Quasi-identifier → the columns that publish it.
    missing
        Tokens that stand for a missing value.
    values
        Sensitive column → what the policy says of it: which of its values are one.
    owner
        The column that says whose a record is, where people are counted; a missing one is one person.
    hashes
        What tells the fingerprint of the rows, where it is asked for.
    limits
        What the counting may take; beyond its memory it goes on in files.
    """
    assert owner is not None or all(r.owner is None for r in requirements), "nobody says whose records are"
    used = {column for columns in quasi_identifiers.values() for column in columns}
    used |= {name for name in (owner, *(r.column for r in requirements)) if name is not None}

    def work(longest: int) -> Verification:
        with limits.connect() as connection:
            columns = open_table(connection, data, used if hashes is None else {*used, *hashes.names}, longest=longest)
            # Text, of which most is there many times: told apart as it stands, and read once.
            condensed = isinstance(data, Path) and file_format(data).condense(
                connection, data, len(columns), "released", longest
            )
            marks = NO_MARKS if hashes is None else hashes.of_rows(connection, columns)
            whose = None
            if owner is not None:
                whose = value_of(connection, owner, _number_of(owner, columns), None, missing)
            counting = Counting(connection, marks, whose)
            if condensed:
                counting = replace(counting, rows="released_lines", times="times")
            return _verify(counting, columns, requirements, quasi_identifiers, missing, values or {}, owner)

    return with_long_lines(work)


@dataclass(frozen=True, slots=True)
class Known:
    """The values of a sensitive column over a whole table of which only some classes are at hand."""

    raw: pa.Array
    """As they are written."""
    texts: pa.Array
    """What each counts as; missing is the empty text."""
    counts: NDArray[np.int64]
    """How many records have each."""

    def table(self) -> pa.Table:
        """Value and count."""
        return pa.table({"value": self.texts, "c": self.counts})


def verify_counted(
    rows: pa.Table,
    times: NDArray[np.int64],
    requirements: Sequence[Requirement],
    quasi_identifiers: Mapping[str, Sequence[str]],
    known: Mapping[str, Known],
) -> Verification:
    """Compute every requirement from some classes of a table, all of whose rows are there: each once, and how often.

    Sensitive values are texts already, as :attr:`Known.texts` has them.
    """
    with connect(1) as connection:
        named = rows.rename_columns([f"c{i}" for i in range(rows.num_columns)])
        connection.register("released", named.append_column("times", pa.array(times)))
        for name, about in known.items():
            connection.register(f"whole{rows.column_names.index(name)}", about.table())
        once = bool((times == 1).all())
        counting = Counting(connection, NO_MARKS, None, times="1" if once else "times", known=frozenset(known))
        return _verify(counting, tuple(rows.column_names), requirements, quasi_identifiers, (), {}, None)


def together(parts: Sequence[Verification]) -> Verification:
    """What a table holds, from what its classes do, some at a time."""
    first, *others = parts
    for other in others:
        findings = tuple(map(_worse, first.findings, other.findings))
        marks = None
        if first.fingerprint is not None and other.fingerprint is not None:
            marks = first.fingerprint + other.fingerprint
        sizes = dict(Counter(first.sizes) + Counter(other.sizes))
        first = Verification(
            first.rows + other.rows, first.columns, first.classes + other.classes, findings, marks, sizes=sizes
        )  # fmt: skip
    return first


def _worse(one: Finding, other: Finding) -> Finding:
    weakest = max if one.requirement.falling else min
    achieved = [a for a in (one.achieved, other.achieved) if not math.isnan(a)]
    return replace(
        one,
        achieved=weakest(achieved) if achieved else math.nan,
        holds=one.holds and other.holds,
        classes=one.classes + other.classes,
        violating_classes=one.violating_classes + other.violating_classes,
        violating_records=one.violating_records + other.violating_records,
    )


def _verify(
    counting: Counting,
    columns: tuple[str, ...],
    requirements: Sequence[Requirement],
    quasi_identifiers: Mapping[str, Sequence[str]],
    missing: Sequence[str],
    values: Mapping[str, Column],
    owner: str | None,
) -> Verification:
    """What the table ``released`` holds."""
    connection = counting.connection
    everything = tuple(quasi_identifiers)
    asked = parts_of(requirements, owner)
    findings: dict[Requirement, Finding] = {}
    groups: dict[tuple[str, ...], list[Requirement]] = {everything: []}
    for requirement in asked:
        over = everything if requirement.over is None else tuple(q for q in everything if q in requirement.over)
        groups.setdefault(over, []).append(requirement)
    rows = classes = 0
    found: Fingerprint | None = None
    sizes: dict[int, int] = {}
    for over, members in groups.items():
        by = [_number_of(column, columns) for q in over for column in quasi_identifiers[q]]
        for (column, needs), about in _by_statistics(members).items():
            domain = None
            if column is None:
                counting.group(by)
            else:
                place = _number_of(column, columns)
                value = value_of(connection, column, place, values.get(column), missing)
                if needs == "moments":
                    counting.measure(by, column, place, value, missing)
                else:
                    counting.count(by, value, place if column in counting.known else None)
                    domain = domain_of(connection, column, "everyone" if column in counting.known else "counted")
            [(rows, count)] = connection.execute("SELECT coalesce(sum(size), 0), count(*) FROM class").fetchall()
            if over == everything:
                classes = count
                sizes = sizes or _sizes(connection)
                found = found or fingerprint(connection, "class")
                counting = replace(counting, marks=NO_MARKS)  # once is enough
            for requirement in about:
                findings[requirement] = _find(connection, requirement, domain, count)
    held = tuple(findings[requirement] for requirement in asked)
    return Verification(rows, columns, classes, held, found, sizes=sizes)


def _sizes(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """How many classes there are of each size."""
    return dict(connection.execute("SELECT size, count(*) FROM class GROUP BY size ORDER BY size").fetchall())


def parts_of(requirements: Sequence[Requirement], owner: str | None) -> tuple[Requirement, ...]:
    """The requirements and what they consist of, each once."""
    asked = list(requirements)
    asked += [part for requirement in requirements for part in requirement.parts(owner) if part not in asked]
    return tuple(dict.fromkeys(asked))


def _by_statistics(requirements: Sequence[Requirement]) -> dict[tuple[str | None, str], list[Requirement]]:
    """Requirements by the column and what they need of it; those about none go with the first that there is."""
    groups: dict[tuple[str | None, str], list[Requirement]] = {}
    for requirement in requirements:
        groups.setdefault((requirement.column, requirement.needs), []).append(requirement)
    if (None, "size") in groups and len(groups) > 1:
        without = groups.pop((None, "size"))
        next(iter(groups.values())).extend(without)
    return groups or {(None, "size"): []}


def _find(
    connection: duckdb.DuckDBPyConnection, requirement: Requirement, domain: Domain | None, classes: int
) -> Finding:
    """What the weakest class reaches, and the classes that fail."""
    for name, table in (requirement.lookup(domain) if domain is not None else {}).items():
        connection.register(name, table)
    weakest = "max" if requirement.falling else "min"
    [(achieved, violating, records, found)] = connection.execute(
        f"SELECT {weakest}(score), count(*) FILTER (NOT coalesce(holds, false)), "
        f"sum(size) FILTER (NOT coalesce(holds, false)), count(*) FROM ({requirement.sql()})"
    ).fetchall()
    if found != classes:
        raise AssertionError(f"{requirement.name} was answered for {found} of {classes} classes")
    return Finding(
        requirement=requirement,
        asked=requirement.asked,
        achieved=float("nan") if achieved is None else float(achieved),
        holds=classes > 0 and not violating,
        classes=classes,
        violating_classes=int(violating),
        violating_records=int(records or 0),
    )


def open_table(
    connection: duckdb.DuckDBPyConnection,
    data: Path | pa.Table | Batches,
    used: Collection[str],
    table: str = "released",
    *,
    longest: int = USUAL,
) -> tuple[str, ...]:
    """Let the data be a table with the columns c0, c1, …; returns their real names.

    SQL does not tell ``a`` from ``A``: grouping by both would group by one of them twice.
    """
    if isinstance(data, pa.Table):
        names = data.column_names
        # Not the others: DuckDB does not know every type that may be kept.
        places = [i for i, name in enumerate(names) if name in used]
        connection.register(table, data.select(places).rename_columns([f"c{i}" for i in places]))
        return tuple(names)
    if isinstance(data, Batches):
        connection.register(table, data.renamed([f"c{i}" for i in range(len(data.schema))]))
        return tuple(data.schema.names)
    return file_format(data).view(connection, data, used, table, longest)


def with_long_lines(work: Callable[[int], Result]) -> Result:
    """What comes of work on a file whose lines have the usual length, or else any; it is told the longest."""
    try:
        return work(USUAL)
    except duckdb.Error as error:
        if "line size" not in str(error).lower():
            raise
    return work(LONGEST)


def check_schema(data: Path, meant: pa.Schema) -> None:
    """Refuse a file whose columns have other names or types than they were meant to have."""
    form = file_format(data)
    stored = form.stored(meant)
    if stored is not None and not form.schema(data).equals(stored, check_metadata=True):
        raise VerificationError(
            "Verification failed: the written file has other columns, or columns of other types, than it should; "
            "nothing was released. Please report this."
        )


def _number_of(column: str, columns: Sequence[str]) -> str:
    return f"c{columns.index(column)}"


def _number(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
