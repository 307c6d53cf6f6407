"""The file formats that can be read: which endings they have, and whether their columns have types.

The first question that is asked of a file, everywhere, is asked here. How each is opened is in
:mod:`rothko.data.source.open`, how each is written and verified in :mod:`rothko.release.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    name: str
    endings: Mapping[str, str]
    """Ending of a file → that of a release of it, where none is asked for."""
    text: bool = False
    """Whether its columns have no types."""


CSV = Format(
    "csv",
    {".csv": ".csv", ".tsv": ".tsv", ".txt": ".csv", ".csv.gz": ".csv", ".tsv.gz": ".tsv"},
    text=True,
)
PARQUET = Format("parquet", {".parquet": ".parquet", ".pq": ".parquet"})
ARROW = Format("arrow", {".arrow": ".arrow", ".feather": ".feather", ".ipc": ".arrow"})
FORMATS = (CSV, PARQUET, ARROW)


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


def ending_like(path: Path | None) -> str:
    """The ending of a release of this file, where none is asked for.

    >>> ending_like(Path("people.tsv.gz")), ending_like(None)
    ('.tsv', '.parquet')
    """
    form = None if path is None else format_of(path)
    return ".parquet" if path is None or form is None else form.endings[ending_of(path) or ""]
