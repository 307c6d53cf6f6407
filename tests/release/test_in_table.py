"""Releases in tables of databases: counted and verified there, in one transaction, or nothing of them stays."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import OutputError, VerificationError
from rothko.release.formats.by_database import TIMES
from rothko.release.in_table import TARGETS
from rothko.release.targets import postgres_table
from rothko.release.targets.by_adbc import ByAdbc
from rothko.release.targets.duck_table import DuckTable
from rothko.release.targets.postgres_table import PostgresTable
from tests.command import Rothko
from tests.databases import copied_hash, told

ASKED: dict[str, Any] = {"qi": ["age", "zip"], "sensitive": "disease", "keep": ["visits", "seen"], "k": 5}
CHECK: dict[str, Any] = {**ASKED, "l": 2}


def people(rows: int = 600) -> pa.Table:
    i = range(rows)
    return pa.table(
        {
            "age": [20 + n * 7 % 50 for n in i],
            "zip": [f"{n * 13 % 40:05}" for n in i],
            "disease": [["flu", "cold", None][n % 3] for n in i],
            "visits": pa.array([Decimal(n % 7) / 4 for n in i], pa.decimal128(6, 2)),
            "seen": [date(2020, 1, 1 + n % 9) for n in i],
        }
    )


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[str]:
    """A PostgreSQL with a schema for releases."""
    told(postgres, 'CREATE SCHEMA "out"')
    yield postgres
    told(postgres, 'DROP SCHEMA "out" CASCADE')


@pytest.fixture(params=["postgresql", "sqlite", "duckdb"])
def out(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The address of a table that is not there, in each database."""
    if request.param == "postgresql":
        server = request.getfixturevalue("server")
        told(server, "CREATE SCHEMA place")
        yield f"{server}&table=place.release"
        told(server, "DROP SCHEMA place CASCADE")
    else:
        yield f"{request.param}:///release.db?table=release"


def tables(out: str) -> list[str]:
    """The tables of a database."""
    if out.startswith("postgresql"):
        asked = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'place' ORDER BY 1"
        return [name for (name,) in told(out.partition("&table")[0], asked)]
    if not Path("release.db").exists():
        return []
    if out.startswith("duckdb"):
        with duckdb.connect("release.db") as connection:
            return [
                row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
            ]
    lite = sqlite3.connect("release.db")
    found = [name for (name,) in lite.execute("SELECT name FROM sqlite_master ORDER BY 1")]
    lite.close()
    return found


def test_a_release_goes_to_a_new_table_and_is_what_a_file_would_be(out: str, folder: Path) -> None:
    release = rk.anonymize(people(), **ASKED)
    saved = release.save(out)
    assert tables(out) == ["release"]
    assert sorted(path.name for path in folder.iterdir() if path.name != "release.db") == [
        "release-recoding",
        "release.certificate.json",
    ]
    there = open_source(out).read()
    meant = release.arrow
    assert there.column_names == meant.column_names
    order = [(name, "ascending") for name in meant.column_names]
    as_text = [
        pa.table({name: pa.array(map(str, t[name].to_pylist())) for name in t.column_names}).sort_by(order)
        for t in (there, meant)
    ]
    assert as_text[0].equals(as_text[1])
    assert rk.check(out, **CHECK).verification.findings[0].achieved >= 5
    certificate = json.loads((folder / "release.certificate.json").read_text())
    assert certificate["file"].endswith(":…?table=" + ("place.release" if "postgres" in out else "release"))
    assert certificate["file_sha256"] == saved.certificate.sha256
    assert "@" not in (folder / "release.certificate.json").read_text()
    assert rk.Recoding.load("release-recoding").apply(people()) is not None


def test_the_hash_is_that_of_the_content_wherever_it_lies_and_can_be_computed_by_sql(server: str, folder: Path) -> None:
    release = rk.anonymize(people(), **ASKED)
    places = [f"{server}&table=out.hashed", "sqlite:///a.db?table=hashed", "duckdb:///b.db?table=t"]
    hashes = {
        release.save(place, certificate=f"{i}.json", recoding=False).certificate.sha256
        for i, place in enumerate(places)
    }
    columns = ", ".join(f'"{name}"' for name in release.arrow.column_names)
    order = ", ".join(f'"{name}"::text COLLATE "C"' for name in release.arrow.column_names)
    asked = f'SELECT {columns}, count(*) FROM "out".hashed GROUP BY {columns} ORDER BY {order}'
    assert hashes == {copied_hash(server, asked)}


def test_the_hash_does_not_hang_on_the_time_zone_of_the_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [datetime(2024, 7, 1, n, tzinfo=UTC) for n in range(20)]
    pq.write_table(pa.table({"age": [n % 4 for n in range(20)], "seen": times}), "people.parquet")
    program = (
        "import rothko as rk; r = rk.anonymize('people.parquet', qi=['age'], keep=['seen'], k=5);"
        "print(r.save('duckdb:///a.db?table=t', recoding=False, overwrite=True).certificate.sha256)"
    )
    found = set()
    for zone in ("UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        found.add(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


@pytest.mark.parametrize("form", ["range", "bounds"])
def test_what_comes_back_by_classes_is_what_comes_back_counted(
    server: str, folder: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    days = [None if i % 7 == 0 else date(2020, 1, 1 + i % 28) for i in range(600)]
    costs = pa.array([i % 9 / 4 for i in range(600)])
    table = people().drop_columns("visits").append_column("day", pa.array(days)).append_column("cost", costs)
    release = rk.anonymize(table, **{**ASKED, "keep": ["day", "seen", "cost"]}, publish=form)
    assert 2 * release.arrow.group_by(release.arrow.column_names).aggregate([]).num_rows > table.num_rows
    found = {}
    for most in (0, 1 << 22):
        monkeypatch.setattr(postgres_table, "LISTED", most)
        kept: list[pa.Schema] = []
        real = PostgresTable.counted

        def counted(*arguments: Any, real: Any = real, kept: list[pa.Schema] = kept) -> Any:
            for batch in real(*arguments):
                kept.append(batch.schema)
                yield batch

        with monkeypatch.context() as patched:
            patched.setattr(PostgresTable, "counted", counted)
            saved = release.save(f"{server}&table=out.{form}_{most}", certificate=f"{most}.json", recoding=False)
        found[most] = saved.certificate
        assert (kept[0].names[-1] == TIMES) == (most == 0)
    assert found[0].sha256 == found[1 << 22].sha256
    assert found[0].verification.findings == found[1 << 22].verification.findings


def test_a_table_that_is_there_stays_unless_it_may_be_replaced(out: str, folder: Path, rothko: Rothko) -> None:
    release = rk.anonymize(people(), **ASKED)
    release.save(out)
    with pytest.raises(OutputError, match=r"exists; use overwrite=True to replace it"):
        release.save(out, certificate="other.json", recoding=False)
    smaller = rk.anonymize(people(300), **ASKED)
    smaller.save(out, overwrite=True)
    assert open_source(out).rows == 300
    assert tables(out) == ["release"]


def test_a_view_is_never_replaced(out: str, folder: Path) -> None:
    made = "CREATE VIEW place.release AS SELECT 1 AS a".replace("place.", "" if "release.db" in out else "place.")
    if out.startswith("postgresql"):
        told(out.partition("&table")[0], made)
    else:
        with (sqlite3 if out.startswith("sqlite") else duckdb).connect("release.db") as connection:
            connection.execute(made)
        connection.close()
    with pytest.raises(OutputError, match=r"release' in .* cannot be replaced: there is a view of that name"):
        rk.anonymize(people(), **ASKED).save(out, overwrite=True)


def test_a_table_that_is_read_or_somebody_elses_is_refused_before_any_work(
    server: str, folder: Path, rothko: Rothko
) -> None:
    told(server, 'CREATE TABLE "out".own AS SELECT i % 9 AS age FROM generate_series(1, 50) i')
    own = f"{server}&table=out.own"
    ran = rothko("anonymize", own, "--qi", "age", "--k", "5", "--out", own, "--overwrite", "--log", "json")
    assert (ran.code, "it is in use, by somebody else or by this run" in ran.err) == (2, True)
    assert "partition" not in ran.err
    told(server, "DROP ROLE IF EXISTS maker", "CREATE ROLE maker LOGIN", 'GRANT ALL ON SCHEMA "out" TO maker')
    with pytest.raises(OutputError, match="cannot be replaced: it is somebody else's"):
        rk.anonymize(people(), **ASKED).save(own.replace("postgres:@", "maker@"), overwrite=True)
    told(server, 'REVOKE ALL ON SCHEMA "out" FROM maker', "DROP ROLE maker")


def test_a_table_that_something_is_made_from_is_refused_before_any_work(
    server: str, folder: Path, rothko: Rothko
) -> None:
    told(server, 'CREATE TABLE "out".base AS SELECT 1 AS age', 'CREATE VIEW "out".seen AS SELECT age FROM "out".base')
    pq.write_table(people(), "people.parquet")
    asked = ("--qi", "age,zip", "--keep", "disease,visits,seen", "--k", "5", "--overwrite", "--log", "json")
    ran = rothko("anonymize", "people.parquet", *asked, "--out", f"{server}&table=out.base")
    assert (ran.code, "something is made from it, such as a view" in ran.err) == (2, True), ran.err
    assert "partition" not in ran.err
    assert told(server, 'SELECT * FROM "out".seen') == [(1,)]


def test_a_table_of_another_database_is_not_made_in_this_one(out: str, folder: Path) -> None:
    release = rk.anonymize(people(), **ASKED)
    address, name = out.split("table=")
    schema = name.rpartition(".")[0] or "main"
    other = "other" if "sqlite" in out else f"other.{schema}"
    with pytest.raises(OutputError, match="'other' is not the database that the address is of"):
        release.save(f"{address}table={other}.release")
    assert tables(out) == []
    own = {"sqlite": "main", "duckdb": "release.main", "postgresql": f"postgres.{schema}"}[out.partition(":")[0]]
    release.save(f"{address}table={own}.release")
    assert tables(out) == ["release"]


def test_names_that_postgresql_would_cut_off_are_refused(server: str, folder: Path) -> None:
    release = rk.anonymize(people(), **ASKED)
    with pytest.raises(OutputError, match="more than 63 bytes"):
        release.save(f"{server}&table=out.{'a' * 64}")
    long = people().rename_columns(["age", "zip", "disease", "visits", "é" * 32])
    with pytest.raises(OutputError, match=f"The name '{'é' * 32}' has more than 63 bytes"):
        rk.anonymize(long, **{**ASKED, "keep": ["visits", "é" * 32]}).save(f"{server}&table=out.long")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_read_is_refused_before_any_work(kind: str, folder: Path, rothko: Rothko) -> None:
    rk.anonymize(people(), **ASKED).save(f"{kind}:///both.db?table=before", recoding=False)
    columns = {"age": "quasi-identifier", "zip": "keep", "disease": "keep", "visits": "keep", "seen": "keep"}
    policy = {
        "columns": {name: {"role": role} for name, role in columns.items()},
        "privacy": [{"k-anonymity": {"k": 5}}],
    }
    Path("policy.yaml").write_text(json.dumps(policy))
    asked = ("--policy", "policy.yaml", "--overwrite", "--log", "json")
    ran = rothko("anonymize", f"{kind}:///both.db?table=before", *asked, "--out", f"{kind}:///both.db?table=after")
    assert (ran.code, "it is in use, by somebody else or by this run" in ran.err) == (2, True)
    assert "partition" not in ran.err
    assert open_source(f"{kind}:///both.db?table=before").rows == 600


def test_new_records_go_to_a_table(out: str, folder: Path, rothko: Rothko) -> None:
    rk.anonymize(people(), **ASKED, method="mondrian").save("first.parquet")
    new = people(90)
    pq.write_table(new, "new.parquet")
    ran = rothko("apply", "first-recoding", "new.parquet", "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1].endswith(":…?table=" + ("place.release" if "postgres" in out else "release"))
    there = open_source(out).read()
    meant = rk.Recoding.load("first-recoding").apply(new)
    assert sorted(map(str, there["age"].to_pylist())) == sorted(map(str, meant["age"].to_pylist()))
    assert sorted(map(str, there["visits"].to_pylist())) == sorted(map(str, new["visits"].to_pylist()))
    again = rothko("apply", "first-recoding", "new.parquet", "--out", out)
    assert (again.code, "exists; use --overwrite" in again.err) == (2, True)
    assert rothko("apply", "first-recoding", "new.parquet", "--out", out, "--overwrite").code == 0
    assert tables(out) == ["release"]


def test_the_command_line_goes_from_table_to_table(server: str, folder: Path, rothko: Rothko) -> None:
    rk.anonymize(people(), **ASKED).save(f"{server}&table=out.before", recoding=False)
    rows = "SELECT i AS name, 20 + i % 40 AS age, (i % 3)::text AS sick FROM generate_series(1, 500) i"
    told(server, f'CREATE TABLE "out".asked AS {rows}')
    asked = (
        "anonymize", f"{server}&table=out.asked", "--qi", "age", "--sensitive", "sick", "--drop", "name", "--k", "5",
        "--out", f"{server}&table=out.answered", "--certificate", "answer.json", "--no-recoding",
    )  # fmt: skip
    ran = rothko(*asked)
    assert (ran.code, ran.err) == (0, "")
    assert "postgresql:…?table=out.answered" in ran.out
    assert rothko(*asked, "--if-changed", "--overwrite").out.startswith("requirement")
    assert rothko(*asked, "--if-changed").out.startswith("Unchanged: postgresql:…?table=out.answered was made from")
    told(server, "UPDATE \"out\".answered SET sick = 'x' WHERE sick = '1'")
    assert rothko(*asked, "--if-changed").code == 2, "what others have changed is not taken for the release"
    assert open_source(f"{server}&table=out.answered").names == ("age", "sick")
    nowhere = f"{server}&table=nowhere.answered"
    again = rothko("anonymize", f"{server}&table=out.asked", "--qi", "age", "--keep-rest", "--k", "5", "--out", nowhere)
    assert (again.code, "there is no such schema" in again.err) == (2, True)
    assert sorted(path.name for path in folder.iterdir()) == [
        "answer.json",
        "answered-recoding",
        "before.certificate.json",
    ]


def test_a_table_larger_than_memory_goes_from_table_to_table(server: str, folder: Path, disk_engine: str) -> None:
    told(
        server,
        'DROP TABLE IF EXISTS "out".large, "out".small',
        "CREATE TABLE \"out\".large AS SELECT 20 + i * 7 % 50 AS age, lpad((i * 13 % 400)::text, 5, '0') AS zip, "
        "(i % 3)::text AS disease FROM generate_series(1, 3000) AS i",
    )
    from rothko.flow import prepare

    release = prepare(f"{server}&table=out.large", qi=["age", "zip"], sensitive="disease", k=5, engine=disk_engine)
    release.save(f"{server}&table=out.small", certificate=f"{disk_engine}.json", recoding=False)
    assert rk.check(f"{server}&table=out.small", qi=["age", "zip"], sensitive="disease", k=5).verification.rows == 3000


@pytest.mark.parametrize("when", ["load", "counted", "rename", "commit"])
def test_where_anything_fails_nothing_stays(
    out: str, when: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    release = rk.anonymize(people(), **ASKED)
    for kind in TARGETS.values():
        real = getattr(kind, when)

        def fail(*arguments: Any, real: Any = real) -> Any:
            if when == "load":
                real(*arguments)
            raise OSError("the line is dead")

        monkeypatch.setattr(kind, when, fail)
    with pytest.raises(OutputError, match="cannot be written: the connection was lost"):
        release.save(out)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert tables(out) == []
    assert list(folder.rglob("*")) == []


def test_what_a_database_stores_otherwise_is_not_released(
    out: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = rk.anonymize(people(), **ASKED)
    for kind in TARGETS.values():
        real = kind.load

        def load(self: Any, rows: Path, real: Any = real) -> None:
            real(self, rows)
            staged = self.staged_sql if isinstance(self, ByAdbc) else self._staged_sql
            execute = self.execute if isinstance(self, ByAdbc) else self._execute
            assert isinstance(self, ByAdbc | DuckTable)
            execute(f"UPDATE {staged} SET disease = 'flu' WHERE disease = 'cold'")

        monkeypatch.setattr(kind, "load", load)
    with pytest.raises(VerificationError, match="the written rows are not those of the records"):
        release.save(out)
    assert tables(out) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_file_that_cannot_grow_is_not_left(kind: str, folder: Path) -> None:
    pq.write_table(people(), "people.parquet")
    program = (
        "import resource, sys; from rothko.cli.process import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"sys.argv = ['rothko', 'anonymize', 'people.parquet', '--qi', 'age,zip', '--keep', 'disease,visits,seen', "
        f"'--k', '5', '--out', '{kind}:///made.db?table=t']\n"
        "run()"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "Error: The table 't' in made.db cannot be written: its disk is full, or fails; nothing was" in ran.stderr
    assert [one.name for one in folder.iterdir()] == ["people.parquet"]


def test_a_killed_connection_leaves_nothing(server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    real = PostgresTable.rename

    def killed(self: Any) -> None:
        real(self)
        told(server, f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {others}")

    monkeypatch.setattr(PostgresTable, "rename", killed)
    with pytest.raises(OutputError, match="the connection was lost"):
        rk.anonymize(people(), **ASKED).save(f"{server}&table=out.killed")
    left = told(server, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'rothko%' OR tablename = 'killed'")
    assert left == []
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_who_may_not_write_is_ranbefore_any_work(server: str, folder: Path) -> None:
    told(server, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", 'GRANT USAGE ON SCHEMA "out" TO reader')
    place = f"{server.replace('postgres:@', 'reader@')}&table=out.mine"
    with pytest.raises(OutputError, match="you may not make a table in its schema"):
        rk.anonymize(people(), **ASKED).save(place)
    with pytest.raises(OutputError, match="not to a query"):
        rk.anonymize(people(), **ASKED).save(f"{server}&query=SELECT 1")
    with pytest.raises(OutputError, match="goes with a table in a database"):
        rk.anonymize(people(), **ASKED).save("out.csv", certificate="c.json")
    told(server, 'REVOKE ALL ON SCHEMA "out" FROM reader', "DROP ROLE reader")


@pytest.mark.parametrize("kind", ["postgresql", "sqlite", "duckdb"])
def test_kept_columns_of_every_type_come_back_or_are_refused_by_name(
    kind: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    n = 40
    kept = {
        "small": pa.array([1] * n, pa.int8()),
        "wide": pa.array([2**63 - 1] * n, pa.int64()),
        "half": pa.array([0.5] * n, pa.float32()),
        "yes": [True] * n,
        "at": pa.array([datetime(2020, 1, 1, 2, 3, 4, 5)] * n, pa.timestamp("us")),
        "bytes": [b"\x00\xff"] * n,
        "price": pa.array([Decimal("10.50")] * n, pa.decimal128(12, 2)),
    }
    table = pa.table({"age": [i % 4 for i in range(n)], **kept})
    place = (
        f"{request.getfixturevalue('server')}&table=out.kinds" if kind == "postgresql" else f"{kind}:///k.db?table=k"
    )
    rk.anonymize(table, qi="age", keep=list(kept), k=5).save(place, recoding=False)
    [row, *_] = open_source(place).read().to_pylist()
    if kind == "sqlite":
        assert (row["price"], row["yes"], row["at"]) == ("10.50", 1, "2020-01-01 02:03:04.000005")
    else:
        assert (row["price"], row["yes"], row["at"]) == (Decimal("10.50"), True, datetime(2020, 1, 1, 2, 3, 4, 5))
    assert (row["wide"], row["bytes"], row["half"]) == (2**63 - 1, b"\x00\xff", 0.5)
    others = [
        pa.array([["a"]] * n), pa.array([{"a": 1}] * n), pa.nulls(n), pa.array([Decimal(1)] * n, pa.decimal256(60, 2)),
    ]  # fmt: skip
    for values in others:
        more = table.append_column("tags", values)
        with pytest.raises(OutputError, match=f"Column 'tags' holds .* which is not written to (?i:{kind})") as told_of:
            rk.anonymize(more, qi="age", keep=[*kept, "tags"], k=5).save(place, overwrite=True, recoding=False)
        assert "'tags' holds " + str(values.type)[:4] in str(told_of.value)


def test_texts_are_written_as_they_are_whatever_the_environment_says(
    server: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"age": [n % 4 for n in range(40)], "name": ["Zo\u00eb"] * 40})
    release = rk.anonymize(table, qi=["age"], keep=["name"], k=5)
    with monkeypatch.context() as patched:
        patched.setenv("PGCLIENTENCODING", "LATIN1")
        release.save(f"{server}&table=out.words", recoding=False)
    assert told(server, 'SELECT DISTINCT name FROM "out".words') == [("Zo\u00eb",)]


def test_zoned_times_go_to_postgresql_and_nan_does_not_go_to_sqlite(server: str, folder: Path) -> None:
    zoned = pa.array([datetime(2020, 1, 1, tzinfo=UTC)] * 20, pa.timestamp("us", "Europe/Berlin"))
    rk.anonymize({"age": [1] * 20, "at": zoned}, qi="age", keep="at", k=5).save(
        f"{server}&table=out.zoned", recoding=False
    )
    assert open_source(f"{server}&table=out.zoned").read()["at"][0].as_py() == datetime(2020, 1, 1, tzinfo=UTC)
    table = pa.table({"age": [1] * 20, "x": [float("nan"), 1.0] * 10})
    release = rk.anonymize(table, qi="age", keep="x", k=5)
    release.save(f"{server}&table=out.nan", recoding=False)
    with pytest.raises(OutputError, match="Column 'x' holds NaN"):
        release.save("sqlite:///n.db?table=n", recoding=False)
    assert not Path("n.db").exists()
