"""Options of the commands that read records that are sets, and how their values are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rothko.cli import options
from rothko.cli.pipes import piped
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.data.hierarchy.hierarchy import Hierarchy
    from rothko.sets.files import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOptions:
    """How sets are read."""

    utility: Annotated[
        Path | None,
        typer.Option(
            "--utility",
            help="Sets: a CSV file of items and their utilities; 1 by default.",
            callback=piped(),
            show_default=False,
        ),
    ] = None
    form: Annotated[
        str, typer.Option("--form", help="Sets: lines, list, long, boolean or table; auto where there is no doubt.")
    ] = "auto"
    column: Annotated[str | None, typer.Option("--column", help="Sets: the list column.", show_default=False)] = None
    record: Annotated[
        str | None, typer.Option("--record", help="Sets in long form: the column of the record.", show_default=False)
    ] = None
    item: Annotated[
        str | None, typer.Option("--item", help="Sets in long form: the column of the item.", show_default=False)
    ] = None
    worth: Annotated[
        str | None,
        typer.Option("--worth", help="Sets in long form: the column of the item's utility.", show_default=False),
    ] = None
    columns: Annotated[
        str,
        typer.Option(
            "--columns", help="Sets from a table: its columns, separated by commas; all by default.", show_default=False
        ),
    ] = ""
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bin", help="Sets from a table: bins of a column of numbers, age=5; may be repeated.", show_default=False
        ),
    ] = None
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            help="Sets: a file whose ancestors become items: of the items, or of a column as job=jobs.csv.",
            show_default=False,
        ),
    ] = None

    def reading(self, delimiter: str | None, encoding: str | None) -> Reading:
        r"""How to read the records, as a person said it; the delimiter ``\t`` means a tab."""
        from rothko.sets.files import Reading

        of_columns, of_items = _hierarchies(self.hierarchy or [])
        return Reading(
            form=self.form, delimiter="\t" if delimiter in ("\\t", "tab") else delimiter, encoding=encoding,
            column=self.column, record=self.record, item=self.item, worth=self.worth,
            columns=[name.strip() for name in self.columns.split(",")] if self.columns else None,
            bins={name: options.number("--bin", width, 0) for name, width in options.pairs("--bin", self.bins or [])},
            hierarchies=of_columns, hierarchy=of_items,
        )  # fmt: skip


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
