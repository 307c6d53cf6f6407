"""Tables that Spark reads: folders and files of Parquet, CSV or Delta, and tables of its catalog."""

from __future__ import annotations

import csv as text
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rothko.data.address import ELSEWHERE, address
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import DAMAGED, Source
from rothko.data.source.spark import open_spark
from rothko.data.source.spark_errors import understood
from rothko.errors import InputError

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".gz": "csv"}


def open_by_spark(session: Any, data: str | Path, csv: CsvOptions | None = None) -> Source:
    """Open what a path, an address or the name of a table stands for."""
    name = address(data)
    if not ELSEWHERE.match(name):
        path = Path(data)
        if path.exists():
            return _open_path(session, path, csv or CsvOptions())
        with understood():
            there = re.fullmatch(r"[\w`.]+", name) is not None and session.catalog.tableExists(name)
        if not there:
            raise InputError(f"There is no file, folder or table {name!r}.")
        with understood():
            return open_spark(session.table(name), label=f"the table {name}")
    form = next((form for ending, form in ENDINGS.items() if name.rstrip("/").lower().endswith(ending)), "parquet")
    with understood():
        return open_spark(_read(session, form, name, csv or CsvOptions()), label=name, text=form != "parquet")


def not_for_spark(data: object) -> InputError:
    """What is said where something else is given than Spark can read."""
    return InputError(
        f"engine spark takes a Spark DataFrame, or a path or table that Spark reads, not a {type(data).__name__}; "
        "turn it into one with session.createDataFrame, or use engine: auto."
    )


def _open_path(session: Any, path: Path, csv: CsvOptions) -> Source:
    files = files_of(path)
    if not files:
        raise InputError(f"{str(path)!r} has no files that can be read.")
    if (path / "_delta_log").is_dir():
        with understood():
            return open_spark(session.read.format("delta").load(str(path.absolute())), label=path.name, path=path)
    forms = {_form(file) if csv.format is None else csv.format for file in files}
    if files == [path] and None in forms:
        raise InputError(f"{path.name} is no file that Spark reads; use engine: auto, or save it as Parquet or CSV.")
    if len(forms) > 1 or None in forms:
        raise InputError(
            f"{str(path)!r} has files of several kinds; name a folder of Parquet, CSV or TSV files, and no others."
        )
    [form] = forms
    assert form is not None
    if form == "parquet":
        _alike(files)
    elif csv.header is not False:
        _headed_alike(files, csv, _tab(form))
    with understood():
        frame = _read(session, form, str(path.absolute()), csv)
    # What the names of folders tell (`year=2026/`) only Spark makes columns of.
    named = any("=" in folder.name for file in files for folder in file.relative_to(path).parents)
    parts = files if form == "parquet" and not named else ()
    return open_spark(frame, label=path.name, path=path, parts=parts, text=form != "parquet")


def files_of(path: Path) -> list[Path]:
    """The files of a folder that Spark would read."""
    if path.is_file():
        return [path]
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return [file for file in found if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)]


def _form(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    return next((form for ending, form in ENDINGS.items() if name.endswith(ending)), None)


def _alike(files: Sequence[Path]) -> None:
    """Refuse files of which one has other columns, or columns of other types, than the first."""
    first: pa.Schema | None = None
    for file in files:
        try:
            schema = pq.read_schema(file).remove_metadata()
        except DAMAGED:
            raise InputError(f"{file.name} is no Parquet file, or it is damaged.") from None
        first = first or schema
        if not schema.equals(first):
            different = [field.name for field in schema if first.get_field_index(field.name) < 0]
            different += [f.name for f in first if schema.get_field_index(f.name) < 0 or schema.field(f.name) != f]
            which = repr(different[0]) if different else "in another order"
            raise InputError(_other_columns(file, files[0], which))


def _headed_alike(files: Sequence[Path], csv: CsvOptions, delimiter: str) -> None:
    """Refuse text files of which one has another header than the first: Spark would say so in many words."""
    first: list[str] | None = None
    for file in files:
        opened = gzip.open if file.suffix.lower() == ".gz" else open
        try:
            with opened(file, "rt", encoding=csv.encoding or "utf-8-sig", newline="") as lines:
                rows = text.reader(lines, delimiter=csv.delimiter or delimiter, quotechar=csv.quote or '"')
                header = next(rows, [])
        except (OSError, EOFError, UnicodeError, LookupError, text.Error):
            raise InputError(f"{file.name} cannot be read as text; correct its encoding, or leave it out.") from None
        first = first if first is not None else header
        if header != first:
            different = [name for name in header if name not in first] + [name for name in first if name not in header]
            which = repr(different[0]) if different else "in another order"
            raise InputError(_other_columns(file, files[0], which))


def _other_columns(file: Path, first: Path, which: str) -> str:
    return (
        f"{file.name} has other columns than {first.name}: {which}; bring all files of the folder to one schema."
    )  # fmt: skip


def _tab(form: str) -> str:
    return "\t" if form == "tsv" else ","


def _read(session: Any, form: str, path: str, csv: CsvOptions) -> Any:
    if form == "parquet":
        return session.read.parquet(path)
    quote = csv.quote or '"'
    reader = session.read.options(
        header=csv.header is not False, enforceSchema=False, multiLine=True, sep=csv.delimiter or _tab(form),
        quote=quote, escape=quote, encoding=csv.encoding or "UTF-8", mode="FAILFAST", inferSchema=False,
    )  # fmt: skip
    return reader.csv(path)
