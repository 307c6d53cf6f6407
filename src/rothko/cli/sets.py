"""``rothko sets``: set-valued records."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rothko.cli import log as log_events
from rothko.cli import options
from rothko.cli.groups import grouped
from rothko.cli.pipes import piped
from rothko.cli.set_options import SetOptions

if TYPE_CHECKING:
    from rothko.sets import SavedSets
    from rothko.sets.files import Reading


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sets")(grouped(sets))


def sets(
    data: Annotated[
        Path,
        typer.Argument(
            help="A text file with a record a line, or a table (CSV, Parquet, Arrow); - is standard input.",
            callback=piped(".txt"),
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="A record a line (.txt), a list column (.parquet), long form (.csv).",
            show_default=False,
        ),
    ],
    how: SetOptions,
    k: Annotated[str, typer.Option("--k", help="Records that share what is published, at least.")] = "10",
    method: Annotated[
        str, typer.Option("--method", help="The algorithm.", autocompletion=options.set_method_names)
    ] = "set-two-phase",
    option: options.MethodOption = None,
    of: Annotated[str | None, typer.Option("--of", hidden=True)] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Between items of a line; blanks by default.", show_default=False)
    ] = None,
    encoding: options.Encoding = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="The same seed gives the same bytes; a secret one by default for (k,1).", show_default="0"
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="memory, or spark for set-mondrian on a cluster.",
            autocompletion=lambda: ["memory", "spark"],
        ),
    ] = "memory",
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="With engine spark: what the Python of a task, or of the driver, may take.",
            show_default="1GB",
        ),
    ] = None,
    spark_master: options.SparkMaster = None,
    report: Annotated[bool, typer.Option("--report", help="Write a report for everybody beside the sets.")] = False,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    log: options.Log = None,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Release records that are sets of items: for each the items that it shares with k records.

    The sets are verified as they were written; the certificate lies beside them.
    """
    from rothko.cli import console
    from rothko.sets import prepare
    from rothko.sets.methods import as_method
    from rothko.sets.release import as_engine
    from rothko.sets.report import report as reported
    from rothko.sets.write import free_place

    reading = how.reading(delimiter, encoding)
    least = options.whole("--k", k, 2)
    chosen = as_method({method: options.parameters("--option", option)})
    read = [data] if how.utility is None else [data, how.utility]
    reporter = partial(reported, delimiter=_between(reading)) if report else None
    place = free_place(
        out, inputs=read, overwrite=overwrite, in_parts=as_engine(engine).on_cluster, reporter=reporter
    )  # fmt: skip
    with console.progress(quiet=as_json) as tell:
        release = prepare(
            data, k=least, method=chosen, utility=how.utility, reading=reading, of=of, seed=seed, engine=engine,
            threads=threads, memory=memory, spark_master=spark_master, progress=tell,
        )  # fmt: skip
        tell("save", 0, 1)
        saved = release.save(place, delimiter=_between(reading))
        tell("save", 1, 1)
    log_events.counted(saved.certificate["rows"])
    _show(saved, as_json)


def _between(reading: Reading) -> str:
    """What separates the items of a line that is written: what separates those that were read."""
    lines = reading.form in ("auto", "lines") and reading.record is None and reading.columns is None
    return reading.delimiter if reading.delimiter is not None and lines else " "


def _show(saved: SavedSets, as_json: bool) -> None:
    """The verdict, as the certificate of the written bytes has it."""
    from rothko.cli import console
    from rothko.data.address import address

    certificate = saved.certificate
    if as_json:
        console.json(certificate)
        return
    console.out.print(console.set_requirement(certificate["requirement"]))
    console.out.print()
    console.out.print(console.set_metrics(certificate["metrics"]))
    console.out.print()
    seconds = sum(certificate["seconds"].values())
    method = certificate["method"]["name"]
    console.out.print(
        f"{certificate['rows']:,} records in {seconds:.2f} s, verified on the written bytes ({method}).", markup=False
    )
    if certificate["requirement"]["name"] != "k-anonymity":
        console.out.print(certificate["adversary"], markup=False)
    for note in certificate["notes"]:
        console.out.print(note, markup=False)
    if saved.report_failed is not None:
        console.err.print(
            f"Its report could not be made ({saved.report_failed}); rothko report --debug shows where.", markup=False
        )
    for path in (saved.data, saved.certificate_path, saved.report_path):
        if path is not None:
            console.out.print(address(path), markup=False)
