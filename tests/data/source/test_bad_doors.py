"""Every way in, with input that cannot be read: one sentence, exit code 2, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from rothko.data.source.open import open_source
from rothko.errors import InputError
from tests.command import Rothko
from tests.databases import told
from tests.rights import as_others, can_be_locked

PEOPLE = pa.table({"age": [20 + i * 7 % 50 for i in range(3000)], "disease": [f"d{i % 5}" for i in range(3000)]})
OTHERS = pa.table({"years": [1.5] * 3000, "disease": ["flu"] * 3000})
"""Other columns, of other types."""
ASKED = ("--qi", "age", "--sensitive", "disease", "--k", "5")


def _csv(table: pa.Table, path: Path, *, delimiter: str = ",") -> None:
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter=delimiter))


def _gzip(table: pa.Table, path: Path) -> None:
    _csv(table, path)
    path.write_bytes(gzip.compress(path.read_bytes()))


def _arrow(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=500)


def _xlsx(table: pa.Table, path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("people")
    for row in (table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)):
        sheet.append(list(row))
    book.save(path)


def _statistics(table: pa.Table, path: Path) -> None:
    import pyreadstat

    write = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}[path.suffix]
    write(table.to_pandas(), str(path))


def _sqlite(table: pa.Table, path: Path) -> None:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(table.column_names)})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", zip(*table.to_pydict().values(), strict=True))
    connection.close()


def _duckdb(table: pa.Table, path: Path) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS FROM given")


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "people.csv": _csv,
    "people.tsv": lambda table, path: _csv(table, path, delimiter="\t"),
    "people.csv.gz": _gzip,
    "people.parquet": lambda table, path: pq.write_table(table, path, row_group_size=500),
    "people.arrow": _arrow,
    "people.feather": lambda table, path: pyarrow.feather.write_feather(table, str(path)),
    "people.xlsx": _xlsx,
    "people.sav": _statistics,
    "people.dta": _statistics,
    "people.xpt": _statistics,
    "people.sqlite": _sqlite,
    "people.duckdb": _duckdb,
}
DATABASES = {"people.sqlite": "sqlite:///people.sqlite?table=t", "people.duckdb": "duckdb:///people.duckdb?table=t"}


@pytest.fixture(params=WRITERS)
def door(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a file with people, in the folder in which one works."""
    monkeypatch.chdir(tmp_path)
    WRITERS[request.param](PEOPLE, Path(request.param))
    return request.param


def address(door: str) -> str:
    return DATABASES.get(door, door)


def refused(ran: Any, *words: str) -> None:
    """One sentence, or two: what is wrong, and what to do."""
    said = " ".join(ran.err.split())
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in said
    assert any(word in said for word in words), said


def test_a_file_that_is_cut_short(door: str, rothko: Rothko) -> None:
    if door in ("people.csv", "people.tsv"):
        pytest.skip("half of a text file is a text file")
    whole = Path(door).read_bytes()
    for size in (len(whole) // 2 + 1, 20):
        Path(door).write_bytes(whole[:size])
        ran = rothko("anonymize", address(door), *ASKED, "--out", "out.csv")
        refused(ran, "damaged or cut short", "none of this kind", "cannot be read", "is no workbook", "is not a")
        assert os.listdir() == [door]


@pytest.mark.parametrize("door", DATABASES)
@pytest.mark.parametrize("begin", [44, 4096])
def test_a_database_of_which_bytes_are_wrong(
    door: str, begin: int, rothko: Rothko, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    WRITERS[door](PEOPLE, Path(door))
    raw = bytearray(Path(door).read_bytes())
    raw[begin : begin + 100] = bytes(255 - byte for byte in raw[begin : begin + 100])
    Path(door).write_bytes(raw)
    refused(rothko("anonymize", address(door), *ASKED, "--out", "out.csv"), "or it is damaged")
    assert os.listdir() == [door]


def test_a_file_that_is_gone_between_two_passes(door: str) -> None:
    source = open_source(address(door))
    assert sum(piece.num_rows for piece in source.batches()) == 3000
    Path(door).unlink()
    if door in DATABASES:  # held open by one transaction
        assert sum(piece.num_rows for piece in source.batches()) == 3000
        return
    for again in (source.read, lambda: list(source.batches())):
        with pytest.raises(InputError, match=f"{door} is gone while it was read; start again."):
            again()


def test_columns_that_change_between_two_passes(door: str) -> None:
    source = open_source(address(door))
    assert sum(piece.num_rows for piece in source.batches()) == 3000
    Path("new").mkdir()
    WRITERS[door](OTHERS, Path("new") / door)
    (Path("new") / door).replace(door)
    if door in DATABASES:  # the file that was opened, held open
        assert source.read(["age"]).num_rows == 3000
        return
    for again in (lambda: source.read(["age"]), lambda: list(source.batches())):
        with pytest.raises(InputError, match=f"{door} has changed while it was read; start again."):
            again()


PROGRAM = """
import contextlib, io, json, os, sys
from rothko.cli import main
for address in sys.argv[1:]:
    sys.argv = ["rothko", "anonymize", address, *"--qi age --sensitive disease --k 5 --out out.csv".split()]
    said, code = io.StringIO(), None
    with contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    print(json.dumps([address, code, " ".join(said.getvalue().split())]))
"""


def test_files_and_places_that_nobody_may_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process that has given up what root may."""
    if not can_be_locked(tmp_path):
        pytest.skip("permissions mean nothing here")
    monkeypatch.chdir(tmp_path)
    for door, write in WRITERS.items():
        write(PEOPLE, Path(door))
        Path(door).chmod(0)
    Path("shut").mkdir()
    _csv(PEOPLE, Path("shut/people.csv"))
    Path("shut").chmod(0)
    Path("readable.csv").write_bytes(b"age,disease\n" + b"1,flu\n" * 9)
    before = sorted(os.listdir())
    asked = [
        *map(address, WRITERS),
        "shut",
        "shut/people.csv",
        "sqlite:///shut/x.db?table=t",
        "duckdb:///shut/x.db?table=t",
    ]
    told_of = subprocess.run(
        [sys.executable, "-c", PROGRAM, *asked], preexec_fn=as_others, capture_output=True, check=True, text=True
    )
    Path("shut").chmod(0o700)
    for line in told_of.stdout.splitlines():
        name, code, said = json.loads(line)
        assert (name, code) == (name, 2), said
        assert "permission is denied" in said or ("shut/" in name and "There is no file" in said), (name, said)
    assert len(told_of.stdout.splitlines()) == len(asked)
    assert sorted(os.listdir()) == before


def test_a_password_that_is_wrong_or_missing(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rothko: Rothko
) -> None:
    """The server asks one of its users for a password, as most servers do."""
    monkeypatch.chdir(tmp_path)
    [(place,)] = told(postgres, "SHOW hba_file")
    rules = Path(place).read_text()
    told(
        postgres, "DROP TABLE IF EXISTS guarded", "DROP ROLE IF EXISTS locked",
        "CREATE ROLE locked LOGIN PASSWORD 'tr0ub4dor'",
        "CREATE TABLE guarded AS SELECT i % 50 AS age, 'd' || i % 5 AS disease FROM generate_series(1, 300) AS i",
        "GRANT SELECT ON guarded TO locked",
    )  # fmt: skip
    address = f"{postgres.replace('postgres:@', 'locked@')}&table=guarded"
    try:
        Path(place).write_text(f"local all locked scram-sha-256\nhost all locked all scram-sha-256\n{rules}")
        told(postgres, "SELECT pg_reload_conf()")
        for password, said in (
            ("hunter2", "the password is not the one of the user"),
            (None, "it asks for a password"),
        ):
            monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
            monkeypatch.delenv("PGPASSWORD", raising=False)
            if password is not None:
                monkeypatch.setenv("PGPASSWORD", password)
            ran = rothko("anonymize", address, *ASKED, "--out", "out.csv")
            refused(ran, said)
            assert "hunter2" not in ran.err
            assert "locked" not in ran.err
            ran = rothko("generate", "agrawal", "-n", "100", "-o", "a.csv")
            ran = rothko("anonymize", "a.csv", "--qi", "age", "--keep-rest", "--k", "5", "--out", f"{address}2")
            refused(ran, said)
            Path("a.csv").unlink()
            assert os.listdir() == []
        (tmp_path / "pass").write_text("*:*:*:locked:tr0ub4dor\n")
        (tmp_path / "pass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
        assert rothko("anonymize", address, *ASKED, "--out", "out.csv", "--no-recoding").code == 0
        assert "locked" not in Path("out.certificate.json").read_text()
        assert "tr0ub4dor" not in Path("out.certificate.json").read_text()
    finally:
        Path(place).write_text(rules)
        told(postgres, "SELECT pg_reload_conf()", "DROP TABLE guarded", "DROP ROLE locked")
