"""``rothko generate``: synthetic data of the literature."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from rothko.cli import options
from rothko.errors import InputError

TABLES = (".parquet", ".csv")
"""Endings of tables that are generated."""

generators = typer.Typer(help="Make synthetic data.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(generators, name="generate")


@generators.callback()
def _group() -> None:
    """Make synthetic data."""


@generators.command("agrawal")
def agrawal(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write (.parquet or .csv).", show_default=False)],
    n: Annotated[str, typer.Option("-n", "--rows", help="Number of records, also as 1e6.")] = "100000",
    function: Annotated[int, typer.Option("--function", help="The class label: 1 to 10.")] = 2,
    target: Annotated[
        str | None, typer.Option("--target", help="A number to predict: R7 or R10.", show_default=False)
    ] = None,
    noise: Annotated[float, typer.Option("--noise", help="Share of labels that are turned over.")] = 0.0,
    random_constants: Annotated[
        bool, typer.Option("--random-constants", help="Draw the function's constants.")
    ] = False,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    debug: options.Debug = False,
) -> None:
    """Write people after Agrawal, Imielinski and Swami (1993): nine attributes, a class label, a target."""
    from rothko.cli import console
    from rothko.generate.agrawal import agrawal_batches
    from rothko.release.place import claim_files
    from rothko.release.staging import staging
    from rothko.release.write import write_batches

    rows = options.count("-n", n)
    _refuse_ending(out, "generate", TABLES)
    claim = claim_files([out], overwrite=overwrite)
    if target not in (None, "R7", "R10"):
        raise InputError(f"--target must be R7 or R10, not {target!r}.")
    with staging(claim) as stage:
        write_batches(
            agrawal_batches(
                rows,
                function=function,
                target=cast(Literal["R7", "R10"] | None, target),
                noise=noise,
                constants="random" if random_constants else None,
                seed=seed,
            ),
            stage.place_for(out),
        )
        stage.commit()
    console.out.print(f"{rows:,} records: {out}", markup=False)


@generators.command("census")
def census(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write (.parquet or .csv).", show_default=False)],
    n: Annotated[str, typer.Option("-n", "--rows", help="Number of records, also as 4e5.")] = "100000",
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="Write a policy, too: roles and hierarchies of the census.", show_default=False),
    ] = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    debug: options.Debug = False,
) -> None:
    """Write a census with the attributes of Ghinita et al. (VLDB 2007): seven quasi-identifiers, two sensitive."""
    from rothko.cli import console
    from rothko.generate.census import census_batches, census_policy
    from rothko.release.place import claim_files
    from rothko.release.staging import staging
    from rothko.release.write import write_batches

    rows = options.count("-n", n)
    _refuse_ending(out, "generate", TABLES)
    claim = claim_files([out, *([] if policy is None else [policy])], overwrite=overwrite)
    with staging(claim) as stage:
        write_batches(census_batches(rows, seed=seed), stage.place_for(out))
        if policy is not None:
            stage.write(policy, census_policy().dump())
        stage.commit()
    console.out.print(f"{rows:,} records: {out}", markup=False)
    if policy is not None:
        console.out.print(str(policy), markup=False)


@generators.command("longtail")
def longtail(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="A record a line (.txt) or a list column (.parquet).", show_default=False),
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
    debug: options.Debug = False,
) -> None:
    """Write sets of items with a long tail after Podgursky (2011), and utilities from 1 to 100."""
    from rothko.cli import console
    from rothko.generate.longtail import TARGETING, LongTail, longtail_batches
    from rothko.release.place import claim_files
    from rothko.release.staging import staging
    from rothko.release.write import write_batches

    rows, size = TARGETING if targeting else (options.count("-n", n), items)
    shape = LongTail(items=size, most=most, least=least, mean=mean, deviation=deviation, seed=seed)
    _refuse_ending(out, "generate longtail", (".parquet", ".txt"))
    claim = claim_files([out, *([] if utility is None else [utility])], overwrite=overwrite)
    with staging(claim) as stage:
        place = stage.place_for(out)
        if out.suffix == ".parquet":
            write_batches(longtail_batches(rows, shape), place)
        else:
            with place.open("w", encoding="utf-8") as file:
                for batch in longtail_batches(rows, shape):
                    file.writelines(" ".join(record) + "\n" for record in batch.column(0).to_pylist())
        if utility is not None:
            lines = [f"{name},{worth}" for name, worth in zip(shape.names(), shape.utilities().tolist(), strict=True)]
            stage.write(utility, "\n".join(["item,utility", *lines]) + "\n")
        stage.commit()
    console.out.print(f"{rows:,} records: {out}", markup=False)
    if utility is not None:
        console.out.print(str(utility), markup=False)


def _refuse_ending(out: Path, command: str, endings: tuple[str, str]) -> None:
    if out.suffix not in endings:
        raise InputError(
            f"{out.name} has an ending that is not generated; {command} writes {' or '.join(endings)} files."
        )
