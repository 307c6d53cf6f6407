"""Which ending stands for which format: the one place that writing and verifying ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from rothko.errors import InputError
from rothko.release.formats.arrow import Arrow
from rothko.release.formats.by_database import ENDING, Counted
from rothko.release.formats.by_labels import ByLabels
from rothko.release.formats.csv import Csv
from rothko.release.formats.dta import Stata
from rothko.release.formats.format import FileFormat
from rothko.release.formats.parquet import Parquet
from rothko.release.formats.sav import Spss
from rothko.release.formats.xlsx import Xlsx
from rothko.release.kinds import refuse_unions, within

FORMATS: dict[str, FileFormat] = {
    ".parquet": Parquet(),
    ".csv": Csv(","),
    ".tsv": Csv("\t"),
    ".arrow": Arrow(),
    ".feather": Arrow(),
    ".xlsx": Xlsx(),
    ".dta": ByLabels(Stata()),
    ".sav": ByLabels(Spss()),
}
COUNTED = Counted()
ENDINGS = tuple(FORMATS)
"""Of files that can be written."""


def file_format(path: Path) -> FileFormat:
    """The format of a file that was claimed to be written, by its ending."""
    if path.name.endswith(ENDING):
        return COUNTED
    return next(form for ending, form in FORMATS.items() if path.name.lower().endswith(ending))


def refuse_names(names: Sequence[str], path: Path) -> None:
    """Refuse columns whose names a file of this ending does not allow; it is asked before any work."""
    form = file_format(path)
    if isinstance(form, ByLabels):
        form.program.check_names(names)


def refuse_kinds(fields: pa.Schema, path: Path, *, private: bool = False) -> None:
    """Refuse columns that a file of this ending has no type for.

    Parameters
    ----------
    private
        The file does not leave; what reads it knows the types, and restores a duration from its number.
    """
    refuse_unions(fields)
    form = file_format(path)
    for field in fields:
        if any(form.lacks(kind, private=private) for kind in within(field.type)):
            where, instead = f"a {path.suffix} file has no type for", "write .arrow"
            if private:
                where, instead = "an engine on disk cannot store", "use engine: memory"
            raise InputError(
                f"Column {field.name!r} holds {field.type}, which {where}; {instead}, turn it into text or numbers, "
                "or drop it."
            )
