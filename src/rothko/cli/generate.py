"""``rothko generate``: synthetic data of the literature."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from rothko.cli import options
from rothko.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

Table = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="<path>",
        help="The file to write (.csv, .tsv, .parquet, .arrow).",
        show_default=False,
    ),
]
generators = typer.Typer(help="Make synthetic data.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(generators, name="generate")


@generators.callback()
def _group() -> None:
    """Make synthetic data."""


@generators.command("agrawal")
def agrawal(
    out: Table,
    n: Annotated[str, typer.Option("-n", "--rows", help="Number of records, also as 1e6.")] = "100000",
    function: Annotated[int, typer.Option("--function", help="The class label: 1 to 10.")] = 2,
    target: Annotated[
        str | None, typer.Option("--target", help="A number to predict: R7 or R10.", show_default=False)
    ] = None,
    noise: Annotated[float, typer.Option("--noise", help="Share of labels that are turned over.")] = 0.0,
    perturb: Annotated[
        float, typer.Option("--perturb", help="Move quantities by up to half of this part of their span.")
    ] = 0.0,
    random_constants: Annotated[
        bool, typer.Option("--random-constants", help="Draw the function's constants.")
    ] = False,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write people after Agrawal, Imielinski and Swami (1993): nine attributes, a class label, a target."""
    from rothko.generate.agrawal import agrawal_batches

    rows = options.count("-n", n)
    if target not in (None, "R7", "R10"):
        raise InputError(f"--target must be R7 or R10, not {target!r}.")
    batches = agrawal_batches(
        rows,
        function=function,
        target=cast(Literal["R7", "R10"] | None, target),
        noise=noise,
        perturb=perturb,
        constants="random" if random_constants else None,
        seed=seed,
    )
    _write(batches, out, overwrite)


@generators.command("census")
def census(
    out: Table,
    n: Annotated[str, typer.Option("-n", "--rows", help="Number of records, also as 4e5.")] = "100000",
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="Write a policy, too: roles and hierarchies of the census.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a census with the attributes of Ghinita et al. (VLDB 2007): seven quasi-identifiers, two sensitive."""
    from rothko.generate.census import census_batches, census_policy

    beside = {} if policy is None else {policy: census_policy().dump()}
    _write(census_batches(options.count("-n", n), seed=seed), out, overwrite, beside)


@generators.command("patients")
def patients(
    out: Table,
    n: Annotated[str, typer.Option("-n", "--rows", help="Number of patients, also as 1e6.")] = "10000",
    visits: Annotated[
        float | None,
        typer.Option("--visits", help="A record for each of so many visits on average.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write the made-up patients of the README: a name, four quasi-identifiers, a diagnosis, a cost.

    With --visits, patients come several times: each has a number in patient_id, and each visit its date.
    """
    from rothko.generate import patients as made_up

    rows = options.count("-n", n)

    def batches() -> Iterator[pa.RecordBatch]:  # made only when it is known that they can be written
        table = made_up.patients(rows, seed=seed) if visits is None else made_up.visits(rows, mean=visits, seed=seed)
        yield from table.to_batches()

    _write(batches(), out, overwrite)


@generators.command("longtail")
def longtail(
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="A record a line (.txt) or a list column (.parquet).",
            show_default=False,
        ),
    ],
    n: Annotated[str, typer.Option("-n", "--rows", help="Number of records, also as 1e6.")] = "100000",
    items: Annotated[int, typer.Option("--items", help="Number of items.")] = 1000,
    mean: Annotated[float, typer.Option("--mean", help="Items of a record on average.")] = 40.0,
    deviation: Annotated[float, typer.Option("--deviation", help="Standard deviation of their number.")] = 24.0,
    most: Annotated[float, typer.Option("--most", help="Frequency of the first item.")] = 0.5,
    least: Annotated[float, typer.Option("--least", help="Frequency of the last one.")] = 0.001,
    targeting: Annotated[
        bool, typer.Option("--targeting", help="20,616,891 records of 1,987 items, whatever -n and --items say.")
    ] = False,
    utility: Annotated[
        Path | None,
        typer.Option("--utility", help="Write a CSV file of items and utilities, too.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write sets of items with a long tail after Podgursky (2011), and utilities from 1 to 100."""
    from rothko.generate.longtail import TARGETING, LongTail, longtail_batches

    rows, size = TARGETING if targeting else (options.count("-n", n), items)
    shape = LongTail(items=size, most=most, least=least, mean=mean, deviation=deviation, seed=seed)
    worths = zip(shape.names(), shape.utilities().tolist(), strict=True)
    lines = "".join(f"{name},{worth}\n" for name, worth in worths)
    beside = {} if utility is None else {utility: f"item,utility\n{lines}"}
    _write(longtail_batches(rows, shape), out, overwrite, beside, endings=(".txt", ".parquet"))


def _write(
    batches: Iterable[pa.RecordBatch],
    out: str,
    overwrite: bool,
    beside: Mapping[Path, str] | None = None,
    endings: tuple[str, ...] | None = None,
) -> None:
    """Write all files, or none, and say how many records there are.

    Parameters
    ----------
    beside
        Other files, with what they hold.
    endings
        Those that a name may have, where not every format of a table will do.
    """
    from rothko.cli import console
    from rothko.release.claims import claim_files
    from rothko.release.formats.table import ENDINGS
    from rothko.release.staging import staging
    from rothko.release.write import explained, write_batches

    beside = beside or {}
    claim = claim_files([out, *beside], overwrite=overwrite, endings=endings or ENDINGS)
    path, rows = Path(out), 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += batch.num_rows
            yield batch

    with staging(claim) as stage:
        place = stage.place_for(path)
        if path.name.lower().endswith(".txt"):
            with explained(path), place.open("w", encoding="utf-8") as file:
                for batch in counted():
                    file.writelines(" ".join(record) + "\n" for record in batch.column(0).to_pylist())
        else:
            write_batches(counted(), place)
        for other, text in beside.items():
            stage.write(other, text)
        stage.commit()
    if options.asked("as_json"):
        console.json({"records": rows, "path": str(path), "beside": [str(other) for other in beside]}, "generate")
        return
    console.out.print(f"{rows:,} records: {path}", markup=False)
    for other in beside:
        console.out.print(str(other), markup=False)
