"""``rothko measure``: what a release lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(measure)


def measure(
    original: Annotated[Path, typer.Argument(help="The table that was released.", show_default=False)],
    release: Annotated[Path, typer.Argument(help="Its release.", show_default=False)],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy of the release.", show_default=False)],
    threads: options.Threads = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Measure what a release lost, from what it publishes: ranges, sets, tree labels, bounds or means.

    With a workload in the policy, also how well the release serves each task. The output has facts of the original,
    such as true sums and extremes: it is for whoever may see the original.
    """
    from rothko.cli import console
    from rothko.metrics.measure import measure as compare

    csv = options.csv_options(delimiter, quote, encoding, header)
    lost = compare(original, release, policy, threads=threads, csv=csv)
    if as_json:
        typer.echo(json.dumps(lost.to_dict(), ensure_ascii=False, indent=1))
    else:
        console.out.print(console.losses(lost))
