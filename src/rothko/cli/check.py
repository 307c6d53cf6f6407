"""``rothko check``: what any table satisfies."""

from __future__ import annotations

import typer

from rothko.cli import log, options, pipes
from rothko.cli.groups import grouped


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(grouped(check))


def check(
    data: options.Data,
    *,
    policy: options.PolicyFile = None,
    unfiled: options.InPlaceOfPolicy,
    engine: options.Counting = None,
    spark_master: options.SparkMaster = None,
    threads: options.Threads = None,
    text: options.TextFile,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Assess any table: original data, a release, or somebody else's.

    Exit code 0 when every requirement holds, 4 when one does not.
    """
    from rothko.cli import console
    from rothko.release.check import check as assess

    csv = text.options()
    table = pipes.table_of(data)
    found = assess(table, policy, engine=engine, spark_master=spark_master, threads=threads, csv=csv, **unfiled.words())
    log.counted(found.verification.rows)
    if as_json:
        console.json(found.to_dict(), "check")
    else:
        console.out.print(console.requirements(found.verification))
        console.out.print(f"\n{found.verification.rows:,} records in {found.verification.classes:,} classes.")
        if found.identifiers:
            console.out.print(f"Identifiers are still there: {', '.join(found.identifiers)}", style="red", markup=False)
    if not found.holds:
        raise typer.Exit(4)
