"""``rothko plan``: what each engine will read and write, before there is any data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rothko.cli import options

if TYPE_CHECKING:
    from rothko.calibrate import Speed
    from rothko.engines.foretold import Plan
    from rothko.privacy.confidence import Test


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    rows: Annotated[str, typer.Option("--rows", "-n", help="Number of records, also as 1e9.", show_default=False)],
    columns: Annotated[str, typer.Option("--columns", help="Number of quasi-identifiers.", show_default=False)],
    k: Annotated[str, typer.Option("--k", help="k-anonymity: records in a class at least.")] = "10",
    method: Annotated[str, typer.Option("--method", help="How classes are made, such as hilbert-fast.")] = "mondrian",
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="Such as 2GB; three quarters of what is free by default.", show_default=False),
    ] = None,
    bytes_per_row: Annotated[
        str | None,
        typer.Option("--bytes-per-row", help="Of a record; 4 for each column and 8 more.", show_default=False),
    ] = None,
    distinct: Annotated[
        str | None,
        typer.Option(
            "--distinct", help="Distinct values of all columns together; 100,000 for each.", show_default=False
        ),
    ] = None,
    test: Annotated[str, typer.Option("--test", help="Of Rothko-S: exact, normal or naive.")] = "exact",
    alpha: Annotated[str, typer.Option("--alpha", help="The level of that test.")] = "0.05",
    calibration: Annotated[
        bool, typer.Option("--calibration/--no-calibration", help="Measure this machine, to tell time.")
    ] = True,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Foretell passes, reads, writes and time of every engine, and say which one auto chooses.

    After LeFevre, DeWitt, Ramakrishnan (TODS 2008, section 5.3). No data is needed.
    """
    from rothko.calibrate import calibrate
    from rothko.cli import console
    from rothko.engines.foretold import plan as foretell
    from rothko.engines.options import RothkoS
    from rothko.engines.plan import as_bytes

    found = foretell(
        options.count("--rows", rows),
        columns=options.count("--columns", columns),
        k=options.whole("--k", k, 2) or 2,
        memory=as_bytes(memory),
        row_bytes=None if bytes_per_row is None else options.count("--bytes-per-row", bytes_per_row),
        distinct=None if distinct is None else options.count("--distinct", distinct),
        options=RothkoS(test=cast("Test", test), alpha=options.number("--alpha", alpha, 0) or 0.0),
        method=method,
    )
    speed = calibrate() if calibration and found.timed else None
    if as_json:
        console.json(_as_data(found, speed), "plan")
    else:
        _show(found, speed)


def _as_data(found: Plan, speed: Speed | None) -> dict[str, Any]:
    """The plan as plain data."""
    costs = [
        {
            **asdict(cost),
            "bytes_read": cost.reads * found.size,
            "bytes_written": cost.writes * found.size,
            "seconds": None if speed is None else round(speed.seconds(found, cost), 1),
        }
        for cost in found.costs
    ]
    return asdict(found) | {"bytes": found.size, "costs": costs}


def _show(found: Plan, speed: Speed | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from rothko.cli import console
    from rothko.engines.plan import written_bytes

    shares = found.budget
    console.out.print(
        f"{found.rows:,} records of {found.row_bytes} bytes: {written_bytes(found.size)}, {found.method}, "
        f"k = {found.k}. Memory: {written_bytes(shares.memory)}.",
        markup=False,
    )
    cuts = (
        f", and {found.cache:,} frequency groups of {written_bytes(found.group_bytes)}; {found.height} levels of cuts "
        "until a part fits"
    )
    console.out.print(
        f"{shares.tuples:,} records fit in memory at a time{cuts if found.by_tree else ''}.\n", markup=False
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("engine", "works", "passes", "reads", "repartitions", "writes", "sample", "time", ""):
        table.add_column(title, justify="left" if title in ("engine", "works", "") else "right")
    for cost in found.costs:
        table.add_row(
            cost.engine,
            Text("yes", "green") if cost.works else Text("no", "red"),
            f"{cost.reads}",
            written_bytes(cost.reads * found.size),
            f"{cost.writes}",
            written_bytes(cost.writes * found.size) if cost.writes else "–",
            f"{found.sample:,}" if cost.engine == "rothko-s" and found.by_tree else "–",
            "–" if speed is None or not cost.works else _duration(speed.seconds(found, cost)),
            Text(cost.note),
        )
    console.out.print(table)
    [chosen] = [cost for cost in found.costs if cost.engine == found.engine]
    but = "" if chosen.works else f"; {chosen.note}, so the run would be refused: raise --memory, or use mondrian"
    console.out.print(f"\nauto: {found.engine}, because {found.reason}{but}.", markup=False)


def _duration(seconds: float) -> str:
    """A time as a person reads it, to the precision of an estimate.

    >>> _duration(0.4), _duration(75), _duration(4000), _duration(200_000)
    ('under 1 s', '1 min', '1.1 h', '2.3 days')
    """
    if seconds < 1:
        return "under 1 s"
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}" if unit == "min" else f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
