"""Published sets in files: a record a line, a list column, or long form, by the ending of the name."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from rothko.errors import InputError, OutputError
from rothko.mistakes import said
from rothko.release.formats.arrow import OPTIONS
from rothko.release.names import LINE_ENDINGS, named_file
from rothko.release.parts import READ_BY_SPARK, check_ending
from rothko.release.place import Place, Reporter
from rothko.release.write import explained
from rothko.sets.records import Records

LIST_ENDINGS = (".parquet", ".arrow", ".feather")
LONG_ENDINGS = (".csv", ".tsv")
ENDINGS = (*LINE_ENDINGS, *LIST_ENDINGS, *LONG_ENDINGS)
"""A record a line; a list column; long form."""
SPARK_ENDINGS = (*LINE_ENDINGS, *READ_BY_SPARK)
"""What Spark can read again."""
ROWS = 1 << 18
"""Records that are written at a time."""


def data_ending(path: Path) -> str:
    """The ending of a file that can be written, which tells the format."""
    name = path.name.lower()
    found = [ending for ending in ENDINGS if name.endswith(ending)]
    if not found:
        raise OutputError(
            f"{path.name} has an ending that sets are not written to; there are {', '.join(LINE_ENDINGS)} (a record a "
            f"line), {', '.join(LIST_ENDINGS)} (a list column) and {', '.join(LONG_ENDINGS)} (record, item)."
        )
    return max(found, key=len)


def free_place(
    out: str | Path,
    *,
    inputs: Iterable[Path] = (),
    overwrite: bool = False,
    in_parts: bool = False,
    reporter: Reporter | None = None,
) -> Place:
    """Where the sets and their certificate go, checked before any work is done.

    Parameters
    ----------
    in_parts
        Whether the sets are a folder of files, under the name that a file would have.
    reporter
        What makes a report beside them; without one there is none.
    """
    data = named_file(out)
    ending = data_ending(data)
    if in_parts:
        check_ending(ending, SPARK_ENDINGS)
    return Place.of_file(data, inputs=inputs, overwrite=overwrite, in_parts=in_parts, reporter=reporter)


def write_sets(published: Records, path: Path, *, delimiter: str = " ", first: int = 0, step: int = 1) -> None:
    """Write published rows in the format of the path's ending, some at a time.

    Parameters
    ----------
    first, step
        How records are numbered in long form: no number may be in two of several files.
    """
    ending = data_ending(path)
    with explained(path):
        if ending in LINE_ENDINGS:
            _write_lines(published, path, delimiter)
        elif ending in LIST_ENDINGS:
            _write_lists(published, path, ending)
        else:
            _write_long(published, path, "\t" if ending == ".tsv" else ",", first, step)


def _parts(published: Records) -> list[tuple[int, int]]:
    return [(begin, min(begin + ROWS, published.count)) for begin in range(0, published.count, ROWS)]


def _write_lines(published: Records, path: Path, delimiter: str) -> None:
    names: list[str] = published.names.to_pylist()
    # What reads it back drops blanks around items, and splits at any blank where no delimiter is told.
    broken = [
        name
        for name in names
        if delimiter in name
        or name.strip() != name
        or {*"\r\n"} & {*name}
        or (delimiter == " " and len(name.split()) > 1)
    ]
    if broken:
        raise InputError(
            f"{len(broken):,} of {len(names):,} items contain what separates items or lines of text; choose another "
            f"delimiter, or write .parquet ({said('--show-values')} lists them).",
            values=broken,
        )
    with path.open("wb") as raw, _packed(raw, path) as file:
        for begin, end in _parts(published):
            bounds = published.starts[begin : end + 1].tolist()
            texts = [names[item] for item in published.items[bounds[0] : bounds[-1]].tolist()]
            lines = [delimiter.join(texts[a - bounds[0] : b - bounds[0]]) for a, b in itertools.pairwise(bounds)]
            file.write(("\n".join(lines) + "\n").encode())


def _packed(raw: BinaryIO, path: Path) -> AbstractContextManager[Any]:
    """A gzip file by its ending, which says neither its name nor when it was written."""
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.name.lower().endswith(".gz") else nullcontext(raw)


def _lists(published: Records, begin: int, end: int) -> pa.Table:
    bounds = published.starts[begin : end + 1]
    texts = pa.DictionaryArray.from_arrays(pa.array(published.items[bounds[0] : bounds[-1]]), published.names)
    column = pa.LargeListArray.from_arrays(pa.array(bounds - bounds[0]), texts.cast(pa.large_string()))
    return pa.table({"items": column})


def _write_lists(published: Records, path: Path, ending: str) -> None:
    schema = pa.schema({"items": pa.large_list(pa.large_string())})
    writer: Any = (
        pq.ParquetWriter(path, schema, write_statistics=False, store_schema=False)
        if ending == ".parquet"
        else ipc.new_file(str(path), schema, options=OPTIONS)
    )
    with writer:
        for begin, end in _parts(published):
            writer.write_table(_lists(published, begin, end))


def _write_long(published: Records, path: Path, delimiter: str, first: int, step: int) -> None:
    """Rows of a record number and an item; a record without items has one row with no item."""
    schema = pa.schema({"record": pa.int64(), "item": pa.large_string()})
    options = pcsv.WriteOptions(delimiter=delimiter)
    with pcsv.CSVWriter(path, schema, write_options=options) as writer:
        for begin, end in _parts(published):
            bounds = published.starts[begin : end + 1]
            lengths = np.diff(bounds)
            rows = np.maximum(lengths, 1)
            numbers = np.full(rows.sum(), -1, dtype=np.int32)
            present = np.repeat(lengths > 0, rows)
            numbers[present] = published.items[bounds[0] : bounds[-1]]
            texts = published.names.take(pa.array(np.where(present, numbers, 0), mask=~present)).cast(pa.large_string())
            records = np.repeat(first + step * np.arange(begin, end), rows)
            writer.write_table(pa.table({"record": records, "item": texts}))
