"""The file formats that can be read: one table of endings, how each is opened, and whether its columns have types.

The first question that is asked of a file, everywhere, is asked here. How each is written and verified is in
:mod:`rothko.release.formats`.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rothko.data.address import is_store
from rothko.data.source.arrow import open_arrow
from rothko.data.source.csv import PACKED, CsvOptions
from rothko.data.source.csv_file import open_csv
from rothko.data.source.parquet import open_parquet
from rothko.data.source.source import Source
from rothko.data.source.spreadsheet import open_spreadsheet
from rothko.data.source.statistics_file import READERS, open_statistics
from rothko.errors import InputError, unreadable_name
from rothko.mistakes import said


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    open: Callable[[Path, CsvOptions], Source]
    endings: Mapping[str, str]
    """Ending of a file → that of a release of it, where none is asked for."""
    text: bool = False
    """Whether its columns have no types."""
    cells: bool = False
    """Whether it has cells with a kind each, and columns of none."""


CSV = Format(
    open_csv,
    {".csv": ".csv", ".tsv": ".tsv", ".txt": ".csv"}
    | {f"{ending}{packed}": ending for packed in PACKED for ending in (".csv", ".tsv")},
    text=True,
)
PARQUET = Format(open_parquet, {".parquet": ".parquet", ".pq": ".parquet"})
ARROW = Format(open_arrow, {".arrow": ".arrow", ".feather": ".feather", ".ipc": ".arrow"})
SPREADSHEET = Format(
    open_spreadsheet,
    {".xlsx": ".xlsx", ".xlsm": ".xlsx", ".ods": ".xlsx", ".xls": ".xlsx"},
    cells=True,
)
STATISTICS = Format(
    open_statistics,
    dict.fromkeys(READERS, ".csv") | {".dta": ".dta", ".sav": ".sav", ".zsav": ".sav", ".por": ".sav"},
    cells=True,
)
FORMATS = (CSV, PARQUET, ARROW, SPREADSHEET, STATISTICS)
NAMED = {"csv": CSV, "tsv": CSV, "parquet": PARQUET, "arrow": ARROW}
"""Formats that a file may be said to have, whatever its ending is."""


def check_file(path: Path, *, may_be_empty: bool = False) -> None:
    """Tell what is no file to read before any reader looks at it."""
    try:
        about = path.stat()
    except (OSError, ValueError):
        raise InputError(f"There is no file {str(path)!r}.") from None
    if stat.S_ISDIR(about.st_mode):
        raise InputError(f"{str(path)!r} is a folder; name a file in it.")
    wrong = unreadable_name(path)
    if wrong is not None:
        raise InputError(wrong)
    if not stat.S_ISREG(about.st_mode):
        raise InputError(
            f"{str(path)!r} is a pipe or a device, which can be read only once; save what comes through it to a file."
        )
    if about.st_size == 0 and not may_be_empty:
        raise InputError(f"{path.name} is empty.")


def open_file(path: Path, csv: CsvOptions) -> Source:
    """Open the file of a table."""
    if not is_store(path):
        check_file(path)
    form = format_of(path) if csv.format is None else NAMED.get(csv.format)
    if form is None and csv.format is not None:
        raise InputError(f"{said('--input-format')} is one of {', '.join(NAMED)}, not {csv.format!r}.")
    if form is None:
        known = ", ".join(ending for form in FORMATS for ending in form.endings)
        raise InputError(
            f"{path.name} has an ending that rothko does not know; it reads {known}. If it is one of these, say so: "
            f"{said('--input-format', 'csv')}."
        )
    return form.open(path, replace(csv, delimiter=csv.delimiter or "\t") if csv.format == "tsv" else csv)


def ending_of(path: Path) -> str | None:
    """The ending of a file that can be read, the longest that it has; None where it has none.

    >>> ending_of(Path("People.CSV.gz")), ending_of(Path("people.doc"))
    ('.csv.gz', None)
    """
    name = path.name.lower()
    return max((one for form in FORMATS for one in form.endings if name.endswith(one)), key=len, default=None)


def format_of(path: Path) -> Format | None:
    """The format of a file by its ending; None where it is none that can be read."""
    ending = ending_of(path)
    return next((form for form in FORMATS if ending in form.endings), None)


def is_text(path: object) -> bool:
    """Whether this is a file whose columns have no types; a table in memory is none.

    >>> is_text(Path("people.tsv")), is_text(Path("people.parquet")), is_text(None)
    (True, False, False)
    """
    form = format_of(path) if isinstance(path, Path) else None
    return form is not None and form.text


def in_cells(path: object) -> bool:
    """Whether nothing and an empty text are the same in this file: it is one of cells, with columns of no type.

    >>> in_cells(Path("people.csv")), in_cells(Path("people.xlsx")), in_cells(Path("people.parquet"))
    (True, True, False)
    """
    form = format_of(path) if isinstance(path, Path) else None
    return form is not None and (form.text or form.cells)


def ending_like(path: Path | None) -> str:
    """The ending of a release of this file, where none is asked for.

    >>> ending_like(Path("people.tsv.gz")), ending_like(None)
    ('.tsv', '.parquet')
    """
    form = None if path is None else format_of(path)
    return ".parquet" if path is None or form is None else form.endings[ending_of(path) or ""]
