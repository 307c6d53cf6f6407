"""Options of the commands that read records that are sets, and how their values are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rothko.cli import options
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.data.hierarchy.hierarchy import Hierarchy
    from rothko.sets.files import Reading

Utility = Annotated[
    Path | None,
    typer.Option("--utility", help="Sets: a CSV file of items and their utilities; 1 by default.", show_default=False),
]
Form = Annotated[
    str, typer.Option("--form", help="Sets: lines, list, long, boolean or table; auto where there is no doubt.")
]
Column = Annotated[str | None, typer.Option("--column", help="Sets: the list column.", show_default=False)]
Record = Annotated[
    str | None, typer.Option("--record", help="Sets in long form: the column of the record.", show_default=False)
]
Item = Annotated[
    str | None, typer.Option("--item", help="Sets in long form: the column of the item.", show_default=False)
]
Worth = Annotated[
    str | None,
    typer.Option("--worth", help="Sets in long form: the column of the item's utility.", show_default=False),
]
Columns = Annotated[
    str,
    typer.Option(
        "--columns", help="Sets from a table: its columns, separated by commas; all by default.", show_default=False
    ),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bin", help="Sets from a table: bins of a column of numbers, age=5; may be repeated.", show_default=False
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        help="Sets: a file whose ancestors become items: of the items, or of a column as job=jobs.csv.",
        show_default=False,
    ),
]


def reading(
    *,
    form: str,
    delimiter: str | None,
    encoding: str | None,
    column: str | None,
    record: str | None,
    item: str | None,
    worth: str | None,
    columns: str,
    bins: list[str] | None,
    hierarchy: list[str] | None,
) -> Reading:
    r"""How to read the records, as a person said it; the delimiter ``\t`` means a tab."""
    from rothko.sets.files import Reading

    of_columns, of_items = _hierarchies(hierarchy or [])
    return Reading(
        form=form, delimiter="\t" if delimiter in ("\\t", "tab") else delimiter, encoding=encoding, column=column,
        record=record, item=item, worth=worth,
        columns=[name.strip() for name in columns.split(",")] if columns else None,
        bins={name: _width(width) for name, width in options.pairs("--bin", bins or [])},
        hierarchies=of_columns, hierarchy=of_items,
    )  # fmt: skip


def _width(text: str) -> float:
    width = options.number("--bin", text, 0)
    assert width is not None
    return width


def _hierarchies(texts: list[str]) -> tuple[dict[str, Hierarchy], Hierarchy | None]:
    """Those of columns, and the one of the items."""
    from rothko.data.hierarchy.hierarchy import Hierarchy

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
