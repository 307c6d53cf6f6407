"""What does any table satisfy? The verifier's questions, asked of a table that rothko need not have made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from rothko import notebook
from rothko.data.fold import warn_of_look_alikes
from rothko.data.schema import counts_texts, refuse_unnamed
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.data.typed import with_one_missing
from rothko.engines.plan import check_engine
from rothko.errors import PolicyError, nearest
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.draft import as_policy
from rothko.policy.opened import where_it_lies, written_by
from rothko.policy.policy import Policy
from rothko.policy.words import Words, takes
from rothko.progress import count_threads
from rothko.release.anatomy import COUNT, GROUP
from rothko.release.publish import bounds_names, mean_name
from rothko.release.sql import Limits
from rothko.release.verify import Known, Verification, verify


@dataclass(frozen=True, slots=True)
class Check:
    """What a table holds of a policy; it is true where :attr:`holds` is."""

    verification: Verification
    identifiers: tuple[str, ...]
    """Columns with the role of an identifier that are still there."""

    @property
    def holds(self) -> bool:
        """Whether every requirement holds and no identifier is left."""
        return self.verification.holds and not self.identifiers

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        left = f"Identifiers are left: {', '.join(self.identifiers)}." if self.identifiers else ""
        return self.verification._repr_html_() + (notebook.words(left) if left else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "holds": self.holds,
            "rows": self.verification.rows,
            "classes": self.verification.classes,
            "requirements": [finding.to_dict() for finding in self.verification.findings],
            "identifiers_left": list(self.identifiers),
        }


@takes(Words)
def check(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    engine: str | None = None,
    spark_master: str | None = None,
    threads: int | None = None,
    csv: CsvOptions | None = None,
    **words: Unpack[Words],
) -> Check:
    """Assess a table against a policy: original data, a release, or somebody else's.

    A table on a cluster, a DataFrame of Spark or what ``engine="spark"`` (in the policy, too) reads, is counted there.

    In place of a policy, say what is asked, as for :func:`rothko.anonymize`: ``qi=["age"], k=10``. Columns that are not
    named are refused; ``keep`` names those that nothing is asked of.

    >>> import rothko as rk
    >>> people = {"age": [30, 30, 41], "disease": ["flu", "cold", "flu"]}
    >>> finding = rk.check(people, qi="age", sensitive="disease", k=2).verification.findings[0]
    >>> finding.achieved, finding.violating_classes, finding.violating_records
    (1.0, 1, 1)
    """
    policy = None if policy is None else as_policy(policy)
    check_engine(engine or "auto")
    if isinstance(data, str | Path | list | tuple):
        data = where_it_lies(data, policy, engine, spark_master=spark_master, csv=csv)
    asked = Asked.of(data, policy, words, csv=csv, or_release=True)
    source, policy = asked.source, asked.settled()
    shown = {name: published_in(name, source.names, source.label, policy) for name in policy.quasi_identifiers}
    for name in policy.sensitive:
        if name not in source.names:
            raise PolicyError(f"columns.{name}: {source.label} has no such column; {nearest(name, source.names)}")
    owner = _owner(policy, source.names, source.label)
    columns = [column for columns in shown.values() for column in columns] + [*policy.sensitive, *owner]
    _all_named(source.names, columns, policy, source.label)
    unfolded = [name for name in policy.sensitive if counts_texts(policy.columns[name])]
    if source.frame is not None:
        found = _on_cluster(source, policy, shown, unfolded)
    else:
        table = source.read(columns, as_text=columns)
        # Which values of a sensitive column are one, and which are missing, is the verifier's to say.
        table = pa.table(
            {
                name: with_one_missing(name, table[name], () if name in (*policy.sensitive, *owner) else policy.missing)
                for name in columns
            }
        )
        warn_of_look_alikes({name: _distinct(table[name]) for name in unfolded}, stacklevel=2)
        found = verify(
            table,
            policy.privacy,
            shown,
            missing=policy.missing,
            values=policy.columns,
            owner=policy.owner,
            limits=Limits(count_threads(threads)),
        )
    return Check(found, tuple(name for name in policy.identifiers if name in source.names))


def _on_cluster(
    source: Source, policy: Policy, shown: Mapping[str, Sequence[str]], unfolded: Sequence[str]
) -> Verification:
    from rothko.engines.spark.cluster import Cluster
    from rothko.engines.spark.session import session_of
    from rothko.release.spark.check import check_on

    if policy.owner is not None:
        raise PolicyError(
            f"People (of: {policy.owner}) are not counted on a cluster; write the table to a Parquet file and check "
            "that, or remove 'of' to count records."
        )

    def look(values: Mapping[str, Known]) -> None:
        found = {name: about.raw.drop_null() for name, about in values.items() if name in unfolded}
        warn_of_look_alikes(found, stacklevel=5)

    cluster = Cluster(session_of(source.frame))
    cluster.check()
    return check_on(cluster, source, policy, shown, written_by(policy, or_release=True), look)


def _owner(policy: Policy, names: Sequence[str], label: str) -> tuple[str, ...]:
    """The column that says whose a record is, where people are counted; refuses a table that does not have it."""
    if policy.owner is None:
        return ()
    if policy.owner not in names:
        raise PolicyError(
            f"The policy counts people by {policy.owner!r}, and {label} has no such column, as no release has: people "
            "can only be counted beside the original, which was done when it was released (see its certificate); "
            "remove 'of' to count records."
        )
    return (policy.owner,)


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column; texts, which are a dictionary here, as such."""
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.unique().cast(plain).drop_null()


def _all_named(names: Sequence[str], shown: Sequence[str], policy: Policy, label: str) -> None:
    """Refuse columns that the policy does not name, as anonymize does: what they tell is not looked at."""
    added = (GROUP, COUNT) if policy.method.name == "anatomy" else ()
    refuse_unnamed([name for name in names if name not in (*policy.columns, *shown, *added)], label)


def published_in(name: str, names: tuple[str, ...], label: str, policy: Policy) -> tuple[str, ...]:
    """The columns of a table that show a quasi-identifier: itself or its two bounds, and the statistics beside them.

    A column that the policy names is one of its own, whatever it is called.
    """
    added = [
        column for column in (*bounds_names(name), mean_name(name)) if column in names and column not in policy.columns
    ]
    if name in names:
        return (name, *added)
    if set(bounds_names(name)) <= set(added):
        return tuple(added)
    raise PolicyError(f"columns.{name}: {label} has no such column; {nearest(name, names)}")
