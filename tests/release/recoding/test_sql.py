"""Recodings as SQL: what DuckDB and PostgreSQL make of records is what `apply` makes of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import rothko as rk
from rothko.errors import PolicyError
from rothko.release.recoding import query
from rothko.release.recoding.recoding import Recoding
from tests.databases import Recode, in_duckdb
from tests.strategies.kinds import KINDS, new_rows, of_kind
from tests.strategies.tables import Case, cases

FORMS = ((5, "range"), (60, "region"), (5, "bounds"), (60, "mean"))


def in_order(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows by their texts: a database keeps no order, and a whole number may come as another type of one."""
    return sorted(repr({name: row[name] for name in sorted(row)}) for row in rows)


def check(recoding: Recoding | None, table: pa.Table, in_postgres: Recode, name: str = "records") -> None:
    """Both databases make of a table what `apply` makes of it."""
    assert recoding is not None
    wanted = in_order(recoding.apply(table).to_pylist())
    tables = {name: table}
    if isinstance(recoding, Recoding) and recoding.to_sql().startswith("--"):
        tables["rules"] = recoding.sql_rules()
    said = recoding.to_sql(name)
    assert in_order(in_duckdb(said, tables)) == wanted
    assert in_order(in_postgres(said, tables)) == wanted


@pytest.mark.parametrize("method", ["mondrian", "refine"])
@pytest.mark.parametrize("kind", KINDS)
def test_sql_recodes_as_apply_does_for_every_kind_of_column(kind: str, method: str, in_postgres: Recode) -> None:
    for k, form in FORMS:
        table, policy = of_kind(kind, k, form, method)
        recoding = rk.anonymize(table, policy).recoding
        for rows in (table, new_rows(kind, table)):
            check(recoding, rows, in_postgres)


@given(cases())
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sql_goes_down_any_tree(in_postgres: Recode, case: Case) -> None:
    columns = {name: {"role": "quasi-identifier", **spec} for name, spec in case.specs.items()}
    table = pa.table({name: case.columns[name] for name in case.specs})
    policy = rk.Policy(columns=columns, privacy=[{"k-anonymity": {"k": 2}}])
    if table.num_rows < 2 or any(pa.types.is_null(kind) for kind in table.schema.types):
        return
    check(rk.anonymize(table, policy).recoding, table, in_postgres)


def people(n: int) -> pa.Table:
    rng = np.random.default_rng(5)
    words = ["it's", 'say "hi"', "back\\slash", "100 %", "ümlaut", "two\nlines", "a, b", "", "é", "Z"]
    days = [datetime.date(1990, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 9000, n)]
    return pa.table(
        {
            "number": pa.array([None if x % 17 == 0 else int(x) for x in rng.integers(0, 500, n)], pa.int32()),
            "share": pa.array([float("nan") if x < 0.02 else x for x in rng.random(n)]),
            "word": pa.array([words[i] for i in rng.integers(0, len(words), n)]),
            "day": pa.array(days),
            "pay": pa.array([Decimal(int(x)) / 100 for x in rng.integers(0, 10**6, n)], pa.decimal128(9, 2)),
            "kept": pa.array(range(n)),
        }
    )


def strangers(table: pa.Table) -> pa.Table:
    """Records with values that the recoding did not see: beyond its numbers, between them, and unknown words."""
    new = {
        "number": [-(2**31), 2**31 - 1, None, 250, 3], "share": [-1.0, 2.0, float("nan"), 0.5, float("inf")],
        "word": ["unheard of", "it''s", None, "ümlaut", "é"],
        "day": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None, datetime.date(2000, 2, 29), None],
        "pay": [Decimal("-0.01"), Decimal("9999999.99"), None, Decimal("5000.00"), Decimal("12.34")],
        "kept": [0, 1, 2, 3, 4],
    }  # fmt: skip
    return pa.table({name: pa.array(values, table.schema.field(name).type) for name, values in new.items()})


@pytest.mark.parametrize(("rows", "joined"), [(300, False), (6000, True)])
@pytest.mark.parametrize("publish", ["range", "bounds"])
def test_a_large_tree_is_joined_with_its_rules(rows: int, joined: bool, publish: str, in_postgres: Recode) -> None:
    table = people(rows)
    policy = rk.Policy.quick(table.column_names, qi=table.column_names[:-1], k=5, publish=publish, keep_rest=True)
    policy = policy.but(missing=("é",))
    recoding = rk.anonymize(table, policy).recoding
    assert recoding is not None
    assert (recoding.classes > query.NESTED) == joined
    assert ("LEFT JOIN" in recoding.to_sql()) == joined
    for records in (table.slice(0, 400), strangers(table)):
        check(recoding, records, in_postgres)
    assert recoding.sql_rules().num_rows == recoding.classes
    assert 1 < len(np.unique(recoding.sql_rules()["branch"])) <= query.BRANCHES


def test_a_tree_of_one_branch_only_is_not_too_deep(in_postgres: Recode) -> None:
    """Every cut takes one class off the end: as many levels as there are regions."""
    size = query.NESTED
    numbers = np.repeat(np.arange(size), 2)
    table = pa.table({"x": numbers, "kept": np.arange(len(numbers))})
    recoding = rk.anonymize(table, rk.Policy.quick(["x", "kept"], qi=["x"], keep=["kept"], k=2)).recoding
    assert recoding is not None
    assert recoding.classes == size
    inner = np.arange(0, 2 * size - 2, 2)  # node 0, and then the second of each pair
    tree = {name: np.zeros(2 * size - 1, dtype=np.int32) for name in ("attribute", "begins", "child", "children")}
    tree["attribute"][:] = -1
    leaf = np.full(2 * size - 1, -1, dtype=np.int32)
    for level, node in enumerate(inner):
        tree["attribute"][node], tree["child"][node], tree["children"][node] = 0, node + 1, 2
        tree["begins"][node + 2] = level + 1
        leaf[node + 1] = level
    leaf[2 * size - 2] = size - 1
    chain = Recoding(recoding.policy, recoding.attributes, {**tree, "leaf": leaf}, recoding.published)
    assert np.array_equal(chain.place(table), numbers)
    check(chain, table, in_postgres)


def test_names_may_be_those_that_the_query_would_use(in_postgres: Recode) -> None:
    names = ["part_0", "region", "branch", "p", "r", 'a "quoted" name', "select"]
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.integers(0, 9, 60) for name in names})
    for method in ("mondrian", "refine"):
        policy = rk.Policy.quick(names, qi=["part_0", "p", names[5]], k=3, method=method, keep_rest=True)
        check(rk.anonymize(table, policy).recoding, table, in_postgres, 'my "table"')


def test_texts_in_groups_are_in_the_order_of_their_bytes(in_postgres: Recode) -> None:
    """A database of a language puts é beside e and b before C."""
    words = ["B", "C", "a", "b", "c", "d", "e", "é", "z", "Ä"] * 6
    table = pa.table({"x": words, "kept": list(range(60))})
    columns = {"x": {"role": "quasi-identifier", "hierarchy": "auto"}, "kept": {"role": "keep"}}
    policy = rk.Policy(columns=columns, privacy=[{"k-anonymity": {"k": 6}}])
    recoding = rk.anonymize(table, policy).recoding
    check(recoding, table, in_postgres)
    assert recoding is not None
    assert 'COLLATE "C" BETWEEN' in recoding.to_sql()  # the PostgreSQL of these tests knows no language


def test_what_databases_understand_differently_is_refused() -> None:
    floats = pa.table({"x": [1.0, 2.0, 1.0, 2.0]})
    masked = {"x": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}}}
    moments = pa.table({"x": pa.array([1, 2, 1, 2], pa.timestamp("ns"))})
    plain = {"x": {"role": "quasi-identifier"}}
    for table, columns, why in (
        (floats, masked, "groups values of type double by their text"),
        (moments, plain, "nanoseconds"),
    ):
        recoding = rk.anonymize(table, rk.Policy(columns=columns, privacy=[{"k-anonymity": {"k": 2}}])).recoding
        assert recoding is not None
        with pytest.raises(PolicyError, match=why):
            recoding.to_sql()


def test_a_recoding_by_column_has_no_rules() -> None:
    table, policy = of_kind("whole numbers", 5)
    recoding = rk.anonymize(table, policy).recoding
    assert recoding is not None
    with pytest.raises(PolicyError, match="needs no table of rules"):
        recoding.sql_rules()
