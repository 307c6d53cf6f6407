"""``rothko measure``: what a release lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import options
from rothko.cli.groups import grouped
from rothko.cli.pipes import piped_table, piped_tables, table_of
from rothko.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(grouped(measure))


def measure(
    original: Annotated[
        list[str],
        typer.Argument(
            help="The table that was released; several files are one table.",
            callback=piped_tables(),
            show_default=False,
        ),
    ],
    release: Annotated[str, typer.Argument(help="Its release.", callback=piped_table(), show_default=False)],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy of the release.", show_default=False)],
    cube: Annotated[
        str | None,
        typer.Option(
            "--cube", help="Divergence of the group-by cube at these levels, such as 1,2.", show_default=False
        ),
    ] = None,
    queries: Annotated[
        str | None, typer.Option("--queries", help="So many random range-count queries.", show_default=False)
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--of", help="The sensitive column of cube and queries.", show_default=False),
    ] = None,
    selectivity: Annotated[
        str | None, typer.Option("--selectivity", help="Share of records that a query selects.", show_default="0.05")
    ] = None,
    bound: Annotated[
        bool, typer.Option("--bound", help="Also find how little any release could lose.", show_default=False)
    ] = False,
    seed: options.Seed = 0,
    engine: options.Counting = None,
    spark_master: options.SparkMaster = None,
    threads: options.Threads = None,
    *,
    text: options.TextFile,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Measure what a release lost, from what it publishes: ranges, sets, tree labels, bounds or means.

    With a workload in the policy, also how well the release serves each task; with --cube and --queries, how well it
    answers group-bys and range counts; with --bound, how little any release could lose. The output has facts of the
    original, such as true sums and extremes: it is for whoever may see the original.
    """
    from rothko.cli import console
    from rothko.engines import Spark
    from rothko.methods.anatomy import refuse
    from rothko.metrics.cube import cube_of, sensitive_column
    from rothko.metrics.measure import bound_of, loss_of
    from rothko.metrics.measure import measure as measure_it
    from rothko.metrics.pair import read_pair
    from rothko.metrics.ranges import SELECTIVITY, ranges_of
    from rothko.metrics.told import queries as queries_told
    from rothko.policy.draft import as_policy

    if cube is None and queries is None and of is not None:
        raise InputError("--of goes with --cube or --queries.")
    levels = None if cube is None else [options.whole("--cube", level, 1) or 1 for level in options.names(cube)]
    if levels == []:
        raise InputError("--cube needs levels, such as 1,2.")
    count = None if queries is None else options.count("--queries", queries)
    share = options.number("--selectivity", selectivity, 0)
    column = of if levels is None else sensitive_column(policy, of)
    csv = text.options()
    asked = as_policy(policy)
    refuse(asked.method, "rothko measure")
    show = console.paragraphs(quiet=as_json)
    if (engine or asked.engine.name) == Spark.name:
        here = {"--cube": levels is not None, "--queries": count is not None, "--bound": bound}
        for option in (name for name, given in here.items() if given):
            raise InputError(
                f"{option} looks at all records at once, which Spark does not bring here; leave it out, or measure "
                "with --engine memory."
            )
        lost = measure_it(table_of(original), release, policy, engine=engine, spark_master=spark_master, csv=csv)
        show(console.losses(lost))
        for table in console.survey(lost):
            show(table)
        if as_json:
            console.json(lost.to_dict(), "measure")
        return
    pair = read_pair(table_of(original), release, policy, beside=[column] if column else [], threads=threads, csv=csv)
    lost = loss_of(pair)
    if bound:
        lost = replace(lost, bound=bound_of(pair, seed=seed, threads=threads))
    told = lost.to_dict()
    show(console.losses(lost))
    for table in console.survey(lost):
        show(table)
    if levels is not None and column is not None:
        found = cube_of(pair, pair.beside[column], levels, threads=threads)
        told["cube"] = found.to_dict()
        show(console.cube(found))
    if count is not None:
        beside = None if of is None else pair.beside[of]
        drawn = SELECTIVITY if share is None else share
        answered = ranges_of(pair, beside, queries=count, selectivity=drawn, seed=seed, threads=threads)
        told["queries"] = answered.to_dict()
        show(console.facts(queries_told(answered)))
    if as_json:
        console.json(told, "measure")
