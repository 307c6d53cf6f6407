"""``rothko sets``: set-valued records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rothko.cli import options
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.data.hierarchy import Hierarchy
    from rothko.data.sets_files import Reading
    from rothko.sets import SavedSets


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sets")(sets)


def sets(
    data: Annotated[
        Path,
        typer.Argument(help="A text file with a record a line, or a table (CSV, Parquet, Arrow).", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A record a line (.txt), a list column (.parquet), long form (.csv).",
            show_default=False,
        ),
    ],
    k: Annotated[str, typer.Option("--k", help="Records that share what is published, at least.")] = "10",
    method: Annotated[str, typer.Option("--method", help="The algorithm.")] = "set-two-phase",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="Of the method: criterion=even; may be repeated.", show_default=False),
    ] = None,
    utility: Annotated[
        Path | None,
        typer.Option("--utility", help="A CSV file of items and their utilities; 1 by default.", show_default=False),
    ] = None,
    form: Annotated[
        str, typer.Option("--form", help="lines, list, long, boolean or table; auto where there is no doubt.")
    ] = "auto",
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Between items of a line; blanks by default.", show_default=False)
    ] = None,
    column: Annotated[str | None, typer.Option("--column", help="The list column.", show_default=False)] = None,
    record: Annotated[
        str | None, typer.Option("--record", help="Long form: the column of the record.", show_default=False)
    ] = None,
    item: Annotated[
        str | None, typer.Option("--item", help="Long form: the column of the item.", show_default=False)
    ] = None,
    worth: Annotated[
        str | None, typer.Option("--worth", help="Long form: the column of the item's utility.", show_default=False)
    ] = None,
    columns: Annotated[
        str,
        typer.Option("--columns", help="Columns of a table, separated by commas; all by default.", show_default=False),
    ] = "",
    bins: Annotated[
        list[str] | None,
        typer.Option("--bin", help="Bins of a column of numbers: age=5; may be repeated.", show_default=False),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            help="A file whose ancestors become items: of the items, or of a column as job=jobs.csv.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="The same seed gives the same bytes; a secret one by default for (k,1).", show_default="0"
        ),
    ] = None,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Release records that are sets of items: for each the items that it shares with k records.

    The sets are verified as they were written; the certificate lies beside them.
    """
    from rothko.cli import console
    from rothko.data.sets_files import Reading
    from rothko.release.sets import free_place
    from rothko.sets import as_method, prepare

    separator = "\t" if delimiter in ("\\t", "tab") else delimiter
    columns_hierarchies, items_hierarchy = _hierarchies(hierarchy or [])
    reading = Reading(
        form=form, delimiter=separator, column=column, record=record, item=item, worth=worth,
        columns=[name.strip() for name in columns.split(",")] if columns else None,
        bins={name: _width(width) for name, width in _pairs("--bin", bins or [])},
        hierarchies=columns_hierarchies, hierarchy=items_hierarchy,
    )  # fmt: skip
    least = options.whole("--k", k, 2)
    assert least is not None
    chosen = as_method({method: {name: _plain(value) for name, value in _pairs("--option", option or [])}})
    free_place(out, source=data, overwrite=overwrite)
    with console.progress(quiet=as_json) as report:
        release = prepare(
            data, k=least, method=chosen, utility=utility, reading=reading, seed=seed,
            threads=threads, progress=report,
        )  # fmt: skip
        report("save", 0, 1)
        saved = release.save(out, delimiter=_between(reading, separator), overwrite=overwrite)
        report("save", 1, 1)
    _show(saved, as_json)


def _between(reading: Reading, separator: str | None) -> str:
    """What separates the items of a line that is written: what separates those that were read."""
    lines = reading.form in ("auto", "lines") and reading.record is None and reading.columns is None
    return separator if separator is not None and lines else " "


def _pairs(option: str, texts: list[str]) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option} must be a name and a value, such as a=1, not {text!r}.")
        found.append((name.strip(), value.strip()))
    return found


def _plain(text: str) -> Any:
    """A value as YAML would read it: 5 is a number, true a truth value.

    >>> _plain("5"), _plain("lsh")
    (5, 'lsh')
    """
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _width(text: str) -> float:
    width = options.number("--bin", text, 0)
    assert width is not None
    return width


def _hierarchies(texts: list[str]) -> tuple[dict[str, Hierarchy], Hierarchy | None]:
    """Those of columns, and the one of the items."""
    from rothko.data.hierarchy import Hierarchy

    of_columns: dict[str, Hierarchy] = {}
    of_items = None
    for text in texts:
        name, equals, path = text.partition("=")
        if equals and not Path(text).exists():
            of_columns[name.strip()] = Hierarchy.from_csv(path.strip())
        elif of_items is not None:
            raise InputError("Items have one hierarchy; name the column of others, as job=jobs.csv (--hierarchy).")
        else:
            of_items = Hierarchy.from_csv(text)
    return of_columns, of_items


def _show(saved: SavedSets, as_json: bool) -> None:
    """The verdict, as the certificate of the written bytes has it."""
    import json

    from rothko.cli import console

    certificate = saved.certificate
    if as_json:
        typer.echo(json.dumps(certificate, ensure_ascii=False, indent=1))
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
    for path in (saved.data, saved.certificate_path):
        console.out.print(str(path), markup=False)
