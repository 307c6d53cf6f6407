"""Tables of databases by their address: exact, of one snapshot, and told without a word of who asks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import rothko as rk
from rothko.data.source.database.url import read_address, shown
from rothko.data.source.open import open_source
from rothko.errors import InputError, RothkoError
from tests.command import Rothko
from tests.databases import told

ASKED: dict[str, Any] = {"qi": ["age", "zip"], "sensitive": "disease", "drop": "name", "k": 5}
QUICK = ("--qi", "age,zip", "--sensitive", "disease", "--drop", "name", "--k", "5")
PEOPLE = (
    "SELECT i AS name, (20 + i * 7 % 50)::int AS age, lpad((i * 13 % 400)::text, 5, '0') AS zip, "
    "(ARRAY['flu', 'cold', 'asthma'])[1 + i % 3] AS disease FROM generate_series(1, 3000) AS i"
)


def people(rows: int = 3000) -> pa.Table:
    """The same as a table of Arrow."""
    i = range(1, rows + 1)
    return pa.table(
        {
            "name": pa.array(i, pa.int32()),
            "age": pa.array([20 + n * 7 % 50 for n in i], pa.int32()),
            "zip": [f"{n * 13 % 400:05}" for n in i],
            "disease": [["flu", "cold", "asthma"][n % 3] for n in i],
        }
    )


@pytest.fixture(scope="module")
def clinic(postgres: str) -> Iterator[str]:
    """A PostgreSQL with a table of people."""
    told(postgres, "CREATE SCHEMA clinic", f"CREATE TABLE clinic.people AS {PEOPLE}")
    yield postgres
    told(postgres, "DROP SCHEMA clinic CASCADE")


@pytest.fixture(params=["postgresql", "sqlite", "duckdb"])
def address(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a table of people, in each database."""
    if request.param == "postgresql":
        return f"{request.getfixturevalue('clinic')}&table=clinic.people"
    table = people()
    if request.param == "duckdb":
        with duckdb.connect("people.duckdb") as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
        return "duckdb:///people.duckdb?table=people"
    with sqlite3.connect("people.db") as lite:
        lite.execute("CREATE TABLE people (name INTEGER, age INTEGER, zip TEXT, disease TEXT)")
        lite.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in table.to_pylist()])
    lite.close()
    return "sqlite:///people.db?table=people"


def test_a_table_is_read_whole_in_pieces_and_by_column(address: str) -> None:
    source = open_source(address)
    assert (source.rows, source.names, source.path, source.in_memory) == (
        3000,
        tuple(people().column_names),
        None,
        False,
    )
    assert source.read().to_pylist() == people().to_pylist()
    pieces = list(source.batches(["zip", "age"], rows=700))
    assert all(piece.num_rows <= 700 for piece in pieces)
    assert pa.concat_tables(pieces).to_pylist() == people().select(["zip", "age"]).to_pylist()
    first = source.peek(["age"], rows=10)
    assert first is not None
    assert first.num_rows == 10
    assert source.size(["age", "zip"]) > 0


def test_a_table_is_released_as_if_it_were_a_file(address: str, disk_engine: str) -> None:
    given = {"engine": disk_engine, "seed": 3, **ASKED}
    there = rk.anonymize(address, **given)
    here = rk.anonymize(people(), **{**given, "engine": "memory"})
    order = [(name, "ascending") for name in ("age", "zip", "disease")]
    kinds = [pa.Table.from_pylist(one.arrow.to_pylist()).sort_by(order) for one in (there, here)]
    assert kinds[0].num_rows == 3000
    assert rk.check(kinds[0], qi=["age", "zip"], sensitive="disease", k=5).holds
    if disk_engine == "rothko-t":
        assert kinds[0].equals(kinds[1])


def test_every_command_takes_an_address(address: str, rothko: Rothko, folder: Path) -> None:
    assert rothko("anonymize", address, *QUICK, "--method", "mondrian", "--out", "out.csv").code == 0
    assert rothko("draft", address, "-o", "draft.yaml").code == 0
    assert rothko("check", address, *QUICK).code == 4
    (folder / "policy.yaml").write_text(
        "columns: {name: {role: identifier}, age: {role: quasi-identifier}, zip: {role: quasi-identifier}, "
        "disease: {role: sensitive}}\nprivacy: [{k-anonymity: {k: 5}}]\nmethod: mondrian\n"
    )
    told_by = [
        rothko("compare", address, "--policy", "policy.yaml", "--method", "mondrian", "--k", "5", "--out", "compared"),
        rothko("apply", "out-recoding", address, "--out", "applied.csv"),
        rothko("evaluate", address, *QUICK, "--classify", "disease", "--models", "bayes", "--folds", "2"),
    ]
    told_by.append(rothko("measure", address, "out.csv", "--policy", "policy.yaml"))
    told_by.append(rothko("report", "out.csv", "--for", "steward", "--original", address, "--policy", "policy.yaml"))
    assert [(ran.code, ran.err) for ran in told_by if ran.code] == []
    for path in folder.rglob("*"):
        if path.suffix in (".json", ".html", ".yaml", ".csv"):
            assert "postgres:@" not in path.read_text()


# ── PostgreSQL


def test_every_type_is_exact_text_or_refused_by_the_name_of_its_column(clinic: str) -> None:
    told(
        clinic,
        "CREATE TYPE clinic.mood AS ENUM ('well', 'ill')",
        """CREATE TABLE clinic.kinds AS SELECT 1::int2 AS short, 9007199254740993::int8 AS long, 0.1::float8 AS double,
        12345678901234567890.12::numeric(30, 2) AS fixed, 1.234567890123456789::numeric AS loose, '0042'::text AS code,
        'ab'::char(5) AS padded, true AS yes, date '2020-02-29' AS day, timestamp '2020-01-01 01:02:03.000004' AS local,
        timestamptz '2020-01-01 01:02:03+02' AS zoned, time '01:02:03' AS clock,
        'c0ffee00-0000-4000-8000-000000000000'::uuid AS uuid, '{"a": 1}'::jsonb AS json, '\\x00ff'::bytea AS bytes,
        'ill'::clinic.mood AS mood, 12.5::numeric::money AS money, 4000000000::oid AS oid, interval '1 day' AS span,
        ARRAY[1, 2] AS numbers, int4range(1, 3) AS range, ARRAY['ill'::clinic.mood] AS moods""",
    )
    source = open_source(f"{clinic}&table=clinic.kinds")
    refused = {"numbers": "an array", "range": "a range", "moods": "an array"}
    [row] = source.read([name for name in source.names if name not in refused]).to_pylist()
    assert row == {
        "short": 1, "long": 9007199254740993, "double": 0.1, "fixed": Decimal("12345678901234567890.12"),
        "loose": Decimal("1.234567890123456789"), "code": "0042", "padded": "ab", "yes": True, "day": date(2020, 2, 29),
        "local": datetime(2020, 1, 1, 1, 2, 3, 4), "zoned": datetime(2019, 12, 31, 23, 2, 3, tzinfo=UTC),
        "clock": time(1, 2, 3), "uuid": "c0ffee00-0000-4000-8000-000000000000", "json": '{"a": 1}',
        "bytes": b"\x00\xff", "mood": "ill", "money": Decimal("12.50"), "oid": 4000000000, "span": "1 day",
    }  # fmt: skip
    for name, what in refused.items():
        with pytest.raises(InputError, match=f"Column '{name}' of the table 'clinic.kinds' in PostgreSQL is {what}"):
            source.read([name])
    draft = rk.draft(f"{clinic}&table=clinic.kinds")
    assert {draft.policy.columns[name].role for name in refused} == {"identifier"}
    assert tuple(draft.policy.columns) == source.names


def test_what_cannot_be_read_and_is_dropped_is_not_read(clinic: str, disk_engine: str, folder: Path) -> None:
    told(
        clinic,
        "DROP TABLE IF EXISTS clinic.tagged",
        "CREATE TABLE clinic.tagged AS SELECT *, ARRAY[name] AS tags, name AS patient FROM clinic.people",
    )
    address = f"{clinic}&table=clinic.tagged"
    drafted = rk.draft(address).policy
    assert drafted.columns["tags"].role == "identifier"
    for engine in ("memory", disk_engine):
        released = rk.anonymize(address, drafted.but(method="mondrian"), engine=engine, accept_draft=True)
        assert "tags" not in released.table.column_names
    released.save(folder / "out.csv")
    assert rk.Recoding.load(folder / "out-recoding").apply(address).column_names == released.table.column_names


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT 'NaN'::numeric(4, 1) AS n", "Column 'n'.*NaN"),
        ("SELECT 'Infinity'::numeric AS n", "Column 'n'.*infinite"),
        ("SELECT repeat('9', 40)::numeric AS n", "Column 'n'.*40 digits"),
        ("SELECT 'infinity'::timestamptz AS n", "Column 'n'.*infinite"),
        ("SELECT '-infinity'::date AS n", "Column 'n'.*infinite"),
        ("SELECT 1/(age - 20) AS n FROM clinic.people", "fails on a value"),
        ("SELECT secret FROM clinic.people", "a column of it does not exist"),
        ("DELETE FROM clinic.people RETURNING 1", "not a query"),
        ("SELECT nextval('clinic.counter') AS n", "does not exist|only read"),
        ("SELECT 1 AS n) AS a; DROP TABLE clinic.people; --", "not a query"),
        ("SELECT 1 AS a, 2 AS a", "'a' 2 times"),
        ("SELECT age FROM clinic.people WHERE false", "no records"),
    ],
)
def test_what_a_query_does_wrong_is_told_without_its_text(clinic: str, query: str, said: str) -> None:
    with pytest.raises(RothkoError, match=said) as told_of:
        open_source(f"{clinic}&query={query}").read()
    assert "SELECT" not in str(told_of.value).replace("?query=SELECT …", "")
    assert told(clinic, "SELECT count(*) FROM clinic.people") == [(3000,)]


def test_a_query_may_end_in_a_comment_and_hold_percents(clinic: str) -> None:
    source = open_source(f"{clinic}&query=SELECT age+1 AS older FROM clinic.people WHERE zip LIKE '001%25' -- these;")
    assert source.names == ("older",)
    assert source.rows == sum(zipped.startswith("001") for zipped in people()["zip"].to_pylist())


def test_names_with_quotes_dots_and_spaces_are_names(clinic: str) -> None:
    name = 'clinic."a.b ""c""; DROP TABLE clinic.people"'
    told(clinic, f'CREATE TABLE {name} AS SELECT 7 AS "x; \'y"')
    source = open_source(f"{clinic}&table={name}")
    assert source.read().to_pylist() == [{"x; 'y": 7}]
    assert told(clinic, "SELECT count(*) FROM clinic.people") == [(3000,)]


def test_a_missing_table_is_told_with_a_near_one(clinic: str) -> None:
    with pytest.raises(InputError, match=r"no table 'clinic.poeple' that you may see; did you mean 'clinic.people'\?"):
        open_source(f"{clinic}&table=clinic.poeple")


def test_texts_do_not_hang_on_how_the_environment_asks_for_them(clinic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "SELECT 'Zo\u00eb \u20ac' AS name, '1 day 2 hours'::interval AS stay, point(0.1::float8 + 0.2, 1) AS place"
    told(clinic, f"CREATE TABLE clinic.words AS {words}")
    address = f"{clinic}&table=clinic.words"
    plain = open_source(address).read().to_pylist()
    assert plain == [{"name": "Zo\u00eb \u20ac", "stay": "1 day 02:00:00", "place": "(0.30000000000000004,1)"}]
    monkeypatch.setenv("PGCLIENTENCODING", "WIN1252")
    monkeypatch.setenv("PGDATESTYLE", "German")
    monkeypatch.setenv("PGOPTIONS", "-c intervalstyle=iso_8601 -c extra_float_digits=-5")
    assert open_source(address).read().to_pylist() == plain
    assert [row for batch in open_source(address).batches() for row in batch.to_pylist()] == plain


def test_who_may_not_read_is_told_so(clinic: str, rothko: Rothko) -> None:
    told(clinic, "CREATE ROLE nobody_much LOGIN PASSWORD 'secret'", "GRANT USAGE ON SCHEMA clinic TO nobody_much")
    other = clinic.replace("postgres:@", "nobody_much@")
    ran = rothko("check", f"{other}&table=clinic.people", *QUICK)
    assert (ran.code, "permission is denied" in ran.err, "nobody_much" in ran.err) == (2, True, False)
    with pytest.raises(InputError, match="no such user or database"):
        open_source(f"{clinic.replace('postgres:@', 'stranger@')}&table=clinic.people")
    with pytest.raises(InputError, match="nobody listens"):
        open_source("postgresql://ann@127.0.0.1:1/clinic?table=people")


@pytest.mark.parametrize(
    "bad",
    [
        "postgresql://ann:hunter2@host/db?table=t",
        "postgresql://host/db?table=t&password=hunter2",
        "postgresql://host/db?table=t&%70assword=hunter2",
    ],
)
def test_passwords_in_an_address_are_refused_and_not_shown(bad: str, rothko: Rothko) -> None:
    ran = rothko("check", bad, *QUICK)
    assert ran.code == 2
    assert "PGPASSFILE" in ran.err
    plain = bad.replace(":hunter2", "").replace("&password=hunter2", "").replace("&%70assword=hunter2", "")
    assert "hunter2" not in ran.err + ran.out + repr(shown(plain))


def test_all_passes_see_one_snapshot_whoever_writes(clinic: str) -> None:
    told(clinic, f"CREATE TABLE clinic.moving AS {PEOPLE}")
    source = open_source(f"{clinic}&table=clinic.moving")
    passes = source.batches(["age"], rows=100)
    next(passes)
    told(clinic, "UPDATE clinic.moving SET age = 99", "DELETE FROM clinic.moving WHERE name > 100")
    assert source.read(["age"]).to_pylist() == people().select(["age"]).to_pylist()
    assert sum(piece.num_rows for piece in passes) == 2900


def test_columns_cannot_change_between_two_passes(clinic: str) -> None:
    told(clinic, f"CREATE TABLE clinic.altered AS {PEOPLE}")
    source = open_source(f"{clinic}&table=clinic.altered")
    with pytest.raises(Exception, match="lock timeout"):
        told(clinic, "SET lock_timeout = '100ms'", "ALTER TABLE clinic.altered DROP COLUMN age")
    assert source.read(["age"]).num_rows == 3000
    del source
    told(clinic, "SET lock_timeout = '5s'", "ALTER TABLE clinic.altered DROP COLUMN age")


def test_a_connection_that_is_lost_is_told_in_one_sentence(clinic: str) -> None:
    source = open_source(
        f"{clinic}&query=SELECT i AS age, repeat('x', 900) AS long FROM generate_series(1, 60000) AS i"
    )
    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    end = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {others}"
    passes = source.batches(rows=1000)
    next(passes)
    told(clinic, end)
    for again in (lambda: list(passes), source.read):
        with pytest.raises(
            InputError,
            match="The query in PostgreSQL cannot be read: the connection was lost while it was read; start again",
        ):
            again()


# ── SQLite


def lite(folder: Path, *rows: tuple[object, ...]) -> str:
    """The address of a table in SQLite whose column x has some values."""
    with sqlite3.connect(folder / "some.db") as connection:
        connection.execute("CREATE TABLE some (i INTEGER, x)")
        connection.executemany("INSERT INTO some VALUES (?, ?)", [(i, *row) for i, row in enumerate(rows)])
    connection.close()
    return f"sqlite:///{folder}/some.db?table=some"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, 1, 2**62], pa.int64()),
        ([None, 1, 2.5], pa.float64()),
        (["007", None, "é"], pa.string()),
        ([b"\x00", None], pa.binary()),
        ([None, None], pa.string()),
        ([*[None] * 3000, "late"], pa.string()),
    ],
)
def test_sqlite_cells_are_of_the_type_that_they_have(folder: Path, values: list[object], kind: pa.DataType) -> None:
    read = open_source(lite(folder, *((value,) for value in values))).read(["x"])
    assert read["x"].to_pylist() == values
    assert read["x"].type == kind


@pytest.mark.parametrize(
    ("values", "said"), [([1, "x"], "mixes integer and text"), ([2**60, 0.5], "too large to be one")]
)
def test_sqlite_columns_that_mix_types_are_refused(folder: Path, values: list[object], said: str) -> None:
    source = open_source(lite(folder, *((value,) for value in values)))
    assert source.read(["i"]).num_rows == 2
    with pytest.raises(InputError, match=f"Column 'x' of the table 'some' in some.db .*{said}"):
        source.read(["x"])


def test_sqlite_passes_are_one_transaction(folder: Path) -> None:
    address = lite(folder, (1,), (2,))
    with sqlite3.connect(folder / "some.db") as connection:
        connection.execute("PRAGMA journal_mode = wal")
    connection.close()
    source = open_source(address)
    # In a process of its own: within one, two copies of SQLite do not see each other's locks.
    write = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('DELETE FROM some'); c.commit()"
    subprocess.run([sys.executable, "-c", write, str(folder / "some.db")], check=True)
    assert source.read(["i"]).num_rows == 2
    assert open_source(address).rows == 0


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite:///none.db?table=t", "There is no file 'none.db'"),
        ("duckdb:///none.db?table=t", "There is no file 'none.db'"),
        ("sqlite:///text.db?table=t", "none of this kind"),
        ("duckdb:///text.db?table=t", "none of this kind"),
        ("sqlite:///text.db", "names a table or a query"),
        ("sqlite:///text.db?table=t&query=x", "one of them"),
        ("sqlite://text.db?table=t", "three slashes"),
        ("sqlite:///text.db?table=t&mode=rw", "'mode' that is not known"),
        ("sqlite:///text.db?table=a..b", "as SQL does"),
        ("duckdb:/text.db?table=t", "two slashes"),
    ],
)
def test_addresses_that_lead_nowhere(folder: Path, address: str, said: str, rothko: Rothko) -> None:
    (folder / "text.db").write_text("no database\n" * 100)
    before = sorted(folder.iterdir())
    ran = rothko("check", address, *QUICK)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert sorted(folder.iterdir()) == before


def test_wide_integers_enums_and_json_of_duckdb(folder: Path) -> None:
    with duckdb.connect("kinds.duckdb") as connection:
        connection.execute(
            "CREATE TABLE kinds AS SELECT 123456789012345678901234567890::HUGEINT AS wide, 'x'::ENUM('x', 'y') AS word,"
            "'{}'::JSON AS json, 1.10::DECIMAL(5, 2) AS price, 170141183460469231731687303715884105727 AS wider"
        )
    source = open_source("duckdb:///kinds.duckdb?table=kinds")
    [row] = source.read(["wide", "word", "json", "price"]).to_pylist()
    assert row == {
        "wide": Decimal("123456789012345678901234567890"),
        "word": "x",
        "json": "{}",
        "price": Decimal("1.10"),
    }
    with pytest.raises(InputError, match=r"Column 'wider' of .* digits"):
        source.read(["wider"])
    with pytest.raises(InputError, match=r"kinds.duckdb has no table 'kind'; did you mean 'kinds'\?"):
        open_source("duckdb:///kinds.duckdb?table=kind")


@pytest.mark.parametrize("word", ["'infinity'::DATE", "'-infinity'::TIMESTAMPTZ", "DATE '0044-03-15 (BC)'"])
def test_dates_of_duckdb_that_no_calendar_has_are_refused(folder: Path, word: str) -> None:
    source = open_source(duck(folder, word))
    with pytest.raises(InputError, match=r"Column 'v' of the table 'one' in one\.duckdb has dates .* infinite"):
        source.read()
    with pytest.raises(InputError, match="infinite"):
        list(source.batches())


def test_points_in_time_of_duckdb_are_in_utc_wherever_they_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = duck(folder, "'2024-07-01 12:00:00+02'::TIMESTAMPTZ")
    program = f"from rothko.data.source.open import open_source as o; print(o({address!r}).read()['v'].type)"
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "timestamp[us, tz=UTC]"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql"])
def test_a_value_that_its_type_does_not_allow_is_told_by_its_column(
    kind: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "sqlite":
        address = "sqlite:///some.db?query=SELECT CAST(x'ff41' AS TEXT) AS v"
        sqlite3.connect("some.db").close()
    elif kind == "duckdb":
        address = duck(folder, "'24:00:00'::TIME")
    else:
        address = f"{request.getfixturevalue('clinic')}&query=SELECT '24:00'::time AS v"
    with pytest.raises(InputError, match=r"Column 'v' of the .* has values that its type does not allow"):
        open_source(address).read()


def duck(folder: Path, value: str) -> str:
    """The address of a table of DuckDB with one value."""
    with duckdb.connect(folder / "one.duckdb") as connection:
        connection.execute(f"CREATE TABLE one AS SELECT {value} AS v")
    return "duckdb:///one.duckdb?table=one"


def test_what_is_told_of_an_address() -> None:
    address = read_address("postgresql://ann@host/db?query=SELECT 'Smith' AS name&sslmode=require")
    assert address.client == "postgresql://ann@host/db?sslmode=require"
    assert "ann" not in repr(address) + address.label
    assert "Smith" not in repr(address) + address.label
