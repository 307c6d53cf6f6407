"""Set-valued records from files, and from whatever a caller has in memory.

Text has a record on each line, an empty line for one without items; items are separated by blanks or by a delimiter.
Other files are tables, of which the form says how to read them (:mod:`rothko.data.sets`).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data import sets
from rothko.data.csv_dialect import CsvOptions
from rothko.data.hierarchy import Hierarchy
from rothko.data.sets import Records, Utility
from rothko.data.source import Source, open_source
from rothko.errors import InputError, nearest

LINES = (".txt", ".dat", ".basket", ".txt.gz", ".dat.gz", ".basket.gz")
"""Endings of files with a record on each line."""
BLOCK = 1 << 25
"""Bytes of a text file that are taken apart at a time."""
FORMS = ("auto", "lines", "list", "long", "boolean", "table")
"""How records lie in a file or a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read records, as a caller or a command line says it."""

    form: str = "auto"
    """lines, list, long, boolean, table; ``auto`` finds out where there is no doubt."""
    delimiter: str | None = None
    """What separates the items of a line; blanks by default. Of a table: what separates its columns."""
    column: str | None = None
    """The list column."""
    record: str | None = None
    """The column of long form that tells the record."""
    item: str | None = None
    """The column of long form that tells the item."""
    worth: str | None = None
    """The column of long form that tells the utility of the item."""
    columns: Sequence[str] | None = None
    """The columns of a table, or the boolean ones; all by default."""
    bins: Mapping[str, float] = field(default_factory=dict)
    """Column of numbers → width of its bins."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Column of a table → its hierarchy."""
    hierarchy: Hierarchy | None = None
    """A hierarchy of the items themselves; its ancestors become items."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InputError(
                f"The form must be one of {', '.join(FORMS)}, not {self.form!r}; {nearest(self.form, FORMS)}."
            )
        if self.delimiter is not None and (not self.delimiter or set(self.delimiter) & set("\r\n")):
            raise InputError("The delimiter must be a character that does not end a line.")
        if (self.record is None) != (self.item is None):
            raise InputError("Long form needs both columns: the one of the record and the one of the item.")


def read_records(data: Any, reading: Reading | None = None, *, utility: Utility = None) -> Records:
    """Records from a path, a table or dataframe, an Arrow list array, a SciPy matrix, lists, or as they are.

    >>> read_records([["tea", "milk"], ["tea"]]).count
    2
    """
    how = reading or Reading()
    records = _read(data, how)
    if how.hierarchy is not None:
        records = sets.with_ancestors(records, how.hierarchy)
    if utility is not None:
        records = sets.with_utility(records, utility)
    return records


def _read(data: Any, how: Reading) -> Records:
    if isinstance(data, Records):
        return data
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return sets.from_list_column(data)
    if hasattr(data, "tocsr"):
        return sets.from_csr(data, names=how.columns)
    if isinstance(data, list | tuple):
        return sets.from_lists(data)
    if isinstance(data, str | Path) and (how.form == "lines" or _has_lines(Path(data), how)):
        return read_lines(Path(data), delimiter=how.delimiter)
    csv = CsvOptions(delimiter=how.delimiter) if how.delimiter is not None else None
    return _from_source(open_source(data, csv=csv), how)


def _has_lines(path: Path, how: Reading) -> bool:
    """Whether a file has a record on each line, as its ending says and nothing else contradicts."""
    other = how.columns is not None or how.record is not None or how.column is not None
    return how.form == "auto" and not other and path.name.lower().endswith(LINES)


def _from_source(source: Source, how: Reading) -> Records:
    if how.form == "lines":
        raise InputError("Only a file can have a record on each line.")
    form = _found(source, how) if how.form == "auto" else how.form
    match form:
        case "list":
            name = how.column or _list_columns(source)[0]
            return _read_lists(source, _column(name, source))
        case "long":
            if how.record is None or how.item is None:
                raise InputError("Long form needs the column of the record and the one of the item (--record, --item).")
            wanted = [_column(name, source) for name in (how.record, how.item, how.worth) if name is not None]
            table = source.read(wanted, as_text=[how.record, how.item])
            return sets.from_long(table, record=how.record, item=how.item, worth=how.worth)
        case "boolean":
            return sets.from_booleans(source.read(_chosen(how.columns, source)))
        case _:
            chosen = _chosen(how.columns, source)
            table = source.read(chosen, as_text=[name for name in chosen if name not in how.bins])
            return sets.from_table(table, bins=how.bins, hierarchies=how.hierarchies)


def _found(source: Source, how: Reading) -> str:
    """The form, where there is only one that fits."""
    if how.column is not None:
        return "list"
    if how.record is not None:
        return "long"
    if how.bins or how.hierarchies or how.columns is not None:
        return "table"
    if len(_list_columns(source)) == 1:
        return "list"
    raise InputError(
        f"{source.label} may be read in several ways; say which with a form: long (record and item columns), boolean "
        "(a column for each item), table (cells become items), list (a list column) or lines (--form)."
    )


def _list_columns(source: Source) -> list[str]:
    if source.path is not None and source.path.name.lower().endswith((".csv", ".tsv", ".txt", ".gz")):
        return []
    first = next(iter(source.batches(rows=1)))
    return [one.name for one in first.schema if sets.is_list(one.type)]


def _column(name: str, source: Source) -> str:
    if name not in source.names:
        raise InputError(f"{source.label} has no column {name!r}; {nearest(name, source.names)}.")
    return name


def _chosen(columns: Sequence[str] | None, source: Source) -> list[str]:
    return list(source.names) if columns is None else [_column(name, source) for name in columns]


def _read_lists(source: Source, column: str) -> Records:
    """A list column, some records at a time: the texts of all items take several times the memory of the records."""
    numbers: dict[str, int] = {}
    items: list[NDArray[np.int32]] = []
    lengths: list[NDArray[np.int64]] = []
    for piece in source.batches([column]):
        some = sets.from_list_column(piece.column(0))
        code = [numbers.setdefault(name, len(numbers)) for name in some.names.to_pylist()]
        items.append(np.array(code, dtype=np.int32)[some.items])
        lengths.append(np.diff(some.starts))
    return _put_together(items, lengths, numbers)


# ── A record a line


def read_lines(path: Path, *, delimiter: str | None = None) -> Records:
    """Records from a text file, also compressed by gzip.

    Parameters
    ----------
    delimiter
        What separates the items; blanks and tabs by default. Blanks around an item are dropped, an empty item too.
    """
    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file in it.")
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty.")
    numbers: dict[str, int] = {}
    items: list[NDArray[np.int32]] = []
    lengths: list[NDArray[np.int64]] = []
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
        for lines in _blocks(unpacked, path.name):
            some, counts = _split(lines, delimiter, numbers)
            items.append(some)
            lengths.append(counts)
    return _put_together(items, lengths, numbers)


def _put_together(items: list[NDArray[np.int32]], lengths: list[NDArray[np.int64]], numbers: dict[str, int]) -> Records:
    starts = np.concatenate([np.zeros(1, dtype=np.int64), *lengths])
    np.cumsum(starts, out=starts)
    return sets.from_arrays(starts, sets.joined(items), list(numbers))


def _blocks(file: BinaryIO, name: str) -> Iterator[list[str]]:
    """The lines, some megabytes at a time."""
    rest, seen = b"", 0
    while True:
        try:
            block = file.read(BLOCK)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{name} is not a gzip file, or it is cut short.") from None
        whole = rest + block
        if seen == 0:
            whole = whole.removeprefix(b"\xef\xbb\xbf")
        cut = whole.rfind(b"\n") + 1 if block else len(whole)
        rest = whole[cut:]
        lines = _text(whole[:cut], name, seen).split("\n")
        if lines[-1] == "":  # what follows the last end of a line is no record
            lines.pop()
        if lines:
            yield lines
        seen += len(lines)
        if not block:
            return


def _text(block: bytes, name: str, lines: int) -> str:
    """Text from bytes; anything else is refused by the line where it is."""
    bad = block.find(b"\x00")
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = error.start if bad < 0 else min(bad, error.start)
    if bad >= 0:
        line = lines + block.count(b"\n", 0, bad) + 1
        raise InputError(f"{name} is no text in UTF-8: line {line:,} has bytes that are none.")
    return text


def _split(
    lines: list[str], delimiter: str | None, numbers: dict[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The items of each line as numbers; names that are new get the next ones."""
    column = pa.array(lines, pa.large_string())
    parts = (
        pc.utf8_split_whitespace(pc.utf8_trim_whitespace(column))
        if delimiter is None
        else pc.split_pattern(column, delimiter)
    )
    texts = pc.utf8_trim_whitespace(parts.flatten())
    encoded = pc.dictionary_encode(texts)
    code = np.array(
        [numbers.setdefault(text, len(numbers)) if text else -1 for text in encoded.dictionary.to_pylist()],
        dtype=np.int32,
    )
    items = code[encoded.indices.to_numpy()]
    kept = np.concatenate(([0], np.cumsum(items >= 0)))
    offsets = parts.offsets.to_numpy()
    return items[items >= 0], np.diff(kept[offsets]).astype(np.int64)
