"""A recoding as an SQL query, which DuckDB and PostgreSQL answer alike.

The innermost query finds the part of each value (:mod:`rothko.release.recoding.part_sql`). A recoding by column shows
what each part shows. A tree of cuts is a ``CASE`` in a ``CASE`` as long as it is small. A large one would be too deep
and too long for that: its top only is said so, and a join finds the region below it in a table of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.policy.policy import Policy
from rothko.release.publish import ROOT, Published
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.part_sql import part_of, value_of
from rothko.release.rows import decoded
from rothko.release.sql import name_of

Tree = Mapping[str, NDArray[np.int32]]

NESTED = 200
"""The most regions that are said by ``CASE`` alone."""
BRANCHES = 64
"""Of a larger tree, how many branches its top is divided in; a record is compared with the rules of one."""


def column_query(
    attributes: Sequence[Attribute], published: Mapping[str, Sequence[Published]], policy: Policy, table: str
) -> str:
    """A query that recodes the records of a table, by a ``CASE`` for every column."""
    names = _Names(policy, len(attributes))
    unknown = names.unknown()
    at = {attribute.name: i for i, attribute in enumerate(attributes)}

    def shown(name: str, column: Published) -> str:
        known = _by_number(f"p.{names.parts[at[name]]}", column)
        return f"CASE WHEN {unknown} THEN {_suppressed(column)} ELSE {known} END"

    return f"SELECT\n{_columns(published, policy, shown)}\nFROM {_placed(attributes, policy, table, names)} AS p\n"


def tree_query(
    attributes: Sequence[Attribute],
    tree: Tree,
    published: Mapping[str, Sequence[Published]],
    policy: Policy,
    table: str,
    rules: str,
) -> str:
    """A query that recodes the records of a table, by going down a tree of cuts."""
    names = _Names(policy, len(attributes))
    placed = _placed(attributes, policy, table, names)
    large = bool((tree["leaf"] >= NESTED).any())
    numbers = branches(tree) if large else tree["leaf"]
    found = f"CASE WHEN {names.unknown()} THEN NULL ELSE {_descent(tree, numbers, names, 0)} END"
    region = f"(\n  SELECT p.*, {found} AS {names.region}\n  FROM {placed} AS p\n)"
    order = {column.name: i for i, column in enumerate(c for columns in published.values() for c in columns)}

    def of_class(name: str, column: Published) -> str:
        known = _by_number(f"p.{names.region}", column)
        return f"CASE WHEN p.{names.region} IS NULL THEN {_suppressed(column)} ELSE {known} END"

    def of_rule(name: str, column: Published) -> str:
        return f"CASE WHEN r.branch IS NULL THEN {_suppressed(column)} ELSE r.shown_{order[column.name]} END"

    if not large:
        return f"SELECT\n{_columns(published, policy, of_class)}\nFROM {region} AS p\n"
    inside = [f"p.{part} BETWEEN r.low_{i} AND r.high_{i}" for i, part in enumerate(names.parts)]
    return (
        f"-- {rules} is the table that sql_rules() of the recoding gives.\n"
        f"SELECT\n{_columns(published, policy, of_rule)}\nFROM {region} AS p\n"
        f"LEFT JOIN {name_of(rules)} AS r\n  ON {' AND '.join([f'r.branch = p.{names.region}', *inside])}\n"
    )


def tree_rules(
    tree: Tree,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    published: Mapping[str, Sequence[Published]],
) -> pa.Table:
    """The rules that :func:`tree_query` joins with: of each class its branch, its parts, and what it shows.

    Parameters
    ----------
    low, high
        (nodes, quasi-identifiers): the parts that each node of the tree reaches over.
    """
    leaves = np.flatnonzero(tree["leaf"] >= 0)
    leaves = leaves[np.argsort(tree["leaf"][leaves])]
    columns: dict[str, Any] = {"branch": _above(tree, branches(tree))[leaves]}
    for i in range(low.shape[1]):
        columns |= {f"low_{i}": low[leaves, i], f"high_{i}": high[leaves, i]}
    shown = [column for listed in published.values() for column in listed]
    return decoded(pa.table(columns | {f"shown_{j}": column.by() for j, column in enumerate(shown)}))


def branches(tree: Tree) -> NDArray[np.int32]:
    """The number of the branch that begins at each node; -1 for the nodes above and below."""
    open_ = [0]
    while True:
        inner = [node for node in open_ if tree["attribute"][node] >= 0]
        grown = len(open_) + sum(int(tree["children"][node]) - 1 for node in inner)
        if not inner or grown > BRANCHES:
            break
        open_ = [
            below
            for node in open_
            for below in (
                range(tree["child"][node], tree["child"][node] + tree["children"][node])
                if tree["attribute"][node] >= 0
                else (node,)
            )
        ]
    numbers = np.full(len(tree["attribute"]), -1, dtype=np.int32)
    numbers[open_] = np.arange(len(open_), dtype=np.int32)
    return numbers


def _above(tree: Tree, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """The branch that each node lies in; children come after their parents."""
    found = numbers.copy()
    for node in np.flatnonzero(tree["attribute"] >= 0):
        if found[node] >= 0:
            found[tree["child"][node] : tree["child"][node] + tree["children"][node]] = found[node]
    return found


class _Names:
    """Names of columns that the query adds, which none of the table has."""

    def __init__(self, policy: Policy, attributes: int) -> None:
        mark = ""
        while any(name.lower().startswith((f"{mark}part_", f"{mark}region")) for name in policy.columns):
            mark += "_"
        self.parts = [f"{mark}part_{i}" for i in range(attributes)]
        self.region = f"{mark}region"

    def unknown(self) -> str:
        """Whether a record has a value that cannot be placed: the others beside it would tell it apart."""
        return " OR ".join(f"p.{part} IS NULL" for part in self.parts)


def _placed(attributes: Sequence[Attribute], policy: Policy, table: str, names: _Names) -> str:
    """The records with what they keep, and the part of each of their quasi-identifiers."""
    kept = [name_of(name) for name in policy.columns if name in policy.kept + policy.sensitive]
    parts = [
        f"{part_of(attribute, column, (*policy.missing, *column.missing))} AS {part}"
        for attribute, part in zip(attributes, names.parts, strict=True)
        for column in [policy.columns[attribute.name]]
    ]
    inside = ",\n".join(f"    {column}" for column in (*kept, *parts))
    return f"(\n  SELECT\n{inside}\n  FROM {name_of(table)}\n)"


def _columns(
    published: Mapping[str, Sequence[Published]], policy: Policy, shown: Callable[[str, Published], str]
) -> str:
    """What leaves, in the order of the policy."""
    columns = []
    for name in policy.columns:
        if name in published:
            columns += [f"  {shown(name, column)} AS {name_of(column.name)}" for column in published[name]]
        elif name not in policy.identifiers:
            columns.append(f"  p.{name_of(name)}")
    return ",\n".join(columns)


def _by_number(number: str, column: Published) -> str:
    values = column.values.take(pa.array(column.of_class))
    whens = [f"WHEN {i} THEN {value_of(value)}" for i, value in enumerate(values)]
    return f"CASE {number} {' '.join(whens)} END"


def _suppressed(column: Published) -> str:
    return f"'{ROOT}'" if pa.types.is_string(column.values.type) else "NULL"


def _descent(tree: Tree, numbers: NDArray[np.int32], names: _Names, node: int) -> str:
    """The number of the region, or of the branch, that a record comes to from a node."""
    if numbers[node] >= 0:
        return str(numbers[node])
    part = f"p.{names.parts[tree['attribute'][node]]}"
    first, last = int(tree["child"][node]), int(tree["child"][node] + tree["children"][node]) - 1
    whens = [
        f"WHEN {part} < {tree['begins'][below + 1]} THEN {_descent(tree, numbers, names, below)}"
        for below in range(first, last)
    ]
    end = _descent(tree, numbers, names, last)
    return f"CASE {' '.join(whens)} ELSE {end} END" if whens else end
