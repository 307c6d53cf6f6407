"""A release of two tables (:mod:`rothko.methods.anatomy`): exact quasi-identifiers, and sensitive values by group.

It is verified as any other: on the written bytes, by SQL that knows nothing of how the groups were made. Each group of
the sensitive table must meet the requirements; each must have as many records as in the table of quasi-identifiers; and
both together must be the records that were meant to leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import counted
from rothko.data.fold import warn_of_look_alikes
from rothko.data.schema import counts_texts
from rothko.data.source.formats import in_cells, is_text
from rothko.data.source.guess import typed_text
from rothko.data.source.source import Source
from rothko.data.typed import typed_column
from rothko.errors import PolicyError, VerificationError
from rothko.methods.anatomy import WARNING, anatomize
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.privacy.requirement import Requirement
from rothko.release.certificate import Certificate
from rothko.release.kinds import refuse_unions
from rothko.release.loss import Loss
from rothko.release.meant import Meant
from rothko.release.publish import Published
from rothko.release.rebuilt import rebuilt
from rothko.release.release import TableRelease
from rothko.release.rows import columns_of, decoded, random_order
from rothko.release.save import Outgoing, Unverified, timed
from rothko.release.sql import UNLIMITED, Limits
from rothko.release.truth import Told, ToldHashes, typed_as
from rothko.release.verify import Verification, open_table, verify
from rothko.release.write import as_rows, write_table
from rothko.secret import Secret

GROUP, COUNT = "group", "count"
"""The columns that are added."""


@dataclass(frozen=True, slots=True, repr=False)
class AnatomyRelease(TableRelease):
    """Two tables that may be released together: what a release has, as far as there is."""

    two_tables: ClassVar[bool] = True
    classes_are: ClassVar[str] = "groups"

    certificate: Certificate
    _exact: pa.Table
    sensitive_arrow: pa.Table
    """The sensitive values of each group, and how many of its records have each."""
    _told: tuple[Told, Told]
    """What the rows of both must be, by the original."""
    _source: Source
    _threads: int = 1

    @property
    def arrow(self) -> pa.Table:
        """The quasi-identifiers and the columns that are kept, exact, with the group of each record."""
        return self._exact

    @property
    def recoding(self) -> None:
        """There is none: nothing is generalised."""
        return

    @property
    def sensitive(self) -> Any:
        """The sensitive values, in the kind of table that came in."""
        return self._source.restore(decoded(self.sensitive_arrow))

    @property
    def classes(self) -> pa.Table:
        """How many records each group has."""
        numbers = np.bincount(self.arrow[GROUP].to_numpy())[1:]
        return pa.table({GROUP: np.arange(1, len(numbers) + 1), "records": numbers})

    def verified(self) -> AnatomyRelease:
        """The same release, verified as it is in memory; an error where it does not hold what was asked."""
        return replace(self, certificate=self._checked(partial(self._verified, self.arrow, self.sensitive_arrow)))

    def _recodes(self) -> bool:
        return False

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        escaped: set[str] = set()
        with timed(out.timings, "write"):
            for table, at in zip((self.arrow, self.sensitive_arrow), out.files, strict=True):
                escape = self.certificate.policy.csv.escape_formulas
                escaped |= write_table(self._as_written(table, at), at, escape=escape, labels=self._source.labels)
        return Unverified(partial(self._verified, *out.files), self._certified, escaped)

    def _verified(self, data: Path | pa.Table, sensitive: Path | pa.Table) -> Verification:
        limits = Limits(self._threads)
        for place, told, table in zip((data, sensitive), self._told, (self.arrow, self.sensitive_arrow), strict=True):
            written = self._as_written(table, place) if isinstance(place, Path) else table
            types = typed_as(written, decoded(table))
            with limits.connect() as connection:
                wanted = ToldHashes(told, in_cells(place), types).expected(connection)
            schema = as_rows(written).schema
            Meant(table.num_rows, tuple(table.column_names), told, wanted, {}, schema, types).check_rows(place, limits)
        columns = self.arrow.column_names, self.sensitive_arrow.column_names
        policy = self.certificate.policy
        checked = verified_pair(
            data, sensitive, columns, self.arrow.num_rows, requirements_of(policy), policy.missing,
            values=policy.columns, limits=limits,
        )  # fmt: skip
        return replace(checked, true=True)

    def _as_written(self, table: pa.Table, place: Path) -> pa.Table:
        """The columns of a text file get their types back in a file that has types."""
        if is_text(place) or not self._source.text:
            return table
        added = (GROUP, COUNT)
        return pa.table({name: c if name in added else typed_text(c) for name, c in columns_of(decoded(table))})


def requirements_of(policy: Policy) -> tuple[Requirement, ...]:
    """What is verified: what was asked for, and frequency-l-diversity, which is what the groups were made for."""
    return tuple(dict.fromkeys((*policy.privacy, policy.method.asked(policy))))


def two_tables(
    table: pa.Table, names: Sequence[str], policy: Policy, source: Source, *, reason: str, seed: int, secret: Secret,
    threads: int, timings: dict[str, float], lost: Callable[[NDArray[np.int64]], Loss],
) -> AnatomyRelease:  # fmt: skip
    """The release of a table, not verified yet.

    Parameters
    ----------
    names
        The columns in the order of the input.
    timings
        Seconds by stage; what is done here is added.
    lost
        What groups of such sizes lose.
    """
    asked = policy.method.asked(policy)
    column = asked.of
    _no_clash(names, policy)
    refuse_unions(table.schema)
    with timed(timings, "encode"):
        codes, domain = counted(column, typed_column(column, table[column], policy))
        if counts_texts(policy.columns[column]):
            warn_of_look_alikes({column: domain.values}, stacklevel=5)
    with timed(timings, "partition"):
        groups = anatomize(codes, int(asked.l), secret)
    with timed(timings, "publish"):
        released = [name for name in names if name in policy.quasi_identifiers + policy.kept]
        keep = policy.order == "keep"
        exact = _numbered(table.select(released), groups, None if keep else seed, threads)
        # No value is twice in a group, so a row of a value in a group is a record; which one, the order must not tell.
        hidden = _numbered(table.select([column]), groups, seed, threads)
        hidden = hidden.select([GROUP, column]).append_column(COUNT, pa.array(np.ones(len(hidden), dtype=np.int64)))
    certificate = Certificate(
        policy,
        Verification(table.num_rows, tuple(exact.column_names), int(groups.max()) + 1, ()),
        lost(np.bincount(groups)),
        seed,
        "memory",
        reason,
        notes=(*source.notes, WARNING[0].upper() + WARNING[1:]),
        timings=timings,
        key=secret.origin,
    )
    numbers = np.arange(int(groups.max()) + 1, dtype=np.int32)
    shown = Published(GROUP, pa.array(numbers.astype(np.int64) + 1), numbers)
    once = Published(COUNT, pa.array([1], pa.int64()), np.zeros(len(numbers), dtype=np.int32))
    told = (
        Told(tuple(released), table.select(released), groups, (shown,)),
        Told((column,), table.select([column]), groups, (shown, once)),
    )
    return AnatomyRelease(certificate, exact, hidden, told, source.let_go(), threads)


def _numbered(table: pa.Table, groups: NDArray[np.int32], seed: int | None, threads: int) -> pa.Table:
    """The rows with the number of their group, from 1 on, in an order that depends on the seed and what they show."""
    table = table.append_column(GROUP, pa.array(groups.astype(np.int64) + 1))
    order = None if seed is None else random_order(table, seed, threads=threads)
    return pa.table({name: rebuilt(column, order) for name, column in columns_of(table)})


def _no_clash(names: Sequence[str], policy: Policy) -> None:
    for added in (GROUP, COUNT):
        if added in names and (added == GROUP or added in policy.sensitive) and added not in policy.identifiers:
            raise PolicyError(f"anatomy adds a column {added!r}, and there is one of that name already; rename it.")


def verified_pair(
    data: Path | pa.Table,
    sensitive: Path | pa.Table,
    columns: tuple[Sequence[str], Sequence[str]],
    rows: int,
    requirements: Sequence[Requirement],
    missing: Sequence[str] = (),
    *,
    values: Mapping[str, Column] | None = None,
    limits: Limits = UNLIMITED,
) -> Verification:
    """Verify two tables, and fail closed.

    Parameters
    ----------
    data, sensitive
        Written files, or tables.
    columns
        The columns that both should have.
    rows
        The records that both should tell of.
    values
        Sensitive column → what the policy says of it.
    """
    with limits.connect() as connection:
        found = open_table(connection, data, {GROUP}, "exact"), open_table(connection, sensitive, columns[1], "hidden")
        if found != (tuple(columns[0]), tuple(columns[1])):
            raise _failed("the written tables have other columns than they should")
        group = _whole_number(f"c{found[0].index(GROUP)}")
        connection.execute(f"CREATE TEMP TABLE there AS SELECT {group} AS g, count(*) AS n FROM exact GROUP BY g")
        connection.execute(
            "CREATE TEMP TABLE counted AS "
            f"SELECT {_whole_number('c0')} AS g, c1 AS v, {_whole_number('c2')} AS n FROM hidden"
        )
        [(whole_rows, nameless)] = connection.execute(
            "SELECT coalesce(sum(n), 0), count(*) FILTER (g IS NULL) FROM there"
        ).fetchall()
        [(counted, broken)] = connection.execute(
            "SELECT coalesce(sum(n), 0), count(*) FILTER (g IS NULL OR n IS NULL OR n < 1) FROM counted"
        ).fetchall()
        if whole_rows != rows or counted != rows or nameless or broken:
            raise _failed("the written tables tell of other records than they should")
        [(apart,)] = connection.execute(
            "SELECT count(*) FROM there FULL JOIN (SELECT g, sum(n) AS n FROM counted GROUP BY g) AS told USING (g) "
            "WHERE there.n IS DISTINCT FROM told.n"
        ).fetchall()
        if apart:
            raise _failed(f"{apart} groups have another number of records in the sensitive table")
        # One row for each record, which is what requirements are about.
        each = connection.sql("SELECT g, v FROM counted, range(counted.n)").to_arrow_table()
    checked = verify(
        each.rename_columns([GROUP, columns[1][1]]), requirements, {GROUP: [GROUP]}, missing=missing, values=values,
        limits=limits,
    )  # fmt: skip
    for finding in checked.findings:
        if not finding.holds:
            raise _failed(
                f"{finding.requirement.describe()} does not hold in {finding.violating_classes} "
                f"of {finding.classes} groups"
            )
    return replace(checked, columns=found[0])


def _whole_number(column: str) -> str:
    """A column as whole numbers, null where it has none."""
    # Not a plain cast of the column: DuckDB leaves that to its reader of CSV, which fails.
    return f"TRY_CAST(concat({column}) AS BIGINT)"


def _failed(why: str) -> VerificationError:
    return VerificationError(f"Verification failed: {why}; nothing was released. Please report this.")
